//! What a conversation is made of.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// From the outside: a person, or the answers of tools.
    User,
    /// From the model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Whose it is.
    pub role: Role,
    /// What is in it, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A text from the outside.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            parts: vec![Part::text(text)],
        }
    }

    /// A text from the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            parts: vec![Part::text(text)],
        }
    }

    /// The tools that it calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The answers of tools in it.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            _ => None,
        })
    }

    /// All its text, without reasoning, calls and answers of tools.
    pub fn text(&self) -> String {
        text_of(&self.parts)
    }
}

/// Messages in order. Clones share them: whoever changes them while somebody else has them, too,
/// gets a copy first.
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

/// All text among parts, without reasoning, calls and answers of tools.
pub(crate) fn text_of(parts: &[Part]) -> String {
    let mut all = String::new();
    for part in parts {
        if let Part::Text { text, .. } = part {
            all.push_str(text);
        }
    }
    all
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What must survive when the conversation is shortened: the name of a skill.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep: Option<Box<str>>,
    },
    /// A picture.
    Image(Image),
    /// What the model thought. Some providers want it back unchanged.
    Reasoning {
        /// What may be shown of it.
        text: String,
        /// The provider's own form, to be sent back to the same provider and to nobody else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A tool that the model calls.
    Call(ToolCall),
    /// What a tool answered.
    Result(ToolResult),
}

impl Part {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            keep: None,
        }
    }

    /// How many bytes a provider roughly gets.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Text { text, .. } => text.len(),
            // What providers count for a picture of usual size.
            Self::Image(_) => 6_000,
            Self::Reasoning { text, opaque } => opaque
                .as_ref()
                .map_or(text.len(), |opaque| opaque.value.to_string().len()),
            Self::Call(call) => call.name.len() + call.input.to_string().len() + 40,
            Self::Result(result) => result.text.len() + result.images.len() * 6_000 + 40,
        }
    }

    /// What must survive when the conversation is shortened.
    pub(crate) fn keep(&self) -> Option<&str> {
        match self {
            Self::Text { keep, .. } => keep.as_deref(),
            Self::Result(result) => result.keep.as_deref(),
            Self::Image(_) | Self::Reasoning { .. } | Self::Call(_) => None,
        }
    }
}

/// A provider's own form of something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The wire format that it belongs to, such as `anthropic`.
    pub provider: Box<str>,
    /// Its form.
    pub value: Value,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: Box<str>,
    /// Its bytes, in base 64.
    pub data: Box<str>,
}

/// A tool that the model calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id; one of its own in a session.
    pub id: Box<str>,
    /// The name of the tool.
    pub name: Box<str>,
    /// Its input.
    pub input: Value,
    /// Why the input cannot be used, where the model wrote no JSON. Such a call is never executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Box<str>>,
    /// What the provider wants back with the call, such as a signature of its reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

impl ToolCall {
    /// A call.
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

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it answers.
    pub call: Box<str>,
    /// The name of the tool.
    pub name: Box<str>,
    /// What the model reads.
    pub text: String,
    /// Pictures beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Whether it went wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// What must survive when the conversation is shortened: the name of a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Box<str>>,
}

impl ToolResult {
    /// An answer to a call.
    pub fn of(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            call: call.id.clone(),
            name: call.name.clone(),
            text: text.into(),
            images: Vec::new(),
            is_error: false,
            keep: None,
        }
    }

    /// An answer that says what went wrong.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::of(call, text)
        }
    }
}
