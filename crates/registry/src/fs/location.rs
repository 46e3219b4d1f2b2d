//! Paths of skills as text, and their components.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns the folder of a skill's file. Fast path: paths of a walk are normalized and need not be
/// split into components.
pub(super) fn folder_of(file: &Path) -> &Path {
    let bytes = file.as_os_str().as_bytes();
    match bytes.iter().rposition(|&byte| byte == b'/') {
        Some(slash @ 1..) if slash + 1 < bytes.len() && bytes[slash - 1] != b'/' => {
            Path::new(OsStr::from_bytes(&bytes[..slash]))
        }
        _ => file.parent().unwrap_or(file),
    }
}

/// Returns a path relative to a root, or the whole path if it is not below the root.
pub(super) fn below<'p>(path: &'p Path, root: &Path) -> &'p Path {
    let root_bytes = root.as_os_str().as_bytes();
    let rest = path.as_os_str().as_bytes().strip_prefix(root_bytes);
    match rest.filter(|_| !root_bytes.is_empty()) {
        Some([b'/', inner @ ..]) if !matches!(inner, [] | [b'/' | b'.', ..]) => {
            Path::new(OsStr::from_bytes(inner))
        }
        _ => path.strip_prefix(root).unwrap_or(path),
    }
}

/// Returns the path that identifies a skill. If the location equals the path of the file, the id is
/// a slice of it and need not be escaped again.
pub(super) fn id_path(location: &str, file: &Path, folder: &Path, inner: &Path) -> Box<str> {
    if inner.as_os_str().is_empty() {
        return ".".into();
    }
    let end = folder.as_os_str().len();
    let start = end.saturating_sub(inner.as_os_str().len());
    let is_same = location.len() == file.as_os_str().len();
    location
        .get(start..end)
        .filter(|_| is_same)
        .map_or_else(|| escape(inner), Box::from)
}

/// Converts a path to text without loss: bytes that are not UTF-8 become `\xNN`, and so does a
/// backslash that looks like the start of such an escape.
pub(super) fn escape(path: &Path) -> Box<str> {
    // Backslashes are rare, and searching for one byte is faster than for two.
    let is_plain = |text: &&str| !text.as_bytes().contains(&b'\\') || !text.contains("\\x");
    if let Some(text) = path.to_str().filter(is_plain) {
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

/// Converts the text written by [`escape`] back to a path.
pub(super) fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        let digits = rest.get(at + 2..at + 4);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        // Only escapes that `escape` writes; anything else is literal.
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
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_helpers_agree_with_the_standard_library() {
        let files = [
            "/r/a/SKILL.md",
            "/r/SKILL.md",
            "/SKILL.md",
            "SKILL.md",
            "/r//a/SKILL.md",
            "/r/a//SKILL.md",
            "/r/./a/SKILL.md",
            "/r/.a/SKILL.md",
            "/ra/SKILL.md",
            "/r/a/",
            "/r/a",
            "/",
            "",
            "r/a/SKILL.md",
            "/r/é/\\x41/SKILL.md",
        ];
        for file in files.map(Path::new) {
            let folder = folder_of(file);
            assert_eq!(folder, file.parent().unwrap_or(file), "{file:?}");
            for root in ["/r", "/r/", "/", "/r/.", "", "r", "/other"].map(Path::new) {
                let inner = folder.strip_prefix(root).unwrap_or(folder);
                assert_eq!(below(folder, root), inner, "{file:?} {root:?}");
                let expected = if inner.as_os_str().is_empty() {
                    ".".into()
                } else {
                    escape(inner)
                };
                let found = id_path(&escape(file), file, folder, below(folder, root));
                assert_eq!(found, expected, "{file:?} {root:?}");
            }
        }
    }

    #[test]
    fn escaped_paths_round_trip() {
        for bytes in [
            &b"a/b"[..],
            b"a\\xb",
            b"a\\x41",
            b"\xff/\\x5Cx",
            b"\\x",
            "é\\".as_bytes(),
        ] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(unescape(&escape(path)), path);
        }
    }
}
