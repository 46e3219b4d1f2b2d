//! Link targets.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::percent_decode_str;

/// Maximum length of a link. Bounds the search for the closing bracket.
const MAX_LINK: usize = 1024;

/// Parses a link target at the start of `text`: up to `close`, or to the end of the line for a
/// reference definition. Returns the range of the target and the length of the link.
pub(super) fn target(text: &str, close: Option<u8>) -> Option<(Range<usize>, usize)> {
    let text = close.map_or(text, |_| &text[..text.floor_char_boundary(MAX_LINK)]);
    let blanks = text.len() - text.trim_start_matches([' ', '\t']).len();
    let (target, at) = if text[blanks..].starts_with('<') {
        let end = blanks + text[blanks..].find('>')?;
        (blanks + 1..end, end + 1)
    } else {
        let mut depth = 0_usize;
        let mut end = text.len();
        for (at, byte) in text.bytes().enumerate().skip(blanks) {
            if matches!(byte, b' ' | b'\t') || byte == b')' && depth == 0 && close.is_some() {
                end = at;
                break;
            }
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        (blanks..end, end)
    };
    let (rest, end) = match close {
        Some(close) => {
            let length = memchr::memchr(close, &text.as_bytes()[at..])?;
            (&text[at..at + length], at + length + 1)
        }
        None => (&text[at..], text.len()),
    };
    // Only a title may follow the target. A path with spaces is not a link.
    let rest = rest.trim_start();
    if !rest.is_empty() && !rest.starts_with(['"', '\'', '(']) {
        return None;
    }
    (!target.is_empty()).then_some((target, end))
}

/// Returns the path of a link to a file of the skill. Returns `None` for URLs, absolute paths,
/// fragments and placeholders such as `url` or `{path}`.
pub fn relative(target: &str) -> Option<Cow<'_, str>> {
    // Most links are URLs; reject them first.
    if is_elsewhere(target.as_bytes()) {
        return None;
    }
    let path = &target[..target.find(['#', '?']).unwrap_or(target.len())];
    let mut has_slash = false;
    for (at, c) in path.char_indices() {
        match c {
            '<' | '>' | '{' | '}' | '$' | '*' | '\\' | '|' | '"' | '…' => return None,
            ':' if !has_slash => return None,
            '.' if path[at..].starts_with("...") => return None,
            '/' => has_slash = true,
            _ => {}
        }
    }
    let has_ending =
        |(stem, ending): (&str, &str)| !stem.is_empty() && (1..=8).contains(&ending.len());
    let is_file = has_slash || path.rsplit_once('.').is_some_and(has_ending);
    if path.is_empty() || path.starts_with(['/', '~', '@']) || !is_file || looks_like_host(path) {
        return None;
    }
    Some(decode(path))
}

/// Returns `true` if a target is a URL or a fragment of the same file.
pub(super) fn is_elsewhere(target: &[u8]) -> bool {
    target.starts_with(b"http") || target.starts_with(b"#")
}

/// Returns `true` for a URL without a scheme, such as `www.example.com/x`.
fn looks_like_host(path: &str) -> bool {
    let Some((first, _)) = path.split_once('/') else {
        return path.starts_with("www.");
    };
    let ending = first
        .rsplit_once('.')
        .filter(|(host, _)| !host.is_empty())
        .map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        (2..=6).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphabetic())
    })
}

/// Decodes percent-encoding; returns the path unchanged if the result is not UTF-8.
fn decode(path: &str) -> Cow<'_, str> {
    percent_decode_str(path)
        .decode_utf8()
        .unwrap_or(Cow::Borrowed(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_title_may_follow_a_target() {
        for (text, expected) in [
            ("a.md)", Some("a.md")),
            ("a.md \"The file\")", Some("a.md")),
            ("<docs/a b.md>)", Some("docs/a b.md")),
            ("docs/Event Bus.md)", None),
        ] {
            let found = target(text, Some(b')')).map(|(range, _)| &text[range]);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn relative_accepts_only_files_of_the_skill() {
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
            assert_eq!(relative(target).as_deref(), path, "{target}");
        }
    }
}
