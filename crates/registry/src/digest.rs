//! The digest of a skill, which identifies the exact content of its files.

use std::ffi::OsStr;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::fs::entries;
use crate::fs::read::SKILL_FILES;
use crate::link_route::outside_route;
use crate::nofollow;
use crate::resource::{ResourceError, SkillFolder};

/// The only folder that is not hashed: the repository of a skill that was cloned, directly in the
/// skill's folder. It changes independently of the skill. Nothing in it can be read or run.
pub const LEFT_OUT: &str = ".git";
/// Entries that a folder must have to be a repository.
const IN_REPOSITORY: [&str; 3] = [".git/HEAD", ".git/objects", ".git/refs"];

/// Maximum number of files of a skill.
const MAX_FILES: usize = 10_000;
/// Maximum total size of the files of a skill, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum size of the text of a skill, in bytes.
const MAX_TEXT: u64 = 1024 * 1024;
/// Maximum folder depth of a skill.
const MAX_DEPTH: usize = 16;

/// One file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Path relative to the skill's folder.
    pub path: PathBuf,
    /// Size in bytes; for a link, the length of its target.
    pub size: u64,
    /// Type of the file.
    pub kind: FactKind,
}

/// Type of a file, as far as the digest depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A regular file.
    File,
    /// An executable regular file.
    Executable,
    /// A symbolic link. Hashed as its target path. A linked SKILL.md is followed for its text, and
    /// a link that leaves the folder for its target.
    Link,
}

/// Error from computing a digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// Reading a file or folder failed.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The skill exceeds the limits.
    #[error("the files of `{}` are too many or too large to hash", path.display())]
    TooLarge {
        /// The skill's folder.
        path: PathBuf,
    },
    /// The folders of the skill are nested too deeply.
    #[error("the folders of `{}` are nested more than {MAX_DEPTH} levels deep", path.display())]
    TooDeep {
        /// The skill's folder.
        path: PathBuf,
    },
}

/// Lists the files of a skill, sorted by path. Devices, FIFOs and sockets are skipped.
pub fn files(folder: &Path) -> Result<Vec<FileFacts>, DigestError> {
    open(folder)?.files()
}

fn open(folder: &Path) -> Result<SkillFolder, DigestError> {
    SkillFolder::open(folder).map_err(|error| DigestError::Read {
        path: folder.to_owned(),
        source: match error {
            ResourceError::Read { source, .. } => source,
            error => std::io::Error::other(error.to_string()),
        },
    })
}

/// Returns `true` if an open folder contains a repository, which is not hashed.
pub(crate) fn has_left_out(folder: BorrowedFd<'_>) -> bool {
    let look = |path: &str| rustix::fs::statat(folder, path, AtFlags::SYMLINK_NOFOLLOW);
    let is_folder =
        |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    look(LEFT_OUT).is_ok_and(is_folder) && IN_REPOSITORY.iter().all(|path| look(path).is_ok())
}

/// Returns the repository in a skill's folder that is not hashed. `None` if there is none.
pub fn repository_of(folder: &Path) -> Option<PathBuf> {
    let opened = SkillFolder::open(folder).ok()?;
    has_left_out(opened.handle()).then(|| folder.join(LEFT_OUT))
}

impl SkillFolder {
    /// Lists the files of the skill, like [`files`].
    pub fn files(&self) -> Result<Vec<FileFacts>, DigestError> {
        self.files_within(MAX_FILES, MAX_BYTES)
    }

    /// Like [`SkillFolder::files`], with explicit limits on the number of files and bytes.
    pub fn files_within(&self, files: usize, bytes: u64) -> Result<Vec<FileFacts>, DigestError> {
        let mut lister = Lister {
            folder: self,
            found: Vec::new(),
            bytes_left: bytes,
            most: files,
        };
        // A descriptor of its own: the position in the folder is part of the descriptor.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let root = rustix::fs::openat(self.handle(), ".", flags, Mode::empty());
        let root = root.map_err(|error| DigestError::Read {
            path: self.path().to_owned(),
            source: error.into(),
        })?;
        lister.list(root.as_fd(), Path::new(""), 0)?;
        let mut found = lister.found;
        found.sort_by(|a, b| {
            a.path
                .as_os_str()
                .as_bytes()
                .cmp(b.path.as_os_str().as_bytes())
        });
        Ok(found)
    }
}

/// Lists a folder and the folders in it through their descriptors.
struct Lister<'f> {
    folder: &'f SkillFolder,
    found: Vec<FileFacts>,
    bytes_left: u64,
    most: usize,
}

impl Lister<'_> {
    fn list(
        &mut self,
        open: BorrowedFd<'_>,
        inner: &Path,
        depth: usize,
    ) -> Result<(), DigestError> {
        let failed = |path: &Path, error: Errno| DigestError::Read {
            path: self.folder.path().join(path),
            source: error.into(),
        };
        let mut folders = Vec::new();
        let mut names = Vec::new();
        entries::for_each(open, &mut |entry| {
            let name = entry.name.to_bytes();
            match entry.file_type {
                FileType::Directory => folders.push(name.to_vec()),
                _ => names.push(name.to_vec()),
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| failed(inner, error))?;
        let to_path = |name: Vec<u8>| inner.join(std::ffi::OsString::from_vec(name));
        for name in names {
            let stat = rustix::fs::statat(open, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
            let path = to_path(name);
            let stat = stat.map_err(|error| DigestError::Read {
                path: self.folder.path().join(&path),
                source: error.into(),
            })?;
            let kind = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => FactKind::Link,
                // The type was unknown.
                FileType::Directory => {
                    folders.extend(path.file_name().map(|name| name.as_bytes().to_vec()));
                    continue;
                }
                FileType::RegularFile if stat.st_mode & 0o111 != 0 => FactKind::Executable,
                FileType::RegularFile => FactKind::File,
                _ => continue,
            };
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            self.found.push(FileFacts { path, size, kind });
            let left = self.bytes_left.checked_sub(size);
            match left.filter(|_| self.found.len() <= self.most) {
                Some(left) => self.bytes_left = left,
                None => {
                    return Err(DigestError::TooLarge {
                        path: self.folder.path().to_owned(),
                    });
                }
            }
        }
        for name in folders {
            if depth == 0 && name == LEFT_OUT.as_bytes() && has_left_out(open) {
                continue;
            }
            if depth >= MAX_DEPTH {
                return Err(DigestError::TooDeep {
                    path: self.folder.path().to_owned(),
                });
            }
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            let opened = rustix::fs::openat(open, name.as_slice(), flags, Mode::empty());
            let path = to_path(name);
            let opened = opened.map_err(|error| DigestError::Read {
                path: self.folder.path().join(&path),
                source: error.into(),
            })?;
            self.list(opened.as_fd(), &path, depth + 1)?;
        }
        Ok(())
    }
}

/// Returns the digest of a skill: `sha256:` and 64 hexadecimal digits.
///
/// SHA-256 over, for each file sorted by path: the length of the path, the path, one byte for the
/// type (0 file, 1 executable, 2 link), the length of the content, the content. Lengths are eight
/// bytes, little endian, so that different sets of files never give the same input. For a SKILL.md
/// that is a link, its text follows in the same way, preceded by a 3, because it is what a model
/// reads. For a link that leaves the folder, the targets of the further links follow
/// (4), and the content of the file at the end (5), or 6 if there is no such file.
pub fn digest(folder: &Path, files: &[FileFacts]) -> Result<String, DigestError> {
    let (digest, _) = open(folder)?.digest_and_text(files, Path::new(""))?;
    Ok(digest)
}

impl SkillFolder {
    /// Returns the digest of listed files, and the content of the file `main`: exactly the bytes
    /// that were hashed. The content is `None` if the file does not exist or is larger than the
    /// maximum text size.
    pub fn digest_and_text(
        &self,
        files: &[FileFacts],
        main: &Path,
    ) -> Result<(String, Option<Vec<u8>>), DigestError> {
        self.digest_and_text_within(files, main, MAX_BYTES)
    }

    /// Like [`SkillFolder::digest_and_text`], with an explicit limit on the number of bytes, which
    /// includes the files outside the folder that links lead to.
    pub fn digest_and_text_within(
        &self,
        files: &[FileFacts],
        main: &Path,
        bytes: u64,
    ) -> Result<(String, Option<Vec<u8>>), DigestError> {
        let too_large = || DigestError::TooLarge {
            path: self.path().to_owned(),
        };
        let listed = files
            .iter()
            .map(|file| file.size)
            .fold(0, u64::saturating_add);
        let mut left = bytes.checked_sub(listed).ok_or_else(too_large)?;
        #[cfg(feature = "counters")]
        crate::counters::hashed();
        let mut hasher = Sha256::new();
        let largest = files.iter().map(|file| file.size).max().unwrap_or(0);
        let mut buffer = vec![
            0;
            usize::try_from(largest)
                .unwrap_or(usize::MAX)
                .clamp(1, 64 * 1024)
        ];
        let mut text = None;
        for file in files {
            let failed = |source| DigestError::Read {
                path: self.path().join(&file.path),
                source,
            };
            let name = file.path.as_os_str().as_bytes();
            hasher.update((name.len() as u64).to_le_bytes());
            hasher.update(name);
            if file.kind == FactKind::Link {
                let target = self.link_target(&file.path);
                let target = target.map_err(|error| failed(error.into()))?;
                hasher.update([2]);
                hasher.update((target.len() as u64).to_le_bytes());
                hasher.update(&target);
                if SKILL_FILES
                    .iter()
                    .any(|name| file.path.as_os_str() == *name)
                    && let Some(linked) = self.linked_text(&file.path).map_err(failed)?
                {
                    hasher.update([3]);
                    hasher.update((linked.len() as u64).to_le_bytes());
                    hasher.update(&linked);
                    left = left
                        .checked_sub(linked.len() as u64)
                        .ok_or_else(too_large)?;
                    let is_wanted = file.path == main && linked.len() as u64 <= MAX_TEXT;
                    text = text.or(is_wanted.then_some(linked));
                }
                let route = self
                    .real_path()
                    .map(|folder| outside_route(&folder, &file.path));
                if let Some(route) = route.flatten()
                    && !route.hash(&mut hasher, &mut left)
                {
                    return Err(too_large());
                }
                continue;
            }
            hasher.update([u8::from(file.kind == FactKind::Executable)]);
            hasher.update(file.size.to_le_bytes());
            let mut kept = (file.path == main && file.size <= MAX_TEXT).then(Vec::new);
            // The file, or a folder around it, may have been replaced since it was listed.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let opened = nofollow::open_at(self.handle(), &file.path, flags);
            let opened = opened.map_err(|error| failed(error.into()))?;
            let mut content = std::fs::File::from(opened).take(file.size);
            let mut total = 0;
            loop {
                let count = content.read(&mut buffer).map_err(failed)?;
                if count == 0 {
                    break;
                }
                total += count as u64;
                hasher.update(&buffer[..count]);
                if let Some(kept) = &mut kept {
                    kept.extend_from_slice(&buffer[..count]);
                }
            }
            if total != file.size {
                return Err(failed(std::io::Error::other(
                    "the file changed while it was being read",
                )));
            }
            text = text.or(kept);
        }
        let digest = prowess_diag::hex(&hasher.finalize());
        Ok((format!("sha256:{digest}"), text))
    }

    /// Returns the target of a link below the folder.
    fn link_target(&self, path: &Path) -> Result<Vec<u8>, Errno> {
        let name = path.file_name().unwrap_or(OsStr::new(""));
        let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
        let parent: Option<OwnedFd> = parent
            .map(|path| nofollow::open_at(self.handle(), path, OFlags::RDONLY | OFlags::DIRECTORY))
            .transpose()?;
        let from = parent.as_ref().map_or(self.handle(), AsFd::as_fd);
        rustix::fs::readlinkat(from, name, Vec::new()).map(std::ffi::CString::into_bytes)
    }

    /// Reads the target of the text if it is a link to a regular file, up to the maximum text size.
    /// Fails if the target is outside of the folders in which a link may point.
    fn linked_text(&self, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Ok(opened) = rustix::fs::openat(self.handle(), path, flags, Mode::empty()) else {
            return Ok(None);
        };
        let file = std::fs::File::from(opened);
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        if !self.may_link_to(&file) {
            return Err(std::io::Error::other(
                "it is a link to a file outside the project",
            ));
        }
        let mut bytes = Vec::new();
        file.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn of(folder: &Path) -> String {
        digest(folder, &files(folder).unwrap()).unwrap()
    }

    #[test]
    fn every_change_affects_the_digest() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        std::fs::create_dir(root.join("a")).unwrap();
        std::fs::write(root.join("a/x"), "one").unwrap();
        let mut seen = vec![of(root)];
        let mut step = |change: &dyn Fn()| {
            change();
            let now = of(root);
            assert!(!seen.contains(&now));
            seen.push(now);
        };
        step(&|| std::fs::write(root.join("a/x"), "two").unwrap());
        step(&|| std::fs::write(root.join("a/y"), "").unwrap());
        step(&|| std::fs::rename(root.join("a/y"), root.join("a/z")).unwrap());
        step(&|| {
            std::fs::set_permissions(root.join("a/x"), PermissionsExt::from_mode(0o755)).unwrap();
        });
        step(&|| std::os::unix::fs::symlink("a/x", root.join("l")).unwrap());
    }

    #[test]
    fn only_a_repository_at_the_root_is_left_out() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        let count = || files(root).unwrap().len();
        let add = |path: &str| {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "x").unwrap();
        };
        add(".git/HEAD");
        add(".git/objects/x");
        add("a/.git/HEAD");
        add("a/.git/objects/x");
        add("a/.git/refs/x");
        add(".svn/x");
        assert_eq!(count(), 6);
        add(".git/refs/x");
        assert_eq!(count(), 4);
        // A link is a file.
        std::fs::rename(root.join(".git"), root.join(".svn/git")).unwrap();
        std::os::unix::fs::symlink(".svn/git", root.join(".git")).unwrap();
        assert_eq!(count(), 8);
    }

    #[test]
    fn depth_and_size_have_their_own_errors() {
        let world = tempfile::tempdir().unwrap();
        let at = |depth: usize| world.path().join("d/".repeat(depth));
        std::fs::create_dir_all(at(16)).unwrap();
        assert_eq!(files(world.path()).unwrap(), Vec::new());
        std::fs::create_dir_all(at(17)).unwrap();
        assert!(matches!(
            files(world.path()),
            Err(DigestError::TooDeep { .. })
        ));
        std::fs::write(world.path().join("a"), "xyz").unwrap();
        let folder = SkillFolder::open(world.path()).unwrap();
        for (files, bytes) in [(0, 9), (9, 2)] {
            let listed = folder.files_within(files, bytes);
            assert!(matches!(listed, Err(DigestError::TooLarge { .. })));
        }
    }

    #[test]
    fn links_are_listed_as_links() {
        let world = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", world.path().join("l")).unwrap();
        let files = files(world.path()).unwrap();
        assert_eq!((files[0].kind, files[0].size), (FactKind::Link, 11));
    }

    #[test]
    fn files_outside_count_towards_the_limit_of_bytes() {
        let world = tempfile::tempdir().unwrap();
        let skill = world.path().join("skill");
        std::fs::create_dir(&skill).unwrap();
        let large = std::fs::File::create(world.path().join("large")).unwrap();
        large.set_len(1024 * 1024).unwrap();
        for n in 0..4 {
            std::os::unix::fs::symlink("../large", skill.join(n.to_string())).unwrap();
        }
        let mut listed = files(&skill).unwrap();
        let folder = SkillFolder::open(&skill).unwrap();
        let hashed = |megabytes: u64, files: &[FileFacts]| {
            let limit = megabytes * 1024 * 1024 + 100;
            folder.digest_and_text_within(files, Path::new(""), limit)
        };
        assert!(hashed(4, &listed).is_ok());
        for (megabytes, links) in [(3, 4), (1, 2), (0, 1)] {
            let found = hashed(megabytes, &listed[..links]);
            assert!(matches!(found, Err(DigestError::TooLarge { .. })));
        }
        // The limit of every digest.
        listed[0].size = MAX_BYTES - 1024;
        let found = digest(&skill, &listed);
        assert!(matches!(found, Err(DigestError::TooLarge { .. })));
    }

    #[test]
    fn text_of_a_linked_skill_file_is_hashed() {
        let world = tempfile::tempdir().unwrap();
        let [skill, text] = ["skill", "text.md"].map(|name| world.path().join(name));
        std::fs::create_dir(&skill).unwrap();
        std::os::unix::fs::symlink("../text.md", skill.join("other.md")).unwrap();
        let digests = |content: &str| {
            std::fs::write(&text, content).unwrap();
            of(&skill)
        };
        // So is the content behind any other link that leads outside.
        assert_ne!(digests("one"), digests("two"));
        std::fs::remove_file(skill.join("other.md")).unwrap();
        std::os::unix::fs::symlink("../text.md", skill.join("SKILL.md")).unwrap();
        assert_ne!(digests("one"), digests("two"));
        let files = files(&skill).unwrap();
        let folder = SkillFolder::open(&skill).unwrap();
        let (_, found) = folder
            .digest_and_text(&files, Path::new("SKILL.md"))
            .unwrap();
        assert_eq!(found.as_deref(), Some(&b"two"[..]));
        // A broken link, or a link to a device, is hashed as a link only.
        for target in ["../gone.md", "/dev/zero"] {
            std::fs::remove_file(skill.join("SKILL.md")).unwrap();
            std::os::unix::fs::symlink(target, skill.join("SKILL.md")).unwrap();
            of(&skill);
        }
    }
}
