//! Errors with a cause and hints.

use std::fmt::Display;

use prowess_diag::FileReport;

use crate::output::exit::Exit;

/// An error that ends a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The message.
    pub message: String,
    /// The error of the system or a library that caused it.
    pub cause: Option<String>,
    /// Hints, usually the next command to run.
    pub hints: Vec<String>,
    /// Findings in the file that caused the error, such as the configuration.
    pub report: Option<Box<FileReport>>,
    /// The exit code, if it is not [`Exit::Failed`].
    pub exit: Option<Exit>,
}

impl Failure {
    /// Creates an error.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
            hints: Vec::new(),
            report: None,
            exit: None,
        }
    }

    /// Sets the cause.
    #[must_use]
    pub(crate) fn cause(mut self, cause: impl Display) -> Self {
        let text = prowess_diag::wording::io_reason(cause);
        // Only the first letter, because the rest may contain a path. Acronyms such as `EOF` stay.
        let mut rest = text.chars();
        let first = rest.next().map(|first| match rest.clone().next() {
            Some(second) if second.is_uppercase() => first.to_string(),
            _ => first.to_lowercase().to_string(),
        });
        self.cause = first.map(|first| format!("{first}{}", rest.as_str()));
        self
    }

    /// Sets the exit code.
    #[must_use]
    pub(crate) fn exit(mut self, exit: Exit) -> Self {
        self.exit = Some(exit);
        self
    }

    /// Adds a hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}
