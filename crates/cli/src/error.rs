//! Errors of the command, and what to type next.

use std::fmt::Display;

use prowess_diag::FileReport;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct CliError {
    /// What happened.
    pub(crate) message: String,
    /// What the system or a library says about it.
    pub(crate) cause: Option<String>,
    /// What to type next.
    pub(crate) hints: Vec<String>,
    /// Findings in a file that stopped us, such as the configuration.
    pub(crate) report: Option<Box<FileReport>>,
}

impl CliError {
    /// Starts an error.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, hints: Vec::new(), report: None }
    }

    /// Adds what the system or a library says.
    pub(crate) fn cause(mut self, cause: impl Display) -> Self {
        let text = cause.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        // The first letter only: the rest may be a path.
        let mut rest = text.chars();
        let first = rest.next().map(|first| first.to_lowercase().to_string());
        self.cause = first.map(|first| format!("{first}{}", rest.as_str()));
        self
    }

    /// Adds something to type.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<prowess_registry::digest::Error> for CliError {
    fn from(error: prowess_registry::digest::Error) -> Self {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let base = Self::new(error.to_string());
        match cause {
            Some(cause) => base.cause(cause),
            None => base,
        }
    }
}
