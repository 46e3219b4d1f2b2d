//! Finds slash commands: `.claude/commands/frontend/component.md` is `frontend:component`.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::walk::Notice;

/// How deep commands are looked for.
const MAX_DEPTH: usize = 6;
/// Most command files of one root.
const MAX_FILES: usize = 20_000;

/// Returns the command files below a folder with their names, in order of path.
pub fn command_files(root: &Path) -> (Vec<(PathBuf, String)>, Vec<Notice>) {
    let mut finder = Finder { root, found: Vec::new(), notices: Vec::new(), seen: BTreeSet::new() };
    finder.folder(root, "", 0);
    (finder.found, finder.notices)
}

struct Finder<'r> {
    root: &'r Path,
    found: Vec<(PathBuf, String)>,
    notices: Vec<Notice>,
    /// Folders that were entered, so that links cannot lead round in circles.
    seen: BTreeSet<(u64, u64)>,
}

impl Finder<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) {
        let unreadable = |error: &std::io::Error| {
            let reason = error.to_string();
            let reason = reason.split(" (os error").next().unwrap_or_default().to_lowercase();
            Notice::Unreadable { path: folder.to_owned(), reason }
        };
        let id = match std::fs::metadata(folder) {
            Ok(facts) => (facts.dev(), facts.ino()),
            Err(error) => return self.notices.push(unreadable(&error)),
        };
        if !self.seen.insert(id) {
            return self.notices.push(Notice::SeenBefore { path: folder.to_owned() });
        }
        let mut paths: Vec<PathBuf> = match std::fs::read_dir(folder) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).take(MAX_FILES).collect(),
            Err(error) => return self.notices.push(unreadable(&error)),
        };
        paths.sort();
        for path in paths {
            if self.found.len() >= MAX_FILES {
                let limit = MAX_FILES;
                return self.notices.push(Notice::TooMany { root: self.root.to_owned(), limit });
            }
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                if depth + 1 >= MAX_DEPTH {
                    self.notices.push(Notice::TooDeep { path: folder.to_owned() });
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
