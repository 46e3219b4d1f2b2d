//! Web requests.

use std::fmt::Debug;

/// Fetches URLs. It makes no decisions: the caller has permission to contact the host. Redirects to
/// another host are returned, not followed, so that the caller can decide about them.
pub trait Fetcher: Send + Sync + Debug {
    /// Fetches a URL. Blocks, within the limits.
    fn fetch(&self, url: &str, limits: &FetchLimits) -> Result<Fetched, FetchError>;
}

/// Limits of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// The maximum size of the uncompressed body in bytes.
    pub bytes: usize,
    /// The timeout in milliseconds.
    pub deadline_ms: u64,
    /// `true` if this machine and private networks may be contacted.
    pub private: bool,
}

/// A fetched page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The URL, after redirects on the same host.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// The `content-type` header.
    pub media_type: Option<String>,
    /// The body, truncated at the limit.
    pub body: Vec<u8>,
    /// `true` if the body was truncated.
    pub cut: bool,
    /// The target of a redirect to another host.
    pub elsewhere: Option<String>,
}

/// A failed fetch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    /// The message, for people and models.
    pub message: String,
}
