//! Turns a package into a skill of the person's own.

use std::path::Path;

use toml::{Table, Value};

use crate::error::PackageError;
use crate::journal::EntryState;
use crate::lock::LockedPackage;
use crate::tree::{TreeLimits, copy_folder};

use super::plan::{ForkedPackage, ManifestEdit, PackagePlan};
use super::{OperationError, PackageContext};

/// Plans to turn a package into a skill of the person's own, with the changes that were made to it.
/// The lock keeps a record of its origin, and the store keeps its files as they were locked.
pub fn plan_fork(context: &PackageContext, name: &str) -> Result<PackagePlan, PackageError> {
    let texts = context.texts()?;
    let mut plan = PackagePlan::new(format!("fork {name}"), &texts);
    let locked = texts.lock.get(name).filter(|one| one.digest.is_some());
    let locked = locked.ok_or_else(|| OperationError::NoPackage {
        name: name.to_owned(),
    })?;
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
    plan.forked = Some(ForkedPackage {
        name: name.to_owned(),
        entry: EntryState::Copy {
            digest: tree.digest.clone(),
        },
        record: record(locked),
        base: locked.digest.clone().unwrap_or_default(),
    });
    if !context.store.has(&tree.digest) {
        plan.trees.push(tree);
    }
    plan.staging = Some(staging);
    if texts.manifest.get(name).is_some() {
        plan.edits.push(ManifestEdit::Remove(name.to_owned()));
    }
    plan.change(Some(locked), None);
    Ok(plan)
}

/// Returns what the lock keeps about the origin of a fork.
fn record(locked: &LockedPackage) -> Table {
    let mut table = Table::new();
    let fields = [
        ("name", Some(locked.name.clone())),
        ("version", locked.version.clone()),
        ("source", Some(locked.source.to_string())),
        ("path", locked.path.clone()),
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

/// Returns the records of forks in a lock, each with the fields of [`plan_fork`].
pub fn forks(lock: &crate::lock::LockFile) -> Vec<&Table> {
    let records = lock.extra.get("fork").and_then(Value::as_array);
    records
        .into_iter()
        .flatten()
        .filter_map(Value::as_table)
        .collect()
}

/// Returns the folder of the base of a fork, if the store still has it.
pub fn fork_base(
    context: &PackageContext,
    name: &str,
) -> Result<Option<std::path::PathBuf>, PackageError> {
    let lock = context.texts()?.lock;
    let is_it = |record: &&&Table| record.get("name").and_then(Value::as_str) == Some(name);
    let records = forks(&lock);
    let record = records.iter().find(is_it);
    let digest = record.and_then(|record| record.get("digest")?.as_str());
    let Some(digest) = digest else {
        return Ok(None);
    };
    let path = context.store.tree(digest)?;
    Ok(Path::new(&path).is_dir().then_some(path))
}
