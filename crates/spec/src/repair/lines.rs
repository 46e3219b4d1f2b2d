//! Groups lines that belong together and repairs their indentation.

use std::ops::Range;

use prowess_diag::{Span, TextEdit};

use super::EntryRepair;
use super::entries::{self, indent, leading_key};

/// Returns the lines that continue a value: indented ones, or unindented ones that are not keys.
pub(super) fn following(
    text: &str,
    rest: &[Range<usize>],
    value: &str,
    key_at: Option<usize>,
    blanks: usize,
) -> Vec<Range<usize>> {
    let is_quoted = value.starts_with(['"', '\'']);
    let is_open = is_quoted && !entries::is_complete(value);
    let belongs = |next: &&Range<usize>| {
        let line = text[(*next).clone()].trim_end();
        let content = line.trim_start();
        match key_at {
            _ if content.is_empty() || is_open && key_at == Some(0) => true,
            _ if content.starts_with('#') && !is_quoted => false,
            // Only a continuation can be indented below a value. In a nested map, however, a word
            // and a colon start the next key.
            Some(own) if is_deeper(line, own) => {
                blanks == 0 || leading_key(content).is_none_or(|key| key.contains(' '))
            }
            _ => value_start(line).is_none() && !content.starts_with("- "),
        }
    };
    let mut lines: Vec<Range<usize>> = rest.iter().take_while(belongs).cloned().collect();
    while lines
        .last()
        .is_some_and(|last| text[last.clone()].trim().is_empty())
    {
        lines.pop();
    }
    lines
}

/// Aligns the lines below a key if all are list items or all are `key: value` pairs. Returns `true`
/// if it changed anything.
pub(super) fn align(work: &mut EntryRepair<'_>, all: &[Range<usize>]) -> bool {
    let content = |line: &Range<usize>| work.text[line.clone()].trim_end();
    let Some((first, below)) = all.split_first() else {
        return false;
    };
    let is_open = value_start(content(first)).is_some_and(|(_, at)| at == content(first).len());
    let below: Vec<&Range<usize>> = below
        .iter()
        .filter(|line| !content(line).trim().is_empty())
        .collect();
    let Some(wanted) = below
        .first()
        .map(|line| indent(content(line)))
        .filter(|_| is_open)
    else {
        return false;
    };
    let is_item = |line: &&Range<usize>| content(line).trim_start().starts_with("- ");
    let is_pair = |line: &&Range<usize>| {
        let line = content(line).trim_start();
        leading_key(line).is_some_and(|key| !key.contains(' ') && key.len() + 1 < line.len())
    };
    let differs = |line: &&&Range<usize>| indent(content(line)) != wanted;
    let has_tab = below
        .iter()
        .any(|line| content(line)[..indent(content(line))].contains('\t'));
    let Some(odd) = below.iter().find(differs).filter(|_| !has_tab) else {
        return false;
    };
    if wanted == 0 || !below.iter().all(is_item) && !below.iter().all(is_pair) {
        return false;
    }
    let at = odd.start + indent(content(odd))..odd.start + content(odd).len();
    let blanks = |line: &Range<usize>| Span::new(line.start, line.start + indent(content(line)));
    let edits: Vec<TextEdit> = below
        .iter()
        .filter(differs)
        .map(|line| TextEdit::replace(blanks(line), " ".repeat(wanted)))
        .collect();
    work.edits.extend(edits);
    work.note(UNLIKE, ALIKE, at);
    true
}

/// Indents the lines of a block scalar at least as deep as its first line, with spaces.
pub(super) fn align_block(work: &mut EntryRepair<'_>, below: &[Range<usize>]) {
    let text = work.text;
    let filled = || {
        below
            .iter()
            .filter(|line| !text[(*line).clone()].trim().is_empty())
    };
    let spaces = |line: &str| line[..indent(line)].replace('\t', "  ");
    let Some(wanted) = filled().next().map(|line| spaces(&text[line.clone()])) else {
        return;
    };
    for line in filled() {
        let content = &text[line.clone()];
        let at = line.start..line.start + indent(content);
        let has_tab = content[..indent(content)].contains('\t');
        if has_tab || indent(content) < wanted.len() {
            let blanks = Some(spaces(content)).filter(|spaces| spaces.len() > wanted.len());
            let blanks = blanks.unwrap_or_else(|| wanted.clone());
            work.edits
                .push(TextEdit::replace(Span::new(at.start, at.end), blanks));
            let text = at.end..line.start + content.trim_end().len();
            let (why, remedy) = if has_tab {
                (TAB, INDENT)
            } else {
                (UNLIKE, ALIKE)
            };
            work.note(why, remedy, if has_tab { at } else { text });
        }
    }
}

/// Returns the length of a block marker such as `|` or `>-` at the start of a value.
pub(super) fn block_marker(value: &str) -> Option<usize> {
    let rest = value.strip_prefix(['|', '>'])?;
    let text = rest.trim_start_matches(['+', '-']);
    let header = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let is_header = header.is_empty()
        || header.starts_with([' ', '\t']) && header.trim_start().starts_with('#');
    let is_text = text
        .trim_start()
        .starts_with(|c: char| c.is_alphabetic() || "\"'`".contains(c));
    match (is_header, is_text) {
        (true, _) => Some(value.len() - header.len()),
        (false, true) => Some(value.len() - text.len()),
        _ => None,
    }
}

pub(super) fn is_deeper(line: &str, blanks: usize) -> bool {
    line.trim().is_empty() || indent(line) > blanks
}

/// Returns the offsets of the key, if any, and of the value in `key: value`, `- value` or `- key:
/// value`.
pub(super) fn value_start(line: &str) -> Option<(Option<usize>, usize)> {
    let mut at = indent(line);
    let mut found = false;
    let mut key_at = None;
    while line[at..].starts_with("- ") {
        at += 2;
        at += line[at..].len() - line[at..].trim_start_matches(' ').len();
        found = true;
    }
    if let Some(key) = leading_key(&line[at..]) {
        key_at = Some(at);
        at += key.len() + 1;
        at += indent(&line[at..]);
        found = true;
    }
    found.then_some((key_at, at))
}

pub(super) const INDENT: &str = "indent with spaces";
pub(super) const ALIKE: &str = "indent them alike";
pub(super) const TAB: &str = "a tab is used for indentation";
pub(super) const UNLIKE: &str = "a line is not indented like the one above it";
