pub(crate) const TESTS: crate::harness::Tests = crate::harness::tests! {};
