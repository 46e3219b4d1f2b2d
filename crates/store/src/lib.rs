//! Remembers which skills were used, by whom and how it ended.
//!
//! [`SqliteUsage`] keeps it in a file, [`MemoryUsage`] in memory; both pass the same suite
//! (`crates/test/src/conformance/usage.rs`). [`Tolerant`] wraps either, so that using a skill never
//! fails because remembering it does.

mod clock;
mod database;
mod memory;
mod sql;
mod sqlite;
mod tolerant;

pub use clock::SystemClock;
pub use memory::MemoryUsage;
pub use sqlite::{BUSY_TIMEOUT, SqliteUsage};
pub use tolerant::{PAUSE, Tolerant, Trouble};
