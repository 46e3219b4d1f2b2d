//! What the parser noticed. A problem is a fact about the text; the rule of the same name turns
//! it into words, a severity and a fix.

use prowess_diag::{Applicability, Edit, Span};

use crate::yaml::{Duplicate, Refusal};

/// The commonest reason why a line is not YAML.
pub const UNQUOTED_COLON: &str = "an unquoted value contains a colon followed by a space";

/// One thing the parser noticed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: ProblemKind,
}

/// What the parser noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A byte that is not UTF-8; only the text before it was read.
    NotUtf8,
    /// A NUL byte.
    Nul,
    /// A byte-order mark at the start.
    ByteOrderMark,
    /// Line breaks that are a carriage return alone.
    LoneCarriageReturn {
        /// Every such line break.
        places: Vec<Span>,
    },
    /// No frontmatter at all.
    FrontmatterMissing,
    /// Frontmatter that does not begin on the first line; it was read all the same.
    FrontmatterMisplaced(Misplaced),
    /// `---` opens and nothing closes.
    FrontmatterUnclosed,
    /// Blanks behind a `---` line.
    FenceTrailingSpace,
    /// More frontmatter than we read.
    FrontmatterTooLarge {
        /// Its length in bytes.
        bytes: usize,
    },
    /// Frontmatter that is not a map: empty, a list, or a single value.
    NotMapping {
        /// What it is instead, in words.
        found: &'static str,
    },
    /// YAML that could be mended without losing anything.
    YamlRepaired {
        /// What the YAML parser says of it.
        message: String,
        /// What is done about it, as a title for the fix.
        title: &'static str,
        /// The repair.
        edits: Vec<Edit>,
        /// Whether it is beyond doubt what the author meant.
        applicability: Applicability,
    },
    /// YAML that could not be mended; this part was not read.
    YamlInvalid {
        /// What the YAML parser says of it.
        message: String,
        /// The key whose value was not read.
        key: Option<String>,
    },
    /// A feature of YAML that frontmatter must not use; only name and description were read.
    YamlRefused(Refusal),
    /// A key that stands twice.
    DuplicateKey(Duplicate),
}

/// Why frontmatter does not begin on the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// Empty lines stand before it.
    BlankLines,
    /// The whole file is wrapped in a code fence.
    CodeFence,
    /// The opening `---` is missing.
    NoOpener,
}
