//! Opens a resolved path without following links.
//!
//! A permission check applies to the file that a path resolved to at that time. A link placed in
//! the path afterwards is an error, and never leads to another file.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Maximum number of retries if the kernel reports a concurrent rename, which an attacker could
/// cause forever.
const MAX_TRIES: usize = 8;

/// Opens an absolute path that contains no links. `mode` applies to a created file.
pub fn open(path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let root = rustix::fs::open("/", FOLDER, Mode::empty())?;
    let parts: Vec<&OsStr> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(Ok(name)),
            Component::RootDir | Component::CurDir => None,
            Component::ParentDir | Component::Prefix(_) => Some(Err(Errno::INVAL)),
        })
        .collect::<Result<_, _>>()?;
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    if parts.is_empty() {
        return Ok(root);
    }
    let mut tries = 0;
    loop {
        match at_once(root.as_fd(), &parts, flags, mode) {
            Err(Errno::AGAIN) if tries < MAX_TRIES => tries += 1,
            result => return result,
        }
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::DIRECTORY);

#[cfg(target_os = "linux")]
fn at_once(
    root: BorrowedFd<'_>,
    parts: &[&OsStr],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let path: std::path::PathBuf = parts.iter().collect();
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(root, &path, flags | OFlags::CLOEXEC, mode, resolve) {
        // The kernel is older than 5.6, or a sandbox blocks the system call.
        Err(Errno::NOSYS | Errno::PERM) => part_by_part(root, parts, flags, mode),
        result => result,
    }
}

#[cfg(not(target_os = "linux"))]
fn at_once(
    root: BorrowedFd<'_>,
    parts: &[&OsStr],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    part_by_part(root, parts, flags, mode)
}

/// Opens a relative path below an open folder. No component may be a link or `..`.
pub fn open_at(folder: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        match rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM) => {}
            result => return result,
        }
    }
    let parts: Vec<&OsStr> = path
        .components()
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(Errno::INVAL),
        })
        .collect::<Result<_, _>>()?;
    part_by_part(folder, &parts, flags, Mode::empty())
}

/// Opens a path below a folder component by component, without following links.
pub fn part_by_part(
    folder: BorrowedFd<'_>,
    parts: &[&OsStr],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let Some((last, before)) = parts.split_last() else {
        return Err(Errno::NOENT);
    };
    let mut current: Option<OwnedFd> = None;
    for part in before {
        let from = current.as_ref().map_or(folder, AsFd::as_fd);
        current = Some(rustix::fs::openat(
            from,
            *part,
            FOLDER | OFlags::NOFOLLOW,
            Mode::empty(),
        )?);
    }
    let from = current.as_ref().map_or(folder, AsFd::as_fd);
    rustix::fs::openat(
        from,
        *last,
        flags | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        mode,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed_by_either_method() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "x").unwrap();
        std::os::unix::fs::symlink("real", root.join("folder")).unwrap();
        std::os::unix::fs::symlink("real/file", root.join("link")).unwrap();
        let slash = rustix::fs::open("/", FOLDER, Mode::empty()).unwrap();
        let cases = [("real/file", true), ("folder/file", false), ("link", false)];
        for (path, fine) in cases {
            let path = root.join(path);
            assert_eq!(
                open(&path, OFlags::RDONLY, Mode::empty()).is_ok(),
                fine,
                "{path:?}"
            );
            let parts: Vec<&OsStr> = path.iter().skip(1).collect();
            let slow = part_by_part(slash.as_fd(), &parts, OFlags::RDONLY, Mode::empty());
            assert_eq!(slow.is_ok(), fine, "{path:?}");
        }
        for path in ["relative", "/a/../b"] {
            assert!(open(Path::new(path), OFlags::RDONLY, Mode::empty()).is_err());
        }
        assert!(open(Path::new("/"), OFlags::RDONLY, Mode::empty()).is_ok());
    }
}
