//! The store: one file for each trusted skill.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use prowess_registry::digest::{self, FactKind};
use prowess_registry::{ContentsError, files_of};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Largest record that is read; 10,000 files of a skill fit.
const MAX_RECORD: u64 = 4 * 1024 * 1024;
/// Most records that are listed.
const MAX_RECORDS: usize = 100_000;
/// The form of the records.
const VERSION: u32 = 1;

/// Why trust could not be looked up or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The files of the skill could not be read or hashed.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// A file of the store or of the skill could not be read or written.
    #[error("cannot {verb} {}", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The skill changed between being shown and being trusted.
    #[error("{} changed after it was shown", path.display())]
    Changed {
        /// The skill.
        path: PathBuf,
    },
}

/// What is remembered of a trusted skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// Where the skill is.
    pub path: String,
    /// The digest over all its files.
    pub digest: String,
    /// When it was trusted, in seconds since 1970.
    pub since: u64,
    /// Each file by name, with its kind and digest.
    files: BTreeMap<String, String>,
}

/// Whether a skill is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody ever trusted it.
    Never,
    /// A person trusts exactly these files.
    Trusted(Record),
    /// A person trusted it, and it changed since.
    Lapsed(Record),
    /// There is a record that cannot be read; it counts for nothing.
    Damaged {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl State {
    /// Tells whether the skill may do something.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted(_))
    }
}

/// A file that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added(String),
    /// It is gone.
    Removed(String),
    /// Its content changed.
    Edited(String),
    /// It became or ceased to be executable, or a link.
    Mode(String),
}

/// A file of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A record.
    Record(Record),
    /// Something else.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The records of a person.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: PathBuf,
}

impl TrustStore {
    /// A store in a folder, which need not exist. It must not be inside a project.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where the records are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Looks up a skill: a folder, or a file if a single file is the skill. Reads its files.
    pub fn state(&self, skill: &Path) -> Result<State, Error> {
        let path = real(skill)?;
        match self.record(&path) {
            Ok(record) => Ok(verdict(record, &digest_of(&path)?)),
            Err(state) => Ok(state),
        }
    }

    /// Looks up a skill whose digest is known. Reads none of its files.
    pub fn state_of(&self, skill: &Path, digest: &str) -> Result<State, Error> {
        let path = real(skill)?;
        Ok(match self.record(&path) {
            Ok(record) => verdict(record, digest),
            Err(state) => state,
        })
    }

    /// Lists the files of a skill that changed since it was trusted. Reads its files if its trust
    /// lapsed.
    pub fn changes(&self, skill: &Path, state: &State) -> Result<Vec<Change>, Error> {
        match state {
            State::Lapsed(record) => Ok(changes(&record.files, &each_file(&real(skill)?)?)),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the record of a skill, or the state of a skill without a usable record.
    fn record(&self, path: &Path) -> Result<Record, State> {
        let file = self.record_path(path);
        let damaged = |why: String| State::Damaged {
            path: file.clone(),
            why,
        };
        match read_record(&file) {
            Ok(None) => Err(State::Never),
            Ok(Some(record)) if record.path == spell(path) => Ok(record),
            Ok(Some(_)) => Err(damaged("it belongs to another folder".to_owned())),
            Err(why) => Err(damaged(why)),
        }
    }

    /// Trusts a skill as it was shown: `seen` is the digest that the person looked at.
    pub fn grant(&self, skill: &Path, seen: &str, now: u64) -> Result<Record, Error> {
        let path = real(skill)?;
        let files = each_file(&path)?;
        // Hashed last, so that what is written down is what was just listed or nothing.
        let digest = digest_of(&path)?;
        if digest != seen || digest_of_list(&files) != digest_of_list(&each_file(&path)?) {
            return Err(Error::Changed { path });
        }
        let record = Record {
            version: VERSION,
            path: spell(&path),
            digest,
            since: now,
            files,
        };
        self.write(&self.record_path(&path), &record)?;
        Ok(record)
    }

    /// Takes trust back. Tells whether there was any. The skill itself may be gone already.
    pub fn revoke(&self, skill: &Path) -> Result<bool, Error> {
        let path = real(skill).unwrap_or_else(|_| skill.to_owned());
        let record = self.record_path(&path);
        match fs::remove_file(&record) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Error::File {
                verb: "remove",
                path: record,
                source,
            }),
        }
    }

    /// Every record, by path of the skill.
    pub fn list(&self) -> Result<Vec<Entry>, Error> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(Error::File {
                    verb: "read",
                    path: self.folder.clone(),
                    source,
                });
            }
        };
        let mut all = Vec::new();
        for entry in entries.flatten().take(MAX_RECORDS) {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match read_record(&path) {
                Ok(Some(record)) => all.push(Entry::Record(record)),
                Ok(None) => {}
                Err(why) => all.push(Entry::Damaged { path, why }),
            }
        }
        all.sort_by_key(|entry| match entry {
            Entry::Record(record) => (0, record.path.clone()),
            Entry::Damaged { path, .. } => (1, spell(path)),
        });
        Ok(all)
    }

    fn record_path(&self, skill: &Path) -> PathBuf {
        let name = hex(&Sha256::digest(skill.as_os_str().as_bytes()));
        self.folder.join(format!("{}.json", &name[..40]))
    }

    /// Writes a record so that a crash leaves the old one or the new one.
    fn write(&self, path: &Path, record: &Record) -> Result<(), Error> {
        let failed = |source| Error::File {
            verb: "write",
            path: path.to_owned(),
            source,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(failed)?;
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(&self.folder)
            .map_err(failed)?;
        let text = serde_json::to_vec_pretty(record)
            .map_err(|error| failed(std::io::Error::other(error)))?;
        file.write_all(&text).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        fs::File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)
    }
}

fn verdict(record: Record, digest: &str) -> State {
    if record.digest == digest {
        State::Trusted(record)
    } else {
        State::Lapsed(record)
    }
}

/// Reads a record; nothing when there is none.
fn read_record(path: &Path) -> Result<Option<Record>, String> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut text = String::new();
    file.take(MAX_RECORD)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    let record: Record = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if record.version != VERSION {
        return Err(format!(
            "it was written by another version ({})",
            record.version
        ));
    }
    Ok(Some(record))
}

fn real(skill: &Path) -> Result<PathBuf, Error> {
    fs::canonicalize(skill).map_err(|source| Error::File {
        verb: "find",
        path: skill.to_owned(),
        source,
    })
}

/// A path as text; bytes that are not UTF-8 are escaped.
fn spell(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => path.as_os_str().as_bytes().escape_ascii().to_string(),
    }
}

/// Returns the digest over all files of a skill.
pub fn digest_of(skill: &Path) -> Result<String, Error> {
    Ok(prowess_registry::digest_of(skill)?)
}

/// Each file of a skill with its kind and digest.
fn each_file(skill: &Path) -> Result<BTreeMap<String, String>, Error> {
    let (folder, files) = files_of(skill)?;
    let mut all = BTreeMap::new();
    for file in files {
        let kind = match file.kind {
            FactKind::File => "file",
            FactKind::Executable => "executable",
            FactKind::Link => "link",
        };
        let name = spell(&file.path);
        let digest = digest::digest(&folder, std::slice::from_ref(&file)).map_err(|source| {
            ContentsError::Hash {
                path: skill.to_owned(),
                source,
            }
        })?;
        all.insert(name, format!("{kind} {digest}"));
    }
    Ok(all)
}

fn digest_of_list(files: &BTreeMap<String, String>) -> String {
    let mut hasher = Sha256::new();
    for (name, facts) in files {
        hasher.update(name.as_bytes());
        hasher.update([0]);
        hasher.update(facts.as_bytes());
        hasher.update([0]);
    }
    hex(&hasher.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn changes(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<Change> {
    let mut all = Vec::new();
    for (name, facts) in then {
        match now.get(name) {
            None => all.push(Change::Removed(name.clone())),
            Some(other) if other == facts => {}
            Some(other) if other.split(' ').next() != facts.split(' ').next() => {
                all.push(Change::Mode(name.clone()));
            }
            Some(_) => all.push(Change::Edited(name.clone())),
        }
    }
    all.extend(
        now.keys()
            .filter(|name| !then.contains_key(*name))
            .cloned()
            .map(Change::Added),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill() -> (tempfile::TempDir, PathBuf, TrustStore) {
        let world = tempfile::tempdir().unwrap();
        let skill = world.path().join("skill");
        fs::create_dir(&skill).unwrap();
        fs::write(skill.join("SKILL.md"), "---\nname: x\n---\n").unwrap();
        fs::write(skill.join("run.sh"), "echo").unwrap();
        let store = TrustStore::new(world.path().join("state/trust"));
        (world, skill, store)
    }

    #[test]
    fn trust_is_for_exactly_these_files() {
        let (_world, skill, store) = skill();
        assert_eq!(store.state(&skill).unwrap(), State::Never);
        let seen = digest_of(&skill).unwrap();
        store.grant(&skill, &seen, 7).unwrap();
        assert!(store.state(&skill).unwrap().is_trusted());
        fs::write(skill.join("run.sh"), "echo 2").unwrap();
        fs::write(skill.join("new"), "").unwrap();
        fs::remove_file(skill.join("SKILL.md")).unwrap();
        let state = store.state(&skill).unwrap();
        assert!(matches!(state, State::Lapsed(_)));
        let changes = store.changes(&skill, &state).unwrap();
        assert_eq!(
            changes,
            [
                Change::Removed("SKILL.md".into()),
                Change::Edited("run.sh".into()),
                Change::Added("new".into())
            ]
        );
    }

    #[test]
    fn what_changed_while_it_was_shown_is_not_trusted() {
        let (_world, skill, store) = skill();
        let seen = digest_of(&skill).unwrap();
        fs::write(skill.join("run.sh"), "rm -rf").unwrap();
        assert!(matches!(
            store.grant(&skill, &seen, 7),
            Err(Error::Changed { .. })
        ));
        assert_eq!(store.state(&skill).unwrap(), State::Never);
    }

    #[test]
    fn a_mode_is_part_of_a_file() {
        let (_world, skill, store) = skill();
        store.grant(&skill, &digest_of(&skill).unwrap(), 7).unwrap();
        fs::set_permissions(skill.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let state = store.state(&skill).unwrap();
        assert!(matches!(state, State::Lapsed(_)));
        let changes = store.changes(&skill, &state).unwrap();
        assert_eq!(changes, [Change::Mode("run.sh".into())]);
    }

    #[test]
    fn records_are_private_listed_and_taken_back() {
        let (_world, skill, store) = skill();
        store.grant(&skill, &digest_of(&skill).unwrap(), 7).unwrap();
        let file = fs::read_dir(store.folder())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            fs::metadata(store.folder()).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(store.list().unwrap().len(), 1);
        assert!(store.revoke(&skill).unwrap());
        assert!(!store.revoke(&skill).unwrap());
        assert_eq!(store.state(&skill).unwrap(), State::Never);
    }

    #[test]
    fn a_damaged_or_foreign_record_counts_for_nothing() {
        let (_world, skill, store) = skill();
        let record = store.grant(&skill, &digest_of(&skill).unwrap(), 7).unwrap();
        let file = fs::read_dir(store.folder())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        for text in ["", "{", "[]", "{\"version\": 1}"] {
            fs::write(&file, text).unwrap();
            assert!(
                matches!(store.state(&skill).unwrap(), State::Damaged { .. }),
                "{text}"
            );
            assert!(matches!(store.list().unwrap()[..], [Entry::Damaged { .. }]));
        }
        let other = Record {
            path: "/elsewhere".into(),
            ..record
        };
        fs::write(&file, serde_json::to_string(&other).unwrap()).unwrap();
        assert!(matches!(
            store.state(&skill).unwrap(),
            State::Damaged { .. }
        ));
    }

    #[test]
    fn a_file_alone_can_be_trusted() {
        let (world, _skill, store) = skill();
        let file = world.path().join("command.md");
        fs::write(&file, "x").unwrap();
        store.grant(&file, &digest_of(&file).unwrap(), 7).unwrap();
        assert!(store.state(&file).unwrap().is_trusted());
        // A link leads to the same file, and so to the same digest.
        let link = world.path().join("link.md");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(digest_of(&link).unwrap(), digest_of(&file).unwrap());
        fs::write(&file, "y").unwrap();
        assert!(!store.state(&file).unwrap().is_trusted());
    }

    #[test]
    fn another_place_is_another_skill() {
        let (world, skill, store) = skill();
        store.grant(&skill, &digest_of(&skill).unwrap(), 7).unwrap();
        let moved = world.path().join("moved");
        fs::rename(&skill, &moved).unwrap();
        assert_eq!(store.state(&moved).unwrap(), State::Never);
        // A link leads to the same files, and so to the same answer.
        fs::rename(&moved, &skill).unwrap();
        std::os::unix::fs::symlink(&skill, world.path().join("link")).unwrap();
        assert!(
            store
                .state(&world.path().join("link"))
                .unwrap()
                .is_trusted()
        );
    }
}
