//! One request, and an answer in pieces.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use reqwest::NoProxy;
use reqwest::header::{CONTENT_ENCODING, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use tokio::time::{Instant, timeout_at};

use crate::address::Address;
use crate::tls;

/// Asks servers, and gives their answers in pieces.
#[derive(Clone)]
pub struct HttpClient {
    inner: reqwest::Client,
    deadlines: Deadlines,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client below knows its proxy, and that may have a password.
        f.debug_struct("HttpClient")
            .field("deadlines", &self.deadlines)
            .finish_non_exhaustive()
    }
}

/// A server through which others are asked with `https`. Those with `http` are on this machine or
/// near it, and are asked directly.
#[derive(Clone)]
pub struct Proxy {
    /// Its address; a user and a password may be in it.
    pub address: String,
    /// The hosts that are asked directly, as in `NO_PROXY`.
    pub except: String,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("except", &self.except)
            .finish_non_exhaustive()
    }
}

/// How long each kind of waiting may take, and how much may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the head of the answer is there, connection included.
    pub first: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// For all of it.
    pub total: Duration,
    /// Most bytes of an answer.
    pub bytes: usize,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // A model may think long before its first word, and a local one reads slowly.
            first: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            total: Duration::from_mins(30),
            bytes: 64 * 1024 * 1024,
        }
    }
}

/// How long the end of an answer may take that nobody reads.
const SETTLE: Duration = Duration::from_millis(50);

/// A header of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: Cow<'static, str>,
    value: String,
    is_secret: bool,
}

impl Header {
    /// A header that anybody may see.
    pub fn plain(name: &'static str, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            is_secret: false,
        }
    }

    /// A header that nobody may see, such as a key.
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

/// The head of an answer; its body comes in pieces.
#[derive(Debug)]
pub struct Answer {
    inner: reqwest::Response,
    deadlines: Deadlines,
    end: Instant,
    seen: usize,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HttpError {
    /// What kind of error it is.
    pub kind: HttpErrorKind,
    /// What happened, in words for a person, without address and secrets.
    pub message: String,
}

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// The client could not be made, or the request cannot be sent.
    Setup,
    /// There was no connection.
    Connect,
    /// A deadline passed.
    Timeout,
    /// The connection broke.
    Broken,
    /// More came than may come.
    TooLarge,
    /// It is packed, though nobody asked for that.
    Packed,
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
        let what = match kind {
            HttpErrorKind::Timeout => "no connection in time",
            HttpErrorKind::Connect => "no connection",
            HttpErrorKind::Setup => "the request cannot be sent",
            _ => "the connection broke",
        };
        Self::new(kind, format!("{what}: {}", innermost(&error.without_url())))
    }
}

/// The last cause in a chain, which is the one that says something.
pub fn innermost(error: &dyn Error) -> String {
    let mut last = error;
    // A chain is short; one that is not ends here.
    for _ in 0..16 {
        match last.source() {
            Some(source) => last = source,
            None => break,
        }
    }
    last.to_string().chars().take(300).collect()
}

impl HttpClient {
    /// A client. `agent` is what it calls itself.
    pub fn new(agent: &str, deadlines: Deadlines) -> Result<Self, HttpError> {
        Self::build(agent, deadlines, None)
    }

    /// A client behind a proxy.
    pub fn behind(agent: &str, deadlines: Deadlines, proxy: &Proxy) -> Result<Self, HttpError> {
        let unfit = |_| HttpError::new(HttpErrorKind::Setup, "the address of the proxy is none");
        let through = reqwest::Proxy::https(&proxy.address).map_err(unfit)?;
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

    /// The same client with other deadlines. The one for connections stays.
    #[must_use]
    pub fn with_deadlines(&self, deadlines: Deadlines) -> Self {
        Self {
            inner: self.inner.clone(),
            deadlines,
        }
    }

    /// Its deadlines.
    pub fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// Sends JSON. Dropping the future closes the connection.
    pub async fn post(
        &self,
        address: &Address,
        headers: &[Header],
        json: Vec<u8>,
    ) -> Result<Answer, HttpError> {
        self.post_as("application/json", address, headers, json)
            .await
    }

    /// Sends something of a media type.
    pub async fn post_as(
        &self,
        media: &str,
        address: &Address,
        headers: &[Header],
        body: Vec<u8>,
    ) -> Result<Answer, HttpError> {
        let request = self
            .inner
            .post(address.url().clone())
            .header("content-type", media)
            .body(body);
        self.send(request, headers).await
    }

    /// Asks for something.
    pub async fn get(&self, address: &Address, headers: &[Header]) -> Result<Answer, HttpError> {
        self.send(self.inner.get(address.url().clone()), headers)
            .await
    }

    /// Takes something away.
    pub async fn delete(&self, address: &Address, headers: &[Header]) -> Result<Answer, HttpError> {
        self.send(self.inner.delete(address.url().clone()), headers)
            .await
    }

    async fn send(
        &self,
        mut request: reqwest::RequestBuilder,
        headers: &[Header],
    ) -> Result<Answer, HttpError> {
        for header in headers {
            let unfit = || HttpError::new(HttpErrorKind::Setup, unfit(header));
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| unfit())?;
            let mut value = HeaderValue::from_str(&header.value).map_err(|_| unfit())?;
            value.set_sensitive(header.is_secret);
            request = request.header(name, value);
        }
        let start = Instant::now();
        let end = start + self.deadlines.total;
        let first = (start + self.deadlines.first).min(end);
        let inner = timeout_at(first, request.send())
            .await
            .map_err(|_| HttpError::new(HttpErrorKind::Timeout, "no answer in time"))?
            .map_err(HttpError::of)?;
        let packed = inner.headers().get(CONTENT_ENCODING);
        if packed.is_some_and(|how| !how.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let message = "the answer is packed, though that was not asked for";
            return Err(HttpError::new(HttpErrorKind::Packed, message));
        }
        Ok(Answer {
            inner,
            deadlines: self.deadlines,
            end,
            seen: 0,
        })
    }
}

fn unfit(header: &Header) -> String {
    format!(
        "the header `{}` has characters that cannot be sent",
        header.name
    )
}

impl Answer {
    /// The status.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// A header, where it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// The next piece of the body; nothing at its end.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        let idle = Instant::now() + self.deadlines.idle;
        let (until, what) = if idle < self.end {
            (idle, "the answer stopped in the middle")
        } else {
            (self.end, "the answer took too long")
        };
        let chunk = timeout_at(until, self.inner.chunk())
            .await
            .map_err(|_| HttpError::new(HttpErrorKind::Timeout, what))?
            .map_err(HttpError::of)?;
        let Some(chunk) = chunk else { return Ok(None) };
        self.seen = self.seen.saturating_add(chunk.len());
        if self.seen > self.deadlines.bytes {
            let message = format!("the answer has more than {} bytes", self.deadlines.bytes);
            return Err(HttpError::new(HttpErrorKind::TooLarge, message));
        }
        Ok(Some(chunk.into()))
    }

    /// Waits a moment for the end, so that the connection can be used again. What comes does not
    /// count any more.
    pub async fn settle(mut self) {
        self.end = self.end.min(Instant::now() + SETTLE);
        while matches!(self.chunk().await, Ok(Some(_))) {}
    }

    /// The whole body.
    pub async fn body(mut self) -> Result<Vec<u8>, HttpError> {
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// The beginning of the body, for a message: whatever comes within the deadlines, and no error.
    pub async fn beginning(mut self, bytes: usize) -> Vec<u8> {
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
