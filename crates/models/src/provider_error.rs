//! Errors of providers: their kinds by status and message, such as a conversation that is too long.

use std::time::Duration;

use prowess_http::{HttpError, HttpErrorKind};
use prowess_traits::ModelErrorKind;
use serde_json::Value;

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
