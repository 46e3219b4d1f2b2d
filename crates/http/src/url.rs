//! URLs of requests.

use std::fmt;

use reqwest::Url;

/// An `http` or `https` URL without user name and password.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(Url);

/// Scheme, host and port: the scope of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlOrigin(Box<str>);

/// An error that makes a URL unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpUrlError {
    /// It cannot be parsed.
    #[error("invalid URL `{0}`")]
    Unreadable(String),
    /// The scheme is not supported.
    #[error("unsupported scheme `{0}:`; use `http:` or `https:`")]
    Scheme(String),
    /// It contains a user name or a password.
    #[error("the URL must not contain a user name or a password")]
    Userinfo,
}

/// The maximum length of a URL in bytes.
const MAX_ADDRESS: usize = 8 * 1024;

impl HttpUrl {
    /// Parses a URL.
    pub fn parse(text: &str) -> Result<Self, HttpUrlError> {
        let shown = || text.chars().take(100).collect::<String>();
        if text.len() > MAX_ADDRESS {
            return Err(HttpUrlError::Unreadable(shown()));
        }
        // Checked before parsing, so that a password never appears in an error.
        if text
            .split(['/', '?', '#'])
            .nth(2)
            .is_some_and(|host| host.contains('@'))
        {
            return Err(HttpUrlError::Userinfo);
        }
        let url = Url::parse(text).map_err(|_| HttpUrlError::Unreadable(shown()))?;
        Self::of(url)
    }

    pub(crate) fn of(url: Url) -> Result<Self, HttpUrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(HttpUrlError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HttpUrlError::Userinfo);
        }
        if url.host().is_none() {
            return Err(HttpUrlError::Unreadable(
                url.as_str().chars().take(100).collect(),
            ));
        }
        Ok(Self(url))
    }

    /// Appends a path, with an optional query, to this URL.
    #[must_use]
    pub fn below(&self, rest: &str) -> Self {
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let mut url = self.0.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{}", path.trim_start_matches('/')));
        url.set_query(query);
        url.set_fragment(None);
        Self(url)
    }

    /// Returns scheme, host and port.
    pub fn origin(&self) -> UrlOrigin {
        UrlOrigin(self.0.origin().ascii_serialization().into())
    }

    /// Returns the host as written in the URL.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns `true` if the host is this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.host().trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host
                .parse()
                .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    }

    /// Returns the URL as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl UrlOrigin {
    /// Returns the origin as text, such as `https://api.example.org`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UrlOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_schemes_and_users_are_refused() {
        for (text, fault) in [
            ("file:///etc/passwd", HttpUrlError::Scheme("file".into())),
            ("http://me:secret@host/", HttpUrlError::Userinfo),
            ("http://me:secret@host:bad/", HttpUrlError::Userinfo),
            ("https://me@host/", HttpUrlError::Userinfo),
            ("nonsense", HttpUrlError::Unreadable("nonsense".into())),
        ] {
            assert_eq!(HttpUrl::parse(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn paths_are_appended_to_the_base() {
        for (base, rest, whole) in [
            ("https://a.example", "v1/x", "https://a.example/v1/x"),
            (
                "https://a.example/p/",
                "/v1/x?alt=sse",
                "https://a.example/p/v1/x?alt=sse",
            ),
        ] {
            assert_eq!(HttpUrl::parse(base).unwrap().below(rest).as_str(), whole);
        }
    }

    #[test]
    fn origin_is_scheme_host_and_port() {
        let origin = |text| HttpUrl::parse(text).unwrap().origin();
        assert_eq!(
            origin("https://a.example/x"),
            origin("https://A.example:443/y")
        );
        assert_ne!(origin("https://a.example"), origin("http://a.example"));
        assert_ne!(
            origin("https://a.example"),
            origin("https://a.example:8443")
        );
        assert_ne!(
            origin("https://a.example"),
            origin("https://a.example.evil")
        );
    }
}
