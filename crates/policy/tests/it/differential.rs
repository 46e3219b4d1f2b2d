//! Our words against bash's: random lines, and any difference on a line we accept fails.
//!
//! bash runs with every builtin switched off, an empty search path and a handler for programs that
//! are not found, which writes down the words it received. `PROWESS_DIFFERENTIAL_LINES` asks for more
//! lines than the 20,000 of an ordinary run, `PROWESS_DIFFERENTIAL_SEED` for others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prowess_shell::{Join, Redirect, ShellLine, lex, script};

/// Tokens of random lines: ordinary ones, and ones that parsers get wrong.
const TOKENS: &[&str] = &[
    "git",
    "log",
    "status",
    "a",
    "b-c",
    "x.y",
    "/p/q",
    "-m",
    "--out=x",
    "k=v",
    "HEAD~1",
    "HEAD^",
    "@{0}",
    "stash@{1}",
    "a:b",
    "a,b",
    "%",
    "%1",
    "+x",
    "é",
    "日本",
    "1",
    "2",
    "0",
    " ",
    " ",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\\\n",
    "\\ ",
    "\\a",
    "\\'",
    "\\\"",
    "\\\\",
    "\\$",
    "\\#",
    "\\~",
    "\\*",
    "'",
    "'",
    "\"",
    "\"",
    "''",
    "\"\"",
    "'a b'",
    "\"c d\"",
    "'$x'",
    "\"\\$x\"",
    "\"\\`\"",
    "\"\\\\\"",
    "\"\\n\"",
    "';'",
    "\"&&\"",
    "'#'",
    "#",
    " #",
    "# c",
    "$",
    "$x",
    "`",
    "$(",
    "(",
    ")",
    "{",
    "}",
    "{a,b}",
    "[",
    "]",
    "[a]",
    "*",
    "?",
    "src/*.rs",
    "a*",
    "~",
    "~/x",
    "a=~",
    "!",
    "!!",
    ";",
    ";",
    "&&",
    "&&",
    "||",
    "|",
    "|",
    "&",
    "|&",
    ";;",
    ">",
    ">>",
    "<",
    "2>&1",
    ">&2",
    ">/dev/null",
    "2>/dev/null",
    "&>/dev/null",
    ">out",
    "< in",
    "<<",
    "<<<",
    "if",
    "then",
    "fi",
    "for",
    "do",
    "time",
    "function",
    "case",
    "=",
    "a=b",
    "A=1 ",
    "\u{a0}",
    "\u{200b}",
    "\r",
    "\u{1}",
    "^",
    "-",
    "--",
    ".",
    "..",
    ":",
    "/",
    "\u{2028}",
    "\u{ff47}",
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        if self.below(3) > 0 {
            line.push_str("git ");
        }
        // Most of the lines are made of the tame tokens at the front of the list, or nearly none
        // would be accepted.
        let tame = self.below(4) > 0;
        for _ in 0..=self.below(9) {
            let limit = if tame { 64 } else { TOKENS.len() };
            line.push_str(TOKENS[self.below(limit)]);
            if self.below(3) == 0 {
                line.push(' ');
            }
            if tame && self.below(7) == 0 {
                line.push_str(
                    [" && ", " ; ", " | ", "\n", " || ", " 2>&1 ", " >out "][self.below(7)],
                );
                line.push_str(["git", "ls", "'x y'", "a"][self.below(4)]);
                line.push(' ');
            }
        }
        line
    }
}

/// Everything a shell would start if each program succeeded, counted.
fn expected(script: &ShellLine) -> BTreeMap<Vec<String>, usize> {
    let mut all = BTreeMap::new();
    let mut skipped = false;
    for command in &script.commands {
        if command.join != Join::Pipe {
            skipped = command.join == Join::Or;
        }
        if !skipped {
            let words = command
                .words
                .iter()
                .map(|word| word.text.to_string())
                .collect();
            *all.entry(words).or_default() += 1;
        }
    }
    all
}

/// bash reports programs that it looks for, not those that are named by a path, and starts nothing
/// where a redirection fails.
fn can_be_watched(script: &ShellLine) -> bool {
    script.commands.iter().all(|command| {
        let files = command.redirects.iter().all(|redirect| match redirect {
            Redirect::Copy { from, to } => *from < 3 && *to < 3,
            Redirect::Read(target) => matches!(&**target, "in" | "/dev/null"),
            Redirect::Write { target, .. } => {
                &**target == "/dev/null"
                    || !(target.contains('/') || matches!(&**target, "." | ".."))
            }
        });
        files && !command.words[0].text.contains('/')
    })
}

/// The words that bash passes to programs.
fn observed(
    bash: &Path,
    line: &str,
    folder: &Path,
) -> Result<BTreeMap<Vec<String>, usize>, String> {
    // A line break would be written in two pieces, and those of two programs of a pipe could mix: it
    // travels as a character that no accepted line has. Patterns stay as they are (`set -f`): what they become hangs on the folder, not on the line.
    let prelude = "set -f\n\
                   command_not_found_handle() { printf '%s\\0' \"$#\" \"${@//$'\\n'/$'\\x02'}\" >&9; }\n\
                   enable -n . : [ alias bg bind break builtin caller cd command compgen complete compopt \
                   continue declare dirs disown echo eval exec exit export false fc fg getopts hash help \
                   history jobs kill let local logout mapfile popd pushd pwd read readarray readonly return \
                   set shift shopt source suspend test times trap true type typeset ulimit umask unalias \
                   unset wait enable\n";
    let output = Command::new(bash)
        .args([
            "--norc",
            "--noprofile",
            "-c",
            &format!("exec 9>&1 >/dev/null\n{prelude}{line}\n"),
        ])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let mut fields = text.split('\0');
    let mut all = BTreeMap::new();
    while let Some(count) = fields.next().filter(|count| !count.is_empty()) {
        let count: usize = count.parse().map_err(|_| format!("{text:?}"))?;
        let words: Vec<String> = fields
            .by_ref()
            .take(count)
            .map(|word| word.replace('\u{2}', "\n"))
            .collect();
        *all.entry(words).or_default() += 1;
    }
    if all.is_empty() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(all)
}

fn bash() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("bash"))
        .find(|file| file.is_file());
    found.expect("bash is needed for this test")
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn words_equal_those_of_bash() {
    let bash = bash();
    let version = Command::new(&bash)
        .arg("--version")
        .output()
        .unwrap()
        .stdout;
    let folder = std::env::temp_dir().join(format!("prowess-differential-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("in"), "x").unwrap();
    let lines = number("PROWESS_DIFFERENTIAL_LINES").unwrap_or(20_000);
    let seed = number("PROWESS_DIFFERENTIAL_SEED").unwrap_or(0x5eed_1234_5678_9abc);
    let mut random = Random(seed | 1);
    let mut accepted = Vec::new();
    for _ in 0..lines {
        let line = random.line();
        if let Ok(parsed) = lex(&line) {
            // What we write down ourselves must read the same again.
            assert_eq!(
                lex(&script::write(&parsed)).map(|again| expected(&again)),
                Ok(expected(&parsed)),
                "{line:?}"
            );
            if can_be_watched(&parsed) {
                accepted.push((line, parsed));
            }
        }
    }
    let differences: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = accepted
            .chunks(accepted.len().div_ceil(4).max(1))
            .map(|chunk| {
                let (bash, folder) = (&bash, &folder);
                scope.spawn(move || {
                    let differs = |(line, parsed): &(String, ShellLine)| {
                        let ours = expected(parsed);
                        match observed(bash, line, folder) {
                            Ok(theirs) if theirs == ours => None,
                            theirs => {
                                Some(format!("{line:?}\n  ours   {ours:?}\n  theirs {theirs:?}"))
                            }
                        }
                    };
                    chunk.iter().filter_map(differs).collect::<Vec<_>>()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    eprintln!(
        "differential: {lines} lines, {} accepted, {} differences, {}",
        accepted.len(),
        differences.len(),
        String::from_utf8_lossy(&version)
            .lines()
            .next()
            .unwrap_or_default()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(
        accepted.len() * 10 >= usize::try_from(lines).unwrap(),
        "too few lines are accepted"
    );
}

#[test]
fn comparison_detects_a_difference() {
    // `$x` is empty for bash: were it accepted as a word, the comparison would see it.
    let folder = std::env::temp_dir();
    let theirs = observed(&bash(), "git $x log", &folder).unwrap();
    assert_eq!(
        theirs,
        BTreeMap::from([(vec!["git".into(), "log".into()], 1)])
    );
    let theirs = observed(&bash(), "git a | b && c; d || e", &folder).unwrap();
    assert_eq!(theirs.len(), 4, "{theirs:?}");
}
