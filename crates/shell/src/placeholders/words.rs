//! Judges the words of a command by what its program does with them.

use super::commands::SimpleCommand;
use super::scan::{CodeFiles, Scan, Scanner, Word, name_length};
use super::value_limit::MadeFrom;
use super::{
    JudgedPosition, PlainWord, Quoting, UnsafePosition, ValueKind, ValueLimit, judge_script,
};
use crate::programs::code::{Code, decides_for_others};
use crate::programs::{
    EffectHit, ProgramEffect, UNKNOWN, changes_files, changes_folder, code_of,
    ends_options_at_dashes, folder_words, inspect, is_input, opens_operands, reads_folder,
    runs_operands, starts_programs, word_limits,
};

/// Deepest nesting of code inside code that is judged.
const DEEPEST_CODE: usize = 3;
/// Most words of a command that are looked up in the option table.
const MAX_WORDS: usize = 4096;
/// Begins the name of a new file, which is no other file that the script names.
const MADE_BY_MKTEMP: char = '\u{1}';

impl Scanner<'_> {
    /// Judges the positions in a command, from index `first` on, and in its input.
    pub(super) fn judge_simple(&mut self, simple: &SimpleCommand, first_position: usize) {
        let mut words = simple.words.as_slice();
        while let Some((word, rest)) = words.split_first().filter(|(word, _)| is_assignment(word)) {
            self.assignment(word);
            words = rest;
        }
        if let Some(word) = words.first() {
            self.split_subscript(word, simple.end);
        }
        if let Some(first) = words.first()
            && (first.is_quoted || !matches!(first.text.as_str(), "case" | "for" | "select"))
        {
            self.commands.push(first.range.start..simple.end);
            self.note_values(words);
        }
        self.note_written(words, simple, first_position);
        self.note_folder(words);
        self.note_escapes(words);
        let mut reads_code = simple.reads_code;
        match words.first().map(|word| word.text.as_str()) {
            None | Some("case") => {}
            Some("for" | "select") => self.for_loop(words),
            Some(_) if self.program(words) => {
                reads_code = true;
                self.readers += 1;
                let is_short = words.len() <= MAX_WORDS;
                self.files.expands_input |= is_short && word_limits(&plain_words(words)).settings;
                self.mark_inflow(first_position);
                let inputs = self.files.inputs.clone();
                self.files.run.extend(inputs);
            }
            Some(_) => {}
        }
        if reads_code {
            for input in &simple.inputs {
                self.mark(input.found.clone(), self.code());
                self.runs_file(input);
            }
            // What it reads may come from a file with a value, by a pipe that is not followed.
            self.files.runs_output = true;
        }
        // `exec < file` is the input of everything that follows.
        if let [only] = words
            && only.text == "exec"
        {
            for input in &simple.inputs {
                self.redirected = self.redirected.min(input.found.start);
                self.files.inputs.push(input.text.clone());
            }
        }
    }

    /// Records that a command decodes escapes in what it prints: `printf %b`, `echo -e`.
    fn note_escapes(&mut self, words: &[Word]) {
        let Some((first, rest)) = words.split_first() else {
            return;
        };
        let decodes = match first.text.as_str() {
            "printf" => rest.iter().any(|word| word.text.contains("%b")),
            "echo" => {
                let mut options = rest.iter().take_while(|word| word.text.starts_with('-'));
                options.any(|word| word.text.contains('e'))
            }
            _ => false,
        };
        if decodes {
            self.limit.made = self.limit.made.and(MadeFrom::Escapes);
        }
    }

    /// Records the files that a command writes.
    fn note_written(&mut self, words: &[Word], simple: &SimpleCommand, first_position: usize) {
        /// Targets that are not files.
        const NO_FILES: [&str; 3] = ["/dev/null", "/dev/stderr", "/dev/stdout"];
        let is_file = |word: &&Word| !NO_FILES.contains(&word.text.as_str());
        let mut written: Vec<&Word> = simple.outputs.iter().filter(is_file).collect();
        if words.len() <= MAX_WORDS && changes_files(&plain_words(words)) {
            written.extend(words.iter().skip(1));
        }
        // Code in the command itself may write the operands after it: `python3 -c '…' "$1" out`.
        if let [program, option, _, operands @ ..] = words
            && let Some((_, Code::Interpreter { letters, .. })) = code_of(&program.text)
            && option
                .text
                .strip_prefix('-')
                .is_some_and(|given| given.contains(|c| letters.contains(c)))
        {
            written.extend(
                operands
                    .iter()
                    .filter(|word| !self.has_argument(&word.found)),
            );
        }
        if written.is_empty() {
            return;
        }
        // A redirection without a command belongs to the group before it.
        let from = match words {
            [] => 0,
            _ => self.inflow.min(first_position),
        };
        // `exec > file` is the output of everything that follows.
        let is_exec = matches!(words, [only] if only.text == "exec");
        self.files.stores_value |= is_exec || self.has_argument(&(from..self.found.len()));
        for word in written {
            let names_value = self.has_argument(&word.found);
            for name in self.file_names(word) {
                self.files.written.push((name, names_value));
            }
        }
    }

    /// Records that a word is code: `python3 -c "$(cat f)"`. Its text may come from a file.
    fn takes_code(&mut self, word: &Word) {
        self.files.runs_output |= self.holds_output(word.range.clone());
    }

    /// Records that a command runs a file or takes instructions from it.
    fn runs_file(&mut self, word: &Word) {
        let names = self.file_names(word);
        self.files.run.extend(names);
        // `. <(cat f)`
        self.files.runs_output |= self.bytes[word.range.clone()].starts_with(b"<(");
    }

    /// Returns the names of the file that a word names. If the word is a variable, these are the
    /// texts that were assigned to it.
    fn file_names(&self, word: &Word) -> Vec<String> {
        let raw = String::from_utf8_lossy(&self.bytes[word.range.clone()]);
        let raw = raw.trim_matches('"');
        let name = raw.strip_prefix('$').unwrap_or_default();
        let name = name
            .strip_prefix('{')
            .and_then(|name| name.strip_suffix('}'))
            .unwrap_or(name);
        let assigned = self.texts.iter().filter(|(known, _)| known == name);
        let texts: Vec<String> = assigned.map(|(_, text)| text.clone()).collect();
        if texts.is_empty() || self.has_functions {
            vec![word.text.clone()]
        } else {
            texts
        }
    }

    /// Records that a command changes to a folder that a value names, or runs what it finds in the
    /// working folder.
    fn note_folder(&mut self, words: &[Word]) {
        let Some((first, rest)) = words.split_first() else {
            return;
        };
        if changes_folder(&first.text) {
            let entered = rest.iter().map(|word| word.found.clone());
            let entered: Vec<_> = entered.filter(|found| self.has_argument(found)).collect();
            self.files.entered.extend(entered);
        }
        self.files.runs_folder |= words.iter().any(|word| reads_folder(&word.text));
        // git runs what the configuration of the repository says.
        let is_git = |word: &Word| matches!(code_of(&word.text), Some(("git", _)));
        self.files.runs_folder |=
            is_git(first) || starts_programs(&first.text) && rest.iter().any(is_git);
        if words.len() > MAX_WORDS {
            return;
        }
        let plain = plain_words(words);
        self.files.expands_variables |= word_limits(&plain).settings;
        for at in folder_words(&plain) {
            let found = words.get(at).map(|word| word.found.clone());
            if let Some(found) = found.filter(|found| self.has_argument(found)) {
                self.mark(found, UnsafePosition::ScriptFile);
            }
        }
    }

    /// Refuses all values if one is written to a file that may be run, and values that name the
    /// folder in which something is found and run. Returns the files, for the script around this one.
    pub(super) fn judge_files(&mut self) -> CodeFiles {
        let files = std::mem::take(&mut self.files);
        let is_relative = |run: &String| !run.starts_with(['/', '\0', MADE_BY_MKTEMP]);
        if files.runs_folder || files.run.iter().any(is_relative) {
            for found in &files.entered {
                self.mark(found.clone(), UnsafePosition::ScriptFile);
            }
        }
        let is_run = |(written, names_value): &(String, bool)| {
            let may_be = |run: &String| may_be_same(written, run, *names_value);
            files.run.iter().any(may_be)
        };
        if files.stores_value && (files.runs_output || files.written.iter().any(is_run)) {
            self.mark(0..self.found.len(), UnsafePosition::Code(""));
        }
        self.limit.option |= files.stores_value && files.uses_output;
        // `V="$1" make`: a rule of the makefile may expand it.
        if files.expands_variables && !self.assigned.is_empty() {
            self.limit.expansion = true;
            if files.expands_input {
                self.mark(0..self.found.len(), UnsafePosition::Code("make"));
            }
        }
        files
    }

    /// Records the values in the words of a command: unquoted ones may be quoted, and those with
    /// which a word begins must not become options.
    fn note_values(&mut self, words: &[Word]) {
        if words.iter().all(|word| word.found.is_empty()) {
            self.note_output(words, false);
            return;
        }
        // Too many words are refused elsewhere.
        let plain = plain_words(&words[..words.len().min(MAX_WORDS)]);
        let limits = word_limits(&plain);
        let values = inspect(&plain).values;
        self.steps += words.len();
        self.note_output(words, limits.only_data);
        self.renumbers |= words[0].text == "set" || words[0].text == "shift";
        let mut is_protected = false;
        for (at, word) in words.iter().enumerate() {
            let is_operand = at > 0;
            for &(index, leads) in &word.bare {
                let plain = if leads && is_operand && !is_protected {
                    PlainWord::Leading
                } else {
                    PlainWord::Data
                };
                if let Some(found) = self.found.get_mut(index) {
                    found.plain = Some(plain);
                }
            }
            for &(index, is_whole) in word.lead.iter().filter(|_| is_operand && !is_protected) {
                let Some(found) = self.found.get_mut(index) else {
                    continue;
                };
                // Quotes around a value that only prints or compares it are enough.
                let is_data = limits.only_data || values.contains(&at);
                let is_bare = word.bare.iter().any(|&(bare, _)| bare == index);
                if is_data && !is_bare {
                    continue;
                }
                found.is_whole = is_whole && (found.limit.is_empty() || found.is_whole);
                found.limit.add(ValueLimit {
                    option: true,
                    signs: limits.signs,
                    ..ValueLimit::default()
                });
            }
            if limits.settings && is_operand {
                let has_name = word
                    .text
                    .split('\0')
                    .next()
                    .unwrap_or_default()
                    .contains('=');
                for found in &mut self.found[word.found.clone()] {
                    found.limit.add(ValueLimit {
                        setting: !has_name,
                        expansion: true,
                        ..ValueLimit::default()
                    });
                }
            }
            is_protected |= is_operand && word.text == "--" && ends_options(words);
        }
    }

    /// Records that a word begins with the output of a command, which may come from a file with a
    /// value, so that it may be an option.
    fn note_output(&mut self, words: &[Word], only_data: bool) {
        let Some(first) = words.first().filter(|_| !only_data) else {
            return;
        };
        let may_be =
            |word: &&Word| word.text.starts_with('\0') && self.holds_output(word.range.clone());
        let operands = words.iter().skip(1).take_while(|word| word.text != "--");
        let is_data = word_limits(&[crate::Word::plain(&*first.text)]).only_data;
        self.files.uses_output |= !is_data && operands.into_iter().any(|word| may_be(&word));
    }

    fn mark_inflow(&mut self, end: usize) {
        if self.inflow >= end {
            return;
        }
        let is_known = self.fed.start <= self.inflow && self.inflow <= self.fed.end;
        let start = if is_known { self.fed.end } else { self.inflow };
        self.mark(start..end.max(start), self.code());
        self.fed = if is_known {
            self.fed.start..end.max(start)
        } else {
            self.inflow..end
        };
    }

    fn for_loop(&mut self, words: &[Word]) {
        let Some((name, values)) = words.get(1..).and_then(<[Word]>::split_first) else {
            return;
        };
        match values.first() {
            // `for x; do` goes through the positionals.
            None => self.assigned.push(name.text.clone()),
            // `for x do …`: the words after `do` are a command.
            Some(word) if word.text == "do" && !word.is_quoted => self.is_broken = true,
            Some(_) => {}
        }
        for word in values {
            self.assigns(&name.text, word, &word.text);
        }
        // `for $1 in …` is not valid.
        self.mark(name.found.clone(), UnsafePosition::Unclear);
    }

    fn mark_all(&mut self, words: &[Word], reason: UnsafePosition) {
        for word in words {
            self.mark(word.found.clone(), reason);
        }
    }

    /// Records that a word is assigned to a variable: a value, or the name of a variable that leads
    /// to one.
    fn assigns(&mut self, name: &str, word: &Word, text: &str) {
        let is_integer = self.is_integer(name);
        if self.has_argument(&word.found) {
            if is_integer {
                self.mark(word.found.clone(), UnsafePosition::Arithmetic);
            }
            self.assigned.push(name.to_owned());
            return;
        }
        if self.holds_output(word.range.clone()) {
            self.outputs.push(name.to_owned());
        }
        if is_integer {
            self.evaluate(text, word.range.clone());
        } else if self.mentions_evaluated(text) {
            self.aliases.push(name.to_owned());
        }
    }

    /// Refuses `list[n + 1]=x` and `'list[n]'` if the subscript leads to a value.
    fn subscript(&mut self, word: &Word) {
        let target = word.text.split('=').next().unwrap_or_default();
        if let Some((_, subscript)) = target.split_once('[') {
            self.evaluate(subscript, word.range.clone());
        }
    }

    /// Refuses a subscript with blanks, which is one word for the shell: `list[n + 1]=x`.
    fn split_subscript(&mut self, word: &Word, end: usize) {
        let is_open = word
            .text
            .split_once('[')
            .is_some_and(|(name, rest)| is_name(name) && !rest.contains(']'));
        if is_open && !word.is_quoted {
            let range = word.range.start..end.max(word.range.end);
            let text = String::from_utf8_lossy(&self.bytes[range.clone()]).into_owned();
            self.evaluate(&text, range);
        }
    }

    fn assignment(&mut self, word: &Word) {
        let (target, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
        let target = target.trim_end_matches('+');
        let name = target.split('[').next().unwrap_or(target);
        self.subscript(word);
        self.assigns(name, word, value);
        self.note_text(name, value, word);
        // `PS4='$((x))'` is expanded for each command after `set -x`.
        if name == "PS4" && word.text.contains(['$', '`', '\0']) {
            self.refuse(word, UnsafePosition::Environment);
        }
        if !self.has_argument(&word.found) {
            return;
        }
        if target.contains('\0') {
            self.mark(word.found.clone(), UnsafePosition::Arithmetic);
        }
        if decides_for_others(name) {
            self.mark(word.found.clone(), UnsafePosition::Environment);
        }
    }

    /// Records what is assigned to a variable, as far as it is known.
    fn note_text(&mut self, name: &str, value: &str, word: &Word) {
        // `BASH_ENV=f`, `GIT_CONFIG_GLOBAL=f`
        let names_file = value.contains('/') || value.contains('\0') && name != "IFS";
        self.files.runs_output |= names_file && decides_for_others(name);
        let raw = String::from_utf8_lossy(&self.bytes[word.range.clone()]);
        let raw = raw.split_once('=').map_or("", |(_, raw)| raw);
        let text = if raw.trim_matches('"').starts_with("$(mktemp") {
            format!("{MADE_BY_MKTEMP}{name}")
        } else {
            value.to_owned()
        };
        self.texts.push((name.to_owned(), text));
    }

    /// Judges the words of a command, its program first. Returns `true` if it takes its standard
    /// input for code.
    fn program(&mut self, words: &[Word]) -> bool {
        let Some((first, rest)) = words.split_first() else {
            return false;
        };
        if self.has_argument(&first.found) {
            self.mark(first.found.clone(), UnsafePosition::Program);
            self.mark_all(rest, UnsafePosition::Program);
            return false;
        }
        let name = first.text.rsplit('/').next().unwrap_or(&first.text);
        if first.text.contains(['/', '\0']) {
            self.runs_file(first);
            self.files.runs_output |= self.holds_output(first.range.clone());
        }
        // `{eval,x}` and `/bin/b?sh` become something else.
        let is_pattern = !first.is_quoted && name.len() > 1 && name.contains(['{', '*', '?', '[']);
        if name.contains('\0') || is_pattern {
            // A program that is only known when the script runs may be any interpreter, or missing.
            self.mark_all(rest, UnsafePosition::Unclear);
            return true;
        }
        let (listed, code) = code_of(name).unwrap_or(("", Code::AsListed));
        let outer = std::mem::replace(&mut self.interpreter, listed);
        let mut reads_code = self.known_program(code, words, rest);
        if words.len() <= MAX_WORDS && !matches!(code, Code::Wrapper { .. } | Code::Command) {
            let report = inspect(&plain_words(words));
            // `make -f -`, `awk -f -`
            reads_code |= report.takes_input;
            // `awk '{system($0)}'`: what it reads becomes code.
            let runs = |hit: &EffectHit| {
                let text = words.get(hit.at).map_or("", |word| word.text.as_str());
                let starts = ["system", "|", "getline"];
                let is_active = listed.ends_with("sed") || starts.iter().any(|s| text.contains(s));
                hit.effect == ProgramEffect::Runs && is_active
            };
            if matches!(code, Code::First { .. }) && report.hits.iter().any(runs) {
                self.mark_all(rest, self.code());
                reads_code = true;
            }
            // A value that is a subcommand chooses what runs.
            let subcommands = report.subcommands.iter().filter_map(|&at| words.get(at));
            for word in subcommands.filter(|word| is_value(word)) {
                self.mark(word.found.clone(), UnsafePosition::Program);
            }
            for word in report.sources.iter().filter_map(|&at| words.get(at)) {
                self.runs_file(word);
                if self.has_argument(&word.found) {
                    self.mark(word.found.clone(), UnsafePosition::ScriptFile);
                }
            }
            for word in report.code.iter().filter_map(|&at| words.get(at)) {
                self.takes_code(word);
            }
            // `git -c include.path=f status`
            let configures = |hit: &&EffectHit| hit.effect == ProgramEffect::Configures;
            for hit in report.hits.iter().filter(configures) {
                let named = words.iter().skip(hit.at.max(1)).take(2);
                let values = named.map(|word| word.text.rsplit('=').next().unwrap_or_default());
                self.files.run.extend(values.map(str::to_owned));
            }
        }
        if !reads_code {
            // The caller marks the input of a program that reads code with the name of that
            // program.
            self.interpreter = outer;
        }
        reads_code
    }

    /// Judges the words after a program by the positions in which it takes code. Returns `true` if
    /// it takes its standard input for code.
    fn known_program(&mut self, code: Code, words: &[Word], rest: &[Word]) -> bool {
        if code == Code::AsListed {
            self.listed_code(words, true);
            let reads_code = self.somewhere_behind(rest);
            return reads_code || self.has_functions && self.readers > 0;
        }
        match code {
            Code::Interpreter { .. } | Code::First { .. } => self.listed_code(words, false),
            Code::Options { .. } => self.listed_code(words, true),
            _ => {}
        }
        let reads_code = self.takes(code, rest);
        let vanishing = rest.iter().position(|word| self.may_vanish(word));
        let counts_words = !matches!(
            code,
            Code::Everything
                | Code::Options { .. }
                | Code::VariableNames
                | Code::Assignments
                | Code::Printf
        );
        match vanishing {
            Some(at) if counts_words => {
                self.mark_all(&rest[at + 1..], UnsafePosition::Unclear);
                // `bash $x` without an `x` reads a script.
                reads_code || matches!(code, Code::Shell | Code::Interpreter { .. })
            }
            _ => reads_code,
        }
    }

    /// Marks the words that the option table takes for code. `names_program` is `true` if a word that
    /// is nothing but a value chooses a program.
    fn listed_code(&mut self, words: &[Word], names_program: bool) {
        if !words.iter().any(|word| self.has_argument(&word.found)) {
            return;
        }
        if words.len() > MAX_WORDS {
            self.mark_all(words, UnsafePosition::TooLong);
            return;
        }
        self.steps += words.len();
        for at in inspect(&plain_words(words)).code {
            let Some(word) = words.get(at) else { continue };
            let reason = if is_value(word) && names_program {
                UnsafePosition::Program
            } else {
                self.code()
            };
            self.mark(word.found.clone(), reason);
        }
    }

    /// A value in code of the current program.
    fn code(&self) -> UnsafePosition {
        UnsafePosition::Code(self.interpreter)
    }

    /// Judges the arguments of a program with an entry. Returns `true` if it takes its standard
    /// input for code.
    fn takes(&mut self, code: Code, rest: &[Word]) -> bool {
        let name = self.interpreter;
        match code {
            Code::AsListed => false,
            Code::Everything => {
                self.mark_all(rest, self.code());
                if matches!(name, "eval" | "trap") && self.level < DEEPEST_CODE {
                    for code in rest {
                        self.files.runs_output |= self.holds_output(code.range.clone());
                        self.judge_code(code, code.text.contains('$'));
                    }
                }
                // `xargs sh -c '$x'` with an exported variable.
                if !matches!(name, "eval" | "trap" | "let" | "alias") && self.level < DEEPEST_CODE {
                    for code in rest.iter().filter(|word| word.text.contains('$')) {
                        self.judge_code(code, false);
                    }
                }
                if name == "let" {
                    for word in rest {
                        self.evaluate(&word.text, word.range.clone());
                    }
                }
                // The input is code, or words that are added to a command.
                !matches!(name, "let" | "trap" | "alias")
            }
            Code::File => {
                let Some(file) = rest.first() else {
                    return false;
                };
                self.mark(file.found.clone(), self.file_reason(file));
                self.runs_file(file);
                is_input(&file.text)
            }
            Code::Wrapper { values, before } => self.wrapper(rest, values, before),
            Code::Command => match rest.first().map(|word| word.text.as_str()) {
                Some("-v" | "-V") => false,
                _ => self.wrapper(rest, "", 0),
            },
            Code::Shell => {
                let reads_input = self.shell(rest);
                self.feeds_shell |= reads_input;
                reads_input
            }
            Code::Interpreter {
                letters,
                long,
                values,
            } => self.other_interpreter(rest, letters, long, values),
            Code::First {
                code,
                file,
                values,
                permutes,
            } => {
                self.first_is_code(rest, code, file, values, permutes);
                false
            }
            Code::VariableNames => {
                self.mark_all(rest, UnsafePosition::VariableName);
                for word in rest {
                    self.subscript(word);
                    let name = word.text.split('[').next().unwrap_or_default();
                    if self.is_integer(name) && name != "OPTIND" {
                        self.refuse(word, UnsafePosition::Arithmetic);
                    }
                    if is_name(name) {
                        self.assigned.push(name.to_owned());
                    }
                    self.note_evaluation(word.range.clone());
                }
                false
            }
            Code::Assignments => {
                self.declarations(rest);
                false
            }
            Code::Printf => {
                self.printf(rest);
                false
            }
            Code::Test => {
                self.test(rest);
                false
            }
            Code::Options {
                values,
                protects,
                reads_input,
            } => {
                self.options(rest, values, protects);
                reads_input
            }
        }
    }

    /// Returns `true` if a word may expand to no word or to several, so that later words change
    /// position.
    fn may_vanish(&self, word: &Word) -> bool {
        let is_ours = |found: &JudgedPosition| {
            found.kind == ValueKind::Trusted && found.range.start >= word.range.start
        };
        // `<( … )` is always a word.
        !word.is_quoted
            && self.bytes.get(word.range.start) != Some(&b'<')
            && !word.text.is_empty()
            && word.text.bytes().all(|byte| byte == 0)
            && !self.found[word.found.clone()].iter().any(is_ours)
    }

    /// Judges a program that starts another one.
    fn wrapper(&mut self, words: &[Word], values: &str, mut before: usize) -> bool {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            // `env` accepts any name: `env a-b=c`.
            if is_assignment(word) || text.contains('=') && !text.starts_with(['-', '\0']) {
                self.assignment(word);
                // This is an ordinary word, and the shell splits it: `env x=$1`.
                self.unless_quoted(word, UnsafePosition::Program);
            } else if self.has_argument(&word.found) {
                break;
            } else if text.starts_with('-') && text.len() > 1 {
                let takes_value = text.len() == 2 && values.contains(&text[1..]);
                if takes_value {
                    at += 1;
                    if let Some(value) = words.get(at) {
                        self.mark(value.found.clone(), UnsafePosition::Program);
                    }
                }
            } else if before > 0 {
                before -= 1;
            } else {
                break;
            }
            at += 1;
        }
        self.program(&words[at.min(words.len())..])
    }

    fn shell(&mut self, words: &[Word]) -> bool {
        let mut has_code = false;
        let mut reads_input = false;
        for (at, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            let is_option = text.starts_with(['-', '+']) && text.len() > 1;
            let takes_value = |index: usize| {
                words.get(index).is_some_and(|word| {
                    let text = word.text.as_str();
                    matches!(text, "--rcfile" | "--init-file" | "-O" | "+O")
                        || text.starts_with(['-', '+'])
                            && !text.starts_with("--")
                            && text.ends_with('o')
                })
            };
            if self.has_argument(&word.found) && is_option {
                self.mark(word.found.clone(), self.code());
            } else if is_option {
                has_code |= !text.starts_with("--") && text.contains('c');
                reads_input |= !text.starts_with("--") && text.contains('s');
            } else if at > 0 && takes_value(at - 1) {
                self.mark(word.found.clone(), self.code());
                self.runs_file(word);
            } else if has_code {
                self.mark(word.found.clone(), self.code());
                return self.inner_code(word, &words[at + 1..]);
            } else if reads_input || text == "-" {
                return true;
            } else {
                self.mark(word.found.clone(), self.file_reason(word));
                self.runs_file(word);
                // `bash <(echo "$1")` runs what it reads.
                return is_input(text);
            }
        }
        // `bash` alone reads a script; so does `bash -s`.
        true
    }

    /// Returns the reason for a value in the file that an interpreter runs. `<( … )` is not a file:
    /// the output of its commands is run.
    fn file_reason(&self, file: &Word) -> UnsafePosition {
        let is_process = self.bytes.get(file.range.start) == Some(&b'<');
        if is_process {
            self.code()
        } else {
            UnsafePosition::ScriptFile
        }
    }

    /// Judges what the code of an inner shell does with the arguments after it. Returns `true` if
    /// it takes its standard input for code.
    fn inner_code(&mut self, code: &Word, data: &[Word]) -> bool {
        let has_data = data.iter().any(|word| self.has_argument(&word.found));
        self.files.runs_output |= self.holds_output(code.range.clone());
        if code.text.contains('\0') || self.level == DEEPEST_CODE {
            self.mark_all(data, UnsafePosition::Unclear);
            return true;
        }
        let scan = self.judge_code(code, has_data);
        if has_data && scan.found.iter().any(|found| found.reason.is_some()) {
            self.mark_all(data, self.code());
        }
        scan.reads_code
    }

    /// Judges code in a single word that refers to exported variables or to positionals that are
    /// passed on.
    fn judge_code(&mut self, code: &Word, passes_positionals: bool) -> Scan {
        let known = self.known;
        let names = known.bound.iter().chain(&known.aliases);
        let names: Vec<&str> = names.map(String::as_str).collect();
        let script = code.text.replace('\0', "x");
        let scan = judge_script(&script, &[], &names, self.level + 1);
        self.limit.add(scan.limit);
        self.files.add(&scan.files);
        let calculates = ["((", "[", "let ", " -i"];
        if calculates.iter().any(|form| script.contains(form)) {
            self.limit.arithmetic |= known.outputs.iter().any(|name| script.contains(name));
        }
        for found in &scan.found {
            self.limit.add(found.limit);
        }
        // What is refused without our variables comes from positionals and input of the inner script.
        let is_refused = |scan: &Scan| scan.found.iter().any(|found| found.reason.is_some());
        let others = if is_refused(&scan) && !passes_positionals {
            judge_script(&script, &[], &[], self.level + 1).found
        } else {
            Vec::new()
        };
        let is_ours = |found: &&JudgedPosition| {
            let is_same =
                |other: &JudgedPosition| other.range == found.range && other.reason == found.reason;
            found.reason.is_some() && !others.iter().any(is_same)
        };
        // A value in the code itself is reported already.
        let is_reported = self.found[code.found.clone()]
            .iter()
            .any(|found| found.reason.is_some());
        if !is_reported && scan.found.iter().any(|found| is_ours(&found)) {
            self.refuse(code, self.code());
        }
        scan
    }

    /// Judges here-documents that a shell may read: they can use exported variables.
    pub(super) fn judge_quoted_documents(&mut self) {
        let documents = std::mem::take(&mut self.quoted_documents);
        if !self.feeds_shell || self.level == DEEPEST_CODE {
            return;
        }
        for range in documents {
            let text = String::from_utf8_lossy(&self.bytes[range.clone()]).into_owned();
            let script = Word {
                text,
                found: 0..0,
                bare: Vec::new(),
                lead: Vec::new(),
                is_quoted: true,
                range,
            };
            self.judge_code(&script, false);
        }
    }

    /// Refuses a word that has no value itself.
    fn refuse(&mut self, word: &Word, reason: UnsafePosition) {
        self.found.push(JudgedPosition {
            range: word.range.clone(),
            kind: ValueKind::Argument,
            given: None,
            quoting: Quoting::Literal,
            plain: None,
            limit: ValueLimit::default(),
            is_whole: false,
            reason: Some(reason),
        });
    }

    fn other_interpreter(
        &mut self,
        words: &[Word],
        letters: &str,
        names: &[&str],
        values: &str,
    ) -> bool {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            let long = names.iter().find_map(|name| text.strip_prefix(name));
            let has_letter = text.starts_with('-')
                && !text.starts_with("--")
                && text.chars().skip(1).any(|c| letters.contains(c));
            if long.is_some_and(|rest| rest.starts_with('=')) {
                self.mark(word.found.clone(), self.code());
                self.takes_code(word);
                self.mark_module(words, at + 1);
                self.mark_opened(words, at + 1);
                return false;
            } else if long == Some("") || has_letter {
                self.mark(word.found.clone(), self.code());
                self.takes_code(word);
                if let Some(code) = words.get(at + 1) {
                    self.mark(code.found.clone(), self.code());
                    self.takes_code(code);
                }
                self.mark_module(words, at + 2);
                self.mark_opened(words, at + 2);
                return false;
            } else if text == "-m" {
                let (module, data) = words[at + 1..].split_at(1.min(words.len() - at - 1));
                self.mark_all(module, UnsafePosition::ScriptFile);
                if module.iter().any(|module| runs_operands(&module.text)) {
                    self.mark_all(data, self.code());
                }
                return false;
            } else if text == "-" {
                return true;
            } else if let Some(letters) = text.strip_prefix('-') {
                self.mark(word.found.clone(), self.code());
                if letters.len() == 1 && values.contains(letters) {
                    at += 1;
                    self.mark_all(words.get(at..=at).unwrap_or_default(), self.code());
                    if let Some(value) = words.get(at) {
                        self.runs_file(value);
                    }
                }
                at += 1;
            } else {
                self.mark(word.found.clone(), self.file_reason(word));
                self.runs_file(word);
                self.mark_opened(words, at + 1);
                return is_input(text);
            }
        }
        true
    }

    /// Marks operands that perl and its relatives open, and which may be commands: with `-n`, `-p` or
    /// a bare `<>` in the code. `from` is the index of the first operand.
    fn mark_opened(&mut self, words: &[Word], from: usize) {
        if !opens_operands(self.interpreter) {
            return;
        }
        let reads_each = |word: &Word| {
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            // The rest of such a word is the value of an option.
            let end = letters.find(['e', 'E', 'M', 'm', 'I', 'x', 'V', 'C', 'D', 'r']);
            letters[..end.unwrap_or(letters.len())].contains(['n', 'p', 'a', 'F'])
        };
        let reads_all = |word: &Word| word.text.contains("<>") || word.text.contains("<ARGV>");
        let (before, operands) = words.split_at(from.min(words.len()));
        if before
            .iter()
            .any(|word| reads_each(word) || reads_all(word))
        {
            self.mark_all(operands, self.code());
        }
    }

    /// Marks further options with code: `perl -e … -e …`.
    fn mark_module(&mut self, words: &[Word], from: usize) {
        self.behind_code_options(words.get(from..).unwrap_or_default());
    }

    /// Judges `awk` and `sed`.
    fn first_is_code(
        &mut self,
        words: &[Word],
        code: &str,
        file: &str,
        values: &str,
        permutes: bool,
    ) {
        let mut has_code = false;
        let mut is_data = false;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            let letter = text.strip_prefix('-').and_then(|rest| rest.chars().next());
            let reason = if is_data {
                None
            } else if text == "--" {
                is_data = true;
                None
            } else if text.starts_with("--") {
                let is_code = ["--exp", "--sou", "--file", "--incl", "--load", "--exec"]
                    .iter()
                    .any(|name| text.starts_with(name));
                has_code |= is_code;
                if is_code && !text.contains('=') {
                    at += 1;
                    self.mark_all(words.get(at..=at).unwrap_or_default(), self.code());
                }
                Some(self.code())
            } else if let Some(letter) = letter {
                let last = text.chars().next_back().unwrap_or(letter);
                if code.contains(last) || file.contains(last) || code.contains(letter) {
                    has_code = true;
                    if code.contains(last) || file.contains(last) {
                        at += 1;
                        self.mark_all(words.get(at..=at).unwrap_or_default(), self.code());
                    }
                    Some(self.code())
                } else if values.contains(letter) {
                    // `-v x=$1` and `-F $1` take text; `-v $1` takes a name.
                    if text.len() == 2 {
                        at += 1;
                        let value = words.get(at);
                        let is_free = value.is_some_and(|value| value.text.starts_with('\0'));
                        if letter == 'v' && is_free {
                            self.mark_all(
                                words.get(at..=at).unwrap_or_default(),
                                UnsafePosition::Option,
                            );
                        } else if let Some(value) = value {
                            self.unless_quoted(value, UnsafePosition::Option);
                        }
                    }
                    None
                } else {
                    Some(self.code())
                }
            } else if !has_code {
                has_code = true;
                is_data = !permutes;
                Some(self.code())
            } else {
                self.option(word);
                None
            };
            if let Some(reason) = reason {
                self.mark(word.found.clone(), reason);
                self.takes_code(word);
                if let Some(value) = words.get(at) {
                    self.takes_code(value);
                }
            }
            at += 1;
        }
    }

    /// Judges `declare`, `export` and similar builtins: the author must choose the name.
    fn declarations(&mut self, words: &[Word]) {
        let is_special = words.iter().any(|word| {
            word.text.starts_with(['-', '+'])
                && word.text.contains(['i', 'n', 'f', 'F', 'p', 'a', 'A'])
        });
        // `declare -i n; n=$1` evaluates the value; so does `declare -n`, as a name.
        let is_evaluated = words.iter().any(|word| {
            word.text.starts_with('\0')
                || word.text.starts_with(['-', '+']) && word.text.contains(['i', 'n', '\0'])
        });
        for word in words {
            self.subscript(word);
            let end = words.last().map_or(word.range.end, |last| last.range.end);
            self.split_subscript(word, end);
            if is_evaluated {
                let (target, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
                let name = target.trim_end_matches('+');
                let name = name.split('[').next().unwrap_or(name);
                if is_name(name) {
                    self.integers.push(name.to_owned());
                }
                self.evaluate(value, word.range.clone());
            }
            if is_assignment(word) && !is_special {
                self.assignment(word);
            } else {
                self.mark(word.found.clone(), UnsafePosition::VariableName);
                if is_assignment(word) {
                    self.assignment(word);
                }
            }
        }
    }

    /// Judges `printf`. `printf -v NAME` assigns a variable, so the author must choose the format.
    fn printf(&mut self, words: &[Word]) {
        let mut words = words;
        if let [option, name, rest @ ..] = words
            && option.text == "-v"
        {
            self.mark(name.found.clone(), UnsafePosition::VariableName);
            self.subscript(name);
            self.note_evaluation(name.range.clone());
            for word in rest {
                self.assigns(&name.text, word, &word.text);
            }
            words = rest;
        }
        if words.first().is_some_and(|format| self.may_vanish(format)) {
            self.mark_all(words, UnsafePosition::Option);
        }
        if let [option, rest @ ..] = words
            && option.text == "--"
        {
            words = rest;
            if let Some(format) = words.first() {
                self.unless_quoted(format, UnsafePosition::Option);
            }
        } else if let Some(format) = words.first()
            && format.text.starts_with(['\0', '-'])
        {
            self.mark(format.found.clone(), UnsafePosition::Option);
        }
    }

    /// Judges `test`. `[ -v NAME ]` evaluates a name, and an unquoted value may become `-v NAME`.
    fn test(&mut self, words: &[Word]) {
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            let is_dynamic = |word: &&Word| self.has_argument(&word.found);
            let follows = before.is_some_and(|before| {
                matches!(before.text.as_str(), "-v" | "-R") || is_dynamic(&before)
            });
            if follows {
                self.mark(word.found.clone(), UnsafePosition::VariableName);
                self.subscript(word);
                self.note_evaluation(word.range.clone());
            }
            self.unless_quoted(word, UnsafePosition::Option);
        }
    }

    /// Judges a program whose options can run something.
    fn options(&mut self, words: &[Word], values: &str, protects: bool) {
        let mut is_protected = false;
        let mut runs_until = 0;
        for (at, word) in words.iter().enumerate() {
            is_protected |= protects && word.text == "--";
            // `find -exec` runs what follows.
            let runs = matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
            if runs && at >= runs_until {
                let rest = &words[at + 1..];
                let end = rest
                    .iter()
                    .position(|word| word.text == ";" || word.text == "+");
                let end = end.unwrap_or(rest.len());
                runs_until = at + 1 + end;
                self.program(&rest[..end]);
            }
            let before = at.checked_sub(1).map(|before| words[before].text.as_str());
            if is_protected || before.is_some_and(|before| takes_value(values, before)) {
                self.unless_quoted(word, UnsafePosition::Option);
            } else {
                self.option(word);
            }
        }
    }

    /// Marks a word that could become an option: one that the shell splits, or that begins with a
    /// value.
    fn option(&mut self, word: &Word) {
        self.unless_quoted(word, UnsafePosition::Option);
        if word.text.starts_with(['-', '\0']) {
            self.mark(word.found.clone(), UnsafePosition::Option);
        }
    }

    /// Marks the unquoted positions of a word: the shell splits them, and each part could be an
    /// option.
    fn unless_quoted(&mut self, word: &Word, reason: UnsafePosition) {
        for index in word.found.clone() {
            if self
                .found
                .get(index)
                .is_some_and(|found| found.quoting == Quoting::Bare)
            {
                self.mark(index..index + 1, reason);
            }
        }
    }

    /// Marks the words after options that commonly take code.
    fn behind_code_options(&mut self, words: &[Word]) {
        for pair in words.windows(2) {
            if matches!(
                pair[0].text.as_str(),
                "-c" | "-e" | "-E" | "-r" | "--eval" | "eval"
            ) {
                self.mark(pair[1].found.clone(), self.code());
            }
        }
    }

    /// Judges an interpreter that another program starts: `docker exec web sh -c "…"`.
    fn somewhere_behind(&mut self, words: &[Word]) -> bool {
        let is_code = |word: &Word| {
            word.text.starts_with('-') && word.text.contains(['c', 'e', 'E', 'r', 'p'])
        };
        let Some(last) = words.iter().rposition(is_code) else {
            return false;
        };
        let interpreter = words[..last].iter().position(|word| {
            let name = word.text.rsplit('/').next().unwrap_or(&word.text);
            matches!(
                code_of(name),
                Some((_, Code::Shell | Code::Interpreter { .. }))
            )
        });
        interpreter.is_some_and(|at| self.program(&words[at..]))
    }
}

impl CodeFiles {
    /// Adds the files of a script inside this one.
    fn add(&mut self, inner: &Self) {
        self.stores_value |= inner.stores_value;
        self.runs_output |= inner.runs_output;
        self.runs_folder |= inner.runs_folder;
        self.uses_output |= inner.uses_output;
        self.written.extend(inner.written.iter().cloned());
        self.run.extend(inner.run.iter().cloned());
    }
}

/// Returns `true` if words after `--` are never options of the program, nor of one that it starts.
fn ends_options(words: &[Word]) -> bool {
    if words.len() > MAX_WORDS {
        return false;
    }
    ends_options_at_dashes(&plain_words(words))
}

/// Returns `true` if a word is nothing but values.
fn is_value(word: &Word) -> bool {
    word.text.chars().all(|c| c == UNKNOWN)
}

/// Returns the words as the program table reads them.
fn plain_words(words: &[Word]) -> Vec<crate::Word> {
    let plain = |word: &Word| crate::Word::plain(&*word.text);
    words.iter().map(plain).collect()
}

/// Returns `true` if a file that is written may be one that is run: their last names are equal or
/// unknown. `names_value` is `true` if a value is part of the name of the file that is written.
fn may_be_same(written: &str, run: &str, names_value: bool) -> bool {
    let last = |path: &str| {
        path.trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or("")
            .to_owned()
    };
    let is_unknown = |name: &str| name.contains(['\0', '*', '?', '[', '{']);
    let (written, run) = (last(written), last(run));
    names_value || written == run || is_unknown(&written) || is_unknown(&run)
}

/// Returns `true` if the word after this one is its value, whatever it begins with.
fn takes_value(values: &str, option: &str) -> bool {
    values
        .split_ascii_whitespace()
        .any(|value| match value.strip_prefix("-*") {
            Some(end) => {
                option.starts_with('-') && !option.starts_with("--") && option.ends_with(end)
            }
            None => value == option,
        })
}

/// Returns `true` for `NAME=…`, `NAME+=…` and `NAME[…]=…` with a literal name.
fn is_assignment(word: &Word) -> bool {
    let length = name_length(word.text.as_bytes());
    let rest = &word.text[length..];
    if length == 0 || !is_name(&word.text[..length]) {
        return false;
    }
    let rest = match rest.strip_prefix('[') {
        Some(subscript) => match subscript.split_once(']') {
            Some((_, rest)) => rest,
            None => return false,
        },
        None => rest,
    };
    rest.starts_with('=') || rest.starts_with("+=")
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
