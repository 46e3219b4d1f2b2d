//! Opens a path that was resolved before, and follows no link on the way.
//!
//! Whoever decided about a path decided about the file that it led to then. A link that somebody
//! puts into its way afterwards is an error, never another file.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The system asks to try again when folders move under it; a hostile mover must not keep us.
const MAX_TRIES: usize = 8;

/// Opens an absolute path without a link in it. `mode` counts for a file that is made.
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
        // A kernel before 5.6, or a sandbox that does not know the call.
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

/// Opens a path part by part below a folder, and follows no link at all.
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
    fn no_link_is_followed_either_way() {
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
