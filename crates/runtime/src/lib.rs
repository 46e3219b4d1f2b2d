//! Drives conversations between a model, its tools and a user.
//!
//! [`Engine`] holds what sessions share: models, tools, rules and the store. [`Session`] is one
//! conversation: [`Session::say`] adds a user message, and [`Session::proceed`] runs until the model
//! has answered or the session has ended. [`SubRun`] runs a skill in a separate conversation and
//! returns a value. [`prowess_agent::Run`] decides the next step; this crate records the step in the
//! store and then carries it out.

mod agent_profile;
mod agent_run;
mod agents;
mod background;
mod budget_meter;
mod child;
mod decision_log;
mod delegate;
mod engine;
mod error;
mod hint;
mod journal;
mod mission;
mod outcome;
mod prompt;
mod resume;
mod session;
mod session_approver;
mod session_loop;
mod subrun;
mod subrun_limits;
mod task;
mod team_tools;
mod tool_call;
mod trace;
mod user_message;

pub use agent_run::AgentRun;
pub use agents::{BUILT_IN_AGENTS, GENERAL_PURPOSE};
pub use engine::Engine;
pub use error::RuntimeError;
pub use hint::{KnownSkills, skill_hint};
pub use mission::{
    FinishedMission, MissionCancel, MissionRequest, MissionResume, MissionServices, cancel_mission,
    checked_inputs, mission_events, mission_run_above, mission_state, outputs as mission_outputs,
};
pub use outcome::{FinishedRun, Pause};
pub use prompt::{INSTRUCTIONS, ranked_skills, skill_index, starting_index};
pub use prowess_agent::{Ending, EndingKind, FailureKind};
pub use prowess_tools::{Services, Settings};
pub use prowess_traits::{Models, Update, Watcher};
pub use session::{ActiveView, Session};
pub use subrun::{MAX_DEPTH, MAX_TICKS, SkillRef, SubRun};
pub use task::Task;
pub use tokio_util::sync::CancellationToken;
pub use user_message::UserMessageEffects;
