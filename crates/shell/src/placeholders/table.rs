//! Programs and variables that take code, or decide what runs. To know one more, add a line.

/// What a program takes code from.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    /// All its arguments are code.
    Everything,
    /// Its first argument is a file with code, the others are data.
    File,
    /// It runs another program: options with a value of their own, and how many words come before
    /// the program.
    Program {
        values: &'static str,
        before: usize,
    },
    /// A shell: code behind `-c`, else a file, else standard input.
    Shell,
    /// Another interpreter: letters and words of options that have code, letters of others that
    /// take a value.
    Interpreter {
        letters: &'static str,
        words: &'static [&'static str],
        values: &'static str,
    },
    /// The first argument is code, unless an option has it; letters as before. Whether options may
    /// stand behind it.
    First {
        code: &'static str,
        file: &'static str,
        values: &'static str,
        permutes: bool,
    },
    /// Names of variables.
    Names,
    /// Assignments.
    Assignments,
    /// `printf`, `test`, `read`, `command`: see there.
    Printf,
    Test,
    Command,
    /// Some of its options run something.
    Options,
}

use Takes::{
    Assignments, Command, Everything, File, First, Interpreter, Names, Options, Printf, Program,
    Shell, Test,
};

/// Programs by name. A version behind the name does not count: `python3.12`.
const PROGRAMS: &[(&str, Takes)] = &[
    (".", File),
    ("[", Test),
    ("alias", Everything),
    ("ash", Shell),
    (
        "awk",
        First {
            code: "e",
            file: "fEil",
            values: "vF",
            permutes: false,
        },
    ),
    ("bash", Shell),
    ("bind", Everything),
    (
        "builtin",
        Program {
            values: "",
            before: 0,
        },
    ),
    (
        "bun",
        Interpreter {
            letters: "ep",
            words: &["--eval", "--print"],
            values: "r",
        },
    ),
    (
        "bunx",
        Program {
            values: "",
            before: 0,
        },
    ),
    (
        "busybox",
        Program {
            values: "",
            before: 0,
        },
    ),
    (
        "chroot",
        Program {
            values: "",
            before: 1,
        },
    ),
    (
        "chrt",
        Program {
            values: "",
            before: 1,
        },
    ),
    ("command", Command),
    ("compgen", Everything),
    ("complete", Everything),
    ("csh", Shell),
    ("dash", Shell),
    ("dc", Everything),
    ("declare", Assignments),
    ("deno", Everything),
    (
        "doas",
        Program {
            values: "uC",
            before: 0,
        },
    ),
    ("ed", Options),
    ("emacs", Everything),
    ("enable", Everything),
    ("entr", Everything),
    (
        "env",
        Program {
            values: "uCS",
            before: 0,
        },
    ),
    ("eval", Everything),
    ("ex", Everything),
    (
        "exec",
        Program {
            values: "a",
            before: 0,
        },
    ),
    ("expect", Everything),
    ("export", Assignments),
    (
        "fakeroot",
        Program {
            values: "",
            before: 0,
        },
    ),
    ("fc", Everything),
    ("find", Options),
    ("fish", Shell),
    (
        "flock",
        Program {
            values: "wEc",
            before: 1,
        },
    ),
    (
        "gawk",
        First {
            code: "e",
            file: "fEil",
            values: "vF",
            permutes: false,
        },
    ),
    ("gdb", Everything),
    ("getopts", Names),
    (
        "gsed",
        First {
            code: "e",
            file: "f",
            values: "l",
            permutes: true,
        },
    ),
    ("hash", Options),
    (
        "ionice",
        Program {
            values: "cn",
            before: 0,
        },
    ),
    ("jobs", Everything),
    (
        "julia",
        Interpreter {
            letters: "eEL",
            words: &["--eval", "--print"],
            values: "p",
        },
    ),
    ("ksh", Shell),
    ("let", Everything),
    ("local", Assignments),
    (
        "ltrace",
        Program {
            values: "eosp",
            before: 0,
        },
    ),
    (
        "lua",
        Interpreter {
            letters: "e",
            words: &[],
            values: "l",
        },
    ),
    ("man", Options),
    ("mapfile", Names),
    ("mariadb", Everything),
    (
        "mawk",
        First {
            code: "e",
            file: "f",
            values: "vF",
            permutes: false,
        },
    ),
    ("mksh", Shell),
    ("mysql", Everything),
    (
        "nawk",
        First {
            code: "e",
            file: "f",
            values: "vF",
            permutes: false,
        },
    ),
    (
        "nice",
        Program {
            values: "n",
            before: 0,
        },
    ),
    (
        "node",
        Interpreter {
            letters: "ep",
            words: &["--eval", "--print"],
            values: "r",
        },
    ),
    (
        "nohup",
        Program {
            values: "",
            before: 0,
        },
    ),
    (
        "npx",
        Program {
            values: "pc",
            before: 0,
        },
    ),
    (
        "nsenter",
        Program {
            values: "t",
            before: 0,
        },
    ),
    ("nvim", Everything),
    ("osascript", Everything),
    ("parallel", Everything),
    (
        "perl",
        Interpreter {
            letters: "eE",
            words: &[],
            values: "I",
        },
    ),
    (
        "php",
        Interpreter {
            letters: "rBRE",
            words: &["--run"],
            values: "d",
        },
    ),
    ("powershell", Everything),
    ("printf", Printf),
    ("psql", Everything),
    ("pwsh", Everything),
    (
        "python",
        Interpreter {
            letters: "c",
            words: &[],
            values: "WX",
        },
    ),
    ("read", Names),
    ("readarray", Names),
    ("readonly", Assignments),
    (
        "rscript",
        Interpreter {
            letters: "e",
            words: &[],
            values: "",
        },
    ),
    ("rsync", Options),
    (
        "ruby",
        Interpreter {
            letters: "e",
            words: &[],
            values: "rI",
        },
    ),
    ("runuser", Everything),
    ("scp", Options),
    ("script", Everything),
    (
        "sed",
        First {
            code: "e",
            file: "f",
            values: "l",
            permutes: true,
        },
    ),
    (
        "setpriv",
        Program {
            values: "",
            before: 0,
        },
    ),
    (
        "setsid",
        Program {
            values: "",
            before: 0,
        },
    ),
    ("sftp", Options),
    ("sh", Shell),
    ("source", File),
    ("sqlite", Everything),
    ("ssh", Everything),
    (
        "stdbuf",
        Program {
            values: "ioe",
            before: 0,
        },
    ),
    (
        "strace",
        Program {
            values: "eosp",
            before: 0,
        },
    ),
    ("su", Everything),
    (
        "sudo",
        Program {
            values: "ughpCRT",
            before: 0,
        },
    ),
    (
        "systemd-run",
        Program {
            values: "p",
            before: 0,
        },
    ),
    ("tar", Options),
    (
        "taskset",
        Program {
            values: "",
            before: 1,
        },
    ),
    (
        "tclsh",
        Interpreter {
            letters: "",
            words: &[],
            values: "",
        },
    ),
    ("tcsh", Shell),
    ("test", Test),
    (
        "time",
        Program {
            values: "fo",
            before: 0,
        },
    ),
    (
        "timeout",
        Program {
            values: "ks",
            before: 1,
        },
    ),
    ("tmux", Everything),
    ("trap", Everything),
    ("typeset", Assignments),
    ("unset", Names),
    (
        "unshare",
        Program {
            values: "",
            before: 0,
        },
    ),
    (
        "uvx",
        Program {
            values: "",
            before: 0,
        },
    ),
    (
        "valgrind",
        Program {
            values: "",
            before: 0,
        },
    ),
    ("vi", Everything),
    ("vim", Everything),
    ("wait", Names),
    ("watch", Everything),
    ("xargs", Everything),
    ("zip", Options),
    ("zsh", Shell),
];

/// Variables that decide what a shell or a program it starts does.
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
/// The same, by how they begin.
const ENVIRONMENT_PREFIXES: &[&str] = &["LD_", "DYLD_", "GIT_", "BASH_FUNC", "npm_config_"];

/// Returns what a program takes code from, if it is one we know.
pub(super) fn lookup(name: &str) -> Option<Takes> {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let name = if name.is_empty() { "." } else { name }.to_ascii_lowercase();
    let at = PROGRAMS
        .binary_search_by(|(known, _)| known.cmp(&name.as_str()))
        .ok()?;
    Some(PROGRAMS[at].1)
}

/// Whether a variable decides what other programs do.
pub(super) fn decides_for_others(name: &str) -> bool {
    ENVIRONMENT.contains(&name)
        || ENVIRONMENT_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(PROGRAMS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(
            lookup("python3.12").is_some() && lookup("BASH").is_some() && lookup(".").is_some()
        );
    }
}
