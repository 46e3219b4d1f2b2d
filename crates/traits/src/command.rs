//! Execution of approved commands.

use std::fmt::Debug;
use std::sync::Arc;

use prowess_policy::{Approved, Command, Profile};

/// Runs commands. It makes no decisions: an [`Approved`] command is permission to run it.
pub trait CommandRunner: Send + Sync + Debug {
    /// Runs a command to completion within a sandbox profile. Blocks.
    fn run(
        &self,
        command: &Approved<Command>,
        profile: &Profile,
        input: Option<&[u8]>,
    ) -> Result<CommandResult, CommandError>;

    /// Returns a copy of this runner whose runs can be stopped together; `None` if unsupported.
    fn stoppable(&self) -> Option<Stoppable> {
        None
    }
}

/// A runner whose runs can be stopped together.
pub struct Stoppable {
    /// The runner.
    pub runner: Arc<dyn CommandRunner>,
    /// Stops all current runs. Can be called repeatedly.
    pub stop: Box<dyn Fn() + Send + Sync>,
}

impl Debug for Stoppable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stoppable")
            .field("runner", &self.runner)
            .finish_non_exhaustive()
    }
}

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandResult {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The reason why it was stopped, if it was: `deadline` or `cancelled`.
    pub stopped: Option<&'static str>,
    /// Standard output.
    pub stdout: CommandOutput,
    /// Standard error.
    pub stderr: CommandOutput,
    /// The duration in milliseconds.
    pub milliseconds: u64,
    /// The layers of the sandbox, each with `on` or the reason why it is off.
    pub layers: Vec<(Box<str>, Box<str>)>,
}

impl CommandResult {
    /// Returns `true` if it exited with code 0 and was not stopped.
    pub fn is_success(&self) -> bool {
        self.code == Some(0) && self.stopped.is_none()
    }
}

/// The output of a command on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// The text. If it is truncated, a line in it says by how much.
    pub text: String,
    /// The total number of bytes written.
    pub bytes: u64,
    /// The number of bytes that were omitted.
    pub omitted: u64,
}

/// A command that could not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    /// The message.
    pub message: String,
}
