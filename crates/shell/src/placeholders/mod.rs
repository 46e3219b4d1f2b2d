//! Where in a script a value may stand.
//!
//! A value reaches the shell as a variable, so the shell itself never takes it for code. Some places
//! undo that: code for another interpreter, `eval`, arithmetic, names of variables, the program's
//! own place. [`judge`] reads a script as bash would and says of each place whether it is safe. It
//! is made to refuse: what it does not understand is not safe.
//!
//! `crate::advice` gives advice about the same to authors; this is what decides.

mod commands;
mod programs;
mod scan;
mod table;

use std::collections::BTreeSet;
use std::ops::Range;

/// Why a place is not fit for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsafe {
    /// Inside single quotes the shell does not look for variables.
    SingleQuotes,
    /// Inside a here-document.
    HereDocument,
    /// Inside a comment.
    Comment,
    /// Inside the older form of `$( … )`, where quoting has rules of its own.
    Backticks,
    /// Code of another interpreter: `bash -c "… $1 …"`, `eval`, `… | sh`.
    InnerShell,
    /// The file that an interpreter runs: `bash $1`, `source $1`.
    ScriptFile,
    /// Where the name of the program stands.
    Program,
    /// Arithmetic evaluates what it is given, and a subscript in it can run a command.
    Arithmetic,
    /// A builtin that takes it as the name of a variable, which may have such a subscript.
    VariableName,
    /// An option of a program whose options can run something.
    Option,
    /// A variable that decides what other programs do.
    Environment,
    /// Something that was not understood.
    Unclear,
    /// In a script too long to be sure.
    TooLong,
}

impl Unsafe {
    /// Returns what to say at the place.
    pub fn explain(self) -> &'static str {
        match self {
            Self::SingleQuotes => "inside single quotes the argument would not be filled in",
            Self::HereDocument => {
                "inside a here-document the argument would be taken as text of the script"
            }
            Self::Comment => "inside a comment the argument has no use",
            Self::Backticks => "inside backticks quotation marks mean something else",
            Self::InnerShell => "the argument would become code of another interpreter",
            Self::ScriptFile => "the argument would choose the script to run",
            Self::Program => "the argument would choose the program to run",
            Self::Arithmetic => "shell arithmetic would evaluate the argument",
            Self::VariableName => "the shell would take the argument for the name of a variable",
            Self::Option => "the argument could be an option that runs something",
            Self::Environment => "the argument would decide what other programs do",
            Self::Unclear => "it is not clear what the shell makes of the argument here",
            Self::TooLong => "the command is too long to be sure what becomes of the argument",
        }
    }

    /// Returns what to write instead.
    pub fn remedy(self, written: &str) -> String {
        match self {
            Self::SingleQuotes => format!(
                "use double quotes: \"{written}\"; or write \\{written} if another program is to see it"
            ),
            Self::HereDocument => {
                format!("pass it on standard input: printf '%s' \"{written}\" | …")
            }
            Self::Comment => format!("write \\{written}, or leave it out"),
            Self::Backticks => format!("write $( … \"{written}\" … ) instead of backticks"),
            Self::InnerShell => {
                format!("pass it behind the code: bash -c '… \"\\$1\" …' -- \"{written}\"")
            }
            Self::ScriptFile => {
                format!("name the script, and pass the argument to it: \"{written}\"")
            }
            Self::Program => {
                format!("name the program, and pass the argument to it: program \"{written}\"")
            }
            Self::Arithmetic => format!(
                "compare it as text: [[ \"{written}\" = 1 ]]; or calculate in a script of the skill"
            ),
            Self::VariableName => {
                format!("give the variable a name of its own: value=\"{written}\"")
            }
            Self::Option => format!(
                "quote it, and put it behind `--`: -- \"{written}\"; for `find`, go there first: \
                 cd -- \"{written}\" && find ."
            ),
            Self::Environment => format!("use a name that no program knows: value=\"{written}\""),
            Self::Unclear | Self::TooLong => {
                format!("move the command to a script, and pass the argument to it: \"{written}\"")
            }
        }
    }
}

/// How a place is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// Not at all: the value is split into words.
    Bare,
    /// In double quotes.
    Double,
    /// Where the shell takes everything as it is.
    Literal,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value from outside.
    Argument,
    /// A value of ours, such as the skill's folder: it may choose a program.
    Trusted,
    /// `\$1`: text that only looks like a placeholder.
    Escape,
}

/// A place in a script, as the author's text has it.
#[derive(Clone, Debug)]
pub struct Place {
    pub range: Range<usize>,
    pub kind: Kind,
}

/// What was found out about a place.
#[derive(Clone, Debug)]
pub struct Found {
    pub range: Range<usize>,
    pub kind: Kind,
    /// Its number among the given places; nothing for what the shell's own syntax refers to, such
    /// as `${1}` or `"$@"`.
    pub given: Option<usize>,
    pub quoting: Quoting,
    pub reason: Option<Unsafe>,
}

/// Longest script that is judged.
const LONGEST_SCRIPT: usize = 64 * 1024;
/// How many times values are followed from one variable to the next.
const MOST_ROUNDS: usize = 8;

/// Judges the given places, which are in order, and whatever else refers to arguments: positionals,
/// the `names`, and variables that a value was put into.
pub fn judge(script: &str, places: &[Place], names: &[&str]) -> Vec<Found> {
    judge_script(script, places, names, 0).found
}

/// The same, for code inside so many others.
fn judge_script(script: &str, places: &[Place], names: &[&str], level: usize) -> scan::Scan {
    let given_up = |reason| scan::Scan {
        found: all(places, reason),
        assigned: Vec::new(),
        reads_code: true,
        #[cfg(test)]
        steps: 0,
    };
    if script.len() > LONGEST_SCRIPT {
        return given_up(Unsafe::TooLong);
    }
    let mut bound: BTreeSet<String> = names.iter().map(|&name| name.to_owned()).collect();
    for _ in 0..MOST_ROUNDS {
        let mut scan = scan::scan(script, places, &bound, level);
        let known = bound.len();
        bound.extend(scan.assigned.drain(..));
        if bound.len() == known {
            return scan;
        }
    }
    given_up(Unsafe::Unclear)
}

/// The same reason for every place.
fn all(places: &[Place], reason: Unsafe) -> Vec<Found> {
    let found = |(given, place): (usize, &Place)| Found {
        range: place.range.clone(),
        kind: place.kind,
        given: Some(given),
        quoting: Quoting::Bare,
        reason: Some(reason),
    };
    places.iter().enumerate().map(found).collect()
}

#[cfg(test)]
mod tests;
