//! Converts byte offsets to lines and columns.

use memchr::memchr2;

/// A position in a text as editors show it. Line and column start at 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number.
    pub line: usize,
    /// Column number, in Unicode scalar values.
    pub column: usize,
}

/// The offset of each line of a text. A line ends with `\n`, `\r\n` or a lone
/// `\r`.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes the lines of `text`.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        let mut at = 0;
        while let Some(found) = memchr2(b'\n', b'\r', &bytes[at..]) {
            let end = at + found;
            let crlf = bytes[end] == b'\r' && bytes.get(end + 1) == Some(&b'\n');
            at = end + if crlf { 2 } else { 1 };
            starts.push(u32::try_from(at).unwrap_or(u32::MAX));
        }
        Self { starts }
    }

    /// Returns the number of lines. A final line break does not start another line.
    pub fn line_count(&self, text: &str) -> usize {
        let last_is_empty = self
            .starts
            .last()
            .is_some_and(|&start| start as usize >= text.len());
        self.starts.len() - usize::from(last_is_empty)
    }

    /// Returns the position of a byte offset, clamped to the text and to a character boundary.
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self
            .starts
            .partition_point(|&start| start as usize <= offset)
            .max(1);
        let start = self.starts.get(line - 1).map_or(0, |&start| start as usize);
        let column = text
            .get(start..offset)
            .map_or(0, |before| before.chars().count())
            + 1;
        Position { line, column }
    }

    /// Returns the offset at which a line starts; lines are counted from 1.
    pub fn line_start(&self, line: usize) -> Option<usize> {
        self.starts
            .get(line.checked_sub(1)?)
            .map(|&start| start as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, offset: usize) -> (usize, usize) {
        let position = LineIndex::new(text).position(text, offset);
        (position.line, position.column)
    }

    #[test]
    fn each_line_break_style_ends_one_line() {
        let text = "a\nb\r\nc\rd";
        assert_eq!(
            [at(text, 0), at(text, 2), at(text, 5), at(text, 7)],
            [(1, 1), (2, 1), (3, 1), (4, 1)]
        );
    }

    #[test]
    fn columns_count_characters_not_bytes() {
        assert_eq!(at("né: x", 5), (1, 5));
    }

    #[test]
    fn offsets_past_the_end_or_inside_a_character_are_clamped() {
        assert_eq!(at("né", 99), (1, 3));
        assert_eq!(at("né", 2), (1, 2));
        assert_eq!(at("", 0), (1, 1));
    }

    #[test]
    fn final_line_break_adds_no_line() {
        let count = |text: &str| LineIndex::new(text).line_count(text);
        assert_eq!([count("a\nb\n"), count("a\nb"), count("")], [2, 2, 0]);
    }
}
