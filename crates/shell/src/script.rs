//! Writes a parsed line back as text, so that exactly the checked words run.

use crate::lexer::{Redirect, ShellLine, SimpleCommand};
use crate::word::Word;

/// Builtins without a program of the same name.
const ONLY_IN_A_SHELL: &[&str] = &[
    ".",
    ":",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Returns the words of a script that is one plain command: no redirection, no pattern, and a
/// program rather than a shell builtin. Such a command needs no shell.
pub fn plain_words(script: &ShellLine) -> Option<Vec<Box<str>>> {
    match script.commands.as_slice() {
        [only]
            if only.redirects.is_empty()
                && !only.words.iter().any(Word::is_glob)
                && !ONLY_IN_A_SHELL.contains(&&*only.words[0].text) =>
        {
            Some(only.words.iter().map(|word| word.text.clone()).collect())
        }
        _ => None,
    }
}

/// Returns the line with every word quoted.
pub fn write(script: &ShellLine) -> String {
    let mut text = String::new();
    for command in &script.commands {
        if !text.is_empty() {
            text.push(' ');
            text.push_str(command.join.as_str());
            text.push(' ');
        }
        write_simple(command, &mut text);
    }
    text
}

fn write_simple(command: &SimpleCommand, text: &mut String) {
    for (at, word) in command.words.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        write_word(word, text);
    }
    for redirect in &command.redirects {
        text.push(' ');
        match redirect {
            Redirect::Copy { from, to } => text.push_str(&format!("{from}>&{to}")),
            Redirect::Read(target) => {
                text.push('<');
                quote(target, text);
            }
            Redirect::Write {
                from,
                append,
                target,
            } => {
                match from {
                    Some(from) => text.push_str(&from.to_string()),
                    None => text.push('&'),
                }
                text.push_str(if *append { ">>" } else { ">" });
                quote(target, text);
            }
        }
    }
}

fn write_word(word: &Word, text: &mut String) {
    let mut start = 0;
    for &at in &word.globs {
        let at = at as usize;
        if at > start {
            quote(&word.text[start..at], text);
        }
        text.push_str(&word.text[at..=at]);
        start = at + 1;
    }
    if start < word.text.len() || word.text.is_empty() {
        quote(&word.text[start..], text);
    }
}

/// Quotes a text for a shell.
pub fn quote(literal: &str, text: &mut String) {
    text.push('\'');
    for part in literal.split_inclusive('\'') {
        match part.strip_suffix('\'') {
            Some(part) => {
                text.push_str(part);
                text.push_str("'\\''");
            }
            None => text.push_str(part),
        }
    }
    text.push('\'');
}

/// Returns a command as one line for people and for patterns. Only words that need quotes are
/// quoted.
pub fn canonical(words: &[Word]) -> String {
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        let plain =
            |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+^~*?".contains(c) || !c.is_ascii();
        if !word.text.is_empty() && word.text.chars().all(plain) {
            text.push_str(&word.text);
        } else {
            quote(&word.text, &mut text);
        }
    }
    text
}
