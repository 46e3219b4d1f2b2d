//! How the summary of what a skill may do is shown before a person decides. The lines come from the
//! skill: none of them may push another one, or the question, off the screen.

use prowess::inspect::TrustSection;
use prowess_diag::{review, theme, wording};

/// Maximum number of lines per section.
pub(crate) const MOST_LINES: usize = 12;
/// Maximum number of rows of one line.
const MOST_ROWS: usize = 8;

/// Formats one line of a summary as rows that fit the width, with an indentation.
pub(crate) fn rows(line: &str, width: usize, indent: usize) -> String {
    let dim = theme::DIM;
    let deeper = " ".repeat(indent + 2);
    let mut rows = review::rows(&review::line(line), width.saturating_sub(indent + 2));
    let hidden = rows.iter().skip(MOST_ROWS).map(|row| row.chars().count());
    let hidden: usize = hidden.sum();
    rows.truncate(MOST_ROWS);
    let mut text = format!(
        "{}{}\n",
        " ".repeat(indent),
        rows.join(&format!("\n{deeper}"))
    );
    if hidden > 0 {
        let hidden = wording::count(hidden, "more character");
        text.push_str(&format!(
            "{deeper}{dim}… {hidden}; `--json` has all{dim:#}\n"
        ));
    }
    text
}

/// Formats the sections of a summary. Each title is after `before`.
pub(crate) fn sections(
    sections: &[TrustSection],
    before: &str,
    width: usize,
    indent: usize,
) -> String {
    let (strong, bad, dim) = (theme::STRONG, theme::bold(theme::BAD), theme::DIM);
    let mut text = String::new();
    for section in sections {
        let style = if section.alarming { bad } else { strong };
        text.push_str(&format!("{before}{style}{}{style:#}\n", section.title));
        for line in section.lines.iter().take(MOST_LINES) {
            text.push_str(&rows(line, width, indent));
        }
        let more = section.lines.len().saturating_sub(MOST_LINES);
        if more > 0 {
            let more = wording::thousands(more);
            let space = " ".repeat(indent);
            text.push_str(&format!("{space}{dim}and {more} more{dim:#}\n"));
        }
    }
    text
}

/// Repeats the alarming sections for the question: the summary may be longer than the screen.
pub(crate) fn alarms(sections: &[TrustSection]) -> String {
    let alarming = sections.iter().filter(|section| section.alarming);
    alarming
        .map(|section| format!("  {}: {}\n", section.title, section.lines.len()))
        .collect()
}

/// Shortens a digest for display.
pub(crate) fn short(digest: &str) -> &str {
    digest.get(.."sha256:".len() + 16).unwrap_or(digest)
}
