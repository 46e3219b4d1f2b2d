//! Prepares untrusted text that a person reviews: questions about permissions, and summaries before
//! trust. Nothing is left out without a note that says how much.

use unicode_width::UnicodeWidthChar;

use crate::sanitize;
use crate::wording::{count, thousands};

/// Maximum number of equal blanks in a row that are shown as they are.
const MAX_BLANKS: usize = 16;
/// Maximum number of empty lines in a row that are shown as they are.
const MAX_EMPTY_LINES: usize = 2;
/// Minimum width of a row.
const MIN_WIDTH: usize = 20;
/// Number of first rows that are repeated beside a question that does not fit the screen.
const REPEATED: usize = 3;
/// Lines of the screen that a question needs for other text.
const OTHER_LINES: usize = 8;
/// Begins each row of untrusted text, so that it cannot imitate a line of the program.
pub const GUTTER: &str = "  │ ";

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    /// Number of columns.
    pub columns: usize,
    /// Number of lines.
    pub lines: usize,
}

impl Default for ScreenSize {
    fn default() -> Self {
        Self {
            columns: 80,
            lines: 24,
        }
    }
}

/// Returns `true` for characters other than the space that look like a blank.
pub fn is_blank_looking(c: char) -> bool {
    c == '\u{2800}' || (c.is_whitespace() && !c.is_ascii())
}

/// Makes a text visible: escapes control, direction, invisible and blank-looking characters, and
/// replaces long runs of blanks and of empty lines with their number. Line breaks are kept.
pub fn text(text: &str) -> String {
    let text = sanitize::block(text);
    let mut lines: Vec<String> = Vec::new();
    let mut empty = 0;
    for line in text.split('\n') {
        if line.trim_matches([' ', '\t']).is_empty() {
            empty += 1;
            continue;
        }
        put_empty(&mut lines, empty);
        empty = 0;
        lines.push(visible_line(line));
    }
    // A final line break is not an empty line.
    put_empty(&mut lines, empty.saturating_sub(1));
    lines.join("\n")
}

/// Makes a text visible on one line. Line breaks are escaped.
pub fn line(text: &str) -> String {
    visible_line(&sanitize::line(text))
}

/// Lays out a visible text in rows of at most `width` columns. Breaks after a space if there is one
/// in the second half of the row, otherwise anywhere.
pub fn rows(visible: &str, width: usize) -> Vec<String> {
    let width = width.max(MIN_WIDTH);
    let mut rows = Vec::new();
    for line in visible.split('\n') {
        let (mut row, mut used, mut space) = (String::new(), 0, None);
        for c in line.chars() {
            // A tab has no width of its own.
            let piece = if c == '\t' { "    " } else { &*c.to_string() };
            let wide = if c == '\t' { 4 } else { c.width().unwrap_or(0) };
            if used + wide > width {
                let rest = match space.filter(|(at, _)| *at > row.len() / 2) {
                    Some((at, _)) => row.split_off(at),
                    None => String::new(),
                };
                rows.push(std::mem::replace(&mut row, rest));
                used = row.chars().map(|c| c.width().unwrap_or(0)).sum();
                space = None;
            }
            row.push_str(piece);
            used += wide;
            if c == ' ' {
                space = Some((row.len(), used));
            }
        }
        rows.push(row);
    }
    rows
}

/// Lays out the action of a question for a terminal, one row per line, each with [`GUTTER`]. If the
/// action does not fit the screen, its size and its first rows follow, so that they are beside the
/// question.
pub fn action(what: &str, screen: ScreenSize) -> String {
    let columns = screen.columns.saturating_sub(GUTTER.chars().count() + 1);
    let rows = rows(&text(what), columns);
    let put = |row: &String| format!("{GUTTER}{row}\n");
    let mut shown: String = rows.iter().map(put).collect();
    let is_long = rows.len() + OTHER_LINES > screen.lines;
    if is_long || rows.iter().any(|row| row.starts_with('…')) {
        shown.push_str(&format!(
            "This request has {} and {}.",
            count(what.lines().count(), "line"),
            count(what.chars().count(), "character")
        ));
        shown.push_str(if is_long { " It begins with:\n" } else { "\n" });
    }
    if is_long {
        shown.extend(rows.iter().take(REPEATED).map(put));
    }
    shown
}

/// Adds empty lines, or their number if there are many.
fn put_empty(lines: &mut Vec<String>, empty: usize) {
    if empty > MAX_EMPTY_LINES {
        lines.push(format!("… {}", count(empty, "blank line")));
    } else {
        lines.extend(std::iter::repeat_n(String::new(), empty));
    }
}

/// Escapes blank-looking characters, and replaces long runs of blanks with their number.
fn visible_line(line: &str) -> String {
    let mut result = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|other| other != c).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        let number = run.len() / c.len_utf8();
        let is_blank = matches!(c, ' ' | '\t');
        if is_blank_looking(c) && number > 4 {
            result.push_str(&format!(
                "[… {} × U+{:04X}]",
                thousands(number),
                u32::from(c)
            ));
        } else if is_blank_looking(c) {
            result.extend(run.chars().flat_map(char::escape_default));
        } else if is_blank && number > MAX_BLANKS {
            let noun = if c == ' ' { "space" } else { "tab" };
            result.push_str(&format!("[… {}]", count(number, noun)));
        } else {
            result.push_str(run);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_visible_or_counted() {
        for (given, expected) in [
            ("git log", "git log"),
            ("a\nb\n", "a\nb"),
            ("a\n\n\nb", "a\n\n\nb"),
            ("a\n\n\n\nb", "a\n… 3 blank lines\nb"),
            ("a\n \t\n\n \nb", "a\n… 3 blank lines\nb"),
            ("a\u{a0}b\u{2800}\u{3000}", "a\\u{a0}b\\u{2800}\\u{3000}"),
            ("\u{2003}\u{1b}", "\\u{2003}\\u{1b}"),
            ("    if x:\n\ty", "    if x:\n\ty"),
        ] {
            assert_eq!(text(given), expected, "{given:?}");
        }
        assert_eq!(text(&format!("a{}b", " ".repeat(78))), "a[… 78 spaces]b");
        assert_eq!(
            line(&format!("a{}\n", "\u{2800}".repeat(3_200))),
            "a[… 3,200 × U+2800]\\n"
        );
    }

    #[test]
    fn rows_fit_and_lose_nothing() {
        for given in ["word ".repeat(30), "x".repeat(100), "技能".repeat(40)] {
            let rows = rows(&given, 30);
            assert_eq!(rows.concat(), given);
            let width = |row: &String| row.chars().filter_map(UnicodeWidthChar::width).sum();
            let widths: Vec<usize> = rows.iter().map(width).collect();
            assert!(widths.iter().all(|width| *width <= 30), "{widths:?}");
        }
    }

    #[test]
    fn first_rows_are_beside_the_question() {
        let screen = ScreenSize::default();
        assert_eq!(action("git log", screen), "  │ git log\n");
        let hidden = format!("touch pwned{}git log", "\n".repeat(60));
        assert_eq!(
            action(&hidden, screen),
            "  │ touch pwned\n  │ … 59 blank lines\n  │ git log\n\
             This request has 61 lines and 78 characters.\n"
        );
        let long = action(&format!("touch pwned; : {}", "x".repeat(9_000)), screen);
        let (_, beside) = long.split_once("It begins with:\n").unwrap();
        assert!(beside.starts_with("  │ touch pwned; : x"), "{beside}");
        assert_eq!(beside.lines().count(), REPEATED);
        assert!(
            long.lines().all(|line| line.chars().count() <= 80),
            "{long}"
        );
    }
}
