//! The folders to check, each once.

use std::path::PathBuf;

use prowess_catalog::Scope;
use prowess_registry::fs::{nested, skill_folders};
use prowess_registry::{LinkBounds, Place, RootContents, ScanNotice, SkillRoot};

/// The folders that are checked if no path is named.
#[derive(Clone, Debug, Default)]
pub struct VisibleRoots {
    /// All existing folders that may contain skills.
    pub folders: Vec<PathBuf>,
    /// Folders of the project that are links to the outside.
    pub notices: Vec<ScanNotice>,
    /// The links of the project that may be followed.
    pub bounds: LinkBounds,
}

/// Returns all existing folders that may contain skills.
pub fn visible_roots(place: &Place) -> VisibleRoots {
    let (nested, _) = nested::nested_roots(place);
    let roots: Vec<SkillRoot> = (skill_folders::roots(place).into_iter())
        .chain(nested)
        .collect();
    let bounds = LinkBounds::new(place, &roots);
    let (mut folders, mut notices) = (Vec::new(), Vec::new());
    for root in roots {
        if root.holds != RootContents::Skills || !root.path.is_dir() {
            continue;
        }
        let path = root.path;
        if root.scope != Scope::Project || bounds.allow(&path) {
            folders.push(path);
        } else {
            let target = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            notices.push(ScanNotice::Outside { path, target });
        }
    }
    VisibleRoots {
        folders,
        notices,
        bounds,
    }
}

/// Removes paths that are equal to another path or inside one, after resolving links.
pub fn distinct(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let real: Vec<PathBuf> = paths
        .iter()
        .map(|path| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()))
        .collect();
    let is_first = |index: usize| !real[..index].contains(&real[index]);
    let is_inside = |index: usize| {
        let is_above = |other: &&PathBuf| real[index] != **other && real[index].starts_with(other);
        real.iter().any(|other| is_above(&other))
    };
    paths
        .into_iter()
        .enumerate()
        .filter(|(index, _)| is_first(*index) && !is_inside(*index))
        .map(|(_, path)| path)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_and_duplicate_paths_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, inner) = (folder.path().join("a"), folder.path().join("a/b"));
        std::fs::create_dir_all(&inner).unwrap();
        let paths = vec![
            inner.clone(),
            outer.clone(),
            outer.join("../a"),
            "missing".into(),
        ];
        assert_eq!(distinct(paths), [outer, "missing".into()]);
    }
}
