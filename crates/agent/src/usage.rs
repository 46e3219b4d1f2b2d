//! What a conversation costs, and what it may cost.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens, and money where prices are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that were read, without those from the cache.
    pub input: u64,
    /// Tokens that were written, reasoning included.
    pub output: u64,
    /// Tokens that came from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Tokens that went into the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Millionths of a dollar; nothing where the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde wants"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// All tokens that were read, from wherever they came.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.micros = match (self.micros, other.micros) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
    }
}

/// What a run may use. Nothing means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Answers of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tokens, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// Milliseconds from the first event, without the time between runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
}

impl Budget {
    /// So many answers of the model.
    pub fn turns(turns: u32) -> Self {
        Self {
            turns: Some(turns),
            ..Self::default()
        }
    }

    /// What is used up, if anything is.
    pub fn reached(&self, spent: &Spent) -> Option<Limit> {
        if self.turns.is_some_and(|limit| spent.turns >= limit) {
            return Some(Limit::Turns);
        }
        if self
            .tokens
            .is_some_and(|limit| spent.usage.tokens() >= limit)
        {
            return Some(Limit::Tokens);
        }
        if self
            .micros
            .is_some_and(|limit| spent.usage.micros.unwrap_or(0) >= limit)
        {
            return Some(Limit::Money);
        }
        self.milliseconds
            .filter(|limit| spent.milliseconds >= *limit)
            .map(|_| Limit::Time)
    }
}

/// What a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Answers of the model.
    pub turns: u32,
    /// Tokens and money, with those of sub-runs.
    pub usage: Usage,
    /// Milliseconds of work.
    pub milliseconds: u64,
}

/// Which limit ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Answers of the model.
    Turns,
    /// Tokens.
    Tokens,
    /// Money.
    Money,
    /// Time.
    Time,
    /// The model did the same again and again.
    Loop,
    /// What was handed in never fitted.
    Submissions,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turns => "the limit of turns",
            Self::Tokens => "the limit of tokens",
            Self::Money => "the limit of money",
            Self::Time => "the limit of time",
            Self::Loop => "the same call again and again",
            Self::Submissions => "the limit of submissions that do not fit",
        })
    }
}
