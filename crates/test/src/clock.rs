//! A clock that stands still.

use std::sync::atomic::{AtomicI64, Ordering};

use prowess_traits::Clock;

/// Tells the time that a test sets.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Makes a clock that stands at this time.
    pub fn at(now: i64) -> Self {
        Self(AtomicI64::new(now))
    }

    /// Sets the time.
    pub fn set(&self, now: i64) {
        self.0.store(now, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
