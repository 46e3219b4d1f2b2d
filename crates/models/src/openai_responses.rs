//! OpenAI's Responses format.

use std::collections::BTreeMap;

use prowess_agent::{
    Delta, Message, MessagePart, MessageRole, ProviderData, Reply, Request, StopReason, TokenUsage,
    ToolResult,
};
use prowess_traits::ModelErrorKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::openai_chat::{choice, data_url, effort_word, fault, reasons};
use crate::provider_error::{self, ProviderError};
use crate::wire::{self, ReplyReader, WireFormat};

/// The name of this format in [`ProviderData`].
const PROVIDER: &str = "openai-responses";

/// OpenAI's Responses format. The provider stores nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenAiResponses;

impl WireFormat for OpenAiResponses {
    fn path(&self, _model: &str, _stream: bool) -> String {
        "responses".into()
    }

    fn body(&self, model: &str, request: &Request, stream: bool) -> Value {
        let options = &request.options;
        let mut body = Map::new();
        body.insert("model".into(), model.into());
        if !request.system.is_empty() {
            body.insert("instructions".into(), request.system.join("\n\n").into());
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                    "strict": false,
                })
            });
            body.insert("tools".into(), tools.collect());
            if let Some(word) = choice(options.choice) {
                body.insert("tool_choice".into(), word.into());
            }
        }
        let input: Value = request.messages.iter().flat_map(items).collect();
        body.insert("input".into(), input);
        if let Some(most) = options.max_tokens {
            body.insert("max_output_tokens".into(), most.into());
        }
        if reasons(model) {
            if let Some(effort) = options.effort {
                body.insert(
                    "reasoning".into(),
                    json!({"effort": effort_word(model, effort)}),
                );
            }
            body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        }
        body.insert("store".into(), false.into());
        if stream {
            body.insert("stream".into(), true.into());
        }
        body.into()
    }

    fn reader(&self) -> Box<dyn ReplyReader> {
        Box::<Stream>::default()
    }

    fn whole(&self, body: &[u8]) -> Result<Reply, ProviderError> {
        let answer: Answer = wire::read(body)?;
        reply(answer, Vec::new())
    }

    fn fault(&self, status: u16, body: &[u8]) -> ProviderError {
        fault(status, body)
    }
}

/// Returns the items of a message. Adjacent texts become one item.
fn items(message: &Message) -> Vec<Value> {
    let (role, text_type) = match message.role {
        MessageRole::User => ("user", "input_text"),
        MessageRole::Assistant => ("assistant", "output_text"),
    };
    let mut all = Vec::new();
    let mut content: Vec<Value> = Vec::new();
    for part in &message.parts {
        let item = match part {
            MessagePart::Text { text, .. } | MessagePart::Hint { text, .. } => {
                content.push(json!({"type": text_type, "text": text}));
                continue;
            }
            MessagePart::Image(image) => {
                content.push(json!({"type": "input_image", "image_url": data_url(image)}));
                continue;
            }
            MessagePart::Reasoning { opaque, .. } => wire::own(opaque.as_ref(), PROVIDER).cloned(),
            MessagePart::Call(call) => Some(json!({
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": wire::object_of(call).to_string(),
            })),
            MessagePart::Result(result) => Some(output(result)),
        };
        if let Some(item) = item {
            flush(role, &mut content, &mut all);
            all.push(item);
        }
    }
    flush(role, &mut content, &mut all);
    all
}

fn flush(role: &str, content: &mut Vec<Value>, all: &mut Vec<Value>) {
    if !content.is_empty() {
        let content = std::mem::take(content);
        all.push(json!({"type": "message", "role": role, "content": content}));
    }
}

fn output(result: &ToolResult) -> Value {
    let text = wire::noted(result, true);
    let output = if result.images.is_empty() {
        text.into()
    } else {
        let pictures = result
            .images
            .iter()
            .map(|image| json!({"type": "input_image", "image_url": data_url(image)}));
        let text = std::iter::once(json!({"type": "input_text", "text": text}));
        text.chain(pictures).collect::<Value>()
    };
    json!({"type": "function_call_output", "call_id": result.call, "output": output})
}

#[derive(Deserialize)]
struct Answer {
    model: Option<String>,
    status: Option<String>,
    #[serde(default)]
    output: Vec<Item>,
    usage: Option<Counts>,
    error: Option<Failure>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    code: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        #[serde(default)]
        content: Vec<Content>,
    },
    FunctionCall {
        #[serde(default)]
        call_id: String,
        name: String,
        arguments: Option<String>,
    },
    Reasoning {
        id: Option<String>,
        #[serde(default)]
        summary: Vec<Value>,
        encrypted_content: Option<String>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_item.added")]
    Added { item: Item },
    #[serde(rename = "response.output_item.done")]
    Done {
        #[serde(default)]
        output_index: u64,
        item: Item,
    },
    #[serde(
        rename = "response.output_text.delta",
        alias = "response.refusal.delta"
    )]
    Text { delta: String },
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta"
    )]
    Reasoning { delta: String },
    #[serde(
        rename = "response.completed",
        alias = "response.incomplete",
        alias = "response.failed"
    )]
    End { response: Answer },
    #[serde(rename = "error")]
    Error {
        code: Option<String>,
        message: Option<String>,
        error: Option<Failure>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Default)]
struct Stream {
    items: BTreeMap<u64, Item>,
    end: Option<Answer>,
}

impl ReplyReader for Stream {
    fn event(&mut self, data: &str, out: &mut dyn FnMut(Delta)) -> Result<bool, ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        match wire::read(data.as_bytes())? {
            Event::Added {
                item: Item::FunctionCall { name, .. },
            } => {
                out(Delta::Call { name: name.into() });
            }
            Event::Done { output_index, item } => {
                if self.items.insert(output_index, item).is_some() {
                    return Err(ProviderError::bad_reply("a part of the reply ends twice"));
                }
            }
            Event::Text { delta } => out(Delta::Text(delta)),
            Event::Reasoning { delta } => out(Delta::Reasoning(delta)),
            Event::End { response } => self.end = Some(response),
            Event::Error {
                code,
                message,
                error,
            } => {
                return Err(failure(&error.unwrap_or(Failure { code, message })));
            }
            Event::Added { .. } | Event::Unknown => {}
        }
        Ok(self.end.is_some())
    }

    fn finish(self: Box<Self>) -> Result<Reply, ProviderError> {
        let end = self.end.ok_or_else(ProviderError::cut)?;
        reply(end, self.items.into_values().collect())
    }
}

/// The last event repeats the whole reply. If it does not, the earlier items are used.
fn reply(answer: Answer, before: Vec<Item>) -> Result<Reply, ProviderError> {
    if let Some(error) = answer.error {
        return Err(failure(&error));
    }
    let mut stop = match (answer.status.as_deref(), answer.incomplete_details) {
        (Some("completed"), _) => StopReason::End,
        (Some("incomplete"), details) => {
            match details.and_then(|details| details.reason).as_deref() {
                Some("max_output_tokens") | None => StopReason::MaxTokens,
                Some("content_filter") => StopReason::Refused,
                Some(other) => StopReason::Other(other.into()),
            }
        }
        (other, _) => {
            let word = other.unwrap_or("no status");
            return Err(ProviderError::bad_reply(format!(
                "the reply is incomplete: {word}"
            )));
        }
    };
    let items = if answer.output.is_empty() {
        before
    } else {
        answer.output
    };
    let mut parts = Vec::new();
    for item in items {
        match item {
            Item::Message { content } => {
                for piece in content {
                    match piece {
                        Content::OutputText { text } if text.is_empty() => {}
                        Content::OutputText { text } => parts.push(MessagePart::text(text)),
                        Content::Refusal { refusal } => {
                            parts.push(MessagePart::text(refusal));
                            stop = StopReason::Refused;
                        }
                        Content::Unknown => {}
                    }
                }
            }
            Item::FunctionCall {
                call_id,
                name,
                arguments,
            } => {
                let arguments = arguments.unwrap_or_default();
                parts.push(MessagePart::Call(wire::call(
                    &call_id, &name, &arguments, None,
                )));
            }
            Item::Reasoning {
                id,
                summary,
                encrypted_content,
            } => {
                parts.push(reasoning(
                    id.as_deref(),
                    summary,
                    encrypted_content.as_deref(),
                ));
            }
            Item::Unknown => {}
        }
    }
    let usage = answer.usage.map_or_else(TokenUsage::default, |counts| {
        let cached = counts
            .input_tokens_details
            .and_then(|details| details.cached_tokens);
        wire::usage(
            counts.input_tokens.unwrap_or(0),
            cached.unwrap_or(0),
            counts.output_tokens.unwrap_or(0),
        )
    });
    Ok(Reply {
        parts,
        stop,
        usage,
        model: answer.model.unwrap_or_default(),
    })
}

fn reasoning(id: Option<&str>, summary: Vec<Value>, encrypted: Option<&str>) -> MessagePart {
    let texts: Vec<&str> = summary
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let text = texts.join("\n\n");
    // The provider stores nothing, so it accepts reasoning only in encrypted form.
    let opaque = encrypted.map(|encrypted| {
        let mut value = json!({"type": "reasoning"});
        if let Some(id) = id {
            value["id"] = id.into();
        }
        value["summary"] = summary.into();
        value["encrypted_content"] = encrypted.into();
        ProviderData {
            provider: PROVIDER.into(),
            value,
        }
    });
    MessagePart::Reasoning { text, opaque }
}

fn failure(error: &Failure) -> ProviderError {
    let code = error.code.as_deref().unwrap_or_default();
    let message = error.message.as_deref().unwrap_or(code);
    let kind = match code {
        "rate_limit_exceeded" => ModelErrorKind::RateLimit { after: None },
        "insufficient_quota" | "invalid_prompt" | "invalid_request_error" => {
            ModelErrorKind::BadRequest
        }
        _ if provider_error::is_too_long(code) || provider_error::is_too_long(message) => {
            ModelErrorKind::ContextTooLong
        }
        _ => ModelErrorKind::Transport,
    };
    ProviderError::new(kind, message)
}
