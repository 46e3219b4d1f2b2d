//! A finding, and the findings of one file.

use std::borrow::Cow;
use std::sync::Arc;

use crate::{Applicability, Fix, Span};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Informational; nothing is wrong.
    Note,
    /// The file works, but not as intended or not everywhere.
    Warning,
    /// The file is wrong.
    Error,
}

impl Severity {
    /// All severities, mildest first.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];

    /// Returns the lower-case name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Parses the name returned by [`Self::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|severity| severity.as_str() == word)
    }
}

/// One finding about a text.
///
/// `message` must make sense alone: a lower-case phrase without a full stop that says what is
/// wrong. `label` annotates the span, `help` says what to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable kebab-case name of the rule.
    pub rule: &'static str,
    /// Severity under the current settings.
    pub severity: Severity,
    /// The problem, in one phrase.
    pub message: Cow<'static, str>,
    /// Location; `None` if the finding concerns the whole file or folder.
    pub span: Option<Span>,
    /// Text shown next to the span.
    pub label: Option<Cow<'static, str>>,
    /// Advice for when there is no fix, or in addition to it.
    pub help: Option<Cow<'static, str>>,
    /// Edits that solve the problem.
    pub fix: Option<Fix>,
}

/// The findings of one file.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// The path for display; `<stdin>` for standard input.
    pub path: String,
    /// The text that the spans refer to; `None` if it could not be read.
    pub text: Option<Arc<str>>,
    /// Findings in order of position.
    pub diagnostics: Vec<Diagnostic>,
}

impl FileReport {
    /// Returns the text, or an empty string if there is none.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// The number of findings by severity and by fix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindingCounts {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity note.
    pub notes: usize,
    /// Findings that `--fix` solves.
    pub fixable: usize,
    /// Findings with a fix that is only suggested.
    pub suggested: usize,
}

impl FindingCounts {
    /// Counts one finding.
    pub fn add(&mut self, diagnostic: &Diagnostic) {
        match diagnostic.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
        match diagnostic.fix.as_ref().map(|fix| fix.applicability) {
            Some(Applicability::Safe) => self.fixable += 1,
            Some(Applicability::Suggested) => self.suggested += 1,
            None => {}
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: Self) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.notes += other.notes;
        self.fixable += other.fixable;
        self.suggested += other.suggested;
    }

    /// Returns the number of findings.
    pub fn total(self) -> usize {
        self.errors + self.warnings + self.notes
    }

    /// Returns the number of findings of at least this severity.
    pub fn at_least(self, severity: Severity) -> usize {
        match severity {
            Severity::Error => self.errors,
            Severity::Warning => self.errors + self.warnings,
            Severity::Note => self.total(),
        }
    }
}

impl<'a> FromIterator<&'a Diagnostic> for FindingCounts {
    fn from_iter<T: IntoIterator<Item = &'a Diagnostic>>(diagnostics: T) -> Self {
        let mut counts = Self::default();
        for diagnostic in diagnostics {
            counts.add(diagnostic);
        }
        counts
    }
}
