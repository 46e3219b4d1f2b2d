//! HTTP authentication and host checks, applied to every method and path before anything else.
//!
//! A local server is reachable by every web page in a browser and by every program of every user.
//! [`RequestGuard`] admits a request only if it uses one of the server's own host names, has no `Origin`
//! or an allowed one, and has a valid [`Token`].

mod token;

use std::net::SocketAddr;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, Method, StatusCode, Uri};

pub use token::{Token, TokenError};

/// Admits or refuses requests.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    /// `name` or `name:port`, lower case.
    hosts: Vec<String>,
    /// `scheme://name` or `scheme://name:port`, lower case.
    origins: Vec<String>,
    tokens: Vec<Token>,
    port: u16,
    path: &'static str,
}

/// Access settings of a server.
#[derive(Clone, Debug, Default)]
pub struct AccessList {
    /// Accepted tokens; if there are none, every request is refused.
    pub tokens: Vec<Token>,
    /// Additional host names of this machine: `name` or `name:port`.
    pub hosts: Vec<String>,
    /// Allowed origins of web pages: `https://app.example.com`.
    pub origins: Vec<String>,
}

/// An admitted request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// An authenticated client.
    Client {
        /// Index of the client's token.
        token: usize,
        /// Origin of the web page, which may read the response.
        origin: Option<String>,
    },
    /// A CORS preflight request of a browser.
    Asking {
        /// Origin of the web page.
        origin: String,
    },
}

/// Reason to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The `Host` is not one of the server's names.
    Host,
    /// The `Origin` is not allowed.
    Origin,
    /// The token is missing.
    NoToken,
    /// The token is invalid.
    Token,
    /// The path does not exist.
    Path,
    /// The method is not supported.
    Method,
}

impl Refused {
    /// Returns the HTTP status of the response.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::NoToken | Self::Token => StatusCode::UNAUTHORIZED,
            Self::Path => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    /// Returns the text of the response.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Host => "host not allowed",
            Self::Origin => "origin not allowed",
            Self::NoToken | Self::Token => "a valid bearer token is required",
            Self::Path => "not found; the MCP endpoint is /mcp",
            Self::Method => "method not allowed; use POST, GET or DELETE",
        }
    }
}

impl RequestGuard {
    /// Creates the checks for a server that listens on an address and serves one path.
    pub(crate) fn new(address: SocketAddr, path: &'static str, access: &AccessList) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut hosts: Vec<String> = lower(&access.hosts);
        let ours = [
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "[::1]".to_owned(),
        ];
        let own = match address {
            // The wildcard address is not a host name.
            address if address.ip().is_unspecified() => None,
            SocketAddr::V4(address) => Some(address.ip().to_string()),
            SocketAddr::V6(address) => Some(format!("[{}]", address.ip())),
        };
        hosts.extend(
            ours.into_iter()
                .chain(own)
                .map(|name| format!("{name}:{}", address.port())),
        );
        let tokens = access.tokens.clone();
        Self {
            hosts,
            origins: lower(&access.origins),
            tokens,
            port: address.port(),
            path,
        }
    }

    /// Checks a request.
    pub(crate) fn admit(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Caller, Refused> {
        let host = only(headers, &HOST).ok_or(Refused::Host)?;
        let named = uri
            .authority()
            .is_none_or(|authority| self.knows(authority.as_str()));
        if !self.knows(host) || !named {
            return Err(Refused::Host);
        }
        let origin = if headers.contains_key(ORIGIN) {
            Some(
                only(headers, &ORIGIN)
                    .ok_or(Refused::Origin)?
                    .to_ascii_lowercase(),
            )
        } else {
            None
        };
        if origin
            .as_ref()
            .is_some_and(|origin| !self.origins.contains(origin))
        {
            return Err(Refused::Origin);
        }
        if *method == Method::OPTIONS
            && let Some(origin) = origin
        {
            return Ok(Caller::Asking { origin });
        }
        let token = self.token(headers)?;
        if uri.path() != self.path {
            return Err(Refused::Path);
        }
        if ![Method::POST, Method::GET, Method::DELETE].contains(method) {
            return Err(Refused::Method);
        }
        Ok(Caller::Client { token, origin })
    }

    /// Returns `true` if a host is a name of this server. Names allowed without a port match any
    /// port; our own names need our port, which may be omitted if it is the default one.
    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = host
            .rsplit_once(':')
            .filter(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
        let is = |known: &str| self.hosts.iter().any(|host| host == known);
        match name {
            Some((name, _)) => is(&host) || is(name),
            None => is(&host) || (self.port == 80 && is(&format!("{host}:80"))),
        }
    }

    /// Returns the index of the token. Always compares all tokens, so that the time does not depend
    /// on which one matches.
    fn token(&self, headers: &HeaderMap) -> Result<usize, Refused> {
        let header = only(headers, &AUTHORIZATION).ok_or(Refused::NoToken)?;
        let (scheme, word) = header.split_once(' ').ok_or(Refused::NoToken)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refused::NoToken);
        }
        let mut found = None;
        for (at, token) in self.tokens.iter().enumerate() {
            if token.is(word.trim().as_bytes()) {
                found = Some(at);
            }
        }
        found.ok_or(Refused::Token)
    }
}

/// Returns the value of a header that occurs exactly once.
fn only<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}
