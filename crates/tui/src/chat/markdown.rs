//! A light Markdown renderer for the terminal that never drops text.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::wrap::{chop, wrap};
use crate::theme;

/// Lays out a sanitized text.
pub(crate) fn markdown(text: &str, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(open) = fence {
            if trimmed.starts_with(open) && trimmed.trim_start_matches(&open[..1]).trim().is_empty()
            {
                fence = None;
            } else {
                lines.extend(code(line, width));
            }
            continue;
        }
        if let Some(open) = ["```", "~~~"]
            .into_iter()
            .find(|open| trimmed.starts_with(open))
        {
            fence = Some(open);
            continue;
        }
        lines.extend(block(line, width));
    }
    lines
}

/// Lays out a line of code, keeping all spaces.
fn code(line: &str, width: usize) -> Vec<Line<'static>> {
    let bar = Span::styled("│ ", theme::DIM);
    let line = line.replace('\t', "    ");
    chop(&line, theme::ACCENT, width, &bar, &bar)
}

fn block(line: &str, width: usize) -> Vec<Line<'static>> {
    let nothing = Span::raw("");
    let line = line.replace('\t', "    ");
    let trimmed = line.trim_start();
    let indent = " ".repeat((line.len() - trimmed.len()).min(width / 4));
    if trimmed.is_empty() {
        return vec![Line::default()];
    }
    if let Some(title) = heading(trimmed) {
        return wrap(&inline(title, theme::BOLD), width, &nothing, &nothing);
    }
    if trimmed.len() >= 3
        && ["-", "*", "_"]
            .iter()
            .any(|c| trimmed.replace(*c, "").is_empty())
    {
        let rule = "─".repeat(width.min(20));
        return vec![Line::styled(rule, theme::DIM)];
    }
    if let Some(quoted) = trimmed.strip_prefix('>') {
        let bar = Span::styled("▏ ", theme::DIM);
        return wrap(
            &inline(quoted.trim_start(), theme::PLAIN),
            width,
            &bar,
            &bar,
        );
    }
    if let Some((mark, rest)) = bullet(trimmed) {
        let first = Span::raw(format!("{indent}{mark} "));
        let hang = Span::raw(" ".repeat(first.width()));
        return wrap(&inline(rest, theme::PLAIN), width, &first, &hang);
    }
    let first = Span::raw(indent);
    wrap(&inline(trimmed, theme::PLAIN), width, &first, &first)
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6)
        .contains(&level)
        .then(|| rest.strip_prefix(' '))
        .flatten()
        .map(str::trim)
}

/// Returns the marker of a list item and its text.
fn bullet(line: &str) -> Option<(String, &str)> {
    for mark in ["- ", "* ", "+ "] {
        if let Some(rest) = line.strip_prefix(mark) {
            return Some(("•".to_owned(), rest.trim_start()));
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    let behind = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "));
    behind
        .filter(|_| (1..=4).contains(&digits))
        .map(|behind| (line[..=digits].to_owned(), behind.trim_start()))
}

/// Parses bold, italic and code within a line. An unclosed marker is text.
fn inline(text: &str, base: Style) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        if let Some((inner, style, length)) = marked(rest, before) {
            if !plain.is_empty() {
                spans.push(Span::styled(std::mem::take(&mut plain), base));
            }
            spans.push(Span::styled(inner.to_owned(), base.patch(style)));
            before = rest[..length].chars().next_back().unwrap_or(' ');
            rest = &rest[length..];
            continue;
        }
        if c == '\\' && rest[1..].starts_with(|c: char| c.is_ascii_punctuation()) {
            rest = &rest[1..];
            plain.extend(rest.chars().next());
            rest = &rest[1..];
            before = ' ';
            continue;
        }
        plain.push(c);
        before = c;
        rest = &rest[c.len_utf8()..];
    }
    if !plain.is_empty() {
        spans.push(Span::styled(plain, base));
    }
    spans
}

/// Parses a marked text at the start: its content, style and total length.
fn marked(text: &str, before: char) -> Option<(&str, Style, usize)> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    if ticks > 0 {
        let mark = &text[..ticks];
        let end = text[ticks..].find(mark)?;
        let inner = &text[ticks..ticks + end];
        let inner = if ticks > 1 { inner.trim() } else { inner };
        return Some((inner, theme::ACCENT, end + 2 * ticks));
    }
    let styles = [
        ("**", theme::BOLD),
        ("__", theme::BOLD),
        ("*", theme::ITALIC),
        ("_", theme::ITALIC),
    ];
    for (mark, style) in styles {
        let Some(behind) = text.strip_prefix(mark) else {
            continue;
        };
        // `snake_case` and `2 * 3` are not markers.
        if before.is_alphanumeric() || behind.starts_with([' ', '*', '_']) {
            return None;
        }
        let end = behind.find(mark)?;
        let inner = &behind[..end];
        let next = behind[end + mark.len()..].chars().next().unwrap_or(' ');
        if inner.is_empty() || inner.ends_with(' ') || next.is_alphanumeric() {
            return None;
        }
        return Some((inner, style, end + 2 * mark.len()));
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use ratatui::style::{Color, Modifier};

    use super::*;

    fn shown(text: &str, width: usize) -> Vec<String> {
        markdown(text, width)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn blocks_are_laid_out() {
        let text = "# A *title*\n\nSome **bold** and `code` words.\n- one two three\n  1. inner\n> said\n---\n```rust\nfn  x() {}\n```\nend";
        assert_eq!(
            shown(text, 16),
            [
                "A title",
                "",
                "Some bold and",
                "code words.",
                "• one two three",
                "  1. inner",
                "▏ said",
                "────────────────",
                "│ fn  x() {}",
                "end"
            ]
        );
    }

    #[test]
    fn unclosed_markers_are_text() {
        for text in [
            "a * b * c",
            "snake_case_name",
            "**open",
            "`tick",
            "2*3*4",
            "#tag",
            "_",
        ] {
            assert_eq!(shown(text, 40), [text]);
        }
        assert_eq!(shown("\\*not\\*", 40), ["*not*"]);
    }

    #[test]
    fn styles_are_set() {
        let line = &markdown("a **b** `c`", 40)[0];
        let style = |word: &str| {
            line.spans
                .iter()
                .find(|span| span.content == word)
                .unwrap()
                .style
        };
        assert!(style("b").add_modifier.contains(Modifier::BOLD));
        assert_eq!(style("c").fg, Some(Color::Cyan));
    }

    proptest! {
        #[test]
        fn any_text_fits(text in "[-#>*_`~ab1. \\\\\n技]{0,120}", width in 6usize..50) {
            for line in markdown(&text, width) {
                prop_assert!(line.width() <= width, "{line:?}");
            }
        }
    }
}
