//! Rows in columns.

use anstyle::Style;
use prowess_diag::sanitize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Space between two columns.
const GAP: usize = 2;
/// A column other than the last takes at most this share of the terminal.
const WIDEST_SHARE: usize = 2;

/// Rows in columns. The last column is cut to the terminal, or wrapped.
#[derive(Debug, Default)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// A piece of text and how it looks.
#[derive(Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A text that may come from anywhere: what a terminal would act on is made harmless.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: sanitize::line(text).into_owned(), style: Style::new() }
    }

    pub(crate) fn styled(text: &str, style: Style) -> Self {
        Self { style, ..Self::new(text) }
    }
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Lays the rows out; without a width nothing is cut.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let last = self.head.len().saturating_sub(1);
        let most = width.map_or(usize::MAX, |width| width / WIDEST_SHARE);
        let widths: Vec<usize> = (0..last)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
                widest.max(self.head[column].width()).min(most)
            })
            .collect();
        let before: usize = widths.iter().map(|width| width + GAP).sum();
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(before).max(10));
        let mut text = String::new();
        let strong = Style::new().bold();
        let head: Vec<Cell> = self.head.iter().map(|title| Cell::styled(title, strong)).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let limit = widths.get(column).copied().unwrap_or(room);
                let shown = cut(&cell.text, limit);
                let style = cell.style;
                line.push_str(&format!("{style}{shown}{style:#}"));
                if column < last {
                    line.push_str(&" ".repeat(limit.saturating_sub(shown.width()) + GAP));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Cuts text to a width, marking the cut.
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
    fn columns_are_aligned_and_the_last_is_cut() {
        let mut table = Table::new(&["NAME", "WHAT"]);
        table.row(vec![Cell::new("a"), Cell::new("something long")]);
        table.row(vec![Cell::new("日本"), Cell::new("x\u{1b}[31m")]);
        let plain = anstream::adapter::strip_str(&table.render(Some(18))).to_string();
        assert_eq!(plain, "NAME  WHAT\na     something l…\n日本  x\\u{1b}[31m\n");
        let whole = anstream::adapter::strip_str(&table.render(None)).to_string();
        assert!(whole.contains("a     something long\n"));
    }

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
