//! Cuts frontmatter into its top-level entries.

use std::ops::Range;

use crate::fields::{self, Home};

/// One top-level entry.
pub(super) struct Piece {
    /// Its text, from the key on.
    pub(super) range: Range<usize>,
    /// The blanks before its key, where they are not those of the other keys.
    pub(super) indent: Option<Range<usize>>,
}

/// A block of YAML as entries.
pub(super) struct Pieces {
    pub(super) all: Vec<Piece>,
    /// The blanks before a key.
    pub(super) margin: usize,
}

/// Cuts a block of YAML into its top-level entries: each begins with a key at the margin, or with
/// a key of the standard below a value that is complete.
pub(super) fn pieces(text: &str) -> Pieces {
    let lines = lines(text);
    let contents = || lines.iter().map(|line| &text[line.clone()]);
    let margin = contents()
        .filter(|line| has_known_key(line))
        .map(indent)
        .min()
        .unwrap_or(0);
    let mut pieces: Vec<Piece> = Vec::new();
    for line in &lines {
        let content = &text[line.clone()];
        let is_blank = content.trim().is_empty() || content.trim_start().starts_with('#');
        let key = leading_key(content.trim_start());
        let stands_alone = |key: &str| {
            let above = pieces.last().map(|last| &text[last.range.clone()]);
            is_known(key)
                && above.is_none_or(|above| may_follow(above, key))
                && contents().all(|line| at_margin(line, margin) != Some(key))
        };
        let above = pieces.last().map_or("", |last| &text[last.range.clone()]);
        let opens = at_margin(content, margin)
            .is_some_and(|key| !closes(above, content, key) && !is_in_block(above, key))
            || content
                .get(margin..)
                .and_then(bare_key)
                .is_some_and(|key| contents().all(|line| at_margin(line, margin) != Some(key)));
        let is_astray = !opens && key.is_some_and(stands_alone);
        let start = line.start + indent(content);
        match pieces.last_mut() {
            Some(last) if !opens && !is_astray => last.range.end = line.end,
            None if is_blank => {}
            _ => {
                let indent = is_astray.then_some(line.start..start);
                let from = if opens || is_astray {
                    start
                } else {
                    line.start
                };
                pieces.push(Piece {
                    range: from..line.end,
                    indent,
                });
            }
        }
    }
    Pieces {
        all: pieces,
        margin,
    }
}

/// The key that stands at the margin.
fn at_margin(line: &str, margin: usize) -> Option<&str> {
    let rest = line.get(margin..).filter(|_| indent(line) == margin)?;
    leading_key(rest).or_else(|| glued_key(rest))
}

/// Whether a key of the format that is indented below an entry is an entry of its own: the one
/// above has its value already, and prose may well have a line that begins like another key.
fn may_follow(above: &str, key: &str) -> bool {
    let first = above.lines().next().unwrap_or_default();
    let value = first.split_once(':').map_or("", |(_, value)| value.trim());
    let is_standard = fields::find(key).is_some_and(|field| field.home == Home::Standard);
    is_complete(value) && (is_standard || leading_key(above) == Some("name") && is_known(key))
}

/// Whether a value ends on its line, as far as its first and last character tell.
pub(super) fn is_complete(value: &str) -> bool {
    let ends_with = |mark| value.len() > 1 && value.ends_with(mark);
    match value.chars().next() {
        None | Some('|' | '>' | '&' | '!' | '#') => false,
        Some(mark @ ('"' | '\'')) => ends_with(mark),
        Some('[') => ends_with(']'),
        Some('{') => ends_with('}'),
        Some(_) => true,
    }
}

/// A required key that no colon follows: `description Fills forms`.
pub(super) fn bare_key(line: &str) -> Option<&'static str> {
    let keys = ["name", "description"].into_iter();
    keys.filter(|_| leading_key(line).is_none()).find(|key| {
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| {
            rest.starts_with([' ', ';', '=']) && !rest.trim_start().starts_with(':')
        })
    })
}

/// Whether a sentence at the margin is text of a block scalar that has none yet.
fn is_in_block(above: &str, key: &str) -> bool {
    let mut lines = above.lines();
    let first = lines.next().unwrap_or_default();
    let is_block = first
        .split_once(':')
        .is_some_and(|(_, value)| matches!(value.trim(), ">" | "|" | ">-" | "|-" | ">+" | "|+"));
    let is_empty = lines.all(|line| line.trim().is_empty() || indent(line) == 0);
    is_block && is_empty && key.contains(' ') && !is_known(key)
}

/// Whether a line that looks like a key closes a quotation mark that an entry leaves open.
fn closes(above: &str, line: &str, key: &str) -> bool {
    let first = above.lines().next().unwrap_or_default();
    let value = first.split_once(':').map_or("", |(_, value)| value.trim());
    let mark = value
        .chars()
        .next()
        .filter(|mark| ['"', '\''].contains(mark));
    !is_known(key)
        && !is_complete(value)
        && mark.is_some_and(|mark| line.trim_end().ends_with(mark))
}

pub(super) fn has_known_key(line: &str) -> bool {
    leading_key(line.trim_start()).is_some_and(is_known)
}

fn is_known(key: &str) -> bool {
    fields::find(key).is_some()
}

/// Ranges of the lines of a text, line breaks included.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let range = at..at + line.len();
            at = range.end;
            range
        })
        .collect()
}

/// How many blanks a line begins with.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// The key at the very start of a line, if the line is `key:` or `key: …`.
pub(super) fn leading_key(line: &str) -> Option<&str> {
    let end = line.find(':')?;
    let key = &line[..end];
    let plain = key
        .chars()
        .all(|c| c.is_alphanumeric() || "_-. ".contains(c))
        && key.trim() == key
        && !key.is_empty()
        && !key.starts_with('-');
    let ends = line[end + 1..]
        .chars()
        .next()
        .is_none_or(char::is_whitespace);
    // More than three words before a colon are a sentence, not a key.
    (plain && ends && key.split(' ').count() <= 3).then_some(key)
}

/// A key we know whose colon has no blank behind it: `description:Fills forms`.
pub(super) fn glued_key(line: &str) -> Option<&'static str> {
    let (key, rest) = line.split_once(':')?;
    let field = fields::find(key)?;
    rest.starts_with(|c: char| !c.is_whitespace())
        .then_some(field.key)
}
