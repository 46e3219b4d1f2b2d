//! Compatibility with other runtimes.

/// The runtime whose substitution rules apply. The methods list the differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compat {
    /// Prowess: placeholders in code blocks are left as they are.
    #[default]
    Prowess,
    /// Claude Code: code blocks are ordinary text.
    ClaudeCode,
    /// Agentick: no escapes, and names from the keys of an object.
    Agentick,
    /// Goose: `$1` is the first argument.
    Goose,
}

impl Compat {
    /// All runtimes, Prowess first.
    pub const ALL: [Self; 4] = [Self::Prowess, Self::ClaudeCode, Self::Agentick, Self::Goose];

    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prowess => "prowess",
            Self::ClaudeCode => "claude-code",
            Self::Agentick => "agentick",
            Self::Goose => "goose",
        }
    }

    /// Parses the name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compat| compat.as_str() == name)
    }

    /// Returns `true` if `$1` is filled in inside code blocks. With Prowess, `awk '{print $1}'`
    /// stays as it is.
    pub(crate) fn fills_code(self) -> bool {
        self != Self::Prowess
    }

    /// Returns `true` if `` !`command` `` inside an ordinary code block runs. Agentick runs it too,
    /// but its own study lists that as a weakness.
    pub(crate) fn runs_in_fences(self) -> bool {
        self == Self::ClaudeCode
    }

    /// Returns `true` if a backslash makes a placeholder literal.
    pub(crate) fn has_escapes(self) -> bool {
        self != Self::Agentick
    }

    /// Returns `true` if a declared name without a value stays as it is instead of becoming empty.
    pub(crate) fn keeps_missing_names(self) -> bool {
        self == Self::Agentick
    }

    /// Returns `true` if every key of an object is a name, declared or not.
    pub(crate) fn names_from_keys(self) -> bool {
        self == Self::Agentick
    }

    /// Returns the position of the argument that `$N` refers to.
    pub(crate) fn position(self, index: usize) -> Option<usize> {
        if self == Self::Goose {
            index.checked_sub(1)
        } else {
            Some(index)
        }
    }
}
