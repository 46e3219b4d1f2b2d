//! A handle with which a run is ended from outside.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::FdFlags;

/// Ends every run it was given to. Clones are the same handle.
///
/// A pipe stands behind it: one byte is written and never read, so that every run that waits for
/// it wakes up, now or later.
#[derive(Clone, Debug)]
pub struct Cancel {
    pipe: Arc<(OwnedFd, OwnedFd)>,
}

impl Cancel {
    /// A handle that nobody used yet.
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

    /// Ends the runs. Calling it twice does no harm.
    pub fn cancel(&self) {
        // A full pipe says the same as a written one.
        let _ = rustix::io::write(&self.pipe.1, b"x");
    }

    /// What becomes readable when somebody cancels.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.pipe.0.as_fd()
    }
}

/// Ends the runs of a whole runner, as often as needed: those that are under way end, those that are
/// started later do not. Clones are the same handle.
#[derive(Clone, Debug)]
pub struct Stop {
    current: Arc<Mutex<Cancel>>,
}

impl Stop {
    /// A handle that nobody used yet.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            current: Arc::new(Mutex::new(Cancel::new()?)),
        })
    }

    /// Ends the runs that are under way.
    pub fn stop(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.cancel();
        // Without a new pipe later runs end as well, which is the safer half.
        if let Ok(next) = Cancel::new() {
            *current = next;
        }
    }

    /// What ends a run that starts now.
    pub(crate) fn current(&self) -> Cancel {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
