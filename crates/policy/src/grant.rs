//! Answers that outlive their question.

use crate::rule::Rule;

/// How long an answer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the session ends.
    Session,
    /// Until it is taken back.
    Always,
}

/// A person's yes to more than one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What was granted.
    pub what: Granted,
    /// How long.
    pub lifetime: Lifetime,
    /// The skill it was granted to, by name and digest; another digest, another skill. Nothing when
    /// the person's own agent asked.
    pub skill: Option<(Box<str>, Box<str>)>,
}

/// What a grant covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Granted {
    /// What an allow rule covers.
    Rule(Rule),
    /// This text of a command and no other.
    Verbatim(Box<str>),
}

/// What a person answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No.
    No,
    /// Yes, this once.
    Once,
    /// Yes, this request until the session ends.
    Session,
    /// Yes, everything of this tool until the session ends.
    Tool,
    /// Yes, this request from now on.
    Always,
}
