//! Language models.

use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use prowess_agent::{Delta, FailureKind, Reply, Request};

/// A boxed future. Dropping it cancels the work.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Receives the pieces of a reply as they arrive.
pub type OnDelta<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// A language model.
///
/// A reply is complete or an error: if the connection breaks, the partial reply is discarded.
/// [`Model::ask`] retries within its own limits; if pieces were already delivered, it sends
/// [`Delta::Restart`] first.
pub trait Model: Send + Sync + Debug {
    /// Returns facts about the model.
    fn about(&self) -> &ModelInfo;

    /// Sends a request and returns the complete reply.
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

/// Finds models by name, for skills and sub-runs that ask for one.
pub trait Models: Send + Sync + Debug {
    /// Finds a model.
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, FindModelError>;
}

/// An error from looking up a model by name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindModelError {
    /// The program has no other model than its own.
    #[error("this program has one model only")]
    OnlyOne,
    /// The model is unknown, or cannot be used.
    #[error(transparent)]
    Unusable(Box<dyn std::error::Error + Send + Sync>),
}

/// Facts about a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// `provider/name`.
    pub name: Box<str>,
    /// The size of the context window in tokens.
    pub window: u64,
    /// The price, if known.
    pub price: Option<Price>,
    /// A note for users, for example that the model is scripted.
    pub note: Option<Box<str>>,
}

/// A price in dollars per million tokens, which equals millionths of a dollar per token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
}

/// A failed request to a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{model}: {message}")]
pub struct ModelError {
    /// The kind of error.
    pub kind: ModelErrorKind,
    /// The model: `provider/name`.
    pub model: Box<str>,
    /// The message, without secrets.
    pub message: String,
    /// The number of attempts.
    pub attempts: u32,
}

/// The kind of a model error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The API key is missing or invalid.
    Auth,
    /// Too many requests.
    RateLimit {
        /// The delay requested by the provider.
        after: Option<Duration>,
    },
    /// The conversation exceeds the context window.
    ContextTooLong,
    /// The provider refused the request because of its content.
    Refused,
    /// The model is unknown, or the request is invalid.
    BadRequest,
    /// The connection failed, or the provider returned a server error.
    Transport,
    /// A timeout expired.
    Timeout,
    /// The reply does not follow the wire format.
    BadReply,
}

impl ModelErrorKind {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        self.failure().as_str()
    }

    /// Returns the kind of failure that an event records.
    pub fn failure(self) -> FailureKind {
        match self {
            Self::Auth => FailureKind::Auth,
            Self::RateLimit { .. } => FailureKind::RateLimit,
            Self::ContextTooLong => FailureKind::ContextTooLong,
            Self::Refused => FailureKind::Refused,
            Self::BadRequest => FailureKind::BadRequest,
            Self::Transport => FailureKind::Transport,
            Self::Timeout => FailureKind::Timeout,
            Self::BadReply => FailureKind::BadReply,
        }
    }

    /// Returns `true` if a retry may succeed.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimit { .. } | Self::Transport | Self::Timeout | Self::BadReply
        )
    }
}

impl fmt::Display for ModelErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
