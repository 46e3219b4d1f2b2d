//! Inspects paths on disk. A path that cannot be inspected does not count as absent.
//!
//! A command owns the files that it creates, so it can remove its own permissions for a folder and
//! restore them in the next run. A path that cannot be inspected cannot be protected, and the run is
//! refused.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use prowess_diag::wording;
use rustix::fs::Access;

use crate::bounded_read::bounded_read;

/// Longest name of a file in bytes.
const MAX_NAME: usize = 255;

/// The type of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Absent,
    File,
    /// An empty file: perhaps a placeholder of another run.
    Empty,
    Folder,
    Link,
    /// Below a folder of another user that neither this user nor a command can enter.
    Closed,
}

impl From<&Metadata> for Kind {
    fn from(facts: &Metadata) -> Self {
        if facts.is_symlink() {
            Self::Link
        } else if facts.is_dir() {
            Self::Folder
        } else if facts.len() == 0 {
            Self::Empty
        } else {
            Self::File
        }
    }
}

/// A path that cannot be inspected, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub(crate) path: PathBuf,
    pub(crate) why: Box<str>,
}

impl Unknown {
    pub(crate) fn new(path: impl Into<PathBuf>, why: impl Into<Box<str>>) -> Self {
        let (path, why) = (path.into(), why.into());
        Self { path, why }
    }

    fn denied(path: PathBuf, rights: &str) -> Self {
        let user = rustix::process::geteuid();
        let is_own = |facts: Metadata| facts.uid() == user.as_raw();
        let remedy = if user.is_root() || path.metadata().is_ok_and(is_own) {
            format!("run {}", chmod(rights, &path))
        } else {
            "it belongs to another user".to_owned()
        };
        let why =
            format!("permission denied, so what is to be protected there is not known; {remedy}");
        Self::new(path, why)
    }
}

/// Formats the command that gives the owner of a path more rights. The path may have a name that a
/// command chose.
pub(crate) fn chmod(rights: &str, path: &Path) -> String {
    wording::command(["chmod", rights, &*path.to_string_lossy()])
}

/// Returns `true` if the error says that a path does not exist.
///
/// A path with a part that is too long cannot exist. One that is too long as a whole can: git, which
/// starts in another folder, may reach it.
pub(crate) fn is_absent(path: &Path, error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => true,
        io::ErrorKind::InvalidFilename => path.iter().any(|part| part.len() > MAX_NAME),
        _ => false,
    }
}

/// Returns the type of a path, without following a link at its end.
pub(crate) fn kind(path: &Path) -> Result<Kind, Unknown> {
    match path.symlink_metadata() {
        Ok(facts) => Ok((&facts).into()),
        Err(error) if is_absent(path, &error) => Ok(Kind::Absent),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            // The folder that denies access is the last one that can be inspected.
            let mut above = path.ancestors().skip(1);
            let folder = above.find(|folder| folder.symlink_metadata().is_ok());
            let folder = folder.unwrap_or(Path::new("/"));
            if is_closed(folder) {
                Ok(Kind::Closed)
            } else {
                Err(Unknown::denied(folder.to_owned(), "u+rwx"))
            }
        }
        Err(error) => Err(Unknown::new(path, error.to_string())),
    }
}

/// Returns `true` unless the path is known to be absent or out of reach.
pub(crate) fn exists(path: &Path) -> bool {
    !matches!(kind(path), Ok(Kind::Absent | Kind::Closed))
}

/// Lists a folder. The list of an absent folder is empty, and so is that of a folder of another user
/// that cannot be entered.
pub(crate) fn entries(folder: &Path) -> Result<Vec<std::fs::DirEntry>, Unknown> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => match kind(folder)? {
            Kind::Closed => Ok(Vec::new()),
            _ if is_closed(folder) => Ok(Vec::new()),
            _ => Err(Unknown::denied(folder.to_owned(), "u+rwx")),
        },
        _ if is_absent(folder, &error) => Ok(Vec::new()),
        _ => Err(Unknown::new(folder, error.to_string())),
    };
    match std::fs::read_dir(folder).and_then(Iterator::collect) {
        Ok(entries) => Ok(entries),
        Err(error) => failed(error),
    }
}

/// Reads a file of at most `most` bytes. Returns `None` if it is absent, out of reach or not a
/// regular file.
pub(crate) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Unknown> {
    match bounded_read(path, most) {
        Ok(bytes) => Ok(Some(bytes)),
        // Git reads nothing from a FIFO or a socket either.
        Err(error) if is_absent(path, &error) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => match kind(path)? {
            Kind::Closed => Ok(None),
            _ => Err(Unknown::denied(path.to_owned(), "u+r")),
        },
        Err(error) => Err(Unknown::new(path, error.to_string())),
    }
}

/// A folder or file of a file system, and the place at which it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountEntry {
    /// The numbers of the device.
    pub(crate) device: Box<[u8]>,
    /// The path in the file system.
    pub(crate) root: PathBuf,
    /// The place.
    pub(crate) point: PathBuf,
}

/// Returns what is mounted, in the order of the kernel.
pub(crate) fn mounts() -> Vec<MountEntry> {
    mounts_in(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
}

fn mounts_in(text: &[u8]) -> Vec<MountEntry> {
    let path = |word: &[u8]| PathBuf::from(OsString::from_vec(unescaped(word)));
    let lines = text.split(|byte| *byte == b'\n');
    let mounts = lines.filter_map(|line| {
        // `36 35 98:0 /in/file/system /place rw,noatime …`
        let mut words = line.split(|byte| *byte == b' ').skip(2);
        Some(MountEntry {
            device: words.next()?.into(),
            root: path(words.next()?),
            point: path(words.next()?),
        })
    });
    mounts.collect()
}

/// Returns the device of a path without links, and its path in the file system.
pub(crate) fn in_file_system<'a>(
    path: &Path,
    mounts: &'a [MountEntry],
) -> Option<(&'a [u8], PathBuf)> {
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    // The last one of the innermost ones covers the others.
    let mount = around.max_by_key(|mount| mount.point.components().count())?;
    let inner = path.strip_prefix(&mount.point).ok()?;
    let place = if inner.as_os_str().is_empty() {
        mount.root.clone()
    } else {
        mount.root.join(inner)
    };
    Some((&mount.device, place))
}

/// Replaces the escapes of the kernel, such as `\040` for a blank.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    bytes
}

/// Returns `true` if a folder belongs to another user, who alone can open it.
pub(crate) fn is_closed(folder: &Path) -> bool {
    let user = rustix::process::geteuid();
    let is_foreign = |facts: Metadata| !user.is_root() && facts.uid() != user.as_raw();
    folder.metadata().is_ok_and(is_foreign) && rustix::fs::access(folder, Access::EXEC_OK).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_mount_points_are_read() {
        assert_eq!(unescaped(br"/a\040b\134c\9"), br"/a b\c\9");
        #[cfg(target_os = "linux")]
        assert!(
            mounts()
                .iter()
                .any(|mount| mount.point == Path::new("/proc"))
        );
    }

    #[test]
    fn paths_are_found_in_their_file_systems() {
        let mounts = mounts_in(
            b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
              2 1 8:1 /p/.git/hooks /p/h rw - ext4 /dev/sda1 rw\n\
              3 1 8:2 /data /p/my\\040data rw - ext4 /dev/sda2 rw\n\
              4 1 8:3 / /p/my\\040data rw - ext4 /dev/sda3 rw\n",
        );
        assert_eq!(mounts.len(), 4);
        for (path, device, place) in [
            ("/p/.git", "8:1", "/p/.git"),
            ("/p/h", "8:1", "/p/.git/hooks"),
            ("/p/h/x", "8:1", "/p/.git/hooks/x"),
            ("/p/hx", "8:1", "/p/hx"),
            ("/p/my data/x", "8:3", "/x"),
            ("/", "8:1", "/"),
        ] {
            let found = in_file_system(Path::new(path), &mounts);
            assert_eq!(found, Some((device.as_bytes(), place.into())), "{path}");
        }
    }
}
