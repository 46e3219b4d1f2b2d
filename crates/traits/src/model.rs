//! Asking a model.

use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use prowess_agent::{Delta, FailureKind, Reply, Request};

/// A future that may move between threads. Dropping it stops the work.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes the pieces of an answer while it arrives.
pub type OnDelta<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// A model that can be asked.
///
/// An answer is given whole or not at all: where the connection breaks in the middle, the error says
/// so, and nothing of what arrived counts. Asking again is for [`Model::ask`] itself, within its own
/// limits; where pieces were shown already it says [`Delta::Restart`] first.
pub trait Model: Send + Sync + Debug {
    /// What is known about it.
    fn about(&self) -> &ModelInfo;

    /// Asks, and waits for the whole answer.
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

/// What is known about a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// `provider/name`.
    pub name: Box<str>,
    /// Tokens that fit its window.
    pub window: u64,
    /// What it costs, where that is known.
    pub price: Option<Price>,
    /// What to tell people about it, where it is not what they might think: that it is scripted.
    pub note: Option<Box<str>>,
}

/// What a model costs: dollars for a million tokens, which is millionths of a dollar for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Tokens that are read.
    pub input: f64,
    /// Tokens that are written.
    pub output: f64,
    /// Tokens that come from the cache.
    pub cache_read: f64,
    /// Tokens that go into the cache.
    pub cache_write: f64,
}

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{model}: {message}")]
pub struct ModelError {
    /// What kind of error it is.
    pub kind: ModelErrorKind,
    /// The model: `provider/name`.
    pub model: Box<str>,
    /// What happened, in words for a person, without secrets.
    pub message: String,
    /// How often it was asked.
    pub attempts: u32,
}

/// What kind of error it is, and so what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing or wrong.
    Auth,
    /// Too many questions; after a while it may work.
    RateLimit {
        /// How long the provider says to wait.
        after: Option<Duration>,
    },
    /// The conversation does not fit the window.
    ContextTooLong,
    /// The provider does not answer such a question.
    Refused,
    /// The provider has no such model, or does not take such a request.
    BadRequest,
    /// The connection failed, or the provider did.
    Transport,
    /// A deadline passed.
    Timeout,
    /// The answer was not what the wire format says.
    BadReply,
}

impl ModelErrorKind {
    /// The word used in output.
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

    /// Whether asking again may help.
    pub fn is_passing(self) -> bool {
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
