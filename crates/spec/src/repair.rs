//! Repairs invalid YAML and reads the remaining entries one by one.
//!
//! Three quarters of invalid frontmatter found in practice only lack quotation marks: `description:
//! Use when: the user asks`. Each top-level entry is parsed separately. An entry that does not
//! parse is repaired; one that cannot be repaired is skipped and reported; the others are kept.
//! Repairs never guess at meaning: a repaired value is the text that the author typed.

mod comment;
mod entries;
mod lines;
mod quote;

use std::ops::Range;

use prowess_diag::{Applicability, Span, TextEdit};

pub use self::comment::is_lost_text;
use self::entries::{bare_key, glued_key, indent, leading_key, lines};
use self::lines::{
    INDENT, TAB, align, align_block, block_marker, following, is_deeper, value_start,
};
use crate::fields::{self, FieldShape};
use crate::problem::{Problem, ProblemKind};
use crate::yaml::{self, YamlEntry, YamlValue, full};

/// The recovered entries.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) entries: Vec<YamlEntry<'static>>,
    pub(crate) problems: Vec<Problem>,
    /// Keys that are present but could not be read.
    pub(crate) lost: Vec<Box<str>>,
}

/// Recovers entries from frontmatter that is invalid as a whole. If `only` is set, skips other
/// keys.
pub(crate) fn recover(text: &str, base: usize, only: Option<&[&str]>) -> Recovered {
    let mut result = recover_entries(text, base, only);
    if !is_stable(&result, text, base) {
        for problem in &mut result.problems {
            if let ProblemKind::YamlRepaired { edits, .. } = &mut problem.kind {
                edits.clear();
            }
        }
    }
    result
}

/// Returns `true` if the text with all edits has the recovered entries. Each entry is repaired
/// alone, and in rare cases the edit of one changes how the next one is read.
fn is_stable(result: &Recovered, text: &str, base: usize) -> bool {
    let edits = result.problems.iter().filter_map(|problem| {
        let ProblemKind::YamlRepaired { edits, .. } = &problem.kind else {
            return None;
        };
        let own = edits.iter().map(|edit| TextEdit {
            span: Span::new(
                edit.span.start as usize - base,
                edit.span.end as usize - base,
            ),
            replacement: edit.replacement.clone(),
        });
        Some(prowess_diag::Fix::safe("", own.collect()))
    });
    let fixes: Vec<prowess_diag::Fix> = edits.collect();
    if fixes.is_empty() {
        return true;
    }
    let (repaired, applied) = prowess_diag::fix::apply(text, &fixes);
    let again = match full::read(&repaired, 0) {
        Ok(document) => {
            let mut again = Recovered::default();
            keep(&mut again, document, None);
            again
        }
        Err(_) => recover_entries(&repaired, 0, None),
    };
    let same = |(one, two): (&YamlEntry<'_>, &YamlEntry<'_>)| {
        one.key == two.key && one.value.same(&two.value)
    };
    applied == fixes.len()
        && again.entries.len() == result.entries.len()
        && again.entries.iter().zip(&result.entries).all(same)
}

fn recover_entries(text: &str, base: usize, only: Option<&[&str]>) -> Recovered {
    let mut result = Recovered::default();
    if only.is_none() && keep_repaired(&mut result, untab(text), base) {
        return result;
    }
    let pieces = entries::split(text);
    for piece in pieces.all {
        let range = piece.range;
        let entry_text = &text[range.clone()];
        let start = base + range.start;
        let key = leading_key(entry_text)
            .or_else(|| glued_key(entry_text))
            .or_else(|| bare_key(entry_text));
        if only.is_some_and(|only| !key.is_some_and(|key| only.contains(&key))) {
            result.lost.extend(key.map(Box::from));
            continue;
        }
        if let Some(blanks) = piece.indent {
            let has_tab = text[blanks.clone()].contains('\t');
            let blanks = Span::new(base + blanks.start, base + blanks.end);
            let key = Span::new(start, start + key.map_or(0, str::len));
            let unlike = "a key is not indented like the others";
            result.problems.push(Problem {
                span: if has_tab { blanks } else { key },
                kind: ProblemKind::YamlRepaired {
                    message: if has_tab { TAB } else { unlike }.to_owned(),
                    title: "indent it like the others",
                    edits: vec![TextEdit::replace(blanks, " ".repeat(pieces.margin))],
                    applicability: Applicability::Suggested,
                },
            });
        }
        // On its own, `name:x` is valid YAML: a single scalar.
        let is_slip = glued_key(entry_text).is_some() || bare_key(entry_text).is_some();
        let read = full::read(entry_text, start);
        let read = match read {
            Ok(document) if is_slip => {
                let span = document.root.map_or(Span::at(start), |root| root.span);
                let message = "this line is not a `key: value` pair".to_owned();
                Err(yaml::YamlError::Syntax { at: span, message })
            }
            read => read,
        };
        match read {
            Ok(document) => keep(&mut result, document, None),
            Err(yaml::YamlError::Refused(refusals)) => {
                result.lost.extend(key.map(Box::from));
                let refused = |refusal: yaml::YamlRefusal| Problem {
                    span: refusal.span,
                    kind: ProblemKind::YamlRefused(refusal),
                };
                result.problems.extend(refusals.into_iter().map(refused));
            }
            Err(yaml::YamlError::Syntax { at, message }) => {
                if !keep_repaired(&mut result, repair_entry(entry_text), start) {
                    result.lost.extend(key.map(Box::from));
                    let kind = ProblemKind::YamlInvalid {
                        message,
                        key: key.map(str::to_owned),
                    };
                    result.problems.push(Problem { span: at, kind });
                }
            }
        }
    }
    result
}

/// Adds the entries of a repaired text and the problem that describes the repair. Returns `false`
/// if the repaired text does not parse.
fn keep_repaired(result: &mut Recovered, repaired: Option<Repaired<'_>>, start: usize) -> bool {
    let repaired = repaired.and_then(|repaired| Some((repaired.read(start)?, repaired)));
    let Some((document, repaired)) = repaired else {
        return false;
    };
    let span = Span::new(start + repaired.place.start, start + repaired.place.end);
    let kind = ProblemKind::YamlRepaired {
        edits: repaired
            .edits
            .iter()
            .map(|edit| shift(edit, start))
            .collect(),
        message: repaired.reason,
        title: repaired.title,
        applicability: repaired.applicability,
    };
    keep(result, document, Some(Problem { span, kind }));
    true
}

fn keep(result: &mut Recovered, document: yaml::YamlDocument<'static>, repaired: Option<Problem>) {
    let Some(root) = document.root else { return };
    let span = root.span;
    result.problems.extend(repaired);
    let YamlValue::Mapping(entries, _) = root.value else {
        let message = "this line is not a `key: value` pair".to_owned();
        let kind = ProblemKind::YamlInvalid { message, key: None };
        return result.problems.push(Problem { span, kind });
    };
    let repeated = |duplicate: yaml::DuplicateKey| Problem {
        span: duplicate.again,
        kind: ProblemKind::DuplicateKey(duplicate),
    };
    result
        .problems
        .extend(document.duplicates.into_iter().map(repeated));
    for entry in entries {
        match result
            .entries
            .iter()
            .find(|earlier| earlier.key == entry.key)
        {
            None => result.entries.push(entry),
            Some(earlier) => {
                let duplicate = yaml::DuplicateKey {
                    key: entry.key.into(),
                    first: earlier.key_span,
                    again: entry.key_span,
                    entry: entry.key_span.cover(entry.value.span),
                    same_value: earlier.value.text().is_some()
                        && earlier.value.text() == entry.value.text(),
                    top_level: true,
                };
                result.problems.push(repeated(duplicate));
            }
        }
    }
}

/// A repair of one entry. Offsets are relative to the entry's text.
struct Repaired<'t> {
    /// The text before the repair.
    source: &'t str,
    edits: Vec<TextEdit>,
    title: &'static str,
    reason: String,
    place: Range<usize>,
    applicability: Applicability,
    text: String,
}

impl Repaired<'_> {
    /// Parses the repaired text and maps its spans back to the original.
    fn read(&self, base: usize) -> Option<yaml::YamlDocument<'static>> {
        let mut document = full::read(&self.text, 0).ok()?;
        let back = |span: Span| {
            let (start, end) = (
                self.original(span.start as usize),
                self.original(span.end as usize),
            );
            Span::new(base + start, base + end)
        };
        if let Some(root) = &mut document.root {
            root.map_spans(&back);
        }
        for duplicate in &mut document.duplicates {
            for span in [
                &mut duplicate.first,
                &mut duplicate.again,
                &mut duplicate.entry,
            ] {
                *span = back(*span);
            }
        }
        Some(document)
    }

    /// Maps an offset of the repaired text to the original, at a character boundary.
    fn original(&self, offset: usize) -> usize {
        let mut at = self.original_byte(offset).min(self.source.len());
        while !self.source.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    fn original_byte(&self, offset: usize) -> usize {
        let mut repaired_at = 0;
        let mut original_at = 0;
        for edit in &self.edits {
            let before = edit.span.start as usize - original_at;
            if offset <= repaired_at + before {
                return original_at + (offset - repaired_at);
            }
            repaired_at += before;
            original_at = edit.span.start as usize;
            if offset < repaired_at + edit.replacement.len() {
                return (original_at + (offset - repaired_at)).min(edit.span.end as usize);
            }
            repaired_at += edit.replacement.len();
            original_at = edit.span.end as usize;
        }
        original_at + (offset - repaired_at)
    }
}

/// The faults found in an entry and the edits that repair them.
struct EntryRepair<'t> {
    text: &'t str,
    edits: Vec<TextEdit>,
    /// Reason, title and range of the first fault.
    first: Option<(String, &'static str, Range<usize>)>,
    applicability: Applicability,
}

impl<'t> EntryRepair<'t> {
    fn note(&mut self, why: impl Into<String>, remedy: &'static str, at: Range<usize>) {
        self.first.get_or_insert((why.into(), remedy, at));
    }

    /// Applies the edits. Returns `None` if the result is not one entry with the same key.
    fn finish(mut self) -> Option<Repaired<'t>> {
        let (reason, title, place) = self.first?;
        self.edits.sort_by_key(|edit| edit.span);
        // Two repairs may concern one place: the first one counts.
        let mut end = 0;
        self.edits.retain(|edit| {
            let is_free = edit.span.start >= end;
            end = if is_free { edit.span.end } else { end };
            is_free
        });
        let fix = prowess_diag::Fix::safe("", self.edits.clone());
        let (text, _) = prowess_diag::fix::apply(self.text, [&fix]);
        let document = full::read(&text, 0).ok()?;
        let found = document
            .root
            .as_ref()?
            .entries()?
            .first()
            .map(|entry| entry.key.to_string());
        if found.as_deref() != leading_key(self.text.trim_start()) {
            return None;
        }
        let Self {
            text: source,
            edits,
            applicability,
            ..
        } = self;
        Some(Repaired {
            source,
            edits,
            title,
            reason,
            place,
            applicability,
            text,
        })
    }
}

/// Repairs one entry. Returns `None` if it still does not parse.
fn repair_entry(text: &str) -> Option<Repaired<'_>> {
    if let Some(key) = glued_key(text) {
        return repair_key(text, key, GLUED);
    }
    if let Some(key) = bare_key(text) {
        return repair_key(text, key, BARE);
    }
    let mut work = EntryRepair {
        text,
        edits: Vec::new(),
        first: None,
        applicability: Applicability::Safe,
    };
    let all = lines(text);
    // Only the author can resolve a merge conflict.
    let is_conflict = |line: &Range<usize>| text[line.clone()].trim_start().starts_with("<<<<<<< ");
    if all.iter().any(is_conflict) {
        return None;
    }
    let aligned = align(&mut work, &all);
    let mut index = 0;
    while index < all.len() {
        let range = all[index].clone();
        let line = text[range.clone()].trim_end_matches(['\n', '\r']);
        index += 1;
        let blanks = indent(line);
        if line[..blanks].contains('\t') && !aligned {
            let spaces = line[..blanks].replace('\t', "  ");
            let at = range.start..range.start + blanks;
            work.edits
                .push(TextEdit::replace(Span::new(at.start, at.end), spaces));
            work.note(TAB, INDENT, at);
        }
        let Some((key_at, value_at)) = value_start(line) else {
            continue;
        };
        let value = line[value_at..].trim_end();
        if value.is_empty() || value.starts_with('#') {
            continue;
        }
        let own = key_at.unwrap_or(blanks);
        if let Some(marker) = block_marker(value) {
            // The content of a block scalar is text in any form.
            let below = all[index..]
                .iter()
                .take_while(|next| is_deeper(&text[(*next).clone()], own));
            let below: Vec<Range<usize>> = below.cloned().collect();
            index += below.len();
            align_block(&mut work, &below);
            let rest = value[marker..].trim_start();
            if !rest.is_empty() && !rest.starts_with('#') {
                let deep = below.iter().map(|next| &text[next.clone()]);
                let deep = deep.clone().find(|next| !next.trim().is_empty());
                let deep = " ".repeat(deep.map_or(own + 2, indent));
                let at = range.start + value_at;
                let from = at + value.len() - rest.len();
                let edit = format!("{}{deep}", line_break(text));
                work.edits
                    .push(TextEdit::replace(Span::new(at + marker, from), edit));
                let why = format!("text follows `{}` on its line", &value[..marker]);
                work.note(
                    why,
                    "start the text on the next line",
                    from..at + value.len(),
                );
            } else if below
                .iter()
                .all(|next| text[next.clone()].trim().is_empty())
            {
                // Nothing is indented below the block marker, so the text at the margin is its
                // content.
                let astray = &all[index..];
                for next in astray
                    .iter()
                    .filter(|next| !text[(*next).clone()].trim().is_empty())
                {
                    let at = next.start..next.start + text[next.clone()].trim_end().len();
                    work.edits
                        .push(TextEdit::insert(next.start, " ".repeat(own + 2)));
                    let why = format!("the text below `{}` is not indented", &value[..marker]);
                    work.note(why, "indent the text", at);
                }
                index = all.len();
            }
            continue;
        }
        if let Some(gap) = key_in_name(text, value).filter(|_| own == 0 && range.start == 0) {
            let at = value_at + gap;
            work.edits
                .push(TextEdit::replace(Span::new(at, at + 1), line_break(text)));
            work.applicability = Applicability::Suggested;
            work.note(
                "two keys are on one line",
                "put each key on its own line",
                at + 1..value_at + value.len(),
            );
            continue;
        }
        let follow = following(text, &all[index..], value, key_at, blanks);
        index += follow.len();
        let start = range.start + value_at;
        let end = follow.last().map_or(start + value.len(), |last| {
            last.start + text[last.clone()].trim_end().len()
        });
        let whole = &text[start..end];
        let joined = whole
            .lines()
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("\n  ");
        let is_stray = |next: &Range<usize>| !is_deeper(&text[next.clone()], own);
        // An unindented line that looks like a key is a key, not part of this value.
        let is_open = value.starts_with(['"', '\'']) && !entries::is_complete(value);
        let is_key = |next: &Range<usize>| is_stray(next) && looks_like_key(&text[next.clone()]);
        if !is_open && follow.iter().any(is_key) {
            return None;
        }
        let parses =
            full::read(&format!("k: {joined}\n"), 0).is_ok_and(|document| one_entry(&document));
        if parses {
            if let Some(first) = follow.iter().find(|next| is_stray(next)) {
                let inserts = follow.iter().map(|next| TextEdit::insert(next.start, "  "));
                work.edits.extend(inserts);
                let at = first.start..first.start + text[first.clone()].trim_end().len();
                work.note("a line continues the value but is not indented", INDENT, at);
            }
            continue;
        }
        // Never turn a broken map into a string.
        let key = key_at.filter(|&at| at == 0).and_then(|_| leading_key(text));
        if key
            .and_then(fields::find)
            .is_some_and(|field| field.shape == FieldShape::Map)
        {
            return None;
        }
        let flat = whole.lines().map(str::trim).collect::<Vec<_>>().join("\n");
        let (value, comment) = comment::split_comment(&flat);
        let quoted = quote::quote(value)?;
        if !quote::is_certain(&flat) {
            work.applicability = Applicability::Suggested;
        }
        let first = whole.lines().next().unwrap_or_default().trim_end();
        // The colon or quotation mark at fault, or else the whole first line of the value.
        let place = quote::fault_at(whole).map_or(0..first.len(), |at| at..at + 1);
        let place = start + place.start..start + place.end;
        match quote::invalid_item(value).filter(|_| quoted.starts_with('[')) {
            Some((why, item)) if whole.starts_with(value) => {
                work.note(why, "quote the items", start + item.start..start + item.end);
            }
            _ => work.note(quote::why(value), quote::remedy(value, &quoted), place),
        }
        let mut replacement = String::new();
        let blanks_before = follow.iter().map(|next| {
            let next = &text[next.clone()];
            let blanks = &next[..indent(next)];
            match blanks.contains('\t') || !is_deeper(next, own) {
                _ if next.trim().is_empty() => String::new(),
                true => " ".repeat(own + 2),
                false => blanks.to_owned(),
            }
        });
        let written = format!("{quoted}{comment}");
        for (line, blanks) in written
            .split('\n')
            .zip([String::new()].into_iter().chain(blanks_before))
        {
            if !replacement.is_empty() {
                replacement.push_str(line_break(text));
            }
            replacement.push_str(&blanks);
            replacement.push_str(line);
        }
        work.edits
            .push(TextEdit::replace(Span::new(start, end), replacement));
    }
    work.finish()
}

/// Replaces tabs with spaces if tabs precede the keys at the margin, and so every line.
fn untab(text: &str) -> Option<Repaired<'_>> {
    let blanks = |line: Range<usize>| &text[line.start..line.start + indent(&text[line.clone()])];
    let is_key = |line: &Range<usize>| entries::has_known_key(&text[line.clone()]);
    let margins: Vec<&str> = lines(text).into_iter().filter(is_key).map(blanks).collect();
    if margins.contains(&"") || !margins.concat().contains('\t') {
        return None;
    }
    // A key that is indented with spaces determines the width.
    let first = margins
        .iter()
        .find(|blanks| !blanks.contains('\t'))
        .unwrap_or(&"  ");
    // If all indentation is tabs, the structure is unambiguous.
    let is_plain = text
        .lines()
        .all(|line| line.starts_with('\t') || line.trim().is_empty());
    let applicability = if is_plain {
        Applicability::Safe
    } else {
        Applicability::Suggested
    };
    let mut work = EntryRepair {
        text,
        edits: Vec::new(),
        first: None,
        applicability,
    };
    for line in lines(text)
        .into_iter()
        .filter(|line| blanks(line.clone()).contains('\t'))
    {
        let (start, tabs) = (line.start, blanks(line));
        let spaces = tabs.replacen('\t', first, 1).replace('\t', "  ");
        work.edits.push(TextEdit::replace(
            Span::new(start, start + tabs.len()),
            spaces,
        ));
        work.note(TAB, INDENT, start..start + tabs.len());
    }
    work.finish()
}

/// Finds another known key inside the value of `name`; a name contains no spaces.
fn key_in_name(text: &str, value: &str) -> Option<usize> {
    let (gap, rest) = (value.find(' ')?, value.split_once(' ')?.1);
    let is_key = leading_key(rest).is_some_and(|key| fields::find(key).is_some());
    (is_key && leading_key(text) == Some("name")).then_some(gap)
}

/// Returns the line break that the text uses.
fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Inserts the missing colon or space after a key, then repairs the rest of the entry.
fn repair_key<'t>(
    text: &'t str,
    key: &str,
    [reason, title]: [&'static str; 2],
) -> Option<Repaired<'t>> {
    let rest = text[key.len()..].trim_start_matches([':', ';', '=', ' ']);
    let (from, to) = (key.len(), text.len() - rest.len());
    let spaced = format!("{key}: {rest}");
    let mut edits = vec![TextEdit::replace(Span::new(from, to), ": ")];
    let mut applicability = if title == GLUED[1] {
        Applicability::Safe
    } else {
        Applicability::Suggested
    };
    if full::read(&spaced, 0).is_err() {
        // All further edits are after the inserted text.
        let further = repair_entry(&spaced)?;
        applicability = applicability.min(further.applicability);
        let back = |at: u32| at as usize + to - (from + 2);
        edits.extend(further.edits.iter().map(|edit| {
            let span = Span::new(back(edit.span.start), back(edit.span.end));
            TextEdit::replace(span, edit.replacement.clone())
        }));
    }
    let (repaired, _) =
        prowess_diag::fix::apply(text, [&prowess_diag::Fix::safe("", edits.clone())]);
    full::read(&repaired, 0).ok()?.root.as_ref()?.entries()?;
    let (reason, place) = (reason.to_owned(), 0..key.len());
    Some(Repaired {
        source: text,
        edits,
        title,
        reason,
        place,
        applicability,
        text: repaired,
    })
}

fn one_entry(document: &yaml::YamlDocument) -> bool {
    document.duplicates.is_empty()
        && document
            .root
            .as_ref()
            .and_then(yaml::YamlNode::entries)
            .is_some_and(|entries| entries.len() == 1)
}

/// Returns `true` for `word:` at the start of a line, with or without a space after it.
fn looks_like_key(line: &str) -> bool {
    let key = line.split(':').next().unwrap_or_default();
    key.len() < line.trim_end().len()
        && !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Reason and title for a fault in a key.
const GLUED: [&str; 2] = ["no space follows the colon", "put a space after the colon"];
const BARE: [&str; 2] = ["no colon follows the key", "put a colon after the key"];

fn shift(edit: &TextEdit, by: usize) -> TextEdit {
    let span = Span::new(edit.span.start as usize + by, edit.span.end as usize + by);
    TextEdit {
        span,
        replacement: edit.replacement.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::lines::UNLIKE;
    use super::*;
    use crate::problem::UNQUOTED_COLON;

    /// Recovers invalid frontmatter; compares `key=value` pairs and the reason of each problem.
    fn check(text: &str, values: &[&str], reasons: &[&str]) {
        let result = recover(text, 100, None);
        let found: Vec<String> = result
            .entries
            .iter()
            .map(|e| format!("{}={}", e.key, e.value.text().unwrap_or("…")))
            .collect();
        let why: Vec<&str> = result
            .problems
            .iter()
            .map(|problem| match &problem.kind {
                ProblemKind::YamlRepaired { message, .. }
                | ProblemKind::YamlInvalid { message, .. } => message.as_str(),
                _ => "other",
            })
            .collect();
        assert_eq!(
            (found, why),
            (
                values.iter().map(|&v| v.to_owned()).collect(),
                reasons.to_vec()
            ),
            "{text}"
        );
    }

    /// Two repairs of one place: found by the property test of the linter.
    /// Found by the fuzzer: the entry after a repaired one was read as its continuation.
    #[test]
    fn edits_that_change_other_values_are_not_offered() {
        let text = "name:c cg\n%descripti \"5\"\n  version: \"1.0\"\n  author: a?  references: \"b: c.\"\n";
        let result = recover(text, 7, None);
        let keys: Vec<&str> = result.entries.iter().map(|entry| &*entry.key).collect();
        assert_eq!(keys, ["name", "version", "author"]);
        for problem in &result.problems {
            if let ProblemKind::YamlRepaired { edits, .. } = &problem.kind {
                assert_eq!(edits, &[]);
            }
        }
    }

    #[test]
    fn edits_of_one_repair_do_not_overlap() {
        let text = "a:\n  - h: i\n      - g\n      - v: w # x\n";
        let result = recover(text, 0, None);
        for problem in &result.problems {
            if let ProblemKind::YamlRepaired { edits, .. } = &problem.kind {
                let ends = edits.iter().map(|edit| edit.span.end);
                let starts = edits.iter().skip(1).map(|edit| edit.span.start);
                assert!(
                    ends.zip(starts).all(|(end, start)| end <= start),
                    "{edits:?}"
                );
            }
        }
    }

    #[test]
    fn unquoted_values_are_repaired() {
        check(
            "name: x\ndescription: Use when: y\n",
            &["name=x", "description=Use when: y"],
            &[UNQUOTED_COLON],
        );
        check(
            "argument-hint: [file] [fmt]\n",
            &["argument-hint=[file] [fmt]"],
            &["an unquoted value begins with `[`"],
        );
        check("a: @b\n", &["a=@b"], &["an unquoted value begins with `@`"]);
        check(
            "a: `b` c\n",
            &["a=`b` c"],
            &["an unquoted value begins with a backtick"],
        );
        check(
            "paths: *.md\n",
            &["paths=*.md"],
            &["an unquoted value begins with `*`"],
        );
        check("a: it's: so\n", &["a=it's: so"], &[UNQUOTED_COLON]);
        check("a: x: y # why\n", &["a=x: y"], &[UNQUOTED_COLON]);
        check("a: fix: #12\n", &["a=fix: #12"], &[UNQUOTED_COLON]);
        check(
            "a: one: two\n  three\nb: c\n",
            &["a=one: two three", "b=c"],
            &[UNQUOTED_COLON],
        );
    }

    #[test]
    fn broken_quotation_marks_are_repaired() {
        check(
            "a: \"x\" y\n",
            &["a=\"x\" y"],
            &["text follows the closing quotation mark"],
        );
        check(
            "a: \"\\d+\"\n",
            &["a=\\d+"],
            &["a quoted value contains an invalid escape"],
        );
        check(
            "a: \"say \"hi\" now\"\n",
            &["a=say \"hi\" now"],
            &["a quoted value contains its own quotation mark"],
        );
        check(
            "a: \"foo\" or \"bar\"\n",
            &["a=\"foo\" or \"bar\""],
            &["a quoted value contains its own quotation mark"],
        );
        check(
            "a: \"caf\\u00e9 \\d\"\n",
            &["a=café \\d"],
            &["a quoted value contains an invalid escape"],
        );
        check(
            "a: 'it's'\n",
            &["a=it's"],
            &["a quoted value contains its own quotation mark"],
        );
        check(
            "a: \"open\nb: c\n",
            &["a=open", "b=c"],
            &["a quotation mark is not closed"],
        );
        check(
            "a: 'tis: so\n",
            &["a='tis: so"],
            &["a quotation mark is not closed"],
        );
    }

    /// Compares the repaired line and the title of the fix.
    #[test]
    fn open_quotation_mark_never_becomes_text() {
        for (value, repaired, title) in [
            (
                "\"Writes notes.",
                "\"Writes notes.\"",
                "close the quotation mark",
            ),
            (
                "'Writes notes.",
                "'Writes notes.'",
                "close the quotation mark",
            ),
            (
                "'Don''t: ever.",
                "'Don''t: ever.'",
                "close the quotation mark",
            ),
            (
                "\"Says \\\"hi\\\" now.",
                "\"Says \\\"hi\\\" now.\"",
                "close the quotation mark",
            ),
            (
                "'Don't do it. Use it's here.",
                "'Don''t do it. Use it''s here.'",
                "close the quotation mark and double the inner `'`",
            ),
            ("'Don't do it.'", "'Don''t do it.'", "double the inner `'`"),
            (
                "\"Says \"hello\" to all.",
                "'Says \"hello\" to all.'",
                "use `'` as the outer quotation mark",
            ),
            (
                "\"Says \"hello\"",
                "'Says \"hello\"'",
                "use `'` as the outer quotation mark",
            ),
            (
                "\"Reads C:\\dir forms.",
                "'Reads C:\\dir forms.'",
                "use `'` as the outer quotation mark",
            ),
            (
                "\"Reads C:\\dir\\\"",
                "\"Reads C:\\\\dir\\\\\"",
                "double the backslash",
            ),
            (
                "\"PDF\" forms.",
                "'\"PDF\" forms.'",
                "put `'` around the whole value",
            ),
            ("Use when: asked.", "'Use when: asked.'", "quote the value"),
            (
                r#""Says \"hi\" and "bye" to all.""#,
                r#"'Says "hi" and "bye" to all.'"#,
                "use `'` as the outer quotation mark",
            ),
            (
                r#""Says \"hi\" and "bye".\nNext line.""#,
                r#""Says \"hi\" and \"bye\".\nNext line.""#,
                r#"write `\"` for the inner quotation marks"#,
            ),
            (
                "Fills forms.\n  Use when: asked.",
                "'Fills forms.\n  Use when: asked.'",
                "quote the value",
            ),
            (
                "\"Fills forms.\n    Use when: asked.",
                "\"Fills forms.\n    Use when: asked.\"",
                "close the quotation mark",
            ),
            (
                r#""""Fills forms.""""#,
                r#""Fills forms.""#,
                "use one pair of quotation marks",
            ),
            (
                "\"Fills forms.'",
                "\"Fills forms.\"",
                "use one pair of quotation marks",
            ),
            ("\"Fills forms.\",", "\"Fills forms.\"", "remove the comma"),
            (
                r#""Reads C:\Users\new.""#,
                r#""Reads C:\\Users\\new.""#,
                "double the backslash",
            ),
            ("- Fills forms.", "'- Fills forms.'", "quote the value"),
            (">2 pages: no.", "'>2 pages: no.'", "quote the value"),
            (
                ">-Fills forms.",
                ">-\n  Fills forms.",
                "start the text on the next line",
            ),
            (">\nFills forms.", ">\n  Fills forms.", "indent the text"),
            (
                "\"Fills forms.\nUse when: asked.\"",
                "\"Fills forms.\n  Use when: asked.\"",
                "indent with spaces",
            ),
            (
                "> Fills forms.",
                ">\n  Fills forms.",
                "start the text on the next line",
            ),
            (
                "| Fills\n    forms.",
                "|\n    Fills\n    forms.",
                "start the text on the next line",
            ),
        ] {
            let text = format!("description: {value}\n");
            let result = recover(&text, 0, None);
            let [
                Problem {
                    kind:
                        ProblemKind::YamlRepaired {
                            edits, title: said, ..
                        },
                    span,
                },
            ] = result.problems.as_slice()
            else {
                panic!("{text}: {:?}", result.problems)
            };
            let fix = prowess_diag::Fix::safe("", edits.clone());
            let (after, _) = prowess_diag::fix::apply(&text, [&fix]);
            assert_eq!(
                (after, *said),
                (format!("description: {repaired}\n"), title)
            );
            let is_open = title.starts_with("close");
            assert!(!is_open || span.of(&text).len() == 1, "{text}: {span:?}");
        }
    }

    /// Compares the value and whether the repair is safe. The value may include the text after `
    /// #`.
    #[test]
    fn repair_with_a_possible_comment_is_only_suggested() {
        for (value, read, is_safe) in [
            ("Use when: asked # why", "Use when: asked", false),
            (
                "Use when: fixing #12 now",
                "Use when: fixing #12 now",
                false,
            ),
            (
                "Fills: forms # Use when asked",
                "Fills: forms # Use when asked",
                false,
            ),
            ("C#: notes", "C#: notes", true),
            ("\"Says #1 \"hi\" now\"", "Says #1 \"hi\" now", true),
            ("Fix #12\n  and more", "Fix #12 and more", false),
        ] {
            let result = recover(&format!("description: {value}\n"), 0, None);
            let kinds: Vec<_> = result
                .problems
                .iter()
                .map(|problem| &problem.kind)
                .collect();
            let [ProblemKind::YamlRepaired { applicability, .. }] = kinds.as_slice() else {
                panic!("{value}: {kinds:?}")
            };
            let found = result.entries[0].value.text().map(str::to_owned);
            assert_eq!(
                (found.as_deref(), *applicability == Applicability::Safe),
                (Some(read), is_safe),
                "{value}"
            );
        }
        assert!(!is_lost_text("x", "# a comment") && !is_lost_text("x", "## y"));
        assert!(!is_lost_text("Use when asked.", "# Use when idle?"));
        assert!(is_lost_text("Posts to", "#general"));
    }

    #[test]
    fn faults_in_later_lines_have_the_right_span() {
        for (text, place) in [
            ("description: Fills forms.\n  Use when: asked.\n", 36),
            ("description: Fills forms. Use when:\n  - asked\n", 34),
            ("description: \"Fills forms.\n  Use when: asked.\n", 13),
            ("name: x\n description: Fills\n", 9),
        ] {
            let result = recover(text, 0, None);
            let places: Vec<u32> = result
                .problems
                .iter()
                .map(|found| found.span.start)
                .collect();
            assert_eq!(places, [place], "{text}: {:?}", result.problems);
        }
    }

    #[test]
    fn merge_conflict_is_not_repaired() {
        let text = "name: x\n<<<<<<< HEAD\ndescription: a: b\n=======\n>>>>>>> main\n";
        let result = recover(text, 0, None);
        let repaired = |problem: &Problem| matches!(problem.kind, ProblemKind::YamlRepaired { .. });
        let first = result.problems.first();
        assert!(first.is_some_and(|first| !repaired(first)), "{result:?}");
    }

    #[test]
    fn unclosed_list_does_not_become_text() {
        let result = recover("name: x\nallowed-tools: [Read, \"Bash(git:*)\n", 0, None);
        assert_eq!((result.entries.len(), result.problems.len()), (1, 1));
        assert_eq!(result.lost, ["allowed-tools".into()]);
        // A single word in brackets may be text.
        check(
            "a: [draft: b\n",
            &["a=[draft: b"],
            &["an unquoted value begins with `[`"],
        );
    }

    #[test]
    fn indentation_is_repaired() {
        const ASTRAY: &str = "a key is not indented like the others";

        check(
            "\tname: x\n\tdescription: y\n",
            &["name=x", "description=y"],
            &[TAB],
        );
        check(
            "  name: x\n\tdescription: y\n",
            &["name=x", "description=y"],
            &[TAB],
        );
        check(
            "name: x\n\tdescription: y\n",
            &["name=x", "description=y"],
            &[TAB],
        );
        check(
            "m:\n\tx: 1\nb: c\n",
            &["m=…", "b=c"],
            &["a tab is used for indentation"],
        );
        check(
            "a: one\ntwo words\nb: c\n",
            &["a=one two words", "b=c"],
            &["a line continues the value but is not indented"],
        );
        check(
            "name: x\n  description: y\n",
            &["name=x", "description=y"],
            &[ASTRAY],
        );
        check(
            " name: x\ndescription: y\n",
            &["name=x", "description=y"],
            &[ASTRAY],
        );
        check(
            "  name: x\n  license: y: z\n",
            &["name=x", "license=y: z"],
            &[UNQUOTED_COLON],
        );
        // A word of prose is not a key, and neither is a duplicate.
        check(
            "description: a\n  context: b\n",
            &["description=a context: b"],
            &[UNQUOTED_COLON],
        );
        check(
            "name: x\ndescription: a\n  name: b\n",
            &["name=x", "description=a name: b"],
            &[UNQUOTED_COLON],
        );
        check("d: >\n\ta\n\tb\n", &["d=a b\n"], &[TAB]);
        check("d: >-\n  a\n b\n", &["d=a b"], &[UNLIKE]);
        check(
            "d: >-\na\nUse when: b\nname: c\n",
            &["d=a Use when: b", "name=c"],
            &["the text below `>-` is not indented"],
        );
        check("metadata:\n  a: b\n   c: d\n", &["metadata=…"], &[UNLIKE]);
        check("metadata:\n    a: b\n  c: d\n", &["metadata=…"], &[UNLIKE]);
        check("tags:\n    - a\n  - b\n", &["tags=…"], &[UNLIKE]);
        check(
            "k: [a, @b, c]\n",
            &["k=…"],
            &["an unquoted item begins with `@`"],
        );
        check(
            "k: [ray[data], pandas]\n",
            &["k=…"],
            &["an unquoted item contains `[`"],
        );
    }

    #[test]
    fn keys_without_colon_or_space_are_repaired() {
        check(
            "name: x\ndescription:y z\n",
            &["name=x", "description=y z"],
            &[GLUED[0]],
        );
        check(
            "name: x\ndescription:\"y: z\"\n",
            &["name=x", "description=y: z"],
            &[GLUED[0]],
        );
        check(
            "name: x\ndescription:y: z\n",
            &["name=x", "description=y: z"],
            &[GLUED[0]],
        );
        check(
            "name: x\ndescription a b c: z\n",
            &["name=x", "description=a b c: z"],
            &[BARE[0]],
        );
        check(
            "name: x description: y\n",
            &["name=x", "description=y"],
            &["two keys are on one line"],
        );
        check(
            "name: x\ndescription; y\n",
            &["name=x", "description=y"],
            &[BARE[0]],
        );
        // A line of prose that starts with a word equal to an existing key.
        check(
            "name: x\ndescription: the\nname of it\n",
            &["name=x", "description=the name of it"],
            &["a line continues the value but is not indented"],
        );
    }

    #[test]
    fn unrepairable_entry_does_not_affect_others() {
        let result = recover("name: x\nbad: {a: [}\n  - ]\ndescription: y\n", 0, None);
        let keys: Vec<&str> = result.entries.iter().map(|entry| &*entry.key).collect();
        assert!(
            keys.contains(&"name") && keys.contains(&"description"),
            "{keys:?}"
        );
    }

    #[test]
    fn spans_of_repaired_values_refer_to_the_original() {
        let text = "m:\n\tx: a: b\nlast: it\n";
        let result = recover(text, 0, None);
        let x = &result.entries[0].value.entries().unwrap()[0];
        assert_eq!((x.key_span.of(text), x.value.text()), ("x", Some("a: b")));
        assert_eq!(x.value.span.of(text), "a: b");
    }

    #[test]
    fn tabs_before_all_keys_are_one_repair() {
        let repair = |text: &str| {
            let mut result = recover(text, 0, None);
            assert_eq!(result.problems.len(), 1, "{text}");
            let Problem { span, kind } = result.problems.remove(0);
            let ProblemKind::YamlRepaired {
                edits,
                applicability,
                ..
            } = kind
            else {
                panic!("{text}")
            };
            let fix = prowess_diag::Fix::safe("", edits);
            (
                span.range(),
                applicability,
                prowess_diag::fix::apply(text, [&fix]).0,
            )
        };
        let (safe, suggested) = (Applicability::Safe, Applicability::Suggested);
        for (text, place, applicability, repaired) in [
            (
                "\tname: x\n\tlicense: y\n",
                0..1,
                safe,
                "  name: x\n  license: y\n",
            ),
            (
                "\tname: x\n\tmetadata:\n\t\ta: b\n",
                0..1,
                safe,
                "  name: x\n  metadata:\n    a: b\n",
            ),
            (
                "    name: x\n\tlicense: y\n",
                12..13,
                suggested,
                "    name: x\n    license: y\n",
            ),
            (
                "name: x\n\tlicense: y\n",
                8..9,
                suggested,
                "name: x\nlicense: y\n",
            ),
        ] {
            assert_eq!(
                repair(text),
                (place, applicability, repaired.to_owned()),
                "{text}"
            );
        }
        // The span covers the tab, not the text.
        assert_eq!(repair("d: >\n\ta\n").0, 5..6);
    }
}
