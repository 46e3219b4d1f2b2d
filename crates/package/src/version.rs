//! Versions in the names of tags, and names of refs.

pub use prowess_catalog::version::{fits, parse_range, parse_version};
use semver::Version;

/// The rule of `git check-ref-format` that a name violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefFault {
    /// Empty.
    Empty,
    /// Longer than 1,024 bytes.
    TooLong,
    /// Begins with a hyphen.
    Hyphen,
    /// A part begins with a dot or ends with `.lock`.
    Part,
    /// Has `..`.
    TwoDots,
    /// Has a control character, a blank, or one of `~^:?*[\`.
    Character,
    /// Begins or ends with a slash, or has two in a row.
    Slash,
    /// Ends with a dot.
    EndDot,
    /// Has `@{`, or is `@`.
    At,
}

impl std::fmt::Display for RefFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::TooLong => "it is too long",
            Self::Hyphen => "it begins with a hyphen",
            Self::Part => "a part of it begins with a dot or ends with `.lock`",
            Self::TwoDots => "it has two dots in a row",
            Self::Character => "it has a character that git does not allow",
            Self::Slash => "it has a slash at its start or end, or two in a row",
            Self::EndDot => "it ends with a dot",
            Self::At => "it has `@{`, or is `@`",
        })
    }
}

/// Returns the first rule for names of tags and branches that a name violates.
pub fn ref_fault(name: &str) -> Option<RefFault> {
    let is_refused = |c: char| {
        c.is_control() || c == ' ' || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\')
    };
    let is_bad_part = |part: &str| part.starts_with('.') || part.strip_suffix(".lock").is_some();
    Some(match name {
        "" => RefFault::Empty,
        _ if name.len() > 1024 => RefFault::TooLong,
        _ if name.starts_with('-') => RefFault::Hyphen,
        _ if name == "@" || name.contains("@{") => RefFault::At,
        _ if name.contains("..") => RefFault::TwoDots,
        _ if name.contains(is_refused) => RefFault::Character,
        _ if name.split('/').any(str::is_empty) => RefFault::Slash,
        _ if name.ends_with('.') => RefFault::EndDot,
        _ if name.split('/').any(is_bad_part) => RefFault::Part,
        _ => return None,
    })
}

/// Returns `true` for a whole commit id: 40 or 64 hexadecimal digits.
pub fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns `true` for the start of a commit id: 4 to 64 hexadecimal digits.
pub fn is_short_id(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the version in the name of a tag: `v1.4.2`, `1.4.2`, `NAME-v1.4.2`, `NAME@1.4.2`,
/// `NAME/v1.4.2`, or the text after `prefix`. Tags must have all three numbers.
pub fn tag_version(tag: &str, package: Option<&str>, prefix: Option<&str>) -> Option<Version> {
    let number = |text: &str| Version::parse(text.strip_prefix('v').unwrap_or(text)).ok();
    if let Some(prefix) = prefix {
        return number(tag.strip_prefix(prefix)?);
    }
    if let Some(version) = number(tag) {
        return Some(version);
    }
    let rest = tag.strip_prefix(package?)?;
    let rest = rest.strip_prefix(['-', '@', '/'])?;
    number(rest)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn tags_have_versions_in_five_forms() {
        for (tag, version) in [
            ("v1.4.2", Some("1.4.2")),
            ("1.4.2", Some("1.4.2")),
            ("pdf-v1.4.2", Some("1.4.2")),
            ("pdf-1.4.2", Some("1.4.2")),
            ("pdf@1.4.2", Some("1.4.2")),
            ("pdf/v1.4.2", Some("1.4.2")),
            ("v1.4.2-rc.1", Some("1.4.2-rc.1")),
            ("other-v1.4.2", None),
            ("v1.4", None),
            ("v1", None),
            ("release", None),
            ("pdfv1.4.2", None),
        ] {
            let found = tag_version(tag, Some("pdf"), None).map(|found| found.to_string());
            assert_eq!(found.as_deref(), version, "{tag}");
        }
        let with = |tag| tag_version(tag, Some("pdf"), Some("review-"));
        assert_eq!(with("review-v2.0.0"), Some(Version::new(2, 0, 0)));
        assert_eq!(with("v2.0.0"), None);
    }

    /// The rules are those of the program.
    #[test]
    fn names_of_refs_are_judged_as_git_does() {
        for name in [
            "main",
            "v1.2",
            "feature/x",
            "a.b",
            "pdf@1.2.3",
            "é",
            "a..b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a/",
            "/a",
            "a//b",
            "a b",
            "a~b",
            "a^b",
            "a:b",
            "a?b",
            "a*b",
            "a[b",
            "a\\b",
            "a.",
            "a@{b",
            "a\u{7f}",
            "a\tb",
            "-a",
            "a{b",
            "a.lockx",
            "@a",
            "a@",
        ] {
            let is_allowed = Command::new("git")
                .args(["check-ref-format", "--branch", name])
                .output()
                .unwrap()
                .status
                .success();
            assert_eq!(ref_fault(name).is_none(), is_allowed, "{name:?}");
        }
        assert_eq!(ref_fault(""), Some(RefFault::Empty));
        // `--branch` reads it as `HEAD`.
        assert_eq!(ref_fault("@"), Some(RefFault::At));
    }
}
