//! One finding, and the findings of one file.

use std::borrow::Cow;
use std::sync::Arc;

use crate::{Applicability, Fix, Span};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// It works, but not as it should, or not everywhere.
    Warning,
    /// It is wrong.
    Error,
}

impl Severity {
    /// All severities, mildest first.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];

    /// Returns the word for people and machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|severity| severity.as_str() == word)
    }
}

/// One finding about a text.
///
/// When only one thing can be shown it is `message`: a lower-case phrase without a full stop that
/// says what is wrong. `label` stands at the place, `help` says what to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable kebab-case name of the rule.
    pub rule: &'static str,
    /// How bad it is under the settings in force.
    pub severity: Severity,
    /// What is wrong.
    pub message: Cow<'static, str>,
    /// Where; nothing when it concerns the whole file or folder.
    pub span: Option<Span>,
    /// What to say at the place.
    pub label: Option<Cow<'static, str>>,
    /// What to do when there is no fix, or beside it.
    pub help: Option<Cow<'static, str>>,
    /// How to mend it.
    pub fix: Option<Fix>,
}

/// The findings of one file.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// The path as it is shown to people; `<stdin>` for standard input.
    pub path: String,
    /// The text the spans point into; nothing when it could not be read.
    pub text: Option<Arc<str>>,
    /// Findings in order of position.
    pub diagnostics: Vec<Diagnostic>,
}

impl FileReport {
    /// Returns the text, empty when there is none.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// How many findings there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity note.
    pub notes: usize,
    /// Findings that `--fix` mends.
    pub fixable: usize,
    /// Findings with a fix that is only suggested.
    pub suggested: usize,
}

impl Counts {
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

    /// Adds the counts of another set.
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

    /// Returns how many findings are at least this severe.
    pub fn at_least(self, severity: Severity) -> usize {
        match severity {
            Severity::Error => self.errors,
            Severity::Warning => self.errors + self.warnings,
            Severity::Note => self.total(),
        }
    }
}

impl<'a> FromIterator<&'a Diagnostic> for Counts {
    fn from_iter<T: IntoIterator<Item = &'a Diagnostic>>(diagnostics: T) -> Self {
        let mut counts = Self::default();
        for diagnostic in diagnostics {
            counts.add(diagnostic);
        }
        counts
    }
}
