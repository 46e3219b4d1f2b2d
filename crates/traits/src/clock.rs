//! Time.

use std::fmt::Debug;

/// A source of the current time.
pub trait Clock: Send + Sync + Debug {
    /// Returns nanoseconds since 1970.
    fn now(&self) -> i64;
}
