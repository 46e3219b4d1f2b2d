//! Counts expensive work, for tests that assert that it is done once.

use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Names that were resolved by this process so far.
pub fn resolved() -> usize {
    COUNT.load(Ordering::SeqCst)
}

pub(crate) fn count() {
    COUNT.fetch_add(1, Ordering::SeqCst);
}
