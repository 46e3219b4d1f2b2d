//! The lines of a file, and the passages around the places that are looked at.

use std::cell::OnceCell;
use std::ops::Range;

use memchr::memchr_iter;
use prowess_shell::pipeline::{self, PlainCode, Stage};

use crate::matching::matcher;
use crate::place::FindingPlace;
use crate::subject::{FileRole, ScanFile};

/// Most bytes before and after a place that belong to its passage.
const REACH: usize = 2 * 1024;
/// Most lines of a passage.
const MOST_LINES: usize = 24;
/// Most bytes around a passage that rules may also look at.
const NEAR: usize = 1_024;
/// Most bytes before a command that are searched for words that forbid it.
const FORBIDDING: usize = 60;
/// Most bytes that are searched for words that describe.
const INTRODUCTION: usize = 240;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Blank,
    Prose,
    Heading,
    Table,
    Quote,
    /// In a fenced block, with the index of the block.
    Fence(u32),
    /// In a file that is code.
    Code,
}

#[derive(Clone, Copy, Debug)]
struct TextLine {
    start: u32,
    end: u32,
    kind: LineKind,
}

#[derive(Debug)]
struct FenceBlock {
    /// `true` if its language is one of commands to run.
    has_commands: bool,
    /// The number of lines before it.
    lines_before: usize,
    /// `true` if the text before it says that it shows something. Known only if it was asked for.
    is_example: OnceCell<bool>,
}

/// The lines of a file.
#[derive(Debug)]
pub(crate) struct TextLayout<'t> {
    text: &'t str,
    role: FileRole,
    lines: Vec<TextLine>,
    blocks: Vec<FenceBlock>,
}

/// Languages of code blocks with commands to run.
const COMMANDS: &[&str] = &[
    "",
    "bash",
    "sh",
    "shell",
    "zsh",
    "console",
    "terminal",
    "powershell",
    "ps1",
    "pwsh",
    "cmd",
    "bat",
    "batch",
    "fish",
    "shell-session",
    "shellscript",
    "posh",
];

matcher!(
    DESCRIBES,
    r"\b(?: such\ as | e\.\s?g\. | for\ example | for\ instance | examples?\ (?:of|attack) | looks?\ like | malicious | malware
      | attack\w* | payloads? | exploit\w* | vulnerab\w* | suspicious | red\ flags? | anti-?patterns? | detect\w* | inject\w+
      | adversar\w+ | phishing | jailbreak\w* | cve-\d+ | scan(?:s|ned|ning)?\ for | search(?:es)?\ for
      | look(?:s|ing)?\ for | watch\ for )\b | ❌ | 🚩 | 🚫 | 攻击 | 恶意 | 检测"
);

// Words right before a command that forbid it.
matcher!(
    FORBIDS,
    r"\b(?: never | (?:do|does|must|should)\ not | don[’']t | avoid\w* | refus\w+ | reject\w* | block(?:s|ed|ing)? | flag(?:s|ged)?
      | forbid\w* | prohibit\w* | deny | denied | disallow\w* | dangerous | unsafe | insecure | instead\ of | rather\ than )\b
      | ⚠ | ✗ | ✘ | 禁止 | 不要"
);

matcher!(
    TITLES,
    r"\b(?: malicious | malware | attack\w* | payloads? | exploit\w* | vulnerab\w* | red\ flags? | anti-?patterns? | injection
      | (?:reverse|bind|web)\ shells? )\b | ❌ | 🚩 | 🚫"
);

impl<'t> TextLayout<'t> {
    pub(crate) fn new(file: &ScanFile<'_>, text: &'t str) -> Self {
        let role = file.role();
        let ending = file.ending().to_ascii_lowercase();
        let is_prose = role != FileRole::Script
            && (file.is_markdown()
                || matches!(ending.as_str(), "txt" | "rst" | "adoc" | "" | "html"));
        let mut layout = Self {
            text,
            role,
            lines: Vec::new(),
            blocks: Vec::new(),
        };
        layout.read(is_prose);
        layout
    }

    fn read(&mut self, is_prose: bool) {
        let text = self.text;
        let mut start = 0;
        // The marks that close the open block.
        let mut fence: Option<(u8, usize)> = None;
        let ends = memchr_iter(b'\n', text.as_bytes()).chain(std::iter::once(text.len()));
        for end in ends {
            let line = text[start..end].trim_end_matches('\r');
            let kind = if is_prose {
                self.kind(line, &mut fence)
            } else {
                LineKind::Code
            };
            let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            self.lines.push(TextLine {
                start: offset(start),
                end: offset(start + line.len()),
                kind,
            });
            start = end + 1;
        }
    }

    fn kind(&mut self, line: &str, fence: &mut Option<(u8, usize)>) -> LineKind {
        let trimmed = line.trim_start();
        let mark = trimmed.bytes().next().unwrap_or(b' ');
        let marks = trimmed.bytes().take_while(|byte| *byte == mark).count();
        let is_fence = matches!(mark, b'`' | b'~') && marks >= 3;
        if let Some((open, length)) = *fence {
            let index = u32::try_from(self.blocks.len().saturating_sub(1)).unwrap_or(u32::MAX);
            if is_fence && mark == open && marks >= length && trimmed[marks..].trim().is_empty() {
                *fence = None;
            }
            return LineKind::Fence(index);
        }
        if is_fence && !trimmed[marks..].contains('`') {
            *fence = Some((mark, marks));
            let info = trimmed[marks..].trim().to_ascii_lowercase();
            let language = info.split([' ', '{', ',', ':']).next().unwrap_or_default();
            self.blocks.push(FenceBlock {
                has_commands: COMMANDS.contains(&language),
                lines_before: self.lines.len(),
                is_example: OnceCell::new(),
            });
            let index = u32::try_from(self.blocks.len() - 1).unwrap_or(u32::MAX);
            return LineKind::Fence(index);
        }
        match mark {
            _ if trimmed.is_empty() => LineKind::Blank,
            b'#' => LineKind::Heading,
            b'|' => LineKind::Table,
            b'>' => LineKind::Quote,
            _ => LineKind::Prose,
        }
    }

    /// Returns `true` if a block has commands to run, and no sentence says that they are an example.
    fn orders(&self, index: u32) -> bool {
        self.blocks.get(index as usize).is_some_and(|block| {
            let is_example = || self.is_introduced_as_example(block.lines_before);
            block.has_commands && !block.is_example.get_or_init(is_example)
        })
    }

    /// Returns `true` if the text before a line says that it shows something, and does not order it.
    fn is_introduced_as_example(&self, lines_before: usize) -> bool {
        let lines = &self.lines[..lines_before.min(self.lines.len())];
        let mut prose = lines
            .iter()
            .rev()
            .filter(|line| line.kind != LineKind::Blank);
        let is_before = prose.next().is_some_and(|line| {
            let text = self.line(line);
            let from = floor(text, text.len().saturating_sub(INTRODUCTION));
            let text = &text[from..];
            DESCRIBES.is_match(text) || FORBIDS.is_match(text)
        });
        let mut headings = lines.iter().rev().take(200);
        let heading = headings.find(|line| line.kind == LineKind::Heading);
        is_before
            || heading.is_some_and(|line| TITLES.is_match(clip(self.line(line), INTRODUCTION)))
    }

    fn line(&self, line: &TextLine) -> &'t str {
        self.text
            .get(line.start as usize..line.end as usize)
            .unwrap_or_default()
    }

    /// Returns the passage around an offset.
    pub(crate) fn passage<'l>(&'l self, at: usize, file: &'l ScanFile<'l>) -> Passage<'t, 'l> {
        let index = self
            .lines
            .partition_point(|line| line.start as usize <= at)
            .saturating_sub(1);
        let (mut first, mut last) = (index, index);
        let kind = self
            .lines
            .get(index)
            .map_or(LineKind::Prose, |line| line.kind);
        let is_code = matches!(kind, LineKind::Fence(_) | LineKind::Code);
        let follows = |before: usize, after: usize| {
            let (Some(one), Some(two)) = (self.lines.get(before), self.lines.get(after)) else {
                return false;
            };
            let (text, next) = (self.line(one).trim_end(), self.line(two).trim_start());
            one.kind == two.kind
                && if is_code {
                    text.ends_with(['\\', '|', '`', '^']) && !text.ends_with("```")
                        || text.ends_with("&&")
                        || next.starts_with("| ")
                        || next.starts_with("&& ")
                } else {
                    kind == LineKind::Prose && !begins_item(next)
                }
        };
        while first > 0 && last - first < MOST_LINES && follows(first - 1, first) {
            first -= 1;
        }
        while last - first < MOST_LINES && follows(last, last + 1) {
            last += 1;
        }
        let offset = |index: usize, end: bool| {
            let line = self.lines.get(index);
            line.map_or(at, |line| if end { line.end } else { line.start } as usize)
        };
        let start = floor(
            self.text,
            offset(first, false).max(at.saturating_sub(REACH)),
        );
        let end = floor(self.text, offset(last, true).min(at + REACH)).max(at);
        let end = floor(self.text, end).max(start);
        Passage {
            layout: self,
            file,
            text: &self.text[start..end],
            start,
            kind,
            is_code,
            line: self.lines.get(index).map_or("", |line| self.line(line)),
            plain: OnceCell::new(),
        }
    }
}

/// Returns `true` if a line begins an item of a list.
fn begins_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "))
}

/// Returns the last offset up to `at` that is between two characters.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn clip(text: &str, most: usize) -> &str {
    &text[..floor(text, most)]
}

/// A command with its continuation lines, or a paragraph.
#[derive(Debug)]
pub(crate) struct Passage<'t, 'l> {
    layout: &'l TextLayout<'t>,
    pub(crate) file: &'l ScanFile<'l>,
    /// The text.
    pub(crate) text: &'t str,
    /// Its offset in the file.
    pub(crate) start: usize,
    kind: LineKind,
    /// `true` in scripts and code blocks.
    pub(crate) is_code: bool,
    line: &'t str,
    plain: OnceCell<PlainCode>,
}

impl<'t> Passage<'t, '_> {
    /// Returns the range of the passage in the file.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// Returns the text without what hides commands.
    pub(crate) fn plain(&self) -> &PlainCode {
        self.plain.get_or_init(|| pipeline::plain(self.text))
    }

    /// Returns the commands in it.
    pub(crate) fn stages(&self) -> Vec<Stage<'_>> {
        pipeline::stages(&self.plain().text)
    }

    /// Returns the text before it, up to a limit.
    pub(crate) fn before(&self) -> &'t str {
        let text = self.layout.text;
        &text[floor(text, self.start.saturating_sub(NEAR))..self.start]
    }

    /// Returns the text after it, up to a limit.
    pub(crate) fn after(&self) -> &'t str {
        let text = self.layout.text;
        let end = self.start + self.text.len();
        &text[end..floor(text, (end + NEAR).min(text.len()))]
    }

    /// Returns the text after it in the same block, up to a limit.
    pub(crate) fn rest_of_block(&self) -> &'t str {
        if !self.is_code {
            return "";
        }
        let after = self.after();
        match after.find("```") {
            Some(end) if matches!(self.kind, LineKind::Fence(_)) => &after[..end],
            _ => after,
        }
    }

    /// Returns the text around it, itself included, up to a limit.
    pub(crate) fn around(&self) -> &'t str {
        let text = self.layout.text;
        let end = self.start + self.text.len() + NEAR;
        &text[floor(text, self.start.saturating_sub(NEAR))..floor(text, end)]
    }

    /// Returns the place of a range of the passage.
    pub(crate) fn place(&self, range: &Range<usize>) -> FindingPlace {
        let is_comment = self.is_comment();
        match (self.layout.role, self.kind) {
            (_, LineKind::Table) => FindingPlace::Table,
            (_, LineKind::Quote) => FindingPlace::Quotation,
            (FileRole::Script, _) if is_comment => FindingPlace::Quotation,
            (FileRole::Script, _) => FindingPlace::Script,
            (role, LineKind::Fence(index)) => {
                let orders = !is_comment && self.layout.orders(index);
                match (orders, role) {
                    (false, _) => FindingPlace::FencedExample,
                    (true, FileRole::Main) => FindingPlace::Instruction,
                    (true, _) => FindingPlace::Reference,
                }
            }
            (_, LineKind::Code) => FindingPlace::Reference,
            (role, _) => {
                if self.is_quoted(range) || self.is_described(range) {
                    FindingPlace::Quotation
                } else if role == FileRole::Main {
                    FindingPlace::Instruction
                } else {
                    FindingPlace::Reference
                }
            }
        }
    }

    fn is_comment(&self) -> bool {
        const MARKS: [&str; 7] = ["#", "//", "--", "*", "<!--", "rem ", "REM "];
        let line = self.line.trim_start();
        !line.starts_with("#!") && MARKS.iter().any(|mark| line.starts_with(mark))
    }

    /// Returns `true` if the sentences around a range describe or forbid.
    pub(crate) fn is_described(&self, range: &Range<usize>) -> bool {
        let text = self.text;
        let from = floor(text, range.start.saturating_sub(INTRODUCTION));
        let to = floor(text, (range.end + 100).min(text.len()));
        let before = text.get(from..range.start).unwrap_or_default();
        let after = text.get(range.end..to).unwrap_or_default();
        // The line that a list hangs on.
        let lead = || {
            let before = self.before();
            let lead = before.rsplit("\n\n").next().unwrap_or_default();
            let lead = lead.trim_end();
            begins_item(text.trim_start())
                .then(|| lead.lines().next().unwrap_or_default().to_owned())
        };
        let near = &before[floor(before, before.len().saturating_sub(FORBIDDING))..];
        let near = near.rsplit(['.', '\n']).next().unwrap_or(near);
        DESCRIBES.is_match(before)
            || FORBIDS.is_match(near)
            || DESCRIBES.is_match(after)
            || lead().is_some_and(|lead| DESCRIBES.is_match(&lead))
            || self.title().is_some_and(|title| TITLES.is_match(title))
    }

    /// Returns the nearest heading before it.
    fn title(&self) -> Option<&'t str> {
        let lines = &self.layout.lines;
        let index = lines.partition_point(|line| (line.start as usize) < self.start);
        let mut before = lines[..index].iter().rev().take(100);
        let line = before.find(|line| line.kind == LineKind::Heading)?;
        Some(clip(self.layout.line(line), INTRODUCTION))
    }

    /// Returns `true` if a range is between quotation marks.
    pub(crate) fn is_quoted(&self, range: &Range<usize>) -> bool {
        let before = self.text.get(..range.start).unwrap_or_default();
        let after = self.text.get(range.end..).unwrap_or_default();
        let between = |open: char, close: char| {
            let opened = before.rfind(open);
            let closed = before.rfind(close);
            opened > closed && after.contains(close)
        };
        before.matches('"').count() % 2 == 1 && after.contains('"')
            || between('“', '”')
            || between('«', '»')
            || between('「', '」')
            || between('„', '“')
    }

    /// Returns `true` if a range is inline code.
    pub(crate) fn is_inline_code(&self, range: &Range<usize>) -> bool {
        let before = self.text.get(..range.start).unwrap_or_default();
        before.matches('`').count() % 2 == 1
    }
}
