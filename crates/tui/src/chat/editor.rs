//! The input line: a text, a cursor and the editing commands.

use prowess_diag::sanitize;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};
use unicode_width::UnicodeWidthStr;

/// The maximum size of a message in bytes.
pub(crate) const MAX_TEXT: usize = 256 * 1024;

/// A text of one or more lines with a cursor, which is always at a grapheme boundary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Editor {
    text: String,
    cursor: usize,
    /// The last cut.
    cut: String,
}

impl Editor {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text and moves the cursor to its end.
    pub(crate) fn set(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// Takes the text.
    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Inserts a text without control and invisible characters. Returns the number of characters
    /// left out.
    pub(crate) fn insert(&mut self, text: &str) -> usize {
        let mut clean = String::with_capacity(text.len());
        let mut left_out = 0;
        let text = text.replace("\r\n", "\n");
        let mut before = self.text[..self.cursor].chars().next_back();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let after = rest.peek().copied();
            match c {
                '\n' | '\r' => clean.push('\n'),
                '\t' => clean.push_str("    "),
                c if sanitize::is_ordinary(c, before, after) => clean.push(c),
                c if sanitize::line(c.encode_utf8(&mut [0; 4])).chars().eq([c]) => clean.push(c),
                _ => left_out += 1,
            }
            before = Some(c);
        }
        let room = MAX_TEXT.saturating_sub(self.text.len());
        if clean.len() > room {
            let end = clean.floor_char_boundary(room);
            left_out += clean[end..].chars().count();
            clean.truncate(end);
        }
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
        self.settle();
        left_out
    }

    /// Replaces a range of the text and moves the cursor to the end of the new text.
    pub(crate) fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        if self.text.get(range.clone()).is_some() {
            self.text.replace_range(range.clone(), "");
            self.cursor = range.start;
            self.insert(text);
        }
    }

    pub(crate) fn backspace(&mut self) {
        let from = self.before(self.cursor);
        self.remove(from, self.cursor);
    }

    pub(crate) fn delete(&mut self) {
        let to = self.behind(self.cursor);
        self.remove(self.cursor, to);
    }

    pub(crate) fn left(&mut self) {
        self.cursor = self.before(self.cursor);
    }

    pub(crate) fn right(&mut self) {
        self.cursor = self.behind(self.cursor);
    }

    pub(crate) fn word_left(&mut self) {
        self.cursor = self.word_before();
    }

    pub(crate) fn word_right(&mut self) {
        self.cursor = self.word_behind();
    }

    /// Moves to the start of the line.
    pub(crate) fn home(&mut self) {
        self.cursor = self.line_start(self.cursor);
    }

    /// Moves to the end of the line.
    pub(crate) fn end(&mut self) {
        self.cursor = self.line_end(self.cursor);
    }

    /// Cuts to the end of the line, or the line break at the end.
    pub(crate) fn cut_to_end(&mut self) {
        let end = self.line_end(self.cursor);
        let end = if end == self.cursor {
            self.behind(end)
        } else {
            end
        };
        self.cut_out(self.cursor, end);
    }

    /// Cuts to the start of the line.
    pub(crate) fn cut_to_start(&mut self) {
        self.cut_out(self.line_start(self.cursor), self.cursor);
    }

    /// Cuts the word before the cursor.
    pub(crate) fn cut_word(&mut self) {
        self.cut_out(self.word_before(), self.cursor);
    }

    /// Cuts the word after the cursor.
    pub(crate) fn cut_word_right(&mut self) {
        self.cut_out(self.cursor, self.word_behind());
    }

    /// Pastes the last cut.
    pub(crate) fn paste_cut(&mut self) {
        let cut = std::mem::take(&mut self.cut);
        self.insert(&cut);
        self.cut = cut;
    }

    /// Moves one line up. Returns `false` on the first line.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.line_start(self.cursor);
        if start == 0 {
            return false;
        }
        let column = self.text[start..self.cursor].width();
        self.cursor = self.at_column(self.line_start(start - 1), column);
        true
    }

    /// Moves one line down. Returns `false` on the last line.
    pub(crate) fn down(&mut self) -> bool {
        let end = self.line_end(self.cursor);
        if end == self.text.len() {
            return false;
        }
        let column = self.text[self.line_start(self.cursor)..self.cursor].width();
        self.cursor = self.at_column(end + 1, column);
        true
    }

    /// Returns the text in rows of a width, and the row and column of the cursor.
    pub(crate) fn rows(&self, width: usize) -> (Vec<String>, (usize, usize)) {
        let width = width.max(1);
        let mut rows = vec![String::new()];
        let mut column = 0;
        let mut place = (0, 0);
        for (at, cluster) in self.text.grapheme_indices(true) {
            let wide = cluster.width();
            if cluster != "\n" && column + wide > width {
                rows.push(String::new());
                column = 0;
            }
            if at == self.cursor {
                place = (rows.len() - 1, column);
            }
            if cluster == "\n" {
                rows.push(String::new());
                column = 0;
            } else if let Some(row) = rows.last_mut() {
                row.push_str(cluster);
                column += wide;
            }
        }
        if self.cursor >= self.text.len() {
            // After a full row the cursor is on the next.
            if column >= width {
                rows.push(String::new());
                column = 0;
            }
            place = (rows.len() - 1, column);
        }
        (rows, place)
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        self.settle();
    }

    fn cut_out(&mut self, from: usize, to: usize) {
        if from < to {
            self.cut = self.text[from..to].to_owned();
            self.remove(from, to);
        }
    }

    /// Moves the cursor to a grapheme boundary, in case an edit joined two clusters.
    fn settle(&mut self) {
        self.cursor = self
            .text
            .ceil_char_boundary(self.cursor.min(self.text.len()));
        let mut look = GraphemeCursor::new(self.cursor, self.text.len(), true);
        if !look.is_boundary(&self.text, 0).unwrap_or(true) {
            self.cursor = self.behind(self.cursor);
        }
    }

    fn before(&self, at: usize) -> usize {
        let mut look = GraphemeCursor::new(at, self.text.len(), true);
        look.prev_boundary(&self.text, 0)
            .ok()
            .flatten()
            .unwrap_or(0)
    }

    fn behind(&self, at: usize) -> usize {
        let mut look = GraphemeCursor::new(at, self.text.len(), true);
        look.next_boundary(&self.text, 0)
            .ok()
            .flatten()
            .unwrap_or(self.text.len())
    }

    fn word_before(&self) -> usize {
        let head = &self.text[..self.cursor];
        let word = head.trim_end_matches(|c: char| !c.is_alphanumeric());
        let start = word.trim_end_matches(char::is_alphanumeric).len();
        self.boundary_at_or_before(start)
    }

    fn word_behind(&self) -> usize {
        let tail = &self.text[self.cursor..];
        let word = tail.trim_start_matches(|c: char| !c.is_alphanumeric());
        let rest = word.trim_start_matches(char::is_alphanumeric);
        self.boundary_at_or_behind(self.text.len() - rest.len())
    }

    fn boundary_at_or_before(&self, at: usize) -> usize {
        let mut look = GraphemeCursor::new(at, self.text.len(), true);
        if look.is_boundary(&self.text, 0).unwrap_or(true) {
            at
        } else {
            self.before(at)
        }
    }

    fn boundary_at_or_behind(&self, at: usize) -> usize {
        let mut look = GraphemeCursor::new(at, self.text.len(), true);
        if look.is_boundary(&self.text, 0).unwrap_or(true) {
            at
        } else {
            self.behind(at)
        }
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |found| found + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |found| at + found)
    }

    fn at_column(&self, start: usize, column: usize) -> usize {
        let line = &self.text[start..self.line_end(start)];
        let mut wide = 0;
        for (at, cluster) in line.grapheme_indices(true) {
            wide += cluster.width();
            if wide > column {
                return start + at;
            }
        }
        start + line.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(text: &str) -> Editor {
        let mut editor = Editor::default();
        editor.insert(text);
        editor
    }

    #[test]
    fn words_and_lines_are_cut_and_pasted() {
        let mut editor = with("one two\nthree four");
        editor.cut_word();
        assert_eq!(editor.text(), "one two\nthree ");
        editor.cut_to_start();
        assert_eq!((editor.text(), editor.cursor()), ("one two\n", 8));
        editor.paste_cut();
        assert_eq!(editor.text(), "one two\nthree ");
        assert!(editor.up());
        editor.home();
        editor.word_right();
        editor.cut_to_end();
        assert_eq!(editor.text(), "one\nthree ");
        editor.cut_to_end();
        assert_eq!(editor.text(), "onethree ");
    }

    #[test]
    fn up_and_down_keep_the_column() {
        let mut editor = with("abcd\n技能\nxyz");
        assert!(editor.up());
        assert_eq!(
            editor.cursor(),
            5 + 3,
            "the middle of a wide character is before it"
        );
        assert!(editor.up());
        assert_eq!(editor.cursor(), 2);
        assert!(!editor.up());
        assert!(editor.down() && editor.down());
        assert!(!editor.down());
    }

    #[test]
    fn backspace_removes_a_grapheme_cluster() {
        let mut editor = with("a👩\u{200d}💻e\u{301}");
        editor.backspace();
        assert_eq!(editor.text(), "a👩\u{200d}💻");
        editor.backspace();
        assert_eq!(editor.text(), "a");
    }

    #[test]
    fn control_characters_are_left_out() {
        let mut editor = Editor::default();
        assert_eq!(editor.insert("a\x1b[31mb\r\nc\td\u{202e}e\rf\u{7}"), 3);
        assert_eq!(editor.text(), "a[31mb\nc    de\nf");
        let mut editor = Editor::default();
        assert_eq!(editor.insert(&"é".repeat(MAX_TEXT)), MAX_TEXT / 2);
        assert_eq!(editor.text().len(), MAX_TEXT);
        assert_eq!(editor.insert("x"), 1);
    }

    #[test]
    fn rows_fill_the_width() {
        let mut editor = with("ab技能c\nd");
        assert_eq!(
            editor.rows(4),
            (vec!["ab技".into(), "能c".into(), "d".into()], (2, 1))
        );
        editor.home();
        editor.left();
        assert_eq!(editor.rows(4).1, (1, 3));
        assert_eq!(
            with("abcd").rows(4),
            (vec!["abcd".into(), String::new()], (1, 0))
        );
    }

    proptest! {
        #[test]
        fn the_cursor_is_always_at_a_character(keys in prop::collection::vec((0u8..20, "\\PC{0,4}|[\u{300}\u{200d}\n a👩💻]{0,3}"), 0..60)) {
            let mut editor = Editor::default();
            for (key, text) in keys {
                match key {
                    0..6 => { editor.insert(&text); }
                    6 => editor.backspace(),
                    7 => editor.delete(),
                    8 => editor.left(),
                    9 => editor.right(),
                    10 => editor.word_left(),
                    11 => editor.word_right(),
                    12 => editor.home(),
                    13 => editor.end(),
                    14 => editor.cut_to_end(),
                    15 => editor.cut_to_start(),
                    16 => editor.cut_word(),
                    17 => editor.paste_cut(),
                    18 => { editor.up(); }
                    _ => { editor.down(); }
                }
                let (text, cursor) = (editor.text(), editor.cursor());
                prop_assert!(text.is_char_boundary(cursor));
                let ends = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]);
                prop_assert!(ends.into_iter().any(|at| at == cursor), "{text:?} {cursor}");
                let widest = text.graphemes(true).map(UnicodeWidthStr::width).max().unwrap_or(0);
                for width in [1, 2, 7, 80] {
                    let (rows, (row, column)) = editor.rows(width);
                    prop_assert!(row < rows.len());
                    prop_assert!(column <= width.max(widest));
                }
            }
        }
    }
}
