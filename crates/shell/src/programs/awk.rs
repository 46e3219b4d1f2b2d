//! awk: programs that start programs, write files or read others.

use super::ProgramEffect::{Reads, Runs, Writes};
use super::code::Code;
use super::engine::{NONE, Program, list, operand, opt};

pub(super) const AWK: &[Program] = &[Program {
    names: list("awk gawk mawk nawk original-awk goawk frawk"),
    options: &[
        opt(
            "-i: --include:",
            Writes,
            "takes code from a file, and may change the files that it reads",
            "gawk -i inplace 1 x",
        ),
        opt(
            "-f: --file: -E: --exec:",
            Reads,
            "takes its program from a file",
            "awk -f x y",
        )
        .program(),
        opt("-l: --load:", Runs, "loads code", "gawk -l x '{}'"),
        opt(
            "-o? --pretty-print? -p? --profile? -d? --dump-variables?",
            Writes,
            "writes a file",
            "gawk -ox 1",
        ),
        opt(
            "-D? --debug?",
            Runs,
            "reads commands from the terminal",
            "gawk -D '{}' x",
        ),
        opt("-W:", Runs, "may run a file", "mawk -W exec x").when(|value| value != "version"),
        opt(
            "-e: --source:",
            Runs,
            "is a program of its own",
            "gawk -e '{print > $1}' x",
        )
        .when(active)
        .program(),
    ],
    values: list("-v! -F! --assign! --field-separator!"),
    operands: &[operand(
        0,
        active,
        Runs,
        "starts programs, or reads or writes files",
        "awk '{system($1)}'",
    )
    .to(1)
    .globs()],
    code: Code::First {
        code: "e",
        file: "fEil",
        values: "vF",
        permutes: false,
    },
    unrestricted: true,
    opaque: true,
    plain: &[
        "awk '{print $1}' x",
        "awk -F: '$3 > 5 {print $1, $2}' x",
        "awk -v n=3 'NR == n || /a|b/ {print}' x",
        "awk 'BEGIN { x = \"a|b > c\"; print x }'",
        "awk '{ s += $1 } END { print s / NR, (s > 3) }' x",
        "awk '{ if ($1 > 2) print; else printf(\"%s\\n\", $2) }' x",
        "awk '{ print $1 > \"/dev/stderr\" }' x",
        "awk '/system|getlines?/ # > x\n{ print }' x",
        "awk '!seen[$0]++' x",
        "awk '/^[[:space:]]*$/ { next } { print }' x",
    ],
    ..NONE
}];

/// Returns `true` if a program may start others, write or read files, or cannot be followed.
fn active(program: &str) -> bool {
    program.contains("ENVIRON")
        || Lexer {
            rest: program,
            operand: false,
            heads: Vec::new(),
        }
        .active()
}

struct Lexer<'a> {
    rest: &'a str,
    /// `true` if a division can follow the last token.
    operand: bool,
    /// Nesting of parentheses at each `if`, `while` and `for`.
    heads: Vec<i32>,
}

impl Lexer<'_> {
    fn active(&mut self) -> bool {
        let (mut printing, mut depth, mut at_print) = (false, 0_i32, 0_i32);
        // After these a statement continues on the next line; after a head, `/` is unclear.
        let (mut open, mut head) = (false, false);
        while let Some(first) = self.rest.chars().next() {
            if head && first == '/' {
                return true;
            }
            let blank = matches!(first, ' ' | '\t' | '\r' | '#' | '\\') || open && first == '\n';
            open = if blank { open } else { ",&|?:".contains(first) };
            head = head && (blank || first == '\n');
            match first {
                '\n' if open => self.skip(1),
                ' ' | '\t' | '\r' => self.skip(1),
                '\\' if self.rest[1..].trim_start_matches('\r').starts_with('\n') => {
                    let end = self.rest.find('\n').unwrap_or(0);
                    self.skip(end + 1);
                }
                '\n' | ';' | '{' | '}' => {
                    printing = false;
                    self.token(1, false);
                }
                '#' => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.skip(end);
                }
                '"' => match quoted(self.rest, '"') {
                    Some(end) => self.token(end, true),
                    None => return true,
                },
                '/' if !self.operand => match quoted(self.rest, '/') {
                    Some(end) => self.token(end, true),
                    None => return true,
                },
                '(' => {
                    depth += 1;
                    self.token(1, false);
                }
                ')' => {
                    depth -= 1;
                    head = self.heads.pop_if(|at| *at >= depth).is_some();
                    self.token(1, true);
                }
                ']' | '$' => self.token(1, first == ']'),
                '|' if self.rest.starts_with("||") => self.token(2, false),
                '+' | '-' if self.rest[1..].starts_with(first) => self.token(2, self.operand),
                '>' if printing && depth <= at_print => {
                    if !self.standard() {
                        return true;
                    }
                }
                '|' | '@' | '\\' => return true,
                _ if first.is_ascii_alphabetic() || first == '_' => {
                    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                    let end = self.rest.find(word).unwrap_or(self.rest.len());
                    match &self.rest[..end] {
                        "system" | "getline" | "extension" => return true,
                        "print" | "printf" => {
                            (printing, at_print) = (true, depth);
                            self.token(end, false);
                        }
                        "if" | "while" | "for" => {
                            self.heads.push(depth);
                            self.token(end, false);
                        }
                        "return" | "in" | "else" | "do" | "case" | "exit" | "delete" => {
                            self.token(end, false);
                        }
                        _ => self.token(end, true),
                    }
                }
                _ if first.is_ascii_digit() || first == '.' => self.token(1, true),
                _ if first.is_ascii() => self.token(1, false),
                _ => return true,
            }
        }
        false
    }

    fn skip(&mut self, count: usize) {
        self.rest = &self.rest[count.min(self.rest.len())..];
    }

    fn token(&mut self, count: usize, operand: bool) {
        self.skip(count);
        self.operand = operand;
    }

    /// Steps over a redirection to one of the program's own outputs.
    fn standard(&mut self) -> bool {
        let rest = self.rest[1..].trim_start_matches([' ', '\t']);
        let after = ["\"/dev/stderr\"", "\"/dev/stdout\""]
            .iter()
            .find_map(|n| rest.strip_prefix(n));
        let Some(after) = after.map(|after| after.trim_start_matches([' ', '\t'])) else {
            return false;
        };
        self.rest = after;
        after.is_empty() || after.starts_with([';', '}', '\n'])
    }
}

/// The length of a string or pattern with its marks. A mark within brackets ends a pattern for some
/// awks and not for others: given up on.
fn quoted(text: &str, mark: char) -> Option<usize> {
    let (mut escaped, mut open) = (false, 0);
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if mark == '/' => {
                if text[at + 1..].starts_with([']', '^']) && text[at + 1..].contains("]/") {
                    return None;
                }
                open = if open == 0 { 1 } else { 2 };
            }
            ']' if open > 0 => open -= 1,
            _ if c == mark => return (open == 0).then_some(at + 1),
            _ => {}
        }
    }
    None
}
