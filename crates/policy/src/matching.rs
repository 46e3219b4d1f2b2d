//! Matches rules against commands: strictly for allow rules, widely for deny and ask rules.

use crate::rule::{CommandRule, RuleSubject};
use prowess_shell::finder::{self, LooseWord};
use prowess_shell::programs::{self, EffectHit, ProgramEffect, ProgramReport};
use prowess_shell::script::canonical;
use prowess_shell::{Redirect, ShellLine, SimpleCommand, Word, lex};
use prowess_spec::wildcard::like;

/// Deepest nesting of scripts inside words.
const MAX_DEPTH: usize = 8;
/// Most words of one command at which another command may start.
const MAX_STARTS: usize = 512;
/// Maximum number of letters of short options before an attached value.
const MAX_LETTERS: usize = 4;
/// Most shell escapes of one word that are searched: `!rm x`.
const MAX_ESCAPES: usize = 16;
/// Most commands that are collected for one line.
const MAX_COMMANDS: usize = 30_000;

/// The result of matching an allow rule against a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It does not match.
    No,
    /// It matches.
    Yes,
    /// It is exactly this command, including redirections.
    Exactly,
    /// It matches, but the program table objects to a word that the rule does not have.
    But(EffectHit),
}

/// Matches an allow rule against one command of a line.
pub(crate) fn allows(rule: &CommandRule, script: &ShellLine, command: &SimpleCommand) -> Fit {
    match rule {
        CommandRule::Any => Fit::Yes,
        CommandRule::Exact(line) => {
            let is_this = |only: &SimpleCommand| only.words == command.words;
            match line.commands.as_slice() {
                _ if script == line => Fit::Exactly,
                [only] if is_this(only) && only.redirects == command.redirects => Fit::Exactly,
                [only] if is_this(only) => Fit::Yes,
                _ => Fit::No,
            }
        }
        CommandRule::Prefix(words) => {
            if !command.words.starts_with(words) {
                return Fit::No;
            }
            beyond(&command.words, words.len())
        }
        CommandRule::Like(pattern) => {
            let climbs = |text: &str| text.split(['/', '=', ' ']).any(|part| part == "..");
            let up = command.words.iter().any(|word| climbs(&word.text)) && !climbs(pattern);
            // `./scripts/*` must not match `./scripts/../evil`.
            // `git*` must not match `git/x`: a rule for a bare name never matches a path.
            let is_bare = !pattern.split(' ').next().unwrap_or_default().contains('/');
            let is_path = command
                .words
                .first()
                .is_some_and(|it| it.text.contains('/'));
            if up || is_bare && is_path || !like(pattern, &canonical(&command.words)) {
                return Fit::No;
            }
            // Words before the first star are part of the rule, so they are agreed to.
            let literal = pattern
                .split(' ')
                .take_while(|word| !word.contains('*'))
                .count();
            beyond(&command.words, literal.max(1))
        }
    }
}

/// Returns `true` if a rule names a program or a file of code by a relative path, so that it is about
/// one folder only: `./build.sh`, `bash build.sh`.
pub(crate) fn names_relative_code(rule: &RuleSubject, command: &SimpleCommand) -> bool {
    relative_code(rule, command).next().is_some()
}

/// Returns the programs and files of code that a rule names by a relative path.
pub(crate) fn relative_code<'c>(
    rule: &RuleSubject,
    command: &'c SimpleCommand,
) -> impl Iterator<Item = &'c str> {
    let agreed = match rule {
        RuleSubject::Command(CommandRule::Prefix(words)) => words.len(),
        RuleSubject::Command(CommandRule::Exact(_) | CommandRule::Like(_)) => command.words.len(),
        _ => 0,
    };
    let is_relative = |word: &&Word| !word.text.starts_with(['/', '~']);
    let program = command.words.first().filter(|_| agreed > 0);
    let program = program.filter(|word| word.text.contains('/'));
    let scripts = programs::script_words(&command.words).into_iter();
    let scripts = scripts
        .filter(move |at| *at < agreed)
        .filter_map(|at| command.words.get(at));
    let words = program.into_iter().chain(scripts).filter(is_relative);
    words.map(|word| &*word.text)
}

/// Returns the first objection of the program table to words that the rule does not have.
fn beyond(words: &[Word], agreed: usize) -> Fit {
    let report = programs::inspect(words);
    match report.hits.into_iter().find(|hit| hit.at >= agreed) {
        Some(hit) => Fit::But(hit),
        None => Fit::Yes,
    }
}

/// Returns `true` if a command, or one that it starts, runs code in which deny rules cannot be looked
/// for: code of another language, or code from its input.
pub(crate) fn is_opaque(words: &[Word]) -> bool {
    let mut words = words;
    // Most commands start none, or one that is not a script.
    loop {
        let report = programs::inspect(words);
        if is_opaque_itself(words, &report) {
            return true;
        }
        let is_plain = report.attached.is_empty()
            && report.joined.is_none()
            && !programs::sets_variables(&words[0].text);
        match (report.starts.as_slice(), is_plain) {
            ([], true) => return false,
            (&[at], true) if at > 0 && at < words.len() && !is_script(&words[at].text) => {
                words = &words[at..];
            }
            _ => break,
        }
    }
    let mut all = Everything::default();
    unwrap(&loose(words), 0, &mut all);
    all.incomplete || all.is_opaque || all.commands.iter().any(|words| is_opaque_found(words))
}

/// Returns `true` if a command has a script for a shell that cannot be parsed strictly. What it does
/// is then unknown, so rules about files cannot be looked for either.
pub(crate) fn has_opaque_script(words: &[Word]) -> bool {
    let mut all = Everything::default();
    unwrap(&loose(words), 0, &mut all);
    all.incomplete || all.is_opaque
}

fn loose(words: &[Word]) -> Vec<LooseWord> {
    let loose = |word: &Word| LooseWord {
        text: word.text.to_string(),
        pattern: word.is_glob(),
        ..LooseWord::default()
    };
    words.iter().map(loose).collect()
}

/// A reason why deny rules cannot be looked for in a script.
#[derive(Debug)]
pub(crate) enum OpaqueCode {
    /// A command, as text, that runs code of another language or from its input, or whose program is
    /// only known when the script runs.
    Command(String),
    /// The script has more commands or levels than are searched, or cannot be parsed.
    Incomplete,
}

/// Returns the first part of a script in which deny rules cannot be looked for.
pub(crate) fn opaque_code(findings: &finder::Findings) -> Option<OpaqueCode> {
    let is_unknown = |words: &&Vec<LooseWord>| {
        let program = words.first();
        program.is_some_and(|word| word.unknown && findings.variable_program)
    };
    let all = every_command(findings);
    let found = all.commands.iter().find(|words| is_opaque_found(words));
    let spell = |words: &Vec<LooseWord>| {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        texts.join(" ").trim().to_owned()
    };
    let unknown = findings.commands.iter().find(is_unknown);
    found
        .map(spell)
        .or_else(|| unknown.map(|words| format!("$…{}", spell(words))))
        .map(OpaqueCode::Command)
        .or_else(|| {
            let is_opaque = all.incomplete
                || all.is_opaque
                || findings.ambiguous
                || has_variable_program(findings, &all);
            is_opaque.then_some(OpaqueCode::Incomplete)
        })
}

/// Returns `true` if a part of the name of a program is only known when the line runs.
pub(crate) fn has_variable_program(findings: &finder::Findings, all: &Everything) -> bool {
    let reads = |words: &Vec<LooseWord>| programs::inspect(&plain(words)).takes_input;
    findings.variable_program
        || findings.variable_program_in_document && all.commands.iter().any(reads)
}

fn is_opaque_found(words: &[LooseWord]) -> bool {
    let plain = plain(words);
    is_opaque_itself(&plain, &programs::inspect(&plain))
}

/// Returns the words as the program table reads them.
fn plain(words: &[LooseWord]) -> Vec<Word> {
    words.iter().map(|word| Word::plain(&*word.text)).collect()
}

fn is_opaque_itself(words: &[Word], report: &ProgramReport) -> bool {
    let is_visible = !report.starts.is_empty() || !report.attached.is_empty();
    let runs = report
        .hits
        .iter()
        .any(|hit| hit.effect == ProgramEffect::Runs);
    report.takes_input
        || report.hides
        || programs::is_process(&words[0].text)
        || runs && (!is_visible || programs::is_opaque(&words[0].text))
}

/// Returns `true` if a redirection is harmless with any rule.
pub(crate) fn is_harmless(redirect: &Redirect) -> bool {
    match redirect {
        Redirect::Copy { .. } => true,
        Redirect::Read(target) | Redirect::Write { target, .. } => &**target == "/dev/null",
    }
}

/// Every command that a line might run.
#[derive(Debug, Default)]
pub(crate) struct Everything {
    /// Each with its words, including commands inside wrappers and scripts.
    pub(crate) commands: Vec<Vec<LooseWord>>,
    /// `true` if the limits cut the list short.
    pub(crate) incomplete: bool,
    /// Files that scripts inside words might read by redirection.
    pub(crate) reads: Vec<Box<str>>,
    /// Files that scripts inside words might write by redirection.
    pub(crate) writes: Vec<Box<str>>,
    /// `true` if a word is a script that cannot be parsed strictly, or a program that is only known
    /// when the line runs. Every rule may then be about it.
    pub(crate) is_opaque: bool,
    /// Indices of the commands whose program is not in the program table. It may start or change
    /// what its words name.
    pub(crate) unlisted: Vec<usize>,
    /// Commands in words of such programs, which run only if a program takes the word for a script.
    pub(crate) possible: Vec<PossibleCommand>,
    /// Files that scripts in such words might read by redirection, each with the program.
    pub(crate) possible_reads: Vec<(Box<str>, Box<str>)>,
    /// Files that scripts in such words might write by redirection, each with the program.
    pub(crate) possible_writes: Vec<(Box<str>, Box<str>)>,
}

/// A command in a word of a program that is not in the program table.
#[derive(Debug)]
pub(crate) struct PossibleCommand {
    /// The program that may run it.
    pub(crate) program: Box<str>,
    /// The words of the command.
    pub(crate) words: Vec<LooseWord>,
}

impl PossibleCommand {
    /// Returns the part of the command that a deny or ask rule may be about.
    pub(crate) fn hit(&self, rule: &CommandRule) -> Option<String> {
        // `*` and `[x]` in a text are rarely the pattern of a program, unless it is a path from `/`.
        let is_text = |word: &LooseWord| {
            let name = loosened(base_name(&word.text));
            word.pattern && !word.text.starts_with('/') && name.chars().all(|c| c == '*')
        };
        if !self.words.first().is_some_and(is_text) && forbids(rule, &self.words) {
            let texts: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
            return Some(texts.join(" "));
        }
        self.is_unlisted()
            .then(|| may_start(rule, &self.words))
            .flatten()
            .map(str::to_owned)
    }

    /// Returns `true` if the program of the command is not in the program table.
    pub(crate) fn is_unlisted(&self) -> bool {
        let program = self.words.first();
        program.is_some_and(|program| !programs::is_listed(&program.text))
    }
}

/// Collects every command that a line might run, including commands inside wrappers and scripts.
pub(crate) fn every_command(findings: &finder::Findings) -> Everything {
    let mut all = Everything::default();
    for command in &findings.commands {
        unwrap(command, 0, &mut all);
    }
    all
}

fn unwrap(words: &[LooseWord], depth: usize, all: &mut Everything) {
    all.is_opaque |= has_unknown_start(words);
    // The value of a variable is unknown. A word that is only a variable may vanish.
    let there = |word: &&LooseWord| !(word.unknown && word.text.is_empty());
    let known: Vec<LooseWord> = words.iter().filter(there).cloned().collect();
    let words = known.as_slice();
    let mut seen = vec![false; words.len()];
    let mut searched = vec![false; words.len()];
    // Words that are a program only if a wrapper has no operand of its own: `x` in `flock x cat y`.
    let mut doubtful = vec![false; words.len()];
    let mut open = vec![0_usize];
    let mut looked = 0;
    while let Some(from) = open.pop() {
        let skip = words[from..]
            .iter()
            .take_while(|word| finder::is_assignment(&word.text))
            .count();
        let from = from + skip;
        if from >= words.len() || std::mem::replace(&mut seen[from], true) {
            continue;
        }
        looked += 1;
        if looked > MAX_STARTS || all.commands.len() >= MAX_COMMANDS {
            all.incomplete = true;
            return;
        }
        let words = &words[from..];
        let is_unlisted = !programs::is_listed(&words[0].text) && !doubtful[from];
        if is_unlisted || programs::may_start_elsewhere(words.iter().map(|word| &*word.text)) {
            all.unlisted.push(all.commands.len());
            for (at, word) in words.iter().enumerate().skip(1) {
                if !std::mem::replace(&mut searched[from + at], true) {
                    possible_scripts(&words[0].text, &word.text, depth, all);
                }
            }
        }
        // Options of wrappers take commands too: `hyperfine --prepare='rm x' ls`.
        if programs::starts_programs(&words[0].text) {
            let attached = words
                .iter()
                .skip(1)
                .filter(|word| word.text.starts_with("--"));
            for (_, value) in attached.filter_map(|word| word.text.split_once('=')) {
                possible_scripts(&words[0].text, value, depth, all);
            }
        }
        all.commands.push(words.to_vec());
        // Programs run the values of some variables: `env GIT_PAGER='rm x' git log`.
        if programs::sets_variables(&words[0].text) {
            let assigned = words.iter().filter(|word| !word.text.starts_with('-'));
            for (_, value) in assigned.filter_map(|word| word.text.split_once('=')) {
                script(&format!("{value} "), depth, all);
            }
        }
        let report = programs::inspect(&plain(words));
        // `eval` joins its words and reads them again.
        if let Some(rest) = report.joined.and_then(|from| words.get(from..)) {
            all.is_opaque |= rest.iter().any(|word| word.unknown);
            let joined: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
            script(&format!("{} ", joined.join(" ")), depth, all);
        }
        let starts = report.starts.into_iter();
        let starts: Vec<usize> = starts.filter(|&at| at > 0 && at < words.len()).collect();
        let is_known = |&at: &usize| programs::is_listed(&words[at].text);
        let known = starts.iter().copied().rfind(is_known).unwrap_or(0);
        for at in starts {
            doubtful[from + at] |= at < known;
            open.push(from + at);
            // `env -S` has escapes of its own: `env -S 'rm\_x'`.
            all.is_opaque |=
                words[at].text.contains('\\') && programs::sets_variables(&words[0].text);
            script(&words[at].text, depth, all);
        }
        // `--exec='rm x'`: the rest of the word is a command, even if it is one word.
        for attached in report.attached {
            let Some(word) = words.get(attached.word) else {
                continue;
            };
            let rest = word.text.get(attached.offset..).unwrap_or_default();
            // The program may have escapes of its own.
            all.is_opaque |= word.unknown || rest.contains('\\');
            script(&format!("{rest} "), depth, all);
        }
    }
}

/// Returns `true` if a command starts another one whose program, or script, is only known when the
/// line runs: `env $x`, `sh -c "$x"`.
fn has_unknown_start(words: &[LooseWord]) -> bool {
    let Some(first) = words.iter().position(|word| word.unknown) else {
        return false;
    };
    let report = programs::inspect(&plain(words));
    let starts = report.starts.iter().filter(|&&at| at > 0);
    // A variable before the program may be the program.
    starts.into_iter().any(|&at| first <= at)
        || report.joined.is_some()
        || !report.attached.is_empty()
}

/// Returns `true` if a word may be more than the name of a program.
fn is_script(text: &str) -> bool {
    text.contains(|c: char| c.is_whitespace() || ";&|()<>`$'\"\\*?[]{}~!#".contains(c))
}

/// Collects the commands of a word that may be a script.
fn script(text: &str, depth: usize, all: &mut Everything) {
    if !is_script(text) {
        return;
    }
    if depth >= MAX_DEPTH {
        all.incomplete = true;
        return;
    }
    let found = finder::find(text);
    all.incomplete |= found.unreadable.is_some();
    all.is_opaque |= found.unknown_program;
    // `-i rm x` are more options of the program, and `{}` is a name that it fills in.
    let is_known = |line: &ShellLine| {
        let programs = line
            .commands
            .iter()
            .filter_map(|command| command.words.first());
        programs
            .into_iter()
            .all(|program| !program.text.starts_with('-'))
    };
    all.is_opaque |= text.contains("{}") || !lex(text.trim()).as_ref().is_ok_and(is_known);
    all.reads.extend(found.reads);
    all.writes.extend(found.writes);
    for inner in found.commands {
        unwrap(&inner, depth + 1, all);
    }
}

/// Collects the commands of a word that a program outside the table may take for a script. The word
/// may also be plain text, so it does not make the line incomplete.
fn possible_scripts(program: &str, text: &str, depth: usize, all: &mut Everything) {
    let value = text.split_once('=').map(|(_, value)| value);
    // A short option, perhaps after others, with its value attached: `-c'rm x'`.
    let letters = text.strip_prefix('-').unwrap_or_default();
    let letters = letters.char_indices().skip(1).take(MAX_LETTERS);
    let attached = letters
        .take_while(|(_, c)| *c != '-')
        .filter_map(|(at, _)| text.get(at + 1..));
    // Programs with a command language start a shell with `!`.
    let escapes = text.match_indices('!').take(MAX_ESCAPES);
    let escapes = escapes.filter_map(|(at, _)| text.get(at + 1..));
    let escapes: Vec<String> = escapes.map(|rest| format!("{rest} ")).collect();
    let escapes = escapes.iter().map(String::as_str);
    let texts = [Some(text), value].into_iter().flatten();
    let texts = texts.chain(attached).chain(escapes);
    for text in texts.filter(|text| is_script(text)) {
        if depth >= MAX_DEPTH || all.possible.len() >= MAX_COMMANDS {
            all.incomplete = true;
            return;
        }
        let found = finder::find(text);
        let mut inner = Everything::default();
        for command in &found.commands {
            unwrap(command, depth + 1, &mut inner);
        }
        // A shell runs the lines before one that it cannot parse.
        if found.unreadable.is_some() || inner.incomplete {
            let names = text.split(|c: char| !(c.is_alphanumeric() || "-_./+".contains(c)));
            let names = names.filter(|name| !name.is_empty());
            let word = |text: &str| LooseWord {
                text: text.to_owned(),
                ..LooseWord::default()
            };
            let words = std::iter::once(program).chain(names).map(word);
            inner.commands.push(words.collect());
        }
        let of_program = |words| PossibleCommand {
            program: program.into(),
            words,
        };
        all.possible
            .extend(inner.commands.into_iter().map(of_program));
        all.possible.extend(inner.possible);
        let with_program = |file| (file, Box::from(program));
        let reads = found.reads.into_iter().chain(inner.reads);
        let writes = found.writes.into_iter().chain(inner.writes);
        all.possible_reads.extend(reads.map(with_program));
        all.possible_reads.extend(inner.possible_reads);
        all.possible_writes.extend(writes.map(with_program));
        all.possible_writes.extend(inner.possible_writes);
    }
}

/// Returns the word of a command at which its program, which is not in the program table, may start
/// what a deny or ask rule is about: a word that names the program of the rule, if the other words of
/// the rule are on the line too.
pub(crate) fn may_start<'w>(rule: &CommandRule, words: &'w [LooseWord]) -> Option<&'w str> {
    let wanted: Vec<&str> = match rule {
        CommandRule::Any => return None,
        CommandRule::Exact(line) => match line.commands.as_slice() {
            [only] => only.words.iter().map(|word| &*word.text).collect(),
            _ => return None,
        },
        CommandRule::Prefix(prefix) => prefix.iter().map(|word| &*word.text).collect(),
        CommandRule::Like(pattern) => pattern.split(' ').collect(),
    };
    let is_any = |wanted: &str| wanted.chars().all(|c| c == '*');
    let (program, others) = wanted.split_first()?;
    // A pattern for every program is compared with the command itself.
    if is_any(program) {
        return None;
    }
    let rest = words.get(1..)?;
    let occurs = |wanted: &&str| {
        let is_flag = wanted.starts_with('-') && wanted.len() > 1 && !wanted.contains('*');
        let is_same =
            |word: &LooseWord| word.unknown || is_word(word, wanted) || like(wanted, &word.text);
        is_any(wanted) || is_flag && has_flag(wanted, rest) || rest.iter().any(is_same)
    };
    let found = rest.iter().find(|word| names_program(word, program))?;
    others.iter().all(occurs).then_some(&*found.text)
}

/// Returns `true` if a word, or the value of the option that it is, names a program.
fn names_program(word: &LooseWord, program: &str) -> bool {
    let attached = word.text.strip_prefix('-').and_then(|rest| rest.get(1..));
    let names = word.text.split('=').chain(attached).map(|text| LooseWord {
        text: text.to_owned(),
        ..word.clone()
    });
    names.into_iter().any(|name| {
        same_program(program, &name)
            || program.contains('*') && like(program, base_name(&name.text))
    })
}

/// Returns `true` if a deny or ask rule matches a command. Programs are compared by the last part
/// of their path, options before a subcommand are skipped, and flags match in any order.
pub(crate) fn forbids(rule: &CommandRule, words: &[LooseWord]) -> bool {
    let Some(program) = words.first() else {
        return false;
    };
    match rule {
        CommandRule::Any => true,
        CommandRule::Exact(line) => match line.commands.as_slice() {
            [only] => {
                only.words.len() == words.len()
                    && same_program(&only.words[0].text, program)
                    && only.words[1..]
                        .iter()
                        .zip(&words[1..])
                        .all(|(a, b)| *a.text == *b.text)
            }
            _ => false,
        },
        CommandRule::Prefix(prefix) => {
            same_program(&prefix[0].text, program) && follows(&prefix[1..], words)
        }
        CommandRule::Like(pattern) => {
            let base = base_name(&program.text).to_owned();
            let mut plain = plain(words);
            let joined = |words: &[Word]| {
                words
                    .iter()
                    .map(|word| &*word.text)
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            if like(pattern, &canonical(&plain)) || like(pattern, &joined(&plain)) {
                return true;
            }
            plain[0] = Word::plain(base);
            // Options before a subcommand are skipped.
            if let Some(at) = programs::inspect(&plain)
                .subcommand
                .filter(|&at| at < plain.len())
            {
                let direct: Vec<Word> = plain[..1].iter().chain(&plain[at..]).cloned().collect();
                if like(pattern, &joined(&direct)) {
                    return true;
                }
            }
            // `rm *` also matches `rm` alone.
            let bare = pattern.strip_suffix(" *").unwrap_or(pattern);
            like(pattern, &joined(&plain)) || like(bare, &joined(&plain))
        }
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn same_program(rule: &str, program: &LooseWord) -> bool {
    let base = base_name(&program.text);
    // Only the last part of the path is compared.
    let wanted = base_name(rule);
    // `[ -f x ]` is the program `[`: a bracket that is not closed is no pattern.
    if program.pattern && program.text != "[" {
        return like(&loosened(base), wanted);
    }
    base == wanted || program.text == rule
}

/// Returns a shell pattern in which every wildcard is `*`.
fn loosened(pattern: &str) -> String {
    let mut loose = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '[' => {
                loose.push('*');
                rest.next_if(|c| matches!(c, '!' | '^'));
                // `[]m]`: a bracket that comes first is a member.
                rest.next_if_eq(&']');
                while let Some(c) = rest.next() {
                    match c {
                        ']' => break,
                        // `[[:alpha:]]`
                        '[' if rest.peek().is_some_and(|c| matches!(c, ':' | '.' | '=')) => {
                            let mark = rest.next();
                            while let Some(c) = rest.next() {
                                if Some(c) == mark && rest.next_if_eq(&']').is_some() {
                                    break;
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
            '?' => loose.push('*'),
            _ => loose.push(c),
        }
    }
    loose
}

/// Returns `true` if a word equals a word of a rule, or may expand to it.
fn is_word(word: &LooseWord, wanted: &str) -> bool {
    *word.text == *wanted || word.pattern && like(&loosened(&word.text), wanted)
}

/// Returns `true` if the words after a program contain those of a rule.
fn follows(rule: &[Word], words: &[LooseWord]) -> bool {
    let rest = &words[1..];
    let (flags, names): (Vec<&Word>, Vec<&Word>) = rule
        .iter()
        .partition(|word| word.text.starts_with('-') && word.text.len() > 1);
    if !flags.iter().all(|flag| has_flag(&flag.text, rest)) {
        return false;
    }
    let Some(first) = names.first() else {
        return true;
    };
    let plain = plain(words);
    let is_first = |at: usize| words.get(at).is_some_and(|word| is_word(word, &first.text));
    let report = programs::inspect(&plain);
    let mut candidates = report.subcommands;
    candidates.extend(report.subcommand);
    let mut at = match candidates.iter().find(|&&at| is_first(at)) {
        Some(&at) => at,
        None if candidates.is_empty() => 1,
        None => return false,
    };
    // Only options and their values may come between the names.
    for name in names {
        loop {
            let Some(word) = words.get(at) else {
                return false;
            };
            at += 1;
            if is_word(word, &name.text) {
                break;
            }
            let value = at >= 2 && words[at - 2].text.starts_with('-') && at > 2;
            if !word.text.starts_with('-') && !value {
                return false;
            }
        }
    }
    true
}

/// Returns `true` if an option is among the words: in a cluster, abbreviated or with a value.
fn has_flag(flag: &str, words: &[LooseWord]) -> bool {
    if let Some(long) = flag.strip_prefix("--") {
        return words.iter().any(|word| {
            word.text.strip_prefix("--").is_some_and(|given| {
                let given = given.split('=').next().unwrap_or_default();
                !given.is_empty() && long.starts_with(given)
            })
        }) || words.iter().any(|word| *word.text == *flag)
            || short_form(long).is_some_and(|short| has_letter(short, words));
    }
    let letters = &flag[1..];
    words.iter().any(|word| *word.text == *flag)
        || letters.chars().all(|letter| has_letter(letter, words))
        || long_form(letters).is_some_and(|long| has_all_long(&long, words))
}

/// Returns `true` if a short option is among the words, alone or in a cluster. `-R` equals `-r`, as
/// for most programs that have both.
fn has_letter(letter: char, words: &[LooseWord]) -> bool {
    let same = |c: char| c == letter || (matches!(letter, 'r' | 'R') && matches!(c, 'r' | 'R'));
    words.iter().any(|word| {
        word.text
            .strip_prefix('-')
            .is_some_and(|given| !given.starts_with('-') && given.contains(same))
    })
}

/// Returns the short form of a long flag that is common in deny rules.
fn short_form(long: &str) -> Option<char> {
    Some(match long {
        "recursive" => 'r',
        "force" => 'f',
        "in-place" => 'i',
        "all" => 'a',
        "delete" => 'd',
        _ => return None,
    })
}

/// Returns the long forms of flags that are common in deny rules.
fn long_form(letters: &str) -> Option<Vec<&'static str>> {
    letters
        .chars()
        .map(|letter| match letter {
            'r' | 'R' => Some("--recursive"),
            'f' => Some("--force"),
            'i' => Some("--in-place"),
            'a' => Some("--all"),
            'v' => Some("--verbose"),
            _ => None,
        })
        .collect()
}

fn has_all_long(long: &[&str], words: &[LooseWord]) -> bool {
    long.iter().all(|name| {
        let short = name.chars().nth(2).unwrap_or_default();
        words.iter().any(|word| {
            let text = &*word.text;
            (text.len() > 2 && text.starts_with("--") && name.starts_with(text))
                || (text.starts_with('-') && !text.starts_with("--") && text.contains(short))
        })
    })
}

/// Most parts of a word that are compared with the rules for files.
const MAX_PARTS: usize = 64;

/// Returns words that may name files: operands, values of options, files after `@`, and the parts of
/// `HEAD:FILE`, `FILE:/target` and `type=bind,source=FILE`. The flag is `true` for a shell pattern,
/// which may expand to any name that fits.
pub(crate) fn file_words(words: &[LooseWord]) -> impl Iterator<Item = (&str, bool)> {
    // `sed 'w FILE'`, `awk '{print > "FILE"}'`
    let is_code = words
        .first()
        .is_some_and(|program| programs::takes_program_text(&program.text));
    words.iter().skip(1).flat_map(move |word| {
        let text = word.text.as_str();
        let value = text.split_once('=').map(|(_, value)| value);
        let attached = text
            .strip_prefix('-')
            .and_then(|rest| rest.get(1..))
            .filter(|_| !text.starts_with("--"));
        let at = text.strip_prefix('@');
        let behind = attached.and_then(|rest| rest.strip_prefix('@'));
        let all = [Some(text), value, attached, at, behind];
        let parts = text.split(['=', ':', ',', '@', '<']).skip(1);
        let first = text.split([':', ',']).next().filter(|first| *first != text);
        let code = text.split(|c: char| c.is_whitespace() || "\"'<>;(){}".contains(c));
        let code = code.filter(move |part| is_code && *part != text);
        all.into_iter()
            .flatten()
            .chain(first)
            .chain(parts.take(MAX_PARTS))
            .chain(code.take(MAX_PARTS))
            .filter(|text| !text.is_empty())
            .map(|text| (text, word.pattern))
    })
}

/// Returns `true` if a shell pattern may expand to a name that a rule matches.
pub(crate) fn may_become(pattern: &str, glob: &str) -> bool {
    let wanted = base_name(glob.trim_end_matches('/'));
    !wanted.contains(['*', '?', '[']) && like(&loosened(base_name(pattern)), wanted)
}

/// Returns the words of a command that removes, moves or changes whole folders: everything in them
/// changes.
pub(crate) fn whole_folders(words: &[LooseWord]) -> &[LooseWord] {
    let whole = programs::whole_folders(&plain(words));
    whole.and_then(|range| words.get(range)).unwrap_or_default()
}

/// Returns the words of a command in the program table that may name a file or folder for its output.
pub(crate) fn output_words(words: &[LooseWord]) -> impl Iterator<Item = (&str, bool)> {
    let at = programs::output_words(&plain(words));
    at.into_iter()
        .filter_map(|at| words.get(at - 1..=at))
        .flat_map(file_words)
}

/// Returns `true` if a command changes the files that it is given.
pub(crate) fn changes_files(words: &[LooseWord]) -> bool {
    programs::changes_files(&plain(words))
}
