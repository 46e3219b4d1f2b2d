//! API keys, which are sent to one origin and never shown.

use std::fmt;

use prowess_http::{Address, Origin};

/// An API key. It can only be attached to requests to the origin it is bound to, and is never
/// printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    value: Box<str>,
    origin: Origin,
}

/// An invalid key. The message does not contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key is empty.
    #[error("the key is empty")]
    Empty,
    /// The key contains characters that are not allowed in a header.
    #[error("the key contains invalid characters, such as a line break")]
    Invalid,
}

impl Key {
    /// Creates a key from the value of a variable or the output of a command. Surrounding
    /// whitespace is removed.
    pub fn new(value: &str, origin: Origin) -> Result<Self, KeyError> {
        let value = value.trim();
        if value.is_empty() {
            return Err(KeyError::Empty);
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Invalid);
        }
        Ok(Self {
            value: value.into(),
            origin,
        })
    }

    /// Returns the origin that the key is bound to.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the value for a request to its origin; `None` for any other.
    pub(crate) fn expose_for(&self, address: &Address) -> Option<&str> {
        (address.origin() == self.origin).then_some(&*self.value)
    }

    /// Removes the key from a text, in case a server repeats it.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&*self.value, "…")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(… for {})", self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_exposed_to_its_origin_only() {
        let at = |text| Address::parse(text).unwrap();
        let key = Key::new(" sk-secret\n", at("https://api.example").origin()).unwrap();
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
        let origin = || Address::parse("https://a.example").unwrap().origin();
        assert_eq!(Key::new(" \n", origin()), Err(KeyError::Empty));
        assert_eq!(Key::new("a\nb", origin()), Err(KeyError::Invalid));
        assert_eq!(Key::new("schlüssel", origin()), Err(KeyError::Invalid));
    }
}
