//! Compares a command with its entry in the table.

use super::code::Code;
use super::{AttachedScript, Changes, EffectHit, Network, ProgramEffect, ProgramReport, Whole};
use crate::word::Word;

/// An entry of the table: a program, or one of its subcommands. The module documentation of
/// `programs` explains the spelling of options.
#[derive(Debug)]
pub(super) struct Program {
    /// The names of the program.
    pub(super) names: List,
    /// Options that do more than the name says.
    pub(super) options: &'static [Opt],
    /// Other options that take a value, so that the value is not taken for an operand.
    pub(super) values: List,
    /// Options that look like abbreviations of listed ones but are not, and options that only
    /// inform.
    pub(super) safe: &'static str,
    /// Other options that take no value, so that the word after them is an operand.
    pub(super) flags: &'static str,
    /// Operands that do more than the name says.
    pub(super) operands: &'static [Operand],
    /// Number of operands after which options end; 0 if they never do.
    pub(super) stops: usize,
    /// Words after `--` belong to the program that it starts.
    pub(super) passes: bool,
    /// Options are whole words after one or two dashes: `-exec`, not `-e -x -e -c`.
    pub(super) words: bool,
    /// Words like `NAME=value` before the first operand are settings, whatever the name.
    pub(super) assigns: bool,
    /// Words like `NAME=value` are settings anywhere, also after `--`, and `$` in them is expanded.
    pub(super) settings: bool,
    /// An option may also begin with `+` or `@`.
    pub(super) signs: bool,
    /// Its options only change how it prints or compares its words.
    pub(super) data: bool,
    /// With `-n`, `-p` or a bare `<>` in its code it opens its operands, and an operand may be a
    /// command.
    pub(super) opens: bool,
    /// Everything in the folders that it is given changes.
    pub(super) whole: Whole,
    /// It changes the folder of the commands after it.
    pub(super) moves: bool,
    /// Exit code 1 is an answer, not a failure: "not found", "different".
    pub(super) answers: bool,
    /// The first word may be option letters without a dash: `tar xf`.
    pub(super) bundle: bool,
    /// Its options count only before the subcommand.
    pub(super) before: bool,
    /// Subcommands with their own entries.
    pub(super) subs: &'static [Program],
    /// Subcommands that do what their name says.
    pub(super) quiet: &'static str,
    /// Reason for all other subcommands, if these lists are complete.
    pub(super) other: Option<Reason>,
    /// Reason for unknown options.
    pub(super) unknown: Option<Reason>,
    /// Reason for any use.
    pub(super) always: Option<Reason>,
    /// The first operand is a script. That alone is no reason to ask, but a command starts there.
    pub(super) script: bool,
    /// Reason for fewer operands than `least`.
    pub(super) bare: Option<Reason>,
    /// Number of operands without which it reads from standard input.
    pub(super) least: usize,
    /// Number of operands without which it starts a shell that reads standard input, unless an
    /// option names a command.
    pub(super) shell_below: usize,
    /// Words from its input are added to the command that it starts: `xargs`.
    pub(super) fills: bool,
    /// `_` in an option equals `-`.
    pub(super) underscores: bool,
    /// A function for what lists cannot express. If it returns `false`, the lists are skipped.
    pub(super) special: Option<Special>,
    /// Positions in which it takes code; decides where a value may be filled in.
    pub(super) code: Code,
    /// The option that takes code, and how that code reads an argument after `--`.
    pub(super) argument: Option<(&'static str, &'static str)>,
    /// A grant for its name allows any program or any code.
    pub(super) unrestricted: bool,
    /// Its code is not shell code, so deny rules cannot be looked for in it.
    pub(super) opaque: bool,
    /// It is the client of a database, with a command that starts a shell.
    pub(super) database: bool,
    /// It communicates with other machines.
    pub(super) network: Network,
    /// It changes the files that it is given.
    pub(super) changes: Changes,
    /// Ordinary commands that must not be asked about, read by the tests.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the tests read it; it belongs to the entry")
    )]
    pub(super) plain: &'static [&'static str],
}

/// Inspects the words of a command whose program or subcommand is at the given index.
pub(super) type Special = fn(&[Word], usize, &mut ProgramReport) -> bool;

/// An empty entry, from which the others start.
pub(super) const NONE: Program = Program {
    names: list(""),
    options: &[],
    values: list(""),
    safe: "",
    flags: "",
    operands: &[],
    stops: 0,
    passes: false,
    words: false,
    assigns: false,
    settings: false,
    signs: false,
    data: false,
    opens: false,
    whole: Whole::No,
    moves: false,
    answers: false,
    bundle: false,
    before: false,
    subs: &[],
    quiet: "",
    other: None,
    unknown: None,
    always: None,
    script: false,
    bare: None,
    least: 1,
    shell_below: 0,
    fills: false,
    underscores: false,
    special: None,
    code: Code::AsListed,
    argument: None,
    unrestricted: false,
    opaque: false,
    database: false,
    network: Network::No,
    changes: Changes::AsListed,
    plain: &[],
};

/// Words between blanks, with a fast negative lookup.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) text: &'static str,
    /// First characters of the words, without dashes.
    starts: u128,
    /// Letters that are options by themselves.
    letters: u128,
}

pub(super) const fn list(text: &'static str) -> List {
    let (bytes, mut at, mut fresh) = (text.as_bytes(), 0, true);
    let (mut starts, mut letters) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b' ' => fresh = true,
            b'-' if fresh => {}
            byte if fresh => {
                starts |= 1 << (byte & 127);
                let one = at > 0 && bytes[at - 1] == b'-' && (at == 1 || bytes[at - 2] == b' ');
                if one
                    && (at + 1 == bytes.len() || matches!(bytes[at + 1], b' ' | b':' | b'?' | b'!'))
                {
                    letters |= 1 << (byte & 127);
                }
                fresh = false;
            }
            _ => {}
        }
        at += 1;
    }
    List {
        text,
        starts,
        letters,
    }
}

impl List {
    /// Returns the words.
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        self.text.split(' ').filter(|word| !word.is_empty())
    }

    /// Returns the words if one of them may begin like `name`, otherwise none.
    fn like(self, name: &str) -> impl Iterator<Item = &'static str> {
        let first = undashed(name).bytes().next().unwrap_or(0);
        let text = if self.starts & (1 << (first & 127)) == 0 {
            ""
        } else {
            self.text
        };
        Self { text, ..self }.words()
    }

    pub(super) fn has(self, word: &str) -> bool {
        self.like(word).any(|item| item == word)
    }
}

/// A reason to ask, with an example that must be asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reason {
    pub(super) effect: ProgramEffect,
    pub(super) why: &'static str,
    /// An example, read by the tests.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the tests read it; it belongs to the entry")
    )]
    pub(super) example: &'static str,
}

/// An option with all its spellings.
#[derive(Debug)]
pub(super) struct Opt {
    /// Spellings between blanks, each with its dashes.
    pub(super) names: List,
    pub(super) reason: Reason,
    /// Values that are a reason to ask; `None` for all.
    pub(super) when: Option<fn(&str) -> bool>,
    pub(super) starts: Starts,
    /// Its value is the program text or the file with it, so the first operand is not.
    pub(super) program: bool,
}

/// A range of operands.
#[derive(Debug)]
pub(super) struct Operand {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) when: fn(&str) -> bool,
    pub(super) reason: Reason,
    pub(super) starts: Starts,
    /// The operand is a program text, options or a subcommand, so a shell pattern in its place is a
    /// reason to ask.
    pub(super) globs: bool,
}

/// A command that starts at a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starts {
    No,
    /// The word is a program, and the words after it are its arguments.
    Command,
    /// The word is a whole script.
    Script,
    /// The word is a setting whose value is a script: `ProxyCommand=rm x`.
    Setting,
    /// The word is not a command, but commands inside it run: `a[$(rm x)]`.
    Inside,
    /// The word names a module, which a rule must contain. The words after it are its arguments.
    Module,
}

pub(super) const fn because(
    effect: ProgramEffect,
    why: &'static str,
    example: &'static str,
) -> Reason {
    Reason {
        effect,
        why,
        example,
    }
}

pub(super) const fn opt(
    names: &'static str,
    effect: ProgramEffect,
    why: &'static str,
    example: &'static str,
) -> Opt {
    Opt {
        names: list(names),
        reason: because(effect, why, example),
        when: None,
        starts: Starts::No,
        program: false,
    }
}

pub(super) const fn operand(
    from: usize,
    when: fn(&str) -> bool,
    effect: ProgramEffect,
    why: &'static str,
    example: &'static str,
) -> Operand {
    let reason = because(effect, why, example);
    Operand {
        from,
        to: usize::MAX,
        when,
        reason,
        starts: Starts::No,
        globs: false,
    }
}

impl Opt {
    pub(super) const fn when(mut self, when: fn(&str) -> bool) -> Self {
        self.when = Some(when);
        self
    }

    pub(super) const fn starts(mut self, starts: Starts) -> Self {
        self.starts = starts;
        self
    }

    pub(super) const fn program(mut self) -> Self {
        self.program = true;
        self
    }
}

impl Operand {
    pub(super) const fn globs(mut self) -> Self {
        self.globs = true;
        self
    }

    pub(super) const fn to(mut self, to: usize) -> Self {
        self.to = to;
        self
    }

    pub(super) const fn starts(mut self, starts: Starts) -> Self {
        self.starts = starts;
        self
    }
}

impl ProgramReport {
    pub(super) fn hit(&mut self, at: usize, effect: ProgramEffect, why: &'static str) {
        self.hits.push(EffectHit { at, effect, why });
    }

    fn reason(&mut self, at: usize, reason: &Reason) {
        self.hit(at, reason.effect, reason.why);
    }
}

/// Replaces text in a word that is only known when the command runs.
pub(crate) const UNKNOWN: char = '\0';

/// The reason for a shell pattern where a program text, options or a subcommand is expected.
pub(super) const PATTERN: &str = "is a pattern, so the names of files would decide what runs";

/// Deepest nesting of commands; each level is a hit by itself.
const DEPTH: usize = 6;

/// Inspects the command that starts at `at`.
pub(super) fn look(words: &[Word], at: usize, depth: usize, report: &mut ProgramReport) {
    let Some(program) = words
        .get(at)
        .and_then(|word| super::find(&word.text))
        .map(|(_, program)| program)
    else {
        return;
    };
    if depth > DEPTH {
        return;
    }
    let levels = [program, &NONE, &NONE, &NONE];
    Walk {
        words,
        report,
        depth,
        levels,
        level: 0,
        unsure: false,
        peeking: false,
        has_globs: words.iter().any(Word::is_glob),
        supplied: false,
        shifted: false,
        scripted: false,
    }
    .program(program, at, false);
}

struct Walk<'a> {
    words: &'a [Word],
    report: &'a mut ProgramReport,
    depth: usize,
    /// The program, its subcommand and so on, whose options all count.
    levels: [&'static Program; 4],
    level: usize,
    /// `true` after an unknown option, which may take a value.
    unsure: bool,
    /// `true` while a value is inspected as an option.
    peeking: bool,
    /// `true` if a word is a shell pattern.
    has_globs: bool,
    /// `true` after an option that holds the program text.
    supplied: bool,
    /// `true` after an unknown option whose value the next operand may be.
    shifted: bool,
    /// `true` after an option that names a command.
    scripted: bool,
}

impl Walk<'_> {
    fn program(&mut self, program: &'static Program, at: usize, inside: bool) {
        let last = self.words.len();
        if let Some(reason) = &program.always {
            self.report
                .reason(if inside { at } else { (at + 1).min(last) }, reason);
        }
        if let Some(special) = program.special {
            let (starts, attached) = (self.report.starts.len(), self.report.attached.len());
            let goes_on = special(self.words, at, self.report);
            if program.code == Code::AsListed {
                let report = &mut *self.report;
                report.code.extend_from_slice(&report.starts[starts..]);
                let words = report.attached[attached..].iter().map(|script| script.word);
                report.code.extend(words);
            }
            if !goes_on {
                return;
            }
        }
        let commands = !program.subs.is_empty() || !program.quiet.is_empty();
        // The number of operands up to which patterns are a reason to ask.
        let texts = if self.has_globs {
            let texts = program.operands.iter().filter(|rule| rule.globs);
            texts.map(|rule| rule.to).max()
        } else {
            None
        };
        let (mut operands, mut seen, mut only_operands, mut index) = (0, false, false, at + 1);
        // Operands that may be values of unknown options.
        let mut doubtful = 0;
        let mut last_text = None;
        while let Some(word) = self.words.get(index) {
            let text = &*word.text;
            if text == "--" && program.passes {
                break;
            }
            if text == "--" && !seen {
                only_operands |= program.stops > 0;
                index += 1;
                continue;
            }
            if program.bundle && index == at + 1 && !text.starts_with('-') {
                self.patterns(index..index + 1);
                index = self.cluster(index, text);
                continue;
            }
            if text.len() > 1 && text.starts_with('-') && !only_operands {
                index = self.option(index, !seen);
                continue;
            }
            // `env` accepts any name: `env a-b=c rm x`.
            if program.assigns && operands == 0 && text.contains('=') {
                self.report.hit(
                    index,
                    ProgramEffect::Configures,
                    "sets a variable for what it starts",
                );
                index += 1;
                continue;
            }
            if commands && !seen && text.starts_with('+') {
                index += 1; // A toolchain: `cargo +nightly`.
                continue;
            }
            if commands && !seen {
                seen = true;
                if !inside && self.depth == 0 {
                    self.report.subcommand = Some(index);
                }
                self.candidates(index);
                if self.has_globs {
                    self.patterns(at + 1..index + 1);
                }
                if let Some(sub) = program.subs.iter().find(|sub| sub.names.has(text)) {
                    self.enter(program, sub);
                    return self.program(sub, index, true);
                }
                if !listed(program.quiet, text)
                    && let Some(reason) = &program.other
                {
                    self.report.reason(index, reason);
                }
                if program.before {
                    return;
                }
                index += 1;
                continue;
            }
            for rule in program.operands {
                let reached = operands + doubtful >= rule.from || word.is_glob();
                let meant = (rule.when)(text)
                    || rule.globs && (word.is_glob() || text.contains(UNKNOWN)) && {
                        // After `awk -f x`, operands are data.
                        rule.to > 1 || !self.supplied
                    };
                if reached && operands < rule.to && meant {
                    self.report.reason(index, &rule.reason);
                    if rule.starts != Starts::No && program.code == Code::AsListed {
                        self.report.code.push(index);
                    }
                    self.start(index, rule.starts);
                }
            }
            if program.script && operands == 0 {
                if program.code == Code::AsListed {
                    self.report.code.push(index);
                }
                self.start(index, Starts::Script);
            }
            index += 1;
            if program.stops > 0 && std::mem::take(&mut self.shifted) {
                doubtful += 1;
                continue;
            }
            operands += if word.is_glob() {
                usize::from(u16::MAX)
            } else {
                1
            };
            if last_text.is_none() && texts.is_some_and(|to| operands >= to) {
                last_text = Some(index);
            }
            if program.stops > 0 && operands >= program.stops {
                break;
            }
        }
        let is_open = commands && !seen || texts.is_some_and(|to| to > 1 || !self.supplied);
        if self.has_globs && is_open {
            // A pattern that is the value of an option may become more words than one.
            self.patterns(at + 1..last_text.unwrap_or(last));
        }
        let informs = |word: &Word| {
            listed("--version --help -version -help", &word.text)
                || listed(program.safe, &word.text)
        };
        if operands + doubtful < program.shell_below
            && !self.scripted
            && !self.words[at + 1..].iter().any(informs)
        {
            self.report.takes_input = true;
        }
        if operands + doubtful < program.least
            && !seen
            && let Some(reason) = &program.bare
            && !self.words[at + 1..].iter().any(informs)
        {
            self.report.takes_input |= reason.effect == ProgramEffect::Runs && !self.supplied;
            if self.report.hits.is_empty() {
                self.report.reason(last, reason);
            }
        }
    }

    /// Reports shell patterns among these words.
    fn patterns(&mut self, range: std::ops::Range<usize>) {
        for index in range {
            if self.words.get(index).is_some_and(Word::is_glob) {
                self.report.hit(index, ProgramEffect::Runs, PATTERN);
            }
        }
    }

    /// Records what may be the subcommand: this word, or the next one if this may be a value.
    fn candidates(&mut self, index: usize) {
        if self.depth > 0 {
            return;
        }
        self.report.subcommands.push(index);
        if std::mem::take(&mut self.unsure) {
            let mut rest = self.words.iter().enumerate().skip(index + 1);
            let next = rest.find(|(_, word)| !word.text.starts_with('-'));
            self.report.subcommands.extend(next.map(|(next, _)| next));
        }
    }

    fn enter(&mut self, program: &'static Program, sub: &'static Program) {
        if !program.before && self.level + 1 < self.levels.len() {
            self.level += 1;
        }
        self.levels[self.level] = sub;
    }

    /// Records a command that starts at a word. Returns its end, if known.
    fn start(&mut self, index: usize, starts: Starts) -> Option<usize> {
        let rest = self.words.get(index..).filter(|rest| !rest.is_empty())?;
        match starts {
            Starts::No => return None,
            Starts::Module => {
                // Some modules are listed as programs: `python3 -m pytest -p x`.
                look(self.words, index, self.depth + 1, self.report);
                return Some(self.words.len());
            }
            Starts::Setting | Starts::Inside => {
                self.within(index, 0, starts);
                return None;
            }
            Starts::Script | Starts::Command => self.report.starts.push(index),
        }
        // `crontab -`
        self.report.takes_input |= is_input(&rest[0].text);
        if starts == Starts::Script {
            return None;
        }
        // `find -exec` marks the end; otherwise the command includes the last word.
        let mark = |at: &usize| match &*rest[*at].text {
            ";" => true,
            "+" => *at > 0 && &*rest[*at - 1].text == "{}",
            _ => false,
        };
        let end = index + (0..rest.len()).find(mark).unwrap_or(rest.len());
        if self.levels[0].fills {
            let marker = marker(&self.words[..index]);
            self.fill(&self.words[index..end], marker, marker.is_none());
        } else if rest.iter().any(|word| word.text.contains("{}")) {
            self.fill(&self.words[index..end], Some("{}"), false);
        }
        look(&self.words[..end], index, self.depth + 1, self.report);
        Some(end)
    }

    /// Records whether a command takes code from the words that are filled into it: those that
    /// replace the marker, or are appended.
    fn fill(&mut self, command: &[Word], marker: Option<&str>, appends: bool) {
        self.report.takes_input |= takes_filled_code(command, marker, appends, self.depth + 1);
    }

    /// Records a script at the end of a word.
    fn within(&mut self, word: usize, offset: usize, starts: Starts) {
        let text = self.words[word].text.get(offset..).unwrap_or("");
        let more = match starts {
            Starts::Setting if !names_command(text) => return,
            Starts::Setting => {
                let value = text.find(['=', ' ']).map_or("", |at| &text[at..]);
                text.len() - value.trim_start_matches(['=', ' ', '!']).len()
            }
            _ => 0,
        };
        self.report.attached.push(AttachedScript {
            word,
            offset: offset + more,
        });
    }

    /// Reads the option at `index`. Returns the index after it.
    fn option(&mut self, index: usize, known: bool) -> usize {
        let text = &*self.words[index].text;
        let whole = self.levels[self.level].words || text.starts_with("--");
        let (name, value) = text
            .split_once('=')
            .map_or((text, None), |(n, v)| (n, Some(v)));
        let offset = name.len() + 1;
        let dashed;
        let name = if self.levels[self.level].underscores {
            dashed = name.replace('_', "-");
            &*dashed
        } else {
            name
        };
        for exact in [true, false] {
            for level in (0..=self.level).rev() {
                let program = self.levels[level];
                for option in program.options {
                    let found = option.spelled(name, text, program, exact);
                    let Some((takes, rest)) = found else { continue };
                    let attached = rest.or(value.map(|value| (value, offset)));
                    return self.found(option, index, attached, takes);
                }
            }
        }
        if !whole {
            return self.cluster(index, &text[1..]);
        }
        for level in (0..=self.level).rev() {
            let Some((takes, dashed)) = valued(self.levels[level], name) else {
                continue;
            };
            if value.is_some() {
                return index + 1;
            }
            return self.behind(index, takes, dashed == Some(true) && level == self.level);
        }
        self.shifted |= self.foreign(index, name, known) && value.is_none();
        index + 1
    }

    /// Handles an option that is in no list of options or values. Returns `true` if it is unknown,
    /// so that it may take a value.
    fn foreign(&mut self, index: usize, name: &str, known: bool) -> bool {
        let program = self.levels[self.level];
        let is_flag = !program.flags.is_empty() && listed(program.flags, name);
        if is_flag || listed(program.safe, name) {
            return false;
        }
        self.unsure = true;
        if let Some(reason) = &program.unknown
            && known
        {
            self.report.reason(index, reason);
        }
        true
    }

    /// Reads option letters after one dash.
    fn cluster(&mut self, index: usize, letters: &str) -> usize {
        let old = !self.words[index].text.starts_with('-');
        let mut next = index + 1;
        'letters: for (position, letter) in letters.char_indices() {
            let rest = &letters[position + letter.len_utf8()..];
            let attached = (!rest.is_empty() && !old).then(|| {
                (
                    rest.strip_prefix('=').unwrap_or(rest),
                    self.words[index].text.len() - rest.len(),
                )
            });
            for level in (0..=self.level).rev() {
                let program = self.levels[level];
                for option in program.options {
                    let Some(takes) = short(option.names, letter) else {
                        continue;
                    };
                    let after = self.found(option, next - 1, attached, takes);
                    if old {
                        next = after.max(next);
                        continue 'letters;
                    }
                    if takes != Takes::Nothing {
                        return after;
                    }
                    continue 'letters;
                }
                match short(program.values, letter) {
                    None => {}
                    Some(_) if old => {
                        next += 1;
                        continue 'letters;
                    }
                    Some(_) if attached.is_some() => return next,
                    Some(Takes::Attached) => return next,
                    Some(Takes::Values(more)) => return self.behind(index, more + 1, false),
                    Some(Takes::Dashed) => return self.behind(index, 1, level == self.level),
                    Some(Takes::Nothing) => return self.behind(index, 1, false),
                }
            }
            // `-W:no-x`: a value of ruby's.
            if letter == 'W' && rest.starts_with(':') {
                return next;
            }
            let mut name = [b'-', 0, 0, 0, 0];
            let end = 1 + letter.encode_utf8(&mut name[1..]).len();
            let name = str::from_utf8(&name[..end]).unwrap_or("-");
            self.shifted |= self.foreign(index, name, true) && rest.is_empty() && !old;
        }
        next
    }

    /// Returns the index after the values. A value that looks like an option is also inspected as
    /// one, unless it is certain to be a value.
    fn behind(&mut self, index: usize, takes: usize, certain: bool) -> usize {
        let next = index + 1;
        if takes > 0 && certain && self.depth == 0 {
            self.report.values.push(next);
        }
        let dashed = |word: &Word| word.text.len() > 1 && word.text.starts_with('-');
        let dashed = self
            .words
            .get(next)
            .is_some_and(|word| dashed(word) && &*word.text != "--");
        if takes > 0 && dashed && !certain && !std::mem::replace(&mut self.peeking, true) {
            self.option(next, true);
            self.peeking = false;
        }
        next + takes
    }

    fn found(
        &mut self,
        option: &'static Opt,
        index: usize,
        attached: Value<'_>,
        takes: Takes,
    ) -> usize {
        let next = self.words.get(index + 1).map(|word| &*word.text);
        let value = match (attached, takes) {
            (Some((value, _)), _) => Some(value),
            (None, Takes::Values(_)) => next,
            (None, _) => None,
        };
        let is_pattern = self.has_globs
            && attached.is_none()
            && matches!(takes, Takes::Values(_))
            && self.words.get(index + 1).is_some_and(Word::is_glob);
        self.supplied |= option.program;
        if option.program {
            let is_apart = usize::from(attached.is_none());
            self.report.sources.push(index + is_apart);
        }
        self.report.takes_input |=
            option.program && value.is_some_and(|value| is_input(value) || value.contains(UNKNOWN));
        let bare = takes == Takes::Attached && option.when.is_some() && value.is_none();
        let runs = option.reason.effect == ProgramEffect::Runs;
        let hit = !bare
            && option
                .when
                .zip(value)
                .is_none_or(|(when, value)| when(value) || runs && value.contains(UNKNOWN));
        if is_pattern && !hit && (runs || option.reason.effect == ProgramEffect::Configures) {
            self.patterns(index + 1..index + 2);
        }
        self.scripted |= hit && matches!(option.starts, Starts::Script | Starts::Command);
        if hit && option.starts == Starts::Script {
            self.report.takes_input |= value.is_some_and(|value| reads_alone(value, self.depth));
        }
        let mut end = None;
        if hit && (runs || option.starts != Starts::No) {
            self.report.code.extend(match (attached, takes) {
                (Some(_), _) => Some(index),
                (None, Takes::Values(_)) => Some(index + 1),
                (None, _) => None,
            });
        }
        self.report.hides |= hit && runs && option.starts == Starts::No;
        if hit {
            let apart = option.starts == Starts::Module && attached.is_none();
            self.report
                .reason(index + usize::from(apart), &option.reason);
            match attached {
                Some(_) if option.starts == Starts::Module => end = Some(self.words.len()),
                Some((_, offset)) if option.starts != Starts::No => {
                    self.within(index, offset, option.starts);
                }
                None if takes == Takes::Attached => {}
                _ => end = self.start(index + 1, option.starts),
            }
        } else if option.starts == Starts::Module {
            end = Some(self.words.len());
        }
        match (end, takes) {
            (Some(end), _) => end,
            (None, Takes::Values(more)) if attached.is_some() => index + more,
            (None, Takes::Values(more)) => self.behind(index, more, hit),
            (None, _) => index + 1,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// An attached value only.
    Attached,
    /// One value that may begin with a dash.
    Dashed,
    Values(usize),
}

/// Splits a spelling into name and mark.
fn unmarked(spelling: &str) -> (&str, Takes) {
    let name = spelling.trim_end_matches(':');
    if let Some(name) = spelling.strip_suffix('?') {
        (name, Takes::Attached)
    } else if let Some(name) = spelling.strip_suffix('!') {
        (name, Takes::Dashed)
    } else if name.len() == spelling.len() {
        (name, Takes::Nothing)
    } else {
        (name, Takes::Values(spelling.len() - name.len()))
    }
}

impl Opt {
    /// Returns what the option takes if `name` spells it. With a star, the rest of the word is the
    /// value.
    fn spelled<'a>(
        &self,
        name: &str,
        text: &'a str,
        program: &Program,
        exact: bool,
    ) -> Option<(Takes, Value<'a>)> {
        for spelling in self.names.like(name) {
            let (full, takes) = unmarked(spelling);
            if let Some(start) = full.strip_suffix('*') {
                if exact && text.starts_with(start) {
                    return Some(match text.len() - start.len() {
                        0 => (Takes::Values(1), None),
                        _ => (Takes::Values(1), Some((&text[start.len()..], start.len()))),
                    });
                }
            } else if exact {
                if name == full || program.words && undashed(name) == undashed(full) {
                    return Some((takes, None));
                }
            } else if name.len() > 2
                && name.starts_with("--")
                && full.starts_with(name)
                && !program.words
                && !listed(program.safe, name)
                && valued(program, name).is_none_or(|(_, exact)| exact.is_none())
            {
                return Some((takes, None));
            }
        }
        None
    }
}

/// A value in the same word, with its offset.
type Value<'a> = Option<(&'a str, usize)>;

fn undashed(name: &str) -> &str {
    name.strip_prefix("--")
        .or_else(|| name.strip_prefix('-'))
        .unwrap_or(name)
}

/// Returns what a letter takes if it is among these spellings.
fn short(names: List, letter: char) -> Option<Takes> {
    if !letter.is_ascii() || names.letters & (1 << u32::from(letter)) == 0 {
        return None;
    }
    names.words().find_map(|spelling| {
        let (name, takes) = unmarked(spelling);
        let rest = name.strip_prefix('-')?;
        let mut letters = rest.chars();
        (letters.next() == Some(letter) && letters.next().is_none()).then_some(takes)
    })
}

/// Returns how many words a long option in `values` takes and, if it is spelled out, `true` if they
/// may begin with a dash.
fn valued(program: &Program, name: &str) -> Option<(usize, Option<bool>)> {
    let mut shortened = None;
    for spelling in program.values.like(name) {
        let (full, takes) = unmarked(spelling);
        let count = match takes {
            Takes::Nothing | Takes::Dashed => 1,
            Takes::Attached => 0,
            Takes::Values(more) => more + 1,
        };
        if full == name || program.words && undashed(full) == undashed(name) {
            return Some((count, Some(takes == Takes::Dashed)));
        }
        if name.len() > 2 && name.starts_with("--") && full.starts_with(name) {
            shortened = Some((count, None));
        }
    }
    shortened.filter(|_| !listed(program.safe, name))
}

/// Returns `true` if a blank-separated list contains a word.
pub(super) fn listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|item| item == word)
}

/// Accepts any text.
pub(super) fn any(_: &str) -> bool {
    true
}

/// Accepts no text: only a shell pattern is a reason to ask.
pub(super) fn none(_: &str) -> bool {
    false
}

/// Returns `true` if a word, which may be a shell pattern, may become `name`.
pub(super) fn may_be(text: &str, name: &str) -> bool {
    let literal = text.find(['*', '?']).map(|at| &text[..at]);
    text == name || literal.is_some_and(|start| name.starts_with(start))
}

/// Returns `true` for a name of standard input or of another open file.
pub(crate) fn is_input(text: &str) -> bool {
    let mut parts = text
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    let device = |part: &str| matches!(part, "stdin" | "fd" | "tty");
    text == "-" || parts.clone().any(|part| matches!(part, "dev" | "proc")) && parts.any(device)
}

/// Returns `true` if a command without arguments takes code from its input: `git rebase -x sh`.
pub(super) fn reads_alone(command: &str, depth: usize) -> bool {
    let mut report = ProgramReport::default();
    look(&[Word::plain(command)], 0, depth + 1, &mut report);
    report.takes_input
}

/// Returns the text that `xargs` replaces, if its options name one.
fn marker(options: &[Word]) -> Option<&str> {
    options.iter().enumerate().rev().find_map(|(at, word)| {
        let text = &*word.text;
        let next = options.get(at + 1).map(|word| &*word.text);
        let value = if let Some(value) = text.strip_prefix("-I").or_else(|| text.strip_prefix("-J"))
        {
            Some(value).filter(|value| !value.is_empty()).or(next)
        } else if let Some(rest) = text.strip_prefix("--rep") {
            rest.split_once('=').map(|(_, value)| value)
        } else {
            Some(text.strip_prefix("-i")?)
        };
        Some(value.filter(|value| !value.is_empty()).unwrap_or("{}"))
    })
}

/// Returns `true` if a command takes code from the words that are filled into it: those that replace
/// the marker, or are appended.
pub(super) fn takes_filled_code(
    command: &[Word],
    marker: Option<&str>,
    appends: bool,
    depth: usize,
) -> bool {
    let unknown = UNKNOWN.to_string();
    let marker = marker.filter(|marker| !marker.is_empty());
    let mut words: Vec<Word> = command
        .iter()
        .map(|word| match marker {
            Some(marker) => Word::plain(word.text.replace(marker, &unknown)),
            None => word.clone(),
        })
        .collect();
    if appends {
        words.push(Word::plain(&*unknown));
    }
    let is_filled = |at: usize| {
        words
            .get(at)
            .is_some_and(|word| word.text.contains(UNKNOWN))
    };
    if is_filled(0) {
        return true;
    }
    // The words may be options, and some of those run something: `xargs find .`.
    let has_code_options = super::find(&words[0].text).is_some_and(|(_, program)| {
        program.unrestricted || matches!(program.code, Code::Options { .. })
    });
    let is_free = |word: &Word| *word.text == *unknown;
    let is_data = words.iter().any(|word| &*word.text == "--");
    if has_code_options && !is_data && words.iter().any(is_free) {
        return true;
    }
    let mut report = ProgramReport::default();
    look(&words, 0, depth, &mut report);
    let runs = |hit: &EffectHit| hit.effect == ProgramEffect::Runs && is_filled(hit.at);
    report.takes_input
        || report.starts.into_iter().any(is_filled)
        || report.code.into_iter().any(is_filled)
        || report.attached.iter().any(|script| is_filled(script.word))
        || report.hits.iter().any(runs)
}

/// Returns `true` for a setting whose value is a command.
pub(super) fn names_command(setting: &str) -> bool {
    let (name, value) = setting.split_once(['=', ' ']).unwrap_or((setting, ""));
    value.starts_with('!') || super::git_setting_runs(name)
}

/// Returns `true` for a path that may be outside the working folder.
pub(super) fn outside(text: &str) -> bool {
    text.is_empty()
        || text.starts_with(['/', '~', '\\'])
        || text.as_bytes().get(1) == Some(&b':')
        || text.split(['/', '\\']).any(|part| part == "..")
}
