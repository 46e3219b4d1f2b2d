//! Running what the gate approved.

use std::fmt::Debug;
use std::sync::Arc;

use prowess_policy::{Approved, Command, Profile};

/// Runs commands. It decides nothing: whoever holds an [`Approved`] command was allowed to run it.
pub trait CommandRunner: Send + Sync + Debug {
    /// Runs a command to its end, within the profile. Blocks.
    fn run(
        &self,
        command: &Approved<Command>,
        profile: &Profile,
        input: Option<&[u8]>,
    ) -> Result<Ran, RunError>;

    /// The same runner once more, whose runs can be ended together; nothing where it cannot.
    fn stoppable(&self) -> Option<Stoppable> {
        None
    }
}

/// A runner whose runs can be ended together.
pub struct Stoppable {
    /// The runner.
    pub runner: Arc<dyn CommandRunner>,
    /// Ends the runs that are under way, as often as it is called.
    pub stop: Box<dyn Fn() + Send + Sync>,
}

impl Debug for Stoppable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stoppable")
            .field("runner", &self.runner)
            .finish_non_exhaustive()
    }
}

/// How a command went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; nothing where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why we ended it, if we did: `deadline`, `cancelled`.
    pub stopped: Option<&'static str>,
    /// What it wrote.
    pub stdout: Output,
    /// What it complained about.
    pub stderr: Output,
    /// How long it took.
    pub milliseconds: u64,
    /// The layers of the sandbox, each with `on` or the reason why not.
    pub layers: Vec<(Box<str>, Box<str>)>,
}

impl Ran {
    /// Tells whether it ended by itself and well.
    pub fn is_success(&self) -> bool {
        self.code == Some(0) && self.stopped.is_none()
    }
}

/// What a command wrote to one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The text; where some was left out, a line in it says how much.
    pub text: String,
    /// How many bytes there were in all.
    pub bytes: u64,
    /// How many of them were left out.
    pub omitted: u64,
}

/// Why a command did not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// What happened, in words for a person.
    pub message: String,
}
