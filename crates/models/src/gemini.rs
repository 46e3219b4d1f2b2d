//! Gemini's format: `generateContent` and `streamGenerateContent`.

use prowess_agent::{
    Delta, Effort, Image, Message, MessagePart, MessageRole, ProviderData, Reply, Request,
    StopReason, TokenUsage, ToolChoice,
};
use prowess_http::Header;
use prowess_traits::ModelErrorKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::provider_error::{self, ProviderError};
use crate::retry::retry_after;
use crate::wire::{self, ReplyReader, WireFormat};

/// The name of this format in [`ProviderData`].
const PROVIDER: &str = "gemini";

/// Gemini's format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gemini;

impl WireFormat for Gemini {
    fn path(&self, model: &str, stream: bool) -> String {
        if stream {
            format!("v1beta/models/{model}:streamGenerateContent?alt=sse")
        } else {
            format!("v1beta/models/{model}:generateContent")
        }
    }

    fn models_path(&self) -> &'static str {
        "v1beta/models?pageSize=1000"
    }

    fn headers(&self) -> Vec<Header> {
        Vec::new()
    }

    fn key_header(&self, key: &str) -> Header {
        Header::secret("x-goog-api-key", key)
    }

    fn body(&self, model: &str, request: &Request, _stream: bool) -> Value {
        let options = &request.options;
        let mut body = Map::new();
        if !request.system.is_empty() {
            let parts: Value = request
                .system
                .iter()
                .map(|text| json!({"text": text}))
                .collect();
            body.insert("systemInstruction".into(), json!({"parts": parts}));
        }
        if !request.tools.is_empty() {
            let tools: Value = request
                .tools
                .iter()
                .map(|tool| {
                    json!({
                        "name": tool.name,
                        "description": tool.description,
                        "parametersJsonSchema": tool.schema,
                    })
                })
                .collect();
            body.insert("tools".into(), json!([{"functionDeclarations": tools}]));
            let mode = match options.choice {
                ToolChoice::Auto => None,
                ToolChoice::None => Some("NONE"),
                ToolChoice::Required => Some("ANY"),
            };
            if let Some(mode) = mode {
                let config = json!({"functionCallingConfig": {"mode": mode}});
                body.insert("toolConfig".into(), config);
            }
        }
        let contents: Value = request.messages.iter().filter_map(message).collect();
        body.insert("contents".into(), contents);
        let mut config = Map::new();
        if let Some(most) = options.max_tokens {
            config.insert("maxOutputTokens".into(), most.into());
        }
        if let Some(thinking) = options.effort.and_then(|effort| thinking(model, effort)) {
            config.insert("thinkingConfig".into(), thinking);
        }
        if !config.is_empty() {
            body.insert("generationConfig".into(), config.into());
        }
        body.into()
    }

    fn reader(&self) -> Box<dyn ReplyReader> {
        Box::<Stream>::default()
    }

    fn whole(&self, body: &[u8]) -> Result<Reply, ProviderError> {
        let mut stream = Stream::default();
        stream.take(wire::read(body)?, &mut |_| {})?;
        Box::new(stream).finish()
    }

    fn fault(&self, status: u16, body: &[u8]) -> ProviderError {
        let (code, message) = provider_error::words_of(body);
        let mut fault = provider_error::fault_of(status, &code, &message);
        if message.contains("API key not valid") || message.contains("API key expired") {
            fault.kind = ModelErrorKind::Auth;
        }
        fault.after = delay(body);
        fault
    }
}

/// Returns the requested delay, which this provider sends in the body: `"retryDelay": "30s"`.
fn delay(body: &[u8]) -> Option<std::time::Duration> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let value = value.get(0).unwrap_or(&value);
    let details = value.get("error")?.get("details")?.as_array()?;
    let text = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    retry_after(text.strip_suffix('s')?, std::time::SystemTime::UNIX_EPOCH)
}

/// Returns the reasoning effort: a level for newer models, a number of tokens for older ones.
fn thinking(model: &str, effort: Effort) -> Option<Value> {
    let version = wire::version(model);
    if version >= (3, 0) {
        let level = match effort {
            Effort::Low => "low",
            // This model supports two levels only.
            Effort::Medium if model.starts_with("gemini-3-pro") => "high",
            Effort::Medium => "medium",
            Effort::High | Effort::Xhigh | Effort::Max => "high",
        };
        return Some(json!({"thinkingLevel": level, "includeThoughts": true}));
    }
    let tokens = match effort {
        Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::Xhigh | Effort::Max => 24_576,
    };
    (version >= (2, 5)).then(|| json!({"thinkingBudget": tokens, "includeThoughts": true}))
}

fn message(message: &Message) -> Option<Value> {
    let role = match message.role {
        MessageRole::User => "user",
        MessageRole::Assistant => "model",
    };
    let mut parts: Vec<Value> = Vec::new();
    for one in &message.parts {
        parts.extend(part(one));
        if let MessagePart::Result(result) = one {
            parts.extend(result.images.iter().map(image));
        }
    }
    (!parts.is_empty()).then(|| json!({"role": role, "parts": parts}))
}

fn part(part: &MessagePart) -> Option<Value> {
    Some(match part {
        MessagePart::Text { text, .. } if text.is_empty() => return None,
        MessagePart::Text { text, .. } | MessagePart::Hint { text, .. } => json!({"text": text}),
        MessagePart::Image(picture) => image(picture),
        MessagePart::Reasoning { opaque, .. } => {
            let signature = wire::own(opaque.as_ref(), PROVIDER)?.get("thoughtSignature")?;
            json!({"text": "", "thoughtSignature": signature})
        }
        MessagePart::Call(call) => {
            let mut function = json!({"name": call.name, "args": wire::object_of(call)});
            if !call.id.is_empty() {
                function["id"] = (*call.id).into();
            }
            let mut value = json!({"functionCall": function});
            let own = wire::own(call.opaque.as_ref(), PROVIDER);
            if let Some(signature) = own.and_then(|own| own.get("thoughtSignature")) {
                value["thoughtSignature"] = signature.clone();
            }
            value
        }
        MessagePart::Result(result) => {
            let key = if result.is_error { "error" } else { "result" };
            let mut response = json!({"name": result.name, "response": {key: result.text}});
            if !result.call.is_empty() {
                response["id"] = (*result.call).into();
            }
            json!({"functionResponse": response})
        }
    })
}

fn image(image: &Image) -> Value {
    json!({"inlineData": {"mimeType": image.media_type, "data": image.data}})
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    candidates: Vec<Candidate>,
    usage_metadata: Option<Counts>,
    model_version: Option<String>,
    prompt_feedback: Option<Feedback>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Piece>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
struct Counts {
    #[serde(rename = "promptTokenCount")]
    prompt: Option<u64>,
    #[serde(rename = "cachedContentTokenCount")]
    cached: Option<u64>,
    #[serde(rename = "candidatesTokenCount")]
    candidates: Option<u64>,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Default)]
struct Stream {
    parts: Vec<MessagePart>,
    stop: Option<StopReason>,
    usage: TokenUsage,
    model: String,
}

impl ReplyReader for Stream {
    fn event(&mut self, data: &str, out: &mut dyn FnMut(Delta)) -> Result<bool, ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        self.take(wire::read(data.as_bytes())?, out)?;
        // There is no final event: the stream ends after the finish reason.
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Reply, ProviderError> {
        let stop = self.stop.ok_or_else(ProviderError::cut)?;
        Ok(Reply {
            parts: self.parts,
            stop,
            usage: self.usage,
            model: self.model,
        })
    }
}

impl Stream {
    fn take(&mut self, answer: Answer, out: &mut dyn FnMut(Delta)) -> Result<(), ProviderError> {
        if let Some(error) = answer.error {
            let status = error.get("code").and_then(Value::as_u64).unwrap_or(500);
            let body = json!({"error": error}).to_string();
            return Err(Gemini.fault(u16::try_from(status).unwrap_or(500), body.as_bytes()));
        }
        if let Some(model) = answer.model_version {
            self.model = model;
        }
        if let Some(counts) = answer.usage_metadata {
            let output = counts
                .candidates
                .unwrap_or(0)
                .saturating_add(counts.thoughts.unwrap_or(0));
            let (prompt, cached) = (counts.prompt.unwrap_or(0), counts.cached.unwrap_or(0));
            self.usage = wire::usage(prompt, cached, output);
        }
        if answer
            .prompt_feedback
            .is_some_and(|feedback| feedback.block_reason.is_some())
        {
            self.stop = Some(StopReason::Refused);
        }
        let Some(candidate) = answer.candidates.into_iter().next() else {
            return Ok(());
        };
        for piece in candidate
            .content
            .into_iter()
            .flat_map(|content| content.parts)
        {
            self.piece(piece, out);
        }
        if let Some(word) = candidate.finish_reason {
            self.stop = Some(stop_of(&word, candidate.finish_message.as_deref())?);
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, out: &mut dyn FnMut(Delta)) {
        let opaque = piece.thought_signature.map(|signature| ProviderData {
            provider: PROVIDER.into(),
            value: json!({"thoughtSignature": signature}),
        });
        if let Some(function) = piece.function_call {
            let arguments = function.args.filter(|args| !args.is_null());
            let arguments = arguments.map(|args| args.to_string()).unwrap_or_default();
            let id = function.id.unwrap_or_default();
            out(Delta::Call {
                name: function.name.as_str().into(),
            });
            let call = wire::call(&id, &function.name, &arguments, opaque);
            self.parts.push(MessagePart::Call(call));
            return;
        }
        let text = piece.text.unwrap_or_default();
        if !text.is_empty() {
            out(if piece.thought {
                Delta::Reasoning(text.clone())
            } else {
                Delta::Text(text.clone())
            });
            match (self.parts.last_mut(), piece.thought) {
                (
                    Some(MessagePart::Reasoning {
                        text: all,
                        opaque: None,
                    }),
                    true,
                )
                | (Some(MessagePart::Text { text: all, .. }), false) => all.push_str(&text),
                (_, true) => self
                    .parts
                    .push(MessagePart::Reasoning { text, opaque: None }),
                (_, false) => self.parts.push(MessagePart::text(text)),
            }
        }
        // The signature of a text is sent back as a separate part after it.
        if opaque.is_some() {
            self.parts.push(MessagePart::Reasoning {
                text: String::new(),
                opaque,
            });
        }
    }
}

fn stop_of(word: &str, message: Option<&str>) -> Result<StopReason, ProviderError> {
    Ok(match word {
        "STOP" => StopReason::End,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "PROHIBITED_CONTENT" | "BLOCKLIST" | "SPII" => {
            StopReason::Refused
        }
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
            let message = message.unwrap_or("no details");
            return Err(ProviderError::bad_reply(format!(
                "the model wrote an invalid call: {message}"
            )));
        }
        other => StopReason::Other(other.into()),
    })
}
