//! Keeps runs apart that may write in the same folder.
//!
//! The protected paths of a run are found before it starts. Another run that changes the index of git
//! meanwhile would add paths that the first one does not protect. So a run locks its writable folders,
//! and shares a lock on each folder around them: runs in nested folders wait for each other as well.
//! The kernel releases the locks with the process.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::cancel::Cancel;
use crate::error::ExecError;
use crate::outcome::Note;

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Locks on the writable folders of a run.
#[derive(Debug, Default)]
pub(crate) struct ProjectLock {
    held: Vec<File>,
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
        let mut lock = Self::default();
        // Every run locks in the order of the paths, so that no two wait for each other.
        for (folder, alone) in wanted {
            // A folder that cannot be opened is refused later if it is to be written.
            let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
            let Ok(file) = File::options().read(true).custom_flags(flags).open(folder) else {
                continue;
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
                        if left.is_zero() || pause(left.min(PAUSE), cancel) {
                            return Err(ExecError::Busy {
                                path: folder.to_owned(),
                                process: holder(&file),
                            });
                        }
                    }
                    Err(error) => {
                        let error = io::Error::from(error);
                        let why = format!("other runs are not kept out: {error}").into();
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

/// Returns a process that holds a lock on the file, if the system lists it.
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
    held.flatten()
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
        let lock = |folder: &PathBuf| {
            let folders = std::slice::from_ref(folder);
            ProjectLock::acquire(folders, Duration::ZERO, None)
        };
        for (first, second) in [(&outer, &inner), (&inner, &outer), (&inner, &inner)] {
            let held = lock(first).unwrap();
            let error = lock(second).unwrap_err();
            assert!(matches!(&error, ExecError::Busy { .. }), "{error}");
            let process = std::process::id().to_string();
            if cfg!(target_os = "linux") {
                assert!(error.to_string().contains(&process), "{error}");
            }
            assert!(lock(&other).is_ok());
            drop(held);
            assert!(lock(second).is_ok());
        }
    }
}
