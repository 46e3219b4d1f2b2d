//! Quotes values so that YAML reads the author's text, and explains what was wrong.

use std::ops::Range;

use super::comment::comment_start;
use super::one_entry;
use crate::problem::UNQUOTED_COLON;
use crate::yaml::full;

pub(super) const UNCLOSED: &str = "a quotation mark is not closed";
const OWN_MARK: &str = "a quoted value contains its own quotation mark";
const BAD_ESCAPE: &str = "a quoted value contains an invalid escape";

/// Quotes a value so that YAML reads exactly the author's text.
pub(super) fn quote(value: &str) -> Option<String> {
    let parses = |candidate: &str| {
        let candidate = candidate.replace('\n', "\n  ");
        full::read(&format!("k: {candidate}\n"), 0).is_ok_and(|document| one_entry(&document))
    };
    let mut candidates = Vec::new();
    if let Some((inner, mark)) = framed(value) {
        candidates.extend([format!("{mark}{inner}{mark}"), single(inner)]);
    } else if let Some((mark, inner, is_closed)) = opened(value) {
        candidates.push(match (mark, is_closed) {
            ('"', true) => format!("\"{}\"", double_bad_escapes(inner)),
            (_, true) => single(inner),
            (_, false) => format!("{value}{mark}"),
        });
        candidates.extend((mark == '"' && inner.contains("\\\"")).then(|| with_marks(inner)));
        candidates.push(single(inner));
    } else if let Some(inner) = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        && !inner.contains(['"', '\''])
        && inner.split(',').all(is_balanced)
    {
        candidates.push(quote_items(inner));
    }
    // The intended end of an unclosed list is unknown, and the list is not text either.
    let open = value.matches('[').count() > value.matches(']').count() && value.contains(',');
    candidates.extend((!open || !value.starts_with('[')).then(|| single(value)));
    candidates.into_iter().find(|candidate| parses(candidate))
}

/// Returns the inner text of a value between unmatched quotation marks (`"""text"""`, `"text'` or
/// `"text",`) and the quotation mark it should have.
fn framed(value: &str) -> Option<(&str, char)> {
    let mark = value
        .chars()
        .next()
        .filter(|first| ['"', '\''].contains(first))?;
    let other = if mark == '"' { '\'' } else { '"' };
    let triple = value
        .strip_prefix("\"\"\"")
        .and_then(|rest| rest.strip_suffix("\"\"\""));
    let mixed = value[1..]
        .strip_suffix(other)
        .filter(|inner| !inner.contains(other));
    let listed = value[1..]
        .strip_suffix(',')
        .and_then(|inner| inner.strip_suffix(mark));
    let inner = triple
        .or(mixed)
        .or(listed)
        .filter(|inner| !inner.contains(mark))?;
    Some((inner, mark))
}

/// Returns `true` if the intended value is unambiguous: it contains no possible comment, its
/// quotation marks are a pair, and its backslashes are either all escapes or none.
pub(super) fn is_certain(value: &str) -> bool {
    let opened = opened(value);
    let is_closed = opened.is_some_and(|(.., is_closed)| is_closed);
    let has_escapes = |inner: &str| {
        why(value) == BAD_ESCAPE
            && inner
                .replace("\\\\", "")
                .split('\\')
                .skip(1)
                .any(|rest| rest.starts_with(LETTERS))
    };
    (comment_start(value).is_none() || is_closed)
        && framed(value).is_none_or(|_| value.ends_with(','))
        && !opened.is_some_and(|(mark, inner, _)| mark == '"' && has_escapes(inner))
}

pub(super) fn is_plain(value: &str) -> bool {
    !value.starts_with(['"', '\''])
}

/// Returns the quotation mark that opens a value, the text after it, and whether the same mark
/// closes the value. Returns `None` if the mark belongs to a part of the value, as in `"a" or "b"`
/// and `'tis`.
fn opened(value: &str) -> Option<(char, &str, bool)> {
    let mark = value
        .chars()
        .next()
        .filter(|first| ['"', '\''].contains(first))?;
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

/// Returns the title of the fix for a value.
pub(super) fn remedy(value: &str, quoted: &str) -> &'static str {
    match opened(value) {
        _ if is_plain(value) => "quote the value",
        _ if framed(value).is_some() && value.ends_with(',') => "remove the comma",
        _ if framed(value).is_some() => "use one pair of quotation marks",
        None => "put `'` around the whole value",
        Some(_) if quoted.strip_prefix(value).is_some() => "close the quotation mark",
        Some(_) if quoted.starts_with('"') && why(value) == OWN_MARK => {
            "write `\\\"` for the inner quotation marks"
        }
        Some(_) if quoted.starts_with('"') => "double the backslash",
        Some(('\'', _, true)) => "double the inner `'`",
        Some(('\'', ..)) => "close the quotation mark and double the inner `'`",
        Some(_) => "use `'` as the outer quotation mark",
    }
}

/// Explains why a value is not valid YAML.
pub(super) fn why(value: &str) -> String {
    let first = value.chars().next().unwrap_or(' ');
    let is_quoted = !is_plain(value);
    let is_closed = is_quoted && value[1..].ends_with(first);
    let why = match first {
        _ if framed(value).is_some() => match value.chars().next_back() {
            Some(',') => "a comma follows the closing quotation mark",
            Some(last) if last == first => "a value has three quotation marks on each side",
            _ => "a value begins with one quotation mark and ends with another",
        },
        '"' if is_closed && value.contains('\\') && !has_bare_mark(&value[1..value.len() - 1]) => {
            BAD_ESCAPE
        }
        _ if is_closed => OWN_MARK,
        _ if is_quoted && value[1..].contains(first) && opened(value).is_none() => {
            "text follows the closing quotation mark"
        }
        _ if is_quoted => UNCLOSED,
        '`' => "an unquoted value begins with a backtick",
        _ if "[]{}@%&*!|>,#?".contains(first) => {
            return format!("an unquoted value begins with `{first}`");
        }
        '-' if value.starts_with("- ") => "an unquoted value begins with a hyphen and a space",
        _ if value.contains(": ") => UNQUOTED_COLON,
        _ if value.ends_with(':') => "an unquoted value ends with a colon",
        _ if value.contains(":\n") => "a line of an unquoted value ends with a colon",
        _ if comment_start(value).is_some() => "an unquoted value continues after ` #`",
        _ => "an unquoted value is not plain text",
    };
    why.to_owned()
}

/// Returns the offset of the fault that [`why`] names, if it is a single character.
pub(super) fn fault_at(value: &str) -> Option<usize> {
    if !is_plain(value) {
        return (why(value) == UNCLOSED).then_some(0);
    }
    if why(value).contains("begins with") {
        return None;
    }
    let colon = |at: &usize| {
        value[at + 1..]
            .chars()
            .next()
            .is_none_or(char::is_whitespace)
    };
    let colon = value.match_indices(':').map(|(at, _)| at).find(colon);
    colon.or_else(|| comment_start(value))
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Quotes text that contains both escaped and bare quotation marks; all of them are text.
fn with_marks(inner: &str) -> String {
    let text = inner.replace("\\\"", "\"");
    if !text.contains('\\') {
        return single(&text);
    }
    let mut escaped = String::with_capacity(inner.len() + 8);
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => escaped.extend([Some(c), characters.next()].into_iter().flatten()),
            '"' => escaped.push_str("\\\""),
            c => escaped.push(c),
        }
    }
    let written = format!("\"{escaped}\"");
    if full::read(&written, 0).is_ok() {
        written
    } else {
        format!("\"{}\"", double_bad_escapes(&escaped))
    }
}

/// Returns `true` if the text contains an unescaped quotation mark.
fn has_bare_mark(inner: &str) -> bool {
    let mut escaped = false;
    inner.chars().any(|c| {
        let is_bare = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_bare
    })
}

/// Characters that form an escape after a backslash.
const LETTERS: [char; 14] = [
    '0', 'a', 'b', 't', 'n', 'v', 'f', 'r', 'e', 'N', '_', 'L', 'P', ' ',
];

/// Doubles the backslashes of a value with invalid escapes, such as `"\d+"`. The author meant
/// literal backslashes, including those of
/// `C:\Users\new`.
fn double_bad_escapes(inner: &str) -> String {
    let mut result = String::with_capacity(inner.len() + 8);
    let mut characters = inner.chars().peekable();
    while let Some(c) = characters.next() {
        result.push(c);
        if c == '\\' {
            match characters.peek().copied() {
                Some('"' | '/' | '\\') => result.extend(characters.next()),
                Some('x') if has_digits(&characters, 2) => result.extend(characters.next()),
                Some('u') if has_digits(&characters, 4) => result.extend(characters.next()),
                Some('U') if has_digits(&characters, 8) => result.extend(characters.next()),
                _ => result.push('\\'),
            }
        }
    }
    result
}

/// Returns `true` if `count` hexadecimal digits follow the next character.
fn has_digits(characters: &std::iter::Peekable<std::str::Chars<'_>>, count: usize) -> bool {
    let mut digits = characters.clone().skip(1).take(count);
    digits.by_ref().filter(char::is_ascii_hexdigit).count() == count
}

/// Returns `true` if the square brackets of an item are in pairs: `ray[data]`.
fn is_balanced(item: &str) -> bool {
    let mut depth = 0_usize;
    item.bytes().all(|byte| match byte {
        b'[' => {
            depth += 1;
            true
        }
        b']' => {
            let is_open = depth > 0;
            depth = depth.saturating_sub(1);
            is_open
        }
        _ => true,
    }) && depth == 0
}

fn is_valid_item(item: &str) -> bool {
    full::read(&format!("k: [{item}]\n"), 0).is_ok_and(|document| one_entry(&document))
}

/// Returns why the first invalid item of a flow list is invalid, and its range in the value.
pub(super) fn invalid_item(value: &str) -> Option<(String, Range<usize>)> {
    let inner = value.strip_prefix('[')?.strip_suffix(']')?;
    let mut at = 1;
    for part in inner.split(',') {
        let item = part.trim();
        let start = at + part.len() - part.trim_start().len();
        at += part.len() + 1;
        if !is_valid_item(item) {
            let why = match item.chars().next()? {
                '`' => "an unquoted item begins with a backtick".to_owned(),
                first if "{}@%&*!|>#?".contains(first) => {
                    format!("an unquoted item begins with `{first}`")
                }
                _ if item.contains('[') => "an unquoted item contains `[`".to_owned(),
                _ => "an unquoted item is not plain text".to_owned(),
            };
            return Some((why, start..start + item.len()));
        }
    }
    None
}

/// Quotes the items of a flow list that need it.
fn quote_items(inner: &str) -> String {
    let items: Vec<String> = inner
        .split(',')
        .map(|item| {
            let item = item.trim();
            if is_valid_item(item) {
                item.to_owned()
            } else {
                single(item)
            }
        })
        .collect();
    format!("[{}]", items.join(", "))
}
