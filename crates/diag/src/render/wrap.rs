//! Wraps lines at words. Colour sequences take no width.

use super::fit;

/// Wraps a line at `width` columns with a hanging indent. Text between backticks is kept together
/// if possible, because it is meant to be copied.
pub fn hang(line: &str, width: usize, indent: usize) -> String {
    if visible(line) <= width {
        return line.to_owned();
    }
    let own = line.len() - line.trim_start_matches(' ').len();
    let mut result = line[..own].to_owned();
    let (mut column, mut is_first) = (own, true);
    let indent = (own + indent).min(width / 2);
    let mut put = |word: &str| {
        let wide = visible(word);
        if !is_first && column + 1 + wide > width {
            // Reduce the indent before breaking text between backticks.
            let indent = indent.min(width.saturating_sub(wide));
            result.push('\n');
            result.push_str(&" ".repeat(indent));
            column = indent;
        } else if !is_first {
            result.push(' ');
            column += 1;
        }
        is_first = false;
        result.push_str(word);
        column += wide;
    };
    for word in words(&line[own..]) {
        if visible(word) <= width {
            put(word);
        } else {
            word.split(' ').for_each(&mut put);
        }
    }
    result
}

/// Splits at spaces, except between backticks and after a label such as `(default:`, which stays
/// with the word that follows.
pub fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut from, mut is_code) = (0, false);
    let is_label = |word: &str| word.starts_with(['(', '[']) && word.ends_with(':');
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'`' => is_code = !is_code,
            b' ' if !is_code && !is_label(&text[from..at]) => {
                words.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[from..]);
    words
}

/// Returns the width in columns, without colour sequences.
fn visible(text: &str) -> usize {
    fit::width(&plain(text))
}

/// Removes colour sequences.
pub(super) fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, width: usize, expected: &str) {
        assert_eq!(hang(line, width, 2), expected, "{line}");
        for part in hang(line, width, 2).lines() {
            assert!(visible(part) <= width, "{part}");
        }
    }

    #[test]
    fn lines_wrap_at_words_with_hanging_indent() {
        check("one two three", 13, "one two three");
        check("one two three", 12, "one two\n  three");
        check("one two three four", 7, "one two\n  three\n  four");
        check("  one two three", 12, "  one two\n    three");
    }

    #[test]
    fn colours_take_no_width() {
        check(
            "\x1b[1;31mone\x1b[0m two three",
            8,
            "\x1b[1;31mone\x1b[0m two\n  three",
        );
    }

    #[test]
    fn text_between_backticks_stays_together_if_possible() {
        check("run `a --b` now", 10, "run\n  `a --b`\n  now");
        check("run `a --bcd` now", 10, "run\n `a --bcd`\n  now");
        check("run `a --bcdef` now", 10, "run `a\n  --bcdef`\n  now");
        check("one (or: two) three", 11, "one\n  (or: two)\n  three");
        check("one (also: twotwotwo)", 12, "one (also:\n  twotwotwo)");
    }
}
