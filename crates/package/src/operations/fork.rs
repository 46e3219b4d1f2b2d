//! Turns a package or a bundled skill into a skill of the person's own.

use std::path::Path;

use prowess_registry::bundled::{BundledText, bundled_skills};
use toml::{Table, Value};

use crate::error::PackageError;
use crate::journal::EntryState;
use crate::lock::{LockFile, LockedKind, LockedPackage};
use crate::manifest_edit::entry_value;
use crate::store::StagingFolder;
use crate::tree::{PackageTree, TreeBuilder, TreeError, TreeLimits, copy_folder};

use super::plan::{ForkedPackage, ManifestEdit, PackagePlan};
use super::{OperationError, PackageContext, ScopeTexts};

/// The source of a fork of a bundled skill.
pub(super) const BUNDLED: &str = "bundled";

/// Plans to turn a package into a skill of the person's own, with the changes that were made to it, or
/// to write a bundled skill into the scope folder. The lock keeps a record of the origin, and the store
/// keeps the files as they were locked or bundled.
pub fn plan_fork(context: &PackageContext, name: &str) -> Result<PackagePlan, PackageError> {
    let texts = context.texts()?;
    let locked = texts.lock.get(name).filter(|one| one.digest.is_some());
    let Some(locked) = locked else {
        let Some(bundled) = bundled_skill(name) else {
            return Err(OperationError::NoPackage {
                name: name.to_owned(),
            }
            .into());
        };
        check_free(context, &texts, name)?;
        return fork_bundled(context, &texts, bundled, format!("fork {name}"));
    };
    let mut plan = PackagePlan::new(format!("fork {name}"), &texts);
    let entry = context.scope.skills.join(name);
    let staging = context.store.stage()?;
    let from = if entry.is_dir() {
        entry
    } else {
        context
            .store
            .tree(locked.digest.as_deref().unwrap_or_default())?
    };
    let tree = copy_folder(&from, staging.path().join("fork"), TreeLimits::default())?;
    let mut record = record(locked);
    if let Some(entry) = texts.manifest.get(name) {
        // With it, `update` can ask the source again.
        let shorthand = texts.settings.shorthand();
        let value = entry_value(&entry.source, entry.skill.as_deref(), shorthand);
        record.insert("entry".to_owned(), Value::String(value));
        plan.edits.push(ManifestEdit::Remove(name.to_owned()));
    }
    plan.forked = Some(ForkedPackage {
        name: name.to_owned(),
        entry: EntryState::Copy {
            digest: tree.digest.clone(),
        },
        record,
        kept: vec![locked.digest.clone().unwrap_or_default()],
        replaced: None,
    });
    add_tree(&mut plan, context, tree);
    plan.staging = Some(staging);
    plan.change(Some(locked), None);
    Ok(plan)
}

/// Plans to write a fork again that the person removed: a bundled skill as it is now, a package as it
/// was forked.
pub fn plan_restore(context: &PackageContext, name: &str) -> Result<PackagePlan, PackageError> {
    let texts = context.texts()?;
    let records = forks(&texts.lock);
    let is_it = |record: &&&Table| text(record, "name") == Some(name);
    let Some(record) = records.iter().find(is_it) else {
        return Err(OperationError::NoPackage {
            name: name.to_owned(),
        }
        .into());
    };
    check_absent(context, name)?;
    let command = format!("fork --restore {name}");
    if text(record, "source") == Some(BUNDLED)
        && let Some(bundled) = bundled_skill(name)
    {
        return fork_bundled(context, &texts, bundled, command);
    }
    let digest = text(record, "digest").unwrap_or_default().to_owned();
    if !context.store.has(&digest) {
        return Err(OperationError::NotInStore {
            name: name.to_owned(),
            digest,
        }
        .into());
    }
    let mut plan = PackagePlan::new(command, &texts);
    plan.forked = Some(ForkedPackage {
        name: name.to_owned(),
        entry: EntryState::Copy {
            digest: digest.clone(),
        },
        record: (*record).clone(),
        kept: vec![digest],
        replaced: None,
    });
    Ok(plan)
}

fn bundled_skill(name: &str) -> Option<&'static BundledText> {
    bundled_skills().find(|one| one.name == name)
}

fn fork_bundled(
    context: &PackageContext,
    texts: &ScopeTexts,
    bundled: &BundledText,
    command: String,
) -> Result<PackagePlan, PackageError> {
    let mut plan = PackagePlan::new(command, texts);
    let staging = context.store.stage()?;
    let tree = bundled_tree(bundled, &staging, "bundled")?;
    plan.forked = Some(ForkedPackage {
        name: bundled.name.to_owned(),
        entry: EntryState::Copy {
            digest: tree.digest.clone(),
        },
        record: bundled_record(bundled, &tree.digest),
        kept: vec![tree.digest.clone()],
        replaced: None,
    });
    add_tree(&mut plan, context, tree);
    plan.staging = Some(staging);
    Ok(plan)
}

/// Writes a bundled skill into a folder of staging.
pub(super) fn bundled_tree(
    bundled: &BundledText,
    staging: &StagingFolder,
    folder: &str,
) -> Result<PackageTree, TreeError> {
    let mut builder = TreeBuilder::create(staging.path().join(folder), TreeLimits::default())?;
    let bytes = bundled.text.as_bytes();
    let size = bytes.len() as u64;
    builder.add_file("SKILL.md", LockedKind::File, size, None, &mut &*bytes)?;
    builder.finish()
}

/// Returns what the lock keeps about the fork of a bundled skill.
pub(super) fn bundled_record(bundled: &BundledText, digest: &str) -> Table {
    let fields = [
        ("name", bundled.name),
        ("version", bundled.version),
        ("source", BUNDLED),
        ("digest", digest),
    ];
    let fields = fields.into_iter();
    fields
        .map(|(key, value)| (key.to_owned(), Value::String(value.to_owned())))
        .collect()
}

/// Adds a tree to a plan, unless the store has it.
pub(super) fn add_tree(plan: &mut PackagePlan, context: &PackageContext, tree: PackageTree) {
    let is_known = plan.trees.iter().any(|one| one.digest == tree.digest);
    if !is_known && !context.store.has(&tree.digest) {
        plan.trees.push(tree);
    }
}

/// Refuses a name that the scope folder or the lock has.
fn check_free(
    context: &PackageContext,
    texts: &ScopeTexts,
    name: &str,
) -> Result<(), PackageError> {
    if let Some(locked) = texts.lock.get(name) {
        return Err(OperationError::Taken {
            name: name.to_owned(),
            source_text: locked.source.to_string(),
        }
        .into());
    }
    check_absent(context, name)
}

fn check_absent(context: &PackageContext, name: &str) -> Result<(), PackageError> {
    let path = context.scope.skills.join(name);
    if std::fs::symlink_metadata(&path).is_err() {
        return Ok(());
    }
    Err(OperationError::Yours {
        name: name.to_owned(),
        path,
    }
    .into())
}

/// Returns what the lock keeps about the origin of a fork.
pub(super) fn record(locked: &LockedPackage) -> Table {
    let mut table = Table::new();
    let fields = [
        ("name", Some(locked.name.clone())),
        ("version", locked.version.clone()),
        ("source", Some(locked.source.to_string())),
        ("path", locked.path.clone()),
        ("ref", locked.git_ref.clone()),
        ("commit", locked.commit.clone()),
        ("digest", locked.digest.clone()),
    ];
    for (key, value) in fields {
        if let Some(value) = value {
            table.insert(key.to_owned(), Value::String(value));
        }
    }
    table
}

/// Returns a field of a record.
pub(super) fn text<'r>(record: &'r Table, key: &str) -> Option<&'r str> {
    record.get(key).and_then(Value::as_str)
}

/// Returns the records of forks in a lock, each with the fields of [`plan_fork`].
pub fn forks(lock: &LockFile) -> Vec<&Table> {
    lock.fork_records()
}

/// Returns the folder of the base of a fork, if the store still has it.
pub fn fork_base(
    context: &PackageContext,
    name: &str,
) -> Result<Option<std::path::PathBuf>, PackageError> {
    let lock = context.texts()?.lock;
    let is_it = |record: &&&Table| text(record, "name") == Some(name);
    let records = forks(&lock);
    let record = records.iter().find(is_it);
    let Some(digest) = record.and_then(|record| text(record, "digest")) else {
        return Ok(None);
    };
    let path = context.store.tree(digest)?;
    Ok(Path::new(&path).is_dir().then_some(path))
}
