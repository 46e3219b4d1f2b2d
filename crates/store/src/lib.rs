//! Remembers which skills were used, by whom and how it ended, and what happened in sessions.
//!
//! [`SqliteUsage`] keeps it in a file, [`MemoryUsage`] in memory; both pass the same suite
//! (`crates/test/src/conformance/usage.rs`). [`Tolerant`] wraps either, so that using a skill never
//! fails because remembering it does.
//!
//! [`SqliteSessions`] and [`MemorySessions`] keep sessions
//! (`crates/test/src/conformance/sessions.rs`); a file may hold both.

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
pub use sessions::{PATIENCE, SqliteSessions};
#[cfg(feature = "sqlite")]
pub use sqlite::{BUSY_TIMEOUT, SqliteUsage};
pub use tolerant::{PAUSE, Tolerant, Trouble};
