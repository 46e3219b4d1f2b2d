//! A link that leaves the skill's folder.

use std::borrow::Cow;

use prowess_diag::wording;

use super::{Finding, Levels, Sink, Subject};
use crate::body::ItemKind;
use crate::resource_path::{PathFault, ResourcePath};

rule!("link-outside", Levels::of("WWN"), None, "a link leads out of the skill's folder");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for item in &skill.body().items {
        let ItemKind::Link { target } = item.kind else { continue };
        let Some(path) = relative_target(target.of(parsed.text)) else { continue };
        if ResourcePath::new(&path) == Err(PathFault::Escapes) {
            out.report(
                Finding::at(target, format!("the link {} leads out of the skill's folder", wording::tick(&path)))
                    .label("a skill travels alone; what lies beside it may not be there")
                    .help("copy the file into the skill, or name the other skill in words"),
            );
        }
    }
}

/// The path of a link that means a file of the skill: no scheme, no root, no fragment, and not a
/// stand-in such as `url` or `{path}`.
pub(super) fn relative_target(target: &str) -> Option<Cow<'_, str>> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let is_stand_in = path.contains(['<', '>', '{', '}', '$', '*', '\\', '|', '"']) || path.contains("...") || path.contains('…');
    let has_scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    let is_file = path.contains('/') || path.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty() && ending.len() <= 8);
    let starts_well = !path.starts_with(['/', '~', '@']);
    if path.is_empty() || is_stand_in || has_scheme || !is_file || !starts_well || looks_like_host(path) {
        return None;
    }
    Some(decode(path))
}

/// `www.example.com/x` without a scheme is an address, not a file.
fn looks_like_host(path: &str) -> bool {
    let Some((first, _)) = path.split_once('/') else { return path.starts_with("www.") };
    let ending = first.rsplit_once('.').filter(|(host, _)| !host.is_empty()).map(|(_, ending)| ending);
    ending.is_some_and(|ending| (2..=6).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// Undoes percent-encoding, where it gives text.
fn decode(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(path), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_skill_count() {
        for (target, path) in [
            ("references/a.md", Some("references/a.md")),
            ("./a.md#part", Some("./a.md")),
            ("a%20b.md", Some("a b.md")),
            ("dir/", Some("dir/")),
            ("https://x.org/a.md", None),
            ("mailto:a@b.c", None),
            ("#part", None),
            ("url", None),
            ("{path}.md", None),
            ("/abs.md", None),
            ("www.x.org/a.md", None),
            ("example.co.uk/a.md", None),
            ("v1.2/a.md", Some("v1.2/a.md")),
            ("a%+1.md", Some("a%+1.md")),
            ("", None),
        ] {
            assert_eq!(relative_target(target).as_deref(), path, "{target}");
        }
    }
}
