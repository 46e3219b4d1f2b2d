//! What time it is.

use std::fmt::Debug;

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    /// Returns nanoseconds since 1970.
    fn now(&self) -> i64;
}
