//! A key, which goes to one place and is shown nowhere.

use std::fmt;

use prowess_http::{Address, Origin};

/// A key of a provider. It can be attached only to requests for the origin it is bound to, and
/// nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    value: Box<str>,
    origin: Origin,
}

/// Why a text is no key. It does not say which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is nothing in it.
    #[error("the key is empty")]
    Empty,
    /// It has something that cannot be sent.
    #[error("the key has characters that cannot be sent, such as a line break")]
    Unfit,
}

impl Key {
    /// Takes the value of a variable, or what a command printed; space around it does not count.
    pub fn new(value: &str, origin: Origin) -> Result<Self, KeyError> {
        let value = value.trim();
        if value.is_empty() {
            return Err(KeyError::Empty);
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Unfit);
        }
        Ok(Self {
            value: value.into(),
            origin,
        })
    }

    /// Where it may go.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Its value, for a request to where it may go and for no other.
    pub(crate) fn expose_for(&self, address: &Address) -> Option<&str> {
        (address.origin() == self.origin).then_some(&*self.value)
    }

    /// A text without the key, should somebody have repeated it.
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
    fn a_key_goes_to_its_origin_only() {
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
    fn what_is_no_key() {
        let origin = || Address::parse("https://a.example").unwrap().origin();
        assert_eq!(Key::new(" \n", origin()), Err(KeyError::Empty));
        assert_eq!(Key::new("a\nb", origin()), Err(KeyError::Unfit));
        assert_eq!(Key::new("schlüssel", origin()), Err(KeyError::Unfit));
    }
}
