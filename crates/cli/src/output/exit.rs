//! Exit codes. They are stable: see `prowess help exit-codes`.

use std::process::ExitCode;

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// Success with a negative result: findings, no match.
    No,
    /// Failure: usage, configuration, files.
    Failed,
    /// Denied by policy, or approval was needed and no terminal was available.
    Denied,
    /// An API key is missing or was rejected.
    NoKey,
    /// A limit was reached.
    Limit,
    /// The session waits for an answer.
    Waiting,
    /// Interrupted by a signal.
    Interrupted,
    /// The exit code of a command that was run.
    Code(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Failed => 2,
            Exit::Denied => 3,
            Exit::NoKey => 4,
            Exit::Limit => 5,
            Exit::Waiting => 6,
            Exit::Interrupted => 130,
            Exit::Code(code) => code,
        })
    }
}

/// Exits the process immediately.
#[expect(clippy::exit, reason = "the only place that exits without unwinding")]
pub(crate) fn leave(exit: Exit) -> ! {
    let code = match exit {
        Exit::Interrupted => 130,
        _ => 2,
    };
    std::process::exit(code)
}
