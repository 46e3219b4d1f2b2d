//! Commands that may run, together with the approval.

use prowess_shell::{ShellLine, script};

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

    /// Returns the approved value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Returns the rule or answer that approved it, as text for a record.
    pub fn by(&self) -> &str {
        &self.by
    }
}

/// A command as it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The command as it was typed, for records and prompts. It is never run.
    pub text: Box<str>,
    /// The form in which it runs.
    pub plan: Plan,
}

/// The form in which a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// One command, started without a shell. Never empty; the first word is the program.
    Words(Vec<Box<str>>),
    /// A script for `bash --norc --noprofile -c` in which every word is quoted.
    Script(Box<str>),
    /// A script for the same shell that could not be parsed strictly. A person approved its text.
    AsTyped(Box<str>),
}

impl Plan {
    /// Returns the plan for a parsed line: words for one plain command, otherwise a script in which
    /// every word is quoted.
    pub(crate) fn of(script: &ShellLine) -> Self {
        match script::plain_words(script) {
            Some(words) => Self::Words(words),
            None => Self::Script(script::write(script).into()),
        }
    }
}
