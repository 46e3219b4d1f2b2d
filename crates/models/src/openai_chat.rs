//! OpenAI's Chat Completions format, which many other servers support.

use prowess_agent::{
    Delta, Effort, Image, Message, MessagePart, MessageRole, Reply, Request, StopReason,
    TokenUsage, ToolChoice,
};
use prowess_traits::ModelErrorKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::provider_error::{self, ProviderError};
use crate::wire::{self, ReplyReader, WireFormat};

/// OpenAI's Chat Completions format.
#[derive(Clone, Copy, Debug)]
pub enum OpenAiChat {
    /// The current format of OpenAI.
    Official,
    /// The older format that other servers support.
    Compatible,
}

impl WireFormat for OpenAiChat {
    fn path(&self, _model: &str, _stream: bool) -> String {
        "chat/completions".into()
    }

    fn body(&self, model: &str, request: &Request, stream: bool) -> Value {
        let options = &request.options;
        let mut body = Map::new();
        body.insert("model".into(), model.into());
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.schema,
                    },
                })
            });
            body.insert("tools".into(), tools.collect());
            if let Some(word) = choice(options.choice) {
                body.insert("tool_choice".into(), word.into());
            }
        }
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({"role": "system", "content": request.system.join("\n\n")}));
        }
        for one in &request.messages {
            message(one, &mut messages);
        }
        body.insert("messages".into(), messages.into());
        if let Some(most) = options.max_tokens {
            let key = match self {
                Self::Official => "max_completion_tokens",
                Self::Compatible => "max_tokens",
            };
            body.insert(key.into(), most.into());
        }
        let effort = options.effort.and_then(|effort| match self {
            Self::Official => reasons(model).then(|| effort_word(model, effort)),
            Self::Compatible => Some(effort_word("", effort)),
        });
        if let Some(word) = effort {
            body.insert("reasoning_effort".into(), word.into());
        }
        if stream {
            body.insert("stream".into(), true.into());
            body.insert("stream_options".into(), json!({"include_usage": true}));
        }
        body.into()
    }

    fn reader(&self) -> Box<dyn ReplyReader> {
        Box::<Stream>::default()
    }

    fn whole(&self, body: &[u8]) -> Result<Reply, ProviderError> {
        let answer: Answer = wire::read(body)?;
        let mut stream = Stream::default();
        stream.take(answer, &mut |_| {})?;
        Box::new(stream).finish()
    }

    fn fault(&self, status: u16, body: &[u8]) -> ProviderError {
        fault(status, body)
    }
}

/// Interprets an error in OpenAI's format.
pub(crate) fn fault(status: u16, body: &[u8]) -> ProviderError {
    let (code, message) = provider_error::words_of(body);
    let mut fault = provider_error::fault_of(status, &code, &message);
    // Retrying does not help if the quota is exhausted.
    if code == "insufficient_quota" {
        fault.kind = ModelErrorKind::BadRequest;
    }
    fault
}

/// Returns `true` if a model of OpenAI reasons.
pub(crate) fn reasons(model: &str) -> bool {
    !["gpt-4", "gpt-3", "chatgpt", "gpt-audio"]
        .iter()
        .any(|name| model.starts_with(name))
}

/// Returns the reasoning effort for a model of OpenAI. Only newer ones support more than three levels.
pub(crate) fn effort_word(model: &str, effort: Effort) -> &'static str {
    match effort {
        Effort::Xhigh | Effort::Max
            if model.starts_with("gpt-") && wire::version(model) >= (5, 2) =>
        {
            "xhigh"
        }
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Xhigh | Effort::Max => "high",
    }
}

pub(crate) fn choice(choice: ToolChoice) -> Option<&'static str> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none"),
        ToolChoice::Required => Some("required"),
    }
}

pub(crate) fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type, image.data)
}

fn message(message: &Message, all: &mut Vec<Value>) {
    match message.role {
        MessageRole::User => {
            for result in message.results() {
                all.push(json!({
                    "role": "tool",
                    "tool_call_id": result.call,
                    "content": wire::noted(result, false),
                }));
            }
            if let Some(content) = user_content(&message.parts) {
                all.push(json!({"role": "user", "content": content}));
            }
        }
        MessageRole::Assistant => {
            let text = message.text();
            let calls: Vec<Value> = message
                .calls()
                .map(|call| {
                    json!({
                        "id": call.id,
                        "type": "function",
                        "function": {
                            "name": call.name,
                            "arguments": wire::object_of(call).to_string(),
                        },
                    })
                })
                .collect();
            let mut value = json!({"role": "assistant"});
            match (text.is_empty(), calls.is_empty()) {
                (true, true) => return,
                (true, false) => value["content"] = Value::Null,
                (false, _) => value["content"] = text.into(),
            }
            if !calls.is_empty() {
                value["tool_calls"] = calls.into();
            }
            all.push(value);
        }
    }
}

/// Returns the content of a user message: a plain string if there is only text, because some servers
/// support nothing else.
fn user_content(parts: &[MessagePart]) -> Option<Value> {
    let pieces: Vec<Value> = parts
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text { text, .. } | MessagePart::Hint { text, .. } => {
                Some(json!({"type": "text", "text": text}))
            }
            MessagePart::Image(image) => {
                Some(json!({"type": "image_url", "image_url": {"url": data_url(image)}}))
            }
            MessagePart::Reasoning { .. } | MessagePart::Call(_) | MessagePart::Result(_) => None,
        })
        .collect();
    if pieces.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = pieces.iter().map(|piece| piece["text"].as_str()).collect();
    Some(texts.map_or_else(|| pieces.clone().into(), |texts| texts.join("\n\n").into()))
}

fn stop_of(word: &str) -> StopReason {
    match word {
        "stop" => StopReason::End,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refused,
        other => StopReason::Other(other.into()),
    }
}

#[derive(Deserialize)]
struct Answer {
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Counts>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Piece>,
    /// Present if the reply is not streamed.
    message: Option<Piece>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Piece {
    content: Option<String>,
    refusal: Option<String>,
    /// Servers use one of these fields, or both for the same text.
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

#[derive(Default)]
struct CallParts {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Default)]
struct Stream {
    reasoning: String,
    text: String,
    calls: Vec<CallParts>,
    stop: Option<StopReason>,
    refused: bool,
    usage: TokenUsage,
    model: String,
}

impl ReplyReader for Stream {
    fn event(&mut self, data: &str, out: &mut dyn FnMut(Delta)) -> Result<bool, ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        self.take(wire::read(data.as_bytes())?, out)?;
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Reply, ProviderError> {
        // Some servers send no `[DONE]`; the reply is complete once there is a stop reason.
        let stop = self.stop.ok_or_else(ProviderError::cut)?;
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            parts.push(MessagePart::Reasoning {
                text: self.reasoning,
                opaque: None,
            });
        }
        if !self.text.is_empty() {
            parts.push(MessagePart::text(self.text));
        }
        parts.extend(self.calls.into_iter().map(|call| {
            MessagePart::Call(wire::call(&call.id, &call.name, &call.arguments, None))
        }));
        let stop = if self.refused {
            StopReason::Refused
        } else {
            stop
        };
        Ok(Reply {
            parts,
            stop,
            usage: self.usage,
            model: self.model,
        })
    }
}

impl Stream {
    fn take(&mut self, answer: Answer, out: &mut dyn FnMut(Delta)) -> Result<(), ProviderError> {
        if let Some(error) = answer.error.filter(|error| !error.is_null()) {
            let status = error.get("code").and_then(Value::as_u64).unwrap_or(500);
            let body = json!({"error": error}).to_string();
            return Err(fault(u16::try_from(status).unwrap_or(500), body.as_bytes()));
        }
        if let Some(model) = answer.model {
            self.model = model;
        }
        if let Some(counts) = answer.usage {
            let cached = counts
                .prompt_tokens_details
                .and_then(|details| details.cached_tokens);
            self.usage = wire::usage(
                counts.prompt_tokens.unwrap_or(0),
                cached.unwrap_or(0),
                counts.completion_tokens.unwrap_or(0),
            );
        }
        // Only one choice was requested.
        let Some(choice) = answer.choices.into_iter().next() else {
            return Ok(());
        };
        if let Some(piece) = choice.delta.or(choice.message) {
            self.piece(piece, out);
        }
        if let Some(word) = choice.finish_reason {
            self.stop = Some(stop_of(&word));
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, out: &mut dyn FnMut(Delta)) {
        let reasoning = piece.reasoning_content.or(piece.reasoning);
        if let Some(text) = reasoning.filter(|text| !text.is_empty()) {
            self.reasoning.push_str(&text);
            out(Delta::Reasoning(text));
        }
        self.refused |= piece.refusal.is_some();
        for text in [piece.content, piece.refusal].into_iter().flatten() {
            if !text.is_empty() {
                self.text.push_str(&text);
                out(Delta::Text(text));
            }
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(call, out);
        }
    }

    fn call(&mut self, piece: CallPiece, out: &mut dyn FnMut(Delta)) {
        let id = piece.id.unwrap_or_default();
        let (name, arguments) = match piece.function {
            Some(function) => (function.name.unwrap_or_default(), function.arguments),
            None => (String::new(), None),
        };
        // Find the call by index, or use the last one if there is no index. Some servers number every
        // call 0; a second name starts a second call.
        let at = match piece.index {
            Some(_) => self
                .calls
                .iter()
                .rposition(|call| call.index == piece.index),
            None if id.is_empty() && name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        let at = at.filter(|at| {
            let known = self.calls.get(*at);
            known.is_none_or(|call| {
                name.is_empty()
                    || call.name.is_empty()
                    || (call.id == id && call.arguments.is_empty())
            })
        });
        let at = at.unwrap_or_else(|| {
            self.calls.push(CallParts {
                index: piece.index,
                ..CallParts::default()
            });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() && !name.is_empty() {
            out(Delta::Call {
                name: name.as_str().into(),
            });
            call.name = name;
        }
        match arguments {
            Some(Value::String(text)) => call.arguments.push_str(&text),
            None | Some(Value::Null) => {}
            // Some servers send the object itself.
            Some(other) => call.arguments.push_str(&other.to_string()),
        }
    }
}
