//! What a lockfile pins: the comparison of a skill's files with the files that were installed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_registry::digest::{FactKind, FileFacts};
use prowess_registry::resource::SkillFolder;
use sha2::{Digest, Sha256};

use crate::store::FileChange;

/// Files that an error names.
const MAX_NAMED: usize = 3;

/// The lockfiles that apply to a person and a project.
pub trait PackageLocks: fmt::Debug + Send + Sync {
    /// Returns what the lockfiles say about the entry of a scope folder, such as
    /// `.agents/skills/pdf`. If the entry is a link, it is not followed.
    fn pin(&self, entry: &Path) -> PackagePin;
}

/// Returns `true` if a real path is a tree of a store of packages, or is in one. A store of another
/// data folder counts, too: its packages were not written by the person either.
pub fn is_package_tree(path: &Path) -> bool {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let is_digest = |hex: &str| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.windows(6).any(|parts| match parts {
        ["store", "v1", "trees", "sha256", first, hex] => is_digest(hex) && hex.starts_with(first),
        _ => false,
    })
}

/// What the lockfiles say about an entry of a scope folder.
#[derive(Clone, Debug)]
pub enum PackagePin {
    /// No lockfile names it.
    Free,
    /// A lockfile pins its files.
    Pinned(Arc<PinnedPackage>),
    /// A lockfile names it, and pins none of its files.
    Live(Arc<LivePackage>),
    /// The lockfile of its scope cannot be read, so that it may be a copy of a package or a skill of
    /// the person's own. It needs trust.
    Unknown,
    /// The lockfile of its scope cannot be read, so that it is unknown what it pins.
    Unreadable {
        /// The lockfile.
        lock: PathBuf,
        /// The reason.
        reason: Box<str>,
    },
}

/// A package with the files that a lockfile names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedPackage {
    /// The name, which is the name of its folder.
    pub name: Box<str>,
    /// The version.
    pub version: Option<Box<str>>,
    /// The source, as the lockfile writes it.
    pub source: Box<str>,
    /// The digest over every file.
    pub digest: Box<str>,
    /// The files.
    pub files: Vec<PinnedFile>,
    /// What happens if the files are others.
    pub changed: ChangedPackage,
    /// `true` if it belongs to the person and not to a project.
    pub is_personal: bool,
}

/// A package that a lockfile names without pinning its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePackage {
    /// The name, which is the name of its folder.
    pub name: Box<str>,
    /// The version that it was forked at.
    pub version: Option<Box<str>>,
    /// The source, as the lockfile writes it.
    pub source: Box<str>,
    /// `true` if the person forked it, `false` if it is a link to a folder of the person's own.
    pub is_forked: bool,
    /// `true` if it belongs to the person and not to a project.
    pub is_personal: bool,
}

/// A file of a pinned package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedFile {
    /// The path in the package, with forward slashes.
    pub path: Box<str>,
    /// The size in bytes.
    pub size: u64,
    /// The digest of the content; for a link, of its target.
    pub digest: Box<str>,
    /// The type.
    pub kind: FactKind,
}

/// What happens to a package whose files are not those of the lockfile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangedPackage {
    /// It is not loaded.
    #[default]
    Refuse,
    /// It is loaded as text, without trust.
    Text,
}

/// The reason why a package is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageFault {
    /// Its files are not those of the lockfile.
    #[error("package `{name}` is not what the lockfile says: {}", named(changes))]
    Changed {
        /// The package.
        name: Box<str>,
        /// The files that differ.
        changes: Vec<FileChange>,
        /// `true` if it belongs to the person and not to a project.
        is_personal: bool,
    },
    /// The lockfile of its scope cannot be read.
    #[error("package `{name}` cannot be checked against `{}`: {reason}", lock.display())]
    Lock {
        /// The package.
        name: Box<str>,
        /// The lockfile.
        lock: PathBuf,
        /// The reason.
        reason: Box<str>,
    },
}

impl PackageFault {
    /// Returns what to type next.
    pub fn hint(&self) -> String {
        match self {
            Self::Changed {
                name, is_personal, ..
            } => {
                let flag = if *is_personal { " --user" } else { "" };
                format!(
                    "see it with `prowess diff {name}{flag}`, undo it with `prowess sync{flag}`, \
                     keep it with `prowess fork {name}{flag}`"
                )
            }
            Self::Lock { .. } => "run `prowess verify`".to_owned(),
        }
    }
}

/// Lists the first changed files.
fn named(changes: &[FileChange]) -> String {
    let one = |change: &FileChange| match change {
        FileChange::Added(file) => format!("`{file}` is new"),
        FileChange::Removed(file) => format!("`{file}` is missing"),
        FileChange::Edited(file) => format!("`{file}` changed"),
        FileChange::Mode(file) => format!("the mode of `{file}` changed"),
    };
    let mut text: Vec<String> = changes.iter().take(MAX_NAMED).map(one).collect();
    if changes.len() > MAX_NAMED {
        text.push(format!("and {} more", changes.len() - MAX_NAMED));
    }
    text.join(", ")
}

impl PinnedPackage {
    /// Returns the error about a skill with these files whose digest is not the pinned one.
    pub fn fault(&self, folder: &Path, files: &[FileFacts]) -> PackageFault {
        PackageFault::Changed {
            name: self.name.clone(),
            changes: self.changes(folder, files),
            is_personal: self.is_personal,
        }
    }

    /// Returns `true` if the pinned file at a path has this content. A path that is not a regular
    /// file of the package leads through a link: then any of its files counts.
    pub fn has_content(&self, path: &str, content: &[u8]) -> bool {
        let digest = content_digest(content);
        let is_regular = |file: &&PinnedFile| *file.path == *path && file.kind != FactKind::Link;
        match self.files.iter().find(is_regular) {
            Some(file) => *file.digest == *digest,
            None => self.files.iter().any(|file| *file.digest == *digest),
        }
    }

    /// Lists how the files of a folder differ from the pinned ones. Reads files of equal size.
    pub fn changes(&self, folder: &Path, files: &[FileFacts]) -> Vec<FileChange> {
        let opened = SkillFolder::open(folder).ok();
        let name = |file: &FileFacts| file.path.to_string_lossy().into_owned();
        let mut changes = Vec::new();
        for pinned in &self.files {
            let path = pinned.path.to_string();
            let found = files.iter().find(|file| name(file) == path);
            let is_equal = |file: &FileFacts| {
                file.size == pinned.size && digest(opened.as_ref(), folder, file) == *pinned.digest
            };
            changes.extend(match found {
                None => Some(FileChange::Removed(path)),
                Some(file) if file.kind != pinned.kind => Some(FileChange::Mode(path)),
                Some(file) if is_equal(file) => None,
                Some(_) => Some(FileChange::Edited(path)),
            });
        }
        let is_new = |file: &&FileFacts| !self.files.iter().any(|one| *one.path == *name(file));
        let added = files.iter().filter(is_new).map(name);
        changes.extend(added.map(FileChange::Added));
        changes
    }
}

/// Returns the digest of a file, or an empty text if it cannot be read.
fn digest(opened: Option<&SkillFolder>, folder: &Path, file: &FileFacts) -> String {
    let bytes = match file.kind {
        FactKind::Link => std::fs::read_link(folder.join(&file.path))
            .ok()
            .map(|target| target.into_os_string().into_encoded_bytes()),
        FactKind::File | FactKind::Executable => opened
            .zip(file.path.to_str())
            .and_then(|(folder, path)| folder.bytes(path, file.size).ok()),
    };
    bytes.map_or_else(String::new, |bytes| content_digest(&bytes))
}

fn content_digest(content: &[u8]) -> String {
    format!("sha256:{}", prowess_diag::hex(&Sha256::digest(content)))
}
