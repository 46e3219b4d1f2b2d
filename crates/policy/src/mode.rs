//! What happens to requests that no rule is about.

/// How much a person wants to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Ask about everything that no rule allows.
    #[default]
    Ask,
    /// Refuse everything that no rule allows; nobody is asked.
    Allow,
    /// Look, do not touch: commands, writing and sending are refused.
    Plan,
    /// Files of the project may be written unasked.
    AcceptEdits,
    /// Everything that no rule forbids. The sandbox still holds.
    Yolo,
}

impl Mode {
    /// Every mode, the careful ones first.
    pub const ALL: [Self; 5] = [
        Self::Ask,
        Self::Allow,
        Self::Plan,
        Self::AcceptEdits,
        Self::Yolo,
    ];

    /// The word used in settings and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Plan => "plan",
            Self::AcceptEdits => "accept-edits",
            Self::Yolo => "yolo",
        }
    }

    /// Reads the word used in settings; `acceptEdits` is core-agent's spelling.
    pub fn parse(word: &str) -> Option<Self> {
        if word == "acceptEdits" {
            return Some(Self::AcceptEdits);
        }
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}
