//! Decides the next step of a conversation between a model and its tools.
//!
//! A session is the fold of its [`Event`]s: [`Run::apply`] folds one event, and [`Run::next`]
//! returns the next step. The driver stores each event before it acts on it, so a session can be
//! killed at any point and resumed. This crate does no I/O, reads no clock and knows no provider;
//! to it, a skill is a text that compaction must keep.

#![warn(clippy::disallowed_methods, missing_docs)]

mod agent_profile;
mod compact;
mod event;
mod message;
mod request;
mod run;
mod text_question;
mod usage;

pub use agent_profile::{
    AgentCommand, AgentNotes, AgentProfile, AgentSource, OwnSkill, SpawnLimits, TeamMember,
};
pub use compact::{CompactPlan, digest, estimate};
pub use event::{
    ActiveSkill, ConversationLimits, DecidedBy, DecisionRecord, Ending, EndingKind, Event,
    FailureKind, HintResult, HintedSkill, ParentSession, Question, QuestionKind, RecordedAnswer,
    RecordedVerdict, RunLimits, SkillHint, SkillListing, StampedEvent, Started, VERSION,
};
pub use message::{
    Image, Message, MessagePart, MessageRole, Messages, ProviderData, ToolCall, ToolResult,
};
pub use request::{
    Delta, Effort, Reply, Request, RequestOptions, StopReason, ToolChoice, ToolDeclaration,
};
pub use run::{AskedQuestion, CallState, FoldError, OpenCall, QuestionAnswer, Run, RunStep};
pub use text_question::{AnswerFault, TextQuestion};
pub use usage::{RunBudget, RunLimit, Spent, TokenUsage};
