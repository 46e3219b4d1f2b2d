//! Positions in which programs take code.
//!
//! The option table says which options and operands start something. That is enough for most
//! programs ([`Code::AsListed`]). Interpreters, wrappers and some builtins need more: which of their
//! words are code, which name a file of code, and which are data.

/// The words of a command that a program takes for code, or for something as dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Code is where the option table says that a program or a script starts.
    AsListed,
    /// All words are code.
    Everything,
    /// The first word is a file of code, the others are data.
    File,
    /// Starts another program.
    Wrapper {
        /// Letters of options that take a value.
        values: &'static str,
        /// Number of words before the program.
        before: usize,
    },
    /// Takes code after `-c`, otherwise from a file, otherwise from standard input.
    Shell,
    /// An interpreter of another language.
    Interpreter {
        /// Letters of options that take code.
        letters: &'static str,
        /// Long options that take code.
        long: &'static [&'static str],
        /// Letters of other options that take a value.
        values: &'static str,
    },
    /// The first word is code unless an option holds the code: `awk`, `sed`.
    First {
        /// Letters of options that take code.
        code: &'static str,
        /// Letters of options that take a file of code.
        file: &'static str,
        /// Letters of other options that take a value.
        values: &'static str,
        /// Options may follow the code.
        permutes: bool,
    },
    /// All words are names of variables, which may have a subscript that is evaluated.
    VariableNames,
    /// All words are assignments.
    Assignments,
    /// `printf`
    Printf,
    /// `test` and `[`
    Test,
    /// `command`
    Command,
    /// Some of its options run something, so a word must not become an option.
    Options {
        /// Options that take a value, between blanks. `-*f` is any cluster that ends with `f`.
        values: &'static str,
        /// Words after `--` are never options.
        protects: bool,
        /// Takes commands from standard input.
        reads_input: bool,
    },
}

/// A wrapper whose options take no values.
pub(super) const WRAPPER: Code = wrapper("", 0);
/// A program that takes words after `--` for data.
pub(super) const OPTIONS: Code = Code::Options {
    values: "",
    protects: true,
    reads_input: false,
};

pub(super) const fn wrapper(values: &'static str, before: usize) -> Code {
    Code::Wrapper { values, before }
}

pub(super) const fn interpreter(
    letters: &'static str,
    long: &'static [&'static str],
    values: &'static str,
) -> Code {
    Code::Interpreter {
        letters,
        long,
        values,
    }
}

/// Variables that decide what a shell, or a program that it starts, does.
const ENVIRONMENT: &[&str] = &[
    "BASH_ENV",
    "BROWSER",
    "CDPATH",
    "EDITOR",
    "ENV",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "NODE_OPTIONS",
    "PAGER",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "VISUAL",
    "XDG_CONFIG_HOME",
];
/// Prefixes of such variables.
const ENVIRONMENT_PREFIXES: &[&str] = &["LD_", "DYLD_", "GIT_", "BASH_FUNC", "npm_config_"];

/// Returns `true` if a variable decides what other programs do.
pub(crate) fn decides_for_others(variable: &str) -> bool {
    ENVIRONMENT.contains(&variable)
        || ENVIRONMENT_PREFIXES
            .iter()
            .any(|prefix| variable.starts_with(prefix))
}
