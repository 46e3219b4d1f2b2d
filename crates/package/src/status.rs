//! The state of a package in its scope folder, for listings.

use std::path::Path;
use std::sync::Arc;

use prowess_registry::{digest_of, files_of};
use prowess_trust::{LivePackage, PackageFault, PackagePin, PinnedPackage};

/// The state of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageState {
    /// Its files are those of the lockfile.
    Locked,
    /// Its files are not those of the lockfile.
    Changed,
    /// The lockfile names it, and it is not in the scope folder.
    Absent,
    /// The person turned it into a skill of their own.
    Forked,
    /// It is a link to a folder of the person's own.
    Linked,
    /// Its lockfile cannot be read.
    Unreadable,
}

impl PackageState {
    /// Returns the word for lists and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Locked => "locked",
            Self::Changed => "changed",
            Self::Absent => "absent",
            Self::Forked => "forked",
            Self::Linked => "linked",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A package with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageStatus {
    /// The name, which is the name of its folder.
    pub name: Box<str>,
    /// The version.
    pub version: Option<Box<str>>,
    /// The source, as the lockfile writes it. `None` if the lockfile cannot be read.
    pub source: Option<Box<str>>,
    /// The state.
    pub state: PackageState,
    /// The reason why it is not loaded.
    pub fault: Option<PackageFault>,
    /// `true` if it belongs to the person and not to a project.
    pub is_personal: bool,
}

impl PackageStatus {
    /// Returns what to type next, if there is something to do.
    pub fn hint(&self) -> Option<String> {
        let flag = if self.is_personal { " --user" } else { "" };
        match (self.state, &self.fault) {
            (PackageState::Absent, _) => Some(format!("install it with `prowess sync{flag}`")),
            (_, Some(fault)) => Some(fault.hint()),
            _ => None,
        }
    }
}

/// Returns the state of an entry of a scope folder. Reads all files of a pinned package. `None` if no
/// lockfile names the entry.
pub fn package_status(entry: &Path, pin: &PackagePin) -> Option<PackageStatus> {
    Some(match pin {
        PackagePin::Free | PackagePin::Unknown => return None,
        PackagePin::Pinned(package) => pinned_status(entry, package),
        PackagePin::Live(package) => live_status(entry, package),
        PackagePin::Unreadable { lock, reason } => {
            let name: Box<str> = entry.file_name()?.to_string_lossy().into();
            PackageStatus {
                name: name.clone(),
                version: None,
                source: None,
                state: PackageState::Unreadable,
                fault: Some(PackageFault::Lock {
                    name,
                    lock: lock.clone(),
                    reason: reason.clone(),
                }),
                is_personal: false,
            }
        }
    })
}

fn pinned_status(entry: &Path, package: &Arc<PinnedPackage>) -> PackageStatus {
    let mut fault = None;
    let state = if entry.is_dir() {
        match digest_of(entry) {
            Ok(digest) if *digest == *package.digest => PackageState::Locked,
            _ => {
                let listed = files_of(entry).unwrap_or_default();
                fault = Some(package.fault(&listed.0, &listed.1));
                PackageState::Changed
            }
        }
    } else {
        PackageState::Absent
    };
    PackageStatus {
        name: package.name.clone(),
        version: package.version.clone(),
        source: Some(package.source.clone()),
        state,
        fault,
        is_personal: package.is_personal,
    }
}

fn live_status(entry: &Path, package: &LivePackage) -> PackageStatus {
    let state = match package.is_forked {
        _ if !entry.is_dir() => PackageState::Absent,
        true => PackageState::Forked,
        false => PackageState::Linked,
    };
    PackageStatus {
        name: package.name.clone(),
        version: package.version.clone(),
        source: Some(package.source.clone()),
        state,
        fault: None,
        is_personal: package.is_personal,
    }
}
