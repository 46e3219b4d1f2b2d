//! Paths of files inside a skill.

/// A path relative to a skill's folder that cannot leave it: no `..` above the root, no absolute
/// path or drive, no backslash, no NUL. Uses forward slashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourcePath(Box<str>);

/// The reason why a path is not a [`ResourcePath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// Empty after normalisation.
    Empty,
    /// Starts at a root or a drive.
    Absolute,
    /// Leaves the skill's folder through `..`.
    Escapes,
    /// Contains a NUL byte or a backslash.
    Characters,
}

impl ResourcePath {
    /// Normalises and validates a path: `./a//b/../c` becomes `a/c`.
    pub fn new(raw: &str) -> Result<Self, PathFault> {
        if raw.contains(['\0', '\\']) {
            return Err(PathFault::Characters);
        }
        let drive = raw.as_bytes().get(1) == Some(&b':') && raw.as_bytes()[0].is_ascii_alphabetic();
        if raw.starts_with('/') || drive {
            return Err(PathFault::Absolute);
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in raw.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or(PathFault::Escapes)?;
                }
                name => parts.push(name),
            }
        }
        if parts.is_empty() {
            Err(PathFault::Empty)
        } else {
            Ok(Self(parts.join("/").into()))
        }
    }

    /// Returns the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ResourcePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_are_normalised() {
        for (raw, clean) in [
            ("a", "a"),
            ("./a//b/", "a/b"),
            ("a/../b/./c", "b/c"),
            ("références/é.md", "références/é.md"),
        ] {
            assert_eq!(
                ResourcePath::new(raw).map(|p| p.to_string()),
                Ok(clean.to_owned()),
                "{raw}"
            );
        }
    }

    #[test]
    fn paths_outside_are_rejected() {
        for (raw, fault) in [
            ("", PathFault::Empty),
            ("a/..", PathFault::Empty),
            ("..", PathFault::Escapes),
            ("a/../../b", PathFault::Escapes),
            ("/etc/passwd", PathFault::Absolute),
            ("C:/x", PathFault::Absolute),
            ("a\\b", PathFault::Characters),
            ("a\0b", PathFault::Characters),
        ] {
            assert_eq!(ResourcePath::new(raw), Err(fault), "{raw:?}");
        }
    }
}
