//! What a model is asked, and what it answers, in nobody's wire format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Messages, Part, ToolCall};
use crate::usage::Usage;

/// Everything that a model is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The system prompt, in blocks. It does not change within a session.
    pub system: Vec<String>,
    /// The tools that it may call.
    pub tools: Vec<ToolDeclaration>,
    /// The conversation. It begins with a message from the outside, and every answer of a tool
    /// stands in the message behind its call.
    pub messages: Messages,
    /// What can be chosen.
    pub options: Options,
}

/// A tool, as a provider is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// Its name.
    pub name: Box<str>,
    /// What it is for.
    pub description: String,
    /// What it takes, as JSON Schema.
    pub schema: Value,
}

/// What can be chosen for one question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Most tokens of the answer; nothing for the provider's own limit.
    pub max_tokens: Option<u32>,
    /// How hard the model thinks.
    pub effort: Option<Effort>,
    /// Whether it must, may or must not call tools.
    pub choice: ToolChoice,
    /// Whether the provider is asked to remember the beginning of the conversation.
    pub cache: bool,
}

/// Whether a model may call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one.
    Required,
}

/// How hard a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// A little.
    Low,
    /// As usual.
    Medium,
    /// A lot.
    High,
    /// More still.
    Xhigh,
    /// As hard as it can.
    Max,
}

impl Effort {
    /// Every step, the least first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// The word used in frontmatter and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Reads the word used in frontmatter and on the command line.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|effort| effort.as_str() == word.trim())
    }
}

/// What a model answered, whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What it said, thought and called, in order.
    pub parts: Vec<Part>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it cost.
    pub usage: Usage,
    /// The model that answered, as the provider names it; empty where it does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

impl Reply {
    /// A text and nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::text(text)],
            ..Self::default()
        }
    }

    /// The tools that it calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It was done.
    #[default]
    End,
    /// It waits for the answers of tools.
    ToolUse,
    /// It reached the most tokens of an answer: what it said is not whole.
    MaxTokens,
    /// It, or its provider, refused.
    Refused,
    /// The provider's own word.
    Other(Box<str>),
}

/// A piece of an answer that is on its way. For showing only: what counts is the [`Reply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Text.
    Text(String),
    /// What it thinks.
    Reasoning(String),
    /// It begins to call a tool.
    Call {
        /// The name of the tool.
        name: Box<str>,
    },
    /// What was shown so far does not count: the question is asked again.
    Restart,
}
