//! A model that plays a script, for tests and demonstrations.

use std::sync::Mutex;

use prowess_agent::{Delta, MessagePart, Reply, Request, StopReason, TokenUsage, ToolCall};
use prowess_traits::{BoxFuture, Model, ModelError, ModelErrorKind, ModelInfo, OnDelta};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::price::DEFAULT_WINDOW;

/// The maximum size of a script in bytes.
pub const MAX_SCRIPT: usize = 16 * 1024 * 1024;

/// A model that returns the replies of a script in order.
///
/// A script has one JSON object per line; empty lines and lines that start with `#` are ignored:
///
/// ```json
/// {"text": "Reading.", "calls": [{"name": "read_file", "input": {"path": "a"}}], "expect": "read a"}
/// ```
#[derive(Debug)]
pub struct ScriptedModel {
    about: ModelInfo,
    lines: Vec<Line>,
    next: Mutex<usize>,
}

/// An invalid script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A line is not a valid reply.
    #[error("line {line}: {message}")]
    Line {
        /// The line number.
        line: usize,
        /// The reason.
        message: String,
    },
    /// There are no replies.
    #[error("the script is empty")]
    Empty,
    /// The script is too large.
    #[error("the script is larger than {MAX_SCRIPT} bytes")]
    TooLarge,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(skip)]
    number: usize,
    #[serde(default)]
    text: String,
    #[serde(default)]
    reasoning: String,
    #[serde(default)]
    calls: Vec<Call>,
    stop: Option<StopReason>,
    #[serde(default)]
    usage: Option<Counts>,
    #[serde(default)]
    expect: Expect,
    chunks: Option<usize>,
    error: Option<Failure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: Box<str>,
    #[serde(default = "empty")]
    input: Value,
    id: Option<Box<str>>,
    fault: Option<Box<str>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Counts {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    micros: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    kind: FailureKind,
    #[serde(default)]
    message: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FailureKind {
    Auth,
    RateLimit,
    ContextTooLong,
    Refused,
    BadRequest,
    Transport,
    Timeout,
    BadReply,
}

#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum Expect {
    One(String),
    All(Vec<String>),
    #[default]
    Nothing,
}

fn empty() -> Value {
    Value::Object(Map::new())
}

impl ScriptedModel {
    /// Parses a script. `name` is the name of the model in output.
    pub fn parse(name: &str, script: &str) -> Result<Self, ScriptError> {
        if script.len() > MAX_SCRIPT {
            return Err(ScriptError::TooLarge);
        }
        let mut lines = Vec::new();
        for (at, text) in script.lines().enumerate() {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let line: Line = serde_json::from_str(text).map_err(|error| ScriptError::Line {
                line: at + 1,
                message: error.to_string(),
            })?;
            lines.push(Line {
                number: at + 1,
                ..line
            });
        }
        if lines.is_empty() {
            return Err(ScriptError::Empty);
        }
        let about = ModelInfo {
            name: format!("scripted/{name}").into(),
            window: DEFAULT_WINDOW,
            price: None,
            note: Some("the replies come from a script; no model is used".into()),
        };
        Ok(Self {
            about,
            lines,
            next: Mutex::new(0),
        })
    }

    /// Returns the number of remaining replies.
    pub fn left(&self) -> usize {
        let next = self
            .next
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        self.lines.len() - *next
    }

    fn answer(&self, request: &Request, deltas: OnDelta<'_>) -> Result<Reply, ModelError> {
        let fault = |kind, message: String| ModelError {
            kind,
            model: self.about.name.clone(),
            message,
            attempts: 1,
        };
        let bad = |message| fault(ModelErrorKind::BadRequest, message);
        let at = {
            let mut next = self
                .next
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let at = *next;
            *next = (at + 1).min(self.lines.len());
            at
        };
        let line = self
            .lines
            .get(at)
            .ok_or_else(|| bad(format!("the script has only {} replies", self.lines.len())))?;
        let said = plain(request);
        let expected: &[String] = match &line.expect {
            Expect::Nothing => &[],
            Expect::One(text) => std::slice::from_ref(text),
            Expect::All(texts) => texts,
        };
        if let Some(missing) = expected.iter().find(|text| !said.contains(text.as_str())) {
            return Err(bad(format!(
                "line {} of the script expects `{missing}` in the request, but it is missing",
                line.number
            )));
        }
        if let Some(error) = &line.error {
            return Err(fault(error.kind.kind(), error.message.clone()));
        }
        Ok(line.reply(deltas))
    }
}

impl FailureKind {
    fn kind(self) -> ModelErrorKind {
        match self {
            Self::Auth => ModelErrorKind::Auth,
            Self::RateLimit => ModelErrorKind::RateLimit { after: None },
            Self::ContextTooLong => ModelErrorKind::ContextTooLong,
            Self::Refused => ModelErrorKind::Refused,
            Self::BadRequest => ModelErrorKind::BadRequest,
            Self::Transport => ModelErrorKind::Transport,
            Self::Timeout => ModelErrorKind::Timeout,
            Self::BadReply => ModelErrorKind::BadReply,
        }
    }
}

impl Line {
    fn reply(&self, deltas: OnDelta<'_>) -> Reply {
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            deltas(Delta::Reasoning(self.reasoning.clone()));
            parts.push(MessagePart::Reasoning {
                text: self.reasoning.clone(),
                opaque: None,
            });
        }
        if !self.text.is_empty() {
            for piece in pieces(&self.text, self.chunks.unwrap_or(1)) {
                deltas(Delta::Text(piece));
            }
            parts.push(MessagePart::text(self.text.clone()));
        }
        for (at, call) in self.calls.iter().enumerate() {
            deltas(Delta::Call {
                name: call.name.clone(),
            });
            let id = call.id.clone();
            let id = id.unwrap_or_else(|| format!("call-{}-{}", self.number, at + 1).into());
            let fault = call.fault.clone();
            let new = ToolCall::new(id, call.name.clone(), call.input.clone());
            parts.push(MessagePart::Call(ToolCall { fault, ..new }));
        }
        let usual = if self.calls.is_empty() {
            StopReason::End
        } else {
            StopReason::ToolUse
        };
        let usage = self
            .usage
            .as_ref()
            .map_or_else(TokenUsage::default, |counts| TokenUsage {
                input: counts.input,
                output: counts.output,
                cache_read: counts.cache_read,
                cache_write: counts.cache_write,
                micros: counts.micros,
            });
        let stop = self.stop.clone().unwrap_or(usual);
        Reply {
            parts,
            stop,
            usage,
            model: "scripted".into(),
        }
    }
}

impl Model for ScriptedModel {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move { self.answer(request, deltas) })
    }
}

/// Splits a text into `count` pieces of about the same length.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let count = count.clamp(1, characters.len().max(1));
    characters
        .chunks(characters.len().div_ceil(count))
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Returns the content of a request as plain text.
fn plain(request: &Request) -> String {
    let mut all = request.system.join("\n");
    for tool in &request.tools {
        all.push_str(&format!("\n{}: {}", tool.name, tool.description));
    }
    for part in request.messages.iter().flat_map(|message| &message.parts) {
        all.push('\n');
        match part {
            MessagePart::Text { text, .. }
            | MessagePart::Hint { text, .. }
            | MessagePart::Reasoning { text, .. } => {
                all.push_str(text);
            }
            MessagePart::Image(image) => all.push_str(&image.media_type),
            MessagePart::Call(call) => all.push_str(&format!("{} {}", call.name, call.input)),
            MessagePart::Result(result) => all.push_str(&result.text),
        }
    }
    all
}
