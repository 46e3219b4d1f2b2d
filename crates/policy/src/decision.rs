//! Decisions of the gate: a verdict and its reason.

use crate::rule::Effect;

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Allowed.
    Allow,
    /// A person must approve it.
    Ask,
    /// Denied.
    Deny,
}

impl Verdict {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A verdict with its explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, one sentence without a full stop.
    pub reason: Box<str>,
    /// The rule that decided, if any.
    pub rule: Option<CitedRule>,
    /// A rule to add or a command to type that would allow it.
    pub remedy: Option<Box<str>>,
}

/// A rule as it is shown to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitedRule {
    /// The rule as it was written.
    pub text: Box<str>,
    /// The effect of the rule.
    pub effect: Effect,
    /// The source of the rule, as text.
    pub source: Box<str>,
}

impl Decision {
    /// Creates a decision that no rule made.
    pub fn new(verdict: Verdict, reason: impl Into<Box<str>>) -> Self {
        Self {
            verdict,
            reason: reason.into(),
            rule: None,
            remedy: None,
        }
    }

    pub(crate) fn by(mut self, rule: CitedRule) -> Self {
        self.rule = Some(rule);
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<Box<str>>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
