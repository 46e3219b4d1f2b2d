//! Reads a script in one pass: quoting, expansions, nesting. This is a parser of its own because it
//! needs what the other two drop: the strict lexer refuses every script with an expansion, and the
//! finder keeps neither offsets nor quoting, without which a position cannot be judged.

use std::collections::BTreeSet;
use std::ops::Range;

use super::commands::Ending;
use super::value_limit::MadeFrom;
use super::{JudgedPosition, Quoting, UnsafePosition, ValueKind, ValueLimit, ValuePosition};

/// Variables that the shell assigns parts of a value to.
const FILLED_BY_THE_SHELL: [&[u8]; 6] = [
    b"REPLY",
    b"MAPFILE",
    b"OPTARG",
    b"BASH_REMATCH",
    b"BASH_ARGV",
    b"BASH_ARGV0",
];
/// Deepest nesting that is followed.
const DEEPEST: usize = 32;

/// Variables that the shell evaluates as arithmetic when a value is assigned to them.
const EVALUATED_BY_THE_SHELL: [&str; 9] = [
    "BASHPID",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
];

/// Facts from earlier passes about the variables of a script.
#[derive(Default)]
pub(super) struct Variables {
    /// Variables that may hold a value.
    pub(super) bound: BTreeSet<String>,
    /// Variables whose text names one that may hold a value. Arithmetic and `${!name}` follow it.
    pub(super) aliases: BTreeSet<String>,
    /// Variables whose text is evaluated when it is assigned: `declare -i`, `declare -n`.
    pub(super) integers: BTreeSet<String>,
    /// Variables that hold the output of a command, which may contain a value: it may come from a
    /// file, or from the environment.
    pub(super) outputs: BTreeSet<String>,
}

impl Variables {
    /// Adds the results of a pass. Returns `true` if there were new ones.
    pub(super) fn extend(&mut self, scan: &mut Scan) -> bool {
        let count = |all: &Self| {
            all.bound.len() + all.aliases.len() + all.integers.len() + all.outputs.len()
        };
        let known = count(self);
        self.bound.extend(scan.assigned.drain(..));
        self.aliases.extend(scan.aliases.drain(..));
        self.integers.extend(scan.integers.drain(..));
        self.outputs.extend(scan.outputs.drain(..));
        count(self) > known
    }
}

/// The result of a pass.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) found: Vec<JudgedPosition>,
    /// Variables that a value was assigned to.
    pub(super) assigned: Vec<String>,
    /// Variables that the name of such a variable was assigned to.
    pub(super) aliases: Vec<String>,
    /// Variables that were declared as integers or references.
    pub(super) integers: Vec<String>,
    /// Variables that the output of a command was assigned to.
    pub(super) outputs: Vec<String>,
    /// `true` if a command takes its standard input for code.
    pub(super) reads_code: bool,
    /// The limits of all values.
    pub(super) limit: ValueLimit,
    /// `true` if the script may change its positionals.
    pub(super) renumbers: bool,
    /// Simple commands, without reserved words and assignments before them.
    pub(super) commands: Vec<Range<usize>>,
    /// The insides of backticks.
    pub(super) backticks: Vec<Range<usize>>,
    /// The files that it writes and runs.
    pub(super) files: CodeFiles,
    /// Amount of work.
    #[cfg(test)]
    pub(super) steps: usize,
}

/// Returns the simple commands of a script in order, each with its offset, from the first word after
/// reserved words and assignments to its last word or redirection. Commands in substitutions, groups
/// and loops are included; comments, conditions and the text of here-documents are not.
pub fn simple_commands(script: &str) -> Vec<(usize, &str)> {
    let mut commands = Vec::new();
    collect_commands(script, 0..script.len(), 0, &mut commands);
    commands.sort_by_key(|range| range.start);
    let text = |range: Range<usize>| Some((range.start, script.get(range)?));
    commands.into_iter().filter_map(text).collect()
}

fn collect_commands(
    script: &str,
    part: Range<usize>,
    level: usize,
    commands: &mut Vec<Range<usize>>,
) {
    let Some(text) = script.get(part.clone()) else {
        return;
    };
    let scan = scan(text, &[], &Variables::default(), 0);
    let within = |range: Range<usize>| part.start + range.start..part.start + range.end;
    commands.extend(scan.commands.into_iter().map(within));
    if level < DEEPEST {
        for inner in scan.backticks {
            collect_commands(script, within(inner), level + 1, commands);
        }
    }
}

/// Reads a script.
pub(super) fn scan(
    script: &str,
    places: &[ValuePosition],
    known: &Variables,
    level: usize,
) -> Scan {
    let mut scanner = Scanner {
        bytes: script.as_bytes(),
        at: 0,
        places,
        next: 0,
        known,
        found: Vec::new(),
        assigned: Vec::new(),
        aliases: Vec::new(),
        integers: Vec::new(),
        outputs: Vec::new(),
        lead: Vec::new(),
        limit: ValueLimit::default(),
        renumbers: false,
        redirected: usize::MAX,
        files: CodeFiles::default(),
        texts: Vec::new(),
        documents: Vec::new(),
        depth: 0,
        is_broken: false,
        inflow: usize::MAX,
        fed: 0..0,
        readers: 0,
        has_functions: false,
        interpreter: "",
        commands: Vec::new(),
        backticks: Vec::new(),
        quoted_documents: Vec::new(),
        feeds_shell: false,
        level,
        steps: 0,
    };
    while scanner.list(None) != Ending::End {
        // An unbalanced `)`.
        scanner.is_broken = true;
    }
    scanner.skip_to(script.len(), Quoting::Bare, Some(UnsafePosition::Unclear));
    scanner.judge_quoted_documents();
    if scanner.is_broken || !scanner.documents.is_empty() {
        scanner.mark(0..scanner.found.len(), UnsafePosition::Unclear);
    }
    let files = scanner.judge_files();
    let reads_code = scanner.readers > 0 || scanner.is_broken;
    Scan {
        found: scanner.found,
        assigned: scanner.assigned,
        aliases: scanner.aliases,
        integers: scanner.integers,
        outputs: scanner.outputs,
        reads_code,
        limit: scanner.limit,
        renumbers: scanner.renumbers || scanner.has_functions,
        commands: scanner.commands,
        backticks: scanner.backticks,
        files,
        #[cfg(test)]
        steps: scanner.steps,
    }
}

/// One word of a command.
#[derive(Debug)]
pub(super) struct Word {
    /// The text without quotes; `\0` for parts that are only known when the script runs.
    pub(super) text: String,
    /// The positions in it, including nested ones.
    pub(super) found: Range<usize>,
    /// The unquoted values directly in it, each with `true` if nothing but values comes before it.
    pub(super) bare: Vec<(usize, bool)>,
    /// The values with which it may begin, each with `true` if it is filled in as it is.
    pub(super) lead: Vec<(usize, bool)>,
    /// `true` if a part is quoted; then it is not a reserved word.
    pub(super) is_quoted: bool,
    /// The bytes of the word.
    pub(super) range: Range<usize>,
}

/// Files that the script writes, and files that it runs.
#[derive(Default)]
pub(super) struct CodeFiles {
    /// `true` if a value is written to a file.
    pub(super) stores_value: bool,
    /// The names of the files that it writes, each with `true` if a value is part of the name.
    pub(super) written: Vec<(String, bool)>,
    /// The names of the files that it runs or takes instructions from.
    pub(super) run: Vec<String>,
    /// The files from which all later commands read.
    pub(super) inputs: Vec<String>,
    /// `true` if it runs code that is the output of a command or comes from standard input, or sets
    /// a variable that names a file of code.
    pub(super) runs_output: bool,
    /// `true` if it runs what a program finds in the working folder: `make`, `./run.sh`.
    pub(super) runs_folder: bool,
    /// `true` if it starts a program that expands the values of variables: `make`.
    pub(super) expands_variables: bool,
    /// `true` if such a program takes its input for code.
    pub(super) expands_input: bool,
    /// `true` if a word of a command begins with the output of another one.
    pub(super) uses_output: bool,
    /// The positions in folders that it changes to.
    pub(super) entered: Vec<Range<usize>>,
}

/// A here-document whose text has not been read yet.
pub(super) struct Document {
    delimiter: String,
    is_indented: bool,
    quoting: Quoting,
}

pub(super) struct Scanner<'t> {
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    places: &'t [ValuePosition],
    /// Index of the next given position.
    next: usize,
    pub(super) known: &'t Variables,
    pub(super) found: Vec<JudgedPosition>,
    pub(super) assigned: Vec<String>,
    pub(super) aliases: Vec<String>,
    pub(super) integers: Vec<String>,
    pub(super) outputs: Vec<String>,
    /// The values with which the current word may begin; see [`Word::lead`].
    lead: Vec<(usize, bool)>,
    pub(super) limit: ValueLimit,
    pub(super) renumbers: bool,
    /// Index of the first position that flows into the standard input of all later commands:
    /// `exec <<< "$1"`.
    pub(super) redirected: usize,
    pub(super) files: CodeFiles,
    /// The variables that were assigned so far, with their text.
    pub(super) texts: Vec<(String, String)>,
    pub(super) documents: Vec<Document>,
    pub(super) depth: usize,
    pub(super) is_broken: bool,
    /// Index of the first position that flows into the current standard input; beyond the last one
    /// if none does.
    pub(super) inflow: usize,
    /// Positions that are already marked as input of code, so that each is marked once.
    pub(super) fed: Range<usize>,
    /// Number of commands that take their standard input for code.
    pub(super) readers: usize,
    /// `true` after a function definition: any name may then be a function.
    pub(super) has_functions: bool,
    /// The program whose words are being judged, as the table lists it; empty if it is not listed.
    pub(super) interpreter: &'static str,
    pub(super) commands: Vec<Range<usize>>,
    backticks: Vec<Range<usize>>,
    /// The texts of here-documents in which the shell expands nothing.
    pub(super) quoted_documents: Vec<Range<usize>>,
    /// `true` if a shell reads a script from its input.
    pub(super) feeds_shell: bool,
    /// Number of scripts that this one is inside of.
    pub(super) level: usize,
    /// Amount of work, which tests compare with the length of the script.
    pub(super) steps: usize,
}

impl Scanner<'_> {
    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    /// Marks positions as unsafe, unless they have a better reason. Trusted values may choose a
    /// program or a script; escaped text is not a value.
    pub(super) fn mark(&mut self, range: Range<usize>, reason: UnsafePosition) {
        self.steps += 1 + range.len();
        for found in self.found.get_mut(range).into_iter().flatten() {
            let applies = match found.kind {
                ValueKind::Argument => true,
                ValueKind::Trusted => !matches!(
                    reason,
                    UnsafePosition::Program
                        | UnsafePosition::ScriptFile
                        | UnsafePosition::Option
                        | UnsafePosition::Environment
                        | UnsafePosition::Comment
                        | UnsafePosition::TooLong
                ),
                ValueKind::Escape => {
                    matches!(reason, UnsafePosition::Backticks | UnsafePosition::Unclear)
                }
            };
            // In double quotes it would still be code.
            let is_better = match found.reason {
                None => true,
                Some(UnsafePosition::SingleQuotes) => matches!(reason, UnsafePosition::Code(_)),
                Some(_) => false,
            };
            if applies && is_better {
                found.reason = Some(reason);
            }
        }
    }

    /// Records the given position at the cursor, if there is one, and skips it. Escaped text is
    /// added to the word, since the word may be a script.
    pub(super) fn reach(&mut self, quoting: Quoting, text: &mut String) -> bool {
        match self.places.get(self.next) {
            Some(place) if place.range.start == self.at => {
                if place.kind != ValueKind::Escape && text.bytes().all(|byte| byte == 0) {
                    self.lead.push((self.found.len(), true));
                }
                self.push(place.range.clone(), place.kind, Some(self.next), quoting);
                if place.kind == ValueKind::Escape {
                    let inner = &self.bytes[place.range.start + 1..place.range.end];
                    text.push_str(&String::from_utf8_lossy(inner));
                } else {
                    text.push('\0');
                }
                self.at = place.range.end;
                self.next += 1;
                true
            }
            _ => false,
        }
    }

    fn push(
        &mut self,
        range: Range<usize>,
        kind: ValueKind,
        given: Option<usize>,
        quoting: Quoting,
    ) {
        self.found.push(JudgedPosition {
            range,
            kind,
            given,
            quoting,
            plain: None,
            limit: ValueLimit::default(),
            is_whole: false,
            reason: None,
        });
    }

    /// Skips text that is not parsed. All positions in it get the same verdict.
    fn skip_to(&mut self, to: usize, quoting: Quoting, reason: Option<UnsafePosition>) {
        let from = self.found.len();
        while let Some(place) = self
            .places
            .get(self.next)
            .filter(|place| place.range.start < to)
        {
            self.push(place.range.clone(), place.kind, Some(self.next), quoting);
            self.next += 1;
        }
        if let Some(reason) = reason {
            self.mark(from..self.found.len(), reason);
        }
        self.at = to.min(self.bytes.len());
    }

    /// Skips a backslash and the character after it.
    fn escaped(&mut self) {
        let length = match self.peek(1) {
            None => 1,
            Some(byte) if byte >= 0xc0 => {
                1 + self.bytes[self.at + 1..]
                    .iter()
                    .skip(1)
                    .take_while(|&&byte| byte & 0xc0 == 0x80)
                    .count()
                    + 1
            }
            Some(_) => 2,
        };
        self.skip_to(
            self.at + length,
            Quoting::Bare,
            Some(UnsafePosition::Unclear),
        );
    }

    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek(0) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek(1) == Some(b'\n') => self.at += 2,
                _ => return,
            }
        }
    }

    /// Skips a comment.
    pub(super) fn comment(&mut self) {
        let line = self.bytes[self.at..].iter().position(|&byte| byte == b'\n');
        let end = line.map_or(self.bytes.len(), |line| self.at + line);
        self.skip_to(end, Quoting::Literal, Some(UnsafePosition::Comment));
    }

    /// Reads a word; empty if none starts here.
    pub(super) fn word(&mut self) -> Word {
        let start = self.at;
        let first = self.found.len();
        let mut text = String::new();
        let mut is_quoted = false;
        let mut bare = Vec::new();
        let outer = std::mem::take(&mut self.lead);
        loop {
            let leads = text.bytes().all(|byte| byte == 0);
            if self.reach(Quoting::Bare, &mut text) {
                bare.push((self.found.len() - 1, leads));
                continue;
            }
            match self.peek(0) {
                Some(b'\\') if self.peek(1) == Some(b'\n') => self.at += 2,
                Some(b'\\') => {
                    is_quoted = true;
                    let from = self.at + 1;
                    self.escaped();
                    text.push_str(&String::from_utf8_lossy(&self.bytes[from..self.at]));
                }
                Some(b'\'') => {
                    is_quoted = true;
                    self.single(&mut text);
                }
                Some(b'"') => {
                    is_quoted = true;
                    self.at += 1;
                    self.double(&mut text);
                }
                Some(b'`') => self.backticks(&mut text),
                Some(b'$') => {
                    let from = self.found.len();
                    self.dollar(Quoting::Bare, &mut text);
                    if self.is_reference(from) {
                        bare.push((from, leads));
                    }
                }
                Some(b'<' | b'>') if self.peek(1) == Some(b'(') => {
                    // Output to another process, perhaps by a later command, is not followed.
                    self.is_broken |= self.peek(0) == Some(b'>');
                    self.at += 2;
                    self.nested(b')');
                    text.push('\0');
                }
                // `a=( … )`
                Some(b'(') if text.ends_with('=') && !is_quoted => {
                    self.at += 1;
                    text.push('\0');
                    self.array(&mut text);
                }
                None
                | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>') => {
                    break;
                }
                Some(_) => self.plain(&mut text),
            }
        }
        Word {
            text,
            found: first..self.found.len(),
            bare,
            lead: std::mem::replace(&mut self.lead, outer),
            is_quoted,
            range: start..self.at,
        }
    }

    /// Returns `true` if the only position since `from` is `$name` or `${name}`, just read.
    fn is_reference(&self, from: usize) -> bool {
        let Some([found]) = self.found.get(from..) else {
            return false;
        };
        let end = found.range.end;
        let text = &self.bytes[found.range.clone()];
        let name = text.strip_prefix(b"${").or_else(|| text.strip_prefix(b"$"));
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let closes = text.starts_with(b"${") && self.bytes.get(end) == Some(&b'}');
        let ends = self.at == end + usize::from(closes) && closes == text.starts_with(b"${");
        ends && name.is_some_and(|name| name.iter().all(is_plain))
    }

    /// Reads an ordinary character.
    fn plain(&mut self, text: &mut String) {
        self.steps += 1;
        let from = self.at;
        self.at += 1;
        while self
            .bytes
            .get(self.at)
            .is_some_and(|byte| byte & 0xc0 == 0x80)
        {
            self.at += 1;
        }
        text.push_str(&String::from_utf8_lossy(&self.bytes[from..self.at]));
    }

    fn single(&mut self, text: &mut String) {
        let from = self.at + 1;
        let close = self.bytes[from..].iter().position(|&byte| byte == b'\'');
        let Some(close) = close else {
            self.is_broken = true;
            self.skip_to(
                self.bytes.len(),
                Quoting::Literal,
                Some(UnsafePosition::SingleQuotes),
            );
            return;
        };
        let first = self.found.len();
        self.skip_to(
            from + close,
            Quoting::Literal,
            Some(UnsafePosition::SingleQuotes),
        );
        // Removes the backslash of an escape, which the shell does not do here.
        let mut copied = from;
        for found in self.found[first..]
            .iter()
            .filter(|found| found.kind == ValueKind::Escape)
        {
            text.push_str(&String::from_utf8_lossy(
                &self.bytes[copied..found.range.start],
            ));
            copied = found.range.start + 1;
        }
        text.push_str(&String::from_utf8_lossy(&self.bytes[copied..from + close]));
        self.at += 1;
    }

    /// Reads the rest of a double-quoted text.
    fn double(&mut self, text: &mut String) {
        loop {
            if self.reach(Quoting::Double, text) {
                continue;
            }
            match self.peek(0) {
                None => {
                    self.is_broken = true;
                    return;
                }
                Some(b'"') => {
                    self.at += 1;
                    return;
                }
                Some(b'\\') => {
                    let is_consumed =
                        matches!(self.peek(1), Some(b'"' | b'\\' | b'$' | b'`' | b'\n'));
                    let from = self.at + usize::from(is_consumed);
                    self.escaped();
                    text.push_str(&String::from_utf8_lossy(&self.bytes[from..self.at]));
                }
                Some(b'`') => self.backticks(text),
                Some(b'$') => self.dollar(Quoting::Double, text),
                Some(_) => self.plain(text),
            }
        }
    }

    fn backticks(&mut self, text: &mut String) {
        let mut end = self.at + 1;
        loop {
            match self.bytes.get(end) {
                None => {
                    self.is_broken = true;
                    break;
                }
                Some(b'`') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        let inner = (self.at + 1).min(end)..end.min(self.bytes.len());
        self.backticks.push(inner.clone());
        self.skip_to(inner.end, Quoting::Bare, Some(UnsafePosition::Backticks));
        // Arithmetic is not followed in here either.
        let text_of = String::from_utf8_lossy(&self.bytes[inner.clone()]);
        let calculates = ["((", "$[", "[[", "let "];
        self.limit.arithmetic |= calculates.iter().any(|form| text_of.contains(form));
        // Expansions of the shell's own are not followed in here.
        if self.mentions_bound(inner.clone()) {
            self.push(inner, ValueKind::Argument, None, Quoting::Bare);
            self.mark(
                self.found.len() - 1..self.found.len(),
                UnsafePosition::Backticks,
            );
        }
        self.at = (self.at + 1).min(self.bytes.len());
        text.push('\0');
    }

    fn mentions_bound(&self, range: Range<usize>) -> bool {
        self.bytes[range]
            .split(|&byte| byte == b'$')
            .skip(1)
            .any(|rest| {
                let rest = rest.strip_prefix(b"{").unwrap_or(rest);
                let rest = rest.strip_prefix(b"!").unwrap_or(rest);
                self.is_bound(&rest[..name_length(rest)])
            })
    }

    pub(super) fn is_bound(&self, name: &[u8]) -> bool {
        match name {
            [] => false,
            [b'@' | b'*' | b'_'] | [b'0'..=b'9', ..] => true,
            name if FILLED_BY_THE_SHELL.contains(&name) => true,
            name => std::str::from_utf8(name).is_ok_and(|name| self.known.bound.contains(name)),
        }
    }

    /// Returns `true` if arithmetic that evaluates the name may evaluate a value.
    fn is_evaluated(&self, name: &str) -> bool {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        is_name
            && name != "_"
            && (self.is_bound(name.as_bytes()) || self.known.aliases.contains(name))
    }

    /// Returns `true` if a text has a name that arithmetic would follow to a value.
    pub(super) fn mentions_evaluated(&self, text: &str) -> bool {
        names_in(text).any(|(_, name)| self.is_evaluated(name))
    }

    /// Returns `true` if the shell evaluates what is assigned to a variable.
    pub(super) fn is_integer(&self, name: &str) -> bool {
        self.known.integers.contains(name) || EVALUATED_BY_THE_SHELL.contains(&name)
    }

    /// Records that a part of the script is evaluated as arithmetic, or as the name of a variable. If
    /// the output of a command is evaluated, that output may be a value.
    pub(super) fn note_evaluation(&mut self, range: Range<usize>) {
        if self.limit.arithmetic {
            return;
        }
        self.limit.arithmetic = self.holds_output(range);
    }

    /// Returns `true` if a part of the script contains the output of a command.
    pub(super) fn holds_output(&self, range: Range<usize>) -> bool {
        let text = String::from_utf8_lossy(&self.bytes[range]);
        let runs = text.replace("$((", "").contains("$(") || text.contains('`');
        runs || names_in(&text).any(|(_, name)| self.known.outputs.contains(name))
    }

    /// Refuses a text that is evaluated as arithmetic, or as the name of a variable, if it names a
    /// variable that leads to a value. `range` is where it is in the script.
    pub(super) fn evaluate(&mut self, text: &str, range: Range<usize>) {
        self.steps += text.len();
        self.note_evaluation(range.clone());
        let named = names_in(text).find(|(_, name)| self.is_evaluated(name));
        let Some((_, name)) = named else { return };
        let raw = String::from_utf8_lossy(&self.bytes[range.clone()]);
        let is_whole = raw.len() == range.len();
        let place = names_in(&raw).find(|(_, found)| is_whole && *found == name);
        let range = match place {
            Some((at, _)) => range.start + at..range.start + at + name.len(),
            None => range,
        };
        self.push(range, ValueKind::Argument, None, Quoting::Literal);
        self.mark(
            self.found.len() - 1..self.found.len(),
            UnsafePosition::Arithmetic,
        );
    }

    /// Reads an expansion.
    pub(super) fn dollar(&mut self, quoting: Quoting, text: &mut String) {
        let start = self.at;
        let from = self.found.len();
        let leads = text.bytes().all(|byte| byte == 0);
        let lead = self.lead.len();
        text.push('\0');
        if self.starts_with("$((") {
            self.at += 3;
            self.arithmetic(b"))");
        } else if self.starts_with("$(") {
            self.at += 2;
            self.nested(b')');
        } else if self.starts_with("$[") {
            self.at += 2;
            self.arithmetic(b"]");
        } else if self.starts_with("${") {
            self.at += 2;
            self.braces(quoting);
        } else if self.starts_with("$'") && quoting == Quoting::Bare {
            let mut end = self.at + 2;
            while self.bytes.get(end).is_some_and(|&byte| byte != b'\'') {
                end += if self.bytes[end] == b'\\' { 2 } else { 1 };
            }
            self.is_broken |= end >= self.bytes.len();
            self.skip_to(
                end + 1,
                Quoting::Literal,
                Some(UnsafePosition::SingleQuotes),
            );
        } else if self.starts_with("$\"") && quoting == Quoting::Bare {
            self.at += 2;
            self.double(text);
        } else {
            self.at += 1;
            let rest = &self.bytes[self.at..];
            // Without braces, only one digit belongs to the name.
            let length = match rest.first() {
                Some(byte) if byte.is_ascii_digit() => 1,
                _ => name_length(rest),
            };
            if length == 0 {
                text.pop();
                text.push('$');
                return;
            }
            if self.is_bound(&rest[..length]) {
                self.push(start..self.at + length, ValueKind::Argument, None, quoting);
            }
            self.at += length;
        }
        debug_assert!(from <= self.found.len());
        self.lead.truncate(lead);
        if leads {
            let is_whole = self.is_reference(from);
            let found = from..self.found.len();
            self.lead.extend(found.map(|index| (index, is_whole)));
        }
    }

    /// Reads the rest of `${ … }`.
    fn braces(&mut self, quoting: Quoting) {
        let start = self.at - 2;
        let from = self.found.len();
        let mut is_indirect = false;
        match self.peek(0) {
            Some(b'!') => {
                is_indirect = true;
                self.at += 1;
            }
            Some(b'#') if self.peek(1) != Some(b'}') => self.at += 1,
            _ => {}
        }
        let rest = &self.bytes[self.at..];
        let length = name_length(rest);
        let name = &rest[..length];
        let is_bound = self.is_bound(name);
        let name = String::from_utf8_lossy(name).into_owned();
        self.at += length;
        if is_bound {
            self.push(start..self.at, ValueKind::Argument, None, quoting);
            if is_indirect {
                self.mark(from..from + 1, UnsafePosition::VariableName);
            }
        } else if is_indirect {
            self.evaluate(&name, start..self.at);
        }
        if self.peek(0) == Some(b'[') {
            self.at += 1;
            self.arithmetic(b"]");
        }
        self.limit.cut |= is_bound && self.cuts_beginning();
        if is_bound && self.peek(0) == Some(b'/') {
            self.limit.made = self.limit.made.and(self.replaced());
        }
        match (self.peek(0), self.peek(1)) {
            // `${x@P}` runs commands inside the value.
            (Some(b'@'), _) if is_bound => self.mark(from..from + 1, UnsafePosition::Code("")),
            (Some(b':'), Some(b'-' | b'+' | b'?' | b'=' | b'}') | None) => {}
            (Some(b':'), Some(_)) => {
                self.at += 1;
                self.arithmetic(b"}");
                return;
            }
            _ => {}
        }
        let assigns = self.starts_with("=") || self.starts_with(":=");
        let mut text = String::new();
        loop {
            if self.reach(quoting, &mut text) {
                continue;
            }
            match self.peek(0) {
                None => {
                    self.is_broken = true;
                    break;
                }
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') => self.escaped(),
                Some(b'\'') if quoting == Quoting::Bare => self.single(&mut text),
                Some(b'"') => {
                    self.at += 1;
                    self.double(&mut text);
                }
                Some(b'`') => self.backticks(&mut text),
                Some(b'$') => self.dollar(quoting, &mut text),
                Some(_) => self.at += 1,
            }
        }
        if assigns && self.has_argument(&(from..self.found.len())) {
            if self.is_integer(&name) {
                self.mark(from..self.found.len(), UnsafePosition::Arithmetic);
            }
            self.assigned.push(name);
        }
    }

    /// Returns `true` if the operator at the cursor may remove the beginning of a value other than up
    /// to a separator: `${1#v}`, but not `${1##*/}`.
    fn cuts_beginning(&self) -> bool {
        match (self.peek(0), self.peek(1)) {
            (Some(b'#'), _) => {
                let rest = &self.bytes[self.at..];
                let end = rest.iter().position(|&byte| byte == b'}');
                let last = end.and_then(|end| rest.get(end.checked_sub(1)?));
                !matches!(last, Some(b'/' | b':' | b'=' | b' ' | b'.' | b','))
            }
            (Some(b'/'), _) => true,
            (Some(b':'), Some(byte)) => !b"-+?=}".contains(&byte),
            _ => false,
        }
    }

    /// Returns the beginnings of a value from which the replacement at the cursor, `/a/b}` or
    /// `//a/b}`, may make an option.
    fn replaced(&self) -> MadeFrom {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&byte| byte == b'}');
        let inner = String::from_utf8_lossy(&rest[..end.unwrap_or(rest.len())]).into_owned();
        let pattern = inner.trim_start_matches(['/', '#', '%']);
        let (pattern, replacement) = pattern.split_once('/').unwrap_or((pattern, ""));
        // Without a sign in the replacement, this only removes text; see `cuts_beginning`.
        if !replacement.contains(['-', '+', '@', '$', '`', '\\', '"', '\'']) {
            return MadeFrom::Nothing;
        }
        match pattern.chars().next() {
            Some('[') if pattern[1..].starts_with(['^', '!']) => MadeFrom::Symbols,
            Some(c) if c.is_alphanumeric() || " _.:,".contains(c) => MadeFrom::Char(c),
            _ => MadeFrom::Anything,
        }
    }

    /// Reads arithmetic. Everything in it is evaluated, including names without `$`.
    pub(super) fn arithmetic(&mut self, close: &[u8]) {
        let from = self.found.len();
        let start = self.at;
        if !self.deeper() {
            return;
        }
        let mut open = 0_usize;
        let mut text = String::new();
        loop {
            if self.reach(Quoting::Double, &mut text) {
                continue;
            }
            let Some(byte) = self.peek(0) else {
                self.is_broken = true;
                break;
            };
            if open == 0 && self.bytes[self.at..].starts_with(close) {
                self.at += close.len();
                break;
            }
            match byte {
                b'(' | b'[' | b'{' => {
                    open += 1;
                    self.at += 1;
                }
                b')' | b']' | b'}' => {
                    // `((` that is two subshells, not arithmetic.
                    self.is_broken |= open == 0;
                    open = open.saturating_sub(1);
                    self.at += 1;
                }
                b'\\' => self.escaped(),
                b'\'' => self.single(&mut text),
                b'"' => {
                    self.at += 1;
                    self.double(&mut text);
                }
                b'`' => self.backticks(&mut text),
                b'$' => self.dollar(Quoting::Double, &mut text),
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let length = name_length(&self.bytes[self.at..]);
                    if self.is_bound(&self.bytes[self.at..self.at + length]) {
                        let range = self.at..self.at + length;
                        self.push(range, ValueKind::Argument, None, Quoting::Double);
                    }
                    self.at += length;
                }
                _ => self.at += 1,
            }
        }
        self.depth -= 1;
        self.mark(from..self.found.len(), UnsafePosition::Arithmetic);
        self.note_evaluation(start..self.at.min(self.bytes.len()));
        if !self.known.aliases.is_empty() && !self.has_argument(&(from..self.found.len())) {
            let range = start..self.at;
            let text = String::from_utf8_lossy(&self.bytes[range.clone()]).into_owned();
            self.evaluate(&text, range);
        }
    }

    /// Reads the words of an array up to `)`, and adds them to a text.
    fn array(&mut self, text: &mut String) {
        if !self.deeper() {
            return;
        }
        // A subscript may contain blanks: `[n + 1]=x`.
        let mut has_subscript = false;
        loop {
            self.blanks();
            match self.peek(0) {
                Some(b')') => {
                    self.at += 1;
                    break;
                }
                Some(b'\n') => self.at += 1,
                Some(b'#') => self.comment(),
                _ => {
                    let word = self.word();
                    if word.range.is_empty() {
                        self.is_broken = true;
                        break;
                    }
                    // `[$1]=x`, `[n]=x`
                    if word.text.starts_with('[') {
                        has_subscript = true;
                        self.mark(word.found.clone(), UnsafePosition::Arithmetic);
                    }
                    if has_subscript {
                        self.evaluate(&word.text, word.range.clone());
                    }
                    text.push_str(&word.text);
                    text.push('\0');
                }
            }
        }
        self.depth -= 1;
    }

    /// Reads the commands inside `$( … )` and similar constructs.
    pub(super) fn nested(&mut self, close: u8) {
        if !self.deeper() {
            return;
        }
        if self.list(Some(close)) != Ending::Closed {
            self.is_broken = true;
        }
        self.depth -= 1;
    }

    /// Enters a nesting level. At the deepest level the rest of the script is refused.
    pub(super) fn deeper(&mut self) -> bool {
        if self.depth == DEEPEST {
            self.is_broken = true;
            self.skip_to(
                self.bytes.len(),
                Quoting::Bare,
                Some(UnsafePosition::Unclear),
            );
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn has_argument(&self, range: &Range<usize>) -> bool {
        self.found[range.clone()]
            .iter()
            .any(|found| found.kind == ValueKind::Argument)
    }

    /// Records a here-document; its delimiter is the next word.
    pub(super) fn announce_document(&mut self, is_indented: bool) {
        self.blanks();
        let word = self.word();
        self.mark(word.found.clone(), UnsafePosition::HereDocument);
        self.is_broken |= word.range.is_empty() || word.text.contains('\0');
        let quoting = if word.is_quoted {
            Quoting::Literal
        } else {
            Quoting::Double
        };
        self.documents.push(Document {
            delimiter: word.text,
            is_indented,
            quoting,
        });
    }

    /// Reads the here-documents after this line break. Returns their positions.
    pub(super) fn read_documents(&mut self) -> Range<usize> {
        let from = self.found.len();
        for document in std::mem::take(&mut self.documents) {
            self.read_document(&document);
        }
        self.mark(from..self.found.len(), UnsafePosition::HereDocument);
        from..self.found.len()
    }

    fn read_document(&mut self, document: &Document) {
        let start = self.at;
        let mut line_start = start;
        let end = loop {
            if line_start >= self.bytes.len() {
                // Never closed: bash reads to the end and warns.
                break None;
            }
            let rest = &self.bytes[line_start..];
            let length = rest
                .iter()
                .position(|&byte| byte == b'\n')
                .unwrap_or(rest.len());
            let mut line = &rest[..length];
            while document.is_indented && line.first() == Some(&b'\t') {
                line = &line[1..];
            }
            if line == document.delimiter.as_bytes() {
                break Some((line_start, (line_start + length + 1).min(self.bytes.len())));
            }
            line_start += length + 1;
        };
        let (text_end, next) = end.unwrap_or((self.bytes.len(), self.bytes.len()));
        if document.quoting == Quoting::Literal {
            self.quoted_documents.push(start..text_end);
            self.skip_to(text_end, Quoting::Literal, None);
        } else {
            let mut text = String::new();
            while self.at < text_end {
                if self.reach(Quoting::Double, &mut text) {
                    continue;
                }
                match self.bytes[self.at] {
                    b'\\' => self.escaped(),
                    b'`' => self.backticks(&mut text),
                    b'$' => self.dollar(Quoting::Double, &mut text),
                    _ => self.at += 1,
                }
            }
            self.is_broken |= self.at > text_end;
        }
        self.at = self.at.max(next);
    }
}

/// Returns the length of the name or special parameter at the start of a text.
pub(super) fn name_length(text: &[u8]) -> usize {
    match text.first() {
        Some(byte) if byte.is_ascii_digit() => {
            text.iter().take_while(|byte| byte.is_ascii_digit()).count()
        }
        Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => text
            .iter()
            .take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_')
            .count(),
        Some(b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') => 1,
        _ => 0,
    }
}

/// Returns the names in a text, each with its offset.
fn names_in(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text.get(from..)?.find(is_part)?;
        let rest = &text[start..];
        from = start + rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        Some((start, &text[start..from]))
    })
}
