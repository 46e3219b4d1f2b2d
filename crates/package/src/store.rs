//! The store: one read-only folder for each digest, shared by all projects of a person.
//!
//! A tree is written to a staging folder on the same file system, synced, and renamed into place, so
//! a folder in the store is always complete. Processes that install hold the store's lock shared;
//! pruning holds it exclusively.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_registry::digest_of;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::fault::FaultPoints;
use crate::lock::{LockedFile, LockedKind};
use crate::tree::PackageTree;

/// Number of files above which the file system is synced as a whole, not file by file.
const SYNC_EACH: usize = 64;
/// Maximum number of attempts to create a staging folder or to insert a tree.
const MAX_TRIES: usize = 16;
/// The time of the last change of everything in a tree, in seconds since 1970.
const SEALED_TIME: i64 = 1;
/// The type and permissions of a folder in a tree.
const SEALED_FOLDER: u32 = 0o040_555;
/// Maximum folder depth below a tree, with room for trees of other versions.
const MAX_DEPTH: usize = 64;

/// Error from the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A digest is malformed.
    #[error("`{digest}` is not a digest")]
    Digest {
        /// The text.
        digest: String,
    },
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
    /// A folder in the store has other content than its name says.
    #[error("the store is damaged: `{}` has the digest {found}", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// The digest of what is there.
        found: String,
    },
}

/// The state of a tree in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeState {
    /// It has the content that its digest names.
    Whole,
    /// It is not there.
    Missing,
    /// It has other content.
    Changed {
        /// The digest of the content, or the reason why it cannot be read.
        found: String,
    },
}

/// The result of pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// The digests of the removed trees, sorted.
    pub removed: Vec<String>,
    /// The number of kept trees.
    pub kept: usize,
    /// The size of the removed files in bytes.
    pub bytes: u64,
}

/// The store of a person.
#[derive(Clone, Debug)]
pub struct PackageStore {
    root: PathBuf,
    faults: Arc<FaultPoints>,
}

/// Keeps the store from being pruned. Held while trees are added, until a lock names them.
#[derive(Debug)]
pub struct StoreHold {
    _lock: Option<File>,
}

/// A folder for trees that are not complete. Removed when dropped, or, after a crash, by the next
/// process that stages something.
#[derive(Debug)]
pub struct StagingFolder {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl StagingFolder {
    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        let _ = remove_tree(&self.path);
        let _ = fs::remove_file(&self.lock_path);
    }
}

impl PackageStore {
    /// Opens the store below the data folder of Prowess. Nothing is created before something is
    /// added.
    pub fn new(data: &Path) -> Self {
        Self::with_faults(data, Arc::default())
    }

    /// Like [`PackageStore::new`], with fault points for tests.
    pub fn with_faults(data: &Path, faults: Arc<FaultPoints>) -> Self {
        Self {
            root: data.join("store/v1"),
            faults,
        }
    }

    /// Returns the folder of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of a tree, which need not exist.
    pub fn tree(&self, digest: &str) -> Result<PathBuf, StoreError> {
        let hex = digest_hex(digest).ok_or_else(|| StoreError::Digest {
            digest: digest.chars().take(100).collect(),
        })?;
        Ok(self.trees().join(&hex[..2]).join(hex))
    }

    /// Returns `true` if a path is a folder of a tree in this store.
    pub fn owns(&self, path: &Path) -> bool {
        self.digest_at(path).is_some()
    }

    /// Returns the digest that the path of a tree in this store names.
    pub fn digest_at(&self, path: &Path) -> Option<String> {
        let rest = path.strip_prefix(self.trees()).ok()?;
        let mut parts = rest.iter().map(|part| part.to_str());
        let (first, hex) = (parts.next()??, parts.next()??);
        let digest = format!("sha256:{hex}");
        let fits = parts.next().is_none() && digest_hex(&digest)?.starts_with(first);
        (fits && first.len() == 2).then_some(digest)
    }

    /// Returns `true` if a tree is there. Its content is not read.
    pub fn has(&self, digest: &str) -> bool {
        self.tree(digest).is_ok_and(|path| path.is_dir())
    }

    /// Compares a tree with its digest.
    pub fn verify(&self, digest: &str) -> Result<TreeState, StoreError> {
        let path = self.tree(digest)?;
        if !path.is_dir() {
            return Ok(TreeState::Missing);
        }
        Ok(match digest_of(&path) {
            Ok(found) if found == digest => TreeState::Whole,
            Ok(found) => TreeState::Changed { found },
            Err(error) => TreeState::Changed {
                found: error.to_string(),
            },
        })
    }

    /// Returns `true` if a tree has these files, with the sizes, permissions and times that it got
    /// when it was inserted. Reads none of them: what a model receives is hashed when it is used.
    pub fn is_untouched(&self, digest: &str, files: &[LockedFile]) -> bool {
        let Ok(root) = self.tree(digest) else {
            return false;
        };
        let look = |path: &Path, mode: u32, size: Option<u64>| {
            fs::symlink_metadata(path).is_ok_and(|facts| {
                facts.mode() == mode
                    && facts.mtime() == SEALED_TIME
                    && facts.mtime_nsec() == 0
                    && size.is_none_or(|size| facts.len() == size)
            })
        };
        look(&root, SEALED_FOLDER, None)
            && inner_folders(files)
                .into_iter()
                .all(|folder| look(&root.join(folder), SEALED_FOLDER, None))
            && files.iter().all(|file| {
                let mode = match file.kind {
                    LockedKind::File => 0o100_444,
                    LockedKind::Executable => 0o100_555,
                    LockedKind::Link => 0o120_777,
                };
                look(&root.join(&file.path), mode, Some(file.size))
            })
    }

    /// Holds the store: no tree is pruned until the value is dropped.
    pub fn hold(&self) -> Result<StoreHold, StoreError> {
        let path = self.root.join("lock");
        let opened = fs::create_dir_all(&self.root).and_then(|()| {
            OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .open(&path)
        });
        let file = match opened {
            Ok(file) => file,
            // A store that cannot be written cannot be pruned either.
            Err(error) if is_read_only(&error) => match File::open(&path) {
                Ok(file) => file,
                Err(_) => return Ok(StoreHold { _lock: None }),
            },
            Err(source) => return Err(failed("open", &path, source)),
        };
        file.lock_shared()
            .map_err(|source| failed("lock", &path, source))?;
        Ok(StoreHold { _lock: Some(file) })
    }

    /// Creates a staging folder, and removes those of dead processes.
    pub fn stage(&self) -> Result<StagingFolder, StoreError> {
        let staging = self.root.join("staging");
        let unmade = |source| failed("create", &staging, source);
        self.faults.reach().map_err(unmade)?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&staging)
            .map_err(unmade)?;
        remove_dead(&staging);
        let process = std::process::id();
        for _ in 0..MAX_TRIES {
            let made = tempfile::Builder::new()
                .prefix(&format!("{process}-"))
                .suffix(".lock")
                .tempfile_in(&staging)
                .map_err(unmade)?;
            let (file, lock_path) = made.keep().map_err(|error| unmade(error.error))?;
            file.lock().map_err(unmade)?;
            // Another process may have removed the file before it was locked.
            let is_there = fs::metadata(&lock_path)
                .and_then(|there| Ok(there.ino() == file.metadata()?.ino()))
                .unwrap_or(false);
            if !is_there {
                continue;
            }
            let path = lock_path.with_extension("");
            fs::DirBuilder::new()
                .mode(0o700)
                .create(&path)
                .map_err(unmade)?;
            let path = fs::canonicalize(&path).map_err(unmade)?;
            return Ok(StagingFolder {
                path,
                lock_path,
                _lock: file,
            });
        }
        Err(unmade(io::ErrorKind::ResourceBusy.into()))
    }

    /// Moves complete trees into the store. A tree that is there already is verified and kept.
    pub fn insert(&self, _hold: &StoreHold, trees: &[&PackageTree]) -> Result<(), StoreError> {
        let mut missing = Vec::new();
        for tree in trees {
            if self.verify(&tree.digest)? != TreeState::Whole {
                missing.push(*tree);
            }
        }
        missing.sort_by(|a, b| a.digest.cmp(&b.digest));
        missing.dedup_by(|a, b| a.digest == b.digest);
        let files: usize = missing.iter().map(|tree| tree.files.len()).sum();
        let sync_each = files <= SYNC_EACH;
        for tree in &missing {
            seal(tree, sync_each).map_err(|source| failed("sync", &tree.folder, source))?;
        }
        let sync = |folder: &Path| {
            let sync = File::open(folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
            sync.map_err(|source| failed("sync", folder, source))
        };
        // Files before the names that lead to them.
        if let Some(first) = missing.first().filter(|_| !sync_each) {
            sync(&first.folder)?;
        }
        for tree in &missing {
            self.insert_one(tree, sync_each)?;
        }
        if !missing.is_empty() && !sync_each {
            sync(&self.trees())?;
        }
        Ok(())
    }

    fn insert_one(&self, tree: &PackageTree, sync: bool) -> Result<(), StoreError> {
        let target = self.tree(&tree.digest)?;
        let unwritten = |source| failed("write", &target, source);
        let parent = target.parent().unwrap_or(&self.root);
        self.faults.reach().map_err(unwritten)?;
        fs::create_dir_all(parent).map_err(unwritten)?;
        for _ in 0..MAX_TRIES {
            self.faults.reach().map_err(unwritten)?;
            let moved = renameat_with(CWD, &tree.folder, CWD, &target, RenameFlags::NOREPLACE);
            match moved {
                Ok(()) => break,
                // Another process was faster, or the folder there is damaged.
                Err(Errno::EXIST | Errno::NOTEMPTY) => {
                    if self.verify(&tree.digest)? == TreeState::Whole {
                        return Ok(());
                    }
                    exchange(&tree.folder, &target).map_err(unwritten)?;
                    break;
                }
                Err(Errno::INVAL | Errno::NOSYS) => match fs::rename(&tree.folder, &target) {
                    Ok(()) => break,
                    Err(_) if target.is_dir() => {}
                    Err(source) => return Err(unwritten(source)),
                },
                Err(error) => return Err(unwritten(error.into())),
            }
        }
        self.faults.reach().map_err(unwritten)?;
        // Last: a folder that is not writable cannot be moved to another parent.
        fs::set_permissions(&target, PermissionsExt::from_mode(0o555)).map_err(unwritten)?;
        if !sync {
            return Ok(());
        }
        sync_folder(&target).map_err(unwritten)?;
        sync_folder(parent).map_err(unwritten)?;
        sync_folder(&self.trees()).map_err(unwritten)
    }

    /// Returns the digests of all trees, sorted.
    pub fn digests(&self) -> Result<Vec<String>, StoreError> {
        let mut found = Vec::new();
        for first in list(&self.trees())? {
            for path in list(&first)? {
                found.extend(self.digest_at(&path));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Removes every tree whose digest `keep` lacks. Waits until no process installs. `keep` is
    /// called after that, so that it sees every lock.
    pub fn prune<E: From<StoreError>>(
        &self,
        keep: impl FnOnce() -> Result<BTreeSet<String>, E>,
    ) -> Result<PruneReport, E> {
        let mut report = PruneReport::default();
        if !self.root.is_dir() {
            return Ok(report);
        }
        let path = self.root.join("lock");
        let lock = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|file| file.lock().map(|()| file));
        let _lock = lock.map_err(|source| failed("lock", &path, source))?;
        let keep = keep()?;
        let staging = self.stage()?;
        for digest in self.digests()? {
            if keep.contains(&digest) {
                report.kept += 1;
                continue;
            }
            let path = self.tree(&digest)?;
            let aside = staging.path().join(report.removed.len().to_string());
            let removed = self.faults.reach().and_then(|()| {
                fs::set_permissions(&path, PermissionsExt::from_mode(0o755))?;
                fs::rename(&path, &aside)?;
                report.bytes += size_of(&aside, 0);
                remove_tree(&aside)
            });
            removed.map_err(|source| failed("remove", &path, source))?;
            report.removed.push(digest);
        }
        Ok(report)
    }

    fn trees(&self) -> PathBuf {
        self.root.join("trees/sha256")
    }
}

fn failed(verb: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::File {
        verb,
        path: path.to_owned(),
        source,
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    )
}

/// Returns the 64 hexadecimal digits of a digest.
pub fn digest_hex(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix("sha256:")?;
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (hex.len() == 64 && hex.bytes().all(is_hex)).then_some(hex)
}

/// Exchanges two folders in one step.
pub(crate) fn exchange(first: &Path, second: &Path) -> io::Result<()> {
    Ok(renameat_with(
        CWD,
        first,
        CWD,
        second,
        RenameFlags::EXCHANGE,
    )?)
}

/// Syncs the entries of a folder.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Syncs files and folders: each of them if they are few, else the file system.
pub(crate) fn sync_all(paths: &[PathBuf], folder: &Path) -> io::Result<()> {
    if paths.len() > SYNC_EACH {
        return Ok(rustix::fs::syncfs(File::open(folder)?)?);
    }
    for path in paths {
        File::open(path)?.sync_all()?;
    }
    sync_folder(folder)
}

/// Returns the folders inside a tree, without the tree itself.
fn inner_folders(files: &[LockedFile]) -> BTreeSet<&Path> {
    let mut folders = BTreeSet::new();
    for file in files {
        let mut parent = Path::new(&file.path).parent();
        while let Some(folder) = parent.filter(|folder| !folder.as_os_str().is_empty()) {
            if !folders.insert(folder) {
                break;
            }
            parent = folder.parent();
        }
    }
    folders
}

/// Sets the time of the last change to a fixed one, by which [`PackageStore::is_untouched`] sees later
/// changes. A link is not followed.
fn set_sealed_time(path: &Path) -> io::Result<()> {
    let time = rustix::fs::Timespec {
        tv_sec: SEALED_TIME,
        tv_nsec: 0,
    };
    let times = rustix::fs::Timestamps {
        last_access: time,
        last_modification: time,
    };
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    Ok(rustix::fs::utimensat(CWD, path, &times, flags)?)
}

/// Makes the folders of a tree read-only, except the outermost, and syncs everything.
fn seal(tree: &PackageTree, sync: bool) -> io::Result<()> {
    for file in &tree.files {
        let path = tree.folder.join(&file.path);
        set_sealed_time(&path)?;
        if sync && file.kind != LockedKind::Link {
            File::open(&path)?.sync_all()?;
        }
    }
    for folder in inner_folders(&tree.files).iter().rev() {
        let folder = tree.folder.join(folder);
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o555))?;
        set_sealed_time(&folder)?;
        if sync {
            sync_folder(&folder)?;
        }
    }
    set_sealed_time(&tree.folder)?;
    if sync {
        sync_folder(&tree.folder)?;
    }
    Ok(())
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let unread = |source| failed("read", folder, source);
    match fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.path()).map_err(unread))
            .collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        Err(error) => Err(unread(error)),
    }
}

/// Removes the staging folders of dead processes. A failure leaves them for the next time.
fn remove_dead(staging: &Path) {
    let Ok(entries) = fs::read_dir(staging) else {
        return;
    };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != "lock") {
            folders.push(path);
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        match file.try_lock() {
            Ok(()) => {
                let _ = remove_tree(&path.with_extension(""));
                let _ = fs::remove_file(&path);
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
    for folder in folders {
        // The lock is created before the folder and removed after it.
        let mut lock = folder.clone().into_os_string();
        lock.push(".lock");
        if !Path::new(&lock).exists() {
            let _ = remove_tree(&folder);
        }
    }
}

/// Removes a folder and everything in it, also if folders in it are read-only. Links are not
/// followed. Succeeds if it does not exist.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let kind = match fs::symlink_metadata(path) {
        Ok(facts) => facts.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !kind.is_dir() {
        return fs::remove_file(path);
    }
    make_writable(path, 0)?;
    fs::remove_dir_all(path)
}

fn make_writable(folder: &Path, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path(), depth + 1)?;
        }
    }
    Ok(())
}

/// Returns the size of the files in a folder, as far as they can be read.
fn size_of(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let mut total = 0;
    for entry in entries.flatten() {
        match entry.metadata() {
            Ok(facts) if facts.is_dir() && depth < MAX_DEPTH => {
                total += size_of(&entry.path(), depth + 1);
            }
            Ok(facts) if facts.is_file() => total += facts.len(),
            _ => {}
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::tree::{TreeBuilder, TreeLimits};

    /// A change of a tree.
    type Touch<'t> = &'t dyn Fn(&Path);

    fn staged(staging: &StagingFolder, name: &str, text: &str) -> PackageTree {
        let folder = staging.path().join(name);
        let mut tree = TreeBuilder::create(folder, TreeLimits::default()).unwrap();
        let size = text.len() as u64;
        tree.add_file(
            "SKILL.md",
            LockedKind::File,
            size,
            None,
            &mut text.as_bytes(),
        )
        .unwrap();
        tree.add_file("a/b/run", LockedKind::Executable, 1, None, &mut &b"x"[..])
            .unwrap();
        tree.finish().unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn trees_are_read_only_and_whole() {
        let world = tempfile::tempdir().unwrap();
        let store = PackageStore::new(world.path());
        let digest = {
            let staging = store.stage().unwrap();
            let tree = staged(&staging, "x", "text");
            let hold = store.hold().unwrap();
            store.insert(&hold, &[&tree]).unwrap();
            tree.digest
        };
        let path = store.tree(&digest).unwrap();
        assert_eq!(store.verify(&digest).unwrap(), TreeState::Whole);
        for (inner, expected) in [
            ("", 0o555),
            ("a", 0o555),
            ("a/b", 0o555),
            ("SKILL.md", 0o444),
        ] {
            assert_eq!(mode(&path.join(inner)), expected, "{inner}");
        }
        assert_eq!(mode(&path.join("a/b/run")), 0o555);
        assert_eq!(store.digest_at(&path).as_deref(), Some(&*digest));
        assert!(!store.owns(&path.join("a")) && !store.owns(world.path()));
        let left = fs::read_dir(store.root().join("staging")).unwrap().count();
        assert_eq!(left, 0, "staging is empty");
        assert_eq!(store.digests().unwrap(), [digest]);
    }

    #[test]
    fn touched_tree_is_noticed_without_reading_it() {
        let world = tempfile::tempdir().unwrap();
        let store = PackageStore::new(world.path());
        let staging = store.stage().unwrap();
        let inserted = |text: &str| {
            let tree = staged(&staging, text, text);
            store.insert(&store.hold().unwrap(), &[&tree]).unwrap();
            assert!(store.is_untouched(&tree.digest, &tree.files), "{text}");
            (store.tree(&tree.digest).unwrap(), tree)
        };
        let writable = |path: &Path| {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        };
        let closed = |path: &Path| {
            fs::set_permissions(path, PermissionsExt::from_mode(0o555)).unwrap();
        };
        let touches: [(&str, Touch<'_>); 6] = [
            ("same size", &|root| {
                let file = root.join("SKILL.md");
                writable(&file);
                fs::write(&file, "sAme size").unwrap();
                fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
            }),
            ("mode", &|root| writable(&root.join("a/b/run"))),
            ("added", &|root| {
                writable(root);
                fs::write(root.join("more"), "x").unwrap();
                closed(root);
            }),
            ("added deep", &|root| {
                writable(&root.join("a/b"));
                fs::write(root.join("a/b/more"), "x").unwrap();
                closed(&root.join("a/b"));
            }),
            ("removed", &|root| {
                writable(&root.join("a/b"));
                fs::remove_file(root.join("a/b/run")).unwrap();
                closed(&root.join("a/b"));
            }),
            ("gone", &|root| remove_tree(root).unwrap()),
        ];
        for (name, touch) in touches {
            let (root, tree) = inserted(name);
            touch(&root);
            assert!(!store.is_untouched(&tree.digest, &tree.files), "{name}");
        }
    }

    #[test]
    fn damaged_tree_is_replaced() {
        let world = tempfile::tempdir().unwrap();
        let store = PackageStore::new(world.path());
        let staging = store.stage().unwrap();
        let first = staged(&staging, "x", "text");
        let hold = store.hold().unwrap();
        store.insert(&hold, &[&first]).unwrap();
        let path = store.tree(&first.digest).unwrap();
        let file = path.join("SKILL.md");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        fs::write(&file, "changed").unwrap();
        let state = store.verify(&first.digest).unwrap();
        assert!(matches!(state, TreeState::Changed { .. }), "{state:?}");
        let again = staged(&staging, "y", "text");
        store.insert(&hold, &[&again]).unwrap();
        assert_eq!(store.verify(&first.digest).unwrap(), TreeState::Whole);
        assert_eq!(mode(&path), 0o555);
    }

    #[test]
    fn prune_keeps_the_roots() {
        let world = tempfile::tempdir().unwrap();
        let store = PackageStore::new(world.path());
        let staging = store.stage().unwrap();
        let (one, two) = (staged(&staging, "x", "one"), staged(&staging, "y", "two"));
        store.insert(&store.hold().unwrap(), &[&one, &two]).unwrap();
        let keep = BTreeSet::from([one.digest.clone()]);
        let report = store.prune(|| Ok::<_, StoreError>(keep)).unwrap();
        assert_eq!(report.kept, 1);
        assert_eq!(report.removed, std::slice::from_ref(&two.digest));
        assert_eq!(report.bytes, 4);
        assert!(store.has(&one.digest) && !store.has(&two.digest));
    }

    #[test]
    fn staging_of_a_dead_process_is_removed() {
        let world = tempfile::tempdir().unwrap();
        let store = PackageStore::new(world.path());
        let live = store.stage().unwrap();
        let dead = store.root().join("staging/1-dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join("file"), "x").unwrap();
        fs::set_permissions(&dead, PermissionsExt::from_mode(0o555)).unwrap();
        fs::write(store.root().join("staging/1-dead.lock"), "").unwrap();
        fs::create_dir(store.root().join("staging/2-dead")).unwrap();
        let _other = store.stage().unwrap();
        assert!(!dead.exists() && !store.root().join("staging/2-dead").exists());
        assert!(live.path().exists());
    }

    #[test]
    fn eight_threads_insert_the_same_tree() {
        let world = tempfile::tempdir().unwrap();
        let store = PackageStore::new(world.path());
        let insert = || {
            let staging = store.stage().unwrap();
            let tree = staged(&staging, "x", "same");
            store.insert(&store.hold().unwrap(), &[&tree]).unwrap();
            tree.digest
        };
        let digests: BTreeSet<String> = thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(insert)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(digests.len(), 1);
        assert_eq!(store.digests().unwrap().len(), 1);
    }
}
