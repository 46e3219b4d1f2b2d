//! Paths of skills as text, and parts of them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The folder of a skill's file. Paths of a walk are made of names with one slash between them, and
/// need not be taken apart into all their parts.
pub(super) fn folder_of(file: &Path) -> &Path {
    let bytes = file.as_os_str().as_bytes();
    match bytes.iter().rposition(|&byte| byte == b'/') {
        Some(slash @ 1..) if slash + 1 < bytes.len() && bytes[slash - 1] != b'/' => {
            Path::new(OsStr::from_bytes(&bytes[..slash]))
        }
        _ => file.parent().unwrap_or(file),
    }
}

/// A path as it is below a root; the whole path where it is not.
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

/// The path that identifies a skill. Where the location says the same as the file's path, it is a
/// part of that text, and need not be looked at again.
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

/// A path as text from which it can be made again: bytes that are not UTF-8 become `\xNN`, and so
/// does a backslash that would look like one of those.
pub(super) fn escape(path: &Path) -> Box<str> {
    // Hardly any path has a backslash, and one byte is found faster than two.
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

/// The path that [`escape`] wrote.
pub(super) fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        let digits = rest.get(at + 2..at + 4);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        // Only what `escape` writes so; anything else stands for itself.
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
    fn parts_of_paths_are_those_of_the_standard_library() {
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
    fn a_path_comes_back_as_it_was() {
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
