//! Finds slash commands: `.claude/commands/frontend/component.md` is `frontend:component`.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::walk::{SKIPPED, ScanNotice};
use prowess_diag::wording::io_reason;

/// Maximum folder depth.
const MAX_DEPTH: usize = 6;
/// Maximum number of folders entered per root.
const MAX_FOLDERS: usize = 2_000;
/// Maximum number of command files per root.
const MAX_FILES: usize = 20_000;

/// Returns the command files below a folder with their names, sorted by path. Enters only linked
/// folders that `may_follow` accepts.
pub fn command_files(
    root: &Path,
    may_follow: &dyn Fn(&Path) -> bool,
) -> (Vec<(PathBuf, String)>, Vec<ScanNotice>) {
    let mut finder = Finder {
        root,
        may_follow,
        found: Vec::new(),
        notices: Vec::new(),
        seen: BTreeSet::new(),
    };
    finder.folder(root, "", 0);
    (finder.found, finder.notices)
}

struct Finder<'r> {
    root: &'r Path,
    may_follow: &'r dyn Fn(&Path) -> bool,
    found: Vec<(PathBuf, String)>,
    notices: Vec<ScanNotice>,
    /// Folders already entered, to stop link cycles.
    seen: BTreeSet<(u64, u64)>,
}

impl Finder<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) {
        let unreadable = |error: &std::io::Error| ScanNotice::Unreadable {
            path: folder.to_owned(),
            reason: io_reason(error).to_lowercase(),
        };
        let id = match std::fs::metadata(folder) {
            Ok(facts) => (facts.dev(), facts.ino()),
            Err(error) => return self.notices.push(unreadable(&error)),
        };
        if self.seen.len() >= MAX_FOLDERS {
            let limit = MAX_FOLDERS;
            return self.notices.push(ScanNotice::TooManyEntries {
                root: self.root.to_owned(),
                limit,
            });
        }
        if !self.seen.insert(id) {
            return self.notices.push(ScanNotice::SeenBefore {
                path: folder.to_owned(),
            });
        }
        let too_many = || ScanNotice::TooManyEntries {
            root: self.root.to_owned(),
            limit: MAX_FILES,
        };
        let mut paths: Vec<PathBuf> = match std::fs::read_dir(folder) {
            Ok(entries) => {
                let may_count = entries.flatten().filter(may_count);
                may_count
                    .map(|entry| entry.path())
                    .take(MAX_FILES + 1)
                    .collect()
            }
            Err(error) => return self.notices.push(unreadable(&error)),
        };
        if paths.len() > MAX_FILES {
            self.notices.push(too_many());
        }
        paths.sort();
        for path in paths {
            if self.found.len() >= MAX_FILES {
                return self.notices.push(too_many());
            }
            let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else {
                continue;
            };
            if path.is_dir() && SKIPPED.contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                if path.is_symlink() && !(self.may_follow)(&path) {
                    let target = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                    self.notices.push(ScanNotice::Outside { path, target });
                } else if depth + 1 >= MAX_DEPTH {
                    self.notices.push(ScanNotice::TooDeep {
                        path: folder.to_owned(),
                    });
                } else {
                    self.folder(&path, &format!("{prefix}{name}:"), depth + 1);
                }
            } else if let Some(stem) = name.strip_suffix(".md").filter(|stem| !stem.is_empty()) {
                let name = format!("{prefix}{stem}");
                self.found.push((path, name));
            }
        }
    }
}

/// Returns `true` if an entry may be a command or a folder of commands. Other files do not count
/// towards the limit.
fn may_count(entry: &std::fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.as_bytes();
    let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
    !name.starts_with(b".") && (!is_file || name.ends_with(b".md"))
}
