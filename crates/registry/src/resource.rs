//! Reads the files of a skill, and nothing outside.
//!
//! The kernel resolves a path below the open folder of the skill: no `..`, no link and no file that
//! is swapped meanwhile can lead outside. Checking a path first and then opening it would leave a
//! race.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use prowess_spec::{PathFault, ResourcePath};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::digest;
use crate::media_type::{SAMPLE, binary_kind};
use crate::nofollow;

/// Maximum size of a file, in bytes.
pub const MAX_RESOURCE: u64 = 10 * 1024 * 1024;
/// Default number of bytes per read.
pub const USUAL_LIMIT: usize = 64 * 1024;
/// Maximum number of bytes per read.
pub const MAX_LIMIT: usize = 1024 * 1024;
/// Maximum number of retries if the kernel reports a concurrent rename, which an attacker could
/// cause forever.
const MAX_TRIES: usize = 8;

/// An open skill folder. Stays the same folder even if it is renamed or replaced.
#[derive(Debug)]
pub struct SkillFolder {
    handle: OwnedFd,
    /// Its path, for messages.
    path: PathBuf,
    /// The folder that a link of the text may point into, besides the skill's own. `None` allows any
    /// target.
    links_within: Option<PathBuf>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Text.
    Text {
        /// The text, starting at `offset`.
        text: String,
        /// Start in bytes; moved back to the start of a character.
        offset: u64,
        /// Size of the whole file.
        size: u64,
        /// Offset to continue at; `None` at the end.
        next: Option<u64>,
    },
    /// Something else.
    Binary {
        /// Type, by its first bytes.
        kind: &'static str,
        /// Size of the file.
        size: u64,
    },
}

/// Error from reading a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// The path is not a valid path inside the skill.
    #[error("`{path}` is not a path inside the skill")]
    Path {
        /// The requested path.
        path: String,
        /// The error.
        fault: PathFault,
    },
    /// The file does not exist.
    #[error("the skill has no file `{path}`")]
    Missing {
        /// The requested path.
        path: String,
    },
    /// The path leads out of the skill through a link.
    #[error("`{path}` links to a file outside the skill")]
    Outside {
        /// The requested path.
        path: String,
    },
    /// The path is in the skill's repository, which is not part of the skill.
    #[error("`{path}` is in the `.git` folder of the skill, which trust does not cover")]
    NotCovered {
        /// The requested path.
        path: String,
    },
    /// The folder of the skill was replaced by a link, or by another folder, since it was found.
    #[error("the folder `{path}` was replaced; its skill must be found again")]
    Replaced {
        /// The folder.
        path: String,
    },
    /// The path is a folder, a device, a FIFO or a socket.
    #[error("`{path}` is {kind}, not a file")]
    NotAFile {
        /// The requested path.
        path: String,
        /// Type of the path.
        kind: &'static str,
    },
    /// The file is too large.
    #[error("`{path}` is too large to read ({size} bytes)")]
    TooLarge {
        /// The requested path.
        path: String,
        /// Size of the file.
        size: u64,
    },
    /// Reading failed.
    #[error("cannot read `{path}`")]
    Read {
        /// The requested path.
        path: String,
        /// The I/O error.
        source: std::io::Error,
    },
}

impl SkillFolder {
    /// Opens the folder at a path, following links.
    pub fn open(folder: &Path) -> Result<Self, ResourceError> {
        match rustix::fs::open(folder, OPEN_FOLDER, Mode::empty()) {
            Ok(handle) => Ok(Self::new(handle, folder)),
            Err(error) => Err(ResourceError::Read {
                path: folder.display().to_string(),
                source: error.into(),
            }),
        }
    }

    /// Opens the folder at a real path. A link in the path is an error: it was put there since the
    /// path was resolved.
    pub fn open_real(real: &Path, shown: &Path) -> Result<Self, ResourceError> {
        match nofollow::open(real, OPEN_FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(handle) => Ok(Self::new(handle, shown)),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(Self::replaced(shown)),
            Err(error) => Err(ResourceError::Read {
                path: shown.display().to_string(),
                source: error.into(),
            }),
        }
    }

    /// Opens the folder `inner` below `link`, which must lead to the folder with this device and
    /// inode.
    pub(crate) fn open_linked(
        link: &Path,
        (device, inode): (u64, u64),
        inner: &Path,
        shown: &Path,
    ) -> Result<Self, ResourceError> {
        let read = |error: Errno| ResourceError::Read {
            path: shown.display().to_string(),
            source: error.into(),
        };
        let handle = rustix::fs::open(link, OPEN_FOLDER, Mode::empty()).map_err(read)?;
        let stat = rustix::fs::fstat(&handle).map_err(read)?;
        if (stat.st_dev, stat.st_ino) != (device, inode) {
            return Err(Self::replaced(shown));
        }
        if inner.as_os_str().is_empty() {
            return Ok(Self::new(handle, shown));
        }
        match nofollow::open_at(handle.as_fd(), inner, OPEN_FOLDER | OFlags::NOFOLLOW) {
            Ok(handle) => Ok(Self::new(handle, shown)),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(Self::replaced(shown)),
            Err(error) => Err(read(error)),
        }
    }

    fn new(handle: OwnedFd, path: &Path) -> Self {
        Self {
            handle,
            path: path.to_owned(),
            links_within: None,
        }
    }

    fn replaced(path: &Path) -> ResourceError {
        ResourceError::Replaced {
            path: path.display().to_string(),
        }
    }

    /// Limits the targets of a text that is a link to a folder and the skill's own.
    #[must_use]
    pub(crate) fn with_links_within(mut self, folder: Option<PathBuf>) -> Self {
        self.links_within = folder;
        self
    }

    /// Returns the descriptor of the folder.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Returns the path of the folder, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the folder without links.
    pub(crate) fn real_path(&self) -> Option<PathBuf> {
        real_path(self.handle()).or_else(|| std::fs::canonicalize(&self.path).ok())
    }

    /// Returns `true` if the text of the skill may be a link to this open file.
    pub(crate) fn may_link_to(&self, file: &impl AsFd) -> bool {
        let Some(within) = &self.links_within else {
            return true;
        };
        real_path(file.as_fd()).is_some_and(|real| {
            real.starts_with(within)
                || real_path(self.handle()).is_some_and(|folder| real.starts_with(folder))
        })
    }

    /// Returns `true` if an open file is in the repository of the skill.
    fn is_left_out(&self, path: &str, file: &OwnedFd) -> bool {
        if !digest::has_left_out(self.handle()) {
            return false;
        }
        let first = path.split('/').next().unwrap_or_default();
        match (real_path(self.handle()), real_path(file.as_fd())) {
            (Some(folder), Some(real)) => real.starts_with(folder.join(digest::LEFT_OUT)),
            // Without the real path, links were not followed.
            _ => first.eq_ignore_ascii_case(digest::LEFT_OUT),
        }
    }

    /// Reads `limit` bytes of a file starting at `offset`, at character boundaries.
    pub fn read(&self, raw: &str, offset: u64, limit: usize) -> Result<Resource, ResourceError> {
        let (path, file, size) = self.open_file(raw, MAX_RESOURCE)?;
        read_part(&file, size, offset, limit).map_err(|error| ResourceError::Read {
            path,
            source: error.into(),
        })
    }

    /// Reads a whole file of at most `most` bytes.
    pub fn bytes(&self, raw: &str, most: u64) -> Result<Vec<u8>, ResourceError> {
        let (path, file, size) = self.open_file(raw, most)?;
        // Read one byte more to detect a growing file.
        let length = usize::try_from(size)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        let failed = |source| ResourceError::Read {
            path: path.clone(),
            source,
        };
        let bytes = read_at(&file, 0, length).map_err(|error| failed(error.into()))?;
        if bytes.len() as u64 != size {
            return Err(failed(std::io::Error::other(
                "the file changed while it was being read",
            )));
        }
        Ok(bytes)
    }

    /// Reads the first bytes of a file, at most `most`.
    pub(crate) fn beginning(&self, raw: &str, most: usize) -> Result<Vec<u8>, ResourceError> {
        let (path, file, _) = self.open_file(raw, u64::MAX)?;
        read_at(&file, 0, most).map_err(|error| ResourceError::Read {
            path,
            source: error.into(),
        })
    }

    /// Returns the size of a file.
    pub fn size(&self, raw: &str) -> Result<u64, ResourceError> {
        self.open_file(raw, u64::MAX).map(|(_, _, size)| size)
    }

    /// Opens a regular file, and returns its size.
    fn open_file(&self, raw: &str, most: u64) -> Result<(String, OwnedFd, u64), ResourceError> {
        let path = ResourcePath::new(raw).map_err(|fault| ResourceError::Path {
            path: raw.to_owned(),
            fault,
        })?;
        let path = path.as_str();
        let failed = |error: Errno| ResourceError::Read {
            path: path.to_owned(),
            source: error.into(),
        };
        let file = self.open_beneath(path)?;
        if self.is_left_out(path, &file) {
            return Err(ResourceError::NotCovered {
                path: path.to_owned(),
            });
        }
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(ResourceError::NotAFile {
                path: path.to_owned(),
                kind: crate::fs::read::describe_kind(kind),
            });
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > most {
            return Err(ResourceError::TooLarge {
                path: path.to_owned(),
                size,
            });
        }
        Ok((path.to_owned(), file, size))
    }

    /// Opens a path that the kernel resolves below the folder, including links.
    fn open_beneath(&self, path: &str) -> Result<OwnedFd, ResourceError> {
        let mut tries = 0;
        loop {
            let error = match open_once(self.handle.as_fd(), path) {
                Ok(file) => return Ok(file),
                Err(error) => error,
            };
            tries += 1;
            return Err(match error {
                Errno::AGAIN if tries < MAX_TRIES => continue,
                Errno::NOENT | Errno::NOTDIR => ResourceError::Missing {
                    path: path.to_owned(),
                },
                Errno::XDEV | Errno::LOOP => ResourceError::Outside {
                    path: path.to_owned(),
                },
                Errno::NXIO => ResourceError::NotAFile {
                    path: path.to_owned(),
                    kind: "a socket",
                },
                error => ResourceError::Read {
                    path: path.to_owned(),
                    source: error.into(),
                },
            });
        }
    }
}

const OPEN_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::DIRECTORY);
const OPEN_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

#[cfg(target_os = "linux")]
fn open_once(folder: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(folder, path, OPEN_FILE, Mode::empty(), resolve) {
        // The kernel is older than 5.6, or a sandbox blocks the system call.
        Err(Errno::NOSYS | Errno::PERM) => open_parts(folder, path),
        result => result,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_once(folder: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    open_parts(folder, path)
}

/// Opens a path component by component and rejects links, for systems that cannot resolve them
/// safely.
fn open_parts(folder: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    let parts: Vec<&OsStr> = path.split('/').map(OsStr::new).collect();
    nofollow::part_by_part(folder, &parts, OPEN_FILE, Mode::empty())
}

/// Returns the current path of an open file. `None` where the system does not tell.
#[cfg(target_os = "linux")]
fn real_path(file: BorrowedFd<'_>) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Returns the current path of an open file. `None` where the system does not tell.
#[cfg(not(target_os = "linux"))]
fn real_path(file: BorrowedFd<'_>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file).ok()?;
    Some(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

/// Reads up to `length` bytes at an offset; fewer only at the end of the file.
pub fn read_at(file: &OwnedFd, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let from = offset + bytes.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), from) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Returns a part of bytes in memory, like [`SkillFolder::read`].
pub fn page(bytes: &[u8], offset: u64, limit: usize) -> Resource {
    let read = |from: u64, length: usize| {
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
        Ok::<_, Infallible>(bytes[from..].iter().take(length).copied().collect())
    };
    let Ok(resource) = part(&read, bytes.len() as u64, offset, limit);
    resource
}

/// Returns a part of an open file of this size, like [`SkillFolder::read`].
pub fn read_part(file: &OwnedFd, size: u64, offset: u64, limit: usize) -> Result<Resource, Errno> {
    let read = |from, length| read_at(file, from, length);
    part(&read, size, offset, limit)
}

/// Reads a number of bytes at an offset.
type ReadAt<'r, E> = &'r dyn Fn(u64, usize) -> Result<Vec<u8>, E>;

fn part<E>(read: ReadAt<'_, E>, size: u64, offset: u64, limit: usize) -> Result<Resource, E> {
    if let Some(kind) = binary_kind(&read(0, SAMPLE)?) {
        return Ok(Resource::Binary { kind, size });
    }
    let (text, offset) = read_text(read, offset.min(size), limit.clamp(1, MAX_LIMIT))?;
    Ok(match text {
        Some(text) => {
            let end = offset + text.len() as u64;
            // An empty part before the end would make the caller loop forever.
            let next = (end < size && !text.is_empty()).then_some(end);
            Resource::Text {
                text,
                offset,
                size,
                next,
            }
        }
        None => Resource::Binary {
            kind: "text that is not UTF-8",
            size,
        },
    })
}

/// Reads text starting at the character at `offset`. Returns `None` if it is not UTF-8.
fn read_text<E>(
    read: ReadAt<'_, E>,
    offset: u64,
    limit: usize,
) -> Result<(Option<String>, u64), E> {
    // A character has at most four bytes: look back for its start, and ahead for its end.
    let back = offset.min(3);
    let mut bytes = read(
        offset - back,
        limit + usize::try_from(back).unwrap_or(0) + 3,
    )?;
    let is_start = |byte: &u8| byte & 0xc0 != 0x80;
    let at = usize::try_from(back).unwrap_or(0).min(bytes.len());
    let start = if bytes.get(at).is_none_or(is_start) {
        at
    } else {
        bytes[..at].iter().rposition(is_start).unwrap_or(at)
    };
    bytes.drain(..start);
    let begins = offset - back + start as u64;
    let mut end = limit.min(bytes.len());
    if end < bytes.len() {
        while end > 0 && !is_start(&bytes[end]) {
            end -= 1;
        }
        // A limit smaller than one character still returns that character.
        if end == 0 {
            end = bytes
                .iter()
                .skip(1)
                .position(is_start)
                .map_or(bytes.len(), |next| next + 1);
        }
    }
    bytes.truncate(end);
    Ok((String::from_utf8(bytes).ok(), begins))
}

/// Returns the folder of the skill at a path: the folder itself, or the parent of its SKILL.md.
pub fn folder_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fallback without `openat2` rejects links and reads files inside.
    #[test]
    fn fallback_rejects_links() {
        let world = tempfile::tempdir().unwrap();
        let skill = world.path().join("skill");
        std::fs::create_dir_all(skill.join("references")).unwrap();
        std::fs::write(skill.join("references/a.md"), "x").unwrap();
        std::fs::write(world.path().join("secret"), "SECRET").unwrap();
        let folder = SkillFolder::open(&skill).unwrap();
        std::os::unix::fs::symlink("references", skill.join("linked")).unwrap();
        std::os::unix::fs::symlink("../secret", skill.join("up")).unwrap();
        let open = |path: &str| open_parts(folder.handle.as_fd(), path).map(|_| ());
        assert_eq!(open("references/a.md"), Ok(()));
        for path in ["linked/a.md", "up"] {
            assert!(open(path).is_err(), "{path}");
        }
    }
}
