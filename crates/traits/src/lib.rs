//! The traits that the outside implements.
//!
//! Traits and the plain values they speak in; no runtime, no file, no clock. The methods block:
//! whoever must not wait calls them on a thread that may.

#![warn(clippy::disallowed_methods, missing_docs)]

pub mod approve;
pub mod clock;
pub mod command;
pub mod fetch;
pub mod model;
pub mod sessions;
pub mod telemetry;
pub mod usage;
pub mod watch;

pub use approve::{Approver, Nobody, Noted, Question, Recorder};
pub use clock::Clock;
pub use command::{CommandRunner, Output, Ran, RunError, Stoppable};
pub use fetch::{FetchError, FetchLimits, Fetched, Fetcher};
pub use model::{
    BoxFuture, FindModelError, Model, ModelError, ModelErrorKind, ModelInfo, Models, OnDelta, Price,
};
pub use sessions::{Lease, MAX_EVENT, SessionError, SessionQuery, SessionStore, SessionSummary};
pub use usage::{
    Forget, SkillSummary, Summary, UsageError, UsageQuery, UsageRow, UsageStore, Use, Whose,
};
pub use watch::{Update, Watcher};
