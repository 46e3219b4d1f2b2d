//! The interface of wire formats.

use std::fmt::Debug;

use prowess_agent::{Delta, ProviderData, Reply, Request, TokenUsage, ToolCall};
use prowess_http::Header;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::provider_error::ProviderError;

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

/// Parses JSON.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ProviderError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ProviderError::bad_reply(format!("invalid reply: {error}")))
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
