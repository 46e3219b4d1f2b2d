//! The history of typed messages.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The maximum number of messages.
const MAX_ENTRIES: usize = 1_000;
/// The maximum size of a message in bytes.
const MAX_ENTRY: usize = 16 * 1024;
/// The maximum size of the file in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// The typed messages and the current position.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    entries: VecDeque<String>,
    at: Option<usize>,
    /// The text that was being typed before browsing.
    draft: String,
}

impl History {
    pub(crate) fn new(entries: impl IntoIterator<Item = String>) -> Self {
        let mut history = Self::default();
        for entry in entries {
            history.push(&entry);
        }
        history
    }

    /// Adds a message. Returns `false` if it is empty, too long or a repetition.
    pub(crate) fn push(&mut self, text: &str) -> bool {
        self.at = None;
        let same = self.entries.back().is_some_and(|last| last == text);
        if text.trim().is_empty() || text.len() > MAX_ENTRY || same {
            return false;
        }
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(text.to_owned());
        true
    }

    /// Returns the previous message. `typed` is restored after the last one.
    pub(crate) fn older(&mut self, typed: &str) -> Option<&str> {
        let at = match self.at {
            None => {
                typed.clone_into(&mut self.draft);
                self.entries.len()
            }
            Some(at) => at,
        };
        let at = at.checked_sub(1)?;
        self.at = Some(at);
        self.entries.get(at).map(String::as_str)
    }

    /// Returns the next message.
    pub(crate) fn newer(&mut self) -> Option<&str> {
        let at = self.at? + 1;
        self.at = (at < self.entries.len()).then_some(at);
        Some(self.entries.get(at).unwrap_or(&self.draft))
    }

    /// Stops browsing.
    pub(crate) fn stay(&mut self) {
        self.at = None;
    }
}

/// The history file: one JSON string per line, readable only by its owner.
#[derive(Clone, Debug)]
pub(crate) struct HistoryFile {
    path: PathBuf,
}

impl HistoryFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads the file, ignoring invalid lines. A file that is too long is truncated.
    pub(crate) fn load(&self) -> Vec<String> {
        let Ok(file) = std::fs::File::open(&self.path) else {
            return Vec::new();
        };
        let mut bytes = Vec::new();
        if file.take(MAX_FILE).read_to_end(&mut bytes).is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let all: Vec<String> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let entries = all[all.len().saturating_sub(MAX_ENTRIES)..].to_vec();
        if all.len() > MAX_ENTRIES * 2 {
            // The history can be read even if the file cannot be written.
            let _ = self.rewrite(&entries);
        }
        entries
    }

    /// Appends a message.
    pub(crate) fn append(&self, text: &str) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        for_owner(&mut options);
        let mut file = options.open(&self.path)?;
        file.write_all(line(text)?.as_bytes())
    }

    fn rewrite(&self, entries: &[String]) -> std::io::Result<()> {
        let beside = beside(&self.path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        for_owner(&mut options);
        let mut file = options.open(&beside)?;
        let written = entries
            .iter()
            .try_for_each(|entry| file.write_all(line(entry)?.as_bytes()));
        let done = written.and_then(|()| std::fs::rename(&beside, &self.path));
        if done.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        done
    }
}

fn line(text: &str) -> std::io::Result<String> {
    Ok(format!("{}\n", serde_json::to_string(text)?))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

#[cfg(unix)]
fn for_owner(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn for_owner(_options: &mut OpenOptions) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsing_ends_with_the_draft() {
        let mut history = History::new(["a".to_owned(), "b".to_owned(), "b".to_owned()]);
        assert_eq!(history.older("dra"), Some("b"));
        assert_eq!(history.older(""), Some("a"));
        assert_eq!(history.older(""), None);
        assert_eq!(history.newer(), Some("b"));
        assert_eq!(history.newer(), Some("dra"));
        assert_eq!(history.newer(), None);
    }

    #[test]
    fn file_is_private_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = HistoryFile::new(folder.path().join("state/history"));
        assert!(file.load().is_empty());
        file.append("one\ntwo").unwrap();
        file.append("three").unwrap();
        assert_eq!(file.load(), ["one\ntwo", "three"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::write(&file.path, "\"x\"\nno text\n".repeat(MAX_ENTRIES * 2 + 1)).unwrap();
        assert_eq!(file.load().len(), MAX_ENTRIES);
        assert_eq!(
            std::fs::read_to_string(&file.path).unwrap().lines().count(),
            MAX_ENTRIES
        );
    }

    #[test]
    fn memory_is_bounded() {
        let mut history = History::new((0..MAX_ENTRIES + 5).map(|n| n.to_string()));
        assert_eq!(history.entries.len(), MAX_ENTRIES);
        assert!(!history.push(&"x".repeat(MAX_ENTRY + 1)));
        assert!(!history.push("  "));
    }
}
