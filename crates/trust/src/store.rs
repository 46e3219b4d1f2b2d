//! The store: one file for each trusted skill.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::SkillForm;
use prowess_diag::hex;
use prowess_registry::digest::{self, FactKind};
use prowess_registry::{ContentsError, files_of};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::package_pin::{PackageFault, PackageLocks, PackagePin};

/// Maximum size of a record in bytes; enough for 10,000 files.
const MAX_RECORD: u64 = 4 * 1024 * 1024;
/// Maximum number of digests in a record that were trusted before.
const MAX_EARLIER: usize = 50;
/// Maximum number of records to list.
const MAX_RECORDS: usize = 100_000;
/// The version of the record format.
const VERSION: u32 = 1;

/// Error from looking up or changing trust.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The files of the skill could not be read or hashed.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// A file of the store or of the skill could not be read or written.
    #[error("cannot {verb} `{}`", path.display())]
    File {
        /// The operation.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The skill changed between being shown and being trusted.
    #[error("`{}` changed after it was shown; review it again", path.display())]
    Changed {
        /// The skill.
        path: PathBuf,
    },
    /// The skill is a package, and its lockfile does not allow it to be loaded.
    #[error("{fault}; {hint}", fault = .0, hint = .0.hint())]
    Package(PackageFault),
}

impl From<PackageFault> for TrustError {
    fn from(fault: PackageFault) -> Self {
        Self::Package(fault)
    }
}

/// Error from reading a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustRecordError {
    /// The file cannot be read.
    #[error("{why}")]
    Unreadable {
        /// The I/O error.
        why: String,
    },
    /// The file is not a record.
    #[error("{why}")]
    Syntax {
        /// The error of the parser.
        why: String,
    },
    /// The record was written by another version.
    #[error("unsupported version {version}")]
    Version {
        /// The version of the record.
        version: u32,
    },
    /// The record is about another skill.
    #[error("it belongs to another path")]
    OtherPath,
    /// The record is about something else at this path.
    #[error("it was made for something of another kind")]
    OtherKind,
}

/// The kind of thing that a record is about. Trust in one kind is never trust in another: a file
/// that was shown as a slash command does not start servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustKind {
    /// A folder with a skill.
    Skill,
    /// A skill or slash command in a single Markdown file.
    Command,
    /// A `.mcp.json`, whose programs run outside the sandbox.
    Servers,
    /// An agent file, with the prompts, commands and servers that it names.
    Agents,
    /// The `.hcl` files of a folder, with the texts that they load.
    Missions,
}

impl TrustKind {
    /// Returns the kind of a skill in a form.
    pub fn of_form(form: SkillForm) -> Self {
        match form {
            SkillForm::Folder | SkillForm::Memory => Self::Skill,
            SkillForm::File | SkillForm::Command => Self::Command,
        }
    }

    /// Returns the kind of the skill at a path: a folder, or a single file.
    pub fn of_skill_at(path: &Path) -> Self {
        if path.is_dir() {
            Self::Skill
        } else {
            Self::Command
        }
    }

    /// Returns the name of the kind in a record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Command => "command",
            Self::Servers => "servers",
            Self::Agents => "agents",
            Self::Missions => "missions",
        }
    }
}

/// The record of a trusted skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    version: u32,
    /// The kind. `None` in records of earlier versions, which are valid for folders only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TrustKind>,
    /// The path of the skill as it is used: the real path of the folder around it, and its name. If
    /// the name is a link, its target is not part of the path.
    pub path: String,
    /// The project that uses it, if it is outside of that project. Its commands run in the project,
    /// so trust for one project is not trust for another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The digest over all its files.
    pub digest: String,
    /// The time it was trusted, in seconds since 1970.
    pub since: u64,
    /// Each file by name, with its kind and digest.
    files: BTreeMap<String, String>,
    /// The digests that were trusted before, latest last. Revoking trust removes them too. Runs of
    /// missions that started with these files go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<String>,
}

/// The trust state of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// It was never trusted.
    Never,
    /// The user trusts exactly these files.
    Trusted(TrustRecord),
    /// It changed after the user trusted it.
    Lapsed(TrustRecord),
    /// Its record cannot be read and is ignored.
    Damaged {
        /// The record.
        path: PathBuf,
        /// The error.
        why: TrustRecordError,
    },
}

impl TrustState {
    /// Returns `true` if the skill is trusted.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted(_))
    }

    /// Returns `true` if files with this digest are trusted, or were before other ones were trusted in
    /// their place. Trust that was revoked does not count.
    pub(crate) fn has_trusted(&self, digest: &str) -> bool {
        match self {
            Self::Trusted(record) | Self::Lapsed(record) => {
                record.digest == digest || record.earlier.iter().any(|known| known == digest)
            }
            Self::Never | Self::Damaged { .. } => false,
        }
    }
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It is new.
    Added(String),
    /// It is gone.
    Removed(String),
    /// Its content changed.
    Edited(String),
    /// Its kind changed: file, executable or link.
    Mode(String),
}

impl TrustState {
    /// Lists the files that changed since they were trusted, given what they are now.
    pub(crate) fn changes(&self, now: &BTreeMap<String, String>) -> Vec<FileChange> {
        match self {
            Self::Lapsed(record) => changes(&record.files, now),
            _ => Vec::new(),
        }
    }
}

impl FileChange {
    /// Returns the name of the file.
    pub fn file(&self) -> &str {
        match self {
            Self::Added(file) | Self::Removed(file) | Self::Edited(file) | Self::Mode(file) => file,
        }
    }
}

/// A file of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustEntry {
    /// A record.
    Record(TrustRecord),
    /// A file that cannot be read as a record.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error.
        why: TrustRecordError,
    },
}

/// The trust records of a user.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: PathBuf,
    /// The project that uses the skills.
    project: Option<PathBuf>,
    /// The lockfiles of packages.
    locks: Option<Arc<dyn PackageLocks>>,
}

impl TrustStore {
    /// Opens a store in a folder, which need not exist and must not be inside a project.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            project: None,
            locks: None,
        }
    }

    /// Returns the store with lockfiles, against which packages are checked.
    #[must_use]
    pub fn with_locks(self, locks: Arc<dyn PackageLocks>) -> Self {
        Self {
            locks: Some(locks),
            ..self
        }
    }

    /// Returns what the lockfiles say about the entry of a scope folder.
    pub fn pin(&self, entry: &Path) -> PackagePin {
        let locks = self.locks.as_ref();
        locks.map_or(PackagePin::Free, |locks| locks.pin(entry))
    }

    /// Returns the store as a project sees it: what is outside of the project, such as a skill of the
    /// main checkout that a worktree uses, has a record for that project alone.
    #[must_use]
    pub fn in_project(self, project: &Path) -> Self {
        let project = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        Self {
            project: Some(project),
            ..self
        }
    }

    /// Returns the store for things that are used where they are.
    #[must_use]
    pub fn in_place(&self) -> Self {
        Self {
            project: None,
            ..self.clone()
        }
    }

    /// Returns the project that a record for this path is bound to.
    fn project_for(&self, used: &Path) -> Option<&Path> {
        self.project
            .as_deref()
            .filter(|project| !used.starts_with(project))
    }

    /// Returns the folder of the records.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Looks up a skill: a folder or a single file. Reads its files.
    pub fn state(&self, kind: TrustKind, skill: &Path) -> Result<TrustState, TrustError> {
        let contents = real(skill)?;
        match self.record(kind, &used(skill)?) {
            Ok(record) => Ok(verdict(record, &digest_of(&contents)?)),
            Err(state) => Ok(*state),
        }
    }

    /// Looks up a skill whose digest is known. Reads none of its files.
    pub fn state_of(
        &self,
        kind: TrustKind,
        skill: &Path,
        digest: &str,
    ) -> Result<TrustState, TrustError> {
        Ok(match self.record(kind, &used(skill)?) {
            Ok(record) => verdict(record, digest),
            Err(state) => *state,
        })
    }

    /// Lists the files of a skill that changed since it was trusted. Reads its files if its trust
    /// lapsed.
    pub fn changes(&self, skill: &Path, state: &TrustState) -> Result<Vec<FileChange>, TrustError> {
        match state {
            TrustState::Lapsed(record) => Ok(changes(&record.files, &each_file(&real(skill)?)?)),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the record of a skill, or the state of a skill without a usable record.
    fn record(&self, kind: TrustKind, path: &Path) -> Result<TrustRecord, Box<TrustState>> {
        let file = self.record_path(kind, path);
        let damaged = |why| {
            let path = file.clone();
            Box::new(TrustState::Damaged { path, why })
        };
        let is_kind = |record: &TrustRecord| match record.kind {
            Some(known) => known == kind,
            None => kind == TrustKind::Skill,
        };
        match read_record(&file) {
            Ok(None) => Err(Box::new(TrustState::Never)),
            Ok(Some(record))
                if record.path != spell(path)
                    || record.project != self.project_for(path).map(spell) =>
            {
                Err(damaged(TrustRecordError::OtherPath))
            }
            Ok(Some(record)) if is_kind(&record) => Ok(record),
            Ok(Some(_)) => Err(damaged(TrustRecordError::OtherKind)),
            Err(why) => Err(damaged(why)),
        }
    }

    /// Trusts a skill as it was shown. `seen` is the digest that was shown to the user.
    pub fn grant(
        &self,
        kind: TrustKind,
        skill: &Path,
        seen: &str,
        now: u64,
    ) -> Result<TrustRecord, TrustError> {
        let (path, contents) = (used(skill)?, real(skill)?);
        let files = each_file(&contents)?;
        // Hashed last: the record is written only if it describes the files that were just listed.
        let digest = digest_of(&contents)?;
        if digest != seen || digest_of_list(&files) != digest_of_list(&each_file(&contents)?) {
            return Err(TrustError::Changed { path });
        }
        let record = TrustRecord {
            version: VERSION,
            kind: Some(kind),
            path: spell(&path),
            project: self.project_for(&path).map(spell),
            digest,
            since: now,
            files,
            earlier: Vec::new(),
        };
        self.write(&self.record_path(kind, &path), &record)?;
        Ok(record)
    }

    /// Trusts exactly these files, with the digests that they had when they were shown.
    pub(crate) fn grant_files(
        &self,
        kind: TrustKind,
        path: &Path,
        digest: &str,
        files: BTreeMap<String, String>,
        now: u64,
    ) -> Result<(), TrustError> {
        let path = used(path)?;
        let mut earlier = Vec::new();
        if kind == TrustKind::Missions
            && let Ok(before) = self.record(kind, &path)
        {
            earlier = before.earlier;
            earlier.push(before.digest);
            earlier.retain(|known| known != digest);
            let surplus = earlier.len().saturating_sub(MAX_EARLIER);
            earlier.drain(..surplus);
        }
        let record = TrustRecord {
            version: VERSION,
            kind: Some(kind),
            path: spell(&path),
            project: self.project_for(&path).map(spell),
            digest: digest.to_owned(),
            since: now,
            files,
            earlier,
        };
        self.write(&self.record_path(kind, &path), &record)
    }

    /// Revokes trust. Returns `true` if there was a record. The skill itself need not exist any
    /// more.
    pub fn revoke(&self, kind: TrustKind, skill: &Path) -> Result<bool, TrustError> {
        let path = used(skill).unwrap_or_else(|_| skill.to_owned());
        // Records of earlier versions have the name of a skill.
        let earlier = (kind != TrustKind::Missions).then_some(TrustKind::Skill);
        let kinds = std::iter::once(kind).chain(earlier);
        let mut had = false;
        for record in kinds.map(|kind| self.record_path(kind, &path)) {
            match fs::remove_file(&record) {
                Ok(()) => had = true,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(TrustError::File {
                        verb: "remove",
                        path: record,
                        source,
                    });
                }
            }
        }
        Ok(had)
    }

    /// Returns all records, sorted by the path of the skill.
    pub fn list(&self) -> Result<Vec<TrustEntry>, TrustError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(TrustError::File {
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
                // Of an earlier version, and ignored because it could be of two kinds.
                Ok(Some(record)) if record.kind.is_none() && Path::new(&record.path).is_file() => {
                    let why = TrustRecordError::OtherKind;
                    all.push(TrustEntry::Damaged { path, why });
                }
                Ok(Some(record)) => all.push(TrustEntry::Record(record)),
                Ok(None) => {}
                Err(why) => all.push(TrustEntry::Damaged { path, why }),
            }
        }
        all.sort_by_key(|entry| match entry {
            TrustEntry::Record(record) => (0, record.path.clone()),
            TrustEntry::Damaged { path, .. } => (1, spell(path)),
        });
        Ok(all)
    }

    /// Returns the file of a record. Each kind has its own, so that trust in one replaces no other.
    fn record_path(&self, kind: TrustKind, skill: &Path) -> PathBuf {
        let mut hasher = Sha256::new();
        if kind != TrustKind::Skill {
            // A path contains no NUL.
            hasher.update(kind.name().as_bytes());
            hasher.update([0]);
        }
        hasher.update(skill.as_os_str().as_bytes());
        if let Some(project) = self.project_for(skill) {
            hasher.update([0]);
            hasher.update(project.as_os_str().as_bytes());
        }
        let name = hex(&hasher.finalize());
        self.folder.join(format!("{}.json", &name[..40]))
    }

    /// Writes a record atomically: after a crash, either the old or the new one exists.
    fn write(&self, path: &Path, record: &TrustRecord) -> Result<(), TrustError> {
        let failed = |source| TrustError::File {
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

fn verdict(record: TrustRecord, digest: &str) -> TrustState {
    if record.digest == digest {
        TrustState::Trusted(record)
    } else {
        TrustState::Lapsed(record)
    }
}

/// Reads a record. Returns `None` if there is none.
fn read_record(path: &Path) -> Result<Option<TrustRecord>, TrustRecordError> {
    let unreadable = |error: std::io::Error| TrustRecordError::Unreadable {
        why: error.to_string(),
    };
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut text = String::new();
    file.take(MAX_RECORD)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let record: TrustRecord =
        serde_json::from_str(&text).map_err(|error| TrustRecordError::Syntax {
            why: error.to_string(),
        })?;
    if record.version != VERSION {
        return Err(TrustRecordError::Version {
            version: record.version,
        });
    }
    Ok(Some(record))
}

fn real(skill: &Path) -> Result<PathBuf, TrustError> {
    fs::canonicalize(skill).map_err(|source| TrustError::File {
        verb: "find",
        path: skill.to_owned(),
        source,
    })
}

/// Returns the path of a skill as it is used: the real path of the folder around it, and its name.
/// A link to a trusted file of another project must not have its trust: commands and servers start
/// in the project that the link is in.
fn used(skill: &Path) -> Result<PathBuf, TrustError> {
    match (skill.parent(), skill.file_name()) {
        (Some(parent), Some(name)) if parent.as_os_str().is_empty() => {
            Ok(real(Path::new("."))?.join(name))
        }
        (Some(parent), Some(name)) => Ok(real(parent)?.join(name)),
        _ => real(skill),
    }
}

/// Converts a path to text. Bytes that are not UTF-8 are escaped.
fn spell(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => path.as_os_str().as_bytes().escape_ascii().to_string(),
    }
}

/// Returns the digest over all files of a skill.
pub fn digest_of(skill: &Path) -> Result<String, TrustError> {
    Ok(prowess_registry::digest_of(skill)?)
}

/// Returns each file of a skill with its kind and digest.
fn each_file(skill: &Path) -> Result<BTreeMap<String, String>, TrustError> {
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

/// Returns the digest over a list of files with their digests.
pub(crate) fn digest_of_list(files: &BTreeMap<String, String>) -> String {
    let mut hasher = Sha256::new();
    for (name, facts) in files {
        hasher.update(name.as_bytes());
        hasher.update([0]);
        hasher.update(facts.as_bytes());
        hasher.update([0]);
    }
    hex(&hasher.finalize())
}

fn changes(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<FileChange> {
    let mut all = Vec::new();
    for (name, facts) in then {
        match now.get(name) {
            None => all.push(FileChange::Removed(name.clone())),
            Some(other) if other == facts => {}
            Some(other) if other.split(' ').next() != facts.split(' ').next() => {
                all.push(FileChange::Mode(name.clone()));
            }
            Some(_) => all.push(FileChange::Edited(name.clone())),
        }
    }
    all.extend(
        now.keys()
            .filter(|name| !then.contains_key(*name))
            .cloned()
            .map(FileChange::Added),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKILL: TrustKind = TrustKind::Skill;

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
    fn trust_is_bound_to_the_exact_files() {
        let (_world, skill, store) = skill();
        assert_eq!(store.state(SKILL, &skill).unwrap(), TrustState::Never);
        let seen = digest_of(&skill).unwrap();
        store.grant(SKILL, &skill, &seen, 7).unwrap();
        assert!(store.state(SKILL, &skill).unwrap().is_trusted());
        fs::write(skill.join("run.sh"), "echo 2").unwrap();
        fs::write(skill.join("new"), "").unwrap();
        fs::remove_file(skill.join("SKILL.md")).unwrap();
        let state = store.state(SKILL, &skill).unwrap();
        assert!(matches!(state, TrustState::Lapsed(_)));
        let changes = store.changes(&skill, &state).unwrap();
        assert_eq!(
            changes,
            [
                FileChange::Removed("SKILL.md".into()),
                FileChange::Edited("run.sh".into()),
                FileChange::Added("new".into())
            ]
        );
    }

    #[test]
    fn skill_that_changed_after_it_was_shown_is_not_trusted() {
        let (_world, skill, store) = skill();
        let seen = digest_of(&skill).unwrap();
        fs::write(skill.join("run.sh"), "rm -rf").unwrap();
        assert!(matches!(
            store.grant(SKILL, &skill, &seen, 7),
            Err(TrustError::Changed { .. })
        ));
        assert_eq!(store.state(SKILL, &skill).unwrap(), TrustState::Never);
    }

    #[test]
    fn mode_change_lapses_trust() {
        let (_world, skill, store) = skill();
        store
            .grant(SKILL, &skill, &digest_of(&skill).unwrap(), 7)
            .unwrap();
        fs::set_permissions(skill.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let state = store.state(SKILL, &skill).unwrap();
        assert!(matches!(state, TrustState::Lapsed(_)));
        let changes = store.changes(&skill, &state).unwrap();
        assert_eq!(changes, [FileChange::Mode("run.sh".into())]);
    }

    #[test]
    fn records_are_private_listed_and_revoked() {
        let (_world, skill, store) = skill();
        store
            .grant(SKILL, &skill, &digest_of(&skill).unwrap(), 7)
            .unwrap();
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
        assert!(store.revoke(SKILL, &skill).unwrap());
        assert!(!store.revoke(SKILL, &skill).unwrap());
        assert_eq!(store.state(SKILL, &skill).unwrap(), TrustState::Never);
    }

    #[test]
    fn damaged_or_foreign_records_are_ignored() {
        let (_world, skill, store) = skill();
        let record = store
            .grant(SKILL, &skill, &digest_of(&skill).unwrap(), 7)
            .unwrap();
        let file = fs::read_dir(store.folder())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        for text in ["", "{", "[]", "{\"version\": 1}"] {
            fs::write(&file, text).unwrap();
            assert!(
                matches!(
                    store.state(SKILL, &skill).unwrap(),
                    TrustState::Damaged { .. }
                ),
                "{text}"
            );
            assert!(matches!(
                store.list().unwrap()[..],
                [TrustEntry::Damaged { .. }]
            ));
        }
        let other = TrustRecord {
            path: "/elsewhere".into(),
            ..record
        };
        fs::write(&file, serde_json::to_string(&other).unwrap()).unwrap();
        assert!(matches!(
            store.state(SKILL, &skill).unwrap(),
            TrustState::Damaged { .. }
        ));
    }

    #[test]
    fn single_file_can_be_trusted() {
        let (world, _skill, store) = skill();
        let file = world.path().join("command.md");
        fs::write(&file, "x").unwrap();
        store
            .grant(SKILL, &file, &digest_of(&file).unwrap(), 7)
            .unwrap();
        assert!(store.state(SKILL, &file).unwrap().is_trusted());
        // A link has the digest of its target.
        let link = world.path().join("link.md");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(digest_of(&link).unwrap(), digest_of(&file).unwrap());
        fs::write(&file, "y").unwrap();
        assert!(!store.state(SKILL, &file).unwrap().is_trusted());
    }

    #[test]
    fn trust_is_bound_to_the_path() {
        let (world, skill, store) = skill();
        store
            .grant(SKILL, &skill, &digest_of(&skill).unwrap(), 7)
            .unwrap();
        let moved = world.path().join("moved");
        fs::rename(&skill, &moved).unwrap();
        assert_eq!(store.state(SKILL, &moved).unwrap(), TrustState::Never);
        // A link does not have the trust of its target.
        fs::rename(&moved, &skill).unwrap();
        let link = world.path().join("link");
        std::os::unix::fs::symlink(&skill, &link).unwrap();
        assert_eq!(store.state(SKILL, &link).unwrap(), TrustState::Never);
        store
            .grant(SKILL, &link, &digest_of(&skill).unwrap(), 7)
            .unwrap();
        assert!(store.state(SKILL, &link).unwrap().is_trusted());
        assert!(store.revoke(SKILL, &link).unwrap());
        assert!(store.state(SKILL, &skill).unwrap().is_trusted());
        // A path through a linked folder is the same path.
        let around = world.path().join("around");
        std::os::unix::fs::symlink(world.path(), &around).unwrap();
        let through = around.join("skill");
        assert!(store.state(SKILL, &through).unwrap().is_trusted());
    }

    #[test]
    fn trust_is_bound_to_the_kind() {
        use TrustKind::{Command, Servers, Skill};
        let (world, _skill, store) = skill();
        let file = world.path().join("x.md");
        fs::write(&file, "x").unwrap();
        let digest = digest_of(&file).unwrap();
        let kinds = [Skill, Command, Servers];
        for kind in kinds {
            store.grant(kind, &file, &digest, 7).unwrap();
            let trusted = kinds.map(|kind| store.state(kind, &file).unwrap().is_trusted());
            assert_eq!(trusted, kinds.map(|other| other == kind), "{kind:?}");
            // Also if a record is renamed.
            for other in kinds.into_iter().filter(|other| *other != kind) {
                let [from, to] =
                    [kind, other].map(|kind| store.record_path(kind, &real(&file).unwrap()));
                fs::copy(from, &to).unwrap();
                assert!(
                    !store.state(other, &file).unwrap().is_trusted(),
                    "{kind:?} {other:?}"
                );
                fs::remove_file(to).unwrap();
            }
            assert!(store.revoke(kind, &file).unwrap());
        }
    }

    #[test]
    fn records_without_a_kind_are_valid_for_folders_only() {
        let (world, skill, store) = skill();
        let file = world.path().join("x.md");
        fs::write(&file, "x").unwrap();
        for path in [&skill, &file] {
            let digest = digest_of(path).unwrap();
            let record = store.grant(SKILL, path, &digest, 7).unwrap();
            let old = TrustRecord {
                kind: None,
                ..record
            };
            let text = serde_json::to_string(&old).unwrap();
            assert!(!text.contains("kind"), "{text}");
            for kind in [SKILL, TrustKind::Command, TrustKind::Servers] {
                fs::write(store.record_path(kind, &real(path).unwrap()), &text).unwrap();
            }
        }
        assert!(store.state(SKILL, &skill).unwrap().is_trusted());
        for kind in [TrustKind::Command, TrustKind::Servers] {
            let state = store.state(kind, &file).unwrap();
            assert!(matches!(state, TrustState::Damaged { .. }), "{state:?}");
        }
        let listed = store.list().unwrap();
        let is_valid = |entry: &&TrustEntry| matches!(entry, TrustEntry::Record(_));
        assert_eq!(listed.iter().filter(is_valid).count(), 3);
        assert!(store.revoke(TrustKind::Command, &file).unwrap());
    }
}
