//! Who may come in over HTTP: looked at before anything else, for every method and path.
//!
//! A server on this machine is reachable for every page in a browser and every program of every
//! user. [`RequestGuard`] lets in who calls the server by a name of its own, comes from no page or from one
//! that was named, and knows the [`Token`].

mod token;

use std::net::SocketAddr;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, Method, StatusCode, Uri};

pub use token::{Token, TokenError};

/// Who may come in.
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

/// Whom a server lets in.
#[derive(Clone, Debug, Default)]
pub struct AccessList {
    /// Tokens that clients must know, one of them each; without any nobody comes in.
    pub tokens: Vec<Token>,
    /// Further names of this machine, beside the local ones: `name`, or `name:port`.
    pub hosts: Vec<String>,
    /// Web pages that may talk to the server: `https://app.example.com`.
    pub origins: Vec<String>,
}

/// Somebody who may come in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A client that knows the token of this number.
    Client {
        /// The number.
        token: usize,
        /// The web page that it comes from, which may read the answer.
        origin: Option<String>,
    },
    /// A browser that asks whether a page may ask.
    Asking {
        /// The page.
        origin: String,
    },
}

/// Somebody who may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It calls the server by a name that is none of its own.
    Host,
    /// It comes from a page that was not named.
    Origin,
    /// It has no token.
    NoToken,
    /// It has a wrong one.
    Token,
    /// There is nothing at the path.
    Path,
    /// The method means nothing here.
    Method,
}

impl Refused {
    /// The status of the answer.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::NoToken | Self::Token => StatusCode::UNAUTHORIZED,
            Self::Path => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    /// What the answer says.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Host => "this server is not known by that name",
            Self::Origin => "pages from there may not talk to this server",
            Self::NoToken | Self::Token => "a bearer token is needed",
            Self::Path => "there is nothing at this path; the protocol is spoken at /mcp",
            Self::Method => "only POST, GET and DELETE are used here",
        }
    }
}

impl RequestGuard {
    /// A guard for a server at an address, whose one path this is.
    pub(crate) fn new(address: SocketAddr, path: &'static str, access: &AccessList) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut hosts: Vec<String> = lower(&access.hosts);
        let ours = [
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "[::1]".to_owned(),
        ];
        let own = match address {
            // Every address of the machine is no name for it.
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

    /// Looks at a request.
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

    /// Whether a host is a name of this server. A name that was allowed without a port goes with
    /// any; ours go with our port, which may be left out where it is the usual one.
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

    /// Which token it is. All are compared, whichever fits.
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

/// A header that stands once, as text.
fn only<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}
