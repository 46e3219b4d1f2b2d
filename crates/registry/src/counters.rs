//! Counts expensive work, for tests that assert that it is done once.

use std::sync::atomic::{AtomicUsize, Ordering};

static HASHED: AtomicUsize = AtomicUsize::new(0);

/// The work that this process did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Names that were resolved.
    pub resolved: usize,
    /// Skills that were hashed.
    pub hashed: usize,
    /// Texts that were parsed.
    pub parsed: usize,
}

/// Returns the work that this process did so far.
pub fn now() -> Counts {
    Counts {
        resolved: prowess_catalog::counters::resolved(),
        hashed: HASHED.load(Ordering::SeqCst),
        parsed: prowess_spec::counters::parsed(),
    }
}

impl Counts {
    /// Returns the work that was done since an earlier count.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            resolved: self.resolved - before.resolved,
            hashed: self.hashed - before.hashed,
            parsed: self.parsed - before.parsed,
        }
    }
}

pub(crate) fn hashed() {
    HASHED.fetch_add(1, Ordering::SeqCst);
}
