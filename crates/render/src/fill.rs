//! Putting values into a template.

use std::borrow::Cow;
use std::sync::Arc;

use prowess_diag::Span;
use prowess_spec::body::Placeholder;

use crate::arguments::Resolved;
use crate::slot::{Command, Source, What};
use crate::template::PieceKind;
use crate::{Arguments, Compat, Slot, Template, Variables, Withheld};

/// Most bytes of text and values in one rendering.
pub const MAX_OUTPUT: usize = 8 * 1024 * 1024;
/// Most bytes of one value that a command gets; Linux takes no more in one piece.
pub const MAX_BINDING: usize = 128 * 1024 - 256;
/// Most bytes of all values that one command gets.
const MAX_BINDINGS: usize = 1024 * 1024;

/// A body with values in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Text and commands, in order; no two texts follow each other.
    pub parts: Vec<Part>,
    /// What became of each placeholder.
    pub report: Report,
}

/// A part of a rendered body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Text as it is.
    Text(String),
    /// The place of a command's output.
    Command(Slot),
    /// The place of a command that is not run.
    Withheld(Withheld),
}

/// What became of each placeholder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order in which they stand in the file.
    pub filled: Vec<Filled>,
    /// Whether the arguments were added at the end, because no placeholder took one.
    pub appended: bool,
    /// Offset in the arguments of a quotation mark or backslash without its partner; it was taken
    /// as an ordinary character.
    pub unbalanced: Option<usize>,
    /// Where the commands stand.
    pub commands: Vec<Span>,
}

/// One placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Where it stands in the file.
    pub span: Span,
    /// What it became.
    pub became: Became,
}

/// What a placeholder became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Became {
    /// A value of so many bytes.
    Value(usize),
    /// Nothing: a declared name, or `$ARGUMENTS`, without a value.
    Empty,
    /// Left as it is, because there is no such argument.
    Missing,
    /// Left as it is, because there is no such variable, or it was not granted.
    Unknown,
    /// Left as it is, because it stands in code.
    Code,
    /// Itself, without the backslash before it.
    Escaped,
    /// A variable of a command, with a value of so many bytes.
    Bound(usize),
    /// A variable of a command, without a value.
    Unset,
}

/// Why a template could not be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FillError {
    /// The result would be too large.
    #[error("the skill with its arguments is larger than {} MiB", .limit / 1024 / 1024)]
    TooLarge {
        /// Most bytes.
        limit: usize,
    },
    /// A value cannot be handed to a command.
    #[error("`{value}` has a NUL byte, which no command can be given")]
    Nul {
        /// What was to be handed over.
        value: String,
        /// The command.
        command: Span,
    },
    /// A value is too long to be handed to a command.
    #[error("`{value}` has {bytes} bytes, more than the {limit} that a command can be given")]
    TooLong {
        /// What was to be handed over.
        value: String,
        /// Its length.
        bytes: usize,
        /// Most bytes.
        limit: usize,
        /// The command.
        command: Span,
    },
    /// A command needs a variable that has no value; run without, it could do something else.
    #[error("a command uses `{variable}`, which has no value here")]
    NoValue {
        /// As it is written.
        variable: String,
        /// The command.
        command: Span,
    },
}

impl Template {
    /// Fills the template, in one pass. Values are put in as they are.
    pub fn fill(
        &self,
        arguments: &Arguments,
        variables: &Variables,
    ) -> Result<Rendered, FillError> {
        let declared = &self.names[..self.declared];
        let resolved = arguments.resolve(declared, self.compat, self.counts);
        let mut filler = Filler {
            template: self,
            shared: Vec::new(),
            raw: None,
            resolved: &resolved,
            variables,
            parts: Vec::new(),
            text: String::with_capacity(self.text.len() + self.text.len() / 8),
            report: Report {
                unbalanced: resolved.unbalanced,
                ..Report::default()
            },
            received: false,
            size: 0,
        };
        filler.report.filled.reserve(self.pieces.len());
        let mut at = self.start;
        for piece in &self.pieces {
            filler.push(&self.text[at - self.start..piece.span.start as usize - self.start])?;
            filler.piece(piece.span, &piece.kind)?;
            at = piece.span.end as usize;
        }
        filler.push(&self.text[at - self.start..])?;
        filler.append()?;
        filler.flush();
        Ok(Rendered {
            parts: filler.parts,
            report: filler.report,
        })
    }
}

struct Filler<'a> {
    template: &'a Template,
    /// The positions, once a command needs them.
    shared: Vec<Arc<str>>,
    raw: Option<Arc<str>>,
    resolved: &'a Resolved<'a>,
    variables: &'a Variables,
    parts: Vec<Part>,
    text: String,
    report: Report,
    /// Whether any placeholder took an argument.
    received: bool,
    size: usize,
}

impl<'a> Filler<'a> {
    fn grow(&mut self, bytes: usize) -> Result<(), FillError> {
        self.size = self.size.saturating_add(bytes);
        if self.size > MAX_OUTPUT {
            Err(FillError::TooLarge { limit: MAX_OUTPUT })
        } else {
            Ok(())
        }
    }

    fn push(&mut self, text: &str) -> Result<(), FillError> {
        self.grow(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.text)));
        }
    }

    fn note(&mut self, span: Span, became: Became) {
        self.report.filled.push(Filled { span, became });
    }

    /// Puts a value in its place; without one, the text stays.
    fn value(&mut self, span: Span, value: Option<&str>, without: Became) -> Result<(), FillError> {
        if let Some(value) = value {
            self.push(value)?;
            self.note(span, Became::Value(value.len()));
            return Ok(());
        }
        if without != Became::Empty {
            self.push(self.template.of(span))?;
        }
        self.note(span, without);
        Ok(())
    }

    fn piece(&mut self, span: Span, kind: &PieceKind) -> Result<(), FillError> {
        match kind {
            PieceKind::Argument(placeholder) => {
                let (value, without) = self.argument(placeholder);
                self.received |= receives(placeholder, value.is_some());
                self.value(span, value.as_deref(), without)
            }
            PieceKind::Variable(variable) => {
                self.value(span, self.variables.get(variable), Became::Unknown)
            }
            PieceKind::Escape => {
                self.note(span, Became::Escaped);
                self.push(
                    self.template
                        .of(span)
                        .strip_prefix('\\')
                        .unwrap_or_default(),
                )
            }
            PieceKind::Code => self.value(span, None, Became::Code),
            PieceKind::Command(index) => {
                self.flush();
                self.report.commands.push(span);
                let slot = self.slot(&self.template.commands[*index])?;
                self.parts.push(Part::Command(slot));
                Ok(())
            }
            PieceKind::Withheld(index) => {
                self.flush();
                self.parts
                    .push(Part::Withheld(self.template.withheld[*index].clone()));
                Ok(())
            }
        }
    }

    /// The value of a placeholder, and what it is without one.
    fn argument(&self, placeholder: &Placeholder) -> (Option<Cow<'a, str>>, Became) {
        let resolved = self.resolved;
        let compat = self.template.compat;
        match *placeholder {
            Placeholder::All => (
                resolved.is_given.then_some(Cow::Borrowed(resolved.raw)),
                Became::Empty,
            ),
            Placeholder::Element(index) => {
                (resolved.position(index).map(Cow::Borrowed), Became::Missing)
            }
            Placeholder::Index(index) => {
                let value = compat
                    .position(index)
                    .and_then(|index| resolved.position(index));
                (value.map(Cow::Borrowed), Became::Missing)
            }
            Placeholder::Named(index) => {
                let is_declared = index < self.template.declared;
                let name = self.template.names.get(index).map_or("", AsRef::as_ref);
                let value = resolved.named(index, name, is_declared);
                let value = value.or_else(|| (!is_declared).then(|| self.shorter(name))?);
                let keeps = compat.keeps_missing_names();
                (
                    value,
                    if keeps {
                        Became::Missing
                    } else {
                        Became::Empty
                    },
                )
            }
        }
    }

    /// The value of a word that is no key itself, but begins with one: `$name-suffix`.
    fn shorter(&self, word: &str) -> Option<Cow<'a, str>> {
        let declared = &self.template.names[..self.template.declared];
        word.rmatch_indices('-').find_map(|(at, _)| {
            let name = &word[..at];
            let index = declared.iter().position(|known| **known == *name);
            let value = self
                .resolved
                .named(index.unwrap_or(usize::MAX), name, index.is_some())?;
            Some(Cow::Owned(format!("{value}{}", &word[at..])))
        })
    }

    /// Adds the arguments at the end, if nothing took them.
    fn append(&mut self) -> Result<(), FillError> {
        let resolved = self.resolved;
        let is_due = if self.template.compat == Compat::Agentick {
            resolved.is_given && !self.template.mentions
        } else {
            !resolved.raw.trim().is_empty() && !self.received
        };
        if !is_due {
            return Ok(());
        }
        let is_empty = self.text.is_empty() && self.parts.is_empty();
        let breaks = match self.template.compat {
            Compat::Prowess if is_empty || self.text.ends_with("\n\n") => "",
            Compat::Prowess if self.text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        self.push(breaks)?;
        self.push("ARGUMENTS: ")?;
        self.push(resolved.raw)?;
        self.report.appended = true;
        Ok(())
    }

    fn slot(&mut self, command: &Command) -> Result<Slot, FillError> {
        for (span, what) in &command.items {
            let became = match what {
                What::Escape => Became::Escaped,
                What::Argument(placeholder) => {
                    let (value, _) = self.argument(placeholder);
                    self.received |= receives(placeholder, value.is_some());
                    value.map_or(Became::Unset, |value| Became::Bound(value.len()))
                }
                What::Variable(index) => {
                    let value = command.variables.get(*index);
                    let value = value.and_then(|variable| self.variables.get(variable));
                    let Some(value) = value else {
                        return Err(FillError::NoValue {
                            variable: self.template.of(*span).to_owned(),
                            command: command.span,
                        });
                    };
                    Became::Bound(value.len())
                }
            };
            self.note(*span, became);
        }
        let positionals = self.positionals(command)?;
        let mut variables: Vec<(Arc<str>, Arc<str>)> = Vec::with_capacity(command.exports.len());
        for (name, source) in &command.exports {
            let value: Arc<str> = match source {
                Source::All => {
                    let raw = self.resolved.raw;
                    self.raw.get_or_insert_with(|| raw.into()).clone()
                }
                Source::Element(index) => self.resolved.position(*index).unwrap_or_default().into(),
                Source::Named(index) => {
                    let (value, _) = self.argument(&Placeholder::Named(*index));
                    value.unwrap_or_default().into()
                }
                Source::Variable(index) => {
                    let variable = command.variables.get(*index);
                    variable
                        .and_then(|variable| self.variables.get(variable))
                        .unwrap_or("")
                        .into()
                }
            };
            check(name, &value, command.span)?;
            variables.push((name.clone(), value));
        }
        let values = positionals
            .iter()
            .chain(variables.iter().map(|(_, value)| value));
        let bytes: usize = values.map(|value| value.len()).sum();
        if bytes > MAX_BINDINGS {
            let (value, limit) = ("$ARGUMENTS".to_owned(), MAX_BINDINGS);
            return Err(FillError::TooLong {
                value,
                bytes,
                limit,
                command: command.span,
            });
        }
        self.grow(bytes + command.script.len())?;
        Ok(Slot {
            script: command.script.clone(),
            display: command.display.clone(),
            positionals,
            variables,
            block: command.block,
            span: command.span,
        })
    }

    /// The positionals that a command can see; at least `$0`.
    fn positionals(&mut self, command: &Command) -> Result<Vec<Arc<str>>, FillError> {
        let resolved = self.resolved;
        let count = command
            .positions
            .unwrap_or(usize::MAX)
            .min(resolved.positions.len());
        if count == 0 {
            return Ok(vec!["".into()]);
        }
        while self.shared.len() < count {
            let index = self.shared.len();
            self.shared
                .push(resolved.position(index).unwrap_or_default().into());
        }
        for (index, value) in self.shared[..count].iter().enumerate() {
            check(&index, value, command.span)?;
        }
        Ok(self.shared[..count].to_vec())
    }
}

/// Whether a placeholder counts as taking an argument. A declared name does, even without one.
fn receives(placeholder: &Placeholder, has_value: bool) -> bool {
    matches!(placeholder, Placeholder::Named(_) | Placeholder::All) || has_value
}

/// Whether a value can be handed to a command.
fn check(name: &dyn std::fmt::Display, value: &str, command: Span) -> Result<(), FillError> {
    let shown = || format!("${name}");
    if value.contains('\0') {
        return Err(FillError::Nul {
            value: shown(),
            command,
        });
    }
    if value.len() > MAX_BINDING {
        let (bytes, limit) = (value.len(), MAX_BINDING);
        return Err(FillError::TooLong {
            value: shown(),
            bytes,
            limit,
            command,
        });
    }
    Ok(())
}
