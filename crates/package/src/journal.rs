//! The journal of one operation: enough to finish or undo it after a crash.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::fault::FaultPoints;
use crate::project::write_new;

/// The format of a journal.
const JOURNAL_VERSION: u64 = 1;
/// Maximum size of a journal in bytes.
const MAX_JOURNAL: u64 = 64 * 1024 * 1024;

/// The old and the new text of a file. `None` if the file does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextChange {
    /// The text before.
    pub old: Option<String>,
    /// The text after.
    pub new: Option<String>,
}

/// The state of an entry in a scope folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// There is nothing.
    Absent,
    /// A link to a tree in the store.
    Link {
        /// The digest of the tree.
        digest: String,
    },
    /// A link to a folder of the person's own.
    Path {
        /// The target of the link.
        target: String,
    },
    /// A copy of a tree.
    Copy {
        /// The digest of the files.
        digest: String,
    },
}

/// A change of an entry in a scope folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// The name in the scope folder.
    pub name: String,
    /// The state before.
    pub old: EntryState,
    /// The state after.
    pub new: EntryState,
}

/// One operation under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// The command that began it.
    pub command: String,
    /// The change of the manifest. `None` if it does not change.
    pub manifest: Option<TextChange>,
    /// The change of the lock.
    pub lock: TextChange,
    /// The changes in the scope folder.
    pub entries: Vec<EntryChange>,
}

impl Journal {
    /// Writes the journal, synced.
    pub(crate) fn write(&self, path: &Path, faults: &FaultPoints) -> io::Result<()> {
        write_new(path, self.text().as_bytes(), faults)
    }

    fn text(&self) -> String {
        let change = |change: &TextChange| json!({ "old": change.old, "new": change.new });
        let entries: Vec<Value> = self
            .entries
            .iter()
            .map(|entry| json!({ "name": entry.name, "old": to_json(&entry.old), "new": to_json(&entry.new) }))
            .collect();
        json!({
            "version": JOURNAL_VERSION,
            "command": self.command,
            "manifest": self.manifest.as_ref().map(change),
            "lock": change(&self.lock),
            "entries": entries,
        })
        .to_string()
    }

    /// Reads a journal. Returns `None` if there is none.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let bytes = match fs::metadata(path) {
            Ok(facts) if facts.len() > MAX_JOURNAL => {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(_) => fs::read(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the journal is damaged");
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        from_json(&value).map(Some).ok_or_else(damaged)
    }
}

fn to_json(state: &EntryState) -> Value {
    match state {
        EntryState::Absent => Value::Null,
        EntryState::Link { digest } => json!({ "link": digest }),
        EntryState::Path { target } => json!({ "path": target }),
        EntryState::Copy { digest } => json!({ "copy": digest }),
    }
}

fn state_from_json(value: &Value) -> Option<EntryState> {
    if value.is_null() {
        return Some(EntryState::Absent);
    }
    let (kind, text) = value.as_object()?.iter().next()?;
    let text = text.as_str()?.to_owned();
    Some(match kind.as_str() {
        "link" => EntryState::Link { digest: text },
        "path" => EntryState::Path { target: text },
        "copy" => EntryState::Copy { digest: text },
        _ => return None,
    })
}

fn from_json(value: &Value) -> Option<Journal> {
    if value["version"].as_u64()? != JOURNAL_VERSION {
        return None;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let change = |value: &Value| TextChange {
        old: text(&value["old"]),
        new: text(&value["new"]),
    };
    let entry = |value: &Value| {
        Some(EntryChange {
            name: text(&value["name"])?,
            old: state_from_json(&value["old"])?,
            new: state_from_json(&value["new"])?,
        })
    };
    let entries: Option<Vec<EntryChange>> =
        value["entries"].as_array()?.iter().map(entry).collect();
    Some(Journal {
        command: text(&value["command"])?,
        manifest: Some(&value["manifest"])
            .filter(|value| value.is_object())
            .map(change),
        lock: change(value["lock"].is_object().then_some(&value["lock"])?),
        entries: entries?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_survives_writing_and_reading() {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("journal");
        assert_eq!(Journal::read(&path).unwrap(), None);
        let change = |name: &str, old, new| EntryChange {
            name: name.to_owned(),
            old,
            new,
        };
        let journal = Journal {
            command: "add pdf".to_owned(),
            manifest: Some(TextChange {
                old: None,
                new: Some("[packages]\n".to_owned()),
            }),
            lock: TextChange {
                old: Some("a\n\"".to_owned()),
                new: Some("b\n".to_owned()),
            },
            entries: vec![
                change(
                    "a",
                    EntryState::Absent,
                    EntryState::Link {
                        digest: "sha256:1".to_owned(),
                    },
                ),
                change(
                    "b",
                    EntryState::Copy {
                        digest: "sha256:2".to_owned(),
                    },
                    EntryState::Absent,
                ),
                change(
                    "c",
                    EntryState::Path {
                        target: "../c".to_owned(),
                    },
                    EntryState::Absent,
                ),
            ],
        };
        journal.write(&path, &FaultPoints::default()).unwrap();
        assert_eq!(Journal::read(&path).unwrap(), Some(journal.clone()));
        for text in [
            "",
            "{",
            "{}",
            "{\"version\":2}",
            "{\"version\":1,\"command\":\"x\",\"entries\":[]}",
        ] {
            fs::write(&path, text).unwrap();
            assert!(Journal::read(&path).is_err(), "{text}");
        }
    }
}
