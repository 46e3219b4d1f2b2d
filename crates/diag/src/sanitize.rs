//! Makes text from strangers safe to print on a terminal.

use std::borrow::Cow;

/// Escapes control, bidirectional and invisible characters, so that text from a skill can neither
/// move the cursor, nor change colours, nor look like other text. Line breaks are escaped too.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, needs_escape)
}

/// Like [`line()`], for text of several lines: line breaks and tabs stay.
pub fn block(text: &str) -> Cow<'_, str> {
    escape(text, |c| !matches!(c, '\n' | '\t') && needs_escape(c))
}

/// Replaces what a terminal would act on by one visible character of the same length in UTF-8
/// where possible, so that spans into the text stay right. Used for source lines in snippets.
pub fn same_width(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| !matches!(c, '\n' | '\t' | '\r') && needs_escape(c)) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\n' | '\t' | '\r') || !needs_escape(c) {
            result.push(c);
        } else {
            // One, two, three and four bytes: the stand-in must be exactly as long as the original.
            result.push_str(["?", "¿", "\u{fffd}", "\u{fffd}?"][c.len_utf8() - 1]);
        }
    }
    Cow::Owned(result)
}

/// Tells whether a character can deceive: controls, bidirectional marks, zero-width and tag
/// characters.
pub fn is_deceptive(c: char) -> bool {
    is_bidi(c) || is_invisible(c)
}

/// Characters that change the direction of text around them ("Trojan Source").
pub fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that take no room on the screen and so can hide text. The zero-width joiner and
/// variation selectors are included: whether one is harmless depends on its neighbours.
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

fn needs_escape(c: char) -> bool {
    // Joiners and variation selectors are part of ordinary emoji and scripts; they cannot move
    // text, so a terminal may have them.
    let harmless = matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    c.is_control()
        || is_bidi(c)
        || (is_invisible(c) && !harmless)
        || matches!(c, '\u{2028}' | '\u{2029}')
}

fn escape(text: &str, wanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&wanted) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if wanted(c) {
            result.extend(c.escape_default());
        } else {
            result.push(c);
        }
    }
    Cow::Owned(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_untouched() {
        for text in ["plain", "naïve 技能", "👩\u{200d}💻", "☑\u{fe0f}"] {
            assert!(matches!(line(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn terminal_sequences_and_direction_marks_become_visible() {
        assert_eq!(line("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(line("x\u{202e}y\u{200b}z\n"), "x\\u{202e}y\\u{200b}z\\n");
        assert_eq!(block("x\u{202e}\n\ty"), "x\\u{202e}\n\ty");
    }

    #[test]
    fn stand_ins_keep_every_offset() {
        for text in ["a\x1bb", "a\u{85}b", "a\u{202e}b", "a\u{e0041}b"] {
            let safe = same_width(text);
            assert_eq!(safe.len(), text.len(), "{text:?}");
            assert!(!safe.chars().any(needs_escape), "{text:?}");
        }
    }
}
