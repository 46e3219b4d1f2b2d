//! Whose rules a body is filled by.

/// Whose rules a body is filled by. They agree on most; see the methods for what differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compat {
    /// Ours: code that is shown is left alone.
    #[default]
    Prowess,
    /// Claude Code: code is text like any other.
    ClaudeCode,
    /// Agentick: no escapes, and names from the keys of an object.
    Agentick,
    /// Goose: `$1` is the first argument.
    Goose,
}

impl Compat {
    /// All of them, ours first.
    pub const ALL: [Self; 4] = [Self::Prowess, Self::ClaudeCode, Self::Agentick, Self::Goose];

    /// Returns the name to type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prowess => "prowess",
            Self::ClaudeCode => "claude-code",
            Self::Agentick => "agentick",
            Self::Goose => "goose",
        }
    }

    /// Reads the name back.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compat| compat.as_str() == name)
    }

    /// Whether `$1` in code that is only shown is filled in. In ours `awk '{print $1}'` survives.
    pub(crate) fn fills_code(self) -> bool {
        self != Self::Prowess
    }

    /// Whether `` !`command` `` inside an ordinary code block runs. Only Claude Code's rule asks for
    /// it; Agentick does it too, but its own study lists that as a weakness.
    pub(crate) fn runs_in_fences(self) -> bool {
        self == Self::ClaudeCode
    }

    /// Whether a backslash makes a placeholder literal.
    pub(crate) fn has_escapes(self) -> bool {
        self != Self::Agentick
    }

    /// Whether a declared name without a value stays as it is, instead of becoming empty.
    pub(crate) fn keeps_missing_names(self) -> bool {
        self == Self::Agentick
    }

    /// Whether any key of an object can be named, declared or not.
    pub(crate) fn names_from_keys(self) -> bool {
        self == Self::Agentick
    }

    /// Which argument `$N` stands for.
    pub(crate) fn position(self, index: usize) -> Option<usize> {
        if self == Self::Goose {
            index.checked_sub(1)
        } else {
            Some(index)
        }
    }
}
