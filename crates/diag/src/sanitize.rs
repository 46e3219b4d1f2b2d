//! Makes untrusted text safe to print on a terminal.

use std::borrow::Cow;

/// Escapes control, bidirectional and invisible characters, so that text from a skill cannot move
/// the cursor, change colours or look like other text. Line breaks are escaped too.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, |_| true)
}

/// Escapes like [`line()`], but keeps line breaks and tabs.
pub fn block(text: &str) -> Cow<'_, str> {
    escape(text, is_not_layout)
}

/// Escapes JSON for a terminal: a JSON writer leaves DEL, eight-bit control characters, direction
/// marks and invisible characters as they are. The result is the same document.
pub fn json(text: &str) -> Cow<'_, str> {
    let wanted = |at: usize, c: char| is_not_layout(c) && needs_escape(text, at, c);
    if !text.char_indices().any(|(at, c)| wanted(at, c)) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        if wanted(at, c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                result.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            result.push(c);
        }
    }
    Cow::Owned(result)
}

/// Escapes like [`block`], but keeps colours: text that is laid out, with its parts from others
/// already escaped. The last guard before a terminal.
pub fn styled(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return block(text);
    }
    let mut result = String::with_capacity(text.len());
    for (number, part) in text.split('\u{1b}').enumerate() {
        let end = part.strip_prefix('[').and_then(|codes| {
            let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            codes[end..].starts_with('m').then_some(end + 2)
        });
        // The first part has no escape character before it.
        let kept = end.filter(|_| number > 0).unwrap_or(0);
        if number > 0 {
            result.push_str(if kept > 0 { "\u{1b}" } else { "\\u{1b}" });
        }
        result.push_str(&part[..kept]);
        result.push_str(&block(&part[kept..]));
    }
    Cow::Owned(result)
}

/// Writes control and invisible characters as code points, e.g. `<U+200B>`. Used for quoted text
/// such as source lines; line breaks and tabs are kept.
pub fn visible(text: &str) -> VisibleText<'_> {
    let hidden = text.char_indices().filter(|&(at, c)| match c {
        '\n' | '\t' => false,
        '\r' => !text[at..].starts_with("\r\n"),
        _ => needs_escape(text, at, c),
    });
    let mut shown = Cow::Borrowed("");
    let (mut grown, mut from) = (Vec::new(), 0);
    for (at, c) in hidden {
        let result = shown.to_mut();
        result.push_str(&text[from..at]);
        result.push_str(&format!("<U+{:04X}>", u32::from(c)));
        from = at + c.len_utf8();
        grown.push((from, result.len()));
    }
    match grown.last() {
        None => shown = Cow::Borrowed(text),
        Some(_) => shown.to_mut().push_str(&text[from..]),
    }
    VisibleText {
        text: shown,
        ends: grown,
    }
}

/// Text with invisible characters written out, and a map from original offsets to offsets in it.
#[derive(Clone, Debug)]
pub struct VisibleText<'a> {
    /// The text with every character visible.
    pub text: Cow<'a, str>,
    /// For each replaced character: the offset of its end in the original, and in `text`.
    ends: Vec<(usize, usize)>,
}

impl VisibleText<'_> {
    /// Converts an offset in the original to an offset in `text`.
    pub fn place(&self, at: usize) -> usize {
        let before = self.ends.partition_point(|(end, _)| *end <= at);
        let last = before.checked_sub(1).and_then(|last| self.ends.get(last));
        let place = last.map_or(at, |(end, now)| now + (at - end));
        place.min(self.text.len())
    }
}

/// Returns `true` if a character can deceive a reader: bidirectional marks, zero-width and tag
/// characters.
pub fn is_deceptive(c: char) -> bool {
    is_bidi(c) || is_invisible(c)
}

/// Returns `true` for characters that change the direction of the text around them ("Trojan
/// Source").
pub fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns `true` for characters that take no space on the screen and so can hide text. The
/// zero-width joiner and variation selectors are included: whether one is harmless depends on its
/// neighbours.
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{70f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{13441}' | '\u{13442}' | '\u{16fe4}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns `true` if an invisible character is part of ordinary writing between these neighbours: a
/// joiner between emoji or between letters of scripts that need it, or one variation selector after
/// a character that has variants. Any other could carry a hidden message, above all a run of them.
pub fn is_ordinary(c: char, before: Option<char>, after: Option<char>) -> bool {
    let joined = |c: Option<char>| {
        c.is_some_and(|c| !c.is_ascii() && !c.is_control() && (c == '\u{fe0f}' || !is_invisible(c)))
    };
    match c {
        '\u{200c}' | '\u{200d}' => joined(before) && joined(after),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            before.is_some_and(|before| has_variant(before, c))
        }
        _ => false,
    }
}

/// Returns `true` if a character has variants that a variation selector of this kind selects.
fn has_variant(c: char, selector: char) -> bool {
    let is_ideograph = matches!(
        c,
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
    );
    match selector {
        // Emoji, also keycaps.
        '\u{fe0e}' | '\u{fe0f}' => {
            matches!(c, '0'..='9' | '#' | '*')
                || !(c.is_ascii() || c.is_whitespace() || is_invisible(c) || is_bidi(c))
        }
        '\u{fe00}'..='\u{fe0d}' => {
            is_ideograph
                || matches!(
                    c,
                    '\u{1000}'..='\u{109f}' | '\u{2200}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}'
                        | '\u{3000}'..='\u{33ff}' | '\u{a840}'..='\u{a87f}' | '\u{ff00}'..='\u{ff9f}'
                        | '\u{10ac0}'..='\u{10aff}' | '\u{13000}'..='\u{1342f}'
                )
        }
        _ => is_ideograph,
    }
}

/// Returns `true` if tag characters may follow this text: they spell the region of a flag after a
/// waving black flag, 🏴󠁧󠁢󠁳󠁣󠁴󠁿.
pub fn is_flag(before: &str) -> bool {
    before
        .chars()
        .rev()
        .take(8)
        .find(|c| !matches!(c, '\u{e0020}'..='\u{e007f}'))
        == Some('\u{1f3f4}')
}

/// Sizes of the chunks that are tested for ASCII. Most text is ASCII with an occasional dash or
/// arrow. Fixed sizes let the compiler vectorise the test.
const PAGE: usize = 512;
const LINE: usize = 64;

/// Finds bidirectional and invisible characters. In chunks that are not ASCII, looks only at lead
/// bytes, eight bytes at a time.
pub fn deceptive(text: &str) -> Vec<(usize, char)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut look = |at: usize| {
        if may_deceive(&bytes[at..]) {
            let character = text.get(at..).and_then(|rest| rest.chars().next());
            found.extend(character.filter(|&c| is_deceptive(c)).map(|c| (at, c)));
        }
    };
    let mut look_at_lines = |lines: &[[u8; LINE]], offset: usize| {
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| !is_ascii(line)) {
            look_at_firsts(line, offset + number * LINE, &mut look);
        }
    };
    let (pages, rest) = bytes.as_chunks::<PAGE>();
    for (number, page) in pages.iter().enumerate().filter(|(_, page)| !is_ascii(page)) {
        look_at_lines(page.as_chunks().0, number * PAGE);
    }
    let (lines, rest) = rest.as_chunks();
    look_at_lines(lines, pages.len() * PAGE);
    let mut last = [0; LINE];
    last[..rest.len()].copy_from_slice(rest);
    look_at_lines(&[last], bytes.len() - rest.len());
    found
}

fn is_ascii<const N: usize>(piece: &[u8; N]) -> bool {
    piece.iter().fold(0, |all, byte| all | byte) < 0x80
}

/// Calls `look` for every lead byte of a multi-byte character.
fn look_at_firsts(line: &[u8; LINE], offset: usize, look: &mut impl FnMut(usize)) {
    let mut firsts = 0_u64;
    for (index, word) in line.as_chunks::<8>().0.iter().enumerate() {
        // A lead byte starts with two set bits. The multiplication gathers these bits of eight
        // bytes in the top byte, so that one loop per line is enough.
        let word = u64::from_le_bytes(*word);
        let word = (word & (word << 1) & 0x8080_8080_8080_8080) >> 7;
        firsts |= (word.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (index * 8);
    }
    while firsts != 0 {
        look(offset + firsts.trailing_zeros() as usize);
        firsts &= firsts - 1;
    }
}

/// Returns `true` if a deceptive character may start with these bytes.
fn may_deceive(bytes: &[u8]) -> bool {
    let &[first, second, ref rest @ ..] = bytes else {
        return false;
    };
    if (SECONDS[usize::from(first & 63)] >> (second & 63)) & 1 == 0 {
        return false;
    }
    // Dashes and quotation marks are the most common case.
    (first, second) != (0xe2, 0x80) || rest.first().is_some_and(|third| third & 0x18 == 0x08)
}

/// For each lead byte, the second bytes of deceptive characters.
static SECONDS: [u64; 64] = {
    let beginnings: [(u8, &[u8]); 10] = [
        (0xc2, &[0xad]),
        (0xcd, &[0x8f]),
        (0xd8, &[0x9c]),
        (0xdc, &[0x8f]),
        (0xe1, &[0x85, 0x9e, 0xa0]),
        (0xe2, &[0x80, 0x81]),
        (0xe3, &[0x85]),
        (0xef, &[0xb8, 0xbb, 0xbe, 0xbf]),
        (0xf0, &[0x91, 0x93, 0x96, 0x9b, 0x9d]),
        (0xf3, &[0xa0]),
    ];
    let (mut table, mut at) = ([0; 64], 0);
    while at < beginnings.len() {
        let (first, seconds) = beginnings[at];
        let mut second = 0;
        while second < seconds.len() {
            table[(first & 63) as usize] |= 1 << (seconds[second] & 63);
            second += 1;
        }
        at += 1;
    }
    table
};

/// Returns `true` for all but line breaks and tabs.
fn is_not_layout(c: char) -> bool {
    !matches!(c, '\n' | '\t')
}

/// Returns `true` if the character at an offset must not reach a terminal.
fn needs_escape(text: &str, at: usize, c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    if is_invisible(c) {
        let before = text[..at].chars().next_back();
        let after = text[at + c.len_utf8()..].chars().next();
        return !is_ordinary(c, before, after);
    }
    c.is_control() || is_bidi(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns `true` if a text is printable ASCII, which is never escaped.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

fn escape(text: &str, wanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    let wanted = |at: usize, c: char| wanted(c) && needs_escape(text, at, c);
    if is_plain(text) || !text.char_indices().any(|(at, c)| wanted(at, c)) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        if wanted(at, c) {
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
        for text in [
            "plain",
            "naïve 技能",
            "👩\u{200d}💻",
            "☑\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "葛\u{e0100}城",
            "می\u{200c}خواهم",
        ] {
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
    fn runs_of_selectors_and_joiners_become_visible() {
        assert_eq!(line("a\u{fe06}"), "a\\u{fe06}");
        assert_eq!(line("☺\u{fe0f}\u{fe06}"), "☺\u{fe0f}\\u{fe06}");
        assert_eq!(line("x\u{200c}\u{200d}y"), "x\\u{200c}\\u{200d}y");
        assert_eq!(line("\u{e0101}\u{fff9}"), "\\u{e0101}\\u{fff9}");
        assert_eq!(
            line("\u{1bca0}\u{13430}\u{110bd}"),
            "\\u{1bca0}\\u{13430}\\u{110bd}"
        );
        // Fillers, unassigned characters that are ignored, and marks without a shape.
        assert_eq!(
            line("\u{13441}\u{13442}\u{1d159}\u{fff0}\u{fff8}\u{70f}\u{16fe4}"),
            "\\u{13441}\\u{13442}\\u{1d159}\\u{fff0}\\u{fff8}\\u{70f}\\u{16fe4}"
        );
    }

    #[test]
    fn json_stays_the_same_document() {
        let text = "{\n\t\"é\": \"a\u{7f}\u{9b}\u{202e}\u{e0041}z\"\n}";
        assert_eq!(
            json(text),
            "{\n\t\"é\": \"a\\u007f\\u009b\\u202e\\udb40\\udc41z\"\n}"
        );
        assert!(matches!(json("{\"a\": 1}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_colours_are_kept_in_styled_text() {
        let fine = "\u{1b}[1;31mred\u{1b}[0m\tx\u{1b}[m\n";
        assert_eq!(styled(fine), fine);
        assert_eq!(styled("[1mx\u{7}"), "[1mx\\u{7}");
        assert_eq!(
            styled("a\u{1b}[2Jb\u{1b}]8;;u\u{7}\u{1b}[1mc\u{1b}"),
            "a\\u{1b}[2Jb\\u{1b}]8;;u\\u{7}\u{1b}[1mc\\u{1b}"
        );
    }

    #[test]
    fn invisible_characters_are_written_out_and_offsets_map() {
        let text = "a\x1bb\u{200b}\u{e0041}c\n";
        let shown = visible(text);
        assert_eq!(shown.text, "a<U+001B>b<U+200B><U+E0041>c\n");
        let places = ["a", "\x1b", "b", "\u{200b}", "\u{e0041}", "c"].map(|part| {
            let at = text.find(part).unwrap();
            &shown.text[shown.place(at)..shown.place(at + part.len())]
        });
        assert_eq!(places, ["a", "<U+001B>", "b", "<U+200B>", "<U+E0041>", "c"]);
        assert_eq!(shown.place(text.len()), shown.text.len());
        assert!(matches!(visible("a\tb").text, Cow::Borrowed("a\tb")));
    }

    #[test]
    fn every_deceptive_character_is_found() {
        // The search uses lead bytes, so each character must start with one of those in the table.
        for c in (0..=0x10_ffff)
            .filter_map(char::from_u32)
            .filter(|&c| is_deceptive(c))
        {
            assert_eq!(
                deceptive(&format!("a{c}b")),
                [(1, c)],
                "U+{:04X}",
                u32::from(c)
            );
            let long = format!("a—“{c}”{}", "b".repeat(PAGE));
            assert_eq!(deceptive(&long), [(7, c)], "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn deceptive_characters_are_found_at_any_offset() {
        for c in ['\u{ad}', '\u{200b}', '\u{e0041}'] {
            for at in (0..200).chain(400..700) {
                let text = format!("{}{c}{}é", "a".repeat(at), "b".repeat(750 - at));
                assert_eq!(deceptive(&text), [(at, c)], "{at}");
            }
        }
    }
}
