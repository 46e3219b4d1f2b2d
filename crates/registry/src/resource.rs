//! Reads the files of a skill, and nothing outside.
//!
//! The kernel resolves a path below the open folder of the skill: no `..`, no link and no file that
//! is swapped meanwhile can lead outside. Checking a path first and then opening it would leave a
//! race.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use prowess_spec::{PathFault, ResourcePath};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

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

/// An open skill folder. Stays the same folder even if it is renamed.
#[derive(Debug)]
pub struct SkillFolder {
    handle: OwnedFd,
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
    /// Opens a skill's folder.
    pub fn open(folder: &Path) -> Result<Self, ResourceError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        match rustix::fs::open(folder, flags, Mode::empty()) {
            Ok(handle) => Ok(Self { handle }),
            Err(error) => Err(ResourceError::Read {
                path: folder.display().to_string(),
                source: error.into(),
            }),
        }
    }

    /// Reads `limit` bytes of a file starting at `offset`, at character boundaries.
    pub fn read(&self, raw: &str, offset: u64, limit: usize) -> Result<Resource, ResourceError> {
        let (path, file, size) = self.open_file(raw, MAX_RESOURCE)?;
        part(
            &|from, length| read_at(&file, from, length),
            size,
            offset,
            limit,
        )
        .map_err(|error| ResourceError::Read {
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

const OPEN_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

#[cfg(target_os = "linux")]
fn open_once(folder: std::os::fd::BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(folder, path, OPEN_FILE, Mode::empty(), resolve) {
        // The kernel is older than 5.6, or a sandbox blocks the system call.
        Err(Errno::NOSYS | Errno::PERM) => open_parts(folder, path),
        result => result,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_once(folder: std::os::fd::BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    open_parts(folder, path)
}

/// Opens a path component by component and rejects links, for systems that cannot resolve them
/// safely.
fn open_parts(folder: std::os::fd::BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    let parts: Vec<&OsStr> = path.split('/').map(OsStr::new).collect();
    nofollow::part_by_part(folder, &parts, OPEN_FILE, Mode::empty())
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
