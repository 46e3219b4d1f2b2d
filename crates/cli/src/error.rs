//! Errors of the command, and what to type next.

pub(crate) use crate::output::Failure as CliError;
use prowess_registry::digest;

/// Says why a skill has no digest.
pub(crate) fn no_digest(error: &digest::Error) -> CliError {
    let base = CliError::new(error.to_string());
    match std::error::Error::source(error) {
        Some(cause) => base.cause(cause),
        None => base,
    }
}
