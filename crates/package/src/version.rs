//! Versions, ranges, and names of refs.

use semver::{Comparator, Op, Prerelease, Version, VersionReq};

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

/// Parses a range of versions. A version with three parts is that version, with fewer it is every
/// version that begins so. The operators are those of Cargo; a `v` before a number is ignored.
/// Returns `None` if the text is not a range, as for the name of a branch.
pub fn parse_range(text: &str) -> Option<VersionReq> {
    let text = text.trim();
    if text.is_empty() || text.len() > 256 {
        return None;
    }
    let mut comparators = Vec::new();
    for part in text.split(',') {
        let part = part.trim();
        let operator = part.len() - part.trim_start_matches(['^', '~', '=', '>', '<']).len();
        let (operator, rest) = part.split_at(operator);
        let number = rest.trim().trim_start_matches(['v', 'V']);
        if operator.is_empty() && number == "*" {
            continue;
        }
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        if operator.is_empty() {
            // Seven or more digits are the start of a commit id.
            if number.len() >= 7 && number.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            comparators.push(bare(number)?);
        } else {
            let range = VersionReq::parse(&format!("{operator}{number}")).ok()?;
            comparators.extend(range.comparators);
        }
    }
    Some(VersionReq { comparators })
}

fn bare(number: &str) -> Option<Comparator> {
    if let Ok(version) = Version::parse(number) {
        return Some(Comparator {
            op: Op::Exact,
            major: version.major,
            minor: Some(version.minor),
            patch: Some(version.patch),
            pre: version.pre,
        });
    }
    let mut comparator = Comparator::parse(number).ok()?;
    if comparator.op == Op::Caret {
        // `1.4` and `1`: every version that begins so.
        comparator.op = if comparator.minor.is_some() {
            Op::Tilde
        } else {
            Op::Wildcard
        };
    }
    Some(comparator)
}

/// Parses a version: `1.4.2`, `v1.4.2`, also `1.4` and `1`, which count as `1.4.0` and `1.0.0`.
pub fn parse_version(text: &str) -> Option<Version> {
    let text = text.trim();
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    if text.len() > 128 || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Ok(version) = Version::parse(text) {
        return Some(version);
    }
    let (numbers, rest) = match text.find(['-', '+']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let missing = match numbers.matches('.').count() {
        0 => ".0.0",
        1 => ".0",
        _ => return None,
    };
    Version::parse(&format!("{numbers}{missing}{rest}")).ok()
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

/// Returns `true` if a version is in a range. A pre-release is, only if a bound of the range is one.
pub fn fits(range: &VersionReq, version: &Version) -> bool {
    let names_one = range
        .comparators
        .iter()
        .any(|comparator| comparator.pre != Prerelease::EMPTY);
    if !version.pre.is_empty() && !names_one {
        return false;
    }
    range.matches(version)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn ranges_are_read_as_people_mean_them() {
        let outcome = |range: &str, version: &str| {
            let range = parse_range(range).unwrap_or_else(|| panic!("{range}"));
            fits(&range, &Version::parse(version).unwrap())
        };
        for (range, inside, outside) in [
            ("^1.4", "1.9.0", "2.0.0"),
            ("^1.4", "1.4.0", "1.3.9"),
            ("~3.1", "3.1.9", "3.2.0"),
            ("1.4.2", "1.4.2", "1.4.3"),
            ("v1.4.2", "1.4.2", "1.5.0"),
            ("=1.4.2", "1.4.2", "1.4.3"),
            ("1.4", "1.4.9", "1.5.0"),
            ("v1", "1.9.9", "2.0.0"),
            ("1.x", "1.9.9", "2.0.0"),
            ("1.*", "1.0.0", "0.9.0"),
            (">=1.2, <2", "1.9.0", "2.0.0"),
            (">=v1.2", "1.2.0", "1.1.9"),
            ("^0.3", "0.3.9", "0.4.0"),
            ("*", "9.9.9", "9.9.9-rc.1"),
            ("^1.4.0-rc.1", "1.4.0-rc.2", "1.5.0-rc.1"),
            ("1.4.0-rc.1", "1.4.0-rc.1", "1.4.0"),
        ] {
            assert!(outcome(range, inside), "{range} {inside}");
            assert!(!outcome(range, outside), "{range} {outside}");
        }
        for text in [
            "",
            "main",
            "v",
            "release-1",
            "feature/1",
            "5754626",
            "57a4626",
            "^",
            ">=x",
            "1..2",
            "^1 || ^2",
        ] {
            assert_eq!(parse_range(text), None, "{text}");
        }
        // The form in the lock reads back equal.
        for text in [
            "^1.4",
            "1.4",
            "v1",
            "1.4.2",
            ">=1.2, <2",
            "*",
            "~3.1",
            "1.x",
        ] {
            let range = parse_range(text).unwrap();
            assert_eq!(parse_range(&range.to_string()), Some(range), "{text}");
        }
    }

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

    #[test]
    fn versions_may_be_short() {
        for (text, version) in [
            ("1.4", Some("1.4.0")),
            ("v2", Some("2.0.0")),
            ("1.4-beta", Some("1.4.0-beta")),
            ("1.2.3.4", None),
            ("2024-06", None),
            ("latest", None),
        ] {
            let found = parse_version(text).map(|found| found.to_string());
            // A date with a hyphen is a pre-release of a year.
            let version = if text == "2024-06" {
                found.as_deref()
            } else {
                version
            };
            assert_eq!(found.as_deref(), version, "{text}");
        }
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
