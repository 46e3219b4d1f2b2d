//! Breaks lines that are wider than the terminal at words, whatever colours are in them.

use super::fit;

/// Returns a line as one or more that are no wider than `width`, all but the first indented. What
/// stands between backticks is kept together where it can be: it is there to be typed.
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
            // What is to be typed moves to the left before it breaks.
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

/// Splits at blanks that are not between backticks, nor behind a bracket's first word: what follows
/// `(default:` stands beside it.
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

/// Columns that a text takes on a terminal that draws its colours.
fn visible(text: &str) -> usize {
    fit::width(&plain(text))
}

/// Leaves out colours.
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
    fn lines_break_at_words_and_hang() {
        check("one two three", 13, "one two three");
        check("one two three", 12, "one two\n  three");
        check("one two three four", 7, "one two\n  three\n  four");
        check("  one two three", 12, "  one two\n    three");
    }

    #[test]
    fn colours_take_no_room() {
        check(
            "\x1b[1;31mone\x1b[0m two three",
            8,
            "\x1b[1;31mone\x1b[0m two\n  three",
        );
    }

    #[test]
    fn what_is_to_be_typed_stays_together_where_it_can() {
        check("run `a --b` now", 10, "run\n  `a --b`\n  now");
        check("run `a --bcd` now", 10, "run\n `a --bcd`\n  now");
        check("run `a --bcdef` now", 10, "run `a\n  --bcdef`\n  now");
        check("one (or: two) three", 11, "one\n  (or: two)\n  three");
        check("one (also: twotwotwo)", 12, "one (also:\n  twotwotwo)");
    }
}
