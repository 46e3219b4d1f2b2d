//! Points at which a test stops an operation: before every change on disk.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The effect of a fault point that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// The process is killed: no destructor runs.
    Kill,
    /// The change fails with this error.
    Fail(io::ErrorKind),
}

/// Counts the changes on disk of an operation, and stops it at one of them.
///
/// A program never stops: only [`FaultPoints::stopping`], which tests call, sets a point.
#[derive(Debug, Default)]
pub struct FaultPoints {
    count: AtomicU64,
    stop: Option<(u64, FaultEffect)>,
}

impl FaultPoints {
    /// For tests: stops at the point with this number, from 1.
    #[doc(hidden)]
    pub fn stopping(at: u64, effect: FaultEffect) -> Self {
        Self {
            count: AtomicU64::new(0),
            stop: Some((at, effect)),
        }
    }

    /// Returns the number of points that were reached.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Called before each change on disk.
    pub(crate) fn reach(&self) -> io::Result<()> {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        match self.stop {
            Some((at, FaultEffect::Kill)) if at == number => {
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
                Err(io::ErrorKind::Interrupted.into())
            }
            // A full disk stays full.
            Some((at, FaultEffect::Fail(kind))) if number >= at => Err(kind.into()),
            _ => Ok(()),
        }
    }
}
