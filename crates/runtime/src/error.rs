//! The error type of this crate.

use prowess_agent::FoldError;
use prowess_catalog::visibility::LookupRefusal;
use prowess_policy::Decision;
use prowess_tools::{ActivationError, SchemaFault};
use prowess_traits::{FindModelError, SessionError};

/// An error that keeps a session from starting or continuing. Failures of a model or a tool are not
/// errors in this sense: they are recorded as the ending of the run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The store could not record an event, so the step was not carried out.
    #[error(transparent)]
    Store(#[from] SessionError),
    /// An earlier write was interrupted, so it is unknown what the record contains.
    #[error("a write to session `{session}` was interrupted; resume the session to continue")]
    Interrupted {
        /// The session.
        session: Box<str>,
    },
    /// The recorded events do not form a valid session.
    #[error("invalid event in session `{session}`: {fault}")]
    Fold {
        /// The session.
        session: Box<str>,
        /// The cause.
        fault: FoldError,
    },
    /// A skill could not be activated.
    #[error(transparent)]
    Skill(#[from] ActivationError),
    /// A sub-run cannot continue without the restrictions of a skill.
    #[error("skill `{name}`, whose restrictions apply to this run, was changed or removed")]
    RestrictionsLost {
        /// The skill.
        name: Box<str>,
    },
    /// The permissions deny a skill that a user invoked.
    #[error("skill `{skill}` was not used: {}", decision.explain())]
    Denied {
        /// The skill.
        skill: Box<str>,
        /// The decision, with the rule.
        decision: Box<Decision>,
    },
    /// The permissions deny an agent that a user started.
    #[error("agent {} was not started: {}", prowess_diag::wording::tick(agent), decision.explain())]
    AgentDenied {
        /// The agent.
        agent: Box<str>,
        /// The decision, with the rule.
        decision: Box<Decision>,
    },
    /// A user typed the name of a skill that does not exist or that users cannot invoke.
    #[error(transparent)]
    NoSkill(LookupRefusal),
    /// A message starts with `/name`, and no command or skill has that name.
    #[error("no command or skill named `/{name}`")]
    NoCommand {
        /// The name that was typed.
        name: Box<str>,
        /// Similar names.
        near: Vec<Box<str>>,
    },
    /// A hook blocked a message.
    #[error("a skill hook refused the message: {reason}")]
    Refused {
        /// The reason given by the hook.
        reason: String,
    },
    /// The caller cancelled the activation of a skill. Its commands were stopped.
    #[error("cancelled while skill `{skill}` was being loaded")]
    Cancelled {
        /// The skill.
        skill: Box<str>,
    },
    /// The schema of the result is invalid.
    #[error(transparent)]
    Schema(#[from] SchemaFault),
    /// A model that was requested by name is not available.
    #[error("no model `{name}`: {source}")]
    NoModel {
        /// The name of the model.
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
    /// A skill runs as an agent that is not defined.
    #[error("{}", crate::agents::missing(skill, name, near.as_deref(), known))]
    NoAgent {
        /// The skill.
        skill: Box<str>,
        /// The agent.
        name: Box<str>,
        /// The agent with the most similar name.
        near: Option<Box<str>>,
        /// The agents that are defined.
        known: Vec<Box<str>>,
    },
    /// A user or a program named an agent that is not defined.
    #[error("no agent named {}", prowess_diag::wording::tick(name))]
    UnknownAgent {
        /// The name.
        name: Box<str>,
        /// The agent with the most similar name.
        near: Option<Box<str>>,
    },
    /// The file of an agent is not trusted.
    #[error("agent {} is not trusted", prowess_diag::wording::tick(agent))]
    UntrustedAgent {
        /// The agent.
        agent: Box<str>,
        /// The file that defines it.
        path: std::path::PathBuf,
    },
    /// A skill runs as an agent that is denied that skill.
    #[error("skill `{skill}` runs as agent `{agent}`, which may not use that skill")]
    NotGiven {
        /// The skill.
        skill: Box<str>,
        /// The agent.
        agent: Box<str>,
    },
    /// A skill in a sub-run would start itself.
    #[error("skill `{skill}` is already running and cannot start itself")]
    Recursive {
        /// The skill.
        skill: Box<str>,
    },
    /// An untrusted skill in a sub-run would start another skill.
    #[error("skill `{running}` is not trusted, so it cannot start skill `{skill}`")]
    Untrusted {
        /// The running skill.
        running: Box<str>,
        /// The skill that it would have started.
        skill: Box<str>,
    },
    /// A mission cannot run.
    #[error("the mission cannot run: {}", faults.join("; "))]
    MissionFaults {
        /// The reasons.
        faults: Vec<String>,
    },
    /// The recorded events do not form a valid run of a mission.
    #[error("invalid run of a mission: {fault}")]
    Mission {
        /// The cause.
        fault: prowess_flow::mission::MissionFault,
    },
    /// An event of a mission cannot be read or written.
    #[error("invalid event of a mission: {reason}")]
    MissionEvent {
        /// The cause.
        reason: String,
    },
    /// A run stopped before its plan was stored.
    #[error("the run stopped before its plan was stored; run the mission again")]
    NoPlan,
    /// A session is not a run of a mission.
    #[error("session `{session}` is not a run of a mission")]
    NoMissionRun {
        /// The session.
        session: Box<str>,
    },
    /// A session is a run of a mission, or belongs to one.
    #[error("session `{session}` belongs to run `{run}` of a mission")]
    PartOfMission {
        /// The session.
        session: Box<str>,
        /// The run.
        run: Box<str>,
    },
    /// Sub-runs are nested too deeply.
    #[error("sub-runs are nested too deeply ({depth} levels)")]
    TooDeep {
        /// The depth of the sub-run that was refused.
        depth: u8,
    },
    /// A spawned task panicked or was aborted. This is a bug in this program.
    #[error("an internal task failed: {0}")]
    Task(String),
}
