//! Why a session could not go on.

use prowess_agent::FoldError;
use prowess_catalog::visibility::Refusal;
use prowess_tools::{ActivationError, SchemaFault};
use prowess_traits::{FindModelError, SessionError};

/// Why a session could not begin or go on. What a model or a tool does wrong is no such error: it is
/// how a run ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// It could not be written down, so it was not done.
    #[error(transparent)]
    Store(#[from] SessionError),
    /// What is written down makes no session.
    #[error("session `{session}` cannot be taken up again: {fault}")]
    Fold {
        /// The session.
        session: Box<str>,
        /// What is wrong.
        fault: FoldError,
    },
    /// A skill could not be used.
    #[error(transparent)]
    Skill(#[from] ActivationError),
    /// A person typed the name of a skill that is not there, or not for people.
    #[error(transparent)]
    NoSkill(Refusal),
    /// A message begins with a name that no skill has.
    #[error("no command or skill `/{name}`")]
    NoCommand {
        /// What was typed.
        name: Box<str>,
        /// Names that come near.
        near: Vec<Box<str>>,
    },
    /// A hook did not let a message through.
    #[error("a hook of a skill refused the message: {reason}")]
    Refused {
        /// What it said.
        reason: String,
    },
    /// The schema of the result is none.
    #[error(transparent)]
    Schema(#[from] SchemaFault),
    /// A model that was asked for by name is not there.
    #[error("no model `{name}`: {source}")]
    NoModel {
        /// Its name.
        name: Box<str>,
        /// The cause.
        source: FindModelError,
    },
    /// A service that every engine needs is missing.
    #[error("the engine has no {service}")]
    Missing {
        /// The service.
        service: &'static str,
    },
    /// A skill runs as an agent that nobody defined.
    #[error("{}", crate::agents::missing(skill, name, near.as_deref(), known))]
    NoAgent {
        /// The skill.
        skill: Box<str>,
        /// The agent.
        name: Box<str>,
        /// The agent that is nearly called so.
        near: Option<Box<str>>,
        /// The agents that there are.
        known: Vec<Box<str>>,
    },
    /// A skill runs as an agent from which it was taken away.
    #[error("the skill {skill} runs as the agent `{agent}`, which is denied that skill")]
    NotGiven {
        /// The skill.
        skill: Box<str>,
        /// The agent.
        agent: Box<str>,
    },
    /// A skill that runs on its own would start itself.
    #[error("the skill {skill} runs already and cannot start itself")]
    Recursive {
        /// The skill.
        skill: Box<str>,
    },
    /// An untrusted skill that runs on its own would start another skill.
    #[error("the skill {running} is not trusted, so it cannot start the skill {skill}")]
    Untrusted {
        /// The skill that runs.
        running: Box<str>,
        /// The skill that it would start.
        skill: Box<str>,
    },
    /// Sub-runs start sub-runs too deep.
    #[error("sub-runs are {depth} deep, and deeper is not allowed")]
    TooDeep {
        /// How deep.
        depth: u8,
    },
    /// A task of ours died. That is a fault of this program.
    #[error("a task ended unexpectedly: {0}")]
    Task(String),
}
