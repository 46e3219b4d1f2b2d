//! Errors of the client. Their texts are for users and models: they name no type of `rmcp`.

use prowess_diag::sanitize;
use prowess_diag::wording::shorten;
use prowess_http::{HttpError, HttpUrlError, innermost};
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

/// Maximum number of characters of a server's text in an error.
const MAX_SAID: usize = 500;

/// Error from a request to a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The server could not be started or reached.
    #[error("cannot connect to MCP server `{server}`: {why}")]
    Down {
        /// Name of the server.
        server: Box<str>,
        /// Reason.
        why: ConnectError,
    },
    /// The server failed recently and is not retried yet.
    #[error("MCP server `{server}` failed, next attempt in {seconds} s: {why}")]
    Paused {
        /// Name of the server.
        server: Box<str>,
        /// Seconds until the next attempt.
        seconds: u64,
        /// Reason for the failure.
        why: ConnectError,
    },
    /// The server did not answer in time.
    #[error("MCP server `{server}` timed out after {seconds} s")]
    Late {
        /// Name of the server.
        server: Box<str>,
        /// The timeout in seconds.
        seconds: u64,
    },
    /// The server closed the connection before it answered. The request may have had effects.
    #[error("MCP server `{server}` closed the connection before it answered")]
    Ended {
        /// Name of the server.
        server: Box<str>,
    },
    /// The server returned an error.
    #[error("MCP server `{server}` returned an error: {message}")]
    Refused {
        /// Name of the server.
        server: Box<str>,
        /// JSON-RPC error code.
        code: i32,
        /// Error message.
        message: String,
    },
    /// The answer is invalid.
    #[error("invalid answer from MCP server `{server}`: {why}")]
    Odd {
        /// Name of the server.
        server: Box<str>,
        /// The error.
        why: String,
    },
}

/// Reason why a server could not be started or reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server has no program.
    #[error("its configuration has no `command`")]
    NoCommand,
    /// The program does not exist.
    #[error("program `{command}` not found")]
    ProgramNotFound {
        /// The program.
        command: String,
    },
    /// The program could not be started.
    #[error("cannot start `{command}`: {why}")]
    Spawn {
        /// The program.
        command: String,
        /// The I/O error.
        why: String,
    },
    /// The program has no standard streams.
    #[error("cannot open its standard streams")]
    Streams,
    /// The URL is invalid.
    #[error(transparent)]
    Url(#[from] HttpUrlError),
    /// The headers may contain secrets, and the URL is not encrypted.
    #[error("headers would be sent unencrypted; use `https`")]
    Unencrypted,
    /// This client has no HTTP client.
    #[error("remote servers are not supported here")]
    NoHttp,
    /// The server closed the connection during the handshake.
    #[error("it closed the connection before it was ready")]
    ClosedEarly,
    /// The handshake took too long.
    #[error("it was not ready within {seconds} s")]
    NotReady {
        /// The timeout in seconds.
        seconds: u64,
    },
    /// The server answered the handshake with an error.
    #[error("it refused the connection: {message}")]
    Refused {
        /// The server's message.
        message: String,
    },
    /// The server's answer to the handshake is invalid.
    #[error("its answer to `initialize` is invalid")]
    InvalidHandshake,
    /// Client and server have no protocol version in common.
    #[error("it supports none of our protocol versions")]
    ProtocolVersion,
    /// A message could not be sent or received.
    #[error("{why}")]
    Transport {
        /// The error of the system or the HTTP client.
        why: String,
    },
    /// A failure, with the last line that the program printed.
    #[error("{cause}; last stderr line: {line}")]
    WithStderr {
        /// The failure.
        cause: Box<Self>,
        /// The line.
        line: String,
    },
    /// The program exited.
    #[error("it exited; last stderr line: {line}")]
    Exited {
        /// The last line that it printed.
        line: String,
    },
    /// The connection ended.
    #[error("the connection was closed")]
    Disconnected,
    /// This client closed the connection.
    #[error("it was closed")]
    ClosedByClient,
}

impl From<ClientInitializeError> for ConnectError {
    fn from(error: ClientInitializeError) -> Self {
        use ClientInitializeError as E;
        match error {
            E::ConnectionClosed(_) => Self::ClosedEarly,
            E::TransportError { error, .. } => Self::from(error),
            E::JsonRpcError(error) => Self::Refused {
                message: said(&error.message),
            },
            E::NoCompatibleProtocolVersion { .. } => Self::ProtocolVersion,
            E::LegacyFallbackFailed { fallback, .. } => Self::from(*fallback),
            _ => Self::InvalidHandshake,
        }
    }
}

impl From<DynamicTransportError> for ConnectError {
    fn from(error: DynamicTransportError) -> Self {
        let fault = error.error.downcast_ref::<StreamableHttpError<HttpError>>();
        let why = match fault {
            Some(StreamableHttpError::Client(error)) => error.to_string(),
            _ => innermost(&*error.error),
        };
        Self::Transport { why: said(&why) }
    }
}

/// Formats a server's text as one short line.
pub(super) fn said(text: &str) -> String {
    shorten(&sanitize::line(text.trim()), MAX_SAID)
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use rmcp::model::ErrorData;

    use super::*;

    #[test]
    fn errors_contain_no_type_names_of_the_protocol_crate() {
        let transport = || {
            let refused = std::io::Error::other("connection refused");
            DynamicTransportError::from_parts(
                "rmcp::transport::worker::WorkerTransport<rmcp::Worker>",
                TypeId::of::<()>(),
                Box::new(refused),
            )
        };
        let send = || ClientInitializeError::TransportError {
            error: transport(),
            context: "send initialize request".into(),
        };
        let fallback = ClientInitializeError::LegacyFallbackFailed {
            discover: Box::new(ClientInitializeError::ExpectedInitResponse(None)),
            fallback: Box::new(send()),
        };
        let answer = ErrorData::internal_error("no licence", None);
        for (error, text) in [
            (send(), "connection refused"),
            (fallback, "connection refused"),
            (
                ClientInitializeError::ExpectedInitResponse(None),
                "its answer to `initialize` is invalid",
            ),
            (
                ClientInitializeError::JsonRpcError(answer),
                "it refused the connection: no licence",
            ),
        ] {
            assert_eq!(ConnectError::from(error).to_string(), text);
        }
        assert_eq!(
            ConnectError::from(transport()).to_string(),
            "connection refused"
        );
    }
}
