//! Two processes and one session.

pub(crate) const TESTS: crate::harness::Tests = crate::harness::tests! {};

pub(crate) fn is_other() -> bool {
    false
}

pub(crate) fn other() {}
