//! The fast YAML reader, for the subset that frontmatter commonly uses.
//!
//! Supports block maps and lists, plain and quoted scalars, `|` and `>` blocks, and flow
//! collections on one line. It returns `None` at the first byte it does not support, and the full
//! reader takes over. It must never return a different result from the full reader; a property test
//! in `prowess-lint` checks that.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use prowess_diag::Span;

use super::{MAX_DEPTH, YamlEntry, YamlLayout, YamlNode, YamlStyle, YamlValue};

/// Parses a block of YAML. Returns `Some(None)` for an empty block and `None` for unsupported YAML.
pub fn read(text: &str, base: usize) -> Option<Option<YamlNode<'_>>> {
    check_characters(text.as_bytes())?;
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        base,
        at: 0,
    };
    reader.skip_blank()?;
    if reader.at == reader.bytes.len() {
        return Some(None);
    }
    let root = reader.mapping(0, 0, false)?;
    (reader.at == reader.bytes.len()).then_some(Some(root))
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    base: usize,
    /// Always at the start of a line or at the end of the text.
    at: usize,
}

impl<'t> Reader<'t> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start, self.base + end)
    }

    /// Skips empty lines and comment lines.
    fn skip_blank(&mut self) -> Option<()> {
        while self.at < self.bytes.len() {
            let content = self.at + self.indent()?;
            match self.bytes.get(content) {
                None | Some(b'\n' | b'#') => {}
                Some(_) => return Some(()),
            }
            self.at = self.next_line(content);
        }
        Some(())
    }

    /// Counts the leading spaces of the current line. Returns `None` at a tab.
    fn indent(&self) -> Option<usize> {
        let spaces = self.bytes[self.at..]
            .iter()
            .take_while(|&&byte| byte == b' ')
            .count();
        (self.bytes.get(self.at + spaces) != Some(&b'\t')).then_some(spaces)
    }

    fn line_end(&self, from: usize) -> usize {
        memchr(b'\n', &self.bytes[from..]).map_or(self.bytes.len(), |found| from + found)
    }

    fn next_line(&self, from: usize) -> usize {
        (self.line_end(from) + 1).min(self.bytes.len())
    }

    /// Parses a block map whose keys are indented by `indent`. The cursor is on its first line,
    /// where the dash of a list item may precede the key.
    fn mapping(&mut self, indent: usize, depth: usize, in_item: bool) -> Option<YamlNode<'t>> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let mut entries: Vec<YamlEntry<'t>> = Vec::with_capacity(8);
        while self.at < self.bytes.len() {
            let is_after_dash = in_item && entries.is_empty();
            let found = if is_after_dash {
                indent
            } else {
                self.indent()?
            };
            if found > indent {
                return None;
            } else if found < indent {
                break;
            }
            let key_start = self.at + indent;
            let key_end = key_start + key_length(&self.bytes[key_start..])?;
            let key = &self.text[key_start..key_end];
            if entries.iter().any(|entry| &*entry.key == key) {
                return None;
            }
            let value = self.entry_value(key_end + 1, indent, depth)?;
            entries.push(YamlEntry {
                key: key.into(),
                key_span: self.span(key_start, key_end),
                value,
            });
            self.skip_blank()?;
        }
        let span = entries.first()?.key_span.cover(entries.last()?.value.span);
        Some(YamlNode {
            span,
            value: YamlValue::Mapping(entries, YamlLayout::Block),
        })
    }

    /// Parses the value after `key:`; `after` is the offset after the colon. Leaves the cursor at
    /// the first line that does not belong to the value.
    fn entry_value(&mut self, after: usize, indent: usize, depth: usize) -> Option<YamlNode<'t>> {
        let line_end = self.line_end(after);
        let line = &self.bytes[after..line_end];
        if line.first().is_some_and(|&byte| byte != b' ') {
            return None;
        }
        let start = after + line.iter().take_while(|&&byte| byte == b' ').count();
        if start == line_end || self.bytes[start] == b'#' {
            self.at = (line_end + 1).min(self.bytes.len());
            self.skip_blank()?;
            if self.at < self.bytes.len() {
                let inner = self.indent()?;
                let is_item = self.is_item(self.at + inner);
                if is_item && inner >= indent {
                    return self.sequence(inner, depth + 1);
                }
                let start = self.at + inner;
                if inner > indent && matches!(self.bytes[start], b'[' | b'{') {
                    return self.value(start, self.line_end(start), (indent, depth + 1));
                }
                if inner > indent {
                    return self.mapping(inner, depth + 1, false);
                }
            }
            return Some(YamlNode {
                span: self.span(after, after),
                value: YamlValue::Scalar("".into(), YamlStyle::Plain),
            });
        }
        match self.bytes[start] {
            b'|' | b'>' => self.block_scalar(start, line_end, indent),
            _ => self.value(start, line_end, (indent, depth + 1)),
        }
    }

    /// Parses a scalar or a flow collection that starts on this line; deeper lines may continue it.
    /// Leaves the cursor at the first line that does not belong to it.
    fn value(
        &mut self,
        start: usize,
        line_end: usize,
        (indent, depth): (usize, usize),
    ) -> Option<YamlNode<'t>> {
        let (node, end) = match self.bytes[start] {
            b'"' | b'\'' => self.quoted(start, indent)?,
            b'[' | b'{' => self.flow(start, line_end, depth)?,
            _ => {
                let end = start + plain_length(&self.bytes[start..line_end], None)?;
                if self.bytes[end..line_end].iter().all(|&byte| byte == b' ') {
                    self.at = (line_end + 1).min(self.bytes.len());
                    return self.plain_lines(start, end, indent);
                }
                (self.plain(start, end), end)
            }
        };
        let line_end = self.line_end(end);
        self.finish_line(end, line_end)?;
        self.at = (line_end + 1).min(self.bytes.len());
        self.no_continuation(indent)?;
        Some(node)
    }

    /// Parses the deeper lines that continue a plain scalar, if any.
    fn plain_lines(
        &mut self,
        start: usize,
        first_end: usize,
        indent: usize,
    ) -> Option<YamlNode<'t>> {
        let mut folded: Option<String> = None;
        let mut end = first_end;
        loop {
            let before = self.at;
            let mut blank_lines = 0;
            let mut inner = self.indent()?;
            while self.bytes.get(self.at + inner) == Some(&b'\n') {
                blank_lines += 1;
                self.at += inner + 1;
                inner = self.indent()?;
            }
            if inner <= indent || self.at + inner == self.bytes.len() {
                // Trailing blank lines and comments do not belong to the scalar.
                self.at = before;
                self.no_continuation(indent)?;
                break;
            }
            let line = self.at + inner;
            let line_end = self.line_end(line);
            let length = plain_length(&self.bytes[line..line_end], None)?;
            if !self.bytes[line + length..line_end]
                .iter()
                .all(|&byte| byte == b' ')
            {
                return None;
            }
            let text = folded.get_or_insert_with(|| {
                let mut text = String::with_capacity((self.bytes.len() - start).min(1000));
                text.push_str(&self.text[start..first_end]);
                text
            });
            push_break(text, blank_lines);
            text.push_str(&self.text[line..line + length]);
            end = line + length;
            self.at = (line_end + 1).min(self.bytes.len());
        }
        let text = folded.map_or(Cow::Borrowed(&self.text[start..end]), Cow::Owned);
        Some(YamlNode {
            span: self.span(start, end),
            value: YamlValue::Scalar(text, YamlStyle::Plain),
        })
    }

    /// Returns `true` if a list item starts at `at`.
    fn is_item(&self, at: usize) -> bool {
        self.bytes[at] == b'-'
            && self
                .bytes
                .get(at + 1)
                .is_none_or(|&byte| byte == b' ' || byte == b'\n')
    }

    /// Returns `None` if a deeper line follows a one-line scalar: it would continue it.
    fn no_continuation(&mut self, indent: usize) -> Option<()> {
        if indent == 0 && !matches!(self.bytes.get(self.at), Some(b'\n' | b' ' | b'#')) {
            return Some(());
        }
        self.skip_blank()?;
        (self.at == self.bytes.len() || self.indent()? <= indent).then_some(())
    }

    /// Parses a block list whose dashes are indented by `indent`.
    fn sequence(&mut self, indent: usize, depth: usize) -> Option<YamlNode<'t>> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let mut items: Vec<YamlNode<'t>> = Vec::with_capacity(8);
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
            let spaces = self.bytes[item + 1..line_end]
                .iter()
                .take_while(|&&byte| byte == b' ')
                .count();
            let value = item + 1 + spaces;
            if value == line_end || matches!(self.bytes[value], b'#' | b'|' | b'>' | b'-' | b'?') {
                return None;
            }
            // `- key: value` opens a map inside the item.
            items.push(match key_length(&self.bytes[value..line_end]) {
                Some(_) => self.mapping(value - self.at, depth + 1, true)?,
                None => self.value(value, line_end, (indent, depth + 1))?,
            });
            self.skip_blank()?;
        }
        let span = items.first()?.span.cover(items.last()?.span);
        Some(YamlNode {
            span,
            value: YamlValue::Sequence(items, YamlLayout::Block),
        })
    }

    /// Returns `None` if anything but whitespace or a comment follows a value on its line.
    fn finish_line(&self, from: usize, line_end: usize) -> Option<()> {
        let rest = &self.bytes[from..line_end];
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        match rest.get(blanks) {
            None => Some(()),
            Some(b'#') if blanks > 0 => Some(()),
            Some(_) => None,
        }
    }

    fn plain(&self, start: usize, end: usize) -> YamlNode<'t> {
        YamlNode {
            span: self.span(start, end),
            value: YamlValue::Scalar(self.text[start..end].into(), YamlStyle::Plain),
        }
    }

    /// Parses a quoted scalar, which may span lines. Returns it with the offset after it.
    fn quoted(&self, start: usize, indent: usize) -> Option<(YamlNode<'t>, usize)> {
        let mark = self.bytes[start];
        let (close, escapes) = closing_mark(&self.bytes[start + 1..], mark)?;
        let end = start + 1 + close;
        let raw = &self.text[start + 1..end];
        let is_double = mark == b'"';
        let is_bare = memchr(b'\n', raw.as_bytes()).is_none() && !(is_double && escapes);
        let mut text: Cow<'t, str> = if is_bare {
            raw.into()
        } else {
            fold(raw, indent, is_double)?.into()
        };
        if !is_double && escapes {
            text = text.replace("''", "'").into();
        }
        let style = if is_double {
            YamlStyle::DoubleQuoted
        } else {
            YamlStyle::SingleQuoted
        };
        let node = YamlNode {
            span: self.span(start, end + 1),
            value: YamlValue::Scalar(text, style),
        };
        Some((node, end + 1))
    }

    /// Parses `[a, "b"]` or `{a: b, "c":"d"}` with nested collections, on one line.
    fn flow(&self, start: usize, line_end: usize, depth: usize) -> Option<(YamlNode<'t>, usize)> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let is_map = self.bytes[start] == b'{';
        let close = if is_map { b'}' } else { b']' };
        let (mut items, mut entries) = (Vec::new(), Vec::<YamlEntry<'t>>::new());
        let mut at = start + 1;
        loop {
            at = self.flow_blanks(at, line_end)?;
            if self.bytes[at] == close {
                break;
            }
            if is_map {
                let (key, key_span, after) = self.flow_key(at, line_end)?;
                if entries.iter().any(|entry| entry.key == key) {
                    return None;
                }
                let (value, end) = self.flow_value(after, line_end, (close, depth))?;
                entries.push(YamlEntry {
                    key,
                    key_span,
                    value,
                });
                at = end;
            } else {
                let (item, end) = self.flow_value(at, line_end, (close, depth))?;
                items.push(item);
                at = end;
            }
            at = self.flow_blanks(at, line_end)?;
            match self.bytes[at] {
                b',' => at += 1,
                byte if byte == close => break,
                _ => return None,
            }
        }
        let value = if is_map {
            YamlValue::Mapping(entries, YamlLayout::Flow)
        } else {
            YamlValue::Sequence(items, YamlLayout::Flow)
        };
        Some((
            YamlNode {
                span: self.span(start, at + 1),
                value,
            },
            at + 1,
        ))
    }

    /// Skips spaces. Returns `None` at the end of the line.
    fn flow_blanks(&self, at: usize, line_end: usize) -> Option<usize> {
        let rest = self.bytes.get(at..line_end)?;
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        (at + blanks < line_end).then_some(at + blanks)
    }

    /// Parses a key and its colon. Returns the offset of the value.
    fn flow_key(&self, at: usize, line_end: usize) -> Option<(Cow<'t, str>, Span, usize)> {
        let (key, span, colon) = if matches!(self.bytes[at], b'"' | b'\'') {
            let (node, end) = self.quoted(at, 0)?;
            let YamlValue::Scalar(key, _) = node.value else {
                return None;
            };
            (key, node.span, end)
        } else {
            let end = at + key_length(&self.bytes[at..line_end])?;
            (Cow::Borrowed(&self.text[at..end]), self.span(at, end), end)
        };
        let is_key = colon < line_end && self.bytes[colon] == b':' && key.len() <= LONGEST_KEY;
        let value = self.flow_blanks(colon + 1, line_end).filter(|_| is_key)?;
        Some((key, span, value))
    }

    fn flow_value(
        &self,
        at: usize,
        line_end: usize,
        (close, depth): (u8, usize),
    ) -> Option<(YamlNode<'t>, usize)> {
        let (node, end) = match self.bytes[at] {
            b'"' | b'\'' => self.quoted(at, 0)?,
            b'[' | b'{' => self.flow(at, line_end, depth + 1)?,
            _ => {
                let end = at + plain_length(&self.bytes[at..line_end], Some(close))?;
                (self.plain(at, end), end)
            }
        };
        (end <= line_end).then_some((node, end))
    }

    /// Parses `|` and `>` blocks with clipping or stripping and no explicit indentation.
    fn block_scalar(
        &mut self,
        start: usize,
        line_end: usize,
        indent: usize,
    ) -> Option<YamlNode<'t>> {
        let folded = self.bytes[start] == b'>';
        let header = self.text[start + 1..line_end].trim_end_matches(' ');
        let strip = header == "-";
        if !strip && !header.is_empty() {
            return None;
        }
        self.at = (line_end + 1).min(self.bytes.len());
        let inner = self.indent()?;
        let first = self.at + inner;
        if inner <= indent || first >= self.bytes.len() || self.bytes[first] == b'\n' {
            return None;
        }
        let mut text = String::with_capacity((self.bytes.len() - self.at).min(1000));
        let mut blank_lines = 0;
        let mut content_end = first;
        while self.at < self.bytes.len() {
            let end = self.line_end(self.at);
            let line = &self.bytes[self.at..end];
            let spaces = line.iter().take_while(|&&byte| byte == b' ').count();
            if spaces == line.len() {
                // A blank line deeper than the block keeps its extra spaces.
                if spaces > inner {
                    return None;
                }
                blank_lines += 1;
                self.at = (end + 1).min(self.bytes.len());
                continue;
            }
            if spaces < inner {
                // A line between the two indentations is an error, which the full reader reports.
                if spaces > indent || line[spaces] == b'\t' || line[spaces] == b'#' {
                    return None;
                }
                break;
            }
            let content = &line[inner..];
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
        // Without a final line break the clipping rules are subtle.
        if self.bytes.get(content_end) != Some(&b'\n') {
            return None;
        }
        if !strip {
            text.push('\n');
        }
        let trimmed = self.text[first..content_end].trim_end().len();
        let style = if folded {
            YamlStyle::Folded
        } else {
            YamlStyle::Literal
        };
        Some(YamlNode {
            span: self.span(first, first + trimmed),
            value: YamlValue::Scalar(text.into(), style),
        })
    }
}

/// Returns the end of a quoted text, and whether it contains escapes: doubled marks or backslashes.
fn closing_mark(inner: &[u8], mark: u8) -> Option<(usize, bool)> {
    let (mut at, mut escapes) = (0, false);
    let other = if mark == b'"' { b'\\' } else { mark };
    loop {
        at += memchr2(mark, other, inner.get(at..)?)?;
        let is_doubled = mark == b'\'' && inner.get(at + 1) == Some(&mark);
        if inner[at] == mark && !is_doubled {
            return Some((at, escapes));
        }
        (at, escapes) = (at + 2, true);
    }
}

/// Joins the lines of a quoted scalar as YAML does: one line break becomes a space, each further
/// one a line break, and an escaped one disappears. Every line but the first must be deeper than
/// the key.
fn fold(raw: &str, indent: usize, has_escapes: bool) -> Option<String> {
    let mut text = String::with_capacity(raw.len());
    let (mut breaks, mut is_joined) = (0_usize, false);
    let last = memchr::memchr_iter(b'\n', raw.as_bytes()).count();
    for (index, line) in raw.split('\n').enumerate() {
        // Whitespace at the start and end of the text is kept; that of inner lines is removed.
        let deeper = if index == 0 {
            line
        } else {
            line.trim_start_matches(' ')
        };
        let content = if index == last {
            deeper
        } else {
            deeper.trim_end_matches(' ')
        };
        if index > 0 {
            breaks += 1;
            if content.is_empty() && index < last {
                continue;
            }
            if line.len() - deeper.len() <= indent || (is_joined && breaks > 1) {
                return None;
            }
            if !is_joined {
                push_break(&mut text, breaks - 1);
            }
            breaks = 0;
        }
        if has_escapes {
            // The backslash may escape a space that was trimmed.
            if content.len() < deeper.len() && content.ends_with('\\') {
                return None;
            }
            is_joined = unescape(content, &mut text)?;
        } else {
            text.push_str(content);
        }
    }
    Some(text)
}

/// Resolves common escapes; returns `None` for others. Returns `Some(true)` if the line ends with a
/// backslash, which escapes its line break.
fn unescape(line: &str, text: &mut String) -> Option<bool> {
    let mut parts = line.split('\\');
    text.push_str(parts.next()?);
    while let Some(part) = parts.next() {
        match part.as_bytes() {
            // Two consecutive backslashes.
            [] => match parts.next() {
                Some(part) => text.extend(["\\", part]),
                None => return Some(true),
            },
            [b'"' | b' ', ..] => text.push_str(part),
            [b'n', ..] => text.extend(["\n", &part[1..]]),
            [b'u', ..] => {
                let digits = part.get(1..5).filter(|digits| !digits.starts_with('+'))?;
                let code = u32::from_str_radix(digits, 16).ok()?;
                text.push(char::from_u32(code).filter(|&c| c >= '\u{a0}')?);
                text.push_str(&part[5..]);
            }
            _ => return None,
        }
    }
    Some(false)
}

/// Appends a folded line break followed by `blank_lines` blank lines.
fn push_break(text: &mut String, blank_lines: usize) {
    if blank_lines == 0 {
        text.push(' ');
    } else {
        text.extend(std::iter::repeat_n('\n', blank_lines));
    }
}

/// Maximum length of a key; longer ones are left to the full reader.
const LONGEST_KEY: usize = 128;

/// Returns the length of a simple key followed by a colon and then a space or the end of the line.
fn key_length(line: &[u8]) -> Option<usize> {
    let length = line
        .iter()
        .take_while(|&&byte| IN_KEYS[usize::from(byte)])
        .count();
    let first = *line.first()?;
    let is_key = (1..=LONGEST_KEY).contains(&length)
        && first != b'-'
        && first != b'.'
        && line.get(length) == Some(&b':')
        && line
            .get(length + 1)
            .is_none_or(|&byte| byte == b' ' || byte == b'\n');
    is_key.then_some(length)
}

/// Bytes that cannot start a plain scalar.
static INDICATORS: [bool; 256] = table(b"-?:,[]{}#&*!|>'\"%@` =");
/// Bytes of simple keys.
static IN_KEYS: [bool; 256] =
    table(b"-_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

const fn table(list: &[u8]) -> [bool; 256] {
    let (mut table, mut at) = ([false; 256], 0);
    while at < list.len() {
        table[list[at] as usize] = true;
        at += 1;
    }
    table
}

/// Returns the length of a plain scalar at the start of `line`, without trailing spaces. Returns
/// `None` for anything that could be an indicator, a comment or a nested map. In a flow collection,
/// `flow` is the closing bracket.
fn plain_length(line: &[u8], flow: Option<u8>) -> Option<usize> {
    if INDICATORS[usize::from(line[0])] {
        return None;
    }
    let mut end = match flow {
        Some(close) => plain_end_in_flow(line, close)?,
        None => plain_end(line)?,
    };
    while line[end - 1] == b' ' {
        end -= 1;
    }
    Some(end)
}

/// Returns the end of a plain scalar on a line: a comment. Returns `None` if a colon makes it a
/// map.
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

/// Works like [`plain_end`] inside brackets, where more characters are special.
fn plain_end_in_flow(line: &[u8], close: u8) -> Option<usize> {
    for (at, &byte) in line.iter().enumerate() {
        match byte {
            b',' => return Some(at),
            _ if byte == close => return Some(at),
            b':' | b'[' | b']' | b'{' | b'}' | b'?' | b'#' => return None,
            _ => {}
        }
    }
    Some(line.len())
}

/// Returns `None` for control characters, tabs, and Unicode characters that YAML treats specially.
fn check_characters(bytes: &[u8]) -> Option<()> {
    // Branch-free, so that the loop can be vectorised.
    let is_control =
        |byte: u8| u8::from(byte < b' ') & u8::from(byte != b'\n') | u8::from(byte == 0x7f);
    let controls = bytes
        .iter()
        .fold(0, |found, &byte| found | is_control(byte));
    let is_fine = |at: usize| match bytes[at..] {
        // U+0080 to U+009F, including NEL.
        [0xc2, next, ..] => next >= 0xa0,
        // U+2028 and U+2029; U+FEFF, U+FFFE and U+FFFF.
        [0xe2, 0x80, 0xa8 | 0xa9, ..] | [0xef, 0xbb | 0xbf, ..] => false,
        _ => true,
    };
    let mut first_bytes = memchr::memchr3_iter(0xc2, 0xe2, 0xef, bytes);
    (controls == 0 && first_bytes.all(is_fine)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{YamlDocument, full};

    /// Checks that the fast reader agrees with the full one whenever it returns a result; `taken`
    /// says whether it must return one.
    fn check(text: &str, taken: bool) {
        let fast = read(text, 7);
        assert_eq!(fast.is_some(), taken, "{text:?}");
        if let Some(root) = fast {
            assert_eq!(
                full::read(text, 7),
                Ok(YamlDocument {
                    root,
                    duplicates: Vec::new()
                }),
                "{text:?}"
            );
        }
    }

    #[test]
    fn common_frontmatter_takes_the_fast_path() {
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
            "a: one\n  two\n   ",
            "m:\n  a: one\n    two\n  b: c\n",
            "a: 'one\n  two\n\n\n  three\n\n  '\nb: c\n",
            "a: \"one  \n   it\n  \"  # why\nb: c\n",
            "a: 'it''s\n  so '\n",
            "l:\n- one\n  two\n- 'x\n  y'\n",
            "a: \"say \\\"it\\\"\"\nb: \"c:\\\\d\\\\\\\\ne\\n\\n\"  # why\n",
            "a: \"one\\n\\\n  \\  two\\\\\n\n  three \\\n   \\u2014\\\"four \\\n  \"\nb: c\n",
            "a: \"x \\\"y \n  z \"\n",
            "a: [\"\\\"b\\\\\", \"\\\\\"]\nb: '\\'\n",
            "a: {b: c, \"d\":\"e\", 'f': {g: [h, {i: 1}, []]}, j: true ,}  # why\nk: {}\n",
            "a:\n  { \"b\": { \"c\": [\"d\"] } }\ne:\n  - {f: g}\n  - [h, [i]]\n",
            "a:\n  - b: c\n    d:\n      - e: f\n        g: h\n\n      - i: j\n  - k\nl:\n- m: n\n",
            "a:\n  [b, c]\n",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn unusual_yaml_is_left_to_the_full_reader() {
        for text in [
            "a: b\na: c\n",
            "a: &x b\n",
            "a: *x\n",
            "a: !t b\n",
            "<<: b\n",
            "a: one\n  two: three\n",
            "a: b: c\n",
            "a: @b\n",
            "a:\tb\n",
            "- a\n",
            "just text\n",
            "a: \"x\\ty\"\n",
            "a: \"x\\u+0e9\"\n",
            "a: \"x\\ud83d\\ude00\"\n",
            "a: \"x\\\n\n  y\"\n",
            "a: \"x\\ \n  y\"\n",
            "a: \"x\\\ny\"\n",
            "a: \"x\\\"\n",
            "a: |2\n  x\n",
            "a: >\n  x\n   y\n",
            "a: |\n  x",
            "a: 'x' y\n",
            "a: b\r\n",
            "a: x\u{85}y\n",
            "? a\n",
            "a: b\n...\n",
            "a: {b: c, b: d}\n",
            "a: {b}\n",
            "a: {b:}\n",
            "a: {b: }\n",
            "a: {b:c}\n",
            "a: {b: c]\n",
            "a: [b: c]\n",
            "a: {b: c\n  }\n",
            "a: {b: c} d\n",
            "a: {\"b\" \"c\"}\n",
            "a: {? b: c}\n",
            "a: {<<: b}\n",
            "a: {b: *c}\n",
            "a:\n  {b: c}\n  d: e\n",
            "a:\n  - b: c\n   d: e\n",
            "a:\n  - b: c\n    - d\n",
            "a:\n  - - b\n",
            "%YAML 1.2\n",
        ] {
            check(text, false);
        }
    }
}
