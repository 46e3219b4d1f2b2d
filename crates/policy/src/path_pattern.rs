//! Path patterns of rules, with the syntax of `.gitignore`.
//!
//! `//abs` is relative to the root of the file system, `~/x` to the home folder, and `/x`, `./x`
//! and `a/x` to the project's root. A name without a slash matches at any depth. A pattern that
//! names a folder covers its contents.

use prowess_spec::wildcard::walk;

/// The folders that relative patterns and paths start from. Absolute, with forward slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspacePaths {
    /// The project's root; patterns are relative to it.
    pub root: Box<str>,
    /// The working folder of the command, if it differs from the root; paths are relative to it.
    pub cwd: Option<Box<str>>,
    /// The home folder.
    pub home: Box<str>,
}

impl Default for WorkspacePaths {
    fn default() -> Self {
        Self {
            root: "/workspace".into(),
            cwd: None,
            home: "/nonexistent".into(),
        }
    }
}

/// The pattern for the project: its root and everything below.
pub const PROJECT: &str = "./";

/// Returns a pattern that matches exactly this path.
pub(crate) fn escape(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A path that is resolved once and compared with many patterns.
#[derive(Debug)]
pub struct LocatedPath<'p> {
    name: &'p str,
    absolute: String,
}

impl<'p> LocatedPath<'p> {
    /// Resolves a path.
    pub fn new(path: &'p str, places: &WorkspacePaths) -> Self {
        Self {
            name: path,
            absolute: absolute(
                path,
                places.cwd.as_ref().unwrap_or(&places.root),
                &places.home,
            ),
        }
    }

    /// Resolves a path that is relative to a folder.
    pub fn in_folder(path: &'p str, folder: &str, places: &WorkspacePaths) -> Self {
        Self {
            name: path,
            absolute: absolute(path, folder, &places.home),
        }
    }

    /// Returns the path as it was written.
    pub fn written(&self) -> &str {
        self.name
    }

    /// Returns `true` if a pattern covers the path.
    pub fn is_in(&self, pattern: &str, places: &WorkspacePaths, anywhere: bool) -> bool {
        if pattern == "**" || pattern == "//**" {
            return true;
        }
        if pattern == PROJECT {
            return is_below(&self.absolute, &places.root);
        }
        let (base, rest, is_name) = anchor(pattern, places);
        if is_name {
            let base = if anywhere { "" } else { base };
            let inner = below(&self.absolute, base).unwrap_or_default();
            return inner
                .split('/')
                .any(|name| !name.is_empty() && name_fits(rest, name));
        }
        let Some(inner) = below(&self.absolute, base) else {
            return false;
        };
        let segments: Vec<&str> = inner.split('/').filter(|part| !part.is_empty()).collect();
        let pattern: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        // A pattern for a folder covers its contents.
        (1..=segments.len())
            .rev()
            .any(|length| segments_fit(&pattern, &segments[..length]))
    }
}

/// Splits a pattern into the folder that it is relative to and the rest. The flag is `true` for a
/// name without a slash, which matches at any depth.
fn anchor<'a>(pattern: &'a str, places: &'a WorkspacePaths) -> (&'a str, &'a str, bool) {
    let trimmed = pattern.trim_end_matches('/');
    let in_root = trimmed.strip_prefix("./").or(trimmed.strip_prefix('/'));
    let (base, rest) = if let Some(rest) = trimmed.strip_prefix("//") {
        ("", rest)
    } else if let Some(rest) = trimmed.strip_prefix("~/") {
        (&*places.home, rest)
    } else {
        (&*places.root, in_root.unwrap_or(trimmed))
    };
    (base, rest, !trimmed.contains('/'))
}

/// The part of a pattern after the folder that it is relative to.
struct Anchored<'a> {
    base: &'a str,
    segments: Vec<&'a str>,
    /// `true` for a name without a slash, which matches at any depth.
    anywhere: bool,
}

impl<'a> Anchored<'a> {
    fn new(pattern: &'a str, places: &'a WorkspacePaths) -> Self {
        let (base, rest, anywhere) = anchor(pattern, places);
        Self {
            base,
            segments: rest.split('/').filter(|part| !part.is_empty()).collect(),
            anywhere,
        }
    }
}

/// Comparisons for deny and ask rules, which match too much rather than too little.
impl LocatedPath<'_> {
    /// Returns `true` if a pattern covers the path, or the contents of the folder that the path
    /// names. With `expands`, the path is a shell pattern, and one of the names that it may expand to
    /// is enough.
    pub(crate) fn touches(&self, pattern: &str, places: &WorkspacePaths, expands: bool) -> bool {
        if self.is_in(pattern, places, true) {
            return true;
        }
        let fits = if expands { may_overlap } else { name_fits };
        let anchored = Anchored::new(pattern, places);
        if anchored.anywhere {
            let mut names = self.absolute.split('/').filter(|name| !name.is_empty());
            return names.any(|name| anchored.segments.iter().all(|wanted| fits(wanted, name)));
        }
        let whole: Vec<&str> = anchored
            .base
            .split('/')
            .filter(|part| !part.is_empty())
            .chain(anchored.segments.iter().copied())
            .collect();
        let path: Vec<&str> = self
            .absolute
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        // The folders of the base are names, not patterns.
        let known = whole.len() - anchored.segments.len();
        reaches(&whole, &path, &|at, name| {
            if at < known && !expands {
                whole[at] == name
            } else {
                fits(whole[at], name)
            }
        })
    }

    /// Returns `true` if the path is a folder that contains what a pattern names.
    pub(crate) fn holds(&self, pattern: &str, places: &WorkspacePaths) -> bool {
        let anchored = Anchored::new(pattern, places);
        let is_literal = |part: &&&str| !part.contains(['*', '?', '[', '\\']);
        let literal: Vec<&str> = anchored
            .segments
            .iter()
            .take_while(is_literal)
            .copied()
            .collect();
        let place = format!("{}/{}", anchored.base, literal.join("/"));
        is_below(place.trim_end_matches('/'), &self.absolute)
    }

    /// Returns `true` if a pattern may cover the path in some folder, because the folder is unknown.
    pub(crate) fn may_be_in(&self, pattern: &str, places: &WorkspacePaths, expands: bool) -> bool {
        if self.name.starts_with(['/', '~']) {
            return false;
        }
        let anchored = Anchored::new(pattern, places);
        if anchored.segments.last() == Some(&"**") {
            return true;
        }
        let fits = if expands { may_overlap } else { name_fits };
        let path: Vec<&str> = self
            .name
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .collect();
        (0..anchored.segments.len()).any(|from| {
            let rest = &anchored.segments[from..];
            reaches(rest, &path, &|at, name| fits(rest[at], name))
        })
    }
}

/// Returns `true` if a pattern matches a path or one of the folders that contain it. `**` matches any
/// number of names, including none.
fn reaches(pattern: &[&str], path: &[&str], fits: &dyn Fn(usize, &str) -> bool) -> bool {
    let close = |at: &mut Vec<bool>| {
        for index in 0..pattern.len() {
            if at[index] && pattern[index] == "**" {
                at[index + 1] = true;
            }
        }
    };
    let mut at = vec![false; pattern.len() + 1];
    at[0] = true;
    close(&mut at);
    for name in path {
        let mut next = vec![false; pattern.len() + 1];
        for (index, part) in pattern.iter().enumerate().filter(|(index, _)| at[*index]) {
            if *part == "**" {
                next[index] = true;
            } else if fits(index, name) {
                next[index + 1] = true;
            }
        }
        close(&mut next);
        if next[pattern.len()] {
            return true;
        }
        at = next;
    }
    false
}

/// Longest name that is compared exactly.
const LONGEST_NAME: usize = 256;

/// Returns `true` if two patterns of names may match the same name.
fn may_overlap(one: &str, other: &str) -> bool {
    let (one, other) = (pieces(one), pieces(other));
    if one.len() > LONGEST_NAME || other.len() > LONGEST_NAME {
        return true;
    }
    // `row[j]`: the rest of `one` and `other[j..]` overlap.
    let mut row = vec![false; other.len() + 1];
    for i in (0..=one.len()).rev() {
        let below = row.clone();
        for j in (0..=other.len()).rev() {
            let star = |piece: Option<&NamePiece>| piece == Some(&NamePiece::Any);
            let (a, b) = (one.get(i), other.get(j));
            row[j] = match (a, b) {
                (None, None) => true,
                _ if star(a) => below[j] || j < other.len() && row[j + 1],
                _ if star(b) => row[j + 1] || i < one.len() && below[j],
                (Some(NamePiece::Char(a)), Some(NamePiece::Char(b))) => a == b && below[j + 1],
                (Some(_), Some(_)) => below[j + 1],
                _ => false,
            };
        }
    }
    row[0]
}

/// A part of a pattern of names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamePiece {
    /// `*`
    Any,
    /// `?` or `[…]`
    One,
    Char(char),
}

fn pieces(pattern: &str) -> Vec<NamePiece> {
    let mut found = Vec::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        found.push(match c {
            '*' => NamePiece::Any,
            '?' => NamePiece::One,
            '[' => match rest
                .as_str()
                .char_indices()
                .skip(1)
                .find(|(_, c)| *c == ']')
            {
                Some((end, _)) => {
                    rest = rest.as_str()[end + 1..].chars();
                    NamePiece::One
                }
                None => NamePiece::Char('['),
            },
            '\\' => NamePiece::Char(rest.next().unwrap_or('\\')),
            c => NamePiece::Char(c),
        });
    }
    found
}

/// Returns `true` if a path is a folder or below it. Both are absolute.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    below(path, folder).is_some()
}

/// Returns `true` if a pattern covers a path. With `anywhere`, a name without a slash also matches
/// outside the project's root, as deny rules need it.
pub fn covers(pattern: &str, path: &str, places: &WorkspacePaths, anywhere: bool) -> bool {
    LocatedPath::new(path, places).is_in(pattern, places, anywhere)
}

/// Returns `true` if a path is the project's root or below it.
pub fn is_inside(path: &str, places: &WorkspacePaths) -> bool {
    below(&LocatedPath::new(path, places).absolute, &places.root).is_some()
}

/// Returns the part of an absolute path below a folder.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Returns an absolute path without `.` and `..`. Links are not followed.
pub fn absolute(path: &str, cwd: &str, home: &str) -> String {
    let joined = if path.starts_with('/') {
        path.to_owned()
    } else if path == "~" || path.starts_with("~/") {
        format!("{home}{}", &path[1..])
    } else {
        format!("{cwd}/{path}")
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Matches folders and names; `**` matches any number of them.
fn segments_fit(pattern: &[&str], path: &[&str]) -> bool {
    let is_star = |p: usize| pattern.get(p) == Some(&"**");
    let step = |p: usize, t: usize| {
        pattern
            .get(p)
            .filter(|name| name_fits(name, path[t]))
            .map(|_| 1)
    };
    // `src/**` matches the contents of `src`, and `src/**/x` also matches `src/x`.
    walk(path.len(), is_star, step).is_some_and(|(end, starred)| {
        pattern[end..].iter().all(|name| *name == "**")
            && (end == pattern.len() || end == 0 || starred)
    })
}

/// Matches one name: `*`, `?` and `[…]`.
fn name_fits(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?', '[', '\\']) {
        return pattern == name;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let step = |p: usize, t: usize| match pattern.get(p) {
        Some('?') => Some(1),
        Some('\\') if pattern.get(p + 1) == Some(&name[t]) => Some(2),
        Some('[') => class(&pattern[p..], name[t]),
        Some(c) if *c == name[t] => Some(1),
        _ => None,
    };
    walk(name.len(), |p| pattern.get(p) == Some(&'*'), step)
        .is_some_and(|(end, _)| pattern[end..].iter().all(|c| *c == '*'))
}

/// Returns the length of the class if it contains `c`.
fn class(pattern: &[char], c: char) -> Option<usize> {
    let end = pattern.iter().skip(2).position(|c| *c == ']')? + 2;
    let inner = &pattern[1..end];
    let (negated, inner) = match inner {
        ['!' | '^', rest @ ..] => (true, rest),
        _ => (false, inner),
    };
    let mut at = 0;
    let mut holds = false;
    while at < inner.len() {
        if let [from, '-', to] = inner[at..].get(..3).unwrap_or_default() {
            holds |= (*from..=*to).contains(&c);
            at += 3;
        } else {
            holds |= inner[at] == c;
            at += 1;
        }
    }
    (holds != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let places = WorkspacePaths {
            root: "/w/p".into(),
            cwd: None,
            home: "/h".into(),
        };
        let cases = [
            ("src/**", "src/a/b.rs", true),
            ("src/**", "/w/p/src/a.rs", true),
            ("src/**", "srcx/a.rs", false),
            ("src/**", "../src/a.rs", false),
            ("src/**", "src/../../x", false),
            ("src/**/x.rs", "src/x.rs", true),
            ("src/**/x.rs", "src/a/b/x.rs", true),
            ("src", "src/a.rs", true),
            ("*.rs", "a/b/c.rs", true),
            ("*.rs", "/elsewhere/c.rs", false),
            ("/etc/passwd", "/etc/passwd", false),
            ("//etc/passwd", "/etc/passwd", true),
            ("//etc", "/etc/ssh/key", true),
            ("~/.ssh/**", "/h/.ssh/id", true),
            ("~/.ssh/**", "~/.ssh/id", true),
            ("**", "/anything", true),
            ("out?.[ch]", "out1.c", true),
            ("out?.[!ch]", "out1.c", false),
            ("a/*/c", "a/b/c", true),
            ("a/*/c", "a/b/x/c", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(
                covers(pattern, path, &places, false),
                expected,
                "{pattern} {path}"
            );
        }
        assert!(covers(".env", "/elsewhere/.env", &places, true));
        for (path, expected) in [
            (".", true),
            ("/w/p", true),
            ("a/../b", true),
            ("..", false),
            ("/w/pq", false),
        ] {
            assert_eq!(is_inside(path, &places), expected, "{path}");
        }
    }
}
