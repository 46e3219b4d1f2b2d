//! Asking a person.

use std::fmt::Debug;

use prowess_policy::{ApprovalAnswer, Decision, GateAction};

/// Asks a person.
pub trait Approver: Send + Sync + Debug {
    /// Asks, and waits for the answer. Nobody there means no.
    fn ask(&self, question: &Question<'_>) -> ApprovalAnswer;
}

/// What a person is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What would happen: the command, the file, the tool.
    pub what: &'a str,
    /// Why they are asked.
    pub decision: &'a Decision,
    /// The skill that wants it.
    pub skill: Option<&'a str>,
    /// The same as rules see it, where a rule could be about it.
    pub action: Option<&'a GateAction<'a>>,
}

/// Takes note of what was decided, for whoever asks why later.
pub trait Recorder: Send + Sync + Debug {
    /// Takes note of one decision.
    fn decided(&self, noted: &Noted<'_>);
}

/// A decision, and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Noted<'a> {
    /// What was wanted.
    pub what: &'a str,
    /// What the gate said.
    pub decision: &'a Decision,
    /// What a person answered, where somebody was asked.
    pub answer: Option<ApprovalAnswer>,
    /// The skill that wanted it.
    pub skill: Option<&'a str>,
}

/// Nobody is there: every question is answered with no.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask(&self, _question: &Question<'_>) -> ApprovalAnswer {
        ApprovalAnswer::No
    }
}
