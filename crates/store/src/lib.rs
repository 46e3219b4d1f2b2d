//! Stores the use of skills and the events of sessions.
//!
//! [`SqliteUsage`] stores the use of skills in a file, [`MemoryUsage`] in memory; both pass the
//! same conformance suite (`crates/test/src/conformance/usage.rs`). [`TolerantUsage`] wraps either, so
//! that a failing store never keeps a skill from being used.
//!
//! [`SqliteSessions`] and [`MemorySessions`] store sessions
//! (`crates/test/src/conformance/sessions.rs`). One file can hold both.

mod clock;
#[cfg(feature = "sqlite")]
mod database;
#[cfg(feature = "sqlite")]
mod holder;
mod ids;
mod memory;
mod memory_sessions;
#[cfg(feature = "sqlite")]
mod sessions;
#[cfg(feature = "sqlite")]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tolerant;

pub use clock::SystemClock;
pub use memory::MemoryUsage;
pub use memory_sessions::MemorySessions;
#[cfg(feature = "sqlite")]
pub use sessions::{SESSION_BUSY_TIMEOUT, SqliteSessions};
#[cfg(feature = "sqlite")]
pub use sqlite::{BUSY_TIMEOUT, SqliteUsage};
pub use tolerant::{PAUSE, StoreTrouble, TolerantUsage};
