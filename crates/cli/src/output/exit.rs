//! Exit codes. They are a promise: see `prowess help exit-codes`.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Done, and the answer is no: findings, nothing matched.
    No,
    /// Could not do it: usage, configuration, files.
    Failed,
    /// Refused by policy, or a person should have been asked and none was there.
    Denied,
    /// A key is missing, or was not accepted.
    NoKey,
    /// A limit was reached.
    Limit,
    /// Somebody interrupted it.
    Interrupted,
    /// What a command that was run ended with.
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
            Exit::Interrupted => 130,
            Exit::Code(code) => code,
        })
    }
}

/// Ends the program at once: for a person who does not want to wait.
#[expect(
    clippy::exit,
    reason = "the one place where a program ends without unwinding"
)]
pub(crate) fn leave(exit: Exit) -> ! {
    let code = match exit {
        Exit::Interrupted => 130,
        _ => 2,
    };
    std::process::exit(code)
}
