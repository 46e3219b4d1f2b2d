//! What every wire format has to say.

use std::fmt::Debug;
use std::time::Duration;

use prowess_agent::{Delta, Opaque, Reply, Request, ToolCall, Usage};
use prowess_http::{Header, HttpError, HttpErrorKind};
use prowess_traits::ModelErrorKind;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A wire format: how a request is written and an answer is read.
pub trait Wire: Send + Sync + Debug {
    /// Where a question goes, below the base address.
    fn path(&self, model: &str, stream: bool) -> String;
    /// Where the provider lists its models, below the base address.
    fn models_path(&self) -> &'static str {
        "models"
    }
    /// Headers beside the key.
    fn headers(&self) -> Vec<Header> {
        Vec::new()
    }
    /// The header that carries the key.
    fn key_header(&self, key: &str) -> Header {
        Header::secret("authorization", format!("Bearer {key}"))
    }
    /// A question. The same beginning of a conversation gives the same bytes.
    fn body(&self, model: &str, request: &Request, stream: bool) -> Value;
    /// What reads an answer that comes in events.
    fn reader(&self) -> Box<dyn Reader>;
    /// Reads an answer that came whole.
    fn whole(&self, body: &[u8]) -> Result<Reply, Fault>;
    /// Reads an answer that is an error.
    fn fault(&self, status: u16, body: &[u8]) -> Fault;
}

/// Puts an answer together from events.
pub trait Reader: Send {
    /// Takes an event, and says whether it was the last.
    fn event(&mut self, data: &str, out: &mut dyn FnMut(Delta)) -> Result<bool, Fault>;
    /// The answer. An error where it is not whole.
    fn finish(self: Box<Self>) -> Result<Reply, Fault>;
}

/// What went wrong with one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of error it is.
    pub kind: ModelErrorKind,
    /// What happened.
    pub message: String,
    /// How long the provider says to wait.
    pub after: Option<Duration>,
}

/// Most characters of a message.
const MAX_MESSAGE: usize = 600;

impl Fault {
    /// A fault with a bounded message on one line.
    pub fn new(kind: ModelErrorKind, message: impl AsRef<str>) -> Self {
        let plain = message.as_ref().trim().chars().take(MAX_MESSAGE);
        let message = plain
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        Self {
            kind,
            message,
            after: None,
        }
    }

    /// The answer was not what the wire format says.
    pub fn bad_reply(message: impl AsRef<str>) -> Self {
        Self::new(ModelErrorKind::BadReply, message)
    }

    /// The stream ended before its end.
    pub fn cut() -> Self {
        Self::bad_reply("the answer ended in the middle")
    }
}

impl From<HttpError> for Fault {
    fn from(error: HttpError) -> Self {
        let kind = match error.kind {
            HttpErrorKind::Timeout => ModelErrorKind::Timeout,
            HttpErrorKind::TooLarge | HttpErrorKind::Compressed => ModelErrorKind::BadReply,
            HttpErrorKind::Setup => ModelErrorKind::BadRequest,
            _ => ModelErrorKind::Transport,
        };
        Self::new(kind, error.message)
    }
}

/// Reads JSON into what is expected of it.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes)
        .map_err(|error| Fault::bad_reply(format!("the answer cannot be read: {error}")))
}

/// What a status means, where the provider does not say more.
pub(crate) fn kind_of_status(status: u16) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Auth,
        408 => ModelErrorKind::Timeout,
        413 => ModelErrorKind::ContextTooLong,
        429 => ModelErrorKind::RateLimit { after: None },
        409 | 425 | 500 | 502..=504 | 506..=u16::MAX => ModelErrorKind::Transport,
        _ => ModelErrorKind::BadRequest,
    }
}

/// How providers say that a conversation is too long, in lower case.
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "exceed context limit",
    "context_length_exceeded",
    "maximum context length",
    "exceeds the context window",
    "exceed_context_size",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "input length exceeds",
    "please reduce the length",
    "request_too_large",
    "prompt too long",
    "longer than the context",
];

/// Whether a message says that the conversation is too long.
pub(crate) fn is_too_long(text: &str) -> bool {
    let text = text.to_lowercase();
    TOO_LONG.iter().any(|words| text.contains(words))
}

/// A fault from a status and the words of a provider.
pub(crate) fn fault_of(status: u16, code: &str, message: &str) -> Fault {
    let by_status = kind_of_status(status);
    let is_question = !matches!(
        by_status,
        ModelErrorKind::Auth | ModelErrorKind::RateLimit { .. }
    );
    let kind = if is_question && (is_too_long(message) || is_too_long(code)) {
        ModelErrorKind::ContextTooLong
    } else {
        by_status
    };
    let message = match (message.trim(), code) {
        ("", "") => format!("status {status}"),
        ("", code) => format!("{code} (status {status})"),
        (message, _) => format!("{message} (status {status})"),
    };
    Fault::new(kind, message)
}

/// The words of an error in the form `{"error": {"message", "type", "code"}}`, or in a simpler one.
pub(crate) fn words_of(body: &[u8]) -> (String, String) {
    let text = || {
        String::from_utf8_lossy(body)
            .chars()
            .take(300)
            .collect::<String>()
    };
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        // A page of some server in between says nothing to a person.
        let text = text();
        let is_page = text.trim_start().starts_with('<');
        return (String::new(), if is_page { String::new() } else { text });
    };
    // Gemini wraps an error in a list when it streams.
    let value = value.get(0).unwrap_or(&value);
    let error = value.get("error").unwrap_or(value);
    let word = |key: &str| {
        error
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let message = match error {
        Value::String(text) => text.clone(),
        _ => [word("message"), word("detail")]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_else(text),
    };
    let codes = [word("code"), word("status"), word("type")];
    (
        codes
            .into_iter()
            .find(|code| !code.is_empty())
            .unwrap_or_default(),
        message,
    )
}

/// A call, from what the model wrote as its input.
pub(crate) fn call(id: &str, name: &str, arguments: &str, opaque: Option<Opaque>) -> ToolCall {
    let mut call = ToolCall::new(id, name, Value::Object(Map::new()));
    call.opaque = opaque;
    if arguments.trim().is_empty() {
        return call;
    }
    match serde_json::from_str::<Value>(arguments) {
        Ok(input @ Value::Object(_)) => call.input = input,
        Ok(other) => {
            call.fault = Some("the input is no JSON object".into());
            call.input = other;
        }
        Err(error) => {
            call.fault = Some(format!("the input is no JSON: {error}").into());
            call.input = Value::String(arguments.to_owned());
        }
    }
    call
}

/// The input of a call as an object, which is all that providers take back.
pub(crate) fn object_of(call: &ToolCall) -> Value {
    match &call.input {
        Value::Object(_) if call.fault.is_none() => call.input.clone(),
        _ => Value::Object(Map::new()),
    }
}

/// What a provider may get back of its own.
pub(crate) fn own<'a>(opaque: Option<&'a Opaque>, provider: &str) -> Option<&'a Value> {
    opaque
        .filter(|opaque| &*opaque.provider == provider)
        .map(|opaque| &opaque.value)
}

/// Usage where the provider counts cached tokens among those that were read.
pub(crate) fn usage(prompt: u64, cached: u64, output: u64) -> Usage {
    Usage {
        input: prompt.saturating_sub(cached),
        output,
        cache_read: cached,
        ..Usage::default()
    }
}

/// The text of a tool's answer for formats that cannot say that it went wrong, or carry pictures.
pub(crate) fn noted(result: &prowess_agent::ToolResult, pictures: bool) -> String {
    let mut text = String::new();
    if result.is_error && !result.text.to_lowercase().starts_with("error") {
        text.push_str("error: ");
    }
    text.push_str(&result.text);
    if !pictures && !result.images.is_empty() {
        let count = result.images.len();
        let what = if count == 1 {
            "1 picture".to_owned()
        } else {
            format!("{count} pictures")
        };
        text.push_str(&format!(
            "\n[{what} left out: this provider takes none from tools]"
        ));
    }
    text
}

/// The numbers of a version in the name of a model: `claude-opus-4-6` gives 4 and 6.
pub(crate) fn version(model: &str) -> (u32, u32) {
    let mut numbers = model
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty() && digits.len() < 3)
        .filter_map(|digits| digits.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
