//! The lock: which bytes each package has.

use toml::Table;

use crate::source::LockedSource;

/// The name of the lock, next to the manifest.
pub const LOCK_NAME: &str = "prowess.lock";
/// The format that this version reads and writes.
pub const LOCK_VERSION: i64 = 1;

/// The packages of a scope, sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockFile {
    /// Packages, sorted by name; names are unique.
    pub packages: Vec<LockedPackage>,
    /// Keys at the top that this version does not know.
    pub extra: Table,
}

/// One locked package.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedPackage {
    /// The folder in `.agents/skills`.
    pub name: String,
    /// The resolved version.
    pub version: Option<String>,
    /// The range or ref that the manifest asked for, as text.
    pub wanted: Option<String>,
    /// The source.
    pub source: LockedSource,
    /// The place in the source: a folder, the name in an index or registry, an address of a server.
    pub path: Option<String>,
    /// The full name of the git ref: `refs/tags/v1.4.2`.
    pub git_ref: Option<String>,
    /// The full commit id.
    pub commit: Option<String>,
    /// Git's id of the folder.
    pub tree: Option<String>,
    /// The digest over every file, as of `prowess_registry::digest`. `None` for `path` sources only.
    pub digest: Option<String>,
    /// The digest of the archive itself.
    pub archive: Option<String>,
    /// The licence that the package declares.
    pub license: Option<String>,
    /// The signer whose signature was checked.
    pub signer: Option<String>,
    /// The files, sorted by the bytes of their paths.
    pub files: Vec<LockedFile>,
    /// Keys that this version does not know.
    pub extra: Table,
}

/// One file of a locked package.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedFile {
    /// The path relative to the package, with forward slashes.
    pub path: String,
    /// The size in bytes; for a link, the length of its target.
    pub size: u64,
    /// `sha256:` and 64 hexadecimal digits, over the content; for a link, over its target.
    pub digest: String,
    /// The type.
    pub kind: LockedKind,
    /// The path in the repository from which a link was replaced by its content.
    pub from: Option<String>,
    /// Keys that this version does not know.
    pub extra: Table,
}

/// The type of a locked file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockedKind {
    /// A regular file.
    #[default]
    File,
    /// An executable regular file.
    Executable,
    /// A symbolic link to a place in the same package.
    Link,
}

/// The reason why a lock cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The format is newer.
    #[error(
        "`prowess.lock` has format {found}, written by a newer prowess; this one reads format {LOCK_VERSION}"
    )]
    Newer {
        /// The format of the file.
        found: i64,
    },
    /// The text is not a lock.
    #[error("`prowess.lock` is damaged: {reason}")]
    Damaged {
        /// The first fault.
        reason: String,
        /// The line of the fault, from 1.
        line: Option<usize>,
    },
    /// The text has conflict markers.
    #[error("`prowess.lock` has conflict markers of a merge")]
    Conflict,
    /// The lock exceeds a limit.
    #[error("`prowess.lock` exceeds the limit of {limit}")]
    TooLarge {
        /// The limit, with its unit.
        limit: String,
    },
}

impl LockError {
    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Newer { .. } => "update prowess; the file was not changed".to_owned(),
            Self::Damaged { .. } | Self::TooLarge { .. } => {
                "restore it from version control, or remove it and run `prowess lock`".to_owned()
            }
            Self::Conflict => "unite both sides with `prowess lock`".to_owned(),
        })
    }
}
