//! Error type of the commands.

pub(crate) use crate::output::Failure as CliError;
use prowess_registry::digest;

/// Converts a digest error, keeping its cause.
pub(crate) fn no_digest(error: &digest::DigestError) -> CliError {
    let base = CliError::new(error.to_string());
    match std::error::Error::source(error) {
        Some(cause) => base.cause(cause),
        None => base,
    }
}
