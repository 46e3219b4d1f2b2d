//! What went wrong, and what to type next.

use std::fmt::Display;

use prowess_diag::FileReport;

use crate::output::exit::Exit;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What happened.
    pub message: String,
    /// What the system or a library says about it.
    pub cause: Option<String>,
    /// What to type next.
    pub hints: Vec<String>,
    /// Findings in a file that stopped us, such as the configuration.
    pub report: Option<Box<FileReport>>,
    /// The exit code, where it is not the usual one.
    pub exit: Option<Exit>,
}

impl Failure {
    /// Starts an error.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
            hints: Vec::new(),
            report: None,
            exit: None,
        }
    }

    /// Adds what the system or a library says.
    #[must_use]
    pub(crate) fn cause(mut self, cause: impl Display) -> Self {
        let text = cause.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        // The first letter only: the rest may be a path.
        let mut rest = text.chars();
        let first = rest.next().map(|first| first.to_lowercase().to_string());
        self.cause = first.map(|first| format!("{first}{}", rest.as_str()));
        self
    }

    /// Ends the program with this code.
    #[must_use]
    pub(crate) fn exit(mut self, exit: Exit) -> Self {
        self.exit = Some(exit);
        self
    }

    /// Adds something to type.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}
