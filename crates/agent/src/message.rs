//! Messages and their parts.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tokens that providers count for an image of usual size.
pub(crate) const IMAGE_TOKENS: u64 = 1_500;
/// The estimated tokens around the name, input or text of a tool call.
const CALL_TOKENS: u64 = 10;

fn estimate(text: &str) -> u64 {
    prowess_spec::tokens::estimate(text) as u64
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The user, or tool results.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The author.
    pub role: MessageRole,
    /// The parts, in order.
    pub parts: Vec<MessagePart>,
}

impl Message {
    /// Creates a user message with one text part.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: MessageRole::User,
            parts: vec![MessagePart::text(text)],
        }
    }

    /// Creates an assistant message with one text part.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: MessageRole::Assistant,
            parts: vec![MessagePart::text(text)],
        }
    }

    /// Returns the tool calls in the message.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the tool results in the message.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Result(result) => Some(result),
            _ => None,
        })
    }

    /// Returns the text of the message, without hints, reasoning, tool calls and tool results.
    pub fn text(&self) -> String {
        text_of(&self.parts)
    }
}

/// Messages in order. Clones share one copy until one of them is changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages(Arc<Vec<Message>>);

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        Self(Arc::new(messages))
    }
}

impl Deref for Messages {
    type Target = Vec<Message>;

    fn deref(&self) -> &Vec<Message> {
        &self.0
    }
}

impl DerefMut for Messages {
    fn deref_mut(&mut self) -> &mut Vec<Message> {
        Arc::make_mut(&mut self.0)
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Returns the text of the parts, without reasoning, tool calls and tool results.
pub(crate) fn text_of(parts: &[MessagePart]) -> String {
    let mut all = String::new();
    for part in parts {
        if let MessagePart::Text { text, .. } = part {
            all.push_str(text);
        }
    }
    all
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum MessagePart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// The skill this text belongs to, if compaction must keep it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep: Option<Box<str>>,
    },
    /// A note next to a user message: skills that may fit it. Not written by the user.
    Hint {
        /// The text.
        text: String,
        /// The skills that the text describes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skills: Vec<Box<str>>,
    },
    /// An image.
    Image(Image),
    /// The model's reasoning. Some providers require it back unchanged.
    Reasoning {
        /// The readable part.
        text: String,
        /// The provider's own encoding. Sent back only to the same provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<ProviderData>,
    },
    /// A tool call by the model.
    Call(ToolCall),
    /// The result of a tool call.
    Result(ToolResult),
}

impl MessagePart {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            keep: None,
        }
    }

    /// Estimates the tokens of this part.
    pub(crate) fn tokens(&self) -> u64 {
        match self {
            Self::Text { text, .. } | Self::Hint { text, .. } => estimate(text),
            Self::Image(_) => IMAGE_TOKENS,
            Self::Reasoning { text, opaque } => opaque.as_ref().map_or_else(
                || estimate(text),
                |opaque| estimate(&opaque.value.to_string()),
            ),
            Self::Call(call) => {
                estimate(&call.name) + estimate(&call.input.to_string()) + CALL_TOKENS
            }
            Self::Result(result) => {
                estimate(&result.text) + result.images.len() as u64 * IMAGE_TOKENS + CALL_TOKENS
            }
        }
    }

    /// Returns the skill this part belongs to, if compaction must keep it.
    pub(crate) fn keep(&self) -> Option<&str> {
        match self {
            Self::Text { keep, .. } => keep.as_deref(),
            Self::Result(result) => result.keep.as_deref(),
            Self::Hint { .. } | Self::Image(_) | Self::Reasoning { .. } | Self::Call(_) => None,
        }
    }
}

/// Data in a provider's own format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderData {
    /// The wire format, such as `anthropic`.
    pub provider: Box<str>,
    /// The data.
    pub value: Value,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The media type, such as `image/png`.
    pub media_type: Box<str>,
    /// The bytes in Base64.
    pub data: Box<str>,
}

/// A tool call by the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id, unique in a session.
    pub id: Box<str>,
    /// The name of the tool.
    pub name: Box<str>,
    /// The input.
    pub input: Value,
    /// The reason why the input is unusable, if the model sent invalid JSON. Such a call is never
    /// executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Box<str>>,
    /// Data that the provider requires back with the call, such as a reasoning signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<ProviderData>,
}

impl ToolCall {
    /// Creates a call.
    pub fn new(id: impl Into<Box<str>>, name: impl Into<Box<str>>, input: Value) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input,
            fault: None,
            opaque: None,
        }
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call: Box<str>,
    /// The name of the tool.
    pub name: Box<str>,
    /// The text for the model.
    pub text: String,
    /// Images in addition to the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// `true` if the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The skill this text belongs to, if compaction must keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Box<str>>,
    /// How a command ended, if it did not succeed: its exit code, a signal or a timeout. The call itself
    /// succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_failure: Option<Box<str>>,
}

impl ToolResult {
    /// Creates the result of a call.
    pub fn of(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            call: call.id.clone(),
            name: call.name.clone(),
            text: text.into(),
            images: Vec::new(),
            is_error: false,
            keep: None,
            command_failure: None,
        }
    }

    /// Creates the result of a call that failed.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::of(call, text)
        }
    }
}
