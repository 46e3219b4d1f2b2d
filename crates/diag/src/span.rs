//! Byte ranges in a source text.

use std::ops::Range;

/// A half-open range of bytes in one source text.
///
/// Offsets are 32 bits wide: no text we read is larger than a few megabytes, and diagnostics are
/// kept in large numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span between two byte offsets; an end before the start gives an empty span.
    pub fn new(start: usize, end: usize) -> Self {
        let start = clamp(start);
        Self {
            start,
            end: clamp(end).max(start),
        }
    }

    /// Returns the empty span at `offset`.
    pub fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    /// Returns the offsets as a range of `usize`.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the number of bytes covered.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns `true` if the span is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the smallest span that covers both.
    #[must_use]
    pub fn cover(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Returns `true` if `other` is entirely inside this span.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the covered text, or an empty string if the span does not fit the text.
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    /// Returns the first occurrence of `words` in the span, delimited by whitespace, commas or
    /// quotation marks. Any whitespace between the words matches.
    pub fn find_words(self, text: &str, words: &str) -> Option<Self> {
        let separates = |c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\'');
        let raw = self.of(text);
        raw.match_indices(words.split_whitespace().next()?)
            .find_map(|(start, _)| {
                let mut rest = raw.get(start..)?;
                for word in words.split_whitespace() {
                    rest = rest.trim_start().strip_prefix(word)?;
                }
                let is_whole = raw[..start].chars().next_back().is_none_or(separates)
                    && rest.chars().next().is_none_or(separates);
                let (start, end) = (start + self.start as usize, self.end as usize - rest.len());
                is_whole.then(|| Self::new(start, end))
            })
    }
}

fn clamp(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversed_offsets_give_an_empty_span() {
        assert_eq!(Span::new(5, 2), Span::at(5));
    }

    #[test]
    fn span_outside_the_text_is_empty() {
        assert_eq!(Span::new(2, 99).of("abc"), "");
        assert_eq!(Span::new(1, 2).of("é"), "", "not on a character boundary");
    }

    #[test]
    fn find_words_ignores_whitespace_between_words() {
        let text = "a, ab(c\n  d) a";
        let all = Span::new(0, text.len());
        assert_eq!(all.find_words(text, "ab(c d)"), Some(Span::new(3, 12)));
        assert_eq!(
            Span::new(1, text.len()).find_words(text, "a"),
            Some(Span::new(13, 14))
        );
        assert_eq!(all.find_words(text, "b(c d)"), None, "part of a word");
        assert_eq!(all.find_words(text, "ab(c e)"), None);
    }

    #[test]
    fn cover_and_contains() {
        let joined = Span::new(1, 3).cover(Span::new(6, 8));
        assert_eq!(joined, Span::new(1, 8));
        assert!(joined.contains(Span::new(2, 8)));
        assert!(!joined.contains(Span::new(0, 2)));
    }
}
