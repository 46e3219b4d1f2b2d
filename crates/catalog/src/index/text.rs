//! Sanitises names and descriptions for the index: one line, nothing hidden, limited in length.

use std::borrow::Cow;

use prowess_diag::sanitize;

use super::IndexFormat;
use super::budget::IndexLimit;
use crate::skill::Skill;

/// Bytes that some format escapes.
const SPECIAL: [bool; 256] = {
    let (mut table, escaped) = ([false; 256], *b"<>&\"'\\");
    let mut i = 0;
    while i < escaped.len() {
        table[escaped[i] as usize] = true;
        i += 1;
    }
    table
};
/// Maximum distance to the end of a word at which a text is cut, in bytes.
const NEARBY: usize = 24;
/// Marks a cut.
const ELLIPSIS: char = '…';

/// Bytes that every format writes unchanged, even in a name.
const PLAIN: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0);
    while byte < table.len() {
        let special = SPECIAL[byte] || byte == b'*' as usize || byte == b'`' as usize;
        table[byte] = byte > b' ' as usize && byte <= b'~' as usize && !special;
        byte += 1;
    }
    table
};

/// Returns `true` if every format shows the name unchanged, at one unit per byte.
pub(super) fn is_plain(name: &str) -> bool {
    // `fold` without early exit is faster than `all`.
    name.bytes()
        .fold(true, |plain, byte| plain & PLAIN[usize::from(byte)])
}

/// Returns a name for display. Characters that could be invisible or break a line are written out,
/// so that different names never look the same.
pub(super) fn name(name: &str) -> Cow<'_, str> {
    if name
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    {
        return Cow::Borrowed(name);
    }
    let mut shown = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        let visible = !c.is_control() && !sanitize::is_deceptive(c) && c != '\\';
        if visible && (c == ' ' || !c.is_whitespace()) {
            shown.push(c);
        } else if c.is_ascii() {
            shown.extend(c.escape_default());
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    Cow::Owned(shown)
}

/// Returns the description and `when_to_use` of a skill on one line.
pub(super) fn description(skill: &Skill) -> Cow<'_, str> {
    let text = tidy(&skill.description);
    match skill.when_to_use.as_deref().map(tidy) {
        Some(when) if !when.is_empty() && !text.is_empty() => Cow::Owned(format!("{text} {when}")),
        Some(when) if !when.is_empty() => when,
        _ => text,
    }
}

/// Returns `true` if [`description`] is not empty.
pub(super) fn has_description(skill: &Skill) -> bool {
    let is_visible = |byte: u8| byte.is_ascii_graphic();
    skill.description.bytes().any(is_visible) || !description(skill).is_empty()
}

/// Returns a text on one line without hidden characters. Each run of whitespace and control
/// characters becomes one space, and invisible characters are removed unless they join others.
pub(crate) fn tidy(text: &str) -> Cow<'_, str> {
    if is_tidy(text) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    let (mut blank, mut last) = (false, ' ');
    for c in text.chars() {
        let is_plain = c.is_ascii_graphic();
        if !is_plain && (c.is_whitespace() || c.is_control()) {
            blank = !line.is_empty();
            last = ' ';
        } else if !is_plain
            && (sanitize::is_bidi(c) || (sanitize::is_invisible(c) && !joins(last, c)))
        {
            // Skip it.
        } else {
            if blank {
                line.push(' ');
                blank = false;
            }
            line.push(c);
            last = c;
        }
    }
    Cow::Owned(line)
}

fn is_tidy(text: &str) -> bool {
    let mut last = b' ';
    for &byte in text.as_bytes() {
        if !(b' '..=b'~').contains(&byte) || (byte == b' ' && last == b' ') {
            return false;
        }
        last = byte;
    }
    last != b' ' || text.is_empty()
}

/// Returns `true` if an invisible character belongs to the one before it, as in emoji and in
/// Persian. A run of them could carry a hidden message.
fn joins(last: char, c: char) -> bool {
    let base = !last.is_ascii() && !sanitize::is_invisible(last);
    match c {
        '\u{200c}' | '\u{fe0e}' | '\u{fe0f}' => base,
        '\u{200d}' => base || last == '\u{fe0f}',
        _ => false,
    }
}

/// Returns the units of a text after escaping.
pub(super) fn units(text: &str, format: IndexFormat, limit: IndexLimit) -> usize {
    let more = escapes(text, format)
        .map(|(_, escaped)| escaped.len() - 1)
        .sum::<usize>();
    limit.of(text) + more
}

/// Returns the escapes of a text with their offsets.
fn escapes(text: &str, format: IndexFormat) -> impl Iterator<Item = (usize, &'static str)> {
    let special = (text.bytes().enumerate()).filter(|(_, byte)| SPECIAL[usize::from(*byte)]);
    special.filter_map(move |(at, byte)| {
        Some((
            at,
            format.escape(byte.into(), text[at + 1..].chars().next())?,
        ))
    })
}

fn units_of(c: char, next: Option<char>, format: IndexFormat, limit: IndexLimit) -> usize {
    match u8::try_from(c) {
        Ok(byte) if SPECIAL[usize::from(byte)] => format.escape(c, next).map_or(1, str::len),
        _ => limit.of_char(c),
    }
}

/// Shortens a text to a number of characters and units, at the end of a word if one is near, and
/// appends an ellipsis. Returns `None` if not even one character fits.
pub(super) fn shorten(
    text: &str,
    format: IndexFormat,
    limit: IndexLimit,
    (max_chars, max_units): (usize, usize),
) -> Option<Cow<'_, str>> {
    if text.len() <= max_chars && max_units == usize::MAX {
        return (!text.is_empty()).then_some(Cow::Borrowed(text));
    }
    let mark = limit.of_char(ELLIPSIS);
    // The last possible end before an ellipsis, and the last end of a word before it.
    let (mut end, mut word) = (0, 0);
    let (mut count, mut used) = (0usize, 0usize);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, next)| next);
        if count < max_chars && used.saturating_add(mark) <= max_units {
            end = at;
            if c == ' ' {
                word = at;
            }
        }
        count += 1;
        used = used.saturating_add(units_of(c, next, format, limit));
        if count > max_chars || used > max_units {
            let near = word * 2 >= end && end - word <= NEARBY;
            let end = if near { word } else { end };
            let kept =
                text[..end].trim_end_matches([' ', ',', ';', ':', '-', '–', '—', '(', '\u{200d}']);
            return (!kept.is_empty()).then(|| Cow::Owned(format!("{kept}{ELLIPSIS}")));
        }
    }
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

/// Writes a text with escapes.
pub(super) fn write(out: &mut String, text: &str, format: IndexFormat) {
    let mut from = 0;
    for (at, escaped) in escapes(text, format) {
        out.push_str(&text[from..at]);
        out.push_str(escaped);
        from = at + 1;
    }
    out.push_str(&text[from..]);
}

/// Returns `true` if `<` followed by this character starts a tag.
pub(super) fn begins_tag(next: Option<char>) -> bool {
    next.is_some_and(|next| next.is_alphabetic() || matches!(next, '/' | '!' | '?'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Bullets;

    #[test]
    fn hidden_characters_in_names_are_written_out() {
        let check = |raw: &str, shown: &str| assert_eq!(name(raw), shown);
        check("pdf-tools", "pdf-tools");
        check("apps/web:deploy", "apps/web:deploy");
        check("my skill", "my skill");
        check("技能", "技能");
        check("a\nb", "a\\nb");
        check("a\\nb", "a\\\\nb");
        check("dep\u{200b}loy", "dep\\u{200b}loy");
        check("x\u{202e}y\u{2028}\0", "x\\u{202e}y\\u{2028}\\u{0}");
    }

    #[test]
    fn descriptions_are_one_visible_line() {
        let check = |raw: &str, shown: &str| assert_eq!(tidy(raw), shown);
        check("", "");
        check("Fills forms.", "Fills forms.");
        check("  a \r\n\r\n\t b  ", "a b");
        check("a\u{2028}b\0c\u{85}d\u{3000}e", "a b c d e");
        check("a\u{202e}b\u{200b}c\u{feff}\u{e0041}", "abc");
        check(
            "👩\u{200d}💻 ☑\u{fe0f} 👁\u{fe0f}\u{200d}🗨",
            "👩\u{200d}💻 ☑\u{fe0f} 👁\u{fe0f}\u{200d}🗨",
        );
        check("a\u{fe0f}b\u{200d}\u{200d}c", "abc");
        check("é\u{fe01}\u{fe0f}\u{fe0f}\u{fe0f}", "é\u{fe0f}");
    }

    #[test]
    fn texts_are_cut_at_words() {
        let format = IndexFormat::Markdown(Bullets::Dash);
        let check = |text: &str, max: usize, expected: Option<&str>| {
            for limits in [(max, usize::MAX), (usize::MAX, max)] {
                let short = shorten(text, format, IndexLimit::Characters(0), limits);
                assert_eq!(short.as_deref(), expected, "{limits:?}");
            }
        };
        check("one two three", 13, Some("one two three"));
        check("one two three", 12, Some("one two…"));
        check("one two three", 8, Some("one two…"));
        check("one two three", 7, Some("one…"));
        check("one, two", 5, Some("one…"));
        check("incomprehensible", 6, Some("incom…"));
        check("技能技能技能", 3, Some("技能…"));
        check("word", 1, None);
        check("word", 0, None);
        check("", 5, None);
    }

    #[test]
    fn escapes_are_never_split() {
        let short = shorten(
            "a<b>&c",
            IndexFormat::Xml,
            IndexLimit::Characters(0),
            (99, 8),
        );
        assert_eq!(short.as_deref(), Some("a<b…"));
        assert_eq!(
            units("a<b…", IndexFormat::Xml, IndexLimit::Characters(0)),
            7
        );
    }
}
