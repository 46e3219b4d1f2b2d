//! Splits frontmatter into its top-level entries.

use std::ops::Range;

use crate::fields::{self, FieldOrigin};

/// One top-level entry.
pub(super) struct EntryText {
    /// The entry's text, from its key.
    pub(super) range: Range<usize>,
    /// The indentation of its key, if it differs from the other keys.
    pub(super) indent: Option<Range<usize>>,
}

/// The top-level entries of a block of YAML.
pub(super) struct TopLevelEntries {
    pub(super) all: Vec<EntryText>,
    /// The width of the indentation of the keys.
    pub(super) margin: usize,
}

/// Splits a block of YAML into top-level entries. An entry starts with a key at the margin, or with
/// a known key that follows a complete value.
pub(super) fn split(text: &str) -> TopLevelEntries {
    let lines = lines(text);
    let contents = || lines.iter().map(|line| &text[line.clone()]);
    let margin = contents()
        .filter(|line| has_known_key(line))
        .map(indent)
        .min()
        .unwrap_or(0);
    let mut pieces: Vec<EntryText> = Vec::new();
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
                pieces.push(EntryText {
                    range: from..line.end,
                    indent,
                });
            }
        }
    }
    TopLevelEntries {
        all: pieces,
        margin,
    }
}

/// Returns the key at the margin.
fn at_margin(line: &str, margin: usize) -> Option<&str> {
    let rest = line.get(margin..).filter(|_| indent(line) == margin)?;
    leading_key(rest).or_else(|| glued_key(rest))
}

/// Returns `true` if an indented known key starts a new entry: the entry above has a complete
/// value, and the key is unlikely to be prose.
fn may_follow(above: &str, key: &str) -> bool {
    let first = above.lines().next().unwrap_or_default();
    let value = first.split_once(':').map_or("", |(_, value)| value.trim());
    let is_standard = fields::find(key).is_some_and(|field| field.home == FieldOrigin::Standard);
    is_complete(value) && (is_standard || leading_key(above) == Some("name") && is_known(key))
}

/// Returns `true` if a value ends on its line, judging by its first and last character.
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

/// Returns a required key that is not followed by a colon: `description Fills forms`.
pub(super) fn bare_key(line: &str) -> Option<&'static str> {
    let keys = ["name", "description"].into_iter();
    keys.filter(|_| leading_key(line).is_none()).find(|key| {
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| {
            rest.starts_with([' ', ';', '=']) && !rest.trim_start().starts_with(':')
        })
    })
}

/// Returns `true` if a sentence at the margin is the content of a block scalar that is still empty.
fn is_in_block(above: &str, key: &str) -> bool {
    let mut lines = above.lines();
    let first = lines.next().unwrap_or_default();
    let is_block = first
        .split_once(':')
        .is_some_and(|(_, value)| matches!(value.trim(), ">" | "|" | ">-" | "|-" | ">+" | "|+"));
    let is_empty = lines.all(|line| line.trim().is_empty() || indent(line) == 0);
    is_block && is_empty && key.contains(' ') && !is_known(key)
}

/// Returns `true` if a line that looks like a key closes a quotation mark of the entry above.
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

/// Returns the ranges of the lines of a text, including line breaks.
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

/// Returns the width of the leading whitespace.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Returns the key of a line `key:` or `key: …`.
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

/// Returns a known key whose colon is not followed by a space: `description:Fills forms`.
pub(super) fn glued_key(line: &str) -> Option<&'static str> {
    let (key, rest) = line.split_once(':')?;
    let field = fields::find(key)?;
    rest.starts_with(|c: char| !c.is_whitespace())
        .then_some(field.key)
}
