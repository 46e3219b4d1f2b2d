//! Serialises runs that may write in the same folder.
//!
//! The protected paths of a run are found before it starts. Another run that changes the index of git
//! meanwhile would add paths that the first one does not protect. So a run locks its writable folders,
//! and shares a lock on each folder around them: runs in nested folders wait for each other as well.
//! A command that may read a folder could lock the folder itself. So what is locked is a file for each
//! folder, named by device and inode, in a folder that only this user can open and no command can see.
//! The helper has the locks as well, so that they are held until it ends, even if the host is killed.
//! The kernel releases them with the last of the two.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::cancel::Cancel;
use crate::error::ExecError;
use crate::on_disk::{self, Unknown};
use crate::outcome::Note;

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Folders in which the folder with locks can be, the best first.
const PLACES: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Returns the folder with the files that runs of this user lock, or `None` if none can be created.
pub(crate) fn lock_folder() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let name = format!("prowess-locks-{user}");
    let mut places = PLACES.iter().map(|place| Path::new(place).join(&name));
    places.find(|folder| {
        let _ = std::fs::DirBuilder::new().mode(0o700).create(folder);
        // Another user may have created it, or a link.
        folder.symlink_metadata().is_ok_and(|facts| {
            facts.is_dir() && facts.uid() == user && facts.mode() & 0o777 == 0o700
        })
    })
}

/// Opens the file that stands for a folder, or the folder itself if there is no place for the file.
fn open(folder: &Path, locks: Option<&Path>) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags.bits().cast_signed();
    let mut options = File::options();
    options.read(true).custom_flags(flags);
    let Some(locks) = locks else {
        return options.open(folder);
    };
    let facts = folder.symlink_metadata()?;
    let name = format!("{:x}-{:x}", facts.dev(), facts.ino());
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(locks.join(name))
}

/// Locks on the writable folders of a run.
#[derive(Debug, Default)]
pub(crate) struct ProjectLock {
    pub(crate) held: Vec<File>,
    /// Folders whose file system has no locks.
    pub(crate) notes: Vec<Note>,
}

impl ProjectLock {
    /// Waits until no other run may write in or around the folders, for a limited time.
    pub(crate) fn acquire(
        folders: &[PathBuf],
        wait: Duration,
        cancel: Option<&Cancel>,
    ) -> Result<Self, ExecError> {
        let mut wanted: BTreeMap<&Path, bool> = BTreeMap::new();
        for folder in folders {
            for around in folder.ancestors().skip(1) {
                wanted.entry(around).or_insert(false);
            }
            wanted.insert(folder, true);
        }
        let until = Instant::now() + wait;
        let locks = (!wanted.is_empty()).then(lock_folder).flatten();
        let mut lock = Self::default();
        // Every run locks in the order of the paths, so that no two wait for each other.
        for (folder, alone) in wanted {
            let file = match open(folder, locks.as_deref()) {
                Ok(file) => file,
                // Who cannot open a folder around cannot write in it either.
                Err(error) if !alone && error.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(error) => match on_disk::entries(folder) {
                    Ok(_) if on_disk::is_closed(folder) => continue,
                    Ok(_) => {
                        let why = format!("cannot lock it: {error}").into();
                        let path = folder.to_owned();
                        return Err(ExecError::Unprotectable { path, why });
                    }
                    Err(Unknown { path, why }) => {
                        return Err(ExecError::Unprotectable { path, why });
                    }
                },
            };
            let operation = if alone {
                FlockOperation::NonBlockingLockExclusive
            } else {
                FlockOperation::NonBlockingLockShared
            };
            loop {
                match flock(&file, operation) {
                    Ok(()) => break,
                    Err(Errno::INTR) => {}
                    Err(Errno::WOULDBLOCK) => {
                        let left = until.saturating_duration_since(Instant::now());
                        if pause(left.min(PAUSE), cancel) {
                            return Err(ExecError::Cancelled);
                        }
                        if left.is_zero() {
                            return Err(ExecError::Busy {
                                path: folder.to_owned(),
                                process: holder(&file),
                            });
                        }
                    }
                    Err(error) => {
                        let error = io::Error::from(error);
                        let why = format!(
                            "cannot lock it, so other runs may write at the same time: {error}"
                        )
                        .into();
                        let path = folder.to_owned();
                        lock.notes.push(Note::Unprotected { path, why });
                        break;
                    }
                }
            }
            lock.held.push(file);
        }
        Ok(lock)
    }
}

/// Waits. Returns `true` if the run was cancelled.
fn pause(time: Duration, cancel: Option<&Cancel>) -> bool {
    let mut fds: Vec<PollFd<'_>> = cancel
        .iter()
        .map(|cancel| PollFd::from_borrowed_fd(cancel.descriptor(), PollFlags::IN))
        .collect();
    let _ = poll(&mut fds, Timespec::try_from(time).ok().as_ref());
    fds.iter().any(|fd| !fd.revents().is_empty())
}

/// Returns a process that holds a lock on the file, if the system lists it and it still runs.
fn holder(file: &File) -> Option<u32> {
    let facts = file.metadata().ok()?;
    let device = facts.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let id = format!("{major:02x}:{minor:02x}:{}", facts.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 812 fe:01:1234 0 EOF`; one that waits has `->` in it.
    let held = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, at, ..] = words.as_slice() else {
            return None;
        };
        (*at == id).then(|| process.parse().ok())
    });
    // The helper of a host that was killed has the lock of the host.
    let runs = |process: &u32| Path::new("/proc").join(process.to_string()).exists();
    held.flatten().filter(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_folders_are_locked_by_one_run() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let [outer, inner, other] = ["a", "a/b/c", "d"].map(|path| root.join(path));
        for folder in [&inner, &other] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let lock = |folder: &PathBuf, wait: Duration| {
            let folders = std::slice::from_ref(folder);
            ProjectLock::acquire(folders, wait, None)
        };
        // A process that another test forks has the descriptor of a lock until it executes its program.
        let free = Duration::from_mins(1);
        for (first, second) in [(&outer, &inner), (&inner, &outer), (&inner, &inner)] {
            let held = lock(first, free).unwrap();
            let error = lock(second, Duration::ZERO).unwrap_err();
            assert!(matches!(&error, ExecError::Busy { .. }), "{error}");
            let process = std::process::id().to_string();
            if cfg!(target_os = "linux") {
                assert!(error.to_string().contains(&process), "{error}");
            }
            assert!(lock(&other, free).is_ok());
            drop(held);
            assert!(lock(second, free).is_ok());
        }
    }

    #[test]
    fn lock_on_the_folder_itself_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let folders = [root.path().canonicalize().unwrap()];
        let file = File::open(&folders[0]).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
        let lock = ProjectLock::acquire(&folders, Duration::ZERO, None).unwrap();
        assert!(!lock.held.is_empty() && lock.notes.is_empty());
        let mode = lock_folder().unwrap().metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn folder_that_cannot_be_locked_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let absent = root.path().canonicalize().unwrap().join("absent");
        let error = ProjectLock::acquire(&[absent], Duration::ZERO, None).unwrap_err();
        assert!(matches!(error, ExecError::Unprotectable { .. }), "{error}");
    }

    #[test]
    fn cancelled_run_does_not_wait_for_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let folders = [root.path().canonicalize().unwrap()];
        let _held = ProjectLock::acquire(&folders, Duration::ZERO, None).unwrap();
        let cancel = Cancel::new().unwrap();
        cancel.cancel();
        let wait = Duration::from_mins(10);
        let error = ProjectLock::acquire(&folders, wait, Some(&cancel)).unwrap_err();
        assert!(matches!(error, ExecError::Cancelled), "{error}");
    }
}
