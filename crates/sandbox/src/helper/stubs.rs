//! Placeholders for protected paths that do not exist.
//!
//! A mount needs something to cover. So an empty file or folder is created where a protected path is
//! missing, covered read-only inside, and removed afterwards. Two runs can share one: each holds a
//! shared lock while it needs it, and the one that gets an exclusive lock removes it. Removing it
//! under another run would uncover the path there.

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::protocol::{self, Stub, StubKind};

/// These modes mark a placeholder, including one that a killed run left behind.
const FILE_MODE: u32 = 0o404;
pub(crate) const FOLDER_MODE: u32 = 0o505;

/// Placeholders in use.
#[derive(Default)]
pub(super) struct Held {
    stubs: Vec<(PathBuf, File)>,
    /// Paths that must not exist after the run.
    absent: Vec<PathBuf>,
    /// Paths that neither exist nor can be created by this user, and need no cover.
    impossible: Vec<PathBuf>,
}

/// Creates and locks the placeholders.
pub(super) fn hold(stubs: &[Stub]) -> io::Result<Held> {
    let mut held = Held::default();
    for stub in stubs {
        let path = protocol::path(&stub.path);
        if stub.kind == StubKind::Absent {
            // Another run may have created it meanwhile; then it is not this run's to remove.
            if path.symlink_metadata().is_err() {
                held.absent.push(path);
            }
            continue;
        }
        // A folder above may have been the placeholder of another run, which removes it at its end.
        let mut above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|&it| may_go(it))
            .collect();
        while let Some(folder) = above.pop() {
            held.add(folder, true)?;
        }
        held.add(&path, stub.kind == StubKind::Folder)?;
    }
    Ok(held)
}

/// Returns `true` if a folder is missing or is the placeholder of a run that may end.
fn may_go(folder: &Path) -> bool {
    match folder.symlink_metadata() {
        Ok(facts) => facts.is_dir() && facts.mode() & 0o7777 == FOLDER_MODE,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn hold_one(path: &Path, folder: bool) -> io::Result<Option<File>> {
    // Another run may remove it between two steps, once.
    for _ in 0..100 {
        let made = if folder {
            DirBuilder::new().mode(FOLDER_MODE).create(path)
        } else {
            let flags = OFlags::NOFOLLOW.bits().cast_signed();
            let file = File::options()
                .write(true)
                .create_new(true)
                .mode(FILE_MODE)
                .custom_flags(flags)
                .open(path);
            file.map(drop)
        };
        match made {
            Ok(()) => {
                // The mode above passed through the umask.
                let mode = if folder { FOLDER_MODE } else { FILE_MODE };
                let _ = std::fs::set_permissions(path, PermissionsExt::from_mode(mode));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Where the helper cannot create it, the command of the same user cannot either.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                return Ok(None);
            }
            // Neither could the folder that would contain it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = match File::options().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // It belongs to another user and is not readable; it exists, so it will be covered.
            Err(_) => return Ok(None),
        };
        flock(&file, FlockOperation::LockShared)?;
        if same(path, &file.metadata()?) {
            return Ok(Some(file));
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

impl Held {
    /// Creates and locks one placeholder, once: two locks of one run would block each other.
    fn add(&mut self, path: &Path, folder: bool) -> io::Result<()> {
        if self.stubs.iter().any(|(known, _)| known == path) {
            return Ok(());
        }
        match hold_one(path, folder)? {
            Some(file) => self.stubs.push((path.to_owned(), file)),
            None if path.symlink_metadata().is_err() => self.impossible.push(path.to_owned()),
            None => {}
        }
        Ok(())
    }

    /// Returns `true` if a path can be covered, because it exists or has a placeholder.
    pub(super) fn covers(&self, path: &Path) -> bool {
        !self.impossible.iter().any(|known| known == path)
    }

    /// Removes the placeholders, and what was created where nothing may be. Returns the latter.
    pub(super) fn release(mut self) -> Vec<PathBuf> {
        let mut removed = std::mem::take(&mut self.absent);
        // A folder of that name does nothing, and is not removed with all that is in it.
        removed.retain(|path| std::fs::remove_file(path).is_ok());
        removed
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Deepest first, so that a folder is empty when its turn comes.
        for (path, file) in self.stubs.iter().rev() {
            let Ok(facts) = file.metadata() else { continue };
            let alone = flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if !alone || !same(path, &facts) {
                continue;
            }
            if facts.is_dir() && facts.mode() & 0o7777 == FOLDER_MODE {
                let _ = std::fs::remove_dir(path);
            } else if facts.is_file() && facts.len() == 0 && facts.mode() & 0o7777 == FILE_MODE {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

fn same(path: &Path, facts: &Metadata) -> bool {
    path.symlink_metadata()
        .is_ok_and(|now| (now.dev(), now.ino()) == (facts.dev(), facts.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stub(path: &Path, folder: bool) -> Stub {
        let kind = if folder {
            StubKind::Folder
        } else {
            StubKind::File
        };
        Stub {
            path: protocol::bytes(path),
            kind,
        }
    }

    #[test]
    fn last_run_removes_the_placeholders() {
        let root = tempfile::tempdir().unwrap();
        let (file, folder) = (root.path().join("file"), root.path().join("folder"));
        let stubs = [stub(&file, false), stub(&folder, true)];
        let first = hold(&stubs).unwrap();
        assert!(file.is_file() && folder.is_dir());
        let second = hold(&stubs).unwrap();
        drop(first);
        assert!(
            file.is_file() && folder.is_dir(),
            "the second run still needs them"
        );
        drop(second);
        assert!(!file.exists() && !folder.exists());
    }

    #[test]
    fn folder_of_another_run_may_disappear() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        let inner = ["folder/a", "folder/b/c"].map(|path| root.path().join(path));
        let planned = [stub(&inner[0], false), stub(&inner[1], true)];
        // Before the second run begins.
        drop(hold(&[stub(&folder, true)]).unwrap());
        // Only root can write into a placeholder.
        let is_there = || !rustix::process::geteuid().is_root() || inner[0].is_file();
        let second = hold(&planned).unwrap();
        assert!(folder.is_dir() && is_there());
        drop(second);
        assert!(!folder.exists());
        // While it runs.
        let first = hold(&[stub(&folder, true)]).unwrap();
        let second = hold(&planned).unwrap();
        drop(first);
        assert!(folder.is_dir() && is_there());
        drop(second);
        assert!(!folder.exists(), "nothing is left behind");
    }

    #[test]
    fn files_of_a_person_stay() {
        let root = tempfile::tempdir().unwrap();
        let (theirs, filled) = (root.path().join("theirs"), root.path().join("filled"));
        std::fs::write(&theirs, "").unwrap();
        let held = hold(&[stub(&theirs, false), stub(&filled, false)]).unwrap();
        std::fs::set_permissions(&filled, PermissionsExt::from_mode(0o644)).unwrap();
        std::fs::write(&filled, "x").unwrap();
        drop(held);
        assert!(theirs.exists() && filled.exists());
    }
}
