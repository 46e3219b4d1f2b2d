//! Reading something from the web.

use std::fmt::Debug;

/// Fetches what an address leads to. It decides nothing: whoever calls it was allowed to talk to
/// that host. It follows no redirect to another host, so that each is decided about.
pub trait Fetcher: Send + Sync + Debug {
    /// Fetches. Blocks, within the limits.
    fn fetch(&self, url: &str, limits: &FetchLimits) -> Result<Fetched, FetchError>;
}

/// How much is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Most bytes of the body, unpacked.
    pub bytes: usize,
    /// Milliseconds until it is given up.
    pub deadline_ms: u64,
    /// Whether addresses of this machine and of private networks may be asked.
    pub private: bool,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The address, after redirects on the same host.
    pub url: String,
    /// The status.
    pub status: u16,
    /// `content-type`, as it was sent.
    pub media_type: Option<String>,
    /// The body, cut at the limit.
    pub body: Vec<u8>,
    /// Whether the body was cut.
    pub cut: bool,
    /// Where a redirect to another host leads.
    pub elsewhere: Option<String>,
}

/// Why nothing was fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    /// What happened, in words for a person and a model.
    pub message: String,
}
