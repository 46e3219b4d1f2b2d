//! Paths as text: without looking at the file system.

use std::path::{Component, Path, PathBuf};

/// Resolves `.` and `..` in an absolute path, without looking at links.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

/// Returns the path from a folder to another path. Both are absolute.
pub(crate) fn relative(folder: &Path, path: &Path) -> PathBuf {
    let (folder, path) = (lexical(folder), lexical(path));
    let common = folder
        .components()
        .zip(path.components())
        .take_while(|(one, two)| one == two)
        .count();
    let mut result = PathBuf::new();
    for _ in folder.components().skip(common) {
        result.push("..");
    }
    result.extend(path.components().skip(common));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_between_folders_are_relative() {
        for (folder, path, expected) in [
            (
                "/p/.claude/skills",
                "/p/.agents/skills/pdf",
                "../../.agents/skills/pdf",
            ),
            (
                "/p/skills",
                "/p/.agents/skills/pdf",
                "../.agents/skills/pdf",
            ),
            ("/p/a/../b", "/p/b/x", "x"),
        ] {
            let found = relative(Path::new(folder), Path::new(path));
            assert_eq!(found, Path::new(expected));
        }
    }
}
