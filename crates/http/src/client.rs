//! HTTP requests with responses in chunks.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use reqwest::NoProxy;
use reqwest::header::{CONTENT_ENCODING, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use tokio::time::{Instant, timeout_at};

use crate::tls;
use crate::url::HttpUrl;

/// Sends requests and returns the responses in chunks.
#[derive(Clone)]
pub struct HttpClient {
    inner: reqwest::Client,
    deadlines: Deadlines,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The inner client knows its proxy, which may include a password.
        f.debug_struct("HttpClient")
            .field("deadlines", &self.deadlines)
            .finish_non_exhaustive()
    }
}

/// A proxy for `https`. Plain `http` is used only for this machine and local networks, and is sent
/// directly.
#[derive(Clone)]
pub struct Proxy {
    /// The URL, which may contain a user name and a password.
    pub address: String,
    /// The hosts that are contacted directly, as in `NO_PROXY`.
    pub except: String,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("except", &self.except)
            .finish_non_exhaustive()
    }
}

/// Timeouts, and the maximum size of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Until the connection is made.
    pub connect: Duration,
    /// Until the response head arrives, including the connection.
    pub first: Duration,
    /// Between two chunks of the response.
    pub idle: Duration,
    /// For the whole request.
    pub total: Duration,
    /// The maximum size of a response in bytes.
    pub bytes: usize,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // Models may reason for a long time before the first token, and local ones are slow.
            first: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            total: Duration::from_mins(30),
            bytes: 64 * 1024 * 1024,
        }
    }
}

/// The time to wait for the end of a response that is not read.
const SETTLE: Duration = Duration::from_millis(50);

/// A request header.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: Cow<'static, str>,
    value: String,
    is_secret: bool,
}

impl Header {
    /// Creates a header that may be logged.
    pub fn plain(name: &'static str, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            is_secret: false,
        }
    }

    /// Creates a header that is never shown, such as a key.
    pub fn secret(name: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            is_secret: true,
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.is_secret { "…" } else { &self.value };
        write!(f, "{}: {value}", self.name)
    }
}

/// The head of a response. The body is read in chunks.
#[derive(Debug)]
pub struct Response {
    inner: reqwest::Response,
    deadlines: Deadlines,
    end: Instant,
    seen: usize,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HttpError {
    /// The kind of error.
    pub kind: HttpErrorKind,
    /// The message, without URL and secrets.
    pub message: String,
}

/// The kind of an HTTP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// The client cannot be created, or the request is invalid.
    Setup,
    /// The connection failed.
    Connect,
    /// A timeout expired.
    Timeout,
    /// The connection was closed.
    Broken,
    /// The response is too large.
    TooLarge,
    /// The response is compressed, although compression was not requested.
    Compressed,
}

impl HttpError {
    pub(crate) fn new(kind: HttpErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn of(error: reqwest::Error) -> Self {
        let kind = if error.is_timeout() {
            HttpErrorKind::Timeout
        } else if error.is_connect() {
            HttpErrorKind::Connect
        } else if error.is_builder() {
            HttpErrorKind::Setup
        } else {
            HttpErrorKind::Broken
        };
        // Only host and port: the rest of an address may have a key.
        let place = error.url().and_then(|url| {
            let host = url.host_str()?;
            Some(match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            })
        });
        let what = match (kind, place) {
            (HttpErrorKind::Timeout, _) => "connection timed out".to_owned(),
            (HttpErrorKind::Connect, Some(place)) => format!("cannot connect to {place}"),
            (HttpErrorKind::Connect, None) => "cannot connect".to_owned(),
            (HttpErrorKind::Setup, _) => "invalid request".to_owned(),
            _ => "connection closed".to_owned(),
        };
        Self::new(kind, format!("{what}: {}", innermost(&error.without_url())))
    }
}

/// Returns the last error of a chain, which is the most specific one.
pub fn innermost(error: &dyn Error) -> String {
    let mut last = error;
    // Bounded, in case a chain is cyclic.
    for _ in 0..16 {
        match last.source() {
            Some(source) => last = source,
            None => break,
        }
    }
    last.to_string().chars().take(300).collect()
}

impl HttpClient {
    /// Creates a client. `agent` is its `User-Agent`.
    pub fn new(agent: &str, deadlines: Deadlines) -> Result<Self, HttpError> {
        Self::build(agent, deadlines, None)
    }

    /// Creates a client that uses a proxy.
    pub fn with_proxy(agent: &str, deadlines: Deadlines, proxy: &Proxy) -> Result<Self, HttpError> {
        let invalid = |_| HttpError::new(HttpErrorKind::Setup, "invalid proxy URL");
        let through = reqwest::Proxy::https(&proxy.address).map_err(invalid)?;
        let through = through.no_proxy(NoProxy::from_string(&proxy.except));
        Self::build(agent, deadlines, Some(through))
    }

    fn build(
        agent: &str,
        deadlines: Deadlines,
        proxy: Option<reqwest::Proxy>,
    ) -> Result<Self, HttpError> {
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config()?)
            .user_agent(agent)
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .no_gzip()
            .connect_timeout(deadlines.connect)
            .pool_max_idle_per_host(4)
            .tcp_nodelay(true);
        let builder = match proxy {
            Some(proxy) => builder.proxy(proxy),
            None => builder,
        };
        let inner = builder.build().map_err(HttpError::of)?;
        Ok(Self { inner, deadlines })
    }

    /// Returns the same client with other deadlines. The connection timeout does not change.
    #[must_use]
    pub fn with_deadlines(&self, deadlines: Deadlines) -> Self {
        Self {
            inner: self.inner.clone(),
            deadlines,
        }
    }

    /// Returns the deadlines.
    pub fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// Sends JSON. Dropping the future closes the connection.
    pub async fn post(
        &self,
        address: &HttpUrl,
        headers: &[Header],
        json: Vec<u8>,
    ) -> Result<Response, HttpError> {
        self.post_as("application/json", address, headers, json)
            .await
    }

    /// Sends a body of the given media type.
    pub async fn post_as(
        &self,
        media: &str,
        address: &HttpUrl,
        headers: &[Header],
        body: Vec<u8>,
    ) -> Result<Response, HttpError> {
        let request = self
            .inner
            .post(address.url().clone())
            .header("content-type", media)
            .body(body);
        self.send(request, headers).await
    }

    /// Sends a `GET` request.
    pub async fn get(&self, address: &HttpUrl, headers: &[Header]) -> Result<Response, HttpError> {
        self.send(self.inner.get(address.url().clone()), headers)
            .await
    }

    /// Sends a `DELETE` request.
    pub async fn delete(
        &self,
        address: &HttpUrl,
        headers: &[Header],
    ) -> Result<Response, HttpError> {
        self.send(self.inner.delete(address.url().clone()), headers)
            .await
    }

    async fn send(
        &self,
        mut request: reqwest::RequestBuilder,
        headers: &[Header],
    ) -> Result<Response, HttpError> {
        for header in headers {
            let invalid = || HttpError::new(HttpErrorKind::Setup, invalid(header));
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(&header.value).map_err(|_| invalid())?;
            value.set_sensitive(header.is_secret);
            request = request.header(name, value);
        }
        let start = Instant::now();
        let end = start + self.deadlines.total;
        let first = (start + self.deadlines.first).min(end);
        let inner = timeout_at(first, request.send())
            .await
            .map_err(|_| HttpError::new(HttpErrorKind::Timeout, "no response in time"))?
            .map_err(HttpError::of)?;
        let encoding = inner.headers().get(CONTENT_ENCODING);
        if encoding.is_some_and(|how| !how.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let message = "the response is compressed, although compression was not requested";
            return Err(HttpError::new(HttpErrorKind::Compressed, message));
        }
        Ok(Response {
            inner,
            deadlines: self.deadlines,
            end,
            seen: 0,
        })
    }
}

fn invalid(header: &Header) -> String {
    format!("header `{}` contains invalid characters", header.name)
}

impl Response {
    /// Returns the status code.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// Returns a header if it is present and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// Returns the next chunk of the body; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        let idle = Instant::now() + self.deadlines.idle;
        let (until, what) = if idle < self.end {
            (idle, "the response stalled")
        } else {
            (self.end, "the response took too long")
        };
        let chunk = timeout_at(until, self.inner.chunk())
            .await
            .map_err(|_| HttpError::new(HttpErrorKind::Timeout, what))?
            .map_err(HttpError::of)?;
        let Some(chunk) = chunk else { return Ok(None) };
        self.seen = self.seen.saturating_add(chunk.len());
        if self.seen > self.deadlines.bytes {
            let message = format!("the response is larger than {} bytes", self.deadlines.bytes);
            return Err(HttpError::new(HttpErrorKind::TooLarge, message));
        }
        Ok(Some(chunk.into()))
    }

    /// Waits briefly for the end of the body, which is discarded, so that the connection can be
    /// reused.
    pub async fn settle(mut self) {
        self.end = self.end.min(Instant::now() + SETTLE);
        while matches!(self.chunk().await, Ok(Some(_))) {}
    }

    /// Returns the whole body.
    pub async fn body(mut self) -> Result<Vec<u8>, HttpError> {
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// Returns the start of the body for an error message: whatever arrives in time, ignoring errors.
    pub async fn prefix(mut self, bytes: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < bytes {
            match self.chunk().await {
                Ok(Some(chunk)) => all.extend_from_slice(&chunk),
                Ok(None) | Err(_) => break,
            }
        }
        all.truncate(bytes);
        all
    }
}
