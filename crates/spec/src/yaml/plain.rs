//! The fast reader: the YAML that frontmatter really uses.
//!
//! Block maps and lists, plain and quoted scalars on one line, `|` and `>` blocks, and flow lists
//! of simple words. At the first byte that could mean anything else it returns `None`, and the
//! full reader takes over. It must never answer differently from the full reader, only less
//! often; a property test in `prowess-lint` holds it to that.

use memchr::memchr;
use prowess_diag::Span;

use super::{Entry, Layout, MAX_DEPTH, Node, Style, Value};

/// Reads a block of YAML if it is plain: `Some(None)` is an empty block, `None` means "not sure".
pub fn read(text: &str, base: usize) -> Option<Option<Node>> {
    let mut reader = Reader { text, bytes: text.as_bytes(), base, at: 0 };
    reader.skip_blank()?;
    if reader.at == reader.bytes.len() {
        return Some(None);
    }
    let root = reader.mapping(0, 0)?;
    (reader.at == reader.bytes.len()).then_some(Some(root))
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    base: usize,
    /// Always the start of a line, or the end of the text.
    at: usize,
}

impl Reader<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start, self.base + end)
    }

    /// Moves past empty lines and lines that hold only a comment.
    fn skip_blank(&mut self) -> Option<()> {
        while self.at < self.bytes.len() {
            let content = self.at + self.indent()?;
            match self.bytes.get(content) {
                None | Some(b'\n') => {}
                Some(b'#') => check_characters(&self.bytes[content..self.line_end(content)])?,
                Some(_) => return Some(()),
            }
            self.at = self.next_line(content);
        }
        Some(())
    }

    /// Counts the spaces at the start of this line. A tab is for the full reader.
    fn indent(&self) -> Option<usize> {
        let spaces = self.bytes[self.at..].iter().take_while(|&&byte| byte == b' ').count();
        (self.bytes.get(self.at + spaces) != Some(&b'\t')).then_some(spaces)
    }

    fn line_end(&self, from: usize) -> usize {
        memchr(b'\n', &self.bytes[from..]).map_or(self.bytes.len(), |found| from + found)
    }

    fn next_line(&self, from: usize) -> usize {
        (self.line_end(from) + 1).min(self.bytes.len())
    }

    /// Reads a block map whose keys stand at `indent`. The cursor is at its first line.
    fn mapping(&mut self, indent: usize, depth: usize) -> Option<Node> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(8);
        while self.at < self.bytes.len() {
            let found = self.indent()?;
            if found != indent {
                if found > indent {
                    return None;
                }
                break;
            }
            let key_start = self.at + indent;
            let key_end = key_start + key_length(&self.bytes[key_start..])?;
            let key = &self.text[key_start..key_end];
            if entries.iter().any(|entry| &*entry.key == key) {
                return None;
            }
            let value = self.entry_value(key_end + 1, indent, depth)?;
            entries.push(Entry { key: key.into(), key_span: self.span(key_start, key_end), value });
            self.skip_blank()?;
        }
        let span = entries.first()?.key_span.cover(entries.last()?.value.span);
        Some(Node { span, value: Value::Mapping(entries, Layout::Block) })
    }

    /// Reads what follows `key:`; `after` is the offset behind the colon. Leaves the cursor at
    /// the start of the first line that does not belong to the value.
    fn entry_value(&mut self, after: usize, indent: usize, depth: usize) -> Option<Node> {
        let line_end = self.line_end(after);
        let line = &self.bytes[after..line_end];
        if line.first().is_some_and(|&byte| byte != b' ') {
            return None;
        }
        let start = after + line.iter().take_while(|&&byte| byte == b' ').count();
        if start == line_end || self.bytes[start] == b'#' {
            check_characters(&self.bytes[start..line_end])?;
            self.at = (line_end + 1).min(self.bytes.len());
            self.skip_blank()?;
            if self.at < self.bytes.len() {
                let inner = self.indent()?;
                let is_item = self.is_item(self.at + inner);
                if is_item && inner >= indent {
                    return self.sequence(inner, depth + 1);
                }
                if inner > indent {
                    return self.mapping(inner, depth + 1);
                }
            }
            return Some(Node {
                span: self.span(after, after),
                value: Value::Scalar("".into(), Style::Plain),
            });
        }
        match self.bytes[start] {
            b'|' | b'>' => self.block_scalar(start, line_end, indent),
            _ => self.value(start, line_end, indent),
        }
    }

    /// Reads a scalar or a flow list that begins on this line and may go on on deeper ones. Leaves
    /// the cursor at the first line that does not belong to it.
    fn value(&mut self, start: usize, line_end: usize, indent: usize) -> Option<Node> {
        let (node, end) = match self.bytes[start] {
            b'"' | b'\'' => self.quoted(start, indent)?,
            b'[' => self.flow_sequence(start, line_end)?,
            _ => {
                let length = plain_length(&self.bytes[start..line_end], false)?;
                let end = start + length;
                self.at = (line_end + 1).min(self.bytes.len());
                let ends_line = self.bytes[end..line_end].iter().all(|&byte| byte == b' ');
                if ends_line {
                    return self.plain_lines(start, end, indent);
                }
                self.no_continuation(indent)?;
                return Some(self.plain(start, end));
            }
        };
        let line_end = self.line_end(end);
        self.finish_line(end, line_end)?;
        self.at = (line_end + 1).min(self.bytes.len());
        self.no_continuation(indent)?;
        Some(node)
    }

    /// Reads the deeper lines that go on with a plain scalar, if there are any.
    fn plain_lines(&mut self, start: usize, first_end: usize, indent: usize) -> Option<Node> {
        let mut folded: Option<String> = None;
        let mut end = first_end;
        loop {
            let before = self.at;
            let mut blank_lines = 0;
            while self.at < self.bytes.len() && self.is_blank_line()? {
                blank_lines += 1;
                self.at = self.next_line(self.at);
            }
            let inner = if self.at < self.bytes.len() { self.indent()? } else { 0 };
            if inner <= indent {
                // Blank lines behind the scalar are nobody's; comments too.
                self.at = before;
                self.no_continuation(indent)?;
                break;
            }
            let line = self.at + inner;
            let line_end = self.line_end(line);
            let length = plain_length(&self.bytes[line..line_end], false)?;
            if !self.bytes[line + length..line_end].iter().all(|&byte| byte == b' ') {
                return None;
            }
            let text = folded.get_or_insert_with(|| self.text[start..first_end].to_owned());
            push_break(text, blank_lines);
            text.push_str(&self.text[line..line + length]);
            end = line + length;
            self.at = (line_end + 1).min(self.bytes.len());
        }
        match folded {
            None => Some(self.plain(start, first_end)),
            Some(text) => {
                let value = Value::Scalar(text.into(), Style::Plain);
                Some(Node { span: self.span(start, end), value })
            }
        }
    }

    fn is_blank_line(&self) -> Option<bool> {
        let content = self.at + self.indent()?;
        Some(self.bytes.get(content).is_none_or(|&byte| byte == b'\n'))
    }

    /// Whether a list item begins here.
    fn is_item(&self, at: usize) -> bool {
        self.bytes[at] == b'-'
            && self.bytes.get(at + 1).is_none_or(|&byte| byte == b' ' || byte == b'\n')
    }

    /// A deeper line behind a one-line scalar would continue it: that is for the full reader.
    fn no_continuation(&mut self, indent: usize) -> Option<()> {
        let rest = &self.bytes[self.at..];
        match rest.first() {
            None => return Some(()),
            Some(b'\n' | b' ' | b'#') => {}
            Some(_) if indent == 0 => return Some(()),
            Some(_) => {}
        }
        self.skip_blank()?;
        (self.at == self.bytes.len() || self.indent()? <= indent).then_some(())
    }

    /// Reads a block list whose dashes stand at `indent`.
    fn sequence(&mut self, indent: usize, depth: usize) -> Option<Node> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let mut items: Vec<Node> = Vec::new();
        while self.at < self.bytes.len() {
            let found = self.indent()?;
            let item = self.at + found;
            if found != indent || !self.is_item(item) {
                if found > indent {
                    return None;
                }
                break;
            }
            let line_end = self.line_end(item);
            let spaces =
                self.bytes[item + 1..line_end].iter().take_while(|&&byte| byte == b' ').count();
            let value = item + 1 + spaces;
            if value == line_end || matches!(self.bytes[value], b'#' | b'|' | b'>' | b'-' | b'?') {
                return None;
            }
            // `- key: value` opens a map inside the item.
            if key_length(&self.bytes[value..line_end]).is_some() {
                return None;
            }
            items.push(self.value(value, line_end, indent)?);
            self.skip_blank()?;
        }
        let span = items.first()?.span.cover(items.last()?.span);
        Some(Node { span, value: Value::Sequence(items, Layout::Block) })
    }

    /// Only blanks or a comment may follow a value on its line.
    fn finish_line(&self, from: usize, line_end: usize) -> Option<()> {
        let rest = &self.bytes[from..line_end];
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        match rest.get(blanks) {
            None => Some(()),
            Some(b'#') if blanks > 0 => check_characters(rest),
            Some(_) => None,
        }
    }

    fn plain(&self, start: usize, end: usize) -> Node {
        Node {
            span: self.span(start, end),
            value: Value::Scalar(self.text[start..end].into(), Style::Plain),
        }
    }

    /// Reads a quoted scalar, perhaps of several lines; returns it with the offset behind it.
    /// Escapes with a backslash are for the full reader.
    fn quoted(&self, start: usize, indent: usize) -> Option<(Node, usize)> {
        let mark = self.bytes[start];
        let inner = &self.bytes[start + 1..];
        let mut close = memchr(mark, inner)?;
        let mut doubled = false;
        while mark == b'\'' && inner.get(close + 1) == Some(&mark) {
            doubled = true;
            close += 2 + memchr(mark, inner.get(close + 2..)?)?;
        }
        if mark == b'"' && memchr(b'\\', &inner[..close]).is_some() {
            return None;
        }
        let end = start + 1 + close;
        let raw = &self.text[start + 1..end];
        let mut text: Box<str> = if memchr(b'\n', raw.as_bytes()).is_some() {
            fold(raw, indent)?.into()
        } else {
            check_characters(raw.as_bytes())?;
            raw.into()
        };
        if doubled {
            text = text.replace("''", "'").into();
        }
        let style = if mark == b'"' { Style::DoubleQuoted } else { Style::SingleQuoted };
        let node = Node { span: self.span(start, end + 1), value: Value::Scalar(text, style) };
        Some((node, end + 1))
    }

    /// Reads `[a, "b", 'c']`: words only, nothing nested.
    fn flow_sequence(&self, start: usize, line_end: usize) -> Option<(Node, usize)> {
        let mut items = Vec::new();
        let mut at = start + 1;
        loop {
            at += self.bytes[at..line_end].iter().take_while(|&&byte| byte == b' ').count();
            match self.bytes.get(at).filter(|_| at < line_end)? {
                b']' => break,
                b'"' | b'\'' => {
                    let (node, end) = self.quoted(at, 0)?;
                    if end > line_end {
                        return None;
                    }
                    items.push(node);
                    at = end;
                }
                _ => {
                    let length = plain_length(&self.bytes[at..line_end], true)?;
                    items.push(self.plain(at, at + length));
                    at += length;
                }
            }
            at += self.bytes[at..line_end].iter().take_while(|&&byte| byte == b' ').count();
            match self.bytes.get(at).filter(|_| at < line_end)? {
                b',' => at += 1,
                b']' => break,
                _ => return None,
            }
        }
        let node =
            Node { span: self.span(start, at + 1), value: Value::Sequence(items, Layout::Flow) };
        Some((node, at + 1))
    }

    /// Reads `|` and `>` blocks with clipping or stripping and no explicit indentation.
    fn block_scalar(&mut self, start: usize, line_end: usize, indent: usize) -> Option<Node> {
        let folded = self.bytes[start] == b'>';
        let header = self.text[start + 1..line_end].trim_end_matches(' ');
        let strip = match header {
            "" => false,
            "-" => true,
            _ => return None,
        };
        self.at = (line_end + 1).min(self.bytes.len());
        let inner = self.indent()?;
        let first = self.at + inner;
        if inner <= indent || first >= self.bytes.len() || self.bytes[first] == b'\n' {
            return None;
        }
        let mut text = String::new();
        let mut blank_lines = 0;
        let mut content_end = first;
        while self.at < self.bytes.len() {
            let end = self.line_end(self.at);
            let line = &self.bytes[self.at..end];
            let spaces = line.iter().take_while(|&&byte| byte == b' ').count();
            if spaces == line.len() {
                // A blank line deeper than the block has spaces of its own to keep.
                if spaces > inner {
                    return None;
                }
                blank_lines += 1;
                self.at = (end + 1).min(self.bytes.len());
                continue;
            }
            if spaces < inner {
                // A line between the two indentations is an error; leave the words to the full reader.
                if spaces > indent || line[spaces] == b'\t' || line[spaces] == b'#' {
                    return None;
                }
                break;
            }
            let content = &line[inner..];
            check_characters(content)?;
            if folded && content[0] == b' ' {
                return None;
            }
            if !text.is_empty() {
                if folded && blank_lines == 0 {
                    text.push(' ');
                } else {
                    let breaks = blank_lines + usize::from(!folded);
                    text.extend(std::iter::repeat_n('\n', breaks));
                }
            }
            blank_lines = 0;
            text.push_str(&self.text[self.at + inner..end]);
            content_end = end;
            self.at = (end + 1).min(self.bytes.len());
        }
        // Without a line break behind the last line the rules of clipping are subtle.
        if self.bytes.get(content_end) != Some(&b'\n') {
            return None;
        }
        if !strip {
            text.push('\n');
        }
        let trimmed = self.text[first..content_end].trim_end().len();
        let style = if folded { Style::Folded } else { Style::Literal };
        Some(Node {
            span: self.span(first, first + trimmed),
            value: Value::Scalar(text.into(), style),
        })
    }
}

/// Joins the lines of a quoted scalar as YAML does: one line break is a blank, each further one a
/// line break. Every line but the first must be deeper than the key.
fn fold(raw: &str, indent: usize) -> Option<String> {
    let mut text = String::with_capacity(raw.len());
    let mut breaks = 0_usize;
    let last = memchr::memchr_iter(b'\n', raw.as_bytes()).count();
    for (index, line) in raw.split('\n').enumerate() {
        check_characters(line.as_bytes())?;
        let deeper = line.trim_start_matches(' ');
        let content = if index == last { deeper } else { deeper.trim_end_matches(' ') };
        if index == 0 {
            // Blanks at the start of the text are kept, those at the end of a line are not.
            text.push_str(line.trim_end_matches(' '));
            continue;
        }
        breaks += 1;
        if content.is_empty() && index < last {
            continue;
        }
        if line.len() - deeper.len() <= indent {
            return None;
        }
        push_break(&mut text, breaks - 1);
        text.push_str(content);
        breaks = 0;
    }
    Some(text)
}

/// Adds what stands for a line break and the blank lines behind it.
fn push_break(text: &mut String, blank_lines: usize) {
    if blank_lines == 0 {
        text.push(' ');
    } else {
        text.extend(std::iter::repeat_n('\n', blank_lines));
    }
}

/// Longer keys are for the full reader, which has limits of its own.
const LONGEST_KEY: usize = 128;

/// Length of a simple key that is followed by a colon and then a blank or the end of the line.
fn key_length(line: &[u8]) -> Option<usize> {
    let length = line
        .iter()
        .take_while(|&&b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_' || b == b'.')
        .count();
    let first = *line.first()?;
    let is_key = (1..=LONGEST_KEY).contains(&length)
        && first != b'-'
        && first != b'.'
        && line.get(length) == Some(&b':')
        && line.get(length + 1).is_none_or(|&byte| byte == b' ' || byte == b'\n');
    is_key.then_some(length)
}

/// The bytes that no plain scalar begins with.
static INDICATORS: [bool; 256] = {
    let (mut indicators, list, mut at) = ([false; 256], b"-?:,[]{}#&*!|>'\"%@` =", 0);
    while at < list.len() {
        indicators[list[at] as usize] = true;
        at += 1;
    }
    indicators
};

/// Length of a plain scalar at the start of `line`, without blanks at its end. Anything that
/// could be an indicator, a comment or a nested map gives up.
fn plain_length(line: &[u8], in_flow: bool) -> Option<usize> {
    if INDICATORS[usize::from(line[0])] {
        return None;
    }
    let mut end = if in_flow { plain_end_in_flow(line)? } else { plain_end(line)? };
    check_characters(line)?;
    while line[end - 1] == b' ' {
        end -= 1;
    }
    Some(end)
}

/// Where a plain scalar ends on a line: at a comment. A colon that ends a word makes a map of it.
fn plain_end(line: &[u8]) -> Option<usize> {
    for at in memchr::memchr2_iter(b':', b'#', line) {
        match line[at] {
            b':' if line.get(at + 1).is_none_or(|&next| next == b' ') => return None,
            b'#' if line[at - 1] == b' ' => return Some(at),
            _ => {}
        }
    }
    Some(line.len())
}

/// The same inside brackets, where more characters mean something.
fn plain_end_in_flow(line: &[u8]) -> Option<usize> {
    for (at, byte) in line.iter().enumerate() {
        match byte {
            b',' | b']' => return Some(at),
            b':' | b'[' | b'{' | b'}' | b'?' | b'#' => return None,
            _ => {}
        }
    }
    Some(line.len())
}

/// Control characters, tabs, and what YAML treats specially in Unicode are for the full reader.
fn check_characters(bytes: &[u8]) -> Option<()> {
    // Without a branch for each byte, so that many are looked at in one instruction.
    let control = bytes.iter().fold(false, |found, &byte| found || (byte < b' ') || (byte == 0x7f));
    if control {
        return None;
    }
    if bytes.is_ascii() {
        return Some(());
    }
    let mut rest = bytes;
    while let Some(found) = rest.iter().position(|&byte| byte >= 0x80) {
        let special = match rest[found] {
            // U+0080 to U+009F, among them NEL
            0xc2 => rest.get(found + 1).is_some_and(|&next| next < 0xa0),
            // U+2028 and U+2029
            0xe2 => rest
                .get(found + 1..found + 3)
                .is_some_and(|next| next[0] == 0x80 && matches!(next[1], 0xa8 | 0xa9)),
            // U+FEFF, U+FFFE, U+FFFF
            0xef => rest.get(found + 1).is_some_and(|&next| next == 0xbb || next == 0xbf),
            _ => false,
        };
        if special {
            return None;
        }
        rest = &rest[found + 1..];
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Document, full};

    /// Where the fast reader answers it answers as the full one does; `taken` says whether it
    /// must answer.
    fn check(text: &str, taken: bool) {
        let fast = read(text, 7);
        assert_eq!(fast.is_some(), taken, "{text:?}");
        if let Some(root) = fast {
            assert_eq!(
                full::read(text, 7),
                Ok(Document { root, duplicates: Vec::new() }),
                "{text:?}"
            );
        }
    }

    #[test]
    fn common_frontmatter_is_read_fast() {
        for text in [
            "",
            "\n# only a comment\n",
            "name: pdf\ndescription: Fill forms. Use when a PDF has fields.\n",
            "name: 'it''s'\ndescription: \"a: b # c\"  # why\n",
            "a: b#c\nc: d: no\n".split_at(7).0,
            "metadata:\n  author: me\n  version: \"1.0\"\n\n  deep:\n    x: 1\nlicense: MIT\n",
            "tags: [a, 'b c', \"d\"]\nempty: []\nnone:\nlast: ~\n",
            "tools:\n  - Read\n  - Bash(git add:*)\nflat:\n- x\n- y\nz: 1\n",
            "description: >\n  one\n  two\n\n  three\nname: x\n",
            "description: |-\n  one\n    two\n\n\n  three\n\nname: x\n",
            "description: 日本語の説明 — “quotes”\nurl: http://x/y?z=1\n",
            "a:   spaced   \nb: 1.0\n",
            "a: one\n  two\n\n  three  \n\nb: c\n",
            "a: one\n  two",
            "m:\n  a: one\n    two\n  b: c\n",
            "a: 'one\n  two\n\n\n  three\n\n  '\nb: c\n",
            "a: \"one  \n   it\n  \"  # why\nb: c\n",
            "a: 'it''s\n  so '\n",
            "l:\n- one\n  two\n- 'x\n  y'\n",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn everything_unusual_is_left_to_the_full_reader() {
        for text in [
            "a: b\na: c\n",
            "a: &x b\n",
            "a: *x\n",
            "a: !t b\n",
            "<<: b\n",
            "a: {b: c}\n",
            "a: one\n  two: three\n",
            "a: b: c\n",
            "a: @b\n",
            "a:\tb\n",
            "- a\n",
            "just text\n",
            "a: \"x\\n\"\n",
            "a: |2\n  x\n",
            "a: >\n  x\n   y\n",
            "a: |\n  x",
            "a: 'x' y\n",
            "a: [b, [c]]\n",
            "a: b\r\n",
            "a:\n  - b: c\n",
            "a: x\u{85}y\n",
            "? a\n",
            "a: b\n...\n",
            "%YAML 1.2\n",
        ] {
            check(text, false);
        }
    }
}
