//! How things end.

use prowess_agent::{Ending, Limit, Spent};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a session does not go on by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Pause {
    /// The model answered: it is the person's turn.
    Answered(String),
    /// It ended, or was ended.
    Ended(Ending),
}

/// How a sub-run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<T> {
    /// With a result that fits; without a schema, with the last text.
    Submitted(T),
    /// The model did not hand in a result.
    Declined {
        /// What it said instead.
        why: String,
    },
    /// A limit was reached.
    Exhausted {
        /// Which.
        limit: Limit,
    },
    /// Somebody stopped it.
    Cancelled,
    /// The model could not be asked.
    Failed {
        /// The kind of fault, such as `auth` or `transport`.
        kind: Box<str>,
        /// What happened.
        message: String,
    },
}

impl<T> Outcome<T> {
    /// The result, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Submitted(value) => Some(value),
            _ => None,
        }
    }

    /// The word used in output.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Submitted(_) => "submitted",
            Self::Declined { .. } => "declined",
            Self::Exhausted { .. } => "exhausted",
            Self::Cancelled => "cancelled",
            Self::Failed { .. } => "failed",
        }
    }

    /// The same with another result.
    pub fn map<U>(self, turn: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Submitted(value) => Outcome::Submitted(turn(value)),
            Self::Declined { why } => Outcome::Declined { why },
            Self::Exhausted { limit } => Outcome::Exhausted { limit },
            Self::Cancelled => Outcome::Cancelled,
            Self::Failed { kind, message } => Outcome::Failed { kind, message },
        }
    }
}

impl Outcome<Value> {
    /// Reads the result as a Rust type, once. A schema that let through what the type does not take
    /// is a fault of the caller.
    pub fn read<T: DeserializeOwned>(self) -> Result<Outcome<T>, serde_json::Error> {
        Ok(match self {
            Self::Submitted(value) => Outcome::Submitted(serde_json::from_value(value)?),
            Self::Declined { why } => Outcome::Declined { why },
            Self::Exhausted { limit } => Outcome::Exhausted { limit },
            Self::Cancelled => Outcome::Cancelled,
            Self::Failed { kind, message } => Outcome::Failed { kind, message },
        })
    }
}

/// A sub-run that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its session.
    pub session: Box<str>,
    /// How it ended.
    pub outcome: Outcome<Value>,
    /// What the model said last.
    pub text: String,
    /// What it used.
    pub spent: Spent,
}
