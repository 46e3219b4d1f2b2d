//! The lockfiles that apply to a session, as what skills are checked against when they are read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prowess_registry::digest::FactKind;
use prowess_registry::{file_stamp, is_at_rest};
use prowess_trust::{ChangedPackage, PackageLocks, PackagePin, PinnedFile, PinnedPackage};

use crate::lock::{LockFile, LockedKind, LockedPackage, MAX_LOCK};
use crate::store::PackageStore;

/// One lockfile with the folder that shows its packages to agents.
#[derive(Clone, Debug)]
pub struct PinScope {
    /// The lockfile, which need not exist.
    pub lock: PathBuf,
    /// The folder with one entry for each package, such as `.agents/skills`.
    pub entries: PathBuf,
    /// What happens to packages whose files are not those of the lockfile.
    pub changed: ChangedPackage,
}

/// The lockfiles of a person and a project. A lockfile is read again if it changed.
pub struct LockPins {
    scopes: Vec<(PinScope, Mutex<ReadLock>)>,
    store: PackageStore,
}

/// A lockfile as it was read.
#[derive(Clone, Default)]
struct ReadLock {
    /// The stamp of the file. `None` if it must be read again.
    stamp: Option<prowess_catalog::FileStamp>,
    packages: Arc<Packages>,
}

#[derive(Default)]
struct Packages {
    by_name: BTreeMap<Box<str>, Arc<PinnedPackage>>,
    /// The reason why the file cannot be used.
    fault: Option<Box<str>>,
}

impl fmt::Debug for LockPins {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes = self.scopes.iter().map(|(scope, _)| scope);
        formatter.debug_list().entries(scopes).finish()
    }
}

impl LockPins {
    /// Creates the check of these scopes. Nothing is read yet.
    pub fn new(scopes: Vec<PinScope>, store: PackageStore) -> Self {
        let scopes = scopes.into_iter();
        Self {
            scopes: scopes.map(|scope| (scope, Mutex::default())).collect(),
            store,
        }
    }

    /// Returns the folders of the store that the lockfiles name.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for (scope, read) in &self.scopes {
            let packages = packages(scope, read);
            let digests = packages.by_name.values().map(|package| &package.digest);
            folders.extend(digests.filter_map(|digest| self.store.tree(digest).ok()));
        }
        folders
    }

    /// Returns the packages that the lockfiles name, each with its scope.
    pub fn pinned(&self) -> Vec<(&PinScope, Arc<PinnedPackage>)> {
        let mut all = Vec::new();
        for (scope, read) in &self.scopes {
            let packages = packages(scope, read);
            all.extend(
                packages
                    .by_name
                    .values()
                    .map(|one| (scope, Arc::clone(one))),
            );
        }
        all
    }
}

impl PackageLocks for LockPins {
    fn pin(&self, entry: &Path) -> PackagePin {
        let Some((folder, name)) = entry.parent().zip(entry.file_name()) else {
            return PackagePin::Free;
        };
        let Some(name) = name.to_str() else {
            return PackagePin::Free;
        };
        for (scope, read) in &self.scopes {
            if !is_same(&scope.entries, folder) {
                continue;
            }
            let packages = packages(scope, read);
            if let Some(package) = packages.by_name.get(name) {
                return PackagePin::Pinned(Arc::clone(package));
            }
            // It is unknown what the lockfile pins. What is not in the store is not refused: people
            // keep their own skills in the same folder.
            let in_store = || {
                let target = std::fs::canonicalize(entry).ok();
                let trees = std::fs::canonicalize(self.store.root()).ok();
                target
                    .zip(trees)
                    .is_some_and(|(target, trees)| target.starts_with(trees))
            };
            if let Some(reason) = packages.fault.as_ref().filter(|_| in_store()) {
                return PackagePin::Unreadable {
                    lock: scope.lock.clone(),
                    reason: reason.clone(),
                };
            }
        }
        PackagePin::Free
    }
}

/// Returns `true` if both paths lead to one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    one == other || (real(one).is_some() && real(one) == real(other))
}

/// Returns the packages of a lockfile, which is read again if it changed.
fn packages(scope: &PinScope, read: &Mutex<ReadLock>) -> Arc<Packages> {
    let stamp = file_stamp(&scope.lock);
    let mut known = read.lock().unwrap_or_else(PoisonError::into_inner);
    if stamp.is_none() || known.stamp != stamp {
        // A file that changed just now may change again with the same stamp.
        known.stamp = stamp.filter(|stamp| is_at_rest(*stamp));
        known.packages = Arc::new(read_lock(scope));
    }
    Arc::clone(&known.packages)
}

fn read_lock(scope: &PinScope) -> Packages {
    let faulty = |reason: String| Packages {
        fault: Some(reason.into()),
        ..Packages::default()
    };
    let text = match read_text(&scope.lock) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Packages::default(),
        Err(error) => return faulty(error.to_string()),
    };
    match LockFile::parse(&text) {
        Err(error) => faulty(error.to_string()),
        Ok(lock) => {
            let packages = lock.packages.iter();
            let by_name = packages.filter_map(|package| pinned(package, scope.changed));
            Packages {
                by_name: by_name.collect(),
                fault: None,
            }
        }
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    // The file of a project may be a FIFO, which is not waited for.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_LOCK as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Converts a locked package. `None` if its source is a path, whose files are not pinned.
fn pinned(
    package: &LockedPackage,
    changed: ChangedPackage,
) -> Option<(Box<str>, Arc<PinnedPackage>)> {
    let digest = package.digest.as_deref()?;
    let files = package.files.iter().map(|file| PinnedFile {
        path: file.path.as_str().into(),
        size: file.size,
        digest: file.digest.as_str().into(),
        kind: match file.kind {
            LockedKind::File => FactKind::File,
            LockedKind::Executable => FactKind::Executable,
            LockedKind::Link => FactKind::Link,
        },
    });
    let pinned = PinnedPackage {
        name: package.name.as_str().into(),
        version: package.version.as_deref().map(Box::from),
        digest: digest.into(),
        files: files.collect(),
        changed,
    };
    Some((package.name.as_str().into(), Arc::new(pinned)))
}
