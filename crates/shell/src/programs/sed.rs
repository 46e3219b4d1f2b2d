//! sed: `e`, `w` and the flags of `s`, `-i` and scripts in files.

use super::Changes;
use super::ProgramEffect::{Reads, Runs, Writes};
use super::ProgramReport;
use super::code::Code;
use super::engine::{NONE, PATTERN, Program, list, opt};
use crate::word::Word;

pub(super) const SED: &[Program] = &[Program {
    names: list("sed gsed ssed"),
    options: &[
        opt(
            "-i? --in-place?",
            Writes,
            "edits files in place",
            "sed -i s/a/b/ x",
        ),
        opt(
            "-I?",
            Writes,
            "edits files in place",
            "sed -I .bak s/a/b/ x",
        ),
        opt(
            "-f: --file:",
            Reads,
            "takes its script from a file",
            "sed -f x y",
        )
        .program(),
    ],
    values: list("-e -l --expression --line-length"),
    special: Some(script),
    code: Code::First {
        code: "e",
        file: "f",
        values: "l",
        permutes: true,
    },
    opaque: true,
    changes: Changes::InPlace,
    plain: &[
        "sed -n 1,20p words.txt",
        "sed s/a/b/g x",
        "sed -e 's|w x|e|' -e '/x/d' y",
        "sed -nE 's/(a)(b)/\\2\\1/p' e.txt",
        "sed '/start/,/end/{s/a/b/;p}' x",
        "sed '$d' x",
        "sed -n '/a/{p;q}' x",
        "sed y/abc/def/ x",
        "sed '1i\\\ntext w x' y",
        "sed ':a;N;$!ba;s/\\n/ /g' x",
        "sed 's/[^a-z[:digit:]]*/x/' y",
        "sed -n '$=' x",
        "sed 10q x",
    ],
    ..NONE
}];

/// Reads the scripts: those of `-e`, or the first operand.
fn script(words: &[Word], at: usize, report: &mut ProgramReport) -> bool {
    let (mut named, mut operand, mut index) = (false, None, at + 1);
    while let Some(word) = words.get(index) {
        let text = &*word.text;
        if let Some(long) = text.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, value) = long
                .split_once('=')
                .map_or((long, None), |(n, v)| (n, Some(v)));
            if name.starts_with('e') {
                named = true;
                index += usize::from(value.is_none());
                judge(value, words, index, report);
            } else if name.starts_with("fi") {
                named = true;
                index += usize::from(value.is_none());
            } else if name.starts_with('l') {
                index += usize::from(value.is_none());
            }
        } else if text.len() > 1 && text.starts_with('-') && text != "--" {
            for (position, letter) in text.char_indices().skip(1) {
                let rest = &text[position + letter.len_utf8()..];
                let value = (!rest.is_empty()).then_some(rest);
                match letter {
                    'e' => {
                        named = true;
                        index += usize::from(value.is_none());
                        judge(value, words, index, report);
                    }
                    'f' => {
                        named = true;
                        index += usize::from(value.is_none());
                    }
                    'l' => {
                        let next = words.get(index + 1).filter(|_| value.is_none());
                        index += usize::from(next.is_some_and(|word| is_number(&word.text)));
                    }
                    'i' | 'I' => {}
                    _ => continue,
                }
                break;
            }
        } else if text != "--" && operand.is_none() {
            // Some seds end their options here: then it is the script, whatever follows.
            operand = Some(index).filter(|_| !named);
            named |= operand.is_none();
        }
        index += 1;
    }
    if let Some(index) = operand {
        for (earlier, word) in words.iter().enumerate().take(index).skip(at + 1) {
            // It may become more words than one, and the second one is the script.
            if word.is_glob() {
                report.hit(earlier, Runs, PATTERN);
            }
        }
        judge(None, words, index, report);
    }
    true
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn judge(value: Option<&str>, words: &[Word], index: usize, report: &mut ProgramReport) {
    let Some(word) = words.get(index) else { return };
    match read(value.unwrap_or(&word.text)) {
        _ if word.is_glob() => report.hit(index, Runs, PATTERN),
        Read::Quiet => {}
        Read::Runs => report.hit(index, Runs, "has a command that runs programs"),
        Read::Writes => report.hit(index, Writes, "has a command that writes a file"),
        Read::Reads => report.hit(index, Reads, "has a command that reads another file"),
        Read::Unclear => report.hit(index, Runs, "is a script that could not be read"),
    }
}

enum Read {
    Quiet,
    Runs,
    Writes,
    Reads,
    Unclear,
}

/// Reads a script command by command, as sed does; what it cannot follow is unclear.
fn read(script: &str) -> Read {
    let bytes = script.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            byte if b" \t\n\r;{}!,0123456789~+$dDgGhHlnNpPqQxz=F".contains(&byte) => at += 1,
            b'/' => match address_end(bytes, at + 1, b'/') {
                Some(end) => at = end,
                None => return Read::Unclear,
            },
            b'\\' => match bytes
                .get(at + 1)
                .and_then(|&mark| address_end(bytes, at + 2, mark))
            {
                Some(end) => at = end,
                None => return Read::Unclear,
            },
            b'r' | b'R' => return Read::Reads,
            b'#' => at = line_end(bytes, at),
            b':' | b'b' | b't' | b'T' => {
                // Some seds end a label at a blank, a semicolon or a brace, some at the end of the
                // line: with one line, what follows is read either way.
                let end = line_end(bytes, at);
                let blanks = bytes[at + 1..end]
                    .iter()
                    .take_while(|b| b.is_ascii_whitespace());
                let label = at + 1 + blanks.count();
                let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b';' | b'}');
                match bytes[label..end].iter().position(ends) {
                    Some(_) if end < bytes.len() => return Read::Unclear,
                    Some(stop) => at = label + stop,
                    None => at = end,
                }
            }
            b'a' | b'i' | b'c' => match text_end(bytes, at + 1) {
                Some(end) => at = end,
                None => return Read::Unclear,
            },
            b's' => {
                let Some(&mark) = bytes.get(at + 1) else {
                    return Read::Unclear;
                };
                let end = regex_end(bytes, at + 2, mark).and_then(|to| part_end(bytes, to, mark));
                let Some(mut flag) = end else {
                    return Read::Unclear;
                };
                loop {
                    match bytes.get(flag) {
                        Some(b'e') => return Read::Runs,
                        Some(b'w') => return Read::Writes,
                        Some(b'g' | b'p' | b'i' | b'I' | b'm' | b'M' | b'0'..=b'9') => flag += 1,
                        None | Some(b' ' | b'\t' | b'\n' | b';' | b'}' | b'#' | b'\r') => break,
                        Some(_) => return Read::Unclear,
                    }
                }
                at = flag;
            }
            b'y' => {
                let Some(&mark) = bytes.get(at + 1) else {
                    return Read::Unclear;
                };
                let end = part_end(bytes, at + 2, mark).and_then(|to| part_end(bytes, to, mark));
                let Some(end) = end else { return Read::Unclear };
                at = end;
            }
            b'e' => return Read::Runs,
            b'w' | b'W' => return Read::Writes,
            _ => return Read::Unclear,
        }
    }
    Read::Quiet
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(bytes.len(), |length| at + length)
}

/// Returns the offset after an address, including its `I` and `M` flags.
fn address_end(bytes: &[u8], at: usize, mark: u8) -> Option<usize> {
    let mut end = regex_end(bytes, at, mark)?;
    while matches!(bytes.get(end), Some(b'I' | b'M')) {
        end += 1;
    }
    Some(end)
}

/// Behind the mark that ends a pattern. Some seds end it at a mark within brackets and some do not:
/// such a script is given up on.
fn regex_end(bytes: &[u8], from: usize, mark: u8) -> Option<usize> {
    let end = part_end(bytes, from, mark)?;
    let (mut open, mut at) = (false, from);
    while at < end - 1 {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' if open && matches!(bytes[at + 1], b':' | b'.' | b'=') => {
                let class = bytes[at + 1];
                let close = bytes
                    .get(at + 2..end)?
                    .windows(2)
                    .position(|pair| pair == [class, b']'])?;
                at += close + 3;
            }
            b'[' if !open => {
                open = true;
                at += usize::from(bytes.get(at + 1) == Some(&b'^'));
                at += usize::from(bytes.get(at + 1) == Some(&b']'));
            }
            b']' => open = false,
            _ => {}
        }
        at += 1;
    }
    (!open).then_some(end)
}

/// Returns the offset after the delimiter that ends a part.
fn part_end(bytes: &[u8], from: usize, mark: u8) -> Option<usize> {
    if mark == b'\n' || mark == b'\\' || !mark.is_ascii() {
        return None;
    }
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => return None,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => return None,
            b'\\' => at += 2,
            _ if byte == mark => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Behind the text of `a`, `i` or `c`: the end of a line without a backslash. The next script may
/// belong to a text whose last line has one.
fn text_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if at + 1 == bytes.len() => return None,
            b'\\' => at += 2,
            b'\n' => return Some(at),
            _ => at += 1,
        }
    }
    Some(bytes.len())
}
