//! Versions of skills, ranges of versions, and names with a range: `pdf@^2`.

use semver::{Comparator, Op, Prerelease, Version, VersionReq};

/// Splits `NAME@RANGE` at the last `@`. Returns `None` if the text after it is not a range of
/// versions.
pub fn split_range(asked: &str) -> Option<(&str, VersionReq)> {
    let (name, range) = asked.rsplit_once('@')?;
    let range = parse_range(range).filter(|_| !name.is_empty())?;
    Some((name, range))
}

/// Returns `true` if a skill with this version satisfies a range. A text that is not a semantic
/// version, and no version at all, satisfy none.
pub fn satisfies(range: &VersionReq, version: Option<&str>) -> bool {
    let version = version.and_then(parse_version);
    version.is_some_and(|version| fits(range, &version))
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
    use super::*;

    #[test]
    fn names_may_have_a_range() {
        let split = |asked: &'static str| split_range(asked).map(|(name, _)| name);
        for (asked, name) in [
            ("pdf@^2", Some("pdf")),
            ("user:pdf@1.4", Some("user:pdf")),
            ("a@b@>=1, <2", Some("a@b")),
            ("pdf@main", None),
            ("pdf@", None),
            ("@^2", None),
            ("pdf", None),
        ] {
            assert_eq!(split(asked), name, "{asked}");
        }
        let range = parse_range("^1.4").unwrap();
        for (version, is_inside) in [
            (Some("1.4.2"), true),
            (Some("v1.9"), true),
            (Some("2.0.0"), false),
            (Some("latest"), false),
            (None, false),
        ] {
            assert_eq!(satisfies(&range, version), is_inside, "{version:?}");
        }
    }

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
}
