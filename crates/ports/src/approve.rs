//! Asking a person.

use std::fmt::Debug;

use prowess_policy::{Answer, Decision};

/// Asks a person.
pub trait Approver: Send + Sync + Debug {
    /// Asks, and waits for the answer. Nobody there means no.
    fn ask(&self, question: &Question<'_>) -> Answer;
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
}

/// Nobody is there: every question is answered with no.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask(&self, _question: &Question<'_>) -> Answer {
        Answer::No
    }
}
