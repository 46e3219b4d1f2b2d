//! Fills values into a template.

use std::borrow::Cow;
use std::sync::Arc;

use prowess_diag::Span;
use prowess_shell::placeholders::ValueObjection;
use prowess_spec::body::Placeholder;

use crate::arguments::{Resolved, UsedValues};
use crate::command_slot::{Command, Source, What};
use crate::template::PieceKind;
use crate::{
    Arguments, CommandSlot, Compat, RefusedCommand, SkillVariables, Template, WithheldCommand,
};

/// Most bytes of text and values in one rendering.
pub const MAX_OUTPUT: usize = 8 * 1024 * 1024;
/// Most bytes of one value for a command; Linux limits a single argument.
pub const MAX_BINDING: usize = 128 * 1024 - 256;
/// Most bytes of all values for one command.
const MAX_BINDINGS: usize = 1024 * 1024;

/// A body with its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Text and commands in order; no two texts are adjacent.
    pub parts: Vec<RenderedPart>,
    /// The replacement of each placeholder.
    pub report: FillReport,
}

/// A part of a rendered body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenderedPart {
    /// Text as it is.
    Text(String),
    /// A command; its output goes here.
    Command(CommandSlot),
    /// A command that is not run.
    Withheld(WithheldCommand),
    /// A command that must not run with these values.
    Refused(RefusedCommand),
}

/// The replacement of each placeholder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FillReport {
    /// The placeholders, in the order of the file.
    pub filled: Vec<Filled>,
    /// `true` if arguments were appended because no placeholder used them.
    pub appended: bool,
    /// Offset in the arguments of an unbalanced quote or backslash, which was used as an ordinary
    /// character.
    pub unbalanced: Option<usize>,
    /// The positions of the commands.
    pub commands: Vec<Span>,
}

/// A placeholder that was processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Its position in the file.
    pub span: Span,
    /// Its replacement.
    pub became: Replacement,
}

/// The replacement of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replacement {
    /// A value, with its length in bytes.
    Value(usize),
    /// An empty text: a declared name, or `$ARGUMENTS`, without a value.
    Empty,
    /// Unchanged: there is no such argument.
    Missing,
    /// Unchanged: there is no such variable, or it was not granted.
    Unknown,
    /// Unchanged: it is inside a code block.
    Code,
    /// The placeholder itself, without the backslash before it.
    Escaped,
    /// A variable of a command, with the length of its value in bytes.
    Bound(usize),
    /// A variable of a command, without a value.
    Unset,
}

/// The error for a template that cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FillError {
    /// The result would be too large.
    #[error("the skill with its arguments is larger than {} MiB", .limit / 1024 / 1024)]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A value contains a NUL byte, which no command can receive.
    #[error("`{value}` contains a NUL byte, which cannot be passed to a command")]
    Nul {
        /// The name of the value.
        value: String,
        /// The command.
        command: Span,
    },
    /// A value is too long for a command.
    #[error("`{value}` has {bytes} bytes; at most {limit} can be passed to a command")]
    TooLong {
        /// The name of the value.
        value: String,
        /// Its length.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
        /// The command.
        command: Span,
    },
    /// A command uses a variable without a value. Running it anyway could do something else.
    #[error("a command uses `{variable}`, which has no value here")]
    NoValue {
        /// The variable as it is written.
        variable: String,
        /// The command.
        command: Span,
    },
}

impl Template {
    /// Fills the template in one pass. Values are inserted unchanged and never parsed.
    pub fn fill(
        &self,
        arguments: &Arguments,
        variables: &SkillVariables,
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
            report: FillReport {
                unbalanced: resolved.unbalanced,
                ..FillReport::default()
            },
            received: false,
            used: UsedValues::default(),
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
    /// The positional values, filled when a command needs them.
    shared: Vec<Arc<str>>,
    raw: Option<Arc<str>>,
    resolved: &'a Resolved<'a>,
    variables: &'a SkillVariables,
    parts: Vec<RenderedPart>,
    text: String,
    report: FillReport,
    /// `true` if any placeholder used an argument.
    received: bool,
    used: UsedValues<'a>,
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
            self.parts
                .push(RenderedPart::Text(std::mem::take(&mut self.text)));
        }
    }

    fn note(&mut self, span: Span, became: Replacement) {
        self.report.filled.push(Filled { span, became });
    }

    /// Inserts a value; without one, keeps the text.
    fn value(
        &mut self,
        span: Span,
        value: Option<&str>,
        without: Replacement,
    ) -> Result<(), FillError> {
        if let Some(value) = value {
            self.push(value)?;
            self.note(span, Replacement::Value(value.len()));
            return Ok(());
        }
        if without != Replacement::Empty {
            self.push(self.template.of(span))?;
        }
        self.note(span, without);
        Ok(())
    }

    fn piece(&mut self, span: Span, kind: &PieceKind) -> Result<(), FillError> {
        match kind {
            PieceKind::Argument(placeholder) => {
                let (value, without) = self.argument(placeholder);
                self.receive(placeholder, value.is_some());
                self.value(span, value.as_deref(), without)
            }
            PieceKind::Variable(variable) => {
                self.value(span, self.variables.get(variable), Replacement::Unknown)
            }
            PieceKind::Escape => {
                self.note(span, Replacement::Escaped);
                self.push(
                    self.template
                        .of(span)
                        .strip_prefix('\\')
                        .unwrap_or_default(),
                )
            }
            PieceKind::Code => self.value(span, None, Replacement::Code),
            PieceKind::Command(index) => {
                self.flush();
                self.report.commands.push(span);
                let command = &self.template.commands[*index];
                let slot = self.slot(command)?;
                self.parts.push(match self.refused(command, &slot) {
                    Some(refused) => RenderedPart::Refused(refused),
                    None => RenderedPart::Command(slot),
                });
                Ok(())
            }
            PieceKind::Withheld(index) => {
                self.flush();
                self.parts.push(RenderedPart::Withheld(
                    self.template.withheld[*index].clone(),
                ));
                Ok(())
            }
        }
    }

    /// Returns the value of a placeholder, and its replacement if there is none.
    fn argument(&self, placeholder: &Placeholder) -> (Option<Cow<'a, str>>, Replacement) {
        let resolved = self.resolved;
        let compat = self.template.compat;
        match *placeholder {
            Placeholder::All => (
                resolved.is_given.then_some(Cow::Borrowed(resolved.raw)),
                Replacement::Empty,
            ),
            Placeholder::Element(index) => (
                resolved.position(index).map(Cow::Borrowed),
                Replacement::Missing,
            ),
            Placeholder::Index(index) => {
                let value = compat
                    .position(index)
                    .and_then(|index| resolved.position(index));
                (value.map(Cow::Borrowed), Replacement::Missing)
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
                        Replacement::Missing
                    } else {
                        Replacement::Empty
                    },
                )
            }
        }
    }

    /// Returns the value of a word that begins with a key: `$name-suffix`.
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

    /// Records that a placeholder used its argument. In other runtimes a declared name counts, even
    /// without a value.
    fn receive(&mut self, placeholder: &Placeholder, has_value: bool) {
        self.received |= receives(placeholder, has_value);
        if !has_value {
            return;
        }
        match *placeholder {
            Placeholder::All => self.used.use_all(),
            Placeholder::Element(index) => self.used.use_position(self.resolved, index),
            Placeholder::Index(index) => {
                if let Some(index) = self.template.compat.position(index) {
                    self.used.use_position(self.resolved, index);
                }
            }
            Placeholder::Named(index) => {
                let name = self.template.names.get(index).map_or("", AsRef::as_ref);
                self.used.use_name(self.resolved, index, name);
            }
        }
    }

    /// Appends arguments that no placeholder used, so that none is lost. The other runtimes append
    /// all arguments or none.
    fn append(&mut self) -> Result<(), FillError> {
        let resolved = self.resolved;
        let all = Cow::Borrowed(resolved.raw);
        let unused = match self.template.compat {
            Compat::Prowess => resolved.unused(&self.used),
            Compat::Agentick => (resolved.is_given && !self.template.mentions).then_some(all),
            Compat::ClaudeCode | Compat::Goose => {
                (!resolved.raw.trim().is_empty() && !self.received).then_some(all)
            }
        };
        let Some(unused) = unused else {
            return Ok(());
        };
        let is_empty = self.text.is_empty() && self.parts.is_empty();
        let breaks = match self.template.compat {
            Compat::Prowess if is_empty || self.text.ends_with("\n\n") => "",
            Compat::Prowess if self.text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        self.push(breaks)?;
        self.push("ARGUMENTS: ")?;
        self.push(&unused)?;
        self.report.appended = true;
        Ok(())
    }

    fn slot(&mut self, command: &Command) -> Result<CommandSlot, FillError> {
        for (span, what) in &command.items {
            let became = match what {
                What::Escape => Replacement::Escaped,
                What::Argument(placeholder) => {
                    let (value, _) = self.argument(placeholder);
                    self.receive(placeholder, value.is_some());
                    value.map_or(Replacement::Unset, |value| Replacement::Bound(value.len()))
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
                    Replacement::Bound(value.len())
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
        let (all, _) = self.argument(&Placeholder::All);
        let script = if all.is_none_or(|all| all.is_empty()) {
            command.without_arguments()
        } else {
            Arc::clone(&command.script)
        };
        Ok(CommandSlot {
            script,
            display: command.display.clone(),
            positionals,
            variables,
            block: command.block,
            span: command.span,
        })
    }

    /// Returns the refusal of a command if a value breaks a limit.
    fn refused(&self, command: &Command, slot: &CommandSlot) -> Option<RefusedCommand> {
        let own = command
            .limited
            .iter()
            .find_map(|(name, placeholder, limit)| {
                let (value, _) = self.argument(placeholder);
                Some((name.clone(), limit.objection(&value?)?))
            });
        let any = |objection: &dyn Fn(&str) -> Option<ValueObjection>| {
            bound_arguments(command, slot)
                .find_map(|(name, value)| Some((format!("${name}").into(), objection(value)?)))
        };
        let whole = own.or_else(|| any(&|value| command.limit.objection(value)));
        let is_passed_on = whole.is_none();
        let part = || any(&|value| command.part_limit.objection_to_parts(value));
        let (placeholder, objection) = whole.or_else(part)?;
        Some(RefusedCommand {
            display: command.display.clone(),
            placeholder,
            objection,
            is_passed_on,
            block: command.block,
            span: command.span,
        })
    }

    /// Returns the positionals of a command; at least `$0`.
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

/// Returns the arguments that a command receives, each with its name. Values of the runtime are not
/// included.
fn bound_arguments<'s>(
    command: &'s Command,
    slot: &'s CommandSlot,
) -> impl Iterator<Item = (String, &'s str)> {
    let positionals = slot.positionals.iter().enumerate();
    let positionals = positionals.map(|(at, value)| (at.to_string(), &**value));
    let source = |name: &str| {
        let mut exports = command.exports.iter();
        exports
            .find(|(known, _)| **known == *name)
            .map(|(_, source)| source)
    };
    let variables = slot.variables.iter().filter_map(move |(name, value)| {
        let shown = match source(name)? {
            Source::Variable(_) => return None,
            Source::Element(index) => format!("ARGUMENTS[{index}]"),
            Source::All | Source::Named(_) => name.to_string(),
        };
        Some((shown, &**value))
    });
    positionals.chain(variables)
}

/// Returns `true` if a placeholder counts as using an argument in other runtimes. A declared name
/// does, even without a value.
fn receives(placeholder: &Placeholder, has_value: bool) -> bool {
    matches!(placeholder, Placeholder::Named(_) | Placeholder::All) || has_value
}

/// Checks that a command can receive a value.
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
