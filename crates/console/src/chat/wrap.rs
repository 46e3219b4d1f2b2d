//! Breaks styled text into lines that fit.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Breaks spans at words into lines of a width. The first line begins with `first`, the others with
/// `hang`; a word that is too long is broken anywhere.
pub(crate) fn wrap(
    spans: &[Span<'_>],
    width: usize,
    first: &Span<'static>,
    hang: &Span<'static>,
) -> Vec<Line<'static>> {
    let mut folder = Folder::new(width, first, hang);
    for span in spans {
        for piece in span.content.split_inclusive(' ') {
            let word = piece.trim_end_matches(' ');
            if !word.is_empty() {
                folder.word.push((word.to_owned(), span.style));
            }
            if piece.len() > word.len() {
                folder.put_word();
                folder.spaces.push((" ".repeat(piece.len() - word.len()), span.style));
            }
        }
    }
    folder.finish()
}

/// Breaks one span anywhere, for text where spaces count.
pub(crate) fn chop(
    text: &str,
    style: Style,
    width: usize,
    first: &Span<'static>,
    hang: &Span<'static>,
) -> Vec<Line<'static>> {
    let mut folder = Folder::new(width, first, hang);
    folder.put(text, style);
    folder.finish()
}

/// Cuts a text to a width, and marks the cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        used += cluster.width();
        if used + 1 > width {
            break;
        }
        kept.push_str(cluster);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

struct Folder<'a> {
    width: usize,
    hang: &'a Span<'static>,
    done: Vec<Line<'static>>,
    line: Vec<Span<'static>>,
    used: usize,
    /// Where the text of a line begins.
    start: usize,
    word: Vec<(String, Style)>,
    spaces: Vec<(String, Style)>,
}

impl<'a> Folder<'a> {
    fn new(width: usize, first: &Span<'static>, hang: &'a Span<'static>) -> Self {
        let start = first.content.width();
        Self {
            // A line has room for one wide character at least.
            width: width.max(start.max(hang.content.width()) + 2),
            hang,
            done: Vec::new(),
            line: if start == 0 { Vec::new() } else { vec![first.clone()] },
            used: start,
            start,
            word: Vec::new(),
            spaces: Vec::new(),
        }
    }

    fn put_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let spaces = std::mem::take(&mut self.spaces);
        let wide: usize = word.iter().map(|(text, _)| text.width()).sum();
        let gap: usize = spaces.iter().map(|(text, _)| text.len()).sum();
        if self.used + gap + wide <= self.width {
            for (text, style) in spaces.into_iter().chain(word) {
                self.used += text.width();
                self.line.push(Span::styled(text, style));
            }
            return;
        }
        if self.used > self.start && !word.is_empty() {
            self.next_line();
        }
        for (text, style) in word {
            self.put(&text, style);
        }
    }

    fn put(&mut self, text: &str, style: Style) {
        let mut run = String::new();
        for cluster in text.graphemes(true) {
            let wide = cluster.width();
            if self.used + wide > self.width && self.used > self.start {
                self.line.push(Span::styled(std::mem::take(&mut run), style));
                self.next_line();
            }
            run.push_str(cluster);
            self.used += wide;
        }
        if !run.is_empty() {
            self.line.push(Span::styled(run, style));
        }
    }

    fn next_line(&mut self) {
        self.done.push(Line::from(std::mem::take(&mut self.line)));
        self.start = self.hang.content.width();
        self.used = self.start;
        if self.start > 0 {
            self.line.push(self.hang.clone());
        }
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        self.put_word();
        self.done.push(Line::from(self.line));
        self.done
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_break_at_words_and_hang() {
        let spans = [Span::raw("one two "), Span::raw("th"), Span::raw("ree abcdefghijkl")];
        let lines = wrap(&spans, 9, &Span::raw("- "), &Span::raw("  "));
        assert_eq!(text(&lines), ["- one two", "  three", "  abcdefg", "  hijkl"]);
        let lines = chop("技能技能", Style::new(), 5, &Span::raw(""), &Span::raw(""));
        assert_eq!(text(&lines), ["技能", "技能"]);
    }

    #[test]
    fn a_cut_is_marked() {
        assert_eq!([cut("技能技能", 5), cut("abc", 3), cut("abcd", 3)], ["技能…", "abc", "ab…"]);
        assert_eq!(cut("abc", 0), "");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide(words in "\\PC{0,80}", width in 4usize..40) {
            for line in wrap(&[Span::raw(words.clone())], width, &Span::raw("> "), &Span::raw("  ")) {
                prop_assert!(line.width() <= width, "{line:?}");
            }
            prop_assert!(cut(&words, width).width() <= width);
        }
    }
}
