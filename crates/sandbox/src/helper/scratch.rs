//! The scratch folder of a command that has no `/tmp` of its own.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::stubs::{open_folder, unused_name};
use crate::protocol::{self, Access, Identity, Report, Rule, Spec};

/// A folder that is removed after the run, unless something is mounted in it: a command without a
/// sandbox may have mounted files there that must not be removed.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Creates the scratch folder and passes it to the command.
    pub(super) fn create(spec: &mut Spec) -> io::Result<Option<Self>> {
        let Some(base) = &spec.scratch else {
            return Ok(None);
        };
        let base = protocol::path(base).canonicalize()?;
        let own = rustix::process::getpid().as_raw_nonzero();
        let mut made = Err(io::ErrorKind::AlreadyExists.into());
        for round in 0..1000 {
            let path = base.join(format!("prowess-{own}-{round}"));
            made = std::fs::DirBuilder::new()
                .mode(0o700)
                .create(&path)
                .map(|()| Self(path));
            if !matches!(&made, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        let made = made?;
        if let Some(Identity::Fixed(user, group)) = spec.identity {
            std::os::unix::fs::chown(&made.0, Some(user), Some(group))?;
        }
        let parameter = crate::seatbelt::SCRATCH.as_bytes();
        if let Some(word) = spec
            .words
            .iter_mut()
            .take(3)
            .find(|word| *word == parameter)
        {
            word.extend_from_slice(&protocol::bytes(&made.0));
        }
        spec.environment
            .push((b"TMPDIR".to_vec(), protocol::bytes(&made.0)));
        if let Some(landlock) = &mut spec.landlock {
            landlock.rules.push(Rule {
                path: protocol::bytes(&made.0),
                access: Access::Write,
            });
        }
        Ok(Some(made))
    }

    /// Removes the folder. Returns a report if it stays.
    pub(super) fn remove(mut self) -> Option<Report> {
        let path = std::mem::take(&mut self.0);
        let why = remove(&path).err()?.to_string().into();
        Some(Report::ScratchLeft(protocol::bytes(path), why))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            let _ = remove(&self.0);
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default();
    if cfg!(target_os = "linux") {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
        if mounts.contains(&*name.to_string_lossy()) {
            return Err(io::Error::other("something is mounted in it"));
        }
    }
    match path.symlink_metadata() {
        Ok(facts) if facts.is_dir() => remove_folder(path),
        // A command without Landlock can replace the folder.
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes a folder whatever the permissions and the depth of the folders in it. No link is followed.
/// Returns the first error, and removes what it can.
///
/// Every folder is moved to the top before it is emptied, so that only two are open at a time: the
/// command decides how deep they are.
fn remove_folder(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = open_folder(parent)?;
    let top = opened(&parent, name)?;
    let mut left = Left::default();
    let mut todo = left.empty(&top, None);
    while let Some(name) = todo.pop() {
        if let Some(folder) = left.note(opened(&top, &name)) {
            todo.extend(left.empty(&folder, Some(&top)));
            left.note(unlinkat(&top, &*name, AtFlags::REMOVEDIR));
        }
    }
    let removed = unlinkat(&parent, name, AtFlags::REMOVEDIR);
    match left.first {
        Some(error) if removed.is_err() => Err(error),
        _ => Ok(removed?),
    }
}

/// The first error while a folder is removed.
#[derive(Default)]
struct Left {
    first: Option<io::Error>,
}

impl Left {
    fn note<T>(&mut self, done: Result<T, impl Into<io::Error>>) -> Option<T> {
        match done {
            Ok(value) => Some(value),
            Err(error) => {
                self.first.get_or_insert_with(|| error.into());
                None
            }
        }
    }

    /// Removes all files in a folder, and moves its folders to the top, if it is not the top itself.
    /// Returns the names of these folders.
    fn empty(&mut self, folder: &OwnedFd, top: Option<&OwnedFd>) -> Vec<OsString> {
        let mut moved = Vec::new();
        for entry in self.note(Dir::read_from(folder)).into_iter().flatten() {
            let Some(entry) = self.note(entry) else {
                break;
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let facts = self.note(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW));
            let Some(facts) = facts else { continue };
            if FileType::from_raw_mode(facts.st_mode) != FileType::Directory {
                self.note(unlinkat(folder, name, AtFlags::empty()));
                continue;
            }
            let Some(top) = top else {
                moved.push(name.to_owned());
                continue;
            };
            // A folder that cannot be written cannot be moved either.
            self.note(opened(folder, name));
            let unused = OsString::from(unused_name("scratch"));
            let done = self.note(renameat(folder, name, top, &*unused));
            moved.extend(done.map(|()| unused));
        }
        moved
    }
}

/// Opens a folder, and gives its owner all permissions.
fn opened(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let all = Mode::RWXU;
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let folder = openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        ignore_foreign(rustix::fs::chmod(path, all))?;
    }
    #[cfg(not(target_os = "linux"))]
    ignore_foreign(rustix::fs::chmodat(
        parent,
        name,
        all,
        AtFlags::SYMLINK_NOFOLLOW,
    ))?;
    Ok(openat(parent, name, flags | OFlags::RDONLY, Mode::empty())?)
}

/// A folder of another user may be open anyway.
fn ignore_foreign(changed: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match changed {
        Err(Errno::PERM) => Ok(()),
        changed => changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn folders_without_permissions_and_deep_ones_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let scratch = base.join("scratch");
        let outside = base.join("outside");
        std::fs::create_dir_all(scratch.join("a/b")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        for file in [scratch.join("a/b/file"), outside.join("file")] {
            std::fs::write(file, "").unwrap();
        }
        std::os::unix::fs::symlink(&outside, scratch.join("a/link")).unwrap();
        let close = |path: &Path, mode| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        // More levels than a process may have open files, and than a path may be long.
        let mut folder = open_folder(&scratch).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&folder, "deep", Mode::RWXU).unwrap();
            let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
            folder = openat(&folder, "deep", flags, Mode::empty()).unwrap();
        }
        close(&scratch.join("a/b"), 0o000);
        close(&scratch.join("a"), 0o555);
        close(&scratch, 0o500);
        close(&outside, 0o555);
        remove_folder(&scratch).unwrap();
        assert!(!scratch.exists());
        assert!(outside.join("file").exists());
        let mode = outside.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o555);
    }
}
