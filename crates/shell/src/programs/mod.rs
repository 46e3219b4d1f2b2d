//! What programs do beyond their name: the option table.
//!
//! A grant for a program's name (`Bash(git:*)`) is not meant for the options that make it start,
//! write or send something else. Programs stand together by family; each entry says why it is there
//! and carries a line that must be asked about. The table lowers questions' cost, it is no wall:
//! the sandbox is.

mod archives;
mod awk;
mod builders;
mod engine;
mod git;
mod interpreters;
mod network;
mod packages;
mod search;
mod sed;
mod system;
#[cfg(test)]
mod tests;
mod text;
mod wrappers;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::word::Word;
use engine::Program;

/// What an option or operand makes a program do that its name does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It starts another program or evaluates code.
    Runs,
    /// It writes, replaces or removes a file.
    Writes,
    /// It sends something to another machine, or lets another machine in.
    Sends,
    /// It reads instructions, secrets or a list of files from a file.
    Reads,
    /// It changes settings that later commands obey.
    Configures,
    /// It works in another place than the one that was agreed to.
    Elsewhere,
}

/// One reason to ask although the program was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Which word it is; 0 is the program. A rule whose own words reach as far as this one agreed
    /// to it. The number of words, if it is the lack of a word that makes the difference: only the
    /// exact command agrees to that.
    pub at: usize,
    /// What it does.
    pub effect: Effect,
    /// The sentence for the question: what this word makes the program do.
    pub why: &'static str,
}

/// What the table knows about one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Reasons to ask, in the order of the words.
    pub hits: Vec<Hit>,
    /// Which word is the subcommand, for programs that have them: `push` in `git -C x push`.
    pub subcommand: Option<usize>,
    /// All words that may be the subcommand, or one below it: behind an option that nobody here
    /// knows it may be the word after the next, in `docker container run` it is both.
    pub subcommands: Vec<usize>,
    /// From which words on the command starts other programs (`env`, `xargs`, `find -exec`): each is
    /// where a deny rule is looked for again. A word may also be a whole script (`sh -c`).
    pub starts: Vec<usize>,
    /// Scripts that are the end of a word: `--exec='rm -r x'`.
    pub attached: Vec<Attached>,
    /// From this word on, the words with blanks between them are a script: `eval`.
    pub joined: Option<usize>,
}

/// Another command inside a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Which word.
    pub word: usize,
    /// Where in its text the command begins.
    pub offset: usize,
}

/// Looks a command up in the table. `words[0]` is the program, possibly with a path: the table goes
/// by its last part. A program that is not in the table gives an empty report.
pub fn inspect(words: &[Word]) -> Report {
    let mut report = Report::default();
    engine::look(words, 0, 0, &mut report);
    report.hits.sort_by_key(|hit| hit.at);
    report.hits.dedup();
    report.starts.sort_unstable();
    report.starts.dedup();
    report.subcommands.sort_unstable();
    report.subcommands.dedup();
    report
}

/// All programs, by family.
const TABLE: &[&[Program]] = &[
    git::GIT,
    text::TEXT,
    search::SEARCH,
    sed::SED,
    awk::AWK,
    builders::BUILDERS,
    packages::PACKAGES,
    interpreters::INTERPRETERS,
    wrappers::WRAPPERS,
    archives::ARCHIVES,
    network::NETWORK,
    system::SYSTEM,
];

/// The table by name, made at the first question.
static INDEX: LazyLock<HashMap<&'static str, &'static Program>> = LazyLock::new(|| {
    let programs = TABLE.iter().copied().flatten();
    programs
        .flat_map(|program| program.names.words().map(move |name| (name, program)))
        .collect()
});

/// The entry for a program by its file name, with or without a version: `/usr/bin/python3.11`.
fn find(word: &str) -> Option<&'static Program> {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    INDEX.get(name).copied().or_else(|| {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        if plain.len() == name.len() {
            None
        } else {
            INDEX.get(plain).copied()
        }
    })
}
