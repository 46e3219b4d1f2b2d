//! Where in a command a placeholder may stand.
//!
//! An argument reaches the shell as a variable, never as text, so most places are safe. A few are
//! not: there the shell would take the value for code, or would not look at it at all.

use std::ops::Range;

/// Why a place is not fit for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsafe {
    /// Inside single quotes the shell does not look for variables.
    SingleQuotes,
    /// Inside a here-document.
    HereDocument,
    /// Inside the code of another interpreter: `bash -c "… $1 …"`.
    InnerShell,
    /// Where the name of the program stands.
    Program,
    /// Inside `$(( … ))`, which evaluates what it is given.
    Arithmetic,
    /// In a command too long to be sure.
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
            Self::InnerShell => "the argument would become code of another interpreter",
            Self::Program => "the argument would choose the program to run",
            Self::Arithmetic => "shell arithmetic would evaluate the argument",
            Self::TooLong => "the command is too long to be sure what becomes of the argument",
        }
    }

    /// Returns what to write instead.
    pub fn remedy(self, placeholder: &str) -> String {
        match self {
            Self::SingleQuotes => format!("use double quotes: \"{placeholder}\""),
            Self::HereDocument => {
                format!("pass it on standard input: printf '%s' \"{placeholder}\" | …")
            }
            Self::InnerShell => {
                format!("pass it after the code: bash -c '… \"$1\" …' -- \"{placeholder}\"")
            }
            Self::Program => {
                format!("name the program, and pass the argument to it: program \"{placeholder}\"")
            }
            Self::TooLong => format!(
                "move the command to a script, and pass the argument to it: \"{placeholder}\""
            ),
            Self::Arithmetic => format!("check it first: [[ \"{placeholder}\" =~ ^[0-9]+$ ]]"),
        }
    }
}

/// Programs that take code as an argument, with the options that announce it; an empty list means
/// that every argument is code.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("bash", &["-c"]),
    ("sh", &["-c"]),
    ("zsh", &["-c"]),
    ("dash", &["-c"]),
    ("ksh", &["-c"]),
    ("fish", &["-c"]),
    ("su", &["-c"]),
    ("python", &["-c"]),
    ("python3", &["-c"]),
    ("node", &["-e", "-p", "--eval", "--print"]),
    ("deno", &["eval"]),
    ("ruby", &["-e"]),
    ("perl", &["-e", "-E"]),
    ("php", &["-r"]),
    ("pwsh", &["-c", "-Command"]),
    ("powershell", &["-c", "-Command"]),
    ("eval", &[]),
    ("source", &[]),
    (".", &[]),
    ("trap", &[]),
    ("awk", &[]),
    ("ssh", &[]),
    ("xargs", &[]),
    ("let", &[]),
];

/// Longer commands are not taken apart: every place is judged by all that stands before it.
const LONGEST_COMMAND: usize = 4096;

/// Checks each place against the command it stands in. Places must be in order.
pub fn unsafe_places(command: &str, places: &[Range<usize>]) -> Vec<(usize, Unsafe)> {
    if command.len() > LONGEST_COMMAND {
        return (0..places.len()).map(|index| (index, Unsafe::TooLong)).collect();
    }
    let scan = Scan::of(command);
    let mut found = Vec::new();
    for (index, place) in places.iter().enumerate() {
        if let Some(reason) = scan.judge(command, place) {
            found.push((index, reason));
        }
    }
    found
}

/// Cuts a script into simple commands: what stands between `;`, `|`, `&&`, line breaks and the
/// like, outside quotation marks. Comments and empty parts are left out. Good enough for advice;
/// whether a command may run is decided by the policy crate.
pub fn simple_commands(script: &str) -> Vec<&str> {
    let mut starts = Scan::of(script).commands;
    starts.sort_unstable();
    starts.push(script.len() + 1);
    let parts =
        starts.windows(2).filter_map(|pair| script.get(pair[0]..(pair[1] - 1).max(pair[0])));
    parts
        .map(|part| without_reserved(part.trim().trim_end_matches([')', '`', '"']).trim()))
        .filter(|part| {
            !part.is_empty()
                && !part.starts_with('#')
                && !part.chars().all(|c| c == '&' || c == '|')
        })
        .collect()
}

/// Takes the words of shell grammar from the start of a command: `then rm x` runs `rm x`.
fn without_reserved(mut command: &str) -> &str {
    loop {
        let (first, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        match first {
            "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "time" => {
                command = rest.trim_start();
            }
            "fi" | "done" | "esac" | "}" => return "",
            _ => return command,
        }
    }
}

/// What a pass over the command found out.
#[derive(Default)]
struct Scan {
    single_quoted: Vec<Range<usize>>,
    arithmetic: Vec<Range<usize>>,
    here_document: Option<usize>,
    /// Starts of simple commands.
    commands: Vec<usize>,
}

impl Scan {
    fn of(command: &str) -> Self {
        let bytes = command.as_bytes();
        let mut scan = Self { commands: vec![0], ..Self::default() };
        let mut in_double = false;
        let mut arithmetic: Vec<usize> = Vec::new();
        // Whether the end of the line behind a `<<` was looked for.
        let mut looked = false;
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'"' => in_double = !in_double,
                b'\'' if !in_double => {
                    let close = bytes[at + 1..]
                        .iter()
                        .position(|&byte| byte == b'\'')
                        .map_or(bytes.len(), |close| at + 1 + close);
                    scan.single_quoted.push(at..close);
                    at = close;
                }
                b'(' if bytes.get(at + 1) == Some(&b'(') => {
                    arithmetic.push(at);
                    at += 1;
                }
                b')' if !arithmetic.is_empty() && bytes.get(at + 1) == Some(&b')') => {
                    if let Some(start) = arithmetic.pop() {
                        scan.arithmetic.push(start..at);
                    }
                    at += 1;
                }
                b'<' if !in_double && bytes.get(at + 1) == Some(&b'<') => {
                    if bytes.get(at + 2) != Some(&b'<') && !looked {
                        looked = true;
                        scan.here_document = bytes[at..]
                            .iter()
                            .position(|&byte| byte == b'\n')
                            .map(|line| at + line);
                    }
                    at += 2;
                    continue;
                }
                // `2>&1` and `&>` redirect.
                b'&' if bytes[..at].ends_with(b">") || bytes.get(at + 1) == Some(&b'>') => {}
                b';' | b'|' | b'&' | b'\n' if !in_double => scan.commands.push(at + 1),
                b'`' => scan.commands.push(at + 1),
                b'(' if !in_double || bytes[..at].ends_with(b"$") => scan.commands.push(at + 1),
                _ => {}
            }
            at += 1;
        }
        scan.arithmetic.extend(arithmetic.into_iter().map(|start| start..bytes.len()));
        scan
    }

    fn judge(&self, command: &str, place: &Range<usize>) -> Option<Unsafe> {
        let inside = |ranges: &[Range<usize>]| {
            ranges.iter().any(|range| range.start < place.start && place.start < range.end)
        };
        if self.here_document.is_some_and(|from| from < place.start) {
            return Some(Unsafe::HereDocument);
        }
        if inside(&self.single_quoted) {
            return Some(Unsafe::SingleQuotes);
        }
        if inside(&self.arithmetic) {
            return Some(Unsafe::Arithmetic);
        }
        let start = self.commands[..self.commands.partition_point(|&start| start <= place.start)]
            .last()
            .copied()
            .unwrap_or(0);
        let before = command.get(start..place.start)?;
        if is_program_position(before) {
            return Some(Unsafe::Program);
        }
        is_interpreted(before).then_some(Unsafe::InnerShell)
    }
}

/// Whether nothing but assignments, reserved words and an opening quote stands before the place.
fn is_program_position(before: &str) -> bool {
    let glued = !before.ends_with(char::is_whitespace);
    let words: Vec<&str> = before.split_whitespace().collect();
    let (glued_to, words) = match words.split_last() {
        Some((last, rest)) if glued => (*last, rest),
        _ => ("", words.as_slice()),
    };
    // `X=$1` binds a value; `"$1"` and `./$1` name a program.
    !glued_to.contains('=') && words.iter().all(|word| is_assignment(word) || is_reserved(word))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "!" | "{"
            | "if"
            | "then"
            | "else"
            | "elif"
            | "while"
            | "until"
            | "do"
            | "time"
            | "exec"
            | "sudo"
            | "command"
            | "nohup"
            | "env"
    )
}

fn is_interpreted(before: &str) -> bool {
    let words: Vec<&str> = before.split_whitespace().collect();
    words.iter().enumerate().any(|(index, word)| {
        let program = word.rsplit('/').next().unwrap_or(word);
        INTERPRETERS.iter().any(|(name, options)| {
            if *name != program {
                return false;
            }
            // Behind `--` come arguments of the code, not code.
            let rest = &words[index + 1..];
            let passes_data = match *name {
                "awk" => rest.contains(&"-f"),
                // A remote shell reads whatever follows.
                "ssh" => false,
                _ => rest.contains(&"--"),
            };
            !passes_data && (options.is_empty() || rest.iter().any(|word| options.contains(word)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expected: Option<Unsafe>) {
        let start = command.find("$1").unwrap();
        let found = unsafe_places(command, std::slice::from_ref(&(start..start + 2)));
        assert_eq!(found.first().map(|(_, reason)| *reason), expected, "{command}");
    }

    #[test]
    fn ordinary_arguments_are_fine() {
        for command in [
            "echo $1",
            "echo \"$1\"",
            "git log -- \"$1\" | head",
            "X=$1 make",
            "grep 'a' \"$1\"",
            "echo \"it's $1\"",
            "bash -c 'echo \"$0\"' -- \"$1\"",
            "cat <<< \"$1\"",
            "python3 tool.py \"$1\"",
            "awk -f prog.awk \"$1\"",
        ] {
            check(command, None);
        }
    }

    #[test]
    fn places_where_a_value_becomes_code_are_found() {
        for (command, reason) in [
            ("echo '$1'", Unsafe::SingleQuotes),
            ("awk '{print $1}' f", Unsafe::SingleQuotes),
            ("cat <<EOF\n$1\nEOF", Unsafe::HereDocument),
            ("bash -c \"echo $1\"", Unsafe::InnerShell),
            ("/bin/sh -c \"$1\"", Unsafe::InnerShell),
            ("eval $1", Unsafe::InnerShell),
            ("ssh web -- \"$1\"", Unsafe::InnerShell),
            ("python3 -c \"print($1)\"", Unsafe::InnerShell),
            ("$1 --help", Unsafe::Program),
            ("\"$1\" x", Unsafe::Program),
            ("a; $1", Unsafe::Program),
            ("a | $1", Unsafe::Program),
            ("echo $($1)", Unsafe::Program),
            ("X=1 $1", Unsafe::Program),
            ("./$1", Unsafe::Program),
            ("echo $(( $1 + 1 ))", Unsafe::Arithmetic),
        ] {
            check(command, Some(reason));
        }
    }

    #[test]
    fn scripts_are_cut_into_simple_commands() {
        for (script, commands) in [
            ("git log -1 2>&1", vec!["git log -1 2>&1"]),
            ("git log &> out", vec!["git log &> out"]),
            ("a && b | c; d", vec!["a", "b", "c", "d"]),
            ("if test -f x; then cat x; fi", vec!["test -f x", "cat x"]),
            ("echo \"a; b\"", vec!["echo \"a; b"]),
            ("# note\nls", vec!["ls"]),
        ] {
            assert_eq!(simple_commands(script), commands, "{script}");
        }
    }
}
