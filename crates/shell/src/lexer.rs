//! The strict lexer. It accepts a small part of the shell's syntax and parses that part exactly.
//!
//! It accepts only lines whose words bash passes to programs exactly as they are written: no
//! variables, substitutions, braces, tildes, background jobs or compound commands. Everything else
//! is refused with a reason. Random lines are compared with bash in
//! `crates/policy/tests/it/differential.rs`.

use prowess_diag::sanitize;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::word::Word;

/// Longest line that is read, in bytes.
pub const MAX_BYTES: usize = 8 * 1024;
/// Most simple commands in a line.
const MAX_COMMANDS: usize = 256;

/// A parsed line: simple commands joined by operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellLine {
    /// Never empty.
    pub commands: Vec<SimpleCommand>,
}

/// One command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The operator before this command.
    pub join: Join,
    /// The program and its arguments. Never empty; the first word is never a pattern.
    pub words: Vec<Word>,
    /// The redirections, in order.
    pub redirects: Vec<Redirect>,
}

/// The operator before a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// None: it is the first command.
    First,
    /// `;` or a line break.
    Then,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
}

impl Join {
    /// Returns the operator as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "",
            Self::Then => ";",
            Self::And => "&&",
            Self::Or => "||",
            Self::Pipe => "|",
        }
    }
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// `2>&1`: one descriptor becomes a copy of another.
    Copy {
        /// The descriptor that changes.
        from: u8,
        /// The descriptor that is copied.
        to: u8,
    },
    /// `< file`
    Read(Box<str>),
    /// `> file`, `2>> file`, `&> file`
    Write {
        /// The descriptor; `None` for both output streams.
        from: Option<u8>,
        /// `true` if the output is appended.
        append: bool,
        /// The file.
        target: Box<str>,
    },
}

/// The reason why a line is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexRefusal {
    /// Offset of the first byte that is refused.
    pub at: usize,
    /// Completes "cannot tell what this runs: it has …".
    pub why: &'static str,
}

/// Words that are not programs at the start of a command.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// Parses a line, or returns why it is refused.
pub fn lex(text: &str) -> Result<ShellLine, LexRefusal> {
    lex_bound(text, &|_| None)
}

/// Parses a line whose variables are known: `lookup` returns the value of `name` in `$name`,
/// `${name}` and `${1}`. Inside double quotes a value is inserted as it is; outside them only if
/// the shell would neither split nor expand it.
pub fn lex_bound<'a>(text: &'a str, lookup: VariableLookup<'a>) -> Result<ShellLine, LexRefusal> {
    if text.len() > MAX_BYTES {
        return Err(LexRefusal {
            at: MAX_BYTES,
            why: "more than 8 KiB",
        });
    }
    let lexer = Lexer {
        lookup,
        text,
        at: 0,
        commands: Vec::new(),
        words: Vec::new(),
        redirects: Vec::new(),
        join: Join::First,
        dangling: false,
    };
    lexer.run()
}

/// Returns the value of a variable.
pub type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<&'a str>;

struct Lexer<'a> {
    lookup: VariableLookup<'a>,
    text: &'a str,
    at: usize,
    commands: Vec<SimpleCommand>,
    words: Vec<Word>,
    redirects: Vec<Redirect>,
    join: Join,
    /// `true` after an operator that needs another command.
    dangling: bool,
}

impl<'a> Lexer<'a> {
    fn run(mut self) -> Result<ShellLine, LexRefusal> {
        loop {
            self.skip_blanks();
            let Some(byte) = self.peek() else { break };
            match byte {
                b'\n' => {
                    self.bump();
                    // A line break ends a command. After `&&` and on an empty line it is ignored.
                    if !self.words.is_empty() {
                        self.end_command(Join::Then)?;
                        self.dangling = false;
                    }
                }
                b';' => {
                    if matches!(self.peek_at(1), Some(b';' | b'&')) {
                        return self.refuse("a `case` operator");
                    }
                    self.end_command(Join::Then)?;
                    self.bump();
                    self.dangling = false;
                }
                b'&' => match self.peek_at(1) {
                    Some(b'&') => self.operator(Join::And, 2)?,
                    Some(b'>') => self.redirect(None)?,
                    _ => return self.refuse("a command in the background (`&`)"),
                },
                b'|' => match self.peek_at(1) {
                    Some(b'|') => self.operator(Join::Or, 2)?,
                    Some(b'&') => return self.refuse("the operator `|&`"),
                    _ => self.operator(Join::Pipe, 1)?,
                },
                b'<' => self.redirect(Some(0))?,
                b'>' => self.redirect(Some(1))?,
                b'#' => self.comment()?,
                _ => self.word_or_descriptor()?,
            }
        }
        if self.words.is_empty() {
            if self.dangling {
                return self.refuse("an operator without a command after it");
            }
        } else {
            self.end_command(Join::Then)?;
        }
        if self.commands.is_empty() {
            return Err(LexRefusal {
                at: 0,
                why: "no command",
            });
        }
        Ok(ShellLine {
            commands: self.commands,
        })
    }

    fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn bump(&mut self) {
        self.at += 1;
    }

    fn refuse<T>(&self, why: &'static str) -> Result<T, LexRefusal> {
        Err(LexRefusal { at: self.at, why })
    }

    /// Skips blanks and joined lines.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                _ => return,
            }
        }
    }

    fn operator(&mut self, join: Join, length: usize) -> Result<(), LexRefusal> {
        self.end_command(join)?;
        self.at += length;
        self.dangling = true;
        Ok(())
    }

    fn end_command(&mut self, next: Join) -> Result<(), LexRefusal> {
        if self.words.is_empty() {
            return self.refuse("an operator without a command before it");
        }
        if self.commands.len() >= MAX_COMMANDS {
            return self.refuse("more than 256 commands");
        }
        self.commands.push(SimpleCommand {
            join: self.join,
            words: std::mem::take(&mut self.words),
            redirects: std::mem::take(&mut self.redirects),
        });
        self.join = next;
        Ok(())
    }

    /// Skips a comment. A comment with quotes is refused, because many tools parse it wrongly.
    fn comment(&mut self) -> Result<(), LexRefusal> {
        while let Some(c) = self.text[self.at..].chars().next() {
            match c {
                '\n' => return Ok(()),
                '\'' | '"' | '`' | '\\' | '$' => return self.refuse("quotes inside a comment"),
                _ if c == '\t' || is_plain_sight(c) || c == ' ' => self.at += c.len_utf8(),
                _ => return self.refuse(unseen(c)),
            }
        }
        Ok(())
    }

    fn word_or_descriptor(&mut self) -> Result<(), LexRefusal> {
        // Digits directly before `<` or `>` are a descriptor, not a word.
        let digits = self.text.as_bytes()[self.at..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        if digits > 0 && matches!(self.peek_at(digits), Some(b'<' | b'>')) {
            if digits > 1 {
                return self.refuse("a descriptor above 9");
            }
            let descriptor = self.text.as_bytes()[self.at] - b'0';
            self.at += 1;
            return self.redirect(Some(descriptor));
        }
        let start = self.at;
        let word = self.word()?;
        self.no_descriptor(&word, start)?;
        if self.words.is_empty() {
            check_program(&word).map_err(|why| LexRefusal { at: start, why })?;
        }
        self.words.push(word);
        Ok(())
    }

    /// Refuses digits before `<` or `>` that bash may or may not take for a descriptor (`2\⏎>x`,
    /// `>2>x`).
    fn no_descriptor(&self, word: &Word, start: usize) -> Result<(), LexRefusal> {
        if matches!(self.peek(), Some(b'<' | b'>')) && word.text.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(LexRefusal {
                at: start,
                why: "an unusual redirection",
            });
        }
        Ok(())
    }

    fn redirect(&mut self, from: Option<u8>) -> Result<(), LexRefusal> {
        if self.words.is_empty() {
            return self.refuse("a redirection before the program");
        }
        if from.is_none() {
            self.bump();
        }
        let sign = self.peek();
        self.bump();
        let next = self.peek();
        if sign == Some(b'<') {
            return match next {
                Some(b'<') => self.refuse("a here-document"),
                Some(b'&' | b'>' | b'(') => self.refuse("an unusual redirection"),
                _ if from != Some(0) => self.refuse("an unusual redirection"),
                _ => {
                    let target = self.target()?;
                    self.redirects.push(Redirect::Read(target));
                    Ok(())
                }
            };
        }
        let mut append = false;
        match next {
            Some(b'>') => {
                append = true;
                self.bump();
            }
            Some(b'&') => return self.copy(from),
            Some(b'|' | b'(') => return self.refuse("an unusual redirection"),
            _ => {}
        }
        let target = self.target()?;
        self.redirects.push(Redirect::Write {
            from,
            append,
            target,
        });
        Ok(())
    }

    fn copy(&mut self, from: Option<u8>) -> Result<(), LexRefusal> {
        self.bump();
        let to = self.peek().filter(u8::is_ascii_digit);
        let ends = matches!(
            self.peek_at(1),
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&')
        );
        match (from, to) {
            (Some(from), Some(to)) if ends => {
                self.bump();
                self.redirects.push(Redirect::Copy {
                    from,
                    to: to - b'0',
                });
                Ok(())
            }
            _ => self.refuse("an unusual redirection"),
        }
    }

    fn target(&mut self) -> Result<Box<str>, LexRefusal> {
        self.skip_blanks();
        if matches!(
            self.peek(),
            None | Some(b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'#')
        ) {
            return self.refuse("a redirection without a file");
        }
        let start = self.at;
        let word = self.word()?;
        if word.is_glob() || word.text.is_empty() {
            self.at = start;
            return self.refuse("a redirection to a pattern");
        }
        self.no_descriptor(&word, start)?;
        Ok(word.text)
    }

    /// Reads one word, which starts at the current position.
    fn word(&mut self) -> Result<Word, LexRefusal> {
        let start = self.at;
        let mut text = String::new();
        let mut globs: Vec<u32> = Vec::new();
        // `true` if the previous character was neither quoted nor escaped.
        let mut after_plain = false;
        while let Some(c) = self.text[self.at..].chars().next() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' => break,
                '\'' => {
                    self.single(&mut text)?;
                    after_plain = false;
                    continue;
                }
                '"' => {
                    self.double(&mut text)?;
                    after_plain = false;
                    continue;
                }
                '\\' => {
                    self.escape(&mut text)?;
                    after_plain = false;
                    continue;
                }
                '*' | '?' => {
                    if text.is_empty() || text.starts_with('-') {
                        return self.refuse("a pattern that could become an option");
                    }
                    globs.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
                    text.push(c);
                }
                '~' => {
                    if !after_plain || text.ends_with(['=', ':']) {
                        return self.refuse("a home folder (`~`)");
                    }
                    text.push(c);
                }
                '#' => {
                    if !after_plain {
                        return self.refuse("a `#` after a quoted character");
                    }
                    text.push(c);
                }
                '$' => {
                    let value = self.variable()?;
                    if value.is_empty() {
                        return self.refuse("an unquoted argument without a value");
                    }
                    if value.starts_with('-') {
                        return self.refuse("an unquoted argument that could become an option");
                    }
                    if !value.chars().all(is_plain) {
                        return self
                            .refuse("an unquoted argument that the shell would split or expand");
                    }
                    text.push_str(value);
                    after_plain = false;
                    continue;
                }
                '{' => {
                    self.braces(&mut text)?;
                    after_plain = true;
                    continue;
                }
                // `[` and `]` alone are words of `[ -f x ]`; inside a word they make a pattern.
                '[' | ']' if start == self.at && self.is_alone() => text.push(c),
                // `find … ! -name x`: after the program it is an ordinary word.
                '!' if start == self.at && self.is_alone() && !self.words.is_empty() => {
                    text.push(c);
                }
                _ if is_plain(c) => text.push(c),
                _ => return self.refuse(unseen(c)),
            }
            after_plain = true;
            self.at += c.len_utf8();
        }
        Ok(Word {
            text: text.into(),
            globs: globs.into(),
        })
    }

    /// Reads `stash@{0}`, `main@{upstream}` and `{}`: braces without a comma or dots are literal.
    fn braces(&mut self, text: &mut String) -> Result<(), LexRefusal> {
        let inner = &self.text[self.at + 1..];
        if inner.starts_with('}') {
            text.push_str("{}");
            self.at += 2;
            return Ok(());
        }
        let length = inner
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || *b == b'-')
            .count();
        let before = self.text.as_bytes()[..self.at].last();
        if before != Some(&b'@') || length == 0 || inner.as_bytes().get(length) != Some(&b'}') {
            return self.refuse("braces");
        }
        text.push_str(&self.text[self.at..self.at + length + 2]);
        self.at += length + 2;
        Ok(())
    }

    /// Returns `true` if the current character is a whole word.
    fn is_alone(&self) -> bool {
        matches!(
            self.peek_at(1),
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|')
        )
    }

    fn single(&mut self, text: &mut String) -> Result<(), LexRefusal> {
        let start = self.at;
        self.bump();
        while let Some(c) = self.text[self.at..].chars().next() {
            if c == '\'' {
                self.bump();
                return Ok(());
            }
            self.quoted(c, text)?;
        }
        Err(LexRefusal {
            at: start,
            why: "an unclosed quote",
        })
    }

    fn double(&mut self, text: &mut String) -> Result<(), LexRefusal> {
        let start = self.at;
        self.bump();
        while let Some(c) = self.text[self.at..].chars().next() {
            match c {
                '"' => {
                    self.bump();
                    return Ok(());
                }
                '$' => {
                    let value = self.variable()?;
                    let seen = |c: char| matches!(c, '\n' | '\t' | ' ') || is_plain_sight(c);
                    if !value.chars().all(seen) {
                        return self.refuse("an argument with invisible characters");
                    }
                    text.push_str(value);
                }
                '`' => return self.refuse("a command substitution (a backtick)"),
                '\\' => match self.peek_at(1) {
                    Some(next @ (b'$' | b'`' | b'"' | b'\\')) => {
                        text.push(char::from(next));
                        self.at += 2;
                    }
                    Some(b'\n') => self.at += 2,
                    _ => {
                        text.push('\\');
                        self.bump();
                    }
                },
                _ => self.quoted(c, text)?,
            }
        }
        Err(LexRefusal {
            at: start,
            why: "an unclosed quote",
        })
    }

    /// Reads `$name`, `${name}` or `$1` and returns its value.
    fn variable(&mut self) -> Result<&'a str, LexRefusal> {
        const WHY: &str = "a variable or substitution (`$`)";
        let rest = &self.text[self.at + 1..];
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let (name, length) = match rest.strip_prefix('{') {
            Some(inner) => {
                let length = inner.bytes().take_while(|&b| is_name(b)).count();
                if inner.as_bytes().get(length) != Some(&b'}') {
                    return self.refuse(WHY);
                }
                (&inner[..length], length + 3)
            }
            // `$10` is `${1}0` for a shell.
            None if rest.starts_with(|c: char| c.is_ascii_digit()) => (&rest[..1], 2),
            None => {
                let length = rest.bytes().take_while(|&b| is_name(b)).count();
                (&rest[..length], length + 1)
            }
        };
        let Some(value) = (self.lookup)(name).filter(|_| !name.is_empty()) else {
            return self.refuse(WHY);
        };
        self.at += length;
        Ok(value)
    }

    fn quoted(&mut self, c: char, text: &mut String) -> Result<(), LexRefusal> {
        if !matches!(c, '\n' | '\t' | ' ') && !is_plain_sight(c) {
            return self.refuse(unseen(c));
        }
        text.push(c);
        self.at += c.len_utf8();
        Ok(())
    }

    fn escape(&mut self, text: &mut String) -> Result<(), LexRefusal> {
        match self.text[self.at + 1..].chars().next() {
            Some('\n') => self.at += 2,
            Some(c) if c == ' ' || is_plain_sight(c) => {
                text.push(c);
                self.at += 1 + c.len_utf8();
            }
            Some(c) => return self.refuse(unseen(c)),
            None => return self.refuse("a trailing backslash"),
        }
        Ok(())
    }
}

fn check_program(word: &Word) -> Result<(), &'static str> {
    let text = &*word.text;
    if text.is_empty() {
        Err("an empty program name")
    } else if word.is_glob() {
        Err("a pattern instead of a program name")
    } else if text.contains('=') {
        Err("a variable set before the command")
    } else if text.starts_with('%') {
        Err("a shell job (`%`)")
    } else if RESERVED.contains(&text) {
        Err("a shell keyword")
    } else {
        Ok(())
    }
}

/// Returns `true` for characters that are literal outside quotes.
fn is_plain(c: char) -> bool {
    match c {
        'a'..='z'
        | 'A'..='Z'
        | '0'..='9'
        | '_'
        | '-'
        | '.'
        | '/'
        | ':'
        | '='
        | ','
        | '@'
        | '%'
        | '+'
        | '^' => true,
        _ => !c.is_ascii() && is_plain_sight(c),
    }
}

/// Returns `true` for characters that are visible and not misleading.
fn is_plain_sight(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_graphic();
    }
    !c.is_whitespace()
        && !sanitize::is_deceptive(c)
        && c.general_category_group() != GeneralCategoryGroup::Other
        && c.general_category_group() != GeneralCategoryGroup::Separator
}

/// Describes a character that is refused.
fn unseen(c: char) -> &'static str {
    match c {
        '$' => "a variable or substitution (`$`)",
        '`' => "a command substitution (a backtick)",
        '(' | ')' => "parentheses",
        '{' | '}' => "braces",
        '[' | ']' => "brackets outside quotes",
        '!' => "an exclamation mark outside quotes",
        '\r' => "a carriage return",
        '\0' => "a NUL character",
        _ if c.is_control() => "a control character",
        _ => "an invisible or misleading character",
    }
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
