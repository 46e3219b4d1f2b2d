//! Removes trees that no scope needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::PackageError;
use crate::history::LockHistory;
use crate::lock::LockFile;
use crate::project::{kept_digests, read_text};
use crate::store::{PackageStore, PruneReport};

/// Removes trees that neither a known lock, nor one of the kept earlier locks, nor an edit needs.
/// `edits` removes the files of changed and forked packages as well.
pub fn prune(store: &PackageStore, state: &Path, edits: bool) -> Result<PruneReport, PackageError> {
    store.prune(|| needed(state, edits))
}

/// Returns the digests that are needed.
fn needed(state: &Path, edits: bool) -> Result<BTreeSet<String>, PackageError> {
    let mut digests = BTreeSet::new();
    for scope in scopes(&state.join("packages/v1"))? {
        let unread = |path: &Path| {
            let path = path.to_owned();
            move |source| PackageError::File {
                verb: "read",
                path,
                source,
            }
        };
        let place = scope.join("place");
        let place = read_text(&place)
            .map_err(unread(&place))?
            .unwrap_or_default();
        let place: Value = serde_json::from_str(&place).unwrap_or_default();
        if let Some(path) = place["lock"].as_str().map(Path::new) {
            // An unreadable lock may need anything.
            if let Some(text) = read_text(path).map_err(unread(path))? {
                add(&mut digests, LockFile::unite(&text)?);
            }
        }
        let earlier = LockHistory::new(&scope).entries().map_err(unread(&scope))?;
        for entry in earlier.iter().filter(|entry| !entry.lock.is_empty()) {
            add(&mut digests, LockFile::unite(&entry.lock)?);
        }
        // An operation under way may need both of its locks.
        let journal = scope.join("journal");
        if let Some(journal) = crate::journal::Journal::read(&journal).map_err(unread(&journal))? {
            for text in [journal.lock.old, journal.lock.new].into_iter().flatten() {
                add(&mut digests, LockFile::unite(&text)?);
            }
        }
        if !edits {
            digests.extend(kept_digests(&scope)?);
        }
    }
    Ok(digests)
}

fn add(digests: &mut BTreeSet<String>, lock: crate::lock::UnitedLock) {
    digests.extend(lock.lock.packages.into_iter().filter_map(|one| one.digest));
}

fn scopes(folder: &Path) -> Result<Vec<PathBuf>, PackageError> {
    let failed = |source| PackageError::File {
        verb: "read",
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut scopes = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            scopes.push(path);
        }
    }
    Ok(scopes)
}
