//! The files of one package, written to a staging folder while they are read.
//!
//! Sources are hostile: every path is checked before a file is created, links are created last and
//! must stay in the package, and every count and size has a limit. Memory does not grow with the
//! size of the files.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use prowess_registry::digest::FactKind;
use prowess_registry::{digest_of, outside_route};
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::lock::{LockedFile, LockedKind};

/// Limits of one package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Maximum number of files and links.
    pub files: usize,
    /// Maximum total size in bytes.
    pub bytes: u64,
    /// Maximum number of folders above a file.
    pub depth: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            files: 10_000,
            bytes: 256 * 1024 * 1024,
            depth: 16,
        }
    }
}

/// Number of files above which a package is larger than other hosts need to accept.
pub const MANY_FILES: usize = 512;
/// Size in bytes above which a package is larger than other hosts need to accept.
pub const MANY_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum length of a path in bytes.
const MAX_PATH: usize = 1024;
/// Maximum length of one part of a path in bytes.
const MAX_PART: usize = 255;
/// Maximum length of the target of a link in bytes.
pub const MAX_TARGET: usize = 1024;
/// Size in bytes below which a file may be a pointer of git LFS.
const MAX_POINTER: u64 = 1024;
/// The start of a pointer of git LFS.
const POINTER: &[u8] = b"version https://git-lfs";
/// Folders of version control. Files in them are never files of a package.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// Names that Windows reserves, with any extension.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// A fault in the path of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreePathFault {
    /// The name is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The name is not in the normal form NFC.
    #[error("it is not in Unicode normal form C")]
    NotNormal,
    /// The path is absolute.
    #[error("it is absolute")]
    Absolute,
    /// The name has a backslash.
    #[error("it has a backslash")]
    Backslash,
    /// The name has a control character.
    #[error("it has a control character")]
    Control,
    /// The name has a colon.
    #[error("it has a colon")]
    Colon,
    /// A part of the path is empty.
    #[error("a part of it is empty")]
    Empty,
    /// A part of the path is `.` or `..`.
    #[error("a part of it is `.` or `..`")]
    Dots,
    /// A part ends with a dot or a blank.
    #[error("a part of it ends with a dot or a blank")]
    Trailing,
    /// A part is a name that Windows reserves.
    #[error("a part of it is a reserved name")]
    Reserved,
    /// The path or a part of it is too long.
    #[error("it is too long")]
    TooLong,
    /// The path is in a folder of version control.
    #[error("it is in a repository inside the package")]
    Repository,
}

/// Error from building the files of a package. Nothing of the package is used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A path is not allowed.
    #[error("the path `{path}` is not allowed: {fault}")]
    Path {
        /// The path.
        path: String,
        /// The fault.
        fault: TreePathFault,
    },
    /// Two paths are the same on some file systems.
    #[error("`{first}` and `{second}` are the same path on some file systems")]
    Twins {
        /// The first path.
        first: String,
        /// The second path.
        second: String,
    },
    /// The package has too many files.
    #[error("the package has more than {limit} files")]
    TooMany {
        /// The maximum.
        limit: usize,
    },
    /// The package is too large.
    #[error("the package is larger than {limit} bytes")]
    TooLarge {
        /// The maximum.
        limit: u64,
    },
    /// The folders are nested too deeply.
    #[error("the folders of `{path}` are nested more than {limit} levels deep")]
    TooDeep {
        /// The path.
        path: String,
        /// The maximum.
        limit: usize,
    },
    /// A link leaves the package or leads to nothing.
    #[error("the link `{path}` to `{target}` leaves the package or leads to nothing")]
    Link {
        /// The link.
        path: String,
        /// Its target.
        target: String,
    },
    /// The content of a file is not as long as announced.
    #[error("`{path}` has another size than announced")]
    Size {
        /// The file.
        path: String,
    },
    /// The file is a pointer of git LFS.
    #[error("`{path}` is a pointer of git LFS; the file itself is not in git")]
    LfsPointer {
        /// The file.
        path: String,
    },
    /// The package contains a submodule.
    #[error("`{path}` is a submodule, and submodules are not fetched")]
    Submodule {
        /// The folder of the submodule.
        path: String,
    },
    /// The package has no files.
    #[error("the package has no files")]
    Empty,
    /// Reading the content of a file failed.
    #[error("cannot read `{path}` from the source")]
    Read {
        /// The file.
        path: String,
        /// The I/O error.
        source: io::Error,
    },
    /// Writing the staging folder failed.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
}

/// Checks the path of a file of a package.
pub fn check_tree_path(path: &[u8]) -> Result<&str, TreePathFault> {
    let path = std::str::from_utf8(path).map_err(|_| TreePathFault::NotUtf8)?;
    if path.len() > MAX_PATH {
        return Err(TreePathFault::TooLong);
    }
    if path.starts_with('/') {
        return Err(TreePathFault::Absolute);
    }
    if path.chars().any(char::is_control) {
        return Err(TreePathFault::Control);
    }
    if path.contains('\\') {
        return Err(TreePathFault::Backslash);
    }
    if path.contains(':') {
        return Err(TreePathFault::Colon);
    }
    if !is_nfc(path) {
        return Err(TreePathFault::NotNormal);
    }
    for part in path.split('/') {
        check_part(part)?;
    }
    Ok(path)
}

fn check_part(part: &str) -> Result<(), TreePathFault> {
    if part.is_empty() {
        return Err(TreePathFault::Empty);
    }
    if matches!(part, "." | "..") {
        return Err(TreePathFault::Dots);
    }
    if part.len() > MAX_PART {
        return Err(TreePathFault::TooLong);
    }
    if part.ends_with('.') || part.ends_with(char::is_whitespace) {
        return Err(TreePathFault::Trailing);
    }
    let stem = part.split('.').next().unwrap_or(part).to_lowercase();
    let stem = stem.trim_end();
    let is_numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| {
            let mut rest = rest.chars();
            matches!(rest.next(), Some('0'..='9' | '¹' | '²' | '³')) && rest.next().is_none()
        })
    };
    if RESERVED.contains(&stem) || is_numbered("com") || is_numbered("lpt") {
        return Err(TreePathFault::Reserved);
    }
    Ok(())
}

/// Returns `true` if the path is in a folder of version control, which is never part of a package.
pub fn is_version_control(path: &str) -> bool {
    let is_one = |part: &str| {
        VERSION_CONTROL
            .iter()
            .any(|name| part.eq_ignore_ascii_case(name))
    };
    path.split('/').any(is_one)
}

/// Returns the form in which names are compared on file systems that ignore case.
fn folded(part: &str) -> String {
    // Upper case first: it maps `ß` to `SS` and both lower-case sigmas to one letter.
    let upper: String = part.nfd().flat_map(char::to_uppercase).collect();
    upper.chars().flat_map(char::to_lowercase).nfc().collect()
}

/// Keeps the paths of a package unique after normalisation and case folding.
#[derive(Debug, Default)]
pub struct TreeNames {
    /// The folded path with the path as written, and `true` for a folder.
    seen: BTreeMap<String, (String, bool)>,
}

impl TreeNames {
    /// Adds a file or link. Fails if the path, or a folder above it, is there in another spelling, or
    /// if a file is already where a folder is needed.
    pub fn add(&mut self, path: &str) -> Result<(), TreeError> {
        let mut key = String::new();
        let mut end = 0;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            if end > 0 {
                key.push('/');
                end += 1;
            }
            key.push_str(&folded(part));
            end += part.len();
            let written = &path[..end];
            let is_folder = parts.peek().is_some();
            match self.seen.get(&key) {
                Some((first, true)) if is_folder && first == written => {}
                Some((first, _)) => {
                    return Err(TreeError::Twins {
                        first: first.clone(),
                        second: written.to_owned(),
                    });
                }
                None => {
                    self.seen
                        .insert(key.clone(), (written.to_owned(), is_folder));
                }
            }
        }
        Ok(())
    }
}

/// The files of a package that is being read. They are below `folder`, which the caller owns.
#[derive(Debug)]
pub struct TreeBuilder {
    folder: PathBuf,
    limits: TreeLimits,
    names: TreeNames,
    files: Vec<LockedFile>,
    links: Vec<(String, String)>,
    bytes: u64,
}

/// The files of a package, complete and checked, in a staging folder.
#[derive(Clone, Debug, PartialEq)]
pub struct PackageTree {
    /// The folder that has the files.
    pub folder: PathBuf,
    /// The digest over all files, equal to that of the registry.
    pub digest: String,
    /// The files, sorted by the bytes of their paths.
    pub files: Vec<LockedFile>,
    /// The total size in bytes.
    pub bytes: u64,
}

impl PackageTree {
    /// Returns `true` if other hosts need not accept the package because of its size.
    pub fn is_large(&self) -> bool {
        self.files.len() > MANY_FILES || self.bytes > MANY_BYTES
    }
}

impl TreeBuilder {
    /// Starts a tree in a new folder.
    pub fn create(folder: PathBuf, limits: TreeLimits) -> Result<Self, TreeError> {
        fs::create_dir(&folder).map_err(|source| TreeError::Write {
            path: folder.clone(),
            source,
        })?;
        // Temporary folders may be links, and links in the tree are compared with the real path.
        let folder = fs::canonicalize(&folder).map_err(|source| TreeError::Write {
            path: folder,
            source,
        })?;
        Ok(Self {
            folder,
            limits,
            names: TreeNames::default(),
            files: Vec::new(),
            links: Vec::new(),
            bytes: 0,
        })
    }

    /// Returns the number of bytes that may still be added.
    pub fn bytes_left(&self) -> u64 {
        self.limits.bytes.saturating_sub(self.bytes)
    }

    /// Adds a regular file of exactly `size` bytes. `from` is the place of the content if it is not
    /// the same path in the source.
    pub fn add_file(
        &mut self,
        path: &str,
        kind: LockedKind,
        size: u64,
        from: Option<String>,
        content: &mut dyn Read,
    ) -> Result<(), TreeError> {
        self.admit(path, size)?;
        let target = self.folder.join(path);
        let failed = |source| TreeError::Write {
            path: target.clone(),
            source,
        };
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&target)
            .map_err(failed)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![
            0;
            usize::try_from(size)
                .unwrap_or(usize::MAX)
                .clamp(1, 64 * 1024)
        ];
        let mut total = 0;
        let mut start = Vec::new();
        loop {
            let count = content
                .read(&mut buffer)
                .map_err(|source| TreeError::Read {
                    path: path.to_owned(),
                    source,
                })?;
            if count == 0 {
                break;
            }
            total += count as u64;
            if total > size {
                return Err(TreeError::Size {
                    path: path.to_owned(),
                });
            }
            let chunk = &buffer[..count];
            if start.len() < POINTER.len() {
                start.extend_from_slice(&chunk[..count.min(POINTER.len() - start.len())]);
            }
            hasher.update(chunk);
            file.write_all(chunk).map_err(failed)?;
        }
        if total != size {
            return Err(TreeError::Size {
                path: path.to_owned(),
            });
        }
        if size < MAX_POINTER && start == POINTER {
            return Err(TreeError::LfsPointer {
                path: path.to_owned(),
            });
        }
        let mode = if kind == LockedKind::Executable {
            0o555
        } else {
            0o444
        };
        file.set_permissions(PermissionsExt::from_mode(mode))
            .map_err(failed)?;
        self.files.push(LockedFile {
            path: path.to_owned(),
            size,
            digest: format!("sha256:{}", prowess_diag::hex(&hasher.finalize())),
            kind,
            from,
            extra: toml::Table::default(),
        });
        Ok(())
    }

    /// Adds a link. It is created by [`TreeBuilder::finish`], which also checks its target.
    pub fn add_link(&mut self, path: &str, target: &[u8]) -> Result<(), TreeError> {
        let refused = || TreeError::Link {
            path: path.to_owned(),
            target: String::from_utf8_lossy(target).chars().take(200).collect(),
        };
        let text = std::str::from_utf8(target).map_err(|_| refused())?;
        let is_plain = !text.is_empty()
            && text.len() <= MAX_TARGET
            && !text.starts_with('/')
            && !text.contains(['\\', ':'])
            && !text.chars().any(char::is_control);
        if !is_plain {
            return Err(refused());
        }
        self.admit(path, text.len() as u64)?;
        self.files.push(LockedFile {
            path: path.to_owned(),
            size: text.len() as u64,
            digest: digest_of_bytes(target),
            kind: LockedKind::Link,
            from: None,
            extra: toml::Table::default(),
        });
        self.links.push((path.to_owned(), text.to_owned()));
        Ok(())
    }

    /// Creates the links, checks them, makes the files read-only and computes the digest.
    pub fn finish(mut self) -> Result<PackageTree, TreeError> {
        if self.files.is_empty() {
            return Err(TreeError::Empty);
        }
        for (path, target) in &self.links {
            let link = self.folder.join(path);
            let made = link
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| std::os::unix::fs::symlink(target, &link));
            made.map_err(|source| TreeError::Write { path: link, source })?;
        }
        for (path, target) in &self.links {
            if outside_route(&self.folder, Path::new(path)).is_some() {
                return Err(TreeError::Link {
                    path: path.clone(),
                    target: target.clone(),
                });
            }
        }
        self.files
            .sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        let digest = digest_of(&self.folder).map_err(|error| TreeError::Write {
            path: self.folder.clone(),
            source: io::Error::other(error.to_string()),
        })?;
        Ok(PackageTree {
            folder: self.folder,
            digest,
            files: self.files,
            bytes: self.bytes,
        })
    }

    fn admit(&mut self, path: &str, size: u64) -> Result<(), TreeError> {
        let fault = match check_tree_path(path.as_bytes()) {
            Err(fault) => Some(fault),
            // No digest covers it, and git runs what its settings name.
            Ok(path) => is_version_control(path).then_some(TreePathFault::Repository),
        };
        if let Some(fault) = fault {
            return Err(TreeError::Path {
                path: path.to_owned(),
                fault,
            });
        }
        if self.files.len() >= self.limits.files {
            return Err(TreeError::TooMany {
                limit: self.limits.files,
            });
        }
        if path.matches('/').count() > self.limits.depth {
            return Err(TreeError::TooDeep {
                path: path.to_owned(),
                limit: self.limits.depth,
            });
        }
        let too_large = TreeError::TooLarge {
            limit: self.limits.bytes,
        };
        let bytes = self.bytes.checked_add(size);
        match bytes.filter(|bytes| *bytes <= self.limits.bytes) {
            Some(bytes) => self.bytes = bytes,
            None => return Err(too_large),
        }
        self.names.add(path)
    }
}

/// Returns `sha256:` and the hexadecimal digest of bytes.
pub fn digest_of_bytes(bytes: &[u8]) -> String {
    format!("sha256:{}", prowess_diag::hex(&Sha256::digest(bytes)))
}

/// Copies a folder on disk into a new tree. A repository in the folder is left out. A link must stay
/// in the folder.
pub fn copy_folder(
    folder: &Path,
    into: PathBuf,
    limits: TreeLimits,
) -> Result<PackageTree, TreeError> {
    let mut builder = TreeBuilder::create(into, limits)?;
    each_file(folder, &mut |path, kind, size, content| match kind {
        LockedKind::Link => {
            let mut target = Vec::new();
            let read = content.read_to_end(&mut target);
            read.map_err(|source| unread(Path::new(path), source))?;
            builder.add_link(path, &target)
        }
        kind => builder.add_file(path, kind, size, None, content),
    })?;
    builder.finish()
}

/// Returns the files of a folder on disk in the form of a lock, sorted by path.
pub fn locked_files(folder: &Path) -> Result<Vec<LockedFile>, TreeError> {
    let mut files = Vec::new();
    each_file(folder, &mut |path, kind, _, content| {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut size = 0;
        loop {
            let read = content.read(&mut buffer);
            let count = read.map_err(|source| unread(Path::new(path), source))?;
            if count == 0 {
                break;
            }
            size += count as u64;
            hasher.update(&buffer[..count]);
        }
        files.push(LockedFile {
            path: path.to_owned(),
            size,
            digest: format!("sha256:{}", prowess_diag::hex(&hasher.finalize())),
            kind,
            from: None,
            extra: toml::Table::default(),
        });
        Ok(())
    })?;
    Ok(files)
}

fn unread(path: &Path, source: io::Error) -> TreeError {
    TreeError::Read {
        path: path.display().to_string(),
        source,
    }
}

pub(crate) type EachFile<'a> =
    dyn FnMut(&str, LockedKind, u64, &mut dyn Read) -> Result<(), TreeError> + 'a;

/// Passes on the files of a folder on disk, sorted by path. The content of a link is its target.
pub(crate) fn each_file(folder: &Path, each: &mut EachFile<'_>) -> Result<(), TreeError> {
    let real = fs::canonicalize(folder).map_err(|error| unread(folder, error))?;
    let listed = prowess_registry::digest::files(&real)
        .map_err(|error| unread(folder, io::Error::other(error.to_string())))?;
    for file in listed {
        let bytes = file.path.as_os_str().as_encoded_bytes();
        let path = check_tree_path(bytes).map_err(|fault| TreeError::Path {
            path: file.path.display().to_string(),
            fault,
        })?;
        if is_version_control(path) {
            continue;
        }
        let whole = real.join(path);
        let kind = match file.kind {
            FactKind::Link => {
                let target = fs::read_link(&whole).map_err(|error| unread(&whole, error))?;
                let target = target.as_os_str().as_encoded_bytes();
                each(path, LockedKind::Link, target.len() as u64, &mut &*target)?;
                continue;
            }
            FactKind::Executable => LockedKind::Executable,
            FactKind::File => LockedKind::File,
        };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let opened = prowess_registry::nofollow::open(&whole, flags, Mode::empty())
            .map_err(|error| unread(&whole, error.into()))?;
        let mut content = fs::File::from(opened).take(file.size.saturating_add(1));
        each(path, kind, file.size, &mut content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(world: &tempfile::TempDir) -> TreeBuilder {
        TreeBuilder::create(world.path().join("tree"), TreeLimits::default()).unwrap()
    }

    fn add(tree: &mut TreeBuilder, path: &str, content: &str) -> Result<(), TreeError> {
        let size = content.len() as u64;
        tree.add_file(path, LockedKind::File, size, None, &mut content.as_bytes())
    }

    #[test]
    fn paths_are_refused_with_their_fault() {
        for (path, fault) in [
            (&b"a\xff"[..], TreePathFault::NotUtf8),
            ("e\u{301}".as_bytes(), TreePathFault::NotNormal),
            (b"/etc/x", TreePathFault::Absolute),
            (b"a\\b", TreePathFault::Backslash),
            (b"a\0b", TreePathFault::Control),
            (b"a\nb", TreePathFault::Control),
            ("a\u{85}b".as_bytes(), TreePathFault::Control),
            (b"C:x", TreePathFault::Colon),
            (b"a//b", TreePathFault::Empty),
            (b"", TreePathFault::Empty),
            (b"a/", TreePathFault::Empty),
            (b"../a", TreePathFault::Dots),
            (b"a/./b", TreePathFault::Dots),
            (b"a/..", TreePathFault::Dots),
            (b"a./b", TreePathFault::Trailing),
            (b"a /b", TreePathFault::Trailing),
            (b"NUL", TreePathFault::Reserved),
            (b"x/con.txt", TreePathFault::Reserved),
            (b"com1", TreePathFault::Reserved),
            ("lpt².md".as_bytes(), TreePathFault::Reserved),
            (&[b'a'; 256], TreePathFault::TooLong),
            (&[b'/'; 1025], TreePathFault::TooLong),
        ] {
            assert_eq!(check_tree_path(path), Err(fault), "{path:?}");
        }
        for path in [
            "SKILL.md",
            "a/b c/ü.md",
            "com.md",
            "console.md",
            "...x",
            ".hidden",
        ] {
            assert_eq!(check_tree_path(path.as_bytes()), Ok(path));
        }
    }

    #[test]
    fn names_are_unique_after_case_folding() {
        for (first, second) in [
            ("a", "A"),
            ("a/b", "A/c"),
            ("straße", "STRASSE"),
            ("ς", "Σ"),
            ("a", "a/b"),
            ("a/b", "a"),
            ("a", "a"),
            ("É", "é"),
        ] {
            let mut names = TreeNames::default();
            names.add(first).unwrap();
            assert!(
                matches!(names.add(second), Err(TreeError::Twins { .. })),
                "{first} {second}"
            );
        }
        let mut names = TreeNames::default();
        for path in ["a/b", "a/c", "a-b", "b/a"] {
            names.add(path).unwrap();
        }
    }

    #[test]
    fn digest_is_that_of_the_registry() {
        let world = tempfile::tempdir().unwrap();
        let source = world.path().join("source");
        fs::create_dir_all(source.join("scripts")).unwrap();
        fs::write(source.join("SKILL.md"), "---\nname: x\n---\n").unwrap();
        fs::write(source.join("scripts/run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(
            source.join("scripts/run.sh"),
            PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        std::os::unix::fs::symlink("scripts/run.sh", source.join("run")).unwrap();
        let tree = copy_folder(&source, world.path().join("tree"), TreeLimits::default()).unwrap();
        assert_eq!(tree.digest, digest_of(&source).unwrap());
        let kinds: Vec<_> = tree
            .files
            .iter()
            .map(|file| (&*file.path, file.kind))
            .collect();
        assert_eq!(
            kinds,
            [
                ("SKILL.md", LockedKind::File),
                ("run", LockedKind::Link),
                ("scripts/run.sh", LockedKind::Executable),
            ]
        );
        assert_eq!(tree.files[1].digest, digest_of_bytes(b"scripts/run.sh"));
    }

    #[test]
    fn links_stay_in_the_package() {
        for target in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "gone",
            "link",
            "",
            "a\\b",
            "folder/../../tree-other",
        ] {
            let world = tempfile::tempdir().unwrap();
            let mut tree = builder(&world);
            add(&mut tree, "folder/file", "x").unwrap();
            let made = tree
                .add_link("link", target.as_bytes())
                .and_then(|()| tree.finish().map(|_| ()));
            assert!(matches!(made, Err(TreeError::Link { .. })), "{target}");
        }
        let world = tempfile::tempdir().unwrap();
        let mut tree = builder(&world);
        add(&mut tree, "folder/file", "x").unwrap();
        tree.add_link("link", b"folder/file").unwrap();
        tree.add_link("deep/link", b"../folder").unwrap();
        tree.finish().unwrap();
    }

    #[test]
    fn limits_and_sizes_hold() {
        let world = tempfile::tempdir().unwrap();
        let limits = TreeLimits {
            files: 2,
            bytes: 10,
            depth: 1,
        };
        let mut tree = TreeBuilder::create(world.path().join("tree"), limits).unwrap();
        assert!(matches!(
            add(&mut tree, "a/b/c", "x"),
            Err(TreeError::TooDeep { .. })
        ));
        assert!(matches!(
            add(&mut tree, "a", "01234567890"),
            Err(TreeError::TooLarge { .. })
        ));
        let short = tree.add_file("s", LockedKind::File, 3, None, &mut &b"ab"[..]);
        assert!(matches!(short, Err(TreeError::Size { .. })));
        let world = tempfile::tempdir().unwrap();
        let mut tree = TreeBuilder::create(world.path().join("tree"), limits).unwrap();
        let long = tree.add_file("l", LockedKind::File, 3, None, &mut &b"abcd"[..]);
        assert!(matches!(long, Err(TreeError::Size { .. })));
        add(&mut tree, "a/b", "x").unwrap();
        add(&mut tree, "a/c", "x").unwrap();
        assert!(matches!(
            add(&mut tree, "d", "x"),
            Err(TreeError::TooMany { .. })
        ));
    }

    #[test]
    fn repository_in_a_package_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [".git/config", "a/.GIT/config", ".jj/x"] {
            let place = folder.path().join(path.replace('/', "-"));
            let mut builder = TreeBuilder::create(place, TreeLimits::default()).unwrap();
            let mut content: &[u8] = b"x";
            let found = builder.add_file(path, LockedKind::File, 1, None, &mut content);
            let is_refused = matches!(
                found,
                Err(TreeError::Path {
                    fault: TreePathFault::Repository,
                    ..
                })
            );
            assert!(is_refused, "{path}: {found:?}");
        }
    }

    #[test]
    fn pointers_of_lfs_are_refused() {
        let world = tempfile::tempdir().unwrap();
        let mut tree = builder(&world);
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
        assert!(matches!(
            add(&mut tree, "a.bin", pointer),
            Err(TreeError::LfsPointer { .. })
        ));
        assert!(is_version_control("a/.git/config") && is_version_control(".JJ/x"));
        assert!(!is_version_control("a/git") && !is_version_control(".github/x"));
    }
}
