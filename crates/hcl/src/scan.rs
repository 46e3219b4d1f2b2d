//! Finds the extents of top-level items before the parser sees them, and the faults that a parser
//! reports at the wrong place: open quotation marks, brackets and heredocs.

use prowess_diag::Span;

use crate::tree::HclProblem;

/// Maximum size of a file, in bytes.
pub const MAX_FILE: usize = 1024 * 1024;
/// Maximum number of items in one list or object.
pub const MAX_ITEMS: usize = 4096;
/// Maximum depth of brackets, quotation marks and heredocs.
const MAX_DEPTH: usize = 128;

/// The items of a file.
pub(crate) struct Scanned<'t> {
    pub(crate) text: &'t str,
    /// The items that have no fault, in source order.
    pub(crate) items: Vec<ItemExtent>,
    pub(crate) problems: Vec<HclProblem>,
    /// The first comment.
    pub(crate) comment: Option<Span>,
}

/// The extent of an item.
pub(crate) struct ItemExtent {
    pub(crate) span: Span,
    pub(crate) ambiguous: Vec<AmbiguousHeredoc>,
}

/// A heredoc with a line that begins with its marker and goes on. Only a line with nothing else ends it;
/// the parser takes any such line for the end.
pub(crate) struct AmbiguousHeredoc {
    /// The marker at the beginning.
    pub(crate) begin: Span,
    /// The marker at the end.
    pub(crate) end: Span,
}

/// Scans a file. Fails if no part of it can be read.
pub(crate) fn scan(bytes: &[u8]) -> Result<Scanned<'_>, HclProblem> {
    if bytes.len() > MAX_FILE {
        let message = format!("the file is larger than {} MiB", MAX_FILE / 1024 / 1024);
        return Err(HclProblem::new(Span::at(0), message).help("split it into several files"));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        HclProblem::new(Span::at(error.valid_up_to()), "the file is not UTF-8")
            .help("save it as UTF-8")
    })?;
    let mut scanned = Scanned {
        text,
        items: Vec::new(),
        problems: Vec::new(),
        comment: None,
    };
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    while let Some(start) = next_item(text, at, &mut scanned) {
        let item = Scanner::new(text, start).item();
        scanned.comment = scanned.comment.or(item.comment);
        if item.problems.is_empty() {
            scanned.items.push(ItemExtent {
                span: Span::new(start, item.end),
                ambiguous: item.ambiguous,
            });
            at = item.end;
        } else {
            // Braces that do not match hide where the item ends.
            at = if item.is_closed {
                item.end
            } else {
                next_head(text, start)
            };
        }
        scanned.problems.extend(item.problems);
    }
    Ok(scanned)
}

/// Returns the start of the next item: the next byte that is neither blank nor in a comment.
fn next_item(text: &str, mut at: usize, scanned: &mut Scanned<'_>) -> Option<usize> {
    loop {
        let rest = text.get(at..)?;
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        let rest = &rest[blank..];
        if rest.is_empty() {
            return None;
        }
        match comment(rest) {
            Some(Comment::Ends(length)) => {
                let comment = Span::new(at, at + length);
                scanned.comment.get_or_insert(comment);
                at += length;
            }
            Some(Comment::Open) => {
                scanned.problems.push(open_comment(at));
                return None;
            }
            None => return Some(at),
        }
    }
}

/// A comment at the start of a text.
enum Comment {
    /// Its length.
    Ends(usize),
    /// It has no end.
    Open,
}

fn comment(text: &str) -> Option<Comment> {
    if text.starts_with('#') || text.starts_with("//") {
        return Some(Comment::Ends(text.find('\n').unwrap_or(text.len())));
    }
    let inside = text.strip_prefix("/*")?;
    Some(
        inside
            .find("*/")
            .map_or(Comment::Open, |end| Comment::Ends(end + 4)),
    )
}

fn open_comment(at: usize) -> HclProblem {
    HclProblem::new(Span::new(at, at + 2), "this comment is not closed").help("end it with `*/`")
}

/// Returns the start of the next line after `start` that begins a block in the first column.
fn next_head(text: &str, start: usize) -> usize {
    let mut at = start;
    while let Some(line) = text[at..].find('\n') {
        at += line + 1;
        let line = text[at..].lines().next().unwrap_or_default();
        let word = line.find(|c: char| !is_word(c)).unwrap_or(line.len());
        let rest = line[word..].trim_start();
        if word > 0 && (rest.starts_with('"') || rest.starts_with('{')) && rest.contains('{') {
            return at;
        }
    }
    text.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// Something that is open.
enum Open<'t> {
    /// A bracket, and the number of items in it so far.
    Bracket {
        byte: u8,
        at: usize,
        items: Option<usize>,
    },
    /// A quotation mark.
    Quote { at: usize },
    /// `${` or `%{`
    Hole { at: usize },
    /// A heredoc. `word` is the place of its marker.
    Heredoc {
        at: usize,
        word: usize,
        marker: &'t str,
        is_ambiguous: bool,
    },
}

/// One item that is being scanned.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
    open: Vec<Open<'t>>,
    /// The last byte of code that was not blank.
    last: u8,
    problems: Vec<HclProblem>,
    ambiguous: Vec<AmbiguousHeredoc>,
    comment: Option<Span>,
}

/// The end of an item.
struct ScannedItem {
    end: usize,
    ambiguous: Vec<AmbiguousHeredoc>,
    problems: Vec<HclProblem>,
    comment: Option<Span>,
    /// `true` if all brackets match, so that `end` is known.
    is_closed: bool,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, at: usize) -> Self {
        Self {
            text,
            at,
            open: Vec::new(),
            last: 0,
            problems: Vec::new(),
            ambiguous: Vec::new(),
            comment: None,
        }
    }

    fn item(mut self) -> ScannedItem {
        loop {
            let Some(&byte) = self.text.as_bytes().get(self.at) else {
                return self.end_of_file();
            };
            let goes_on = match self.open.last() {
                Some(Open::Quote { at }) => {
                    let at = *at;
                    self.quoted(byte, at)
                }
                Some(Open::Heredoc { marker, .. }) => {
                    let marker = *marker;
                    self.heredoc_line(byte, marker)
                }
                _ => {
                    if byte == b'\n' && self.open.is_empty() {
                        return self.ended(true);
                    }
                    self.code(byte)
                }
            };
            if !goes_on {
                return self.ended(false);
            }
        }
    }

    fn ended(self, is_closed: bool) -> ScannedItem {
        ScannedItem {
            end: self.at,
            ambiguous: self.ambiguous,
            problems: self.problems,
            comment: self.comment,
            is_closed,
        }
    }

    fn end_of_file(mut self) -> ScannedItem {
        let problem = match self.open.last() {
            None => return self.ended(true),
            Some(Open::Bracket { byte, at, .. }) => self.open_bracket(*byte, *at),
            Some(Open::Quote { at }) => open_quote(*at),
            Some(Open::Hole { at }) => HclProblem::new(
                Span::new(*at, *at + 2),
                "this expression in a text is not closed",
            )
            .help("end it with `}`"),
            Some(Open::Heredoc { at, marker, .. }) => HclProblem::new(
                Span::new(*at, *at + 2 + marker.len()),
                "this heredoc has no end",
            )
            .help(format!(
                "write `{marker}` on a line of its own after the text"
            )),
        };
        self.problems.push(problem);
        self.ended(false)
    }

    /// Describes a bracket that is not closed, with the head of its block.
    fn open_bracket(&self, byte: u8, at: usize) -> HclProblem {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let head = self.text[line..at].trim();
        let closing = closing(byte);
        let message = if byte == b'{' && !head.is_empty() && !head.contains('=') {
            format!("the block `{head}` is not closed")
        } else {
            format!("`{}` is not closed", char::from(byte))
        };
        HclProblem::new(Span::new(at, at + 1), message)
            .help(format!("add `{}`", char::from(closing)))
    }

    fn push(&mut self, open: Open<'t>) -> bool {
        if self.open.len() >= MAX_DEPTH {
            // The bracket may be the last character of the text.
            let problem = HclProblem::new(Span::at(self.at), "nested too deeply");
            self.problems
                .push(problem.help("divide it into several blocks"));
            return false;
        }
        self.open.push(open);
        true
    }

    /// Scans code: outside of texts, or in `${ … }`. Returns `false` if the item cannot be scanned
    /// further.
    fn code(&mut self, byte: u8) -> bool {
        let at = self.at;
        if !byte.is_ascii() {
            // Inside a character, the text cannot be cut.
            self.at += 1;
            self.last = byte;
            return true;
        }
        let rest = &self.text[at..];
        match comment(rest) {
            Some(Comment::Ends(length)) => {
                self.comment.get_or_insert(Span::new(at, at + length));
                self.at += length;
                return true;
            }
            Some(Comment::Open) => {
                self.problems.push(open_comment(at));
                return false;
            }
            None => {}
        }
        self.at += 1;
        let goes_on = match byte {
            b'"' => self.push(Open::Quote { at }),
            b'{' | b'[' | b'(' => {
                // After a name or a label, a brace opens the body of a block.
                let is_block = byte == b'{'
                    && (self.last == b'"'
                        || !self.last.is_ascii()
                        || is_word(char::from(self.last)));
                let items = (!is_block).then_some(0);
                self.push(Open::Bracket { byte, at, items })
            }
            b'}' | b']' | b')' => self.close(byte, at),
            b',' | b'\n' => self.count(byte, at),
            b';' => {
                let message = "`;` does not separate attributes in HCL";
                let problem = HclProblem::new(Span::new(at, at + 1), message);
                self.problems
                    .push(problem.help("put each attribute on a line of its own"));
                true
            }
            b'\'' => self.single_quote(at),
            b'<' if rest.starts_with("<<") => self.open_heredoc(at),
            _ => true,
        };
        if !byte.is_ascii_whitespace() {
            self.last = byte;
        }
        goes_on
    }

    fn close(&mut self, byte: u8, at: usize) -> bool {
        match self.open.pop() {
            Some(Open::Bracket { byte: open, .. }) if closing(open) == byte => true,
            Some(Open::Hole { .. }) if byte == b'}' => true,
            Some(Open::Bracket {
                byte: open,
                at: opened,
                ..
            }) => {
                let problem = self.open_bracket(open, opened);
                self.problems.push(problem);
                false
            }
            _ => {
                let message = format!("`{}` closes nothing", char::from(byte));
                self.problems
                    .push(HclProblem::new(Span::new(at, at + 1), message).help("remove it"));
                // It is the rest of this line that is skipped.
                self.at = self.text[at..]
                    .find('\n')
                    .map_or(self.text.len(), |line| at + line);
                self.open.clear();
                true
            }
        }
    }

    /// Counts the items of a list or an object.
    fn count(&mut self, byte: u8, at: usize) -> bool {
        let last = self.last;
        let Some(Open::Bracket {
            byte: open,
            items: Some(items),
            ..
        }) = self.open.last_mut()
        else {
            return true;
        };
        let is_item = byte == b',' || *open == b'{' && !matches!(last, b',' | b'{');
        *items += usize::from(is_item);
        if *items <= MAX_ITEMS {
            return true;
        }
        let message = format!("more than {MAX_ITEMS} items in one list or object");
        self.problems
            .push(HclProblem::new(Span::new(at, at + 1), message).help("split it"));
        false
    }

    fn single_quote(&mut self, at: usize) -> bool {
        let line = self.text[at + 1..].lines().next().unwrap_or_default();
        let end = line.find('\'').map_or(at + 1, |end| at + 2 + end);
        let inside = self
            .text
            .get(at + 1..end.max(at + 2) - 1)
            .unwrap_or_default();
        let problem = HclProblem::new(
            Span::new(at, end),
            "text is written in double quotation marks",
        );
        self.problems
            .push(problem.help(format!("write `\"{}\"`", inside.replace('"', "\\\""))));
        self.at = end;
        true
    }

    fn open_heredoc(&mut self, at: usize) -> bool {
        let rest = &self.text[at + 2..];
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        let word = self.text.len() - rest.len();
        let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let marker = &rest[..length];
        if marker.is_empty() {
            return true;
        }
        self.at = self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |line| at + line + 1);
        self.last = b'"';
        self.push(Open::Heredoc {
            at,
            word,
            marker,
            is_ambiguous: false,
        })
    }

    /// Scans a byte of a quoted text.
    fn quoted(&mut self, byte: u8, opened: usize) -> bool {
        match byte {
            b'\n' => {
                self.problems.push(open_quote(opened));
                // The text ends with its line: what follows is scanned as code.
                self.open.pop();
            }
            b'\\' => self.at += 2,
            b'"' => {
                self.at += 1;
                self.last = b'"';
                self.open.pop();
            }
            _ => return self.hole(byte),
        }
        self.at = self.at.min(self.text.len());
        true
    }

    /// Skips a byte of a text, or opens a hole in it.
    fn hole(&mut self, byte: u8) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        if matches!(byte, b'$' | b'%') {
            if rest.get(1) == Some(&byte) && rest.get(2) == Some(&b'{') {
                self.at += 3;
                return true;
            }
            if rest.get(1) == Some(&b'{') {
                let at = self.at;
                self.at += 2;
                self.last = b'{';
                return self.push(Open::Hole { at });
            }
        }
        self.at += 1;
        true
    }

    /// Scans a byte of a heredoc.
    fn heredoc_line(&mut self, byte: u8, marker: &str) -> bool {
        let is_start = self.at == 0 || self.text.as_bytes().get(self.at - 1) == Some(&b'\n');
        if is_start {
            let line = self.text[self.at..].lines().next().unwrap_or_default();
            if line.trim() == marker {
                let closed = self.open.pop();
                if let Some(Open::Heredoc {
                    word,
                    is_ambiguous: true,
                    ..
                }) = closed
                {
                    let end = self.at + line.len() - line.trim_start().len();
                    self.ambiguous.push(AmbiguousHeredoc {
                        begin: Span::new(word, word + marker.len()),
                        end: Span::new(end, end + marker.len()),
                    });
                }
                self.at += line.len();
                return true;
            }
            if line.trim_start().starts_with(marker)
                && let Some(Open::Heredoc { is_ambiguous, .. }) = self.open.last_mut()
            {
                *is_ambiguous = true;
            }
        }
        self.hole(byte)
    }
}

fn open_quote(at: usize) -> HclProblem {
    HclProblem::new(
        Span::new(at, at + 1),
        "this quotation mark is not closed on its line",
    )
    .help("close it with `\"`, or write several lines as a heredoc: `<<-TEXT`")
}

fn closing(byte: u8) -> u8 {
    match byte {
        b'{' => b'}',
        b'[' => b']',
        _ => b')',
    }
}
