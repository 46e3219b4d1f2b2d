//! Compares the files of two versions of a package.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use prowess_diag::line_changes::USUAL_WORK;
use prowess_diag::render::diff::unified_within;

use crate::error::PackageError;
use crate::lock::{LockedFile, LockedKind};
use crate::tree::locked_files;

use super::{OperationError, PackageContext};

/// Maximum size of a file whose lines are compared, in bytes.
const MAX_TEXT: u64 = 1024 * 1024;

/// A file that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct PackageFileChange {
    /// The path in the package.
    pub path: String,
    /// The file before. `None` if it is new.
    pub old: Option<LockedFile>,
    /// The file after. `None` if it is gone.
    pub new: Option<LockedFile>,
    /// Number of added and removed lines. `None` if a side is not text.
    pub lines: Option<(usize, usize)>,
    /// The unified diff. `None` if a side is not text.
    pub text: Option<String>,
}

/// Compares an installed package with the lock.
pub fn diff_installed(
    context: &PackageContext,
    name: &str,
) -> Result<Vec<PackageFileChange>, PackageError> {
    let texts = context.texts()?;
    let locked = texts
        .lock
        .get(name)
        .ok_or_else(|| OperationError::NoPackage {
            name: name.to_owned(),
        })?;
    let Some(digest) = &locked.digest else {
        return Ok(Vec::new());
    };
    let entry = context.scope.skills.join(name);
    let stored = context.store.tree(digest)?;
    let new = locked_files(&entry)?;
    // Without the locked files, only their digests can be compared.
    let is_link = fs::symlink_metadata(&entry).is_ok_and(|facts| facts.is_symlink());
    let old = Some(stored).filter(|path| path.is_dir() && !is_link);
    Ok(compare(&locked.files, &new, old.as_deref(), Some(&entry)))
}

/// Compares the files of two folders.
pub fn diff_folders(old: &Path, new: &Path) -> Result<Vec<PackageFileChange>, PackageError> {
    let (before, after) = (locked_files(old)?, locked_files(new)?);
    Ok(compare(&before, &after, Some(old), Some(new)))
}

fn compare(
    old: &[LockedFile],
    new: &[LockedFile],
    old_folder: Option<&Path>,
    new_folder: Option<&Path>,
) -> Vec<PackageFileChange> {
    let mut all: BTreeMap<&str, (Option<&LockedFile>, Option<&LockedFile>)> = BTreeMap::new();
    for file in old {
        all.entry(&file.path).or_default().0 = Some(file);
    }
    for file in new {
        all.entry(&file.path).or_default().1 = Some(file);
    }
    let mut changes = Vec::new();
    let mut work = USUAL_WORK;
    for (path, (old, new)) in all {
        let facts = |file: &LockedFile| (file.digest.clone(), file.kind);
        if old.map(facts) == new.map(facts) {
            continue;
        }
        let before = text_of(old_folder, old);
        let after = text_of(new_folder, new);
        let compared = before
            .zip(after)
            .map(|(before, after)| lines(path, &before, &after, &mut work));
        changes.push(PackageFileChange {
            path: path.to_owned(),
            old: old.cloned(),
            new: new.cloned(),
            lines: compared.as_ref().map(|(counts, _)| *counts),
            text: compared.map(|(_, text)| text),
        });
    }
    changes
}

/// Returns the text of a file, and an empty text for one that does not exist.
fn text_of(folder: Option<&Path>, file: Option<&LockedFile>) -> Option<String> {
    let Some(file) = file else {
        return Some(String::new());
    };
    if file.kind == LockedKind::Link || file.size > MAX_TEXT {
        return None;
    }
    let path: PathBuf = folder?.join(&file.path);
    let mut bytes = Vec::new();
    let opened = fs::File::open(path).ok()?;
    opened.take(MAX_TEXT).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}

fn lines(path: &str, before: &str, after: &str, work: &mut u64) -> ((usize, usize), String) {
    let text = unified_within(path, before, after, work);
    // The first two lines name the file.
    let count = |mark: char| {
        text.lines()
            .skip(2)
            .filter(|line| line.starts_with(mark))
            .count()
    };
    ((count('+'), count('-')), text)
}
