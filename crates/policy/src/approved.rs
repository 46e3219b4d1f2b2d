//! What may run: a command together with the fact that somebody allowed it.

use prowess_shell::{Script, script};

/// A value that passed the gate. Only this crate can build one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved<T> {
    value: T,
    by: Box<str>,
}

impl<T> Approved<T> {
    pub(crate) fn new(value: T, by: impl Into<Box<str>>) -> Self {
        Self {
            value,
            by: by.into(),
        }
    }

    pub(crate) fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// What was approved.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The rule or the answer that approved it, in words for a record.
    pub fn by(&self) -> &str {
        &self.by
    }
}

/// A command as it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// As it was typed: for records and questions, never for running.
    pub text: Box<str>,
    /// What runs.
    pub plan: Plan,
}

/// How a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// One command, started without a shell. Never empty; the first word is the program.
    Words(Vec<Box<str>>),
    /// A script for `bash --norc --noprofile -c`, written by us: every word quoted.
    Script(Box<str>),
    /// A script for the same shell that nobody could prove plain; a person read it and said yes.
    AsTyped(Box<str>),
}

impl Plan {
    /// Returns what runs for a line that was understood: words for one plain command, else a script
    /// in which every word is quoted.
    pub(crate) fn of(script: &Script) -> Self {
        match script::plain_words(script) {
            Some(words) => Self::Words(words),
            None => Self::Script(script::write(script).into()),
        }
    }
}
