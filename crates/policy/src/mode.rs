//! The mode, for requests that no rule matches.

/// The handling of requests that no rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PermissionMode {
    /// Ask about everything that no rule allows.
    #[default]
    Ask,
    /// Deny everything that no rule allows, without a prompt.
    Allow,
    /// Read only: deny commands, writes and network access.
    Plan,
    /// As `Ask`, but files of the project may be written without a prompt.
    AcceptEdits,
    /// Allow everything that no rule denies. The sandbox still applies.
    Yolo,
}

impl PermissionMode {
    /// All modes, the strictest ones first.
    pub const ALL: [Self; 5] = [
        Self::Ask,
        Self::Allow,
        Self::Plan,
        Self::AcceptEdits,
        Self::Yolo,
    ];

    /// Returns the word used in settings and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Plan => "plan",
            Self::AcceptEdits => "accept-edits",
            Self::Yolo => "yolo",
        }
    }

    /// Parses the word used in settings. `acceptEdits` is core-agent's spelling.
    pub fn parse(word: &str) -> Option<Self> {
        if word == "acceptEdits" {
            return Some(Self::AcceptEdits);
        }
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

/// The reaction of a session to a prompt that no user can answer now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unattended {
    /// The request is denied, and the session continues.
    #[default]
    Deny,
    /// The session ends as waiting. It continues when the question is answered.
    Wait,
}

impl Unattended {
    /// All reactions.
    pub const ALL: [Self; 2] = [Self::Deny, Self::Wait];

    /// Returns the word used in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Wait => "wait",
        }
    }

    /// Parses the word used in settings.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}
