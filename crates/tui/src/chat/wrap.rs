//! Wraps styled text.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The minimum width of a line: that of the widest character, U+17D8.
const WIDEST: usize = 3;

/// Wraps spans at word boundaries. The first line starts with `first`, the others with `hang`. A
/// word that is too long is broken anywhere.
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
                folder
                    .spaces
                    .push((" ".repeat(piece.len() - word.len()), span.style));
            }
        }
    }
    folder.finish()
}

/// Wraps one span at any character, for text with significant spaces.
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

/// Truncates a text to a width and marks the cut.
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

/// Splits a grapheme cluster into parts that fit a line. A cluster is wider than a line if it has
/// many spacing marks.
fn parts(cluster: &str, room: usize) -> impl Iterator<Item = &str> {
    let mut rest = cluster;
    std::iter::from_fn(move || {
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
        let mut end = if rest.width() <= room {
            rest.len()
        } else {
            rest.chars().next()?.len_utf8()
        };
        if end < rest.len() {
            end = ends
                .take_while(|end| rest[..*end].width() <= room)
                .last()
                .unwrap_or(end);
        }
        let (part, left) = rest.split_at(end);
        rest = left;
        (!part.is_empty()).then_some(part)
    })
}

struct Folder<'a> {
    width: usize,
    hang: &'a Span<'static>,
    done: Vec<Line<'static>>,
    line: Vec<Span<'static>>,
    used: usize,
    /// The width of the prefix of the current line.
    start: usize,
    word: Vec<(String, Style)>,
    spaces: Vec<(String, Style)>,
}

impl<'a> Folder<'a> {
    fn new(width: usize, first: &Span<'static>, hang: &'a Span<'static>) -> Self {
        let start = first.content.width();
        Self {
            width: width.max(start.max(hang.content.width()) + WIDEST),
            hang,
            done: Vec::new(),
            line: if start == 0 {
                Vec::new()
            } else {
                vec![first.clone()]
            },
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
            for (at, part) in parts(cluster, self.width - self.start).enumerate() {
                let wide = part.width();
                if at > 0 || (self.used + wide > self.width && self.used > self.start) {
                    self.line
                        .push(Span::styled(std::mem::take(&mut run), style));
                    self.next_line();
                }
                run.push_str(part);
                self.used += wide;
            }
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
    fn lines_break_at_words_with_a_hanging_indent() {
        let spans = [
            Span::raw("one two "),
            Span::raw("th"),
            Span::raw("ree abcdefghijkl"),
        ];
        let lines = wrap(&spans, 9, &Span::raw("- "), &Span::raw("  "));
        assert_eq!(
            text(&lines),
            ["- one two", "  three", "  abcdefg", "  hijkl"]
        );
        let lines = chop("技能技能", Style::new(), 5, &Span::raw(""), &Span::raw(""));
        assert_eq!(text(&lines), ["技能", "技能"]);
    }

    #[test]
    fn truncation_is_marked() {
        assert_eq!(
            [cut("技能技能", 5), cut("abc", 3), cut("abcd", 3)],
            ["技能…", "abc", "ab…"]
        );
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn cluster_wider_than_a_line_is_broken() {
        let lines = wrap(
            &[Span::raw("!\u{103b}\u{b47}\u{103b}a")],
            5,
            &Span::raw("> "),
            &Span::raw("  "),
        );
        assert_eq!(text(&lines), ["> !\u{103b}\u{b47}", "  \u{103b}a"]);
    }

    /// Any text, with many characters that make a cluster wide.
    const WORDS: &str = "(\\PC|[ a\u{103b}\u{b47}\u{17d8}\u{fe0f}\u{200d}#👩]){0,80}";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn no_line_is_too_wide(words in WORDS, width in 5usize..40) {
            for line in wrap(&[Span::raw(words.clone())], width, &Span::raw("> "), &Span::raw("  ")) {
                prop_assert!(line.width() <= width, "{line:?}");
            }
            prop_assert!(cut(&words, width).width() <= width);
        }
    }
}
