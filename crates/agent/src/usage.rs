//! Usage of a conversation, and limits on it.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens, and the cost if the price is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Input tokens, without cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Millionths of a dollar; `None` if the price is unknown.
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

impl TokenUsage {
    /// Returns the sum of all tokens.
    pub fn tokens(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Returns all input tokens, cached or not.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }
}

impl AddAssign for TokenUsage {
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

/// The limits of a run. `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBudget {
    /// Replies by the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Input and output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// Milliseconds of work, without the time between runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
}

impl RunBudget {
    /// Creates a budget of `turns` replies.
    pub fn turns(turns: u32) -> Self {
        Self {
            turns: Some(turns),
            ..Self::default()
        }
    }

    /// Returns the first limit that has been reached.
    pub fn reached(&self, spent: &Spent) -> Option<RunLimit> {
        if self.turns.is_some_and(|limit| spent.turns >= limit) {
            return Some(RunLimit::Turns);
        }
        if self
            .tokens
            .is_some_and(|limit| spent.usage.tokens() >= limit)
        {
            return Some(RunLimit::Tokens);
        }
        if self
            .micros
            .is_some_and(|limit| spent.usage.micros.unwrap_or(0) >= limit)
        {
            return Some(RunLimit::Money);
        }
        self.milliseconds
            .filter(|limit| spent.milliseconds >= *limit)
            .map(|_| RunLimit::Time)
    }
}

/// The usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Replies by the model.
    pub turns: u32,
    /// Tokens and cost, including sub-runs.
    pub usage: TokenUsage,
    /// Milliseconds of work.
    pub milliseconds: u64,
}

/// The limit that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunLimit {
    /// Replies by the model.
    Turns,
    /// Tokens.
    Tokens,
    /// Cost.
    Money,
    /// Time.
    Time,
    /// The model repeated the same call.
    Loop,
    /// Every submitted result was invalid.
    Submissions,
}

impl fmt::Display for RunLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turns => "the turn limit",
            Self::Tokens => "the token limit",
            Self::Money => "the cost limit",
            Self::Time => "the time limit",
            Self::Loop => "the limit for repeated calls",
            Self::Submissions => "the limit for invalid results",
        })
    }
}
