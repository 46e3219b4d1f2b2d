//! Drives conversations between a model, its tools and a person.
//!
//! [`Engine`] is what sessions share: models, tools, rules, the store. [`Session`] is one
//! conversation: [`Session::say`] something, [`Session::proceed`] until it is somebody else's turn.
//! [`SubRun`] runs a skill on its own and gives a value back. What is to be done next is decided by
//! [`prowess_agent::Run`]; here it is done, and written down before.

mod agents;
mod background;
mod below;
mod call;
mod drive;
mod engine;
mod error;
mod journal;
mod outcome;
mod prompt;
mod resume;
mod say;
mod session;
mod subrun;
mod task;
mod trace;

pub use agents::GENERAL_PURPOSE;
pub use engine::Engine;
pub use error::RuntimeError;
pub use outcome::{Finished, Pause};
pub use prompt::INSTRUCTIONS;
pub use prowess_agent::{Ending, EndingKind, FailureKind};
pub use prowess_tools::{Services, Settings};
pub use prowess_traits::{Models, Update, Watcher};
pub use say::Spoken;
pub use session::{ActiveView, Session};
pub use subrun::{MAX_DEPTH, MAX_TICKS, SkillRef, SubRun};
pub use task::Task;
pub use tokio_util::sync::CancellationToken;
