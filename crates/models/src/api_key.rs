//! API keys, which are sent to one origin and never shown.

use std::fmt;

use prowess_http::{HttpUrl, UrlOrigin};

/// An API key. It can only be attached to requests to the origin it is bound to, and is never
/// printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    value: Box<str>,
    origin: UrlOrigin,
}

/// An invalid key. The message does not contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiKeyError {
    /// The key is empty.
    #[error("the key is empty")]
    Empty,
    /// The key contains characters that are not allowed in a header.
    #[error("the key contains invalid characters, such as a line break")]
    Invalid,
}

impl ApiKey {
    /// Creates a key from the value of a variable or the output of a command. Surrounding
    /// whitespace is removed.
    pub fn new(value: &str, origin: UrlOrigin) -> Result<Self, ApiKeyError> {
        let value = value.trim();
        if value.is_empty() {
            return Err(ApiKeyError::Empty);
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ApiKeyError::Invalid);
        }
        Ok(Self {
            value: value.into(),
            origin,
        })
    }

    /// Returns the origin that the key is bound to.
    pub fn origin(&self) -> &UrlOrigin {
        &self.origin
    }

    /// Returns the value for a request to its origin; `None` for any other.
    pub(crate) fn expose_for(&self, address: &HttpUrl) -> Option<&str> {
        (address.origin() == self.origin).then_some(&*self.value)
    }

    /// Removes the key from a text, in case a server repeats it.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&*self.value, "…")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(… for {})", self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_exposed_to_its_origin_only() {
        let at = |text| HttpUrl::parse(text).unwrap();
        let key = ApiKey::new(" sk-secret\n", at("https://api.example").origin()).unwrap();
        assert_eq!(
            key.expose_for(&at("https://api.example/v1/x")),
            Some("sk-secret")
        );
        for other in [
            "http://api.example/",
            "https://api.example:8443/",
            "https://api.example.evil/",
        ] {
            assert_eq!(key.expose_for(&at(other)), None, "{other}");
        }
        assert_eq!(format!("{key:?}"), "Key(… for https://api.example)");
        assert_eq!(key.redact("wrong key sk-secret!"), "wrong key …!");
    }

    #[test]
    fn invalid_keys_are_rejected() {
        let origin = || HttpUrl::parse("https://a.example").unwrap().origin();
        assert_eq!(ApiKey::new(" \n", origin()), Err(ApiKeyError::Empty));
        assert_eq!(ApiKey::new("a\nb", origin()), Err(ApiKeyError::Invalid));
        assert_eq!(
            ApiKey::new("schlüssel", origin()),
            Err(ApiKeyError::Invalid)
        );
    }
}
