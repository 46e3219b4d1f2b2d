//! The location of a skill, and paths as text.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The location of a skill: the path of its file, or a label if it is not on disk.
///
/// The text is for display and for documents. It is not a path: bytes that are not UTF-8 are
/// escaped in it, and so is `\x`, so that another file may have the text as its name. Only
/// [`Location::path`] returns the path of the file, and there is no conversion from this type to a
/// path or to a string that would hide the difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(Box<str>);

impl Location {
    /// Returns the location of a file.
    pub fn of_path(path: &Path) -> Self {
        Self(escape_path(path))
    }

    /// Returns a location from its text, or from the label of a skill that is not on disk.
    pub fn from_text(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for display and for documents.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns the path of the file. Meaningless for a skill that is not on disk.
    pub fn path(&self) -> Cow<'_, Path> {
        unescape_path(&self.0)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a path as text if [`escape_path`] would not change it.
pub fn plain_path(path: &Path) -> Option<&str> {
    // Backslashes are rare, and searching for one byte is faster than for two.
    let is_plain = |text: &&str| !text.as_bytes().contains(&b'\\') || !text.contains("\\x");
    path.to_str().filter(is_plain)
}

/// Converts a path to text without loss: bytes that are not UTF-8 become `\xNN`, and so does a
/// backslash that looks like the start of such an escape.
pub fn escape_path(path: &Path) -> Box<str> {
    if let Some(text) = plain_path(path) {
        return text.into();
    }
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace("\\x", "\\x5Cx"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text.into()
}

/// Converts the text written by [`escape_path`] back to the path.
pub fn unescape_path(text: &str) -> Cow<'_, Path> {
    if plain_path(Path::new(text)).is_some() {
        return Cow::Borrowed(Path::new(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        let digits = rest.get(at + 2..at + 4);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        // Only escapes that `escape_path` writes; anything else is literal.
        if let Some(byte) = byte.filter(|byte| *byte >= 0x80 || *byte == b'\\') {
            bytes.extend_from_slice(&rest.as_bytes()[..at]);
            bytes.push(byte);
            rest = &rest[at + 4..];
        } else {
            bytes.extend_from_slice(&rest.as_bytes()[..at + 2]);
            rest = &rest[at + 2..];
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Cow::Owned(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn location_returns_the_same_path() {
        let paths = [
            &b"a/b"[..],
            b"a\\xb",
            b"a\\x41",
            b"a\\x5Cx41",
            b"a\\x5Cx5Cx41",
            b"a\\x5C",
            b"\xff/\\x5Cx",
            b"a\\\xffx41",
            b"\\x",
            "é\\".as_bytes(),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for bytes in paths {
            let path = Path::new(OsStr::from_bytes(bytes));
            let location = Location::of_path(path);
            assert_eq!(location.path(), path);
            assert!(seen.insert(location.text().to_owned()), "{location}");
        }
    }
}
