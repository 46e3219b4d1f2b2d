//! Error type of the commands.

use crate::output::Failure;
use prowess_registry::digest;

/// Converts a digest error, keeping its cause.
pub(crate) fn no_digest(error: &digest::DigestError) -> Failure {
    let base = Failure::new(error.to_string());
    match std::error::Error::source(error) {
        Some(cause) => base.cause(cause),
        None => base,
    }
}
