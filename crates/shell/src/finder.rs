//! The tolerant finder. It finds every command that a line might run, for deny rules.
//!
//! It searches substitutions, groups, loops and quotes, removes quotes and backslashes, and finds
//! too much rather than too little. A line that it cannot read to its end is reported as
//! unreadable; the gate denies such a line if there are deny rules.

use crate::lexer::VariableLookup;

/// Longest line that is searched, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// Most commands that are collected.
const MAX_COMMANDS: usize = 20_000;
/// Most words that the braces of one command are expanded to.
const MAX_BRACES: usize = 1_024;
/// Deepest nesting of substitutions.
const MAX_DEPTH: usize = 40;

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Commands that the line might run, each with its words, without quotes and without
    /// assignments before the command.
    pub commands: Vec<Vec<LooseWord>>,
    /// Files that it might write to by redirection.
    pub writes: Vec<Box<str>>,
    /// Files that it might read by redirection.
    pub reads: Vec<Box<str>>,
    /// The reason why the line could not be read to its end.
    pub unreadable: Option<&'static str>,
    /// `true` if the line has a part that a shell may read as another command than this search: a
    /// program that is a pattern, or quotes that count in one place and not in another.
    pub ambiguous: bool,
    /// `true` if the names of files decide which program runs: the program is a pattern, or braces
    /// that are too many to expand.
    pub unknown_program: bool,
    /// `true` if a part of the name of a program is only known when the line runs: `da$x`.
    pub variable_program: bool,
    /// The same in a line of a here-document, which is a command only for a shell that reads it.
    pub variable_program_in_document: bool,
    /// `true` if a shell may end a comment, a pattern of `case` or a here-document in another place
    /// than this search, so that commands may be missing.
    pub misread: bool,
}

/// A word without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LooseWord {
    /// The text, without the values of variables.
    pub text: String,
    /// `true` if it has an unquoted `*`, `?` or `[`.
    pub pattern: bool,
    /// `true` if a part of it is only known when the line runs.
    pub unknown: bool,
    /// `true` if a part of it is quoted, so that it is no reserved word.
    pub quoted: bool,
}

/// Words after which a command starts.
const OPENERS: &[&str] = &[
    "!", "{", "}", "if", "then", "elif", "else", "do", "while", "until", "time", "coproc", "fi",
    "done",
];

/// Searches a line for commands.
pub fn find(text: &str) -> Findings {
    find_bound(text, &|_| None)
}

/// Searches a line whose variables may be known: `lookup` returns the value of `name` in `$name`,
/// `${name}` and `$1`.
pub fn find_bound(text: &str, lookup: VariableLookup<'_>) -> Findings {
    let mut findings = Findings::default();
    if text.len() > MAX_BYTES {
        findings.unreadable = Some("it is longer than 256 KiB");
        return findings;
    }
    Scan::new(text, &mut findings, true, lookup).list(None, 0);
    // Patterns such as `r@(m)` begin like a function or a group.
    let extended = ["?(", "*(", "+(", "@(", "!("];
    findings.unknown_program |=
        text.contains("extglob") && extended.iter().any(|start| text.contains(start));
    if text.contains('#') {
        // Parsers disagree about where a comment starts, so comments are searched as well.
        let mut behind = Findings::default();
        Scan::new(text, &mut behind, false, lookup).list(None, 0);
        findings.unknown_program |= behind.unknown_program;
        findings.commands.append(&mut behind.commands);
        findings.writes.append(&mut behind.writes);
        findings.reads.append(&mut behind.reads);
        findings.ambiguous |= behind.ambiguous;
    }
    findings.ambiguous |= findings.misread;
    findings
}

struct Scan<'a, 'f, 'l> {
    text: &'a str,
    at: usize,
    found: &'f mut Findings,
    comments: bool,
    lookup: VariableLookup<'l>,
    /// `true` directly inside `${…}`, where patterns are not programs.
    in_parameter: bool,
    /// `true` directly inside `"${x-…}"`, where single quotes are text.
    plain_quotes: bool,
    /// Here-documents whose lines follow the current line.
    here: Vec<HereDocument>,
    /// `true` in the lines of a here-document.
    in_document: bool,
    /// The offset at which `((…))` or the values of an array end: their words are no programs.
    values_end: usize,
}

/// A `case` command that is open.
#[derive(Clone, Copy, Debug)]
struct OpenCase {
    /// The number of groups around it.
    groups: usize,
    /// `true` where a pattern is expected, `false` in the commands after one.
    in_pattern: bool,
}

/// A here-document whose lines were not read yet.
struct HereDocument {
    /// The line that ends it.
    end: String,
    /// `true` for `<<-`: tabs at the beginning of lines are removed.
    strips: bool,
    /// `true` if substitutions in it run.
    expands: bool,
}

impl<'a, 'f, 'l> Scan<'a, 'f, 'l> {
    fn new(
        text: &'a str,
        found: &'f mut Findings,
        comments: bool,
        lookup: VariableLookup<'l>,
    ) -> Self {
        Self {
            text,
            at: 0,
            found,
            comments,
            lookup,
            in_parameter: false,
            plain_quotes: false,
            here: Vec::new(),
            in_document: false,
            values_end: 0,
        }
    }

    /// Returns a scan of another text.
    fn inner<'t>(&mut self, text: &'t str) -> Scan<'t, '_, 'l> {
        let in_document = self.in_document;
        Scan {
            in_document,
            ..Scan::new(text, self.found, self.comments, self.lookup)
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn stop(&mut self, why: &'static str) {
        self.found.unreadable.get_or_insert(why);
        self.at = self.text.len();
    }

    /// Marks the text up to here as values, in an array.
    fn skip_values(&mut self, in_array: bool) {
        if in_array {
            self.values_end = self.values_end.max(self.at);
        }
    }

    /// Reads commands up to `end` or the end of the text.
    fn list(&mut self, end: Option<char>, depth: usize) {
        if depth > MAX_DEPTH {
            return self.stop("it nests too deep");
        }
        let mut words: Vec<LooseWord> = Vec::new();
        let mut word: Option<LooseWord> = None;
        // Parentheses that were opened here and belong to groups.
        let mut groups = 0_usize;
        // `case` commands that are open here.
        let mut cases: Vec<OpenCase> = Vec::new();
        // The group that is the value of an array: `a=(x y)`.
        let mut array = None;
        // The outermost group that may be arithmetic: `((x))`.
        let mut double = None;
        // The command begins with a redirection, so its first word is not reserved.
        let mut redirected = false;
        while let Some(c) = self.next() {
            let may_reserve = !self.in_parameter && array.is_none() && !redirected;
            if may_reserve && " \t\r\n;&|()<>".contains(c) {
                reserved(&mut words, &mut word, groups, &mut cases);
            }
            let open = cases.last_mut().filter(|case| case.groups == groups);
            match c {
                // The parenthesis after a pattern of `case` closes nothing.
                ')' if open.as_ref().is_some_and(|case| case.in_pattern) => {
                    // A pattern is one word.
                    self.found.misread |= words.len() + usize::from(word.is_some()) != 1;
                    words.clear();
                    word = None;
                    if let Some(case) = open {
                        case.in_pattern = false;
                    }
                }
                // `(pattern)`
                '(' if words.is_empty()
                    && word.is_none()
                    && open.as_ref().is_some_and(|case| case.in_pattern) => {}
                _ if Some(c) == end && groups == 0 => {
                    self.found.misread |= !cases.is_empty() || has_case(&words, word.as_ref());
                    self.close(&mut words, word.take(), depth);
                    return;
                }
                ' ' | '\t' | '\r' => words.extend(word.take()),
                '\n' => {
                    words.extend(word.take());
                    self.skip_values(array.is_some());
                    redirected = false;
                    // `in` may be on another line than `case`.
                    if !is_case_head(&words) {
                        self.close(&mut words, None, depth);
                    }
                    self.here_documents(depth);
                }
                '|' if open.as_ref().is_some_and(|case| case.in_pattern) => {
                    words.clear();
                    word = None;
                }
                ';' | '&' | '|' => {
                    // `;;`, `;&` and `;;&` end the commands after a pattern.
                    let ends = c == ';' && self.rest().starts_with([';', '&']);
                    self.found.misread |= open.as_ref().is_some_and(|case| case.in_pattern);
                    redirected = false;
                    if let Some(case) = open.filter(|_| ends) {
                        case.in_pattern = true;
                        let signs = self.rest().bytes().take(2);
                        self.at += signs.take_while(|c| b";&".contains(c)).count();
                    }
                    self.close(&mut words, word.take(), depth);
                }
                '(' => {
                    groups += 1;
                    redirected = false;
                    // `r@(m)` is a pattern in some shells; `a=(x y)` and `name()` are not.
                    let is_pattern = |word: &LooseWord| !word.text.ends_with('=');
                    let is_function = self.rest().trim_start_matches([' ', '\t']).starts_with(')');
                    self.found.ambiguous |= word.as_ref().is_some_and(is_pattern) && !is_function;
                    let is_array = |word: &LooseWord| is_assignment(&word.text);
                    if word.as_ref().is_some_and(is_array) {
                        array.get_or_insert(groups);
                    }
                    if word.is_none() && self.rest().starts_with('(') {
                        double.get_or_insert(groups);
                        let end = arithmetic_end(&self.rest()[1..]);
                        let end = end.map_or(0, |length| self.at + 1 + length);
                        self.values_end = self.values_end.max(end);
                    }
                    // `name()` defines a function: its body is a command like any other.
                    self.close(&mut words, word.take(), depth);
                }
                ')' => {
                    self.found.misread |= has_case(&words, word.as_ref());
                    words.extend(word.take());
                    self.skip_values(array.is_some());
                    array = array.filter(|array| *array < groups);
                    if double == Some(groups) {
                        double = None;
                    }
                    groups = groups.saturating_sub(1);
                    redirected = false;
                    cases.retain(|case| case.groups <= groups);
                    self.close(&mut words, None, depth);
                }
                '<' | '>' => {
                    // Digits right before it are a descriptor.
                    words.extend(word.take().filter(|word| !is_descriptor(&word.text)));
                    redirected |= words.is_empty();
                    self.redirect(c, depth);
                }
                // In `${x#y}` and in arithmetic it begins no comment.
                '#' if self.comments
                    && word.is_none()
                    && !self.in_parameter
                    && self.at > self.values_end
                    && !self.text[..self.at - 1].ends_with('\r') =>
                {
                    self.found.misread |= double.is_some();
                    let length = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += length;
                }
                _ => {
                    let word = word.get_or_insert_default();
                    self.piece(c, word, depth);
                }
            }
            if self.found.commands.len() > MAX_COMMANDS {
                return self.stop("it has too many commands");
            }
        }
        self.close(&mut words, word, depth);
        if end.is_some() {
            self.stop("a substitution is not closed");
        }
    }

    /// Reads what `c` begins and adds it to a word.
    fn piece(&mut self, c: char, word: &mut LooseWord, depth: usize) {
        match c {
            '\\' => match self.next() {
                Some('\n') | None => {}
                Some(c) => {
                    word.quoted = true;
                    word.text.push(c);
                }
            },
            '\'' if self.plain_quotes => word.text.push(c),
            '\'' => match self.rest().find('\'') {
                Some(length) => {
                    word.quoted = true;
                    word.text.push_str(&self.text[self.at..self.at + length]);
                    self.at += length + 1;
                }
                None => self.stop("a quote is not closed"),
            },
            '"' => {
                word.quoted = true;
                self.double(word, depth);
            }
            '`' => {
                word.unknown = true;
                self.backtick(depth);
            }
            '$' => self.dollar(word, depth),
            '*' | '?' | '[' => {
                word.pattern = true;
                word.text.push(c);
            }
            _ => word.text.push(c),
        }
    }

    fn double(&mut self, word: &mut LooseWord, depth: usize) {
        if !self.expansions(Some('"'), word, depth) {
            self.stop("a quote is not closed");
        }
    }

    /// Reads text in which only substitutions and variables count, up to `end` or the end of the
    /// text. Returns `true` if `end` was found.
    fn expansions(&mut self, end: Option<char>, word: &mut LooseWord, depth: usize) -> bool {
        while let Some(c) = self.next() {
            match c {
                _ if Some(c) == end => return true,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                    Some(c) => {
                        word.text.push('\\');
                        word.text.push(c);
                    }
                },
                '`' => {
                    word.unknown = true;
                    self.backtick(depth);
                }
                '$' if !matches!(self.rest().chars().next(), Some('\'' | '"')) => {
                    let from = self.at;
                    let outer = std::mem::replace(&mut self.plain_quotes, true);
                    self.dollar(word, depth);
                    self.plain_quotes = outer;
                    // Inside double quotes, the quotes in `${x-'…'}` are text.
                    let inner = &self.text[from..self.at];
                    self.found.ambiguous |= inner.starts_with('{') && inner.contains('\'');
                }
                _ => word.text.push(c),
            }
        }
        false
    }

    /// Reads the here-documents that begin after the current line. A shell may be reading their
    /// lines as commands, and substitutions in them may run.
    fn here_documents(&mut self, depth: usize) {
        for document in std::mem::take(&mut self.here) {
            let rest = &self.text[self.at..];
            let mut length = 0;
            let mut before = "";
            for line in rest.split_inclusive('\n') {
                let content = line.strip_suffix('\n').unwrap_or(line);
                let content = if document.strips {
                    content.trim_start_matches('\t')
                } else {
                    content
                };
                // A backslash at the end joins two lines, unless the end is quoted.
                let slashes = before.bytes().rev().take_while(|c| *c == b'\\').count();
                let is_joined = document.expands && slashes % 2 == 1;
                let is_doubtful = content == document.end
                    || before
                        .strip_suffix('\\')
                        .is_some_and(|before| document.end.starts_with(before));
                self.found.misread |= is_joined && is_doubtful;
                before = content;
                if content == document.end && !is_joined {
                    break;
                }
                length += line.len();
            }
            let (lines, behind) = rest.split_at(length);
            self.at += length + behind.find('\n').map_or(behind.len(), |end| end + 1);
            // Quotes that are not closed are text, or keep a shell from running the rest.
            let known = self.found.unreadable;
            let outer = std::mem::replace(&mut self.in_document, true);
            self.inner(lines).list(None, depth + 1);
            self.in_document = outer;
            if document.expands {
                let mut inner = self.inner(lines);
                inner.expansions(None, &mut LooseWord::default(), depth + 1);
            }
            self.found.unreadable = match self.found.unreadable {
                Some("a quote is not closed") => known,
                found => found,
            };
        }
    }

    fn backtick(&mut self, depth: usize) {
        let mut inner = String::new();
        while let Some(c) = self.next() {
            match c {
                '`' => {
                    self.inner(&inner).list(None, depth + 1);
                    return;
                }
                '\\' => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some(c) => inner.extend(['\\', c]),
                    None => {}
                },
                _ => inner.push(c),
            }
        }
        self.stop("a backtick is not closed");
    }

    fn dollar(&mut self, word: &mut LooseWord, depth: usize) {
        if let Some((value, length)) = self.known_value() {
            // Outside quotes, the shell may split or expand the value.
            word.unknown |= value.contains(|c: char| c.is_whitespace() || "*?[".contains(c));
            word.text.push_str(value);
            self.at += length;
            return;
        }
        match self.rest().chars().next() {
            Some('(') => {
                self.at += 1;
                word.unknown = true;
                if let Some(inner) = self.rest().strip_prefix('(') {
                    let end = arithmetic_end(inner).map_or(0, |length| self.at + 1 + length);
                    self.values_end = self.values_end.max(end);
                }
                let outer = std::mem::replace(&mut self.in_parameter, false);
                let quotes = std::mem::replace(&mut self.plain_quotes, false);
                self.list(Some(')'), depth + 1);
                (self.in_parameter, self.plain_quotes) = (outer, quotes);
            }
            Some('{') => {
                self.at += 1;
                word.unknown = true;
                // The text after `:-` and similar operators may become a command.
                let name = |c: char| !(c.is_ascii_alphanumeric() || "_!#@*:-=+?".contains(c));
                let behind = self.rest().find(name).map_or(0, |length| {
                    let head = &self.rest()[..length];
                    head.find(['-', '=', '+', '?']).map_or(0, |at| at + 1)
                });
                self.at += behind;
                let start = self.at;
                let outer = std::mem::replace(&mut self.in_parameter, true);
                // In patterns such as `"${x#'…'}"`, single quotes count.
                let quotes = self.plain_quotes;
                self.plain_quotes &= behind > 0;
                self.list(Some('}'), depth + 1);
                (self.in_parameter, self.plain_quotes) = (outer, quotes);
                // `${x:-r}m` may be `rm`.
                let default = self.text[start..]
                    .get(..self.at.saturating_sub(start + 1))
                    .unwrap_or_default();
                if behind > 0
                    && default
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
                {
                    word.text.push_str(default);
                }
            }
            Some('[') => {
                self.at += 1;
                word.unknown = true;
                // It is arithmetic.
                let outer = std::mem::replace(&mut self.in_parameter, true);
                self.list(Some(']'), depth + 1);
                self.in_parameter = outer;
            }
            Some('\'') => {
                self.at += 1;
                word.quoted = true;
                self.ansi(word);
            }
            Some('"') => {
                self.at += 1;
                word.quoted = true;
                self.double(word, depth);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                word.unknown = true;
                let name = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                self.at += self.rest().find(name).unwrap_or(self.rest().len());
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                word.unknown = true;
                self.at += 1;
            }
            _ => word.text.push('$'),
        }
    }

    /// Returns the value of the variable after a `$`, and the length of its name.
    fn known_value(&self) -> Option<(&str, usize)> {
        let rest = self.rest();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, length) = match rest.strip_prefix('{') {
            Some(inner) => {
                let end = inner.find(|c| !is_name(c))?;
                inner[end..].starts_with('}').then_some(())?;
                (&inner[..end], end + 2)
            }
            // `$10` is `${1}0` for a shell.
            None if rest.starts_with(|c: char| c.is_ascii_digit()) => (&rest[..1], 1),
            None => {
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                (&rest[..end], end)
            }
        };
        Some(((self.lookup)(name)?, length))
    }

    /// `$'\x72m'`: escapes of C, as bash decodes them.
    fn ansi(&mut self, word: &mut LooseWord) {
        let mut bytes: Vec<u8> = Vec::new();
        let mut buffer = [0; 4];
        while let Some(c) = self.next() {
            match c {
                '\'' => {
                    // Bash ends the text at a NUL; what follows the quote is added to it.
                    let end = bytes.iter().position(|byte| *byte == 0);
                    bytes.truncate(end.unwrap_or(bytes.len()));
                    word.text.push_str(&String::from_utf8_lossy(&bytes));
                    return;
                }
                '\\' => {
                    let Some(c) = self.next() else { break };
                    match c {
                        // `\x{…}` may have more than two digits; only the last byte counts.
                        'x' if self.rest().starts_with('{') => {
                            self.at += 1;
                            bytes.extend(self.number(16, usize::MAX).map(low_byte).or(Some(0)));
                            if self.rest().starts_with('}') {
                                self.at += 1;
                            }
                        }
                        'x' => match self.number(16, 2) {
                            Some(value) => bytes.push(low_byte(value)),
                            None => bytes.extend(b"\\x"),
                        },
                        'u' | 'U' => {
                            let value = self.number(16, if c == 'u' { 4 } else { 8 });
                            let decoded = value.and_then(char::from_u32);
                            bytes.extend(
                                decoded.map_or(&b""[..], |c| c.encode_utf8(&mut buffer).as_bytes()),
                            );
                        }
                        '0'..='7' => {
                            self.at -= 1;
                            bytes.extend(self.number(8, 3).map(low_byte));
                        }
                        'n' => bytes.push(b'\n'),
                        't' => bytes.push(b'\t'),
                        _ => bytes.extend(c.encode_utf8(&mut buffer).as_bytes()),
                    }
                }
                _ => bytes.extend(c.encode_utf8(&mut buffer).as_bytes()),
            }
        }
        self.stop("a quote is not closed");
    }

    /// Reads a number of at most `most` digits. Only its last 32 bits are kept.
    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let digits = self.rest().chars().take(most);
        let digits: Vec<u32> = digits.map_while(|c| c.to_digit(radix)).collect();
        self.at += digits.len();
        let add = |value: u32, digit: &u32| value.wrapping_mul(radix).wrapping_add(*digit);
        (!digits.is_empty()).then(|| digits.iter().fold(0, add))
    }

    fn redirect(&mut self, sign: char, depth: usize) {
        let mut writes = sign == '>';
        let (mut here, mut strips) = (false, false);
        let triple = sign == '<' && self.rest().starts_with("<<");
        loop {
            match self.rest().chars().next() {
                Some('(') => {
                    // `<(command)`, `>(command)`
                    self.at += 1;
                    return self.list(Some(')'), depth + 1);
                }
                Some('<') => {
                    here |= sign == '<';
                    self.at += 1;
                }
                Some('>') => {
                    writes = true;
                    self.at += 1;
                }
                // `<&-` and `<&3-` name no file.
                Some('&') if self.closes() => return,
                Some(c @ ('|' | '&' | '-')) => {
                    strips |= c == '-';
                    self.at += 1;
                }
                _ => break,
            }
        }
        // Quotes in a here-document are text, and its substitutions run.
        let runs = |rest: &str| rest.contains("$(") || rest.contains("${") || rest.contains('`');
        self.found.ambiguous |=
            here && !triple && self.rest().contains(['\'', '"']) && runs(self.rest());
        while self.rest().starts_with([' ', '\t']) {
            self.at += 1;
        }
        let start = self.at;
        let mut target = LooseWord::default();
        while let Some(c) = self.rest().chars().next() {
            // As for bash, a carriage return is part of the word.
            if " \t\n;&|<>()".contains(c) {
                break;
            }
            self.at += c.len_utf8();
            self.piece(c, &mut target, depth);
        }
        if triple {
            // A shell may be reading it.
            self.inner(&target.text).list(None, depth + 1);
        }
        if here && !triple {
            let written = &self.text[start..self.at];
            let expands = !written.contains(['\'', '"', '\\']);
            // Variables and substitutions in the line that ends it are text.
            let end = raw_delimiter(written);
            self.found.misread |= end.is_none();
            let end = end.unwrap_or_else(|| target.text.clone());
            self.here.push(HereDocument {
                end,
                strips,
                expands,
            });
        }
        if !here && !target.text.is_empty() {
            let list = if writes {
                &mut self.found.writes
            } else {
                &mut self.found.reads
            };
            list.push(target.text.into());
        }
    }

    /// Reads the rest of a redirection that closes or moves a descriptor: `&-`, `&3-`. Returns
    /// `true` if it is one.
    fn closes(&mut self) -> bool {
        let after = self.rest().strip_prefix('&').unwrap_or_default();
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let rest = after[digits..].strip_prefix('-');
        let ends = |rest: &str| {
            let next = rest.chars().next();
            next.is_none_or(|c| c.is_whitespace() || ";&|<>()".contains(c))
        };
        let is_closed = rest.is_some_and(ends);
        if is_closed {
            self.at += digits + 2;
        }
        is_closed
    }

    /// Ends a command and removes the reserved words and assignments before it.
    fn close(&mut self, words: &mut Vec<LooseWord>, last: Option<LooseWord>, depth: usize) {
        words.extend(last);
        let mut all = std::mem::take(words);
        let mut start = 0;
        while let Some(word) = all.get(start) {
            let text = word.text.as_str();
            match text {
                // `do$x` is a program.
                _ if word.unknown && assigned(text).is_none() => break,
                "function" => start += 2,
                "time" => {
                    start += 1;
                    start += all[start..]
                        .iter()
                        .take_while(|word| word.text.starts_with('-'))
                        .count();
                }
                // `coproc NAME { …`
                "coproc" if all.get(start + 2).is_some_and(|word| word.text == "{") => start += 2,
                _ if OPENERS.contains(&text) => start += 1,
                _ => match assigned(text) {
                    Some(value) => {
                        // Programs run the values of some variables.
                        let value = value.to_owned();
                        self.inner(&value).list(None, depth + 1);
                        start += 1;
                    }
                    None => break,
                },
            }
        }
        all.drain(..start.min(all.len()));
        let is_test = |program: &LooseWord| matches!(&*program.text, "[" | "[[");
        let is_pattern = |program: &LooseWord| program.pattern && !is_test(program);
        // `{a..z}` becomes several words.
        let is_range = |word: &LooseWord| word.text.contains('{') && word.text.contains("..");
        let has_pattern = !self.in_parameter && all.first().is_some_and(is_pattern);
        let is_value = self.in_parameter || self.at <= self.values_end;
        let is_variable = !is_value && all.first().is_some_and(|program| program.unknown);
        if self.in_document {
            self.found.variable_program_in_document |= is_variable;
        } else {
            // A comment is searched, but it is not known to run.
            self.found.variable_program |= is_variable && self.comments;
        }
        self.found.unknown_program |= has_pattern;
        self.found.ambiguous |= has_pattern || !self.in_parameter && all.iter().any(is_range);
        if all.iter().any(|word| word.text.contains('{')) {
            let mut spelled = Vec::new();
            let mut budget = MAX_BRACES;
            let is_complete = all
                .iter()
                .all(|word| braces(word, &mut budget, &mut spelled));
            self.found.unknown_program |= !is_complete;
            if spelled != all {
                self.found.commands.push(spelled);
            }
        }
        if !all.is_empty() {
            self.found.commands.push(all);
        }
    }
}

/// Expands braces: `{rm,-rf,x}`, `r{m,n}`, `{r..r}m`. Returns `false` if there are too many words.
fn braces(word: &LooseWord, budget: &mut usize, words: &mut Vec<LooseWord>) -> bool {
    let mut open = vec![word.text.clone()];
    while let Some(text) = open.pop() {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        match first_braces(&text) {
            None => words.push(LooseWord {
                text,
                ..word.clone()
            }),
            // The first of them is expanded next.
            Some(spelled) => open.extend(spelled.into_iter().rev()),
        }
    }
    true
}

/// Expands the first braces of a text that have a comma or a range in them.
fn first_braces(text: &str) -> Option<Vec<String>> {
    for (start, _) in text.match_indices('{') {
        let (mut depth, mut commas, mut end) = (0_usize, Vec::new(), None);
        for (at, c) in text[start..].char_indices() {
            match c {
                '{' => depth += 1,
                ',' if depth == 1 => commas.push(start + at),
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                end = Some(start + at);
                break;
            }
        }
        let Some(end) = end else { continue };
        let parts: Vec<String> = if commas.is_empty() {
            range(&text[start + 1..end])
        } else {
            let starts = std::iter::once(start).chain(commas.iter().copied());
            let ends = commas.iter().copied().chain([end]);
            starts
                .zip(ends)
                .map(|(from, to)| text[from + 1..to].to_owned())
                .collect()
        };
        if parts.is_empty() {
            continue;
        }
        let (before, after) = (&text[..start], &text[end + 1..]);
        let spell = |part: String| format!("{before}{part}{after}");
        return Some(parts.into_iter().map(spell).collect());
    }
    None
}

/// Returns the members of `a..c` or `1..9..2`, at most as many as are expanded. Empty if it is no
/// range.
fn range(text: &str) -> Vec<String> {
    let mut parts = text.split("..");
    let (Some(first), Some(last), step, None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Vec::new();
    };
    let step = step.map_or(Ok(1), str::parse::<i64>);
    let step = step.unwrap_or(1).unsigned_abs().max(1);
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    let single = |text: &str| {
        let mut chars = text.chars();
        chars
            .next()
            .filter(|_| chars.next().is_none())
            .map(u32::from)
    };
    let number = |text: &str| text.parse::<i64>().ok();
    let (low, high, letters) = match (
        number(first).zip(number(last)),
        single(first).zip(single(last)),
    ) {
        (Some((first, last)), _) => (first.min(last), first.max(last), false),
        (None, Some((first, last))) => {
            (i64::from(first.min(last)), i64::from(first.max(last)), true)
        }
        (None, None) => return Vec::new(),
    };
    let is_down = if letters {
        single(first) > single(last)
    } else {
        number(first) > number(last)
    };
    let spell = |at: i64| match u32::try_from(at).ok().and_then(char::from_u32) {
        Some(c) if letters => c.to_string(),
        _ => at.to_string(),
    };
    let members: Vec<String> = if is_down {
        (low..=high)
            .rev()
            .step_by(step)
            .take(MAX_BRACES)
            .map(spell)
            .collect()
    } else {
        (low..=high)
            .step_by(step)
            .take(MAX_BRACES)
            .map(spell)
            .collect()
    };
    members
}

/// Recognises `case x in` and `esac` at the end of a word, and keeps the list of open `case` commands.
fn reserved(
    words: &mut Vec<LooseWord>,
    word: &mut Option<LooseWord>,
    groups: usize,
    cases: &mut Vec<OpenCase>,
) {
    let is = |text: &str| word.as_ref().is_some_and(|word| is_reserved(word, text));
    let is_open = cases.last().is_some_and(|case| case.groups == groups);
    if is("esac") && words.is_empty() && is_open {
        cases.pop();
        *word = None;
    } else if is("in") && is_case_head(words) {
        cases.push(OpenCase {
            groups,
            in_pattern: true,
        });
        words.clear();
        *word = None;
    }
}

/// Returns `true` for `case` and one more word, in the place of a command.
fn is_case_head(words: &[LooseWord]) -> bool {
    let is_opener = |word: &&LooseWord| OPENERS.iter().any(|text| is_reserved(word, text));
    // `function name { case …`
    let named = if words
        .first()
        .is_some_and(|word| is_reserved(word, "function"))
    {
        2
    } else {
        0
    };
    let start = named + words.iter().skip(named).take_while(is_opener).count();
    let is_case = |word: &LooseWord| is_reserved(word, "case");
    words.len() == start + 2 && words.get(start).is_some_and(is_case)
}

/// Returns `true` if words have both parts of `case x in`, wherever they are.
fn has_case(words: &[LooseWord], last: Option<&LooseWord>) -> bool {
    let has = |text: &str| words.iter().chain(last).any(|word| is_reserved(word, text));
    has("case") && has("in")
}

fn is_reserved(word: &LooseWord, text: &str) -> bool {
    word.text == text && !word.quoted && !word.unknown
}

/// Returns the length of the text after `((` up to the first of the `))` that end it. `None` if bash may read it as
/// groups of commands, or if it has substitutions or quotes.
fn arithmetic_end(text: &str) -> Option<usize> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _$+-*/%<>=!&|^~?:,.#[]()".contains(c);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_#@*[]$".contains(c);
    let mut depth = 0_usize;
    let mut before = ' ';
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            // `${x}`, `${#x[@]}`: parentheses in other forms are text.
            '{' if before == '$' => {
                let inner = rest.by_ref().map(|(_, c)| c);
                let mut inner = inner.skip_while(|c| is_name(*c));
                if inner.next() != Some('}') {
                    return None;
                }
            }
            _ if !is_plain(c) => return None,
            '(' | '[' if before == '$' => return None,
            '(' => depth += 1,
            ')' if depth == 0 => return text[at + 1..].starts_with(')').then_some(at + 1),
            ')' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    None
}

/// Returns the line that ends a here-document: the word without its quotes, in which variables and
/// substitutions are text. `None` if it has quotes that bash decodes.
fn raw_delimiter(written: &str) -> Option<String> {
    if written.contains("$'") || written.contains("$\"") || written.contains('`') {
        return None;
    }
    let mut end = String::new();
    let mut quote = None;
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('\\', None) => end.extend(rest.next().filter(|c| *c != '\n')),
            ('\\', Some('"')) => match rest.next() {
                Some('\n') | None => {}
                Some(c @ ('$' | '`' | '"' | '\\')) => end.push(c),
                Some(c) => end.extend(['\\', c]),
            },
            _ => end.push(c),
        }
    }
    Some(end)
}

/// Returns the last byte of a number.
fn low_byte(value: u32) -> u8 {
    value.to_le_bytes()[0]
}

/// Returns `true` for `2` and `{fd}` directly before a redirection.
fn is_descriptor(word: &str) -> bool {
    let named = word
        .strip_prefix('{')
        .and_then(|word| word.strip_suffix('}'));
    word.bytes().all(|b| b.is_ascii_digit()) || named.is_some_and(|name| !name.contains(','))
}

/// Returns the value of `NAME=value`.
fn assigned(word: &str) -> Option<&str> {
    is_assignment(word).then(|| word.split_once('=').map_or("", |(_, value)| value))
}

/// Returns `true` for `NAME=value` and `NAME+=value`.
pub fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    // `a[1]=x` counts too.
    let name = name.split('[').next().unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
