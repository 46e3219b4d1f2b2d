//! No answer is longer than a model should read; what was left out is said.

use prowess_diag::wording::{count, thousands};

/// Most bytes of an answer, as in Planck.
pub const MAX_BYTES: usize = 50_000;
/// Most lines of an answer, as in Planck.
pub const MAX_LINES: usize = 2_000;
/// Room for the sentence that says what was left out.
const NOTE: usize = 200;

/// The beginning of a text that fits, and how many bytes of it that is. Cut at the end of a line
/// where one is near, never inside a character.
pub fn head(text: &str, bytes: usize, lines: usize) -> &str {
    let by_lines = match text.match_indices('\n').nth(lines.saturating_sub(1)) {
        Some((at, _)) if lines > 0 => &text[..=at],
        Some(_) => "",
        None => text,
    };
    if by_lines.len() <= bytes {
        return by_lines;
    }
    let cut = &by_lines[..by_lines.floor_char_boundary(bytes)];
    match cut.rfind('\n') {
        Some(at) if at >= cut.len() / 2 => &cut[..=at],
        _ => cut,
    }
}

/// A text that fits; where it did not, with a note that says what is missing and, if somebody
/// knows, where the rest is.
pub(crate) fn capped(text: String, rest: &str) -> String {
    within(text, MAX_BYTES, MAX_LINES, rest)
}

pub(crate) fn within(text: String, bytes: usize, lines: usize, rest: &str) -> String {
    if fits(&text, bytes, lines) {
        return text;
    }
    let note = NOTE + rest.len();
    let kept = head(&text, bytes.saturating_sub(note), lines.saturating_sub(2));
    let left = &text[kept.len()..];
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!("; {rest}")
    };
    let break_ = if kept.is_empty() || kept.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!(
        "{kept}{break_}[left out: {}, {} bytes{rest}]\n",
        count(left.lines().count(), "line"),
        thousands(left.len())
    )
}

/// The beginning and the end of a text, with a note between them.
pub fn ends(text: &str, bytes: usize, lines: usize) -> String {
    if fits(text, bytes, lines) {
        return text.to_owned();
    }
    let first = head(text, bytes / 2, lines / 2);
    let rest = &text[first.len()..];
    let mut from = rest.ceil_char_boundary(rest.len().saturating_sub(bytes / 2));
    if let Some((at, _)) = rest.rmatch_indices('\n').nth(lines / 2) {
        from = from.max(at + 1);
    }
    let break_ = if first.is_empty() || first.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!(
        "{first}{break_}[{} bytes left out]\n{}",
        thousands(from),
        &rest[from..]
    )
}

fn fits(text: &str, bytes: usize, lines: usize) -> bool {
    text.len() <= bytes && text.lines().count() <= lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_answers_stay() {
        for text in ["", "x", "a\nb\n"] {
            assert_eq!(capped(text.to_owned(), ""), text);
        }
    }

    #[test]
    fn long_answers_say_what_is_missing() {
        let lines = "x\n".repeat(3_000);
        let cut = capped(lines, "ask for less");
        assert!(cut.lines().count() <= MAX_LINES);
        assert!(
            cut.ends_with("x\n[left out: 1,002 lines, 2,004 bytes; ask for less]\n"),
            "{cut:?}"
        );
        let wide = capped("é".repeat(40_000), "");
        assert!(wide.len() <= MAX_BYTES && wide.contains("\n[left out: 1 line, "));
    }

    #[test]
    fn both_ends_are_kept() {
        let text = format!("first\n{}last", "x".repeat(1_000));
        let cut = ends(&text, 100, 100);
        assert!(
            cut.starts_with("first\n") && cut.ends_with("last") && cut.len() < 150,
            "{cut}"
        );
        let many: String = (0..100).map(|n| format!("{n}\n")).collect();
        let cut = ends(&many, 10_000, 10);
        assert!(
            cut.starts_with("0\n1\n2\n3\n4\n[") && cut.ends_with("98\n99\n"),
            "{cut}"
        );
    }
}
