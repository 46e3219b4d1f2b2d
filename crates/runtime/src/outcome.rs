//! How things end.

use prowess_agent::{Ending, Spent};

/// Why a session does not go on by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Pause {
    /// The model answered: it is the person's turn.
    Answered(String),
    /// It ended, or was ended.
    Ended(Ending),
}

/// A sub-run that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its session.
    pub session: Box<str>,
    /// How it ended.
    pub ending: Ending,
    /// What the model said last.
    pub text: String,
    /// What it used.
    pub spent: Spent,
}
