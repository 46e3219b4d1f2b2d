//! Finds placeholders, variables, commands, code and links in the body of a skill.
//!
//! The body is scanned once, before anything is substituted, so neither an argument nor the output
//! of a command can introduce a placeholder or a command. Rendering later fills the items found
//! here.

pub mod links;

use memchr::{memchr, memchr_iter, memchr3, memchr3_iter, memmem};
use prowess_diag::Span;

use crate::frontmatter::Line;

/// The level of detail of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanDetail {
    /// Finds every item.
    Full,
    /// Scans only lines and blocks that contain a placeholder, a command or a link to a file. Finds
    /// those items and the code around them. Most text has none.
    Marked,
}

/// One item in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyItem {
    /// Range in the file.
    pub span: Span,
    /// The surrounding text.
    pub place: ItemContext,
    /// The kind of item.
    pub kind: BodyItemKind,
}

/// The text that surrounds an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemContext {
    /// Ordinary text.
    Text,
    /// Inline code: `` `code` ``.
    InlineCode,
    /// A fenced code block.
    Fence,
    /// A command that runs during rendering.
    Shell,
}

impl ItemContext {
    /// Returns `true` for code that is displayed, not executed.
    pub fn is_code(self) -> bool {
        matches!(self, Self::InlineCode | Self::Fence)
    }
}

/// The kind of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyItemKind {
    /// A placeholder for an argument.
    Placeholder(Placeholder),
    /// A backslash that makes the following placeholder literal; the span covers both.
    Escape,
    /// A variable such as `${CLAUDE_SKILL_DIR}`.
    Variable,
    /// A command that is replaced by its output. In a code block it is only text.
    Command {
        /// The command itself.
        command: Span,
        /// `true` for a block of several lines.
        block: bool,
    },
    /// A fenced code block.
    Fence {
        /// The info string after the opening marks.
        info: Span,
        /// The text between the marks.
        content: Span,
    },
    /// Inline code: `` `code` ``.
    InlineCode {
        /// The text between the marks.
        content: Span,
    },
    /// A link.
    Link {
        /// The target as written, without the title.
        target: Span,
    },
}

/// The argument a placeholder refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `$ARGUMENTS`.
    All,
    /// `$0`, `$1`, and so on.
    Index(usize),
    /// `$ARGUMENTS[0]`.
    Element(usize),
    /// `$name`: the index of the name in `arguments`, counted from 0.
    Named(usize),
}

/// Prefixes of the variables that a body may use. `${HOME}` and others are left to the shell.
const VARIABLE_PREFIXES: [&str; 3] = ["CLAUDE_", "PROWESS_", "AGENTICK_"];

/// Scans a body. `names` are the declared arguments, in order. Items are sorted by their start; the
/// text between them is literal.
///
/// The scan uses `memchr` to find the few bytes that can start an item, and parses only the lines
/// that contain one.
pub fn analyse(text: &str, body: Span, names: &[&str], detail: ScanDetail) -> Vec<BodyItem> {
    let end = (body.end as usize).min(text.len());
    let start = (body.start as usize).min(end);
    let bytes = &text.as_bytes()[..end];
    let mut reader = Reader {
        text,
        bytes,
        names,
        detail,
        items: Vec::new(),
    };
    if let Some(mark) = reader.next_mark(start) {
        reader.read(start, mark);
    }
    reader.items
}

/// Returns the number of lines. A final line break does not start another line.
pub fn count_lines(bytes: &[u8]) -> usize {
    let breaks = memchr_iter(b'\n', bytes).count();
    // A lone `\r` ends a line;
    // in `\r\n`, the `\n`
    // does.
    let lone = memchr_iter(b'\r', bytes)
        .filter(|&at| bytes.get(at + 1) != Some(&b'\n'))
        .count();
    breaks
        + lone
        + usize::from(!bytes.is_empty() && !bytes.ends_with(b"\n") && !bytes.ends_with(b"\r"))
}

struct Reader<'t> {
    text: &'t str,
    /// The text up to the end of the body.
    bytes: &'t [u8],
    names: &'t [&'t str],
    detail: ScanDetail,
    items: Vec<BodyItem>,
}

impl Reader<'_> {
    fn push(&mut self, start: usize, end: usize, place: ItemContext, kind: BodyItemKind) {
        self.items.push(BodyItem {
            span: Span::new(start, end),
            place,
            kind,
        });
    }

    /// Scans the text from `at`; `mark` is the first mark in it.
    fn read(&mut self, mut at: usize, mut mark: usize) {
        let mut fences = Fences::new(self.bytes, at);
        loop {
            at = match self.opening_fence(&mut fences, at, mark) {
                Some((line, here)) => self.fence(&fences, line, here, mark),
                None => self.line(Line::around(self.bytes, at, mark)),
            };
            if mark <= at {
                let Some(next) = self.next_mark(at) else {
                    return;
                };
                mark = next;
            }
        }
    }

    /// Finds the next mark: an offset whose line must be parsed.
    fn next_mark(&self, from: usize) -> Option<usize> {
        let bytes = self.bytes;
        let rest = bytes.get(from..).filter(|rest| !rest.is_empty())?;
        if self.detail == ScanDetail::Full {
            return Some(Line::at(bytes, from).end);
        }
        let is_mark = |&at: &usize| {
            let after = bytes.get(at + 1..).unwrap_or_default();
            match bytes[at] {
                b'$' => {
                    after
                        .first()
                        .is_some_and(|&byte| byte.is_ascii_digit() || byte == b'A')
                        || !self.names.is_empty()
                }
                b']' => match after {
                    [b'(', target @ ..] => !links::is_elsewhere(target),
                    _ => after.starts_with(b":"),
                },
                _ => after.starts_with(b"`") || bytes[..at].ends_with(b"```"),
            }
        };
        memchr3_iter(b'$', b']', b'!', rest)
            .map(|at| from + at)
            .find(is_mark)
    }

    /// Parses a line outside code blocks. Returns the start of the next line.
    fn line(&mut self, line: Line) -> usize {
        let mut at = line.start;
        let mut is_first = true;
        while let Some(found) = memchr3(b'$', b'`', b']', &self.bytes[at..line.end]) {
            let here = at + found;
            at = match (self.bytes[here], self.bytes.get(here + 1)) {
                (b'$', _) => self.dollar(here, line.end, ItemContext::Text, line.start),
                (b'`', _) => self.backticks(line, here),
                (_, Some(b'(')) => self.link(here + 2, line.end, Some(b')')),
                // Only the first bracket of a line can start a definition.
                (_, Some(b':'))
                    if std::mem::take(&mut is_first)
                        && is_definition(&self.text[line.start..here]) =>
                {
                    self.link(here + 2, line.end, None)
                }
                _ => here + 1,
            };
        }
        line.next
    }

    /// Finds the next line that opens a fenced block, and its marks, up to the offset `last`.
    fn opening_fence(
        &self,
        fences: &mut Fences<'_>,
        mut at: usize,
        last: usize,
    ) -> Option<(Line, usize)> {
        loop {
            let here = fences.next(at).filter(|&here| here <= last)?;
            let line = Line::around(self.bytes, at, here);
            if fence_start(&self.bytes[line.start..line.end]) == Some(here - line.start) {
                let info = &self.bytes[here..line.end];
                let info = &info[run(info, self.bytes[here])..];
                if self.bytes[here] == b'~' || memchr(b'`', info).is_none() {
                    return Some((line, here));
                }
            }
            at = line.next;
        }
    }

    /// Parses the fenced block that opens at `here`. Returns the offset after it. An unclosed block
    /// extends to the end of the body.
    fn fence(&mut self, fences: &Fences<'_>, line: Line, here: usize, mark: usize) -> usize {
        let length = run(&self.bytes[here..line.end], self.bytes[here]);
        let info = Span::new(here + length, line.end);
        let is_command =
            self.bytes[here] == b'`' && self.bytes.get(info.start as usize) == Some(&b'!');
        let closer = fences.closing(line.next, self.bytes[here], length);
        let end = self.bytes.len();
        let (content_end, block_end, next) = closer.map_or((end, end, end), |closer| {
            (closer.start, closer.end, closer.next)
        });
        if self.detail == ScanDetail::Marked && mark >= content_end {
            return next;
        }
        let content = Span::new(line.next.min(content_end), content_end);
        let item = self.items.len();
        let (place, inner, kind) = if is_command {
            (
                ItemContext::Text,
                ItemContext::Shell,
                BodyItemKind::Command {
                    command: content,
                    block: true,
                },
            )
        } else {
            (
                ItemContext::Fence,
                ItemContext::Fence,
                BodyItemKind::Fence { info, content },
            )
        };
        self.push(here, block_end, place, kind);
        self.placeholders(content.start as usize, content_end, inner);
        if !is_command {
            self.inert_commands(content);
            self.items[item + 1..].sort_by_key(|item| item.span);
        }
        next
    }

    /// Finds commands inside a code block. They are text here, but some other clients run them.
    fn inert_commands(&mut self, content: Span) {
        let (mut at, end) = (content.start as usize, content.end as usize);
        while let Some(found) = memchr(b'!', &self.bytes[at..end]) {
            let mark = at + found;
            at = mark + 1;
            if self.bytes.get(at) != Some(&b'`') || !self.opens_command(mark) {
                continue;
            }
            let rest = &self.bytes[at + 1..end];
            if let Some(close) = memchr(b'`', rest).filter(|&close| !rest[..close].contains(&b'\n'))
            {
                let command = Span::new(at + 1, at + 1 + close);
                self.push(
                    mark,
                    at + close + 2,
                    ItemContext::Fence,
                    BodyItemKind::Command {
                        command,
                        block: false,
                    },
                );
                at += close + 2;
            }
        }
    }

    /// Returns `true` if the `!` at this offset can open a command: at the start of a line or after
    /// whitespace.
    fn opens_command(&self, mark: usize) -> bool {
        mark == 0 || self.bytes[mark - 1].is_ascii_whitespace()
    }

    fn link(&mut self, from: usize, end: usize, close: Option<u8>) -> usize {
        // Bounds each search; real targets are shorter.
        let end = floor(self.text, end.min(from + LONGEST_TARGET));
        match links::target(&self.text[from..end], close) {
            Some((target, length)) => {
                let kind = BodyItemKind::Link {
                    target: Span::new(from + target.start, from + target.end),
                };
                self.push(from, from + length, ItemContext::Text, kind);
                self.placeholders(from, from + length, ItemContext::Text);
                from + length
            }
            None => from,
        }
    }

    /// Parses inline code or a command; `here` is the first backtick. Returns the offset to
    /// continue at.
    fn backticks(&mut self, line: Line, here: usize) -> usize {
        let length = run(&self.bytes[here..line.end], b'`');
        let inner = here + length;
        let Some(close) = closing_run(&self.bytes[inner..line.end], length) else {
            return inner;
        };
        let content = Span::new(inner, inner + close);
        let after = inner + close + length;
        let mark = here
            .checked_sub(1)
            .filter(|&mark| mark >= line.start && self.bytes[mark] == b'!');
        if let Some(mark) = mark.filter(|&mark| length == 1 && self.opens_command(mark)) {
            self.push(
                mark,
                after,
                ItemContext::Text,
                BodyItemKind::Command {
                    command: content,
                    block: false,
                },
            );
            self.placeholders(inner, inner + close, ItemContext::Shell);
        } else {
            self.push(
                here,
                after,
                ItemContext::InlineCode,
                BodyItemKind::InlineCode { content },
            );
            self.placeholders(inner, inner + close, ItemContext::InlineCode);
        }
        after
    }

    /// Finds the placeholders in a range.
    fn placeholders(&mut self, start: usize, end: usize, place: ItemContext) {
        let mut at = start;
        while let Some(found) = memchr(b'$', &self.bytes[at..end]) {
            at = self.dollar(at + found, end, place, start);
        }
    }

    /// Parses the placeholder or variable that a `$` may open. Returns the offset to continue at.
    fn dollar(&mut self, here: usize, end: usize, place: ItemContext, from: usize) -> usize {
        let rest = &self.text[here + 1..end];
        if let Some(inner) = rest.strip_prefix('{') {
            if let Some(close) = inner
                .bytes()
                .take(LONGEST_VARIABLE)
                .position(|byte| byte == b'}')
                .filter(|&close| is_variable(&inner[..close]))
            {
                self.push(here, here + close + 3, place, BodyItemKind::Variable);
                return here + close + 3;
            }
            return here + 1;
        }
        let Some((placeholder, length)) = self.placeholder(rest) else {
            return here + 1;
        };
        let after = here + 1 + length;
        let backslashes = self.bytes[from..here]
            .iter()
            .rev()
            .take_while(|&&byte| byte == b'\\')
            .count();
        if backslashes == 1 {
            self.push(here - 1, after, place, BodyItemKind::Escape);
        } else {
            self.push(here, after, place, BodyItemKind::Placeholder(placeholder));
        }
        after
    }

    /// Parses a placeholder after its `$`. Returns it with its length.
    fn placeholder(&self, rest: &str) -> Option<(Placeholder, usize)> {
        const ALL: &str = "ARGUMENTS";
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            // An index that does not fit into `usize` refers to no argument.
            return Some((
                Placeholder::Index(rest[..digits].parse().unwrap_or(usize::MAX)),
                digits,
            ));
        }
        if let Some(more) = rest.strip_prefix(ALL) {
            if let Some(index) = bracketed_index(more) {
                return Some((
                    Placeholder::Element(index.parse().unwrap_or(usize::MAX)),
                    ALL.len() + index.len() + 2,
                ));
            }
            if !continues_word(more) {
                return Some((Placeholder::All, ALL.len()));
            }
        }
        let longest = self.names.iter().enumerate().filter(|(_, name)| {
            is_argument_name(name)
                && rest.starts_with(**name)
                && !continues_word(&rest[name.len()..])
        });
        longest
            .max_by_key(|(_, name)| name.len())
            .map(|(index, name)| (Placeholder::Named(index), name.len()))
    }
}

/// Iterates over the positions of three consecutive marks, in order.
struct Fences<'t> {
    bytes: &'t [u8],
    backticks: memmem::Finder<'static>,
    tildes: memmem::Finder<'static>,
    /// The next position of each kind of mark.
    waiting: [Option<usize>; 2],
}

impl<'t> Fences<'t> {
    fn new(bytes: &'t [u8], from: usize) -> Self {
        let (backticks, tildes) = (memmem::Finder::new("```"), memmem::Finder::new("~~~"));
        Self {
            bytes,
            backticks,
            tildes,
            waiting: [Some(from), Some(from)],
        }
    }

    /// Returns the first position at or after `from`.
    fn next(&mut self, from: usize) -> Option<usize> {
        for (finder, waiting) in [&self.backticks, &self.tildes]
            .into_iter()
            .zip(&mut self.waiting)
        {
            if waiting.is_some_and(|at| at <= from) {
                *waiting = finder.find(&self.bytes[from..]).map(|at| from + at);
            }
        }
        self.waiting.into_iter().flatten().min()
    }

    /// Finds the line that closes a block.
    fn closing(&self, from: usize, mark: u8, length: usize) -> Option<Line> {
        let finder = if mark == b'`' {
            &self.backticks
        } else {
            &self.tildes
        };
        let mut at = from;
        while let Some(found) = finder.find(self.bytes.get(at..)?) {
            let line = Line::around(self.bytes, at, at + found);
            if closes(&self.bytes[line.start..line.end], mark, length) {
                return Some(line);
            }
            at = line.next;
        }
        None
    }
}

/// Returns `true` for `[id` at the start of a line. `[^id` is a footnote.
fn is_definition(before: &str) -> bool {
    let before = before.trim_start();
    before.starts_with('[') && !before.starts_with("[^")
}

/// Maximum length of a link target.
const LONGEST_TARGET: usize = 2048;
/// Maximum length of a variable name.
const LONGEST_VARIABLE: usize = 128;

/// Returns the nearest character boundary at or before an offset.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the digits of `[12]` at the start of a text.
fn bracketed_index(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('[')?;
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0 && digits[length..].starts_with(']')).then(|| &digits[..length])
}

/// Returns `true` if a placeholder can have this name: a name with other characters, such as a
/// backtick, would hide where a command begins.
fn is_argument_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn continues_word(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn is_variable(name: &str) -> bool {
    let known = VARIABLE_PREFIXES.iter().any(|prefix| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty())
    });
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (known && plain) || name.starts_with("user_config.") || name.starts_with("env:")
}

/// Returns the offset of the marks that open a fenced block on this line, after whitespace, quote
/// markers and list markers.
fn fence_start(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match line.get(at)? {
            b' ' | b'\t' | b'>' => at += 1,
            b'-' | b'*' | b'+' if line.get(at + 1) == Some(&b' ') => at += 2,
            b'0'..=b'9' => {
                let digits = line[at..].iter().take_while(|b| b.is_ascii_digit()).count();
                if digits > 9
                    || !matches!(line.get(at + digits), Some(b'.' | b')'))
                    || line.get(at + digits + 1) != Some(&b' ')
                {
                    return None;
                }
                at += digits + 2;
            }
            &mark @ (b'`' | b'~') => return (run(&line[at..], mark) >= 3).then_some(at),
            _ => return None,
        }
    }
}

fn closes(line: &[u8], mark: u8, length: usize) -> bool {
    let start = line
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'>'))
        .count();
    let marks = run(&line[start..], mark);
    marks >= length
        && line[start + marks..]
            .iter()
            .all(|byte| matches!(byte, b' ' | b'\t'))
}

fn run(bytes: &[u8], mark: u8) -> usize {
    bytes.iter().take_while(|&&byte| byte == mark).count()
}

/// Returns the offset of the next run of exactly `length` backticks.
fn closing_run(bytes: &[u8], length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = memchr(b'`', &bytes[at..]) {
        let marks = run(&bytes[at + found..], b'`');
        if marks == length {
            return Some(at + found);
        }
        at += found + marks;
    }
    None
}

#[cfg(test)]
mod fence_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the items found, formatted as `place kind text`.
    fn check(text: &str, names: &[&str], expected: &[&str]) {
        let items = analyse(text, Span::new(0, text.len()), names, ScanDetail::Full);
        let found: Vec<String> = items
            .iter()
            .map(|item| {
                let kind = match &item.kind {
                    BodyItemKind::Placeholder(placeholder) => format!("{placeholder:?}"),
                    BodyItemKind::Escape => "escape".into(),
                    BodyItemKind::Variable => "variable".into(),
                    BodyItemKind::Command { command, block } => format!(
                        "{} <{}>",
                        if *block { "block" } else { "command" },
                        command.of(text)
                    ),
                    BodyItemKind::Fence { info, content } => {
                        format!("fence({}) <{}>", info.of(text), content.of(text))
                    }
                    BodyItemKind::InlineCode { .. } => "code".into(),
                    BodyItemKind::Link { target } => format!("link <{}>", target.of(text)),
                };
                format!("{:?} {kind} {}", item.place, item.span.of(text)).replace('\n', "⏎")
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn placeholders() {
        check("Fix $ARGUMENTS now", &[], &["Text All $ARGUMENTS"]);
        check(
            "$0 $ARGUMENTS[12] $10",
            &[],
            &[
                "Text Index(0) $0",
                "Text Element(12) $ARGUMENTS[12]",
                "Text Index(10) $10",
            ],
        );
        check(
            "$issue@$branch $issues $foo $HOME",
            &["issue", "branch"],
            &["Text Named(0) $issue", "Text Named(1) $branch"],
        );
        check(
            "$a-b $a",
            &["a", "a-b"],
            &["Text Named(1) $a-b", "Text Named(0) $a"],
        );
        check(
            "$ARGUMENTSX $ARGUMENTS[x] $$ $",
            &[],
            &["Text All $ARGUMENTS"],
        );
        check(
            "$99999999999999999999",
            &[],
            &[&format!("Text Index({}) $99999999999999999999", usize::MAX)],
        );
    }

    #[test]
    fn escapes() {
        check(
            r"\$1.00 \\$1 \$HOME \$ARGUMENTS",
            &[],
            &[
                r"Text escape \$1",
                "Text Index(1) $1",
                r"Text escape \$ARGUMENTS",
            ],
        );
    }

    #[test]
    fn variables() {
        check(
            "${CLAUDE_SKILL_DIR} ${HOME} ${PROWESS_X} ${0}",
            &[],
            &[
                "Text variable ${CLAUDE_SKILL_DIR}",
                "Text variable ${PROWESS_X}",
            ],
        );
        check("${CLAUDE_SKILL_DIR", &[], &[]);
    }

    #[test]
    fn inline_commands() {
        check(
            "- diff: !`git diff`",
            &[],
            &["Text command <git diff> !`git diff`"],
        );
        check("!`a` b", &[], &["Text command <a> !`a`"]);
        check("KEY=!`cmd`", &[], &["InlineCode code `cmd`"]);
        check(
            "`format!` macro `!` x",
            &[],
            &["InlineCode code `format!`", "InlineCode code `!`"],
        );
        check("`` !`cmd` `` done", &[], &["InlineCode code `` !`cmd` ``"]);
        check(
            "!`echo \"$1\"`",
            &[],
            &[
                "Text command <echo \"$1\"> !`echo \"$1\"`",
                "Shell Index(1) $1",
            ],
        );
        check("!`open", &[], &[]);
    }

    #[test]
    fn fences() {
        check(
            "```!\necho a\n```\n",
            &[],
            &["Text block <echo a⏎> ```!⏎echo a⏎```"],
        );
        check(
            "```bash\nawk '{print $1}'\n!`x`\n```\n$0",
            &[],
            &[
                "Fence fence(bash) <awk '{print $1}'⏎!`x`⏎> ```bash⏎awk '{print $1}'⏎!`x`⏎```",
                "Fence Index(1) $1",
                "Fence command <x> !`x`",
                "Text Index(0) $0",
            ],
        );
        check(
            "~~~\n```\n$1\n~~~",
            &[],
            &[
                "Fence fence() <```⏎$1⏎> ~~~⏎```⏎$1⏎~~~",
                "Fence Index(1) $1",
            ],
        );
        check(
            "1. ```sh\n   x\n   ```\ny",
            &[],
            &["Fence fence(sh) <   x⏎> ```sh⏎   x⏎   ```"],
        );
        check(
            "```\nopen $1",
            &[],
            &["Fence fence() <open $1> ```⏎open $1", "Fence Index(1) $1"],
        );
        check("```a`b\n$1", &[], &["Text Index(1) $1"]);
    }

    #[test]
    fn links() {
        check(
            "[a](b.md) ![c](<d e.png> \"t\")",
            &[],
            &[
                "Text link <b.md> b.md)",
                "Text link <d e.png> <d e.png> \"t\")",
            ],
        );
        check(
            "[id]: ref/x.md \"title\"",
            &[],
            &["Text link <ref/x.md>  ref/x.md \"title\""],
        );
        check("[^1]: and/or means both\n[INFO]: read/write it", &[], &[]);
        check("`[a](b)` [x] (y)", &[], &["InlineCode code `[a](b)`"]);
        check(
            "[a]($0/b.md)",
            &[],
            &["Text link <$0/b.md> $0/b.md)", "Text Index(0) $0"],
        );
    }

    #[test]
    fn lines_are_counted_for_every_line_break() {
        let count = |text: &str| count_lines(text.as_bytes());
        assert_eq!(
            [
                count(""),
                count("a"),
                count("a\nb\n"),
                count("a\n```\nb\n```\nc"),
                count("a\r\nb\rc")
            ],
            [0, 1, 2, 5, 3]
        );
    }
}
