//! Tables with aligned columns.

use anstyle::Style;
use prowess_diag::{sanitize, theme};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::printer::wrap;

/// Space between two columns.
const GAP: usize = 2;
/// Maximum width of a column other than the last, in percent of the terminal. A longer cell shifts the
/// rest of its row instead of being truncated, because names must be copyable.
const WIDEST: usize = 40;
/// The widest column shrinks until the last one has this width, or until it has this width itself.
const ROOM_FOR_LAST: usize = 24;
/// Minimum width of the last column; with less it is omitted.
const LEAST: usize = 6;
/// On a terminal, a column fits this percentage of its cells, so that a single long name does not
/// widen it for all rows.
const MOST_CELLS: usize = 95;

/// A table. Rows that are too wide for the terminal are truncated, starting with the last column.
#[derive(Debug, Default)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    wraps: bool,
}

/// A text with a style.
#[derive(Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
    to_the_right: bool,
}

impl Cell {
    /// Creates a cell from untrusted text; control characters are escaped.
    pub(crate) fn new(text: &str) -> Self {
        let text = sanitize::line(text).into_owned();
        Self {
            text,
            style: Style::new(),
            to_the_right: false,
        }
    }

    pub(crate) fn styled(text: &str, style: Style) -> Self {
        Self {
            style,
            ..Self::new(text)
        }
    }

    /// Creates a right-aligned cell.
    pub(crate) fn number(text: &str) -> Self {
        Self {
            to_the_right: true,
            ..Self::new(text)
        }
    }
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self {
            head: head.to_vec(),
            rows: Vec::new(),
            wraps: false,
        }
    }

    /// Wraps the last column instead of truncating it.
    #[must_use]
    pub(crate) fn wrapping(self) -> Self {
        Self {
            wraps: true,
            ..self
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Lays out the table; without a width, nothing is truncated.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let last = self.head.len().saturating_sub(1);
        let most = width.map_or(usize::MAX, |width| width * WIDEST / 100);
        let mut widths: Vec<usize> = (0..last)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                let mut widths: Vec<usize> = cells.map(|cell| cell.text.width()).collect();
                widths.sort_unstable();
                let hundredths = if width.is_some() { MOST_CELLS } else { 100 };
                let at = (widths.len() * hundredths).div_ceil(100).saturating_sub(1);
                let widest = widths.last().copied().unwrap_or(0);
                let wide = widths
                    .get(at)
                    .copied()
                    .unwrap_or(0)
                    .max(widest.min(ROOM_FOR_LAST));
                wide.min(most).max(self.head[column].width())
            })
            .collect();
        if let Some(width) = width {
            let taken: usize = widths.iter().map(|width| width + GAP).sum();
            let missing = (taken + ROOM_FOR_LAST).saturating_sub(width);
            if let Some(widest) = widths.iter_mut().max() {
                *widest = widest
                    .saturating_sub(missing)
                    .max((*widest).min(ROOM_FOR_LAST));
            }
        }
        let strong = theme::STRONG;
        let is_number = |column: usize| {
            self.rows
                .first()
                .and_then(|row| row.get(column))
                .is_some_and(|cell| cell.to_the_right)
        };
        let head: Vec<Cell> = (self.head.iter().enumerate())
            .map(|(column, title)| Cell {
                to_the_right: is_number(column),
                ..Cell::styled(title, strong)
            })
            .collect();
        let mut text = String::new();
        for row in std::iter::once(&head).chain(&self.rows) {
            line(
                &mut text,
                row,
                &widths,
                width.unwrap_or(usize::MAX),
                self.wraps,
            );
        }
        text
    }
}

/// Lays out one row.
fn line(text: &mut String, row: &[Cell], widths: &[usize], room: usize, wraps: bool) {
    // Current position in the line, and start of the column.
    let (mut at, mut start) = (0, 0);
    for (column, cell) in row.iter().enumerate() {
        let own = widths.get(column).copied();
        let wide = cell.text.width();
        let pad = own
            .filter(|_| cell.to_the_right)
            .map_or(0, |own| own.saturating_sub(wide));
        let begin = if column == 0 {
            pad
        } else {
            (start + pad).max(at + GAP)
        };
        let left = room.saturating_sub(begin);
        if cell.text.is_empty() || left < LEAST.min(wide) {
            start += own.unwrap_or(0) + GAP;
            continue;
        }
        let style = cell.style;
        text.push_str(&" ".repeat(begin - at));
        let shown = if wraps && own.is_none() {
            wrap(&cell.text, left).join(&format!("\n{}", " ".repeat(begin)))
        } else {
            cut(&cell.text, left)
        };
        text.push_str(&format!("{style}{shown}{style:#}"));
        at = begin + shown.width();
        start += own.unwrap_or(0) + GAP;
    }
    text.push('\n');
}

/// Truncates text to a width, ending with `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let mut result = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        result.push(c);
    }
    format!("{}…", result.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_the_last_is_truncated() {
        let mut table = Table::new(&["NAME", "WHAT"]);
        table.row(vec![Cell::new("a"), Cell::new("something long")]);
        table.row(vec![Cell::new("日本"), Cell::new("x\u{1b}[31m")]);
        let plain = anstream::adapter::strip_str(&table.render(Some(18))).to_string();
        assert_eq!(
            plain,
            "NAME  WHAT\na     something l…\n日本  x\\u{1b}[31m\n"
        );
        let whole = anstream::adapter::strip_str(&table.render(None)).to_string();
        assert!(whole.contains("a     something long\n"));
    }

    #[test]
    fn long_name_is_not_truncated_and_shifts_its_row() {
        let mut table = Table::new(&["NAME", "N", "WHAT"]);
        table.row(vec![
            Cell::new("a"),
            Cell::number("7"),
            Cell::new("something long"),
        ]);
        table.row(vec![
            Cell::new("a-name-of-more-words"),
            Cell::number("12"),
            Cell::new("other"),
        ]);
        table.row(vec![
            Cell::new(&"b".repeat(40)),
            Cell::number("1"),
            Cell::new("other"),
        ]);
        let plain = anstream::adapter::strip_str(&table.render(Some(32))).to_string();
        let wanted = [
            "NAME           N  WHAT",
            "a              7  something long",
            "a-name-of-more-words  12  other",
            &format!("{}…", "b".repeat(31)),
        ];
        assert_eq!(plain.lines().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
