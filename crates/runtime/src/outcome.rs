//! The results of sessions and sub-runs.

use prowess_agent::{Ending, Spent};

/// The reason why a session has paused.
#[derive(Clone, Debug, PartialEq)]
pub enum Pause {
    /// The model answered; it is the user's turn.
    Answered(String),
    /// The session has ended.
    Ended(Ending),
}

/// A sub-run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    /// The id of its session.
    pub session: Box<str>,
    /// Its ending.
    pub ending: Ending,
    /// The last text of the model.
    pub text: String,
    /// The resources it used.
    pub spent: Spent,
}
