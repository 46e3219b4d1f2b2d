//! Reads commands: pipelines, groups, redirections, `case`, `[[ … ]]`.

use super::scan::{Scanner, Word};
use super::{PlainWord, UnsafePosition};

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The end of the script.
    End,
    /// The bracket that closes these commands.
    Closed,
    /// `;`, `&&`, a line break and similar separators.
    Separator,
    /// The end of one branch of `case`.
    Branch,
    /// `|`
    Pipe,
    /// `case … in`
    CaseIn,
    /// The `)` after the pattern of a branch.
    Pattern,
}

/// An open group of commands.
struct Group {
    is_case: bool,
    /// `true` if the pattern of a branch comes next.
    awaits_pattern: bool,
    /// Index of the first position in the pipeline of the group.
    pipeline: usize,
    /// The input of the group; see [`Scanner::inflow`].
    inflow: usize,
    /// Number of readers of code before the group.
    readers: usize,
}

/// The expected continuation, possibly on a later line.
#[derive(Clone, Copy)]
struct Expects {
    /// The pattern of a branch.
    pattern: bool,
    /// The command after a pipe.
    command: bool,
}

/// Deepest nesting of groups.
const MOST_GROUPS: usize = 64;

/// A simple command.
#[derive(Default)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<Word>,
    /// The words after `<` and `<<<`.
    pub(super) inputs: Vec<Word>,
    /// The words after `>` and similar signs, without the descriptors after `>&`.
    pub(super) outputs: Vec<Word>,
    /// `true` for a group that reads code from its input.
    pub(super) reads_code: bool,
    /// The end of the last word or redirection.
    pub(super) end: usize,
}

/// Returns `true` if a word after `>&` is a descriptor and not a file: `1`, `1-`, `-`.
fn is_descriptor(word: &Word) -> bool {
    let digits = word.text.strip_suffix('-').unwrap_or(&word.text);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    word.found.is_empty() && !word.text.is_empty() && is_number
}

impl Scanner<'_> {
    /// Reads commands up to the closing bracket, or to the end of the script.
    pub(super) fn list(&mut self, close: Option<u8>) -> Ending {
        let outer = self.inflow;
        let mut groups: Vec<Group> = Vec::new();
        let mut pipeline = self.found.len();
        let mut is_piped = false;
        loop {
            let first = self.found.len();
            let awaits = groups.last().is_some_and(|group| group.awaits_pattern);
            let base = groups.last().map_or(outer, |group| group.inflow);
            let base = base.min(self.redirected);
            self.inflow = if is_piped { base.min(pipeline) } else { base };
            let expects = Expects {
                pattern: awaits,
                command: is_piped,
            };
            let (simple, ending) = self.simple(close, expects, &mut groups, &mut pipeline);
            if !awaits || ending != Ending::Pattern {
                self.judge_simple(&simple, first);
            }
            match ending {
                Ending::End | Ending::Closed => {
                    self.inflow = outer;
                    return ending;
                }
                Ending::Pipe => {
                    is_piped = true;
                    continue;
                }
                Ending::CaseIn => {
                    let group = self.group(pipeline);
                    groups.push(Group {
                        is_case: true,
                        awaits_pattern: true,
                        ..group
                    });
                }
                Ending::Pattern => {
                    if let Some(group) = groups.last_mut() {
                        group.awaits_pattern = false;
                    }
                }
                Ending::Branch => match groups.last_mut().filter(|group| group.is_case) {
                    Some(group) => group.awaits_pattern = true,
                    None => self.is_broken = true,
                },
                Ending::Separator => {}
            }
            is_piped = false;
            pipeline = self.found.len();
            if groups.len() > MOST_GROUPS {
                self.is_broken = true;
                groups.clear();
            }
        }
    }

    /// Reads one command to its end. Reserved words open and close groups.
    fn simple(
        &mut self,
        close: Option<u8>,
        expects: Expects,
        groups: &mut Vec<Group>,
        pipeline: &mut usize,
    ) -> (SimpleCommand, Ending) {
        let awaits_pattern = expects.pattern;
        let mut simple = SimpleCommand::default();
        let mut is_comment = false;
        let ending = loop {
            if !is_comment {
                simple.end = self.at;
            }
            self.blanks();
            match (self.peek(0), self.peek(1)) {
                (None, _) => break Ending::End,
                (Some(b'\n'), _) => {
                    self.at += 1;
                    self.read_documents();
                    let is_empty = simple.words.is_empty() && simple.inputs.is_empty();
                    if is_empty && (awaits_pattern || expects.command) {
                        continue;
                    }
                    break Ending::Separator;
                }
                (Some(b'\r'), Some(b'\n')) => self.at += 1,
                (Some(b';'), Some(b';' | b'&')) => {
                    self.at += if self.starts_with(";;&") { 3 } else { 2 };
                    break Ending::Branch;
                }
                (Some(b';'), _) => {
                    self.at += 1;
                    break Ending::Separator;
                }
                (Some(b'&'), Some(b'>')) => {
                    self.at += 2;
                    self.at += usize::from(self.peek(0) == Some(b'>'));
                    let word = self.target();
                    simple.outputs.push(word);
                }
                (Some(b'&'), next) => {
                    self.at += if next == Some(b'&') { 2 } else { 1 };
                    break Ending::Separator;
                }
                (Some(b'|'), _) if awaits_pattern => self.at += 1,
                (Some(b'|'), Some(b'|')) => {
                    self.at += 2;
                    break Ending::Separator;
                }
                (Some(b'|'), next) => {
                    self.at += if next == Some(b'&') { 2 } else { 1 };
                    break Ending::Pipe;
                }
                (Some(b')'), _) if awaits_pattern => {
                    self.at += 1;
                    break Ending::Pattern;
                }
                (Some(b')'), _) => {
                    self.at += 1;
                    self.is_broken |= close != Some(b')') || !groups.is_empty();
                    break Ending::Closed;
                }
                (Some(b'('), _) if awaits_pattern && simple.words.is_empty() => self.at += 1,
                (Some(b'('), _) => {
                    if self.parenthesis(&mut simple) {
                        break Ending::Separator;
                    }
                }
                (Some(b'#'), _) => {
                    is_comment = true;
                    self.comment();
                }
                (Some(b'<' | b'>'), Some(b'(')) => {
                    let word = self.word();
                    simple.words.push(word);
                }
                (Some(b'<'), _) => self.input(&mut simple),
                (Some(b'>'), next) => {
                    self.at += if matches!(next, Some(b'>' | b'&' | b'|')) {
                        2
                    } else {
                        1
                    };
                    let word = self.target();
                    if next != Some(b'&') || !is_descriptor(&word) {
                        simple.outputs.push(word);
                    }
                }
                _ => {
                    let word = self.word();
                    if word.range.is_empty() {
                        self.is_broken = true;
                        self.at += 1;
                        continue;
                    }
                    if awaits_pattern {
                        if simple.words.is_empty() && word.text == "esac" && !word.is_quoted {
                            simple.reads_code = self.close_group(groups, pipeline);
                            // What follows belongs to the group: a redirection or a pipe.
                            return (simple, self.after_group());
                        }
                        simple.words.push(word);
                        continue;
                    }
                    if simple.words.is_empty()
                        && self.reserved(&word, groups, pipeline, &mut simple)
                    {
                        continue;
                    }
                    // `2>file`: the number belongs to the redirection.
                    let is_number = !word.text.is_empty()
                        && word.text.bytes().all(|byte| byte.is_ascii_digit());
                    if is_number && !word.is_quoted && matches!(self.peek(0), Some(b'<' | b'>')) {
                        continue;
                    }
                    let is_case = simple.words.len() == 2
                        && simple.words[0].text == "case"
                        && word.text == "in";
                    simple.words.push(word);
                    if is_case {
                        break Ending::CaseIn;
                    }
                }
            }
        };
        (simple, ending)
    }

    /// Reads a pipe after `esac`.
    fn after_group(&mut self) -> Ending {
        self.blanks();
        match (self.peek(0), self.peek(1)) {
            (Some(b'|'), next) if next != Some(b'|') => {
                self.at += 1;
                Ending::Pipe
            }
            _ => Ending::Separator,
        }
    }

    /// Handles a reserved word before a command. Returns `true` if it was one.
    fn reserved(
        &mut self,
        word: &Word,
        groups: &mut Vec<Group>,
        pipeline: &mut usize,
        simple: &mut SimpleCommand,
    ) -> bool {
        if word.is_quoted {
            return false;
        }
        match word.text.as_str() {
            "!" | "then" | "else" | "elif" | "do" | "time" => true,
            "coproc" => {
                // Later writes to it are not followed.
                self.is_broken = true;
                true
            }
            "{" | "if" | "while" | "until" => {
                groups.push(self.group(*pipeline));
                true
            }
            "}" | "fi" | "done" | "esac" => {
                self.is_broken |= groups.is_empty();
                simple.reads_code |= self.close_group(groups, pipeline);
                true
            }
            "for" | "select" => {
                groups.push(self.group(*pipeline));
                false
            }
            "function" => {
                self.has_functions = true;
                self.blanks();
                let _ = self.word();
                true
            }
            "[[" => {
                self.conditions();
                true
            }
            _ => false,
        }
    }

    /// Reads an opening parenthesis. Returns `true` if the command ends with it.
    fn parenthesis(&mut self, simple: &mut SimpleCommand) -> bool {
        let is_loop = matches!(simple.words.as_slice(), [word] if word.text == "for");
        if self.starts_with("((") && (simple.words.is_empty() || is_loop) {
            self.at += 2;
            self.arithmetic(b"))");
            return false;
        }
        if simple.words.is_empty() {
            self.at += 1;
            let readers = self.readers;
            self.nested(b')');
            simple.reads_code |= self.readers > readers;
            return false;
        }
        // `name ()` defines a function.
        let closes = self.bytes[self.at + 1..]
            .iter()
            .position(|&byte| byte != b' ');
        if let (Some(blanks), 1) = (closes, simple.words.len())
            && self.bytes[self.at + 1 + blanks] == b')'
        {
            self.at += blanks + 2;
            self.has_functions = true;
            simple.words.clear();
            return true;
        }
        self.is_broken = true;
        self.at += 1;
        false
    }

    /// Reads an input redirection.
    fn input(&mut self, simple: &mut SimpleCommand) {
        if self.starts_with("<<<") {
            self.at += 3;
            let word = self.target();
            simple.inputs.push(word);
        } else if self.starts_with("<<") {
            let is_indented = self.starts_with("<<-");
            self.at += if is_indented { 3 } else { 2 };
            self.announce_document(is_indented);
        } else {
            self.at += if matches!(self.peek(1), Some(b'&' | b'>')) {
                2
            } else {
                1
            };
            let word = self.target();
            simple.inputs.push(word);
        }
    }

    /// Reads the word after a redirection.
    fn target(&mut self) -> Word {
        self.blanks();
        let word = self.word();
        self.is_broken |= word.range.is_empty();
        for &(index, _) in &word.bare {
            if let Some(found) = self.found.get_mut(index) {
                found.plain = Some(PlainWord::Data);
            }
        }
        word
    }

    /// Reads `[[ … ]]`. Its numeric comparisons are arithmetic.
    fn conditions(&mut self) {
        let from = self.found.len();
        let mut evaluates = false;
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.blanks();
            match self.peek(0) {
                None => {
                    self.is_broken = true;
                    break;
                }
                Some(b'<' | b'>') if self.peek(1) == Some(b'(') => {
                    let _ = self.word();
                }
                Some(b'#') => self.comment(),
                Some(b'\n' | b'(' | b')' | b'<' | b'>' | b'&' | b'|' | b';') => self.at += 1,
                Some(_) => {
                    let word = self.word();
                    match word.text.as_str() {
                        "]]" => break,
                        "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R" => {
                            evaluates = true;
                        }
                        _ => {}
                    }
                    words.push(word);
                }
            }
        }
        if evaluates {
            self.mark(from..self.found.len(), UnsafePosition::Arithmetic);
        }
        // A bare name is evaluated too: `[[ issue -eq 1 ]]`, `[[ -v list[issue] ]]`.
        for at in 0..words.len() {
            let operands = match words[at].text.as_str() {
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => [at.checked_sub(1), Some(at + 1)],
                "-v" | "-R" => [None, Some(at + 1)],
                _ => continue,
            };
            for operand in operands.into_iter().flatten() {
                let is_name = operands[0].is_none();
                let Some(word) = words.get(operand) else {
                    continue;
                };
                self.note_evaluation(word.range.clone());
                let word = &words[operand];
                if !is_name || word.text.contains('[') {
                    self.evaluate(&word.text, word.range.clone());
                }
                if word.text.contains('\0') {
                    let raw = &self.bytes[word.range.clone()];
                    let raw = String::from_utf8_lossy(raw).into_owned();
                    self.evaluate(&raw, word.range.clone());
                }
            }
        }
    }

    fn group(&self, pipeline: usize) -> Group {
        let (inflow, readers) = (self.inflow, self.readers);
        Group {
            is_case: false,
            awaits_pattern: false,
            pipeline,
            inflow,
            readers,
        }
    }

    /// Closes a group. A pipe after it receives the output of all its commands. Returns `true` if a
    /// command in it reads code.
    fn close_group(&self, groups: &mut Vec<Group>, pipeline: &mut usize) -> bool {
        groups.pop().is_some_and(|group| {
            *pipeline = group.pipeline;
            self.readers > group.readers
        })
    }
}
