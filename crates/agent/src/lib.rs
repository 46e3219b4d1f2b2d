//! Decides the next step of a conversation between a model and its tools.
//!
//! A session is the fold of its [`Event`]s: [`Run::apply`] takes one, [`Run::next`] says what is to
//! be done. Whoever drives it writes each event down before acting on it, so that a session can be
//! killed at any point and taken up again. Nothing here waits, reads a clock or knows a provider; a
//! skill is a text that must survive.

#![warn(clippy::disallowed_methods, missing_docs)]

mod compact;
mod event;
mod message;
mod request;
mod run;
mod usage;

pub use compact::{CompactPlan, digest, estimate};
pub use event::{
    ActiveSkill, Decided, Ending, EndingKind, Event, FailureKind, Limits, Listed, Parent,
    RecordedAnswer, RecordedVerdict, Stamped, Started, VERSION,
};
pub use message::{Image, Message, Messages, Opaque, Part, Role, ToolCall, ToolResult};
pub use request::{Delta, Effort, Options, Reply, Request, Stop, ToolChoice, ToolDeclaration};
pub use run::{CallState, FoldError, Open, Run, Step};
pub use usage::{Budget, Limit, Spent, Usage};
