//! The interface of wire formats.

use std::fmt::Debug;
use std::time::Duration;

use prowess_agent::{Delta, ProviderData, Reply, Request, TokenUsage, ToolCall};
use prowess_http::{Header, HttpError, HttpErrorKind};
use prowess_traits::ModelErrorKind;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A wire format: writes requests and parses replies.
pub trait WireFormat: Send + Sync + Debug {
    /// Returns the path of a request, relative to the base URL.
    fn path(&self, model: &str, stream: bool) -> String;
    /// Returns the path of the list of models, relative to the base URL.
    fn models_path(&self) -> &'static str {
        "models"
    }
    /// Returns the headers in addition to the key.
    fn headers(&self) -> Vec<Header> {
        Vec::new()
    }
    /// Returns the header with the key.
    fn key_header(&self, key: &str) -> Header {
        Header::secret("authorization", format!("Bearer {key}"))
    }
    /// Returns the body of a request. Conversations with a common prefix give bodies with a common
    /// prefix.
    fn body(&self, model: &str, request: &Request, stream: bool) -> Value;
    /// Returns a reader for a streamed reply.
    fn reader(&self) -> Box<dyn ReplyReader>;
    /// Parses a complete reply.
    fn whole(&self, body: &[u8]) -> Result<Reply, ProviderError>;
    /// Interprets an error response.
    fn fault(&self, status: u16, body: &[u8]) -> ProviderError;
}

/// Assembles a reply from events.
pub trait ReplyReader: Send {
    /// Processes an event. Returns `true` if it was the last.
    fn event(&mut self, data: &str, out: &mut dyn FnMut(Delta)) -> Result<bool, ProviderError>;
    /// Returns the reply, or an error if it is incomplete.
    fn finish(self: Box<Self>) -> Result<Reply, ProviderError>;
}

/// The failure of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// The kind of error.
    pub kind: ModelErrorKind,
    /// The message.
    pub message: String,
    /// The delay requested by the provider.
    pub after: Option<Duration>,
}

/// The maximum number of characters in a message.
const MAX_MESSAGE: usize = 600;

impl ProviderError {
    /// Creates an error with a bounded message on one line.
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

    /// Creates an error for a reply that does not follow the wire format.
    pub fn bad_reply(message: impl AsRef<str>) -> Self {
        Self::new(ModelErrorKind::BadReply, message)
    }

    /// Creates an error for a stream that ended too early.
    pub fn cut() -> Self {
        Self::bad_reply("the reply is incomplete")
    }
}

impl From<HttpError> for ProviderError {
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

/// Parses JSON.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ProviderError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ProviderError::bad_reply(format!("invalid reply: {error}")))
}

/// Returns the kind of error for a status, if the provider does not say more.
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

/// Messages of providers about a conversation that is too long, in lower case.
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

/// Returns `true` if a message says that the conversation is too long.
pub(crate) fn is_too_long(text: &str) -> bool {
    let text = text.to_lowercase();
    TOO_LONG.iter().any(|words| text.contains(words))
}

/// Creates an error from a status and the provider's code and message.
pub(crate) fn fault_of(status: u16, code: &str, message: &str) -> ProviderError {
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
    ProviderError::new(kind, message)
}

/// Returns the code and the message of an error in the form `{"error": {"message", "type",
/// "code"}}` or a simpler one.
pub(crate) fn words_of(body: &[u8]) -> (String, String) {
    let text = || {
        String::from_utf8_lossy(body)
            .chars()
            .take(300)
            .collect::<String>()
    };
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        // Do not quote the HTML page of a proxy.
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

/// Creates a call from the input as written by the model.
pub(crate) fn call(
    id: &str,
    name: &str,
    arguments: &str,
    opaque: Option<ProviderData>,
) -> ToolCall {
    let mut call = ToolCall::new(id, name, Value::Object(Map::new()));
    call.opaque = opaque;
    if arguments.trim().is_empty() {
        return call;
    }
    match serde_json::from_str::<Value>(arguments) {
        Ok(input @ Value::Object(_)) => call.input = input,
        Ok(other) => {
            call.fault = Some("the input is not a JSON object".into());
            call.input = other;
        }
        Err(error) => {
            call.fault = Some(format!("the input is not valid JSON: {error}").into());
            call.input = Value::String(arguments.to_owned());
        }
    }
    call
}

/// Returns the input of a call as an object, since providers accept nothing else.
pub(crate) fn object_of(call: &ToolCall) -> Value {
    match &call.input {
        Value::Object(_) if call.fault.is_none() => call.input.clone(),
        _ => Value::Object(Map::new()),
    }
}

/// Returns data that belongs to this provider.
pub(crate) fn own<'a>(opaque: Option<&'a ProviderData>, provider: &str) -> Option<&'a Value> {
    opaque
        .filter(|opaque| &*opaque.provider == provider)
        .map(|opaque| &opaque.value)
}

/// Returns the usage for a provider that counts cached tokens as input.
pub(crate) fn usage(prompt: u64, cached: u64, output: u64) -> TokenUsage {
    TokenUsage {
        input: prompt.saturating_sub(cached),
        output,
        cache_read: cached,
        ..TokenUsage::default()
    }
}

/// Returns the text of a tool result for formats without an error flag or images.
pub(crate) fn noted(result: &prowess_agent::ToolResult, images: bool) -> String {
    let mut text = String::new();
    if result.is_error && !result.text.to_lowercase().starts_with("error") {
        text.push_str("error: ");
    }
    text.push_str(&result.text);
    if !images && !result.images.is_empty() {
        let count = result.images.len();
        let what = if count == 1 {
            "1 image".to_owned()
        } else {
            format!("{count} images")
        };
        text.push_str(&format!(
            "\n[{what} omitted: this provider does not accept images from tools]"
        ));
    }
    text
}

/// Returns the version in the name of a model: `claude-opus-4-6` gives 4 and 6.
pub(crate) fn version(model: &str) -> (u32, u32) {
    let mut numbers = model
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty() && digits.len() < 3)
        .filter_map(|digits| digits.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
