//! The answer of the gate: a verdict, and why.

use crate::rule::Effect;

/// May it happen?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Yes.
    Allow,
    /// Only if a person says so.
    Ask,
    /// No.
    Deny,
}

impl Verdict {
    /// The word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A verdict with everything a person needs to understand it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// May it happen?
    pub verdict: Verdict,
    /// Why, in one sentence without a full stop.
    pub reason: Box<str>,
    /// The rule that decided, if one did.
    pub rule: Option<Cited>,
    /// What would allow it: a rule to add, a command to type.
    pub remedy: Option<Box<str>>,
}

/// A rule as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cited {
    /// As it was written.
    pub text: Box<str>,
    /// What it does.
    pub effect: Effect,
    /// Where it comes from, in words.
    pub source: Box<str>,
}

impl Decision {
    /// A decision without a rule behind it.
    pub fn new(verdict: Verdict, reason: impl Into<Box<str>>) -> Self {
        Self {
            verdict,
            reason: reason.into(),
            rule: None,
            remedy: None,
        }
    }

    pub(crate) fn by(mut self, rule: Cited) -> Self {
        self.rule = Some(rule);
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<Box<str>>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
