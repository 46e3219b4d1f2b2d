//! The folders to check, each once.

use std::path::PathBuf;

use prowess_registry::fs::{nested, skill_folders};
use prowess_registry::{Place, RootContents};

/// Returns all existing folders that may contain skills.
pub fn visible_roots(place: &Place) -> Vec<PathBuf> {
    let (nested, _) = nested::nested_roots(place);
    skill_folders::roots(place)
        .into_iter()
        .chain(nested)
        .filter(|root| root.holds == RootContents::Skills && root.path.is_dir())
        .map(|root| root.path)
        .collect()
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
