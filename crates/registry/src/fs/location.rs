//! Components of the paths of skills, and paths as text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(super) use prowess_catalog::location::{
    escape_path as escape, plain_path, unescape_path as unescape,
};

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
}
