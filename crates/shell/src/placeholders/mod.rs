//! Positions in a script at which a value may be filled in.
//!
//! A value reaches the shell as a variable, so the shell never takes it for code. Some positions undo
//! that: code for another interpreter, `eval`, arithmetic, names of variables, the name of the
//! program. [`judge`] reads a script as bash would and decides about each position. It is built to
//! refuse: a position that it does not understand is unsafe.
//!
//! The linter and the renderer both call [`judge_command`], so a skill that passes validation is
//! not refused when it is loaded.

mod commands;
mod scan;
mod value_limit;
mod words;

use std::ops::Range;

use crate::programs;
pub use scan::simple_commands;
pub use value_limit::{MadeFrom, ValueLimit, ValueObjection};

/// The reason why a value must not be filled in at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsafePosition {
    /// Inside single quotes the shell does not expand variables.
    SingleQuotes,
    /// Inside a here-document.
    HereDocument,
    /// Inside a comment.
    Comment,
    /// Inside the older form of `$( … )`, which has its own quoting rules.
    Backticks,
    /// Code of an interpreter, with its name if it is in the program table and an empty name
    /// otherwise: `bash -c "… $1 …"`, `eval`, `… | sh`.
    Code(&'static str),
    /// The file that an interpreter runs: `bash $1`, `source $1`.
    ScriptFile,
    /// The name of the program.
    Program,
    /// Arithmetic evaluates its operands, and a subscript in them can run a command.
    Arithmetic,
    /// A builtin takes it for the name of a variable, which may have such a subscript.
    VariableName,
    /// An option of a program whose options can run something.
    Option,
    /// A variable that decides what other programs do.
    Environment,
    /// The script could not be followed.
    Unclear,
    /// The script is too long to be followed.
    TooLong,
}

impl UnsafePosition {
    /// Returns the text to show at the position.
    pub fn explain(self) -> &'static str {
        match self {
            Self::SingleQuotes => "the shell does not fill in arguments inside single quotes",
            Self::HereDocument => "inside a here-document the argument becomes part of the script",
            Self::Comment => "an argument inside a comment has no effect",
            Self::Backticks => "quotes work differently inside backticks",
            Self::Code(_) => "the argument would be run as code by another interpreter",
            Self::ScriptFile => "the argument would choose the script to run",
            Self::Program => "the argument would choose the program to run",
            Self::Arithmetic => "shell arithmetic would evaluate the argument",
            Self::VariableName => "the shell would use the argument as the name of a variable",
            Self::Option => "the argument could be an option that runs a program",
            Self::Environment => "the argument would change what other programs do",
            Self::Unclear => "it is unclear what the shell does with the argument here",
            Self::TooLong => "the command is too long to check what happens to the argument",
        }
    }

    /// Returns what to write instead. `placeholder` is the placeholder as it is written.
    pub fn remedy(self, placeholder: &str) -> String {
        match self {
            Self::SingleQuotes => format!(
                "use double quotes: `\"{placeholder}\"`; or write `\\{placeholder}` if another \
                 program is to read it"
            ),
            Self::HereDocument => {
                format!("pass it on standard input: `printf '%s' \"{placeholder}\" | …`")
            }
            Self::Comment => format!("write `\\{placeholder}`, or remove it"),
            Self::Backticks => format!("use `$( … \"{placeholder}\" … )` instead of backticks"),
            Self::Code(program) => code_remedy(program, placeholder),
            Self::ScriptFile => {
                format!("name the script and pass the argument to it: `\"{placeholder}\"`")
            }
            Self::Program => {
                format!("name the program and pass the argument to it: `program \"{placeholder}\"`")
            }
            Self::Arithmetic => format!(
                "compare it as text: `[[ \"{placeholder}\" = 1 ]]`; or calculate in a script of the \
                 skill"
            ),
            Self::VariableName => {
                format!("assign it to a variable that you name: `value=\"{placeholder}\"`")
            }
            Self::Option => format!(
                "quote it and put it after `--`: `-- \"{placeholder}\"`; for `find`, change to the \
                 folder first: `cd -- \"{placeholder}\" && find .`"
            ),
            Self::Environment => {
                format!("use a variable that no program reads: `value=\"{placeholder}\"`")
            }
            Self::Unclear | Self::TooLong => format!(
                "move the command to a script and pass the argument to it: `\"{placeholder}\"`"
            ),
        }
    }
}

/// Returns what to write instead of a value in code.
fn code_remedy(program: &str, placeholder: &str) -> String {
    match (program, programs::argument_of(program)) {
        ("eval", _) => {
            "remove `eval` and write the command out, with the argument in double quotes".to_owned()
        }
        ("awk" | "gawk" | "mawk" | "nawk", _) => format!(
            "pass it as a variable: `{program} -v value=\"{placeholder}\" '… value …'`; or write \
             `\\{placeholder}` if {program} is to read it"
        ),
        (_, Some((option, expression))) => format!(
            "pass it after the code: `{program} {option} '… {expression} …' -- \"{placeholder}\"`"
        ),
        _ => format!(
            "move the code to a script of the skill and pass the argument to it: `\"{placeholder}\"`"
        ),
    }
}

/// The quoting at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// None: the shell splits the value into words, unless it is a [`PlainWord`].
    Bare,
    /// Double quotes.
    Double,
    /// The shell expands nothing.
    Literal,
}

/// An unquoted position that is part of a word of a command, or of the target of a redirection.
/// Double quotes around the value there make it one word, or part of one, and change nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainWord {
    /// The word begins with the value, so a value that begins with `-` could be an option.
    Leading,
    /// The value cannot be an option: other text or `--` comes before it, or it is a target.
    Data,
}

/// The value at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An argument, or a shell expansion that may hold one.
    Argument,
    /// A value of the runtime, such as the folder of the skill. It may choose a program.
    Trusted,
    /// `\$1`: text that only looks like a placeholder.
    Escape,
}

/// A position in a script, in the author's text.
#[derive(Clone, Debug)]
pub struct ValuePosition {
    /// The bytes of the placeholder.
    pub range: Range<usize>,
    /// The value.
    pub kind: ValueKind,
}

/// The verdict about a position.
#[derive(Clone, Debug)]
pub struct JudgedPosition {
    /// The bytes of the placeholder or expansion.
    pub range: Range<usize>,
    /// The value.
    pub kind: ValueKind,
    /// Its index among the given positions; `None` for an expansion of the shell's own, such as
    /// `${1}` or `"$@"`.
    pub given: Option<usize>,
    /// The quoting at the position.
    pub quoting: Quoting,
    /// The role of the value, if it is unquoted and quotes may be added.
    pub plain: Option<PlainWord>,
    /// The limits of the value, quoted or not.
    pub limit: ValueLimit,
    /// `true` if the limits are about the value as it is, not about a part of it.
    pub is_whole: bool,
    /// The reason why it is unsafe, if it is.
    pub reason: Option<UnsafePosition>,
}

/// Longest script that is judged, in bytes.
const LONGEST_SCRIPT: usize = 64 * 1024;
/// Number of times that values are followed from one variable to the next.
const MOST_ROUNDS: usize = 8;

/// The verdicts about a script.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// All positions, in order.
    pub positions: Vec<JudgedPosition>,
    /// `true` if an argument reaches the script: by a placeholder, a positional parameter,
    /// `$ARGUMENTS` or a declared name.
    receives_argument: bool,
    /// The limits of all values, because the script passes them on.
    pub limit: ValueLimit,
    /// `true` if the script may change its positionals, so that `$1` may be any value.
    pub renumbers: bool,
}

impl Judgement {
    /// Returns the unsafe positions. If no argument reaches the script, expansions of its own
    /// variables are not returned.
    pub fn refused(&self) -> impl Iterator<Item = (&JudgedPosition, UnsafePosition)> {
        self.positions
            .iter()
            .filter(|found| self.receives_argument || found.kind != ValueKind::Argument)
            .filter_map(|found| Some((found, found.reason?)))
    }
}

/// Judges a command of a skill. `arguments` are the declared names, in order. Both validation and
/// rendering decide by the result.
pub fn judge_command(
    script: &str,
    positions: &[ValuePosition],
    arguments: &[impl AsRef<str>],
) -> Judgement {
    let exported = arguments.iter().enumerate();
    let exported: Vec<String> = exported
        .map(|(index, name)| exported_name(index, name.as_ref()))
        .collect();
    let mut names: Vec<&str> = vec!["ARGUMENTS"];
    names.extend(exported.iter().map(String::as_str));
    // Arithmetic evaluates a name without `$`.
    let is_named = || names.iter().any(|name| script.contains(name));
    if positions.is_empty() && !script.contains(['$', '`']) && !is_named() {
        return Judgement::default();
    }
    let scan = judge_script(script, positions, &names, 0);
    let (limit, renumbers) = (scan.limit, scan.renumbers);
    let positions = scan.found;
    let receives_argument = positions.iter().any(|found| {
        let refers = || refers_to_argument(expanded_name(&script[found.range.clone()]), &names);
        found.kind == ValueKind::Argument && (found.given.is_some() || refers())
    });
    let receives_argument = receives_argument || receives_all_positionals(script);
    Judgement {
        positions,
        receives_argument,
        limit,
        renumbers,
    }
}

/// Returns `true` if a script counts or moves its positionals, so that it receives all of them.
pub fn receives_all_positionals(script: &str) -> bool {
    ["$#", "${#}", "shift"]
        .iter()
        .any(|form| script.contains(form))
}

/// Returns the name in `${name`, `${!name` or `$name`.
pub fn expanded_name(expansion: &str) -> &str {
    expansion.trim_start_matches(['$', '{', '!', '#'])
}

/// Returns `true` if a name refers to an argument itself, and not to a variable that may hold one.
fn refers_to_argument(name: &str, names: &[&str]) -> bool {
    name == "@"
        || name == "*"
        || name.bytes().all(|byte| byte.is_ascii_digit())
        || names.contains(&name)
        // Scripts inside other scripts and backticks are not split into names.
        || name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// Returns the name of the variable that holds a declared argument: its own name, unless a shell or a
/// program uses that name. Names in use are in capitals, apart from a few.
pub fn exported_name(index: usize, name: &str) -> String {
    const TAKEN: [&str; 8] = [
        "auto_resume",
        "cdpath",
        "fpath",
        "histchars",
        "home",
        "manpath",
        "path",
        "prompt",
    ];
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let lower = name.to_ascii_lowercase();
    if is_plain && !lower.ends_with("proxy") && !TAKEN.contains(&lower.as_str()) {
        name.to_owned()
    } else {
        format!("PROWESS_ARGUMENT_{index}")
    }
}

/// Judges the given positions, which are in order, and all other references to arguments:
/// positionals, the `names`, and variables that a value was assigned to.
pub fn judge(script: &str, positions: &[ValuePosition], names: &[&str]) -> Vec<JudgedPosition> {
    judge_script(script, positions, names, 0).found
}

/// Judges a script that is inside `level` other scripts.
fn judge_script(
    script: &str,
    positions: &[ValuePosition],
    names: &[&str],
    level: usize,
) -> scan::Scan {
    let given_up = |reason| scan::Scan {
        found: all(positions, reason),
        reads_code: true,
        ..scan::Scan::default()
    };
    if script.len() > LONGEST_SCRIPT {
        return given_up(UnsafePosition::TooLong);
    }
    let mut known = scan::Variables {
        bound: names.iter().map(|&name| name.to_owned()).collect(),
        ..scan::Variables::default()
    };
    for _ in 0..MOST_ROUNDS {
        let mut scan = scan::scan(script, positions, &known, level);
        if !known.extend(&mut scan) {
            return scan;
        }
    }
    given_up(UnsafePosition::Unclear)
}

/// Gives every position the same reason.
fn all(positions: &[ValuePosition], reason: UnsafePosition) -> Vec<JudgedPosition> {
    let judged = |(given, position): (usize, &ValuePosition)| JudgedPosition {
        range: position.range.clone(),
        kind: position.kind,
        given: Some(given),
        quoting: Quoting::Bare,
        plain: None,
        limit: ValueLimit::default(),
        is_whole: false,
        reason: Some(reason),
    };
    positions.iter().enumerate().map(judged).collect()
}

#[cfg(test)]
mod tests;
