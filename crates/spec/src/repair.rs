//! Mends broken YAML, line by line, and reads what can be read key by key.
//!
//! Three quarters of the frontmatter in the wild that is not YAML only lacks quotation marks:
//! `description: Use when: the user asks`. Each top-level entry is read on its own. An entry that
//! does not parse is mended; one that cannot be mended is left out and reported; all others are
//! kept. Nothing here guesses at meaning: a mended value is the text the author typed.

use std::ops::Range;

use prowess_diag::{Edit, Span};

use crate::problem::{Problem, ProblemKind, UNQUOTED_COLON};
use crate::yaml::{self, Entry, Value, full};

/// What could be read.
#[derive(Debug, Default)]
pub(crate) struct Salvage {
    pub(crate) entries: Vec<Entry>,
    pub(crate) problems: Vec<Problem>,
    /// Keys that stand there and were not read.
    pub(crate) lost: Vec<Box<str>>,
}

/// Reads frontmatter that is not YAML as a whole. With `only` set, other keys are left out.
pub(crate) fn salvage(text: &str, base: usize, only: Option<&[&str]>) -> Salvage {
    let mut result = Salvage::default();
    for range in entry_ranges(text) {
        let entry_text = &text[range.clone()];
        let key = leading_key(entry_text).or_else(|| glued_key(entry_text));
        if only.is_some_and(|only| !key.is_some_and(|key| only.contains(&key))) {
            result.lost.extend(key.map(Box::from));
            continue;
        }
        match full::read(entry_text, base + range.start) {
            Ok(document) => keep(&mut result, document, None),
            Err(yaml::Error::Refused(refusals)) => {
                result.lost.extend(key.map(Box::from));
                let refused = |refusal: yaml::Refusal| Problem {
                    span: refusal.span,
                    kind: ProblemKind::YamlRefused(refusal),
                };
                result.problems.extend(refusals.into_iter().map(refused));
            }
            Err(yaml::Error::Syntax { at, message }) => {
                let mended = mend(entry_text)
                    .and_then(|mended| Some((mended.read(base + range.start)?, mended)));
                if let Some((document, mended)) = mended {
                    let start = base + range.start;
                    let edits = mended.edits.iter().map(|edit| shift(edit, start)).collect();
                    let span = Span::new(start + mended.place.start, start + mended.place.end);
                    let (message, title) = (mended.reason, mended.title);
                    let kind = ProblemKind::YamlRepaired { message, title, edits };
                    keep(&mut result, document, Some(Problem { span, kind }));
                } else {
                    result.lost.extend(key.map(Box::from));
                    let kind = ProblemKind::YamlInvalid { message, key: key.map(str::to_owned) };
                    result.problems.push(Problem { span: at, kind });
                }
            }
        }
    }
    result
}

fn keep(result: &mut Salvage, document: yaml::Document, repaired: Option<Problem>) {
    let Some(root) = document.root else { return };
    let span = root.span;
    result.problems.extend(repaired);
    let Value::Mapping(entries, _) = root.value else {
        let message = "this line is not a `key: value` pair".to_owned();
        let kind = ProblemKind::YamlInvalid { message, key: None };
        return result.problems.push(Problem { span, kind });
    };
    let repeated = |duplicate: yaml::Duplicate| Problem {
        span: duplicate.again,
        kind: ProblemKind::DuplicateKey(duplicate),
    };
    result.problems.extend(document.duplicates.into_iter().map(repeated));
    for entry in entries {
        match result.entries.iter().find(|earlier| earlier.key == entry.key) {
            None => result.entries.push(entry),
            Some(earlier) => {
                let duplicate = yaml::Duplicate {
                    key: entry.key.clone(),
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

/// Cuts a block of YAML into its top-level entries: each begins with a key at column 0.
fn entry_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for line in lines(text) {
        let content = &text[line.clone()];
        let opens = leading_key(content).is_some() || glued_key(content).is_some();
        let is_blank = content.trim().is_empty() || content.starts_with('#');
        match ranges.last_mut() {
            Some(last) if !opens => last.end = line.end,
            None if is_blank => {}
            _ => ranges.push(line),
        }
    }
    ranges
}

/// Ranges of the lines of a text, line breaks included.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let range = at..at + line.len();
            at = range.end;
            range
        })
        .collect()
}

/// The key at the very start of a line, if the line is `key:` or `key: …`.
fn leading_key(line: &str) -> Option<&str> {
    let end = line.find(':')?;
    let key = &line[..end];
    let plain = key.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c))
        && key.trim() == key
        && !key.is_empty()
        && !key.starts_with('-');
    let ends = line[end + 1..].chars().next().is_none_or(char::is_whitespace);
    // More than three words before a colon are a sentence, not a key.
    (plain && ends && key.split(' ').count() <= 3).then_some(key)
}

/// A key we know whose colon has no blank behind it: `description:Fills forms`.
fn glued_key(line: &str) -> Option<&'static str> {
    let (key, rest) = line.split_once(':')?;
    let field = crate::fields::find(key)?;
    rest.starts_with(|c: char| !c.is_whitespace()).then_some(field.key)
}

/// A repair of one entry, in offsets of the entry's text.
struct Mended<'t> {
    /// What was mended.
    source: &'t str,
    edits: Vec<Edit>,
    title: &'static str,
    reason: String,
    place: Range<usize>,
    text: String,
}

impl Mended<'_> {
    /// Reads the mended text and moves its places back to where things stand in the original.
    fn read(&self, base: usize) -> Option<yaml::Document> {
        let mut document = full::read(&self.text, 0).ok()?;
        let back = |span: Span| {
            let (start, end) =
                (self.original(span.start as usize), self.original(span.end as usize));
            Span::new(base + start, base + end)
        };
        if let Some(root) = &mut document.root {
            root.map_spans(&back);
        }
        for duplicate in &mut document.duplicates {
            for span in [&mut duplicate.first, &mut duplicate.again, &mut duplicate.entry] {
                *span = back(*span);
            }
        }
        Some(document)
    }

    /// Where an offset of the mended text stands in the original, never inside a character.
    fn original(&self, offset: usize) -> usize {
        let mut at = self.original_byte(offset).min(self.source.len());
        while !self.source.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    fn original_byte(&self, offset: usize) -> usize {
        let mut mended_at = 0;
        let mut original_at = 0;
        for edit in &self.edits {
            let before = edit.span.start as usize - original_at;
            if offset <= mended_at + before {
                return original_at + (offset - mended_at);
            }
            mended_at += before;
            original_at = edit.span.start as usize;
            if offset < mended_at + edit.replacement.len() {
                return (original_at + (offset - mended_at)).min(edit.span.end as usize);
            }
            mended_at += edit.replacement.len();
            original_at = edit.span.end as usize;
        }
        original_at + (offset - mended_at)
    }
}

/// Mends one entry, if that makes it parse.
fn mend(text: &str) -> Option<Mended<'_>> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut first_fault = None;
    let mut note = |why: &str, remedy: &'static str, at: Range<usize>| {
        first_fault.get_or_insert((why.to_owned(), remedy, at));
    };
    if let Some(key) = glued_key(text) {
        return mend_glued(text, key.len() + 1);
    }
    let all = lines(text);
    let mut index = 0;
    while index < all.len() {
        let range = all[index].clone();
        let line = text[range.clone()].trim_end_matches(['\n', '\r']);
        index += 1;
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        if line[..blanks].contains('\t') {
            let spaces = line[..blanks].replace('\t', "  ");
            edits.push(Edit::replace(Span::new(range.start, range.start + blanks), spaces));
            let at = range.start..range.start + blanks;
            note("a tab is used for indentation", INDENT, at);
        }
        let Some(value_at) = value_start(line) else { continue };
        let value = line[value_at..].trim_end();
        if value.is_empty() {
            continue;
        }
        if value.starts_with(['|', '>']) && value.len() <= 3 {
            // The content of a block is text whatever it looks like.
            index += all[index..]
                .iter()
                .take_while(|next| is_deeper(&text[(*next).clone()], blanks))
                .count();
            continue;
        }
        // Lines behind the value that belong to it: deeper ones, or stray ones at column 0.
        let follow: Vec<Range<usize>> = all[index..]
            .iter()
            .take_while(|next| {
                let next = &text[(*next).clone()];
                !next.trim().is_empty()
                    && value_start(next.trim_end()).is_none()
                    && !next.trim_start().starts_with('#')
                    && !next.trim_start().starts_with("- ")
            })
            .cloned()
            .collect();
        index += follow.len();
        let start = range.start + value_at;
        let end = follow
            .last()
            .map_or(start + value.len(), |last| last.start + text[last.clone()].trim_end().len());
        let whole = &text[start..end];
        let joined = whole.lines().map(str::trim).collect::<Vec<_>>().join("\n  ");
        // A stray line that looks like a key is one, not the rest of this value.
        if follow.iter().any(|next| {
            !is_deeper(&text[next.clone()], blanks) && looks_like_key(&text[next.clone()])
        }) {
            return None;
        }
        let stray = follow.iter().any(|next| !is_deeper(&text[next.clone()], blanks));
        let parses =
            full::read(&format!("k: {joined}\n"), 0).is_ok_and(|document| one_entry(&document));
        if parses {
            if stray {
                for next in &follow {
                    edits.push(Edit::insert(next.start, "  "));
                }
                let at =
                    follow[0].start..follow[0].start + text[follow[0].clone()].trim_end().len();
                note("a line continues the value but is not indented", INDENT, at);
            }
            continue;
        }
        let (value, comment) = split_comment(&joined);
        let quoted = quote(value)?;
        let first = whole.lines().next().unwrap_or_default().trim_end();
        // The colon or the mark itself, where that is what is wrong; else the value.
        let why = why(value);
        let one = match why.as_str() {
            UNQUOTED_COLON => first.find(": "),
            why => (why == UNCLOSED).then_some(0),
        };
        let place = one.map_or(start..start + first.len(), |at| start + at..start + at + 1);
        note(&why, remedy(value, &quoted), place);
        let indent = " ".repeat(blanks);
        let replacement = format!("{quoted}{comment}").replace("\n  ", &format!("\n{indent}  "));
        edits.push(Edit::replace(Span::new(start, end), replacement));
    }
    let (reason, title, place) = first_fault?;
    edits.sort_by_key(|edit| edit.span);
    let (mended, _) = prowess_diag::fix::apply(text, [&prowess_diag::Fix::safe("", edits.clone())]);
    let document = full::read(&mended, 0).ok()?;
    let kept_key = leading_key(text).map(str::to_owned);
    let found = document.root.as_ref()?.entries()?.first().map(|entry| entry.key.to_string());
    if found != kept_key {
        return None;
    }
    Some(Mended { source: text, edits, title, reason, place, text: mended })
}

/// Puts the missing blank behind a key's colon, and then mends whatever else is wrong.
fn mend_glued(text: &str, colon: usize) -> Option<Mended<'_>> {
    let blank = Edit::insert(colon, " ");
    let spaced = format!("{} {}", &text[..colon], &text[colon..]);
    let mut edits = vec![blank];
    if full::read(&spaced, 0).is_err() {
        // Every further edit stands behind the blank we put in.
        let further = mend(&spaced)?;
        edits.extend(further.edits.iter().map(|edit| {
            let back = |at: u32| at as usize - usize::from(at as usize > colon);
            Edit::replace(
                Span::new(back(edit.span.start), back(edit.span.end)),
                edit.replacement.clone(),
            )
        }));
    }
    let (mended, _) = prowess_diag::fix::apply(text, [&prowess_diag::Fix::safe("", edits.clone())]);
    full::read(&mended, 0).ok()?.root.as_ref()?.entries()?;
    let reason = "no space follows the colon".to_owned();
    let title = "put a space after the colon";
    Some(Mended { source: text, edits, title, reason, place: 0..colon, text: mended })
}

fn one_entry(document: &yaml::Document) -> bool {
    document.duplicates.is_empty()
        && document
            .root
            .as_ref()
            .and_then(yaml::Node::entries)
            .is_some_and(|entries| entries.len() == 1)
}

/// `word:` at the start of a line, with or without a blank behind it.
fn looks_like_key(line: &str) -> bool {
    let key = line.split(':').next().unwrap_or_default();
    key.len() < line.trim_end().len()
        && !key.is_empty()
        && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

fn is_deeper(line: &str, blanks: usize) -> bool {
    line.trim().is_empty() || line.len() - line.trim_start_matches([' ', '\t']).len() > blanks
}

/// Offset of the value on a line `key: value`, `- value` or `- key: value`.
fn value_start(line: &str) -> Option<usize> {
    let mut at = line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut found = false;
    while line[at..].starts_with("- ") {
        at += 2;
        at += line[at..].len() - line[at..].trim_start_matches(' ').len();
        found = true;
    }
    if let Some(key) = leading_key(&line[at..]) {
        at += key.len() + 1;
        at += line[at..].len() - line[at..].trim_start_matches([' ', '\t']).len();
        found = true;
    }
    found.then_some(at)
}

/// Keeps a comment behind a value: ` # …`, with a blank after the hash, so that `issue #12` stays.
fn split_comment(value: &str) -> (&str, &str) {
    if value.starts_with(['"', '\'']) {
        return (value, "");
    }
    match value.find(" # ") {
        Some(at) if !value[at..].contains('\n') => (value[..at].trim_end(), &value[at..]),
        _ => (value, ""),
    }
}

/// Writes a value so that YAML reads exactly the author's text.
fn quote(value: &str) -> Option<String> {
    let parses = |candidate: &str| {
        full::read(&format!("k: {candidate}\n"), 0).is_ok_and(|document| one_entry(&document))
    };
    let mut candidates = Vec::new();
    if let Some((mark, inner, is_closed)) = opened(value) {
        candidates.push(match (mark, is_closed) {
            ('"', true) => format!("\"{}\"", double_bad_escapes(inner)),
            (_, true) => single(inner),
            (_, false) => format!("{value}{mark}"),
        });
        candidates.push(single(inner));
    } else if let Some(inner) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
        && !inner.contains(['[', ']', '"', '\''])
    {
        candidates.push(quote_items(inner));
    }
    // Nobody knows where a list that is never closed was meant to end; it is no text either.
    let open = value.matches('[').count() > value.matches(']').count() && value.contains(',');
    candidates.extend((!open || !value.starts_with('[')).then(|| single(value)));
    candidates.into_iter().find(|candidate| parses(candidate))
}

/// The mark that a value as a whole begins with, what stands behind it, and whether the value ends
/// with its partner. The first mark of `"a" or "b"` belongs to `a`, that of `'tis` to the word.
fn opened(value: &str) -> Option<(char, &str, bool)> {
    let mark = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
    // In `"say "hi"` the last mark belongs to `hi`.
    let marks = value.matches('"').count() - value.matches("\\\"").count();
    let is_pair = mark == '\'' || marks < 3 || marks.is_multiple_of(2);
    let closed = value[1..].strip_suffix(mark).filter(|_| is_pair);
    let inner = closed.unwrap_or(&value[1..]);
    let is_whole = match inner.split_once(mark) {
        None => closed.is_some() || !value.starts_with("'tis"),
        Some((before, after)) => {
            before.is_empty()
                || before.ends_with(char::is_whitespace)
                || after.starts_with(|c: char| c.is_alphanumeric() || c == mark)
        }
    };
    is_whole.then_some((mark, inner, closed.is_some()))
}

/// Says what was done to a value.
fn remedy(value: &str, quoted: &str) -> &'static str {
    match opened(value) {
        _ if !value.starts_with(['"', '\'']) => "quote the value",
        Some(_) if quoted.strip_prefix(value).is_some() => "close the quotation mark",
        Some(_) if quoted.starts_with('"') => "double the backslash",
        Some(('\'', _, true)) => "double the inner `'`",
        Some(('\'', ..)) => "close the quotation mark and double the inner `'`",
        _ => "put `'` around it",
    }
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `"\d+"` has an escape that YAML does not know; the author meant a backslash.
fn double_bad_escapes(inner: &str) -> String {
    let mut result = String::with_capacity(inner.len() + 8);
    let mut characters = inner.chars().peekable();
    while let Some(c) = characters.next() {
        result.push(c);
        if c == '\\' {
            match characters.peek().copied() {
                Some(
                    '0' | 'a' | 'b' | 't' | 'n' | 'v' | 'f' | 'r' | 'e' | ' ' | '"' | '/' | '\\'
                    | 'N' | '_' | 'L' | 'P',
                ) => {
                    result.extend(characters.next());
                }
                Some('x') if has_digits(&characters, 2) => result.extend(characters.next()),
                Some('u') if has_digits(&characters, 4) => result.extend(characters.next()),
                Some('U') if has_digits(&characters, 8) => result.extend(characters.next()),
                _ => result.push('\\'),
            }
        }
    }
    result
}

/// Whether this many hexadecimal digits follow the next character.
fn has_digits(characters: &std::iter::Peekable<std::str::Chars<'_>>, count: usize) -> bool {
    let mut digits = characters.clone().skip(1).take(count);
    digits.by_ref().filter(char::is_ascii_hexdigit).count() == count
}

/// Quotes the items of a flow list that need it.
fn quote_items(inner: &str) -> String {
    let items: Vec<String> = inner
        .split(',')
        .map(|item| {
            let item = item.trim();
            let fine =
                full::read(&format!("k: [{item}]\n"), 0).is_ok_and(|document| one_entry(&document));
            if fine { item.to_owned() } else { single(item) }
        })
        .collect();
    format!("[{}]", items.join(", "))
}

const INDENT: &str = "indent with spaces";
const UNCLOSED: &str = "a quotation mark is never closed";

/// Says why a value is not YAML, in the author's terms.
fn why(value: &str) -> String {
    let first = value.chars().next().unwrap_or(' ');
    let is_quoted = first == '"' || first == '\'';
    let is_closed = is_quoted && value[1..].ends_with(first);
    let why = match first {
        '"' if is_closed && value.contains('\\') => {
            "a quoted value contains an escape that YAML does not know"
        }
        _ if is_closed => "a quoted value contains its own quotation mark",
        _ if is_quoted && value[1..].contains(first) && opened(value).is_none() => {
            "text follows the closing quotation mark"
        }
        _ if is_quoted => UNCLOSED,
        '`' => "an unquoted value begins with a backtick",
        _ if "[]{}@%&*!|>,#?".contains(first) => {
            return format!("an unquoted value begins with `{first}`");
        }
        _ if value.contains(": ") => UNQUOTED_COLON,
        _ if value.ends_with(':') => "an unquoted value ends with a colon",
        _ => "an unquoted value is not plain text",
    };
    why.to_owned()
}

fn shift(edit: &Edit, by: usize) -> Edit {
    let span = Span::new(edit.span.start as usize + by, edit.span.end as usize + by);
    Edit { span, replacement: edit.replacement.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads broken frontmatter; gives `key=value` pairs and, for each problem, its reason.
    fn check(text: &str, values: &[&str], reasons: &[&str]) {
        let result = salvage(text, 100, None);
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
            (values.iter().map(|&v| v.to_owned()).collect(), reasons.to_vec()),
            "{text}"
        );
    }

    #[test]
    fn values_without_quotation_marks_are_mended() {
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
        check("a: `b` c\n", &["a=`b` c"], &["an unquoted value begins with a backtick"]);
        check("paths: *.md\n", &["paths=*.md"], &["an unquoted value begins with `*`"]);
        check("a: it's: so\n", &["a=it's: so"], &[UNQUOTED_COLON]);
        check("a: x: y # why\n", &["a=x: y"], &[UNQUOTED_COLON]);
        check("a: fix: #12\n", &["a=fix: #12"], &[UNQUOTED_COLON]);
        check("a: one: two\n  three\nb: c\n", &["a=one: two three", "b=c"], &[UNQUOTED_COLON]);
    }

    #[test]
    fn broken_quotation_marks_are_mended() {
        check("a: \"x\" y\n", &["a=\"x\" y"], &["text follows the closing quotation mark"]);
        check(
            "a: \"\\d+\"\n",
            &["a=\\d+"],
            &["a quoted value contains an escape that YAML does not know"],
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
            &["a quoted value contains an escape that YAML does not know"],
        );
        check("a: 'it's'\n", &["a=it's"], &["a quoted value contains its own quotation mark"]);
        check("a: \"open\nb: c\n", &["a=open", "b=c"], &["a quotation mark is never closed"]);
        check("a: 'tis: so\n", &["a='tis: so"], &["a quotation mark is never closed"]);
    }

    /// The mended line, and what the fix is called.
    #[test]
    fn an_open_mark_is_closed_or_dropped_and_never_becomes_text() {
        for (value, mended, title) in [
            ("\"Writes notes.", "\"Writes notes.\"", "close the quotation mark"),
            ("'Writes notes.", "'Writes notes.'", "close the quotation mark"),
            ("'Don''t: ever.", "'Don''t: ever.'", "close the quotation mark"),
            ("\"Says \\\"hi\\\" now.", "\"Says \\\"hi\\\" now.\"", "close the quotation mark"),
            (
                "'Don't do it. Use it's here.",
                "'Don''t do it. Use it''s here.'",
                "close the quotation mark and double the inner `'`",
            ),
            ("'Don't do it.'", "'Don''t do it.'", "double the inner `'`"),
            ("\"Says \"hello\" to all.", "'Says \"hello\" to all.'", "put `'` around it"),
            ("\"Says \"hello\"", "'Says \"hello\"'", "put `'` around it"),
            ("\"Reads C:\\dir forms.", "'Reads C:\\dir forms.'", "put `'` around it"),
            ("\"Reads C:\\dir\\\"", "\"Reads C:\\\\dir\\\\\"", "double the backslash"),
            ("\"PDF\" forms.", "'\"PDF\" forms.'", "put `'` around it"),
            ("Use when: asked.", "'Use when: asked.'", "quote the value"),
        ] {
            let text = format!("description: {value}\n");
            let result = salvage(&text, 0, None);
            let [Problem { kind: ProblemKind::YamlRepaired { edits, title: said, .. }, span }] =
                result.problems.as_slice()
            else {
                panic!("{text}: {:?}", result.problems)
            };
            let fix = prowess_diag::Fix::safe("", edits.clone());
            let (after, _) = prowess_diag::fix::apply(&text, [&fix]);
            assert_eq!((after, *said), (format!("description: {mended}\n"), title));
            let is_open = title.starts_with("close");
            assert!(!is_open || span.of(&text).len() == 1, "{text}: {span:?}");
        }
    }

    #[test]
    fn a_list_that_is_never_closed_is_not_turned_into_text() {
        let result = salvage("name: x\nallowed-tools: [Read, \"Bash(git:*)\n", 0, None);
        assert_eq!((result.entries.len(), result.problems.len()), (1, 1));
        assert_eq!(result.lost, ["allowed-tools".into()]);
        // One word in brackets may be text.
        check("a: [draft: b\n", &["a=[draft: b"], &["an unquoted value begins with `[`"]);
    }

    #[test]
    fn indentation_is_mended() {
        check("m:\n\tx: 1\nb: c\n", &["m=…", "b=c"], &["a tab is used for indentation"]);
        check(
            "a: one\ntwo words\nb: c\n",
            &["a=one two words", "b=c"],
            &["a line continues the value but is not indented"],
        );
        check("k: [a, @b, c]\n", &["k=…"], &["an unquoted value begins with `[`"]);
    }

    #[test]
    fn a_hopeless_entry_does_not_take_the_others_along() {
        let result = salvage("name: x\nbad: {a: [}\n  - ]\ndescription: y\n", 0, None);
        let keys: Vec<&str> = result.entries.iter().map(|entry| &*entry.key).collect();
        assert!(keys.contains(&"name") && keys.contains(&"description"), "{keys:?}");
    }

    #[test]
    fn places_of_mended_values_are_places_in_the_original() {
        let text = "m:\n\tx: a: b\nlast: it\n";
        let result = salvage(text, 0, None);
        let x = &result.entries[0].value.entries().unwrap()[0];
        assert_eq!((x.key_span.of(text), x.value.text()), ("x", Some("a: b")));
        assert_eq!(x.value.span.of(text), "a: b");
    }
}
