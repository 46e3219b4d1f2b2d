//! Decisions of the gate: a verdict and its reason.

use crate::grant::{ApprovalAnswer, GrantOrigin};
use crate::rule::Effect;
use crate::rule_set::RuleSource;

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
    /// The change that would allow it.
    pub remedy: Option<Remedy>,
    /// The earlier answer of a person that decided, if any.
    pub grant: Option<GrantOrigin>,
}

/// A step that would allow a denied request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Add this allow rule.
    Rule(Box<str>),
    /// Review this skill and trust it.
    Trust(Box<str>),
    /// Change the request or the configuration.
    Advice(&'static str),
}

impl std::fmt::Display for Remedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "allow it with {rule}"),
            Self::Trust(skill) => {
                let command = prowess_diag::wording::command(["prowess", "trust", skill]);
                write!(f, "review it, then run {command}")
            }
            Self::Advice(text) => f.write_str(text),
        }
    }
}

/// A rule as it is shown to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitedRule {
    /// The rule as it was written.
    pub text: Box<str>,
    /// The effect of the rule.
    pub effect: Effect,
    /// The source of the rule.
    pub source: RuleSource,
}

impl Decision {
    /// Creates a decision that no rule made.
    pub fn new(verdict: Verdict, reason: impl Into<Box<str>>) -> Self {
        Self {
            verdict,
            reason: reason.into(),
            rule: None,
            remedy: None,
            grant: None,
        }
    }

    /// Returns the reason with the rule that decided: `reason (rule RULE, SOURCE)`.
    pub fn explain(&self) -> String {
        match &self.rule {
            Some(rule) => format!("{} (rule `{}`, {})", self.reason, rule.text, rule.source),
            None => self.reason.to_string(),
        }
    }

    /// Returns what to report about a prompt that was not answered with an approval.
    #[must_use]
    pub fn refused(&self, answer: ApprovalAnswer) -> Self {
        if answer == ApprovalAnswer::No {
            return Self::new(self.verdict, "the user denied it");
        }
        Self {
            reason: format!("{}, and no user was available to approve it", self.reason).into(),
            ..self.clone()
        }
    }

    pub(crate) fn by(mut self, rule: CitedRule) -> Self {
        self.rule = Some(rule);
        self
    }

    pub(crate) fn advice(mut self, text: &'static str) -> Self {
        self.remedy = Some(Remedy::Advice(text));
        self
    }

    pub(crate) fn allowed_with(mut self, rule: String) -> Self {
        self.remedy = Some(Remedy::Rule(rule.into()));
        self
    }
}
