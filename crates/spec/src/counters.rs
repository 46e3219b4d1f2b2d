//! Counts expensive work, for tests that assert that it is done once.

use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Texts that were parsed by this process so far.
pub fn parsed() -> usize {
    COUNT.load(Ordering::SeqCst)
}

pub(crate) fn count() {
    COUNT.fetch_add(1, Ordering::SeqCst);
}
