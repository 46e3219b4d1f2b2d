//! Requests to a model and its replies, independent of any wire format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{MessagePart, Messages, ToolCall};
use crate::usage::TokenUsage;

/// A request to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The blocks of the system prompt. They do not change within a session.
    pub system: Vec<String>,
    /// The available tools.
    pub tools: Vec<ToolDeclaration>,
    /// The conversation. It starts with a user message, and each tool result is in the message that
    /// follows its call.
    pub messages: Messages,
    /// The options.
    pub options: RequestOptions,
}

/// The declaration of a tool for a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// The name.
    pub name: Box<str>,
    /// The description.
    pub description: String,
    /// The JSON Schema of the input.
    pub schema: Value,
}

/// Options of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestOptions {
    /// The maximum number of output tokens; `None` for the provider's default.
    pub max_tokens: Option<u32>,
    /// The reasoning effort.
    pub effort: Option<Effort>,
    /// Controls tool calls.
    pub choice: ToolChoice,
    /// `true` to enable prompt caching.
    pub cache: bool,
}

/// Controls whether the model calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call tools.
    None,
    /// The model must call a tool.
    Required,
}

/// The reasoning effort of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Little reasoning.
    Low,
    /// The default.
    Medium,
    /// Much reasoning.
    High,
    /// More than `High`.
    Xhigh,
    /// The most that the model supports.
    Max,
}

impl Effort {
    /// All levels, lowest first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Returns the name used in frontmatter and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Parses the name used in frontmatter and on the command line.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|effort| effort.as_str() == word.trim())
    }
}

/// A complete reply of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text, reasoning and tool calls, in order.
    pub parts: Vec<MessagePart>,
    /// The reason why the model stopped.
    pub stop: StopReason,
    /// The usage.
    pub usage: TokenUsage,
    /// The model, as named by the provider; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

impl Reply {
    /// Creates a reply with one text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![MessagePart::text(text)],
            ..Self::default()
        }
    }

    /// Returns the tool calls in the reply.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// The reason why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The reply is complete.
    #[default]
    End,
    /// The model waits for tool results.
    ToolUse,
    /// The reply reached the maximum number of output tokens and is incomplete.
    MaxTokens,
    /// The model or its provider refused.
    Refused,
    /// Another reason, in the provider's words.
    Other(Box<str>),
}

/// A piece of a reply that is being received. For display only; the [`Reply`] is authoritative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// The start of a tool call.
    Call {
        /// The name of the tool.
        name: Box<str>,
    },
    /// Discard everything shown so far: the request is being retried.
    Restart,
}
