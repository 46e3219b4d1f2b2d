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
use prowess_trust::{
    ChangedPackage, LivePackage, PackageLocks, PackagePin, PinnedFile, PinnedPackage,
    is_package_tree,
};

use crate::lock::{LockFile, LockedKind, LockedPackage, MAX_LOCK};
use crate::operations::forks;
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
    /// `true` for the packages of the person, `false` for those of a project.
    pub is_personal: bool,
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
    /// Packages whose files are not pinned: folders of the person's own, and forks.
    live: BTreeMap<Box<str>, Arc<LivePackage>>,
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

    /// Returns the lockfiles that cannot be used, each with the reason.
    pub fn faults(&self) -> Vec<(&Path, Box<str>)> {
        let scopes = self.scopes.iter();
        let fault =
            |(scope, read): &'_ (PinScope, Mutex<ReadLock>)| packages(scope, read).fault.clone();
        scopes
            .filter_map(|one| Some((one.0.lock.as_path(), fault(one)?)))
            .collect()
    }

    /// Returns what the lockfiles say about a name, in the first scope that has such an entry or
    /// whose lockfile names it.
    pub fn find(&self, name: &str) -> Option<(PathBuf, PackagePin)> {
        let entries = self
            .scopes
            .iter()
            .map(|(scope, _)| scope.entries.join(name));
        let pins = entries.map(|entry| (entry.clone(), self.pin(&entry)));
        pins.into_iter()
            .find(|(_, pin)| !matches!(pin, PackagePin::Free))
    }

    /// Returns everything that the lockfiles name, by the entry of the scope folder.
    pub fn named(&self) -> BTreeMap<PathBuf, PackagePin> {
        let mut all = BTreeMap::new();
        for (scope, read) in &self.scopes {
            let packages = packages(scope, read);
            for (name, package) in &packages.by_name {
                let pin = PackagePin::Pinned(Arc::clone(package));
                all.insert(scope.entries.join(&**name), pin);
            }
            for (name, package) in &packages.live {
                let pin = PackagePin::Live(Arc::clone(package));
                all.entry(scope.entries.join(&**name)).or_insert(pin);
            }
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
            if let Some(package) = packages.live.get(name) {
                return PackagePin::Live(Arc::clone(package));
            }
            let Some(reason) = packages.fault.as_ref() else {
                continue;
            };
            // What is in the store is a package. People keep their own skills in the same folder, so
            // that other entries are not refused.
            let target = std::fs::canonicalize(entry).ok();
            if !target.is_some_and(|target| is_package_tree(&target)) {
                return PackagePin::Unknown;
            }
            return PackagePin::Unreadable {
                lock: scope.lock.clone(),
                reason: reason.clone(),
            };
        }
        PackagePin::Free
    }
}

/// Returns `true` if both paths lead to one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
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
            let by_name = packages.filter_map(|package| pinned(package, scope));
            let linked = lock.packages.iter().filter(|one| one.digest.is_none());
            let linked = linked.map(|package| LivePackage {
                name: package.name.as_str().into(),
                version: package.version.as_deref().map(Box::from),
                source: live_source(package).into(),
                is_forked: false,
                is_personal: scope.is_personal,
            });
            let forked = forks(&lock).into_iter().filter_map(|record| {
                let text = |key: &str| record.get(key).and_then(toml::Value::as_str);
                Some(LivePackage {
                    name: text("name")?.into(),
                    version: text("version").map(Box::from),
                    source: text("source").unwrap_or_default().into(),
                    is_forked: true,
                    is_personal: scope.is_personal,
                })
            });
            let live = forked.chain(linked);
            Packages {
                by_name: by_name.collect(),
                live: live.map(|one| (one.name.clone(), Arc::new(one))).collect(),
                fault: None,
            }
        }
    }
}

/// Returns the source of a folder of the person's own: `path` and the path.
fn live_source(package: &LockedPackage) -> String {
    match &package.path {
        Some(path) => format!("{}:{path}", package.source),
        None => package.source.to_string(),
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
fn pinned(package: &LockedPackage, scope: &PinScope) -> Option<(Box<str>, Arc<PinnedPackage>)> {
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
        source: package.source.to_string().into(),
        digest: digest.into(),
        files: files.collect(),
        changed: scope.changed,
        is_personal: scope.is_personal,
    };
    Some((package.name.as_str().into(), Arc::new(pinned)))
}
