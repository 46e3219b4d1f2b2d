//! Limits the size of tool results and says what was left out.

use prowess_diag::wording::{count, thousands};

/// Maximum size of a result in bytes, as in Planck.
pub const MAX_BYTES: usize = 50_000;
/// Maximum number of lines in a result, as in Planck.
pub const MAX_LINES: usize = 2_000;
/// Room for the truncation note.
const NOTE: usize = 200;

/// Returns the longest prefix of `text` within the limits. It ends at a line break if one is near,
/// and never inside a character.
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

/// Truncates a text to the limits of a result. The note at the end says how much is missing and, if
/// `rest` is not empty, how to get it.
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
        "{kept}{break_}[truncated: {}, {} bytes omitted{rest}]\n",
        count(left.lines().count(), "line"),
        thousands(left.len())
    )
}

/// Keeps the beginning and the end of a text, with a note between them.
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
        "{first}{break_}[{} bytes omitted]\n{}",
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
    fn short_results_are_unchanged() {
        for text in ["", "x", "a\nb\n"] {
            assert_eq!(capped(text.to_owned(), ""), text);
        }
    }

    #[test]
    fn truncated_results_say_what_is_missing() {
        let lines = "x\n".repeat(3_000);
        let cut = capped(lines, "ask for less");
        assert!(cut.lines().count() <= MAX_LINES);
        assert!(
            cut.ends_with("x\n[truncated: 1,002 lines, 2,004 bytes omitted; ask for less]\n"),
            "{cut:?}"
        );
        let wide = capped("é".repeat(40_000), "");
        assert!(wide.len() <= MAX_BYTES && wide.contains("\n[truncated: 1 line, "));
    }

    #[test]
    fn beginning_and_end_are_kept() {
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
