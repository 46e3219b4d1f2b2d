//! The locks that a scope had before, with the command that replaced each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::fault::FaultPoints;
use crate::lock::{LockError, LockFile};
use crate::project::{read_text, write_new};

/// The number of locks that are kept.
pub const KEPT_LOCKS: usize = 20;

/// A lock that a scope had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The number, rising with time.
    pub number: u32,
    /// The command that replaced the lock.
    pub command: String,
    /// The time of the command in seconds since 1970.
    pub time: i64,
    /// The text of the lock. Empty if there was none.
    pub lock: String,
    /// The text of the manifest. `None` if there was none.
    pub manifest: Option<String>,
}

impl HistoryEntry {
    /// Parses the lock.
    pub fn parsed(&self) -> Result<LockFile, LockError> {
        if self.lock.is_empty() {
            return Ok(LockFile::default());
        }
        LockFile::parse(&self.lock)
    }
}

/// The history of a scope: the folder with its files.
#[derive(Clone, Debug)]
pub struct LockHistory {
    folder: PathBuf,
}

impl LockHistory {
    /// Opens the history below the state folder of a scope.
    pub fn new(state: &Path) -> Self {
        Self {
            folder: state.join("history"),
        }
    }

    /// Returns the entries, oldest first. Files that cannot be read are skipped.
    pub fn entries(&self) -> io::Result<Vec<HistoryEntry>> {
        Ok(self
            .numbers()?
            .into_iter()
            .filter_map(|number| self.read(number))
            .collect())
    }

    /// Adds a lock, and removes those beyond [`KEPT_LOCKS`].
    pub(crate) fn add(
        &self,
        command: &str,
        time: i64,
        lock: &str,
        manifest: Option<&str>,
        faults: &FaultPoints,
    ) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let numbers = self.numbers()?;
        let number = numbers.last().map_or(1, |last| last.saturating_add(1));
        let line: String = command.chars().filter(|c| !c.is_control()).collect();
        let text = format!("# command: {line}\n# time: {time}\n{lock}");
        if let Some(manifest) = manifest {
            write_new(&self.file(number, "toml"), manifest.as_bytes(), faults)?;
        }
        write_new(&self.file(number, "lock"), text.as_bytes(), faults)?;
        let over = (numbers.len() + 1).saturating_sub(KEPT_LOCKS);
        for old in numbers.into_iter().take(over) {
            fs::remove_file(self.file(old, "lock"))?;
            let _ = fs::remove_file(self.file(old, "toml"));
        }
        Ok(())
    }

    fn file(&self, number: u32, end: &str) -> PathBuf {
        self.folder.join(format!("{number:04}.{end}"))
    }

    fn numbers(&self) -> io::Result<Vec<u32>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".lock"));
            numbers.extend(number.and_then(|number| number.parse::<u32>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn read(&self, number: u32) -> Option<HistoryEntry> {
        let text = read_text(&self.file(number, "lock")).ok()??;
        let (command, rest) = text.strip_prefix("# command: ")?.split_once('\n')?;
        let (time, lock) = rest.strip_prefix("# time: ")?.split_once('\n')?;
        Some(HistoryEntry {
            number,
            command: command.to_owned(),
            time: time.parse().ok()?,
            lock: lock.to_owned(),
            manifest: read_text(&self.file(number, "toml")).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_twenty_locks_are_kept() {
        let world = tempfile::tempdir().unwrap();
        let history = LockHistory::new(world.path());
        let faults = FaultPoints::default();
        assert!(history.entries().unwrap().is_empty());
        for number in 1..=23 {
            let lock = format!("version = 1\n# {number}\n");
            history
                .add("update\npdf", number, &lock, Some("[packages]\n"), &faults)
                .unwrap();
        }
        let entries = history.entries().unwrap();
        assert_eq!(entries.len(), KEPT_LOCKS);
        let numbers = (entries[0].number, entries[19].number);
        assert_eq!(numbers, (4, 23));
        assert_eq!(
            entries[19],
            HistoryEntry {
                number: 23,
                command: "updatepdf".to_owned(),
                time: 23,
                lock: "version = 1\n# 23\n".to_owned(),
                manifest: Some("[packages]\n".to_owned()),
            }
        );
    }
}
