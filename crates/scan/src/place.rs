//! The place of a finding in its file, which decides how much it counts.

/// The place of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingPlace {
    /// Text that a model follows: the prose and the commands of `SKILL.md`.
    Instruction,
    /// A program of the skill.
    Script,
    /// Text of another file.
    Reference,
    /// A code block that shows something and is not a command to run.
    FencedExample,
    /// A row of a table.
    Table,
    /// A quotation, a comment, or a sentence that describes or forbids.
    Quotation,
}

impl FindingPlace {
    /// All places, those that count most first.
    pub const ALL: [Self; 6] = [
        Self::Instruction,
        Self::Script,
        Self::Reference,
        Self::FencedExample,
        Self::Table,
        Self::Quotation,
    ];

    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instruction => "instruction",
            Self::Script => "script",
            Self::Reference => "reference",
            Self::FencedExample => "fenced example",
            Self::Table => "table",
            Self::Quotation => "quotation",
        }
    }

    /// Returns `true` if text there describes more often than it orders.
    pub(crate) fn describes(self) -> bool {
        matches!(self, Self::FencedExample | Self::Table | Self::Quotation)
    }
}
