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
    /// Inside the code of another interpreter, named here: `bash -c "… $1 …"`.
    InnerShell(&'static str),
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
            Self::InnerShell(_) => "the argument would become code of another interpreter",
            Self::Program => "the argument would choose the program to run",
            Self::Arithmetic => "shell arithmetic would evaluate the argument",
            Self::TooLong => "the command is too long to be sure what becomes of the argument",
        }
    }

    /// Returns what to write instead.
    pub fn remedy(self, placeholder: &str) -> String {
        match self {
            Self::SingleQuotes => format!("use double quotes: `\"{placeholder}\"`"),
            Self::HereDocument => {
                format!("pass it on standard input: `printf '%s' \"{placeholder}\" | …`")
            }
            Self::InnerShell(program) => inner_remedy(program, placeholder),
            Self::Program => {
                format!(
                    "name the program, and pass the argument to it: `program \"{placeholder}\"`"
                )
            }
            Self::TooLong => format!(
                "move the command to a script, and pass the argument to it: `\"{placeholder}\"`"
            ),
            Self::Arithmetic => format!(
                "calculate in a script of the skill, and pass the argument to it: `\"{placeholder}\"`"
            ),
        }
    }
}

/// What to write instead of an argument in the code of an interpreter.
fn inner_remedy(program: &str, placeholder: &str) -> String {
    match (
        program,
        INTERPRETERS.iter().find(|(name, ..)| *name == program),
    ) {
        ("eval", _) => {
            "take `eval` away and write the command out, with the argument in double quotes"
                .to_owned()
        }
        ("awk", _) => format!(
            "pass it as a variable: `awk -v value=\"{placeholder}\" '… value …'`; or write \
             `\\{placeholder}` if awk is to see it"
        ),
        (_, Some((_, [option, ..], Some(reads)))) => {
            format!(
                "pass it after the code: `{program} {option} '… {reads} …' -- \"{placeholder}\"`"
            )
        }
        _ => format!(
            "move the code to a script of the skill, and pass the argument to it: `\"{placeholder}\"`"
        ),
    }
}

/// What a shell calls the argument behind `--`; without the backslash it would be a placeholder.
const FIRST: Option<&str> = Some("\"\\$1\"");

/// Programs that take code as an argument, with the options that announce it, and what their code
/// calls the argument behind `--`. An empty list means that every argument is code.
const INTERPRETERS: &[(&str, &[&str], Option<&str>)] = &[
    ("bash", &["-c"], FIRST),
    ("sh", &["-c"], FIRST),
    ("zsh", &["-c"], FIRST),
    ("dash", &["-c"], FIRST),
    ("ksh", &["-c"], FIRST),
    ("fish", &["-c"], None),
    ("su", &["-c"], None),
    ("python", &["-c"], Some("sys.argv[-1]")),
    ("python3", &["-c"], Some("sys.argv[-1]")),
    (
        "node",
        &["-e", "-p", "--eval", "--print"],
        Some("process.argv.at(-1)"),
    ),
    ("deno", &["eval"], None),
    ("ruby", &["-e"], Some("ARGV[0]")),
    ("perl", &["-e", "-E"], Some("$ARGV[0]")),
    ("php", &["-r"], Some("$argv[1]")),
    ("pwsh", &["-c", "-Command"], None),
    ("powershell", &["-c", "-Command"], None),
    ("eval", &[], None),
    ("source", &[], None),
    (".", &[], None),
    ("trap", &[], None),
    ("awk", &[], None),
    ("ssh", &[], None),
    ("xargs", &[], None),
    ("let", &[], None),
];

/// Longer commands are not taken apart: every place is judged by all that stands before it.
const LONGEST_COMMAND: usize = 4096;

/// Checks each place against the command it stands in. Places must be in order.
pub fn unsafe_places(command: &str, places: &[Range<usize>]) -> Vec<(usize, Unsafe)> {
    if command.len() > LONGEST_COMMAND {
        return (0..places.len())
            .map(|index| (index, Unsafe::TooLong))
            .collect();
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

/// Returns what covers a simple command, as it stands in the parentheses of a tool: its first words,
/// as long as they are plain. Nothing for a command that nobody should allow, or that has no name.
pub fn covering(command: &str) -> Option<String> {
    let program = command.split_whitespace().next()?;
    if is_interpreter(command) {
        // Whoever may run an interpreter with any code may run anything.
        return (program != "eval" && !command.contains('\n')).then(|| command.to_owned());
    }
    let is_plain = |word: &&str| {
        let own = word
            .strip_prefix("${")
            .and_then(|rest| rest.split_once("_SKILL_DIR}/"));
        let path = own.map_or(*word, |(_, path)| path);
        !path.starts_with('-')
            && path
                .chars()
                .all(|c| c.is_alphanumeric() || "._-/+:@%=,~".contains(c))
    };
    let words: Vec<&str> = command
        .split_whitespace()
        .take(2)
        .take_while(is_plain)
        .collect();
    (!words.is_empty()).then(|| format!("{}:*", words.join(" ")))
}

/// Whether a simple command hands code to an interpreter.
fn is_interpreter(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let program = words.next().and_then(|word| word.rsplit('/').next());
    INTERPRETERS
        .iter()
        .find(|(name, ..)| Some(*name) == program)
        .is_some_and(|(_, options, _)| {
            options.is_empty() || words.any(|word| options.contains(&word))
        })
}

/// Cuts a script into simple commands, each with its offset: what stands between `;`, `|`, `&&`,
/// line breaks and the like, outside quotation marks and here-documents. Comments, assignments and
/// empty parts are left out. Good enough for advice; whether a command may run is decided by the
/// policy crate.
pub fn simple_commands(script: &str) -> Vec<(usize, &str)> {
    let Scan {
        mut commands,
        here_documents,
        ..
    } = Scan::of(script);
    commands.push(script.len() + 1);
    let is_text = |start: usize| {
        here_documents
            .binary_search_by_key(&start, |text| text.start + 1)
            .is_ok()
    };
    let mut found = Vec::new();
    for pair in commands.windows(2).filter(|pair| !is_text(pair[0])) {
        let (start, end) = (pair[0], pair[1] - 1);
        let Some(part) = script.get(start..end) else {
            continue;
        };
        // `$(` belongs to the command that it opens.
        let opens = script.as_bytes().get(end) == Some(&b'(');
        let part = if opens {
            part.trim_end_matches(['$', '<', '>'])
        } else {
            part
        };
        let inner = without_closers(part);
        let command = without_reserved(inner);
        let blanks = part.len() - part.trim_start().len();
        if !command.starts_with('#')
            && !command.chars().all(|c| c == '&' || c == '|')
            && !command.split_whitespace().all(is_assignment)
        {
            found.push((start + blanks + inner.len() - command.len(), command));
        }
    }
    found
}

/// Takes from the end of a command what closes something that was opened before it.
fn without_closers(command: &str) -> &str {
    let mut command = command.trim();
    let count = |c: char| command.matches(c).count();
    let mut unopened = count(')').saturating_sub(count('('));
    let mut unpaired = [('"', count('"') % 2), ('`', count('`') % 2)];
    while let Some(last @ (')' | '`' | '"')) = command.chars().next_back() {
        let left = match unpaired.iter_mut().find(|(quote, _)| *quote == last) {
            Some((_, left)) => left,
            None => &mut unopened,
        };
        if *left == 0 {
            break;
        }
        *left -= 1;
        command = command[..command.len() - 1].trim_end();
    }
    command
}

/// Takes the words of shell grammar from the start of a command: `then rm x` runs `rm x`.
fn without_reserved(mut command: &str) -> &str {
    loop {
        let (first, rest) = command
            .split_once(char::is_whitespace)
            .unwrap_or((command, ""));
        match first {
            "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "time" => {
                command = rest.trim_start();
            }
            "fi" | "done" | "esac" | "}" | "for" | "case" | "select" => return "",
            _ => return command,
        }
    }
}

/// What a pass over the command found out.
#[derive(Default)]
struct Scan {
    single_quoted: Vec<Range<usize>>,
    arithmetic: Vec<Range<usize>>,
    /// From the end of the line that announces it.
    here_documents: Vec<Range<usize>>,
    /// Starts of simple commands.
    commands: Vec<usize>,
}

impl Scan {
    fn of(command: &str) -> Self {
        let bytes = command.as_bytes();
        let mut scan = Self {
            commands: vec![0],
            ..Self::default()
        };
        let mut in_double = false;
        let mut arithmetic: Vec<usize> = Vec::new();
        // What ends the here-document that begins with the next line.
        let mut delimiter = None;
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
                b'<' if !in_double && arithmetic.is_empty() && bytes.get(at + 1) == Some(&b'<') => {
                    if bytes.get(at + 2) != Some(&b'<') && delimiter.is_none() {
                        delimiter = here_delimiter(&command[at + 2..]);
                    }
                    at += 2;
                    continue;
                }
                b'#' if !in_double
                    && bytes[..at]
                        .last()
                        .is_none_or(|byte| b" \t\n;|&(".contains(byte)) =>
                {
                    at = bytes[at..]
                        .iter()
                        .position(|&byte| byte == b'\n')
                        .map_or(bytes.len(), |line| at + line);
                    continue;
                }
                b'\n' if !in_double => {
                    scan.commands.push(at + 1);
                    if let Some(delimiter) = delimiter.take() {
                        let end = here_end(command, at + 1, delimiter);
                        scan.here_documents.push(at..end);
                        at = end;
                        continue;
                    }
                }
                // `2>&1` and `&>` redirect.
                b'&' if bytes[..at].ends_with(b">") || bytes.get(at + 1) == Some(&b'>') => {}
                b';' | b'|' | b'&' if !in_double => scan.commands.push(at + 1),
                b'`' => scan.commands.push(at + 1),
                b'(' if !in_double || bytes[..at].ends_with(b"$") => scan.commands.push(at + 1),
                _ => {}
            }
            at += 1;
        }
        scan.arithmetic
            .extend(arithmetic.into_iter().map(|start| start..bytes.len()));
        scan
    }

    fn judge(&self, command: &str, place: &Range<usize>) -> Option<Unsafe> {
        let inside = |ranges: &[Range<usize>]| {
            ranges
                .iter()
                .any(|range| range.start < place.start && place.start < range.end)
        };
        if self
            .here_documents
            .first()
            .is_some_and(|text| text.start < place.start)
        {
            return Some(Unsafe::HereDocument);
        }
        let start = self.commands[..self.commands.partition_point(|&start| start <= place.start)]
            .last()
            .copied()
            .unwrap_or(0);
        let before = command.get(start..place.start)?;
        let inner = || interpreter_of(before).map(Unsafe::InnerShell);
        if inside(&self.single_quoted) {
            // In double quotes it would still be code.
            return inner().or(Some(Unsafe::SingleQuotes));
        }
        if inside(&self.arithmetic) {
            return Some(Unsafe::Arithmetic);
        }
        if is_program_position(before) {
            return Some(Unsafe::Program);
        }
        inner()
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
    !glued_to.contains('=')
        && words
            .iter()
            .all(|word| is_assignment(word) || is_reserved(word))
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

/// The interpreter whose code goes on behind these words.
fn interpreter_of(before: &str) -> Option<&'static str> {
    let words: Vec<&str> = before.split_whitespace().collect();
    words.iter().enumerate().find_map(|(index, word)| {
        let program = word.rsplit('/').next().unwrap_or(word);
        let (name, options, _) = INTERPRETERS.iter().find(|(name, ..)| *name == program)?;
        // Behind `--` come arguments of the code, not code.
        let rest = &words[index + 1..];
        let passes_data = match *name {
            "awk" => rest.contains(&"-f") || matches!(rest, [.., "-v", _]),
            // A remote shell reads whatever follows.
            "ssh" => false,
            _ => rest.contains(&"--"),
        };
        let is_code = options.is_empty() || rest.iter().any(|word| options.contains(word));
        (is_code && !passes_data).then_some(*name)
    })
}

/// The word behind `<<` that ends a here-document.
fn here_delimiter(rest: &str) -> Option<&str> {
    let word = rest
        .strip_prefix('-')
        .unwrap_or(rest)
        .trim_start_matches([' ', '\t', '\\']);
    let quote = word.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let word = match quote {
        Some(quote) => word[1..].split([quote, '\n']).next(),
        None => word
            .split([' ', '\t', '\r', '\n', ';', '|', '&', '<', '>', '(', ')'])
            .next(),
    };
    word.filter(|word| !word.is_empty())
}

/// Where a here-document ends that begins here: behind the line with its delimiter, or never.
fn here_end(command: &str, from: usize, delimiter: &str) -> usize {
    let mut end = from;
    for line in command[from..].split('\n') {
        end += line.len();
        if line.trim_start_matches('\t').trim_end() == delimiter {
            return end;
        }
        end += 1;
    }
    command.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expected: Option<Unsafe>) {
        let start = command.find("$1").unwrap();
        let found = unsafe_places(command, std::slice::from_ref(&(start..start + 2)));
        assert_eq!(
            found.first().map(|(_, reason)| *reason),
            expected,
            "{command}"
        );
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
            "awk -v n=\"$1\" '{ print n }' f",
            "echo $((1 << 2))\necho \"$1\"",
        ] {
            check(command, None);
        }
    }

    #[test]
    fn places_where_a_value_becomes_code_are_found() {
        for (command, reason) in [
            ("echo '$1'", Unsafe::SingleQuotes),
            ("awk '{print $1}' f", Unsafe::InnerShell("awk")),
            ("sh -c '$1'", Unsafe::InnerShell("sh")),
            ("sh -c 'x' -- '$1'", Unsafe::SingleQuotes),
            ("cat <<EOF\n$1\nEOF", Unsafe::HereDocument),
            ("bash -c \"echo $1\"", Unsafe::InnerShell("bash")),
            ("/bin/sh -c \"$1\"", Unsafe::InnerShell("sh")),
            ("eval $1", Unsafe::InnerShell("eval")),
            ("ssh web -- \"$1\"", Unsafe::InnerShell("ssh")),
            ("python3 -c \"print($1)\"", Unsafe::InnerShell("python3")),
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
            ("echo \"a; b\"", vec!["echo \"a; b\""]),
            ("echo \"$(date)\"", vec!["echo", "date"]),
            ("(cat \"a b\")", vec!["cat \"a b\""]),
            ("# note; it's one\nls # all; of it", vec!["ls # all; of it"]),
            ("X=1\nY=$(date)", vec!["date"]),
            ("for f in a b; do cat $f; done", vec!["cat $f"]),
            (
                "cat <<'EOF' | sort\nit's; text\nEOF\nls",
                vec!["cat <<'EOF'", "sort", "ls"],
            ),
            ("cat <<EOF\nnever; ended", vec!["cat <<EOF"]),
        ] {
            let found = simple_commands(script);
            assert!(
                found
                    .iter()
                    .all(|&(at, command)| script[at..].starts_with(command))
            );
            let found: Vec<&str> = found.into_iter().map(|(_, command)| command).collect();
            assert_eq!(found, commands, "{script}");
        }
    }

    #[test]
    fn what_covers_a_command_is_plain() {
        for (command, pattern) in [
            ("cat \"$1\"", Some("cat:*")),
            ("cat $1", Some("cat:*")),
            ("head -n 3 \"$1\"", Some("head:*")),
            ("wc -l x.txt", Some("wc:*")),
            ("git log --oneline", Some("git log:*")),
            ("git describe --tags", Some("git describe:*")),
            ("ls *.md", Some("ls:*")),
            ("ls > out", Some("ls:*")),
            (
                "${CLAUDE_SKILL_DIR}/scripts/a.sh x",
                Some("${CLAUDE_SKILL_DIR}/scripts/a.sh x:*"),
            ),
            ("python3 -c 'print(1)'", Some("python3 -c 'print(1)'")),
            ("python3 -c 'a\nb'", None),
            ("eval ls", None),
            ("\"$tool\" x", None),
        ] {
            assert_eq!(covering(command).as_deref(), pattern, "{command}");
        }
    }

    /// Whoever follows the advice has no finding any more.
    #[test]
    fn advice_about_interpreters_names_the_program_and_is_safe() {
        for (program, options, reads) in INTERPRETERS {
            let remedy = Unsafe::InnerShell(program).remedy("$1");
            let Some(code) = reads.and(remedy.split('`').nth(1)) else {
                continue;
            };
            assert!(
                code.starts_with(&format!("{program} {} ", options[0])),
                "{code}"
            );
            let at = code.rfind("$1").unwrap();
            assert_eq!(
                unsafe_places(code, std::slice::from_ref(&(at..at + 2))),
                [],
                "{code}"
            );
        }
        let awk = Unsafe::InnerShell("awk").remedy("$1");
        let code = awk.split('`').nth(1).unwrap();
        let at = code.find("$1").unwrap();
        assert_eq!(
            unsafe_places(code, std::slice::from_ref(&(at..at + 2))),
            [],
            "{code}"
        );
        let eval = Unsafe::InnerShell("eval").remedy("$1");
        assert!(eval.starts_with("take `eval` away"), "{eval}");
    }
}
