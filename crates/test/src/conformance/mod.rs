//! Conformance suites for implementations of the store traits.

pub mod sessions;
pub mod usage;
