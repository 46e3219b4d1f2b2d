//! Problems found by the parser. A problem is plain data; the lint rule of the same name adds
//! message, severity and fix.

use prowess_diag::{Applicability, Span, TextEdit};

use crate::yaml::{DuplicateKey, YamlRefusal};

/// The most common reason why a line is not valid YAML.
pub const UNQUOTED_COLON: &str = "an unquoted value contains a colon followed by a space";

/// A problem and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Range in the file.
    pub span: Span,
    /// The kind of problem.
    pub kind: ProblemKind,
}

/// The kind of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A byte that is not UTF-8; only the text before it was parsed.
    NotUtf8,
    /// A NUL byte.
    Nul,
    /// A byte-order mark at the start.
    ByteOrderMark,
    /// Line breaks that consist of a lone carriage return.
    LoneCarriageReturn {
        /// Every such line break.
        places: Vec<Span>,
    },
    /// No frontmatter at all.
    FrontmatterMissing,
    /// Frontmatter that does not start on the first line; it was parsed anyway.
    FrontmatterMisplaced(Misplaced),
    /// An opening `---` without a closing one.
    FrontmatterUnclosed,
    /// Trailing whitespace on a `---` line.
    FenceTrailingSpace,
    /// Frontmatter above the size limit.
    FrontmatterTooLarge {
        /// Its size in bytes.
        bytes: usize,
    },
    /// Frontmatter that is not a map: empty, a list or a single value.
    NotMapping {
        /// A description of the actual value.
        found: &'static str,
    },
    /// Invalid YAML that was repaired without loss.
    YamlRepaired {
        /// The parser's message.
        message: String,
        /// Title of the fix.
        title: &'static str,
        /// Edits that repair the file; empty if together they would change other values.
        edits: Vec<TextEdit>,
        /// Confidence that the repair matches the author's intent.
        applicability: Applicability,
    },
    /// Invalid YAML that could not be repaired; this part was skipped.
    YamlInvalid {
        /// The parser's message.
        message: String,
        /// The key whose value was skipped.
        key: Option<String>,
    },
    /// A YAML feature that is not allowed in frontmatter; only name and description were read.
    YamlRefused(YamlRefusal),
    /// A duplicate key.
    DuplicateKey(DuplicateKey),
}

/// The reason why frontmatter does not start on the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// Blank lines precede it.
    BlankLines,
    /// The whole file is wrapped in a code fence.
    CodeFence,
    /// The opening `---` is missing.
    NoOpener,
}
