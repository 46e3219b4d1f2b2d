//! Paths for display.

use std::path::Path;

/// Returns a path for display: relative to `current` if it is inside it, with `~` for `home`.
pub fn display_path(path: &Path, current: &Path, home: Option<&Path>) -> String {
    let at_home = || {
        home.and_then(|home| path.strip_prefix(home).ok())
            .filter(|_| path.is_absolute())
    };
    match (inside(path, current), at_home()) {
        (Some(rest), _) => rest.display().to_string(),
        (None, Some(rest)) => format!("~/{}", rest.display()),
        (None, None) => without_dot(path).display().to_string(),
    }
}

/// Returns a path that programs can open: relative to `current` if it is inside it, else unchanged.
pub fn plain_path(path: &Path, current: &Path) -> String {
    inside(path, current)
        .unwrap_or(without_dot(path))
        .display()
        .to_string()
}

/// Removes a leading `./`; keeps `.`.
fn without_dot(path: &Path) -> &Path {
    let rest = path
        .strip_prefix(".")
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty());
    rest.unwrap_or(path)
}

fn inside<'p>(path: &'p Path, current: &Path) -> Option<&'p Path> {
    path.strip_prefix(current)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_paths_use_tilde_and_plain_paths_do_not() {
        let (current, home) = (Path::new("/dwelling/work"), Some(Path::new("/dwelling")));
        let show = |path: &str| display_path(Path::new(path), current, home);
        assert_eq!(show("/dwelling/work/a"), "a");
        assert_eq!(show("/dwelling/b"), "~/b");
        assert_eq!(show("/etc/c"), "/etc/c");
        assert_eq!(plain_path(Path::new("/dwelling/b"), current), "/dwelling/b");
        assert_eq!(plain_path(Path::new("./d"), current), "d");
        assert_eq!((show("./d").as_str(), show(".").as_str()), ("d", "."));
        assert_eq!(plain_path(Path::new("."), current), ".");
    }
}
