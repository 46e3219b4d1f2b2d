//! Compares manifest, lock, store and scope folder.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use prowess_registry::digest_of;

use crate::error::PackageError;
use crate::journal::EntryState;
use crate::lock::{LockedFile, LockedPackage};
use crate::resolve::{EntryDifference, difference};
use crate::store::TreeState;
use crate::tree::locked_files;

use super::fetch::{SourceFetcher, same_files};
use super::link::{changed_copies, foreign_entries};
use super::plan::{is_path, wanted_entry};
use super::{OperationError, PackageContext};

/// Maximum number of threads.
const MAX_THREADS: usize = 16;

/// A difference.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "findings are few, and both sides are read by field"
)]
pub enum VerifyFinding {
    /// The manifest wants a package that the lock lacks.
    NotLocked {
        /// The package.
        name: String,
    },
    /// The lock has a package that the manifest lacks.
    NotWanted {
        /// The package.
        name: String,
    },
    /// The lock does not satisfy the manifest.
    Unsatisfied {
        /// The package.
        name: String,
        /// The difference.
        difference: EntryDifference,
    },
    /// A signature is needed, and none was checked on this machine.
    Unsigned {
        /// The package.
        name: String,
    },
    /// The files of a package in the store are not the locked ones.
    StoreChanged {
        /// The package.
        name: String,
    },
    /// The store lacks the files of a package.
    NotStored {
        /// The package.
        name: String,
    },
    /// There is no entry in the scope folder.
    NotInstalled {
        /// The package.
        name: String,
    },
    /// The entry in the scope folder, or in the folder of another agent, is something else.
    Foreign {
        /// The package.
        name: String,
        /// The entry.
        path: PathBuf,
    },
    /// A file of a package differs from the lock.
    File {
        /// The package.
        name: String,
        /// The file in the scope folder, or in a copy for another agent.
        path: PathBuf,
        /// The locked file. `None` if the lock lacks it.
        locked: Option<LockedFile>,
        /// The file that is there. `None` if it is missing.
        found: Option<LockedFile>,
    },
}

impl VerifyFinding {
    /// Returns the name of the package.
    pub fn name(&self) -> &str {
        match self {
            Self::NotLocked { name }
            | Self::NotWanted { name }
            | Self::Unsatisfied { name, .. }
            | Self::Unsigned { name }
            | Self::StoreChanged { name }
            | Self::NotStored { name }
            | Self::NotInstalled { name }
            | Self::Foreign { name, .. }
            | Self::File { name, .. } => name,
        }
    }
}

/// The result of [`verify`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyReport {
    /// The number of compared packages.
    pub packages: usize,
    /// Differences, sorted by package.
    pub findings: Vec<VerifyFinding>,
}

/// Compares manifest, lock, store and scope folder. Reads every file.
pub fn verify(context: &PackageContext, names: &[&str]) -> Result<VerifyReport, PackageError> {
    let texts = context.texts()?;
    for name in names {
        if texts.lock.get(name).is_none() && texts.manifest.get(name).is_none() {
            return Err(OperationError::NoPackage {
                name: (*name).to_owned(),
            }
            .into());
        }
    }
    let is_meant = |name: &str| names.is_empty() || names.contains(&name);
    let mut report = VerifyReport::default();
    for entry in texts
        .manifest
        .packages
        .iter()
        .filter(|entry| is_meant(&entry.name))
    {
        match texts.lock.get(&entry.name) {
            None => report.findings.push(VerifyFinding::NotLocked {
                name: entry.name.clone(),
            }),
            Some(locked) => {
                if let Some(difference) = difference(entry, locked) {
                    report.findings.push(VerifyFinding::Unsatisfied {
                        name: entry.name.clone(),
                        difference,
                    });
                }
            }
        }
    }
    let vendor = texts.settings.vendor == Some(true);
    let meant: Vec<&LockedPackage> = texts
        .lock
        .packages
        .iter()
        .filter(|one| is_meant(&one.name))
        .collect();
    report.packages = meant.len();
    let fetcher = SourceFetcher::new(context, texts.settings.clone());
    let wanted = texts.manifest.names();
    for package in &meant {
        if fetcher.is_unchecked(package) {
            report.findings.push(VerifyFinding::Unsigned {
                name: package.name.clone(),
            });
        }
        if !wanted.contains(&*package.name) {
            report.findings.push(VerifyFinding::NotWanted {
                name: package.name.clone(),
            });
        }
    }
    report.findings.extend(verify_all(context, &meant, vendor)?);
    for (name, copy) in changed_copies(context, &texts.lock)? {
        if let Some(package) = meant.iter().find(|package| package.name == name) {
            compare_files(&copy, package, &mut report.findings)?;
        }
    }
    // A package with a local source can be in the folder of an agent itself.
    let linked = meant.iter().filter(|package| !is_path(package));
    let linked: Vec<&str> = linked.map(|package| &*package.name).collect();
    let entries = foreign_entries(context, &texts.lock, &linked)?.into_iter();
    let entries = entries.map(|(name, path)| VerifyFinding::Foreign { name, path });
    report.findings.extend(entries);
    report.findings.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(report)
}

/// Compares packages on several threads. The first error in the order of the packages counts.
fn verify_all(
    context: &PackageContext,
    packages: &[&LockedPackage],
    vendor: bool,
) -> Result<Vec<VerifyFinding>, PackageError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(package) = packages.get(position) else {
                return done;
            };
            let mut findings = Vec::new();
            let result = verify_package(context, package, vendor, &mut findings);
            done.push((position, result.map(|()| findings)));
        }
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(MAX_THREADS).min(packages.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut all = work();
        for other in others {
            // A panic is not hidden.
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(position, _)| *position);
    let mut findings = Vec::new();
    for (_, result) in all {
        findings.extend(result?);
    }
    Ok(findings)
}

fn verify_package(
    context: &PackageContext,
    package: &LockedPackage,
    vendor: bool,
    findings: &mut Vec<VerifyFinding>,
) -> Result<(), PackageError> {
    let name = package.name.clone();
    let path = context.scope.skills.join(&name);
    let found = match fs::symlink_metadata(&path) {
        Ok(_) => found_entry(context, package),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            findings.push(VerifyFinding::NotInstalled { name });
            return Ok(());
        }
        Err(source) => {
            return Err(PackageError::File {
                verb: "read",
                path,
                source,
            });
        }
    };
    let Some(digest) = &package.digest else {
        if found != Some(wanted_entry(package, vendor)) {
            findings.push(VerifyFinding::Foreign { name, path });
        }
        return Ok(());
    };
    match found {
        Some(EntryState::Link { digest: linked }) => {
            if linked != *digest {
                findings.push(VerifyFinding::Foreign { name, path });
                return Ok(());
            }
            match context.store.verify(digest)? {
                TreeState::Whole => {}
                TreeState::Missing => findings.push(VerifyFinding::NotStored { name }),
                TreeState::Changed { .. } => {
                    compare_files(&path, package, findings)?;
                    findings.push(VerifyFinding::StoreChanged { name });
                }
            }
        }
        Some(EntryState::Copy { digest: copied }) if copied == *digest => {}
        Some(EntryState::Copy { .. }) => compare_files(&path, package, findings)?,
        Some(EntryState::Absent) => findings.push(VerifyFinding::NotInstalled { name }),
        Some(EntryState::Path { .. }) | None => {
            findings.push(VerifyFinding::Foreign { name, path });
        }
    }
    Ok(())
}

/// Returns the state of the entry of a package. `None` if it is something else.
pub(super) fn found_entry(context: &PackageContext, package: &LockedPackage) -> Option<EntryState> {
    let path = context.scope.skills.join(&package.name);
    let facts = match fs::symlink_metadata(&path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(EntryState::Absent),
        Err(_) => return None,
    };
    if facts.is_symlink() {
        let target = fs::read_link(&path).ok()?;
        if let Some(digest) = context.store.digest_at(&target) {
            return Some(EntryState::Link { digest });
        }
        let target = target.to_str().filter(|_| is_path(package))?;
        return Some(EntryState::Path {
            target: target.to_owned(),
        });
    }
    let digest = facts.is_dir().then(|| digest_of(&path).ok())??;
    Some(EntryState::Copy { digest })
}

/// Lists the files that differ from the lock.
fn compare_files(
    path: &Path,
    package: &LockedPackage,
    findings: &mut Vec<VerifyFinding>,
) -> Result<(), PackageError> {
    let found = locked_files(path)?;
    if same_files(&package.files, &found) {
        return Ok(());
    }
    let finding =
        |file: &str, locked: Option<&LockedFile>, there: Option<&LockedFile>| VerifyFinding::File {
            name: package.name.clone(),
            path: path.join(file),
            locked: locked.cloned(),
            found: there.cloned(),
        };
    for locked in &package.files {
        let there = found.iter().find(|file| file.path == locked.path);
        let is_same = there.is_some_and(|there| {
            same_files(std::slice::from_ref(there), std::slice::from_ref(locked))
        });
        if !is_same {
            findings.push(finding(&locked.path, Some(locked), there));
        }
    }
    for there in &found {
        if !package.files.iter().any(|locked| locked.path == there.path) {
            findings.push(finding(&there.path, None, Some(there)));
        }
    }
    Ok(())
}
