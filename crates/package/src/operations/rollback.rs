//! Goes back to an earlier lock.

use crate::error::PackageError;
use crate::history::{HistoryEntry, LockHistory};
use crate::lock::{LockFile, LockedPackage};
use crate::manifest::{self};
use crate::resolve::difference;

use super::plan::{ManifestEdit, PackagePlan};
use super::{OperationError, PackageContext, ScopeTexts};

/// The state to go back to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RollbackTarget {
    /// One package. `None` for all.
    pub name: Option<String>,
    /// A version or a digest. `None` for the state before.
    pub to: Option<String>,
}

/// Returns the earlier states of a scope, the newest first.
pub fn history(context: &PackageContext) -> Result<Vec<HistoryEntry>, PackageError> {
    let state = context.scope.state(&context.state);
    let entries = LockHistory::new(&state).entries();
    let mut entries = entries.map_err(|source| PackageError::File {
        verb: "read",
        path: state,
        source,
    })?;
    entries.reverse();
    Ok(entries)
}

/// Plans to go back. Needs no network: the files are in the store.
pub fn plan_rollback(
    context: &PackageContext,
    target: &RollbackTarget,
) -> Result<PackagePlan, PackageError> {
    let texts = context.texts()?;
    let command = match &target.name {
        Some(name) => format!("rollback {name}"),
        None => "rollback".to_owned(),
    };
    let mut plan = PackagePlan::new(command, &texts);
    for entry in history(context)? {
        let Ok(lock) = entry.parsed() else {
            continue;
        };
        let found = match &target.name {
            Some(name) => one_package(&texts, &lock, name, target.to.as_deref(), &mut plan),
            None => all_packages(&texts, &lock, target.to.as_deref(), &mut plan),
        };
        if !found {
            continue;
        }
        for change in &plan.changes {
            check_stored(context, change.new.as_ref())?;
        }
        restore_manifest(context, &texts, &entry, target, &mut plan);
        plan.removes_lock = entry.lock.is_empty() && target.name.is_none();
        return Ok(plan);
    }
    if let Some(name) = &target.name
        && texts.lock.get(name).is_none()
    {
        return Err(OperationError::NoPackage { name: name.clone() }.into());
    }
    Err(OperationError::NoHistory {
        of: target.to.clone(),
    }
    .into())
}

fn is_meant(package: &LockedPackage, to: Option<&str>) -> bool {
    let Some(to) = to else {
        return true;
    };
    let digest = package.digest.as_deref().unwrap_or_default();
    let is_digest = to.starts_with("sha256:") && to.len() >= "sha256:".len() + 8;
    package.version.as_deref() == Some(to) || (is_digest && digest.starts_with(to))
}

fn one_package(
    texts: &ScopeTexts,
    earlier: &LockFile,
    name: &str,
    to: Option<&str>,
    plan: &mut PackagePlan,
) -> bool {
    let (old, now) = (earlier.get(name), texts.lock.get(name));
    let is_wanted = match old {
        Some(old) => is_meant(old, to),
        // Before it was added.
        None => to.is_none(),
    };
    if now == old || !is_wanted {
        return false;
    }
    plan.change(now, old.cloned());
    true
}

fn all_packages(
    texts: &ScopeTexts,
    earlier: &LockFile,
    to: Option<&str>,
    plan: &mut PackagePlan,
) -> bool {
    if *earlier == texts.lock
        || !earlier.packages.iter().any(|one| is_meant(one, to)) && to.is_some()
    {
        return false;
    }
    for package in &texts.lock.packages {
        if earlier.get(&package.name).is_none() {
            plan.change(Some(package), None);
        }
    }
    for package in &earlier.packages {
        plan.change(texts.lock.get(&package.name), Some(package.clone()));
    }
    !plan.changes.is_empty()
}

fn check_stored(
    context: &PackageContext,
    package: Option<&LockedPackage>,
) -> Result<(), PackageError> {
    let Some((package, digest)) = package.and_then(|one| Some((one, one.digest.as_ref()?))) else {
        return Ok(());
    };
    if context.store.has(digest) {
        return Ok(());
    }
    Err(OperationError::NotInStore {
        name: package.name.clone(),
        digest: digest.clone(),
    }
    .into())
}

/// Restores the entries of the manifest, where the present ones do not fit the earlier lock.
fn restore_manifest(
    context: &PackageContext,
    texts: &ScopeTexts,
    entry: &HistoryEntry,
    target: &RollbackTarget,
    plan: &mut PackagePlan,
) {
    let fits = |change: &super::PackageChange| match (&change.new, texts.manifest.get(&change.name))
    {
        (Some(new), Some(entry)) => difference(entry, new).is_none(),
        (None, None) => true,
        _ => false,
    };
    if plan.changes.iter().all(fits) {
        return;
    }
    if target.name.is_none() {
        let old = texts.manifest_text.clone();
        let new = entry.manifest.clone();
        plan.edits.push(ManifestEdit::Replace(old, new));
        return;
    }
    let root = context.scope.root.to_string_lossy();
    let mirrors = context.mirrors().urls();
    let origin = context.origin(&root, &mirrors);
    let text = entry.manifest.as_deref().unwrap_or_default();
    let (earlier, _) = manifest::read("", text, origin);
    for change in &plan.changes {
        if let Some(old) = earlier.get(&change.name) {
            let shorthand = texts.settings.shorthand();
            let value =
                crate::manifest_edit::entry_value(&old.source, old.skill.as_deref(), shorthand);
            plan.edits
                .push(ManifestEdit::Set(change.name.clone(), value));
        } else if change.new.is_none() && texts.manifest.get(&change.name).is_some() {
            plan.edits.push(ManifestEdit::Remove(change.name.clone()));
        }
    }
}
