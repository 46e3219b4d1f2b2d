//! Stores the use of skills and the events of sessions.
//!
//! [`SqliteUsage`] stores the use of skills in a file, [`MemoryUsage`] in memory; both pass the
//! same conformance suite (`crates/test/src/conformance/usage.rs`). [`TolerantUsage`] wraps either, so
//! that a failing store never keeps a skill from being used.
//!
//! [`SqliteSessions`] and [`MemorySessions`] store sessions
//! (`crates/test/src/conformance/sessions.rs`). One file can hold both.
//!
//! [`MissionVariables`] stores the variables of missions, in a file of its own.

mod clock;
#[cfg(feature = "sqlite")]
mod database;
mod ids;
mod inbox;
#[cfg(feature = "sqlite")]
mod lease_holder;
mod memory_sessions;
mod memory_usage;
mod mission_variables;
#[cfg(feature = "sqlite")]
mod schema;
mod session_summary;
#[cfg(feature = "sqlite")]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite_sessions;
#[cfg(feature = "sqlite")]
mod sqlite_usage;
mod tolerant_usage;

pub use clock::SystemClock;
pub use memory_sessions::MemorySessions;
pub use memory_usage::MemoryUsage;
pub use mission_variables::{MAX_VARIABLE, MissionVariables, StoredVariable, VariableStoreError};
#[cfg(feature = "sqlite")]
pub use sqlite_sessions::{SESSION_BUSY_TIMEOUT, SqliteSessions};
#[cfg(feature = "sqlite")]
pub use sqlite_usage::{BUSY_TIMEOUT, SqliteUsage};
pub use tolerant_usage::{PAUSE, StoreTrouble, TolerantUsage};
