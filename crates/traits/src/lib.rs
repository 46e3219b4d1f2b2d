//! The traits that adapters implement, and the values in their signatures.
//!
//! This crate does no I/O. Unless they return a future, the methods block; async callers run them on
//! a blocking thread.

#![warn(clippy::disallowed_methods, missing_docs)]

pub mod approve;
pub mod clock;
pub mod command;
pub mod fetch;
pub mod model;
pub mod offered;
pub mod private_addresses;
pub mod sessions;
pub mod telemetry;
pub mod usage;
pub mod watch;

pub use approve::{
    ApprovalReply, ApprovalRequest, Approver, DecisionRecorder, DenyAll, RecordError,
    RecordedDecision, TextReply, TextRequest,
};
pub use clock::Clock;
pub use command::{CommandError, CommandOutput, CommandResult, CommandRunner, Stoppable};
pub use fetch::{FetchError, FetchLimits, Fetched, Fetcher, WebMethod, WebRequest};
pub use model::{
    BoxFuture, FindModelError, Model, ModelError, ModelErrorKind, ModelInfo, Models, OnDelta, Price,
};
pub use offered::{OfferedFile, OfferedSkill, OfferedSkills, SkillServerError, SkillServers};
pub use private_addresses::{AddressClass, classify_address};
pub use sessions::{
    Answer, AnswerOutcome, Lease, MAX_EVENT, OpenQuestion, QuestionQuery, QuestionState,
    SessionError, SessionQuery, SessionStore, SessionSummary, StoredQuestion,
};
pub use usage::{
    AgentFilter, SkillUsageSummary, SkillUse, UsageError, UsageFilter, UsageQuery, UsageRow,
    UsageStore, UsageSummary,
};
pub use watch::{Update, Watcher};
