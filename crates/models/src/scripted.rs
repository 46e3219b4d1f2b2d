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
///
/// A line with `when` is a reply to requests that contain all of these texts and none of `unless`.
/// Such lines are tried first, in order; with `repeat`, a line can be used any number of times. They
/// make the replies of conversations that run side by side independent of their order.
#[derive(Debug)]
pub struct ScriptedModel {
    about: ModelInfo,
    lines: Vec<Line>,
    /// The lines that were used.
    used: Mutex<Vec<bool>>,
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
    /// The texts of the requests that this line answers.
    #[serde(default)]
    when: Expect,
    /// Texts that such a request does not contain.
    #[serde(default)]
    unless: Expect,
    /// `true` if the line can be used more than once.
    #[serde(default)]
    repeat: bool,
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

impl Expect {
    fn texts(&self) -> &[String] {
        match self {
            Self::Nothing => &[],
            Self::One(text) => std::slice::from_ref(text),
            Self::All(texts) => texts,
        }
    }
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
        let used = Mutex::new(vec![false; lines.len()]);
        Ok(Self { about, lines, used })
    }

    /// Returns the number of lines that were not used.
    pub fn left(&self) -> usize {
        let used = self.used();
        used.iter().filter(|used| !**used).count()
    }

    fn used(&self) -> std::sync::MutexGuard<'_, Vec<bool>> {
        let used = self.used.lock();
        used.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes the line that answers a request: the first unused one whose `when` fits, else the first
    /// unused one without `when`.
    fn take(&self, said: &str) -> Option<&Line> {
        let mut used = self.used();
        let is_left = |at: usize, line: &Line| line.repeat || !used[at];
        let fits = |line: &Line| {
            let when = line.when.texts();
            let mut unless = line.unless.texts().iter();
            !when.is_empty()
                && when.iter().all(|text| said.contains(text.as_str()))
                && !unless.any(|text| said.contains(text.as_str()))
        };
        let mut lines = self.lines.iter().enumerate();
        let chosen = lines.find(|(at, line)| is_left(*at, line) && fits(line));
        let mut lines = self.lines.iter().enumerate();
        let (at, line) = chosen
            .or_else(|| lines.find(|(at, line)| !used[*at] && line.when.texts().is_empty()))?;
        used[at] = true;
        Some(line)
    }

    fn answer(&self, request: &Request, deltas: OnDelta<'_>) -> Result<Reply, ModelError> {
        let fault = |kind, message: String| ModelError {
            kind,
            model: self.about.name.clone(),
            message,
            attempts: 1,
        };
        let bad = |message| fault(ModelErrorKind::BadRequest, message);
        let said = plain(request);
        let line = self.take(&said);
        let line = line.ok_or_else(|| bad(self.nothing_left()))?;
        let expected = line.expect.texts();
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

impl ScriptedModel {
    fn nothing_left(&self) -> String {
        let conditional = self.lines.iter().any(|line| !line.when.texts().is_empty());
        if conditional {
            return "the script has no reply for this request".to_owned();
        }
        format!("the script has only {} replies", self.lines.len())
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
