//! Errors of the command, and what to type next.

use prowess_registry::digest;
pub(crate) use prowess_terminal::Failure as CliError;

/// Says why a skill has no digest.
pub(crate) fn no_digest(error: &digest::Error) -> CliError {
    let base = CliError::new(error.to_string());
    match std::error::Error::source(error) {
        Some(cause) => base.cause(cause),
        None => base,
    }
}
