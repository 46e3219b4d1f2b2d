//! A scope: manifest, lock and scope folder of a project or a person, changed all or not at all.
//!
//! The rename of the lock is the commit point. The journal is written before the first change and
//! removed after the last. A process that finds a journal, and can lock the scope, knows that its
//! writer is dead: it completes the operation if the lock is the new one, and undoes it otherwise.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use prowess_registry::digest::{FactKind, files};
use prowess_registry::digest_of;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::fault::FaultPoints;
use crate::history::LockHistory;
use crate::journal::{EntryChange, EntryState, Journal, TextChange};
use crate::lock::{LOCK_NAME, LockFile};
use crate::source::LockedSource;
use crate::store::{PackageStore, StoreError, exchange, remove_tree, sync_all, sync_folder};
use crate::tree::is_version_control;

/// Maximum size of a manifest or lock in bytes.
const MAX_TEXT: u64 = 64 * 1024 * 1024;
/// Maximum time to wait for another process that changes the same scope.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The time between two attempts.
const INTERVAL: Duration = Duration::from_millis(5);
/// The start of the names of files that are being written.
const PART: &str = ".prowess-part-";
/// The folder for entries that are being exchanged, next to the scope folder.
const EXCHANGE: &str = ".prowess-exchange";

/// The kind of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// A project: `.agents/prowess.toml` and `.agents/skills`.
    Project,
    /// A person: `config.toml` and `~/.agents/skills`.
    User,
}

/// The places of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageScope {
    /// The kind.
    pub kind: ScopeKind,
    /// The folder of the project, or the home folder.
    pub root: PathBuf,
    /// The manifest.
    pub manifest: PathBuf,
    /// The lock, next to the manifest.
    pub lock: PathBuf,
    /// The scope folder.
    pub skills: PathBuf,
}

impl PackageScope {
    /// Returns the scope of a project.
    pub fn project(root: &Path) -> Self {
        let agents = root.join(".agents");
        Self {
            kind: ScopeKind::Project,
            root: root.to_owned(),
            manifest: agents.join("prowess.toml"),
            lock: agents.join(LOCK_NAME),
            skills: agents.join("skills"),
        }
    }

    /// Returns the scope of a person. `config` is the folder of `config.toml`.
    pub fn user(home: &Path, config: &Path) -> Self {
        Self {
            kind: ScopeKind::User,
            root: home.to_owned(),
            manifest: config.join("config.toml"),
            lock: config.join(LOCK_NAME),
            skills: home.join(".agents/skills"),
        }
    }

    /// Returns the folder in the state folder for this scope.
    pub fn state(&self, state: &Path) -> PathBuf {
        let real = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let mut hasher = Sha256::new();
        hasher.update(real.as_os_str().as_encoded_bytes());
        hasher.update([u8::from(self.kind == ScopeKind::User)]);
        let key = prowess_diag::hex(&hasher.finalize()[..16]);
        state.join("packages/v1").join(key)
    }
}

/// Error from changing a scope. Unless it says otherwise, nothing changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// Reading or writing failed.
    #[error("cannot {verb} `{}`", path.display())]
    File {
        /// The action.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// A file is too large or not UTF-8.
    #[error("`{}` is not a text of at most {MAX_TEXT} bytes", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A folder of the project leads out of the project, or to a folder that is not one of skills.
    #[error("`{}` leads through a link to a place that is not a folder of skills in the project", path.display())]
    LinkOut {
        /// The folder.
        path: PathBuf,
    },
    /// Something else has the name of a package.
    #[error("`{}` exists and was not installed by prowess", path.display())]
    NotOurs {
        /// The entry.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// An installed package was changed.
    #[error("`{name}` was changed since it was installed")]
    Changed {
        /// The name.
        name: String,
    },
    /// The manifest or the lock was changed by another program.
    #[error("`{}` was changed by another program; try again", path.display())]
    Modified {
        /// The file.
        path: PathBuf,
    },
    /// Another process changes the scope.
    #[error("another prowess is changing `{}`", path.display())]
    Busy {
        /// The folder of the scope.
        path: PathBuf,
    },
    /// The journal cannot be read.
    #[error("the journal `{}` of an interrupted operation cannot be read", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The result of completing or undoing an interrupted operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// There was no journal.
    Nothing,
    /// The operation was completed.
    Completed {
        /// Its command.
        command: String,
    },
    /// The operation was undone.
    Undone {
        /// Its command.
        command: String,
    },
    /// The lock was changed since; the journal was dropped.
    Dropped {
        /// Its command.
        command: String,
    },
}

/// A change of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeChange {
    /// The command, for the history.
    pub command: String,
    /// The time in seconds since 1970, for the history.
    pub time: i64,
    /// The change of the manifest. `None` if it does not change.
    pub manifest: Option<TextChange>,
    /// The change of the lock.
    pub lock: TextChange,
    /// The wanted entries in the scope folder.
    pub entries: Vec<(String, EntryState)>,
    /// `true` to replace installed packages that were changed. Their files are kept in the store.
    pub replace_changed: bool,
}

/// The result of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeReport {
    /// Entries that were created, replaced or removed, in the order of the change.
    pub changed: Vec<EntryChange>,
    /// Digests of changed packages that were kept in the store.
    pub kept: Vec<String>,
    /// Entries that another program took while the change was under way.
    pub skipped: Vec<String>,
}

/// A scope that this process may change: no other process changes it until the value is dropped.
#[derive(Debug)]
pub struct ScopeSession {
    scope: PackageScope,
    state: PathBuf,
    store: PackageStore,
    faults: Arc<FaultPoints>,
    /// The result of recovery when the scope was opened.
    pub recovery: RecoveryOutcome,
    _lock: File,
}

impl ScopeSession {
    /// Locks a scope, and completes or undoes an operation that was interrupted. `state` is the state
    /// folder of Prowess.
    pub fn open(
        scope: &PackageScope,
        state: &Path,
        store: &PackageStore,
        faults: &Arc<FaultPoints>,
    ) -> Result<Self, ProjectError> {
        check_places(scope)?;
        let state = scope.state(state);
        let unmade = |path: &Path, source| file_error("write", path, source);
        faults.reach().map_err(|source| unmade(&state, source))?;
        fs::create_dir_all(&state).map_err(|source| unmade(&state, source))?;
        let lock = lock_scope(&state.join("lock"), &scope.root)?;
        remove_parts(&state);
        let place = state.join("place");
        let text = serde_json::json!({
            "root": scope.root,
            "lock": scope.lock,
            "manifest": scope.manifest,
        })
        .to_string();
        if read_text(&place).ok().flatten().as_deref() != Some(&text) {
            write_new(&place, text.as_bytes(), faults).map_err(|source| unmade(&place, source))?;
        }
        let mut session = Self {
            scope: scope.clone(),
            state,
            store: store.clone(),
            faults: Arc::clone(faults),
            recovery: RecoveryOutcome::Nothing,
            _lock: lock,
        };
        session.recovery = session.recover()?;
        Ok(session)
    }

    /// Returns the text of the manifest.
    pub fn manifest(&self) -> Result<Option<String>, ProjectError> {
        text_of(&self.scope.manifest)
    }

    /// Returns the text of the lock.
    pub fn lock(&self) -> Result<Option<String>, ProjectError> {
        text_of(&self.scope.lock)
    }

    /// Returns the history of the scope.
    pub fn history(&self) -> LockHistory {
        LockHistory::new(&self.state)
    }

    /// Returns the state of an entry. `locked` is the lock that is in force: it says which folders are
    /// copies of packages. Fails if the entry is something else.
    pub fn entry(&self, name: &str, locked: &LockFile) -> Result<EntryState, ProjectError> {
        let path = self.scope.skills.join(name);
        let foreign = || ProjectError::NotOurs {
            path: path.clone(),
            name: name.to_owned(),
        };
        let facts = match fs::symlink_metadata(&path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(EntryState::Absent),
            Err(source) => return Err(file_error("read", &path, source)),
        };
        let package = locked.get(name);
        if facts.is_symlink() {
            let target =
                fs::read_link(&path).map_err(|source| file_error("read", &path, source))?;
            if let Some(digest) = self.store.digest_at(&target) {
                return Ok(EntryState::Link { digest });
            }
            let is_locked = package.is_some_and(|package| package.source == LockedSource::Path);
            let target = target.to_str().filter(|_| is_locked).ok_or_else(foreign)?;
            return Ok(EntryState::Path {
                target: target.to_owned(),
            });
        }
        let is_copy = facts.is_dir() && package.is_some_and(|package| package.digest.is_some());
        if !is_copy {
            return Err(foreign());
        }
        let digest = digest_of(&path)
            .map_err(|error| file_error("read", &path, io::Error::other(error.to_string())))?;
        Ok(EntryState::Copy { digest })
    }

    /// Makes a change. `locked` is the lock that is in force. Every tree that the new entries name
    /// must be in the store.
    pub fn commit(
        &self,
        change: &ScopeChange,
        locked: &LockFile,
    ) -> Result<ScopeReport, ProjectError> {
        if self.lock()? != change.lock.old {
            return Err(ProjectError::Modified {
                path: self.scope.lock.clone(),
            });
        }
        if let Some(manifest) = &change.manifest
            && self.manifest()? != manifest.old
        {
            return Err(ProjectError::Modified {
                path: self.scope.manifest.clone(),
            });
        }
        let mut report = ScopeReport::default();
        let mut entries = Vec::new();
        for (name, new) in &change.entries {
            let old = self.entry(name, locked)?;
            if old == *new {
                continue;
            }
            let package = locked.get(name);
            let expected = package.and_then(|package| package.digest.as_deref());
            if let EntryState::Copy { digest } = &old
                && expected != Some(digest)
            {
                if !change.replace_changed {
                    return Err(ProjectError::Changed { name: name.clone() });
                }
                self.keep_edit(name)?;
                report.kept.push(digest.clone());
            }
            entries.push(EntryChange {
                name: name.clone(),
                old,
                new: new.clone(),
            });
        }
        let is_same = change.lock.old == change.lock.new;
        if is_same && change.manifest.is_none() && entries.is_empty() {
            return Ok(report);
        }
        let journal = Journal {
            command: change.command.clone(),
            manifest: change.manifest.clone(),
            lock: change.lock.clone(),
            entries,
        };
        self.begin(change, &journal)?;
        // The operation is committed: an error from here on leaves the journal for the next command.
        self.apply_entries(&journal.entries, &mut report)?;
        self.end_journal()?;
        Ok(report)
    }

    /// Writes everything up to the commit point. Undoes it if that fails.
    fn begin(&self, change: &ScopeChange, journal: &Journal) -> Result<(), ProjectError> {
        let path = self.state.join("journal");
        let failed = |source| file_error("write", &path, source);
        if let Some(parent) = self.scope.lock.parent() {
            let made = self
                .faults
                .reach()
                .and_then(|()| fs::create_dir_all(parent));
            made.map_err(|source| file_error("create", parent, source))?;
        }
        journal.write(&path, &self.faults).map_err(failed)?;
        let written = self
            .prepare(&journal.entries)
            .and_then(|()| self.write_texts(change, journal));
        if let Err(error) = written {
            let is_committed =
                journal.lock.old != journal.lock.new && self.lock()? == journal.lock.new;
            if is_committed {
                return Ok(());
            }
            // If this fails as well, the next command finds the journal.
            let _ = self.undo(journal);
            return Err(error);
        }
        Ok(())
    }

    fn write_texts(&self, change: &ScopeChange, journal: &Journal) -> Result<(), ProjectError> {
        if change.lock.old != change.lock.new {
            // Without a lock before, the text is empty.
            let old = change.lock.old.as_deref().unwrap_or_default();
            let manifest = match &change.manifest {
                Some(manifest) => manifest.old.clone(),
                None => self.manifest()?,
            };
            let history = self.history();
            let added = history.add(
                &change.command,
                change.time,
                old,
                manifest.as_deref(),
                &self.faults,
            );
            added.map_err(|source| file_error("write", &self.state, source))?;
        }
        if let Some(manifest) = &journal.manifest {
            self.replace(&self.scope.manifest, manifest)?;
        }
        self.replace(&self.scope.lock, &journal.lock)
    }

    fn undo(&self, journal: &Journal) -> Result<(), ProjectError> {
        if let Some(manifest) = &journal.manifest
            && self.manifest()? == manifest.new
        {
            let back = TextChange {
                old: manifest.new.clone(),
                new: manifest.old.clone(),
            };
            self.replace(&self.scope.manifest, &back)?;
        }
        self.end_journal()
    }

    fn end_journal(&self) -> Result<(), ProjectError> {
        let path = self.state.join("journal");
        let aside = self.exchange_folder();
        let removed = self.faults.reach().and_then(|()| {
            remove_tree(&aside)?;
            fs::remove_file(&path)?;
            sync_folder(&self.state)
        });
        removed.map_err(|source| file_error("remove", &path, source))
    }

    /// Completes or undoes an interrupted operation.
    fn recover(&self) -> Result<RecoveryOutcome, ProjectError> {
        let path = self.state.join("journal");
        let journal = Journal::read(&path).map_err(|source| ProjectError::Journal {
            path: path.clone(),
            source,
        })?;
        let Some(journal) = journal else {
            return Ok(RecoveryOutcome::Nothing);
        };
        for path in [&self.scope.lock, &self.scope.manifest] {
            remove_parts(path.parent().unwrap_or(&self.scope.root));
        }
        remove_parts(&self.state.join("history"));
        let command = journal.command.clone();
        let lock = self.lock()?;
        if lock == journal.lock.new {
            if let Some(manifest) = &journal.manifest
                && self.manifest()? == manifest.old
            {
                self.replace(&self.scope.manifest, manifest)?;
            }
            self.prepare(&journal.entries)?;
            self.apply_entries(&journal.entries, &mut ScopeReport::default())?;
            self.end_journal()?;
            return Ok(RecoveryOutcome::Completed { command });
        }
        if lock == journal.lock.old {
            self.undo(&journal)?;
            return Ok(RecoveryOutcome::Undone { command });
        }
        self.end_journal()?;
        Ok(RecoveryOutcome::Dropped { command })
    }

    /// Replaces, creates or removes a text.
    fn replace(&self, path: &Path, change: &TextChange) -> Result<(), ProjectError> {
        if change.old == change.new {
            return Ok(());
        }
        let failed = |source| file_error("write", path, source);
        // A file of the person's may be a link, for example into a repository of settings.
        let target = match fs::symlink_metadata(path) {
            Ok(facts) if facts.is_symlink() => fs::canonicalize(path).map_err(failed)?,
            _ => path.to_owned(),
        };
        if self.scope.kind == ScopeKind::Project && !is_inside(&target, &self.scope.root) {
            return Err(ProjectError::LinkOut {
                path: path.to_owned(),
            });
        }
        let Some(new) = &change.new else {
            let removed = self.faults.reach().and_then(|()| fs::remove_file(&target));
            return removed.map_err(failed);
        };
        let mode = fs::metadata(&target).ok().map(|facts| facts.permissions());
        replace_text(&target, new.as_bytes(), mode, &self.faults).map_err(failed)
    }

    fn exchange_folder(&self) -> PathBuf {
        self.scope.skills.with_file_name(EXCHANGE)
    }

    /// Creates the new entries next to the scope folder, so that only renames are left to do after
    /// the commit point.
    fn prepare(&self, entries: &[EntryChange]) -> Result<(), ProjectError> {
        if entries.is_empty() {
            return Ok(());
        }
        let failed = |path: &Path, source| file_error("write", path, source);
        let skills = &self.scope.skills;
        let made = self
            .faults
            .reach()
            .and_then(|()| fs::create_dir_all(skills));
        made.map_err(|source| failed(skills, source))?;
        let aside = self.exchange_folder();
        let cleared = remove_tree(&aside).and_then(|()| fs::create_dir(&aside));
        cleared.map_err(|source| failed(&aside, source))?;
        let mut copied = Vec::new();
        for entry in entries {
            let path = skills.join(&entry.name);
            if self.found(&path).as_ref() != Some(&entry.new) {
                self.prepare_entry(entry, &aside, &mut copied)
                    .map_err(|source| failed(&path, source))?;
            }
        }
        sync_all(&copied, &aside).map_err(|source| failed(&aside, source))
    }

    /// Brings prepared entries to their new state. An entry that is in neither state is left alone.
    fn apply_entries(
        &self,
        entries: &[EntryChange],
        report: &mut ScopeReport,
    ) -> Result<(), ProjectError> {
        if entries.is_empty() {
            return Ok(());
        }
        let failed = |path: &Path, source| file_error("write", path, source);
        let skills = &self.scope.skills;
        let aside = self.exchange_folder();
        for entry in entries {
            let path = skills.join(&entry.name);
            let found = self.found(&path);
            if found.as_ref() == Some(&entry.new) {
                continue;
            }
            // Between two steps of an exchange without kernel support there is nothing.
            let is_ours = found.as_ref() == Some(&entry.old)
                || found == Some(EntryState::Absent)
                || matches!(found, Some(EntryState::Link { .. }));
            if !is_ours {
                report.skipped.push(entry.name.clone());
                continue;
            }
            self.apply_entry(entry, &path, &aside)
                .map_err(|source| failed(&path, source))?;
            report.changed.push(entry.clone());
        }
        sync_folder(skills).map_err(|source| failed(skills, source))?;
        remove_tree(&aside).map_err(|source| failed(&aside, source))
    }

    /// Returns the state of an entry. `None` if it is not one that a package has.
    fn found(&self, path: &Path) -> Option<EntryState> {
        let facts = match fs::symlink_metadata(path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Some(EntryState::Absent);
            }
            Err(_) => return None,
        };
        if facts.is_symlink() {
            let target = fs::read_link(path).ok()?;
            return Some(match self.store.digest_at(&target) {
                Some(digest) => EntryState::Link { digest },
                None => EntryState::Path {
                    target: target.to_str()?.to_owned(),
                },
            });
        }
        let digest = facts.is_dir().then(|| digest_of(path).ok())??;
        Some(EntryState::Copy { digest })
    }

    /// Adds the files and folders that must be synced to `copied`.
    fn prepare_entry(
        &self,
        entry: &EntryChange,
        aside: &Path,
        copied: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let new = aside.join(format!("new-{}", entry.name));
        match &entry.new {
            EntryState::Absent => {}
            EntryState::Link { digest } => {
                let target = self.store.tree(digest).map_err(io::Error::other)?;
                if !target.is_dir() {
                    return Err(io::Error::new(
                        io::ErrorKind::NotFound,
                        format!("`{digest}` is not in the store"),
                    ));
                }
                symlink(target, &new)?;
            }
            EntryState::Path { target } => symlink(target, &new)?,
            EntryState::Copy { digest } => {
                let from = self.store.tree(digest).map_err(io::Error::other)?;
                copy_tree(&from, &new, &self.faults, copied)?;
            }
        }
        Ok(())
    }

    fn apply_entry(&self, entry: &EntryChange, path: &Path, aside: &Path) -> io::Result<()> {
        let new = aside.join(format!("new-{}", entry.name));
        self.faults.reach()?;
        let old = aside.join(format!("old-{}", entry.name));
        if entry.new == EntryState::Absent {
            fs::rename(path, &old)?;
            return remove_tree(&old);
        }
        match renameat_with(CWD, &new, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(path).is_err() => {
                return fs::rename(&new, path);
            }
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::INVAL | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        match exchange(&new, path) {
            Ok(()) => remove_tree(&new),
            Err(error) if is_unsupported(&error) => {
                fs::rename(path, &old)?;
                self.faults.reach()?;
                fs::rename(&new, path)?;
                remove_tree(&old)
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps the files of a changed package in the store.
    fn keep_edit(&self, name: &str) -> Result<(), ProjectError> {
        let path = self.scope.skills.join(name);
        let staging = self.store.stage()?;
        let tree = crate::tree::copy_folder(
            &path,
            staging.path().join("edit"),
            crate::tree::TreeLimits::default(),
        );
        let tree =
            tree.map_err(|error| file_error("keep", &path, io::Error::other(error.to_string())))?;
        let hold = self.store.hold()?;
        self.store.insert(&hold, &[&tree])?;
        self.keep(&tree.digest)
    }

    /// Notes a digest that pruning keeps, although no lock names it.
    pub fn keep(&self, digest: &str) -> Result<(), ProjectError> {
        let path = self.state.join("kept");
        let mut kept = kept_digests(&self.state)?;
        if kept.insert(digest.to_owned()) {
            let text: String = kept.iter().map(|digest| format!("{digest}\n")).collect();
            replace_text(&path, text.as_bytes(), None, &self.faults)
                .map_err(|source| file_error("write", &path, source))?;
        }
        Ok(())
    }
}

/// Returns the digests that a scope keeps besides those of its locks.
pub(crate) fn kept_digests(state: &Path) -> Result<BTreeSet<String>, ProjectError> {
    let text = text_of(&state.join("kept"))?.unwrap_or_default();
    Ok(text.lines().map(str::to_owned).collect())
}

/// Waits until no operation is under way in a scope, for at most `limit`. For readers, which do not
/// change the scope. Returns `false` if an operation is still under way.
pub fn wait_for_commit(scope: &PackageScope, state: &Path, limit: Duration) -> bool {
    let state = scope.state(state);
    let journal = state.join("journal");
    let end = Instant::now() + limit;
    while journal.exists() {
        // The writer is dead if the lock is free: the next command that changes something recovers.
        let is_dead = File::open(state.join("lock"))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Ok(())));
        if is_dead {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::park_timeout(INTERVAL);
    }
    true
}

fn is_unsupported(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP))
}

fn file_error(verb: &'static str, path: &Path, source: io::Error) -> ProjectError {
    ProjectError::File {
        verb,
        path: path.to_owned(),
        source,
    }
}

fn lock_scope(path: &Path, root: &Path) -> Result<File, ProjectError> {
    let failed = |source| file_error("lock", path, source);
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)
        .map_err(failed)?;
    let end = Instant::now() + MAX_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                thread::park_timeout(INTERVAL);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(ProjectError::Busy {
                    path: root.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
}

/// Removes files that a killed process was writing. The caller holds the scope.
fn remove_parts(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(PART) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Refuses a folder of a project that leads out of it through a link, or into a folder that is not one
/// of skills: a package would replace what is there, such as the hooks of a repository.
pub(crate) fn check_place(path: &Path, root: &Path) -> Result<(), ProjectError> {
    let refused = || ProjectError::LinkOut {
        path: path.to_owned(),
    };
    let root = fs::canonicalize(root).map_err(|_| refused())?;
    // The part that does not exist yet is not a link.
    let mut real = None;
    for (parent, rest) in path
        .ancestors()
        .map(|parent| (parent, path.strip_prefix(parent)))
    {
        match (fs::canonicalize(parent), rest) {
            (Ok(parent), Ok(rest)) => {
                real = Some(parent.join(rest));
                break;
            }
            _ if fs::symlink_metadata(parent).is_ok() => return Err(refused()),
            _ => {}
        }
    }
    let real = real.ok_or_else(refused)?;
    let below = real.strip_prefix(&root).map_err(|_| refused())?;
    // Many people link the whole folder to that of another agent.
    let is_of_skills = below.file_name() == path.file_name()
        || below.file_name().is_some_and(|name| name == "skills");
    let is_repository = below.to_str().is_none_or(is_version_control);
    if is_repository || !is_of_skills {
        return Err(refused());
    }
    Ok(())
}

/// Refuses folders of a project that lead elsewhere, and files in place of folders.
fn check_places(scope: &PackageScope) -> Result<(), ProjectError> {
    let agents = scope.skills.parent().unwrap_or(&scope.root);
    for path in [agents, &scope.skills] {
        let facts = match fs::symlink_metadata(path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(file_error("read", path, source)),
        };
        if facts.is_symlink() && scope.kind == ScopeKind::Project && !is_inside(path, &scope.root) {
            return Err(ProjectError::LinkOut {
                path: path.to_owned(),
            });
        }
        if !path.is_dir() {
            return Err(file_error("use", path, io::ErrorKind::NotADirectory.into()));
        }
    }
    if scope.kind == ScopeKind::Project {
        check_place(&scope.skills, &scope.root)?;
    }
    Ok(())
}

/// Returns `true` if the real place of a path, or of its parent if it does not exist, is in a folder.
pub(crate) fn is_inside(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = fs::canonicalize(folder) else {
        return false;
    };
    let real = fs::canonicalize(path)
        .or_else(|_| fs::canonicalize(path.parent().unwrap_or(Path::new("/"))));
    real.is_ok_and(|real| real.starts_with(folder))
}

/// Reads a text of bounded size. Returns `None` if there is no file.
pub(crate) fn read_text(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| io::ErrorKind::InvalidData.into())
}

fn text_of(path: &Path) -> Result<Option<String>, ProjectError> {
    read_text(path).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => ProjectError::NotText {
            path: path.to_owned(),
        },
        _ => file_error("read", path, source),
    })
}

/// Writes a file in one step, synced.
pub(crate) fn write_new(path: &Path, bytes: &[u8], faults: &FaultPoints) -> io::Result<()> {
    replace_text(path, bytes, None, faults)
}

fn replace_text(
    path: &Path,
    bytes: &[u8],
    mode: Option<fs::Permissions>,
    faults: &FaultPoints,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    faults.reach()?;
    let mut file = tempfile::Builder::new()
        .prefix(PART)
        .tempfile_in(folder)
        // Without the name of the temporary file.
        .map_err(|error| io::Error::from(error.kind()))?;
    let mode = mode.unwrap_or_else(|| PermissionsExt::from_mode(0o644));
    file.write_all(bytes)?;
    file.as_file().set_permissions(mode)?;
    file.as_file().sync_all()?;
    faults.reach()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Copies a tree of the store, with ordinary permissions. Adds the files and folders that must be
/// synced to `copied`.
pub(crate) fn copy_tree(
    from: &Path,
    into: &Path,
    faults: &FaultPoints,
    copied: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let listed = files(from).map_err(|error| io::Error::other(error.to_string()))?;
    fs::create_dir(into)?;
    let mut folders = BTreeSet::from([into.to_owned()]);
    for file in listed {
        let target = into.join(&file.path);
        if let Some(parent) = target.parent()
            && !folders.contains(parent)
        {
            fs::create_dir_all(parent)?;
            folders.insert(parent.to_owned());
        }
        let source = from.join(&file.path);
        faults.reach()?;
        if file.kind == FactKind::Link {
            symlink(fs::read_link(&source)?, &target)?;
            continue;
        }
        let mode = if file.kind == FactKind::Executable {
            0o755
        } else {
            0o644
        };
        copy_file(&source, &target, mode)?;
        copied.push(target);
    }
    copied.extend(folders.into_iter().rev());
    Ok(())
}

/// Copies a file, sharing its blocks if the file system can.
fn copy_file(source: &Path, target: &Path, mode: u32) -> io::Result<()> {
    let mut from = File::open(source)?;
    let mut into = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(target)?;
    io::copy(&mut from, &mut into)?;
    // The mask of the process must not take permissions away.
    into.set_permissions(PermissionsExt::from_mode(mode))
}
