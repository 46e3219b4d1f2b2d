//! Web requests.

use std::fmt::{self, Debug};

/// Sends web requests. It makes no decisions: the caller has permission to contact the host.
/// Redirects to another host are returned, not followed, so that the caller can decide about them.
pub trait Fetcher: Send + Sync + Debug {
    /// Sends a request. Blocks, within the limits. A redirect of a request that may change something
    /// is returned, never followed.
    fn send(&self, request: &WebRequest<'_>, limits: &FetchLimits) -> Result<Fetched, FetchError>;

    /// Fetches a URL.
    fn fetch(&self, url: &str, limits: &FetchLimits) -> Result<Fetched, FetchError> {
        self.send(&WebRequest::get(url), limits)
    }
}

/// A web request.
#[derive(Clone, Copy)]
pub struct WebRequest<'a> {
    /// The method.
    pub method: WebMethod,
    /// The URL.
    pub url: &'a str,
    /// The headers, by name.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: &'a [u8],
}

impl<'a> WebRequest<'a> {
    /// Creates a request that fetches a URL.
    pub fn get(url: &'a str) -> Self {
        Self {
            method: WebMethod::Get,
            url,
            headers: &[],
            body: &[],
        }
    }
}

impl Debug for WebRequest<'_> {
    /// Prints no values: each of them may contain a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.method.as_str())
    }
}

/// The method of a web request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebMethod {
    /// Fetches.
    Get,
    /// Adds or runs something.
    Post,
    /// Replaces something.
    Put,
    /// Changes a part of something.
    Patch,
    /// Deletes something.
    Delete,
}

impl WebMethod {
    /// Returns the word in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Returns `true` if a request may change something on the server.
    pub fn is_changing(self) -> bool {
        self != Self::Get
    }
}

/// Limits of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// The maximum size of the uncompressed body in bytes.
    pub bytes: usize,
    /// The timeout in milliseconds.
    pub deadline_ms: u64,
    /// `true` if this machine and private networks may be contacted.
    pub private: bool,
}

/// A response.
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
    /// The target of a redirect that was not followed.
    pub elsewhere: Option<String>,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    /// The message, for people and models.
    pub message: String,
}
