//! Handles that end runs from another thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::FdFlags;

/// Ends every run that was started with it. Clones are the same handle.
///
/// It is a pipe: one byte is written and never read, so every run that polls it wakes up.
#[derive(Clone, Debug)]
pub struct Cancel {
    pipe: Arc<(OwnedFd, OwnedFd)>,
}

impl Cancel {
    /// Creates a handle.
    pub fn new() -> std::io::Result<Self> {
        let (read, write) = rustix::pipe::pipe()?;
        for end in [&read, &write] {
            rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok(Self {
            pipe: Arc::new((read, write)),
        })
    }

    /// Ends the runs. Calling it again has no effect.
    pub fn cancel(&self) {
        // A full pipe is readable as well.
        let _ = rustix::io::write(&self.pipe.1, b"x");
    }

    /// Returns a descriptor that becomes readable on cancellation.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.pipe.0.as_fd()
    }
}

/// Ends the current runs of a runner. Runs that are started later are not affected. Clones are the
/// same handle.
#[derive(Clone, Debug)]
pub struct Stop {
    current: Arc<Mutex<Cancel>>,
}

impl Stop {
    /// Creates a handle.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            current: Arc::new(Mutex::new(Cancel::new()?)),
        })
    }

    /// Ends the current runs.
    pub fn stop(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.cancel();
        // If no new pipe can be created, later runs end as well, which is safe.
        if let Ok(next) = Cancel::new() {
            *current = next;
        }
    }

    /// Returns the handle for a run that starts now.
    pub(crate) fn current(&self) -> Cancel {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
