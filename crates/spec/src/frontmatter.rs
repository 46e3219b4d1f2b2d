//! Splits a file into frontmatter and body.

use std::sync::LazyLock;

use memchr::{memchr, memchr2, memmem, memrchr2};
use prowess_diag::Span;

use crate::problem::{Misplaced, Problem, ProblemKind};

/// Maximum size of frontmatter that is parsed, in bytes.
pub const MAX_FRONTMATTER: usize = 16 * 1024;

/// Number of bytes searched for a closing line if the opening one is missing.
const UNOPENED_SEARCH: usize = 4096;

/// The ranges of frontmatter and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontmatterSplit {
    /// The text between the two `---` lines; `None` if there is no frontmatter.
    pub yaml: Option<Span>,
    /// The text after the closing line, or the whole text.
    pub body: Span,
    /// The opening and the closing `---`, without line breaks.
    pub fences: Option<(Span, Span)>,
}

/// Splits a file into frontmatter and body. Line breaks may be `\n`,
/// `\r\n`
/// or `\r`.
pub fn split(text: &str, problems: &mut Vec<Problem>) -> FrontmatterSplit {
    let bytes = text.as_bytes();
    let mut start = 0;
    if text.starts_with('\u{feff}') {
        start = '\u{feff}'.len_utf8();
        problems.push(Problem {
            span: Span::new(0, start),
            kind: ProblemKind::ByteOrderMark,
        });
    }
    let opener = Line::at(bytes, start);
    if opener.is_fence(bytes) {
        return opened(text, opener, problems);
    }
    if let Some((opener, how)) = misplaced(text, start) {
        let mark = problems.len();
        let split = opened(text, opener, problems);
        if split.yaml.is_some() {
            let span = Span::new(start, opener.start);
            problems.insert(
                mark,
                Problem {
                    span,
                    kind: ProblemKind::FrontmatterMisplaced(how),
                },
            );
            return split;
        }
        problems.truncate(mark);
    }
    if let Some(split) = unopened(text, start) {
        let span = Span::at(start);
        problems.push(Problem {
            span,
            kind: ProblemKind::FrontmatterMisplaced(Misplaced::NoOpener),
        });
        return split;
    }
    problems.push(Problem {
        span: Span::new(start, opener.end),
        kind: ProblemKind::FrontmatterMissing,
    });
    FrontmatterSplit {
        yaml: None,
        body: Span::new(start, text.len()),
        fences: None,
    }
}

/// Splits a text at a known opening line.
fn opened(text: &str, opener: Line, problems: &mut Vec<Problem>) -> FrontmatterSplit {
    let bytes = text.as_bytes();
    let Some(closer) = closing_line(bytes, opener.next, usize::MAX) else {
        let span = Span::new(opener.start, opener.start + 3);
        problems.push(Problem {
            span,
            kind: ProblemKind::FrontmatterUnclosed,
        });
        return FrontmatterSplit {
            yaml: None,
            body: Span::new(opener.start, text.len()),
            fences: None,
        };
    };
    for fence in [opener, closer] {
        if fence.end > fence.start + 3 {
            let span = Span::new(fence.start + 3, fence.end);
            problems.push(Problem {
                span,
                kind: ProblemKind::FenceTrailingSpace,
            });
        }
    }
    FrontmatterSplit {
        yaml: Some(Span::new(opener.next, closer.start)),
        body: Span::new(closer.next, text.len()),
        fences: Some((
            Span::new(opener.start, opener.end),
            Span::new(closer.start, closer.end),
        )),
    }
}

/// Finds the first `---` line that starts within `reach` bytes from `from`.
fn closing_line(bytes: &[u8], from: usize, reach: usize) -> Option<Line> {
    let end = from
        .saturating_add(reach)
        .saturating_add(2)
        .min(bytes.len());
    let dashes = DASHES.find_iter(bytes.get(from..end)?).map(|at| from + at);
    dashes
        .filter(|&at| at == from || matches!(bytes[at - 1], b'\n' | b'\r'))
        .map(|at| Line::at(bytes, at))
        .find(|line| line.is_fence(bytes))
}

/// Built once, not per file.
static DASHES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("---"));

/// Finds an opening line after blank lines, or inside a code fence around the whole file.
fn misplaced(text: &str, start: usize) -> Option<(Line, Misplaced)> {
    let bytes = text.as_bytes();
    let blanks = bytes[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    let first = Line::at(bytes, start + blanks);
    // The opening line itself must start at column 0.
    let at_column_zero = blanks == 0 || matches!(bytes[start + blanks - 1], b'\n' | b'\r');
    if !at_column_zero {
        return None;
    }
    if first.is_fence(bytes) {
        return Some((first, Misplaced::BlankLines));
    }
    let content = text.get(first.start..first.end)?;
    let is_wrapper = matches!(
        content.trim_end(),
        "```" | "```markdown" | "```md" | "```skill" | "```yaml" | "````markdown" | "````md"
    );
    let second = Line::at(bytes, first.next);
    (is_wrapper && second.is_fence(bytes)).then_some((second, Misplaced::CodeFence))
}

/// Splits a text that lacks only the opening line: it starts with `name: …` and a `---` line
/// follows.
fn unopened(text: &str, start: usize) -> Option<FrontmatterSplit> {
    let rest = text.get(start..)?;
    if !["name:", "description:"]
        .iter()
        .any(|key| rest.starts_with(key))
    {
        return None;
    }
    let bytes = text.as_bytes();
    let closer = closing_line(bytes, start, UNOPENED_SEARCH)?;
    // Prose may start with `description:` and contain a horizontal rule.
    let document = crate::yaml::read(text.get(start..closer.start)?, start).ok()?;
    document.root.as_ref()?.entries()?;
    Some(FrontmatterSplit {
        yaml: Some(Span::new(start, closer.start)),
        body: Span::new(closer.next, text.len()),
        fences: Some((Span::at(start), Span::new(closer.start, closer.end))),
    })
}

/// A line: its start, its end, and the start of the next line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte, without the line break.
    pub end: usize,
    /// Offset of the next line.
    pub next: usize,
}

impl Line {
    /// Returns the line that starts at `start`, or the rest of a line.
    pub fn at(bytes: &[u8], start: usize) -> Self {
        let start = start.min(bytes.len());
        match memchr2(b'\n', b'\r', &bytes[start..]) {
            None => Self {
                start,
                end: bytes.len(),
                next: bytes.len(),
            },
            Some(found) => {
                let end = start + found;
                let crlf = bytes[end] == b'\r' && bytes.get(end + 1) == Some(&b'\n');
                Self {
                    start,
                    end,
                    next: end + if crlf { 2 } else { 1 },
                }
            }
        }
    }

    /// Returns the line that contains `here`. `from` must be at or before its start, at the start
    /// of a line.
    pub(crate) fn around(bytes: &[u8], from: usize, here: usize) -> Self {
        let start = memrchr2(b'\n', b'\r', &bytes[from..here]).map_or(from, |at| from + at + 1);
        Self {
            start,
            ..Self::at(bytes, here)
        }
    }

    /// Returns `true` for `---`, optionally followed by whitespace.
    fn is_fence(self, bytes: &[u8]) -> bool {
        let line = &bytes[self.start..self.end];
        line.starts_with(b"---") && line[3..].iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }
}

/// Finds every carriage return that is not part of
/// `\r\n`.
pub(crate) fn lone_carriage_returns(text: &str) -> Vec<Span> {
    let bytes = text.as_bytes();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr(b'\r', &bytes[at..]) {
        at += found + 1;
        if bytes.get(at) != Some(&b'\n') {
            places.push(Span::new(at - 1, at));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, yaml: Option<&str>, body: &str, problems: &[&str]) {
        let mut found = Vec::new();
        let split = split(text, &mut found);
        let kinds: Vec<String> = found
            .iter()
            .map(|problem| format!("{:?}", problem.kind))
            .collect();
        assert_eq!(
            (split.yaml.map(|span| span.of(text)), split.body.of(text)),
            (yaml, body),
            "{text:?}"
        );
        assert_eq!(kinds, problems, "{text:?}");
    }

    #[test]
    fn fences_are_on_the_first_line_and_at_column_zero() {
        check("---\na: b\n---\nbody", Some("a: b\n"), "body", &[]);
        check(
            "---\na: b --- c\n  ---\n---\n",
            Some("a: b --- c\n  ---\n"),
            "",
            &[],
        );
        check("---\n---\nx\n---\n", Some(""), "x\n---\n", &[]);
        check("---\na: b\n---", Some("a: b\n"), "", &[]);
        check(
            "# hi\n---\na: b\n---\n",
            None,
            "# hi\n---\na: b\n---\n",
            &["FrontmatterMissing"],
        );
        check("", None, "", &["FrontmatterMissing"]);
    }

    #[test]
    fn other_openings_are_not_frontmatter() {
        for text in [
            "---yaml\na: b\n---\n",
            "----\na: b\n---\n",
            " ---\na: b\n---\n",
            "---js\na: b\n---\n",
        ] {
            check(text, None, text, &["FrontmatterMissing"]);
        }
        check(
            "---\na: b\n...\n",
            None,
            "---\na: b\n...\n",
            &["FrontmatterUnclosed"],
        );
    }

    #[test]
    fn all_line_break_styles_are_accepted() {
        check(
            "---\r\na: b\r\n---\r\nbody\r\n",
            Some("a: b\r\n"),
            "body\r\n",
            &[],
        );
        check("---\ra: b\r---\rbody", Some("a: b\r"), "body", &[]);
    }

    #[test]
    fn byte_order_mark_and_surrounding_blanks_are_reported() {
        check(
            "\u{feff}---\na: b\n---\n",
            Some("a: b\n"),
            "",
            &["ByteOrderMark"],
        );
        check(
            "--- \na: b\n---\t\nx",
            Some("a: b\n"),
            "x",
            &["FenceTrailingSpace", "FenceTrailingSpace"],
        );
        check(
            "\n \n---\na: b\n---\nx",
            Some("a: b\n"),
            "x",
            &["FrontmatterMisplaced(BlankLines)"],
        );
        check(
            "```markdown\n---\na: b\n---\nx",
            Some("a: b\n"),
            "x",
            &["FrontmatterMisplaced(CodeFence)"],
        );
        check(
            "name: b\n\n---\nx",
            Some("name: b\n\n"),
            "x",
            &["FrontmatterMisplaced(NoOpener)"],
        );
    }
}
