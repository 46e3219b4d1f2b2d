//! Anthropic's Messages format.

use std::collections::BTreeMap;

use prowess_agent::{
    Delta, Effort, Image, Message, MessagePart, MessageRole, ProviderData, Reply, Request,
    StopReason, TokenUsage, ToolChoice,
};
use prowess_http::Header;
use prowess_traits::ModelErrorKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::price;
use crate::provider_error::{self, ProviderError};
use crate::wire::{self, ReplyReader, WireFormat};

/// The name of this format in [`ProviderData`].
pub(crate) const PROVIDER: &str = "anthropic";

/// Anthropic's Messages format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anthropic;

impl WireFormat for Anthropic {
    fn path(&self, _model: &str, _stream: bool) -> String {
        "v1/messages".into()
    }

    fn models_path(&self) -> &'static str {
        "v1/models?limit=1000"
    }

    fn headers(&self) -> Vec<Header> {
        vec![Header::plain("anthropic-version", "2023-06-01")]
    }

    fn key_header(&self, key: &str) -> Header {
        Header::secret("x-api-key", key)
    }

    fn body(&self, model: &str, request: &Request, stream: bool) -> Value {
        let options = &request.options;
        let most = options.max_tokens.unwrap_or_else(|| {
            price::known(model).map_or(price::DEFAULT_OUTPUT, |known| known.output)
        });
        let mut body = Map::new();
        body.insert("model".into(), model.into());
        body.insert("max_tokens".into(), most.into());
        if !request.system.is_empty() {
            let mut system: Vec<Value> = texts(&request.system);
            if options.cache {
                mark(system.last_mut());
            }
            body.insert("system".into(), system.into());
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.schema,
                })
            });
            let mut tools: Vec<Value> = tools.collect();
            if options.cache {
                mark(tools.last_mut());
            }
            body.insert("tools".into(), tools.into());
            let choice = match options.choice {
                ToolChoice::Auto => None,
                ToolChoice::None => Some("none"),
                ToolChoice::Required => Some("any"),
            };
            if let Some(word) = choice {
                body.insert("tool_choice".into(), json!({"type": word}));
            }
        }
        if let Some(effort) = options.effort
            // A model that reasons cannot be forced to call a tool.
            && options.choice != ToolChoice::Required
        {
            think(&mut body, model, effort, most, request);
        }
        let mut messages: Vec<Value> = request.messages.iter().filter_map(message).collect();
        if options.cache {
            let last = messages
                .last_mut()
                .and_then(|last| last["content"].as_array_mut());
            let last = last.and_then(|parts| parts.last_mut());
            mark(last.filter(|part| part["type"] != "thinking"));
        }
        body.insert("messages".into(), messages.into());
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
        let mut usage = TokenUsage::default();
        answer.usage.unwrap_or_default().add_to(&mut usage);
        let content = answer
            .content
            .ok_or_else(|| ProviderError::bad_reply("the reply has no content"))?;
        let parts = content
            .into_iter()
            .filter_map(|block| Block::of(block).part())
            .collect();
        let stop = answer.stop_reason.ok_or_else(ProviderError::cut)?;
        Ok(Reply {
            parts,
            stop: stop_of(&stop),
            usage,
            model: answer.model.unwrap_or_default(),
        })
    }

    fn fault(&self, status: u16, body: &[u8]) -> ProviderError {
        let (code, message) = provider_error::words_of(body);
        provider_error::fault_of(status, &code, &message)
    }
}

fn texts(blocks: &[String]) -> Vec<Value> {
    let full = blocks.iter().filter(|text| !text.trim().is_empty());
    full.map(|text| json!({"type": "text", "text": text}))
        .collect()
}

/// Asks the provider to cache everything up to this value.
fn mark(value: Option<&mut Value>) {
    if let Some(value) = value {
        value["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// Sets the reasoning effort: a level for newer models, a number of tokens for older ones.
fn think(body: &mut Map<String, Value>, model: &str, effort: Effort, most: u32, request: &Request) {
    if !model.contains("claude") {
        return;
    }
    let version = wire::version(model);
    if version >= (4, 6) {
        let word = match effort {
            Effort::Xhigh if version < (4, 7) => "high",
            effort => effort.as_str(),
        };
        body.insert("thinking".into(), json!({"type": "adaptive"}));
        body.insert("output_config".into(), json!({"effort": word}));
    } else if version >= (3, 7) && !waits_without_reasoning(&request.messages) {
        let tokens: u32 = match effort {
            Effort::Low => 2_048,
            Effort::Medium => 8_192,
            Effort::High => 16_384,
            Effort::Xhigh => 24_576,
            Effort::Max => 32_768,
        };
        // Reasoning counts as output tokens, so some must remain for the reply.
        let tokens = tokens.min(most / 4 * 3);
        if tokens >= 1_024 {
            body.insert(
                "thinking".into(),
                json!({"type": "enabled", "budget_tokens": tokens}),
            );
        }
    }
}

/// Returns `true` if the last calls are in a message without reasoning by this provider. Older models
/// must not start to reason after such a message.
fn waits_without_reasoning(messages: &[Message]) -> bool {
    let Some(last) = messages
        .iter()
        .rev()
        .find(|message| message.role == MessageRole::Assistant)
    else {
        return false;
    };
    let thought = last.parts.iter().any(|part| {
        matches!(part, MessagePart::Reasoning { opaque, .. } if wire::own(opaque.as_ref(), PROVIDER).is_some())
    });
    last.calls().next().is_some() && !thought
}

fn message(message: &Message) -> Option<Value> {
    let role = match message.role {
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
    };
    // The provider requires tool results first.
    let is_result = |part: &&MessagePart| matches!(part, MessagePart::Result(_));
    let results = message.parts.iter().filter(is_result);
    let others = message.parts.iter().filter(|part| !is_result(part));
    let content: Vec<Value> = results.chain(others).filter_map(part).collect();
    (!content.is_empty()).then(|| json!({"role": role, "content": content}))
}

fn part(part: &MessagePart) -> Option<Value> {
    Some(match part {
        MessagePart::Text { text, .. } if text.trim().is_empty() => return None,
        MessagePart::Text { text, .. } | MessagePart::Hint { text, .. } => {
            json!({"type": "text", "text": text})
        }
        MessagePart::Image(picture) => image(picture),
        MessagePart::Reasoning { opaque, .. } => wire::own(opaque.as_ref(), PROVIDER)?.clone(),
        MessagePart::Call(call) => json!({
            "type": "tool_use",
            "id": id(&call.id),
            "name": call.name,
            "input": wire::object_of(call),
        }),
        MessagePart::Result(result) => {
            let mut content = texts(std::slice::from_ref(&result.text));
            content.extend(result.images.iter().map(image));
            let mut value = json!({
                "type": "tool_result",
                "tool_use_id": id(&result.call),
                "content": content,
            });
            if result.is_error {
                value["is_error"] = true.into();
            }
            value
        }
    })
}

fn image(image: &Image) -> Value {
    json!({
        "type": "image",
        "source": {"type": "base64", "media_type": image.media_type, "data": image.data},
    })
}

/// Replaces characters in an id that the provider rejects: all but letters, digits, `_` and `-`.
fn id(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        })
        .collect()
}

fn stop_of(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::End,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refused,
        other => StopReason::Other(other.into()),
    }
}

#[derive(Default, Deserialize)]
struct Answer {
    model: Option<String>,
    content: Option<Vec<Content>>,
    stop_reason: Option<String>,
    usage: Option<Counts>,
}

#[derive(Default, Deserialize)]
struct Counts {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
}

impl Counts {
    /// Later counts replace earlier ones, because they are cumulative.
    fn add_to(&self, usage: &mut TokenUsage) {
        usage.input = self.input.unwrap_or(usage.input);
        usage.output = self.output.unwrap_or(usage.output);
        usage.cache_read = self.cache_read.unwrap_or(usage.cache_read);
        usage.cache_write = self.cache_write.unwrap_or(usage.cache_write);
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Unknown,
}

/// A part of a streamed reply.
enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call {
        id: String,
        name: String,
        input: Value,
        json: String,
    },
    Unknown,
}

impl Block {
    fn of(content: Content) -> Self {
        match content {
            Content::Text { text } => Self::Text(text),
            Content::Thinking {
                thinking,
                signature,
            } => Self::Thinking {
                text: thinking,
                signature,
            },
            Content::RedactedThinking { data } => Self::Redacted(data),
            Content::ToolUse { id, name, input } => Self::Call {
                id,
                name,
                input,
                json: String::new(),
            },
            Content::Unknown => Self::Unknown,
        }
    }

    fn part(self) -> Option<MessagePart> {
        let opaque = |value| {
            Some(ProviderData {
                provider: PROVIDER.into(),
                value,
            })
        };
        Some(match self {
            Self::Text(text) if text.is_empty() => return None,
            Self::Text(text) => MessagePart::text(text),
            Self::Thinking { text, signature } => {
                // The provider accepts reasoning only with its signature.
                let signed = (!signature.is_empty())
                    .then(|| json!({"type": "thinking", "thinking": text, "signature": signature}));
                MessagePart::Reasoning {
                    opaque: signed.and_then(opaque),
                    text,
                }
            }
            Self::Redacted(data) => MessagePart::Reasoning {
                text: String::new(),
                opaque: opaque(json!({"type": "redacted_thinking", "data": data})),
            },
            Self::Call {
                id,
                name,
                input,
                json,
            } => {
                let json = match &input {
                    Value::Null => json,
                    Value::Object(object) if object.is_empty() => json,
                    input if json.is_empty() => input.to_string(),
                    _ => json,
                };
                MessagePart::Call(wire::call(&id, &name, &json, None))
            }
            Self::Unknown => return None,
        })
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Answer,
    },
    ContentBlockStart {
        index: u64,
        content_block: Content,
    },
    ContentBlockDelta {
        index: u64,
        delta: Piece,
    },
    MessageDelta {
        delta: Ending,
        usage: Option<Counts>,
    },
    MessageStop,
    Error {
        error: Failure,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Ending {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

#[derive(Default)]
struct Stream {
    blocks: BTreeMap<u64, Block>,
    stop: Option<StopReason>,
    usage: TokenUsage,
    model: String,
    is_done: bool,
}

impl ReplyReader for Stream {
    fn event(&mut self, data: &str, out: &mut dyn FnMut(Delta)) -> Result<bool, ProviderError> {
        match wire::read(data.as_bytes())? {
            Event::MessageStart { message } => {
                self.model = message.model.unwrap_or_default();
                message.usage.unwrap_or_default().add_to(&mut self.usage);
            }
            Event::ContentBlockStart {
                index,
                content_block,
            } => {
                let block = Block::of(content_block);
                match &block {
                    Block::Call { name, .. } => out(Delta::Call {
                        name: name.as_str().into(),
                    }),
                    Block::Text(text) if !text.is_empty() => out(Delta::Text(text.clone())),
                    _ => {}
                }
                if self.blocks.insert(index, block).is_some() {
                    return Err(ProviderError::bad_reply("a part of the reply starts twice"));
                }
            }
            Event::ContentBlockDelta { index, delta } => {
                let block = self.blocks.get_mut(&index);
                let block = block.ok_or_else(|| {
                    ProviderError::bad_reply("a part of the reply was never started")
                })?;
                piece(block, delta, out)?;
            }
            Event::MessageDelta { delta, usage } => {
                usage.unwrap_or_default().add_to(&mut self.usage);
                self.stop = delta
                    .stop_reason
                    .as_deref()
                    .map(stop_of)
                    .or(self.stop.take());
            }
            Event::MessageStop => self.is_done = true,
            Event::Error { error } => return Err(failure(&error)),
            Event::Unknown => {}
        }
        Ok(self.is_done)
    }

    fn finish(self: Box<Self>) -> Result<Reply, ProviderError> {
        let stop = self
            .stop
            .filter(|_| self.is_done)
            .ok_or_else(ProviderError::cut)?;
        let parts = self.blocks.into_values().filter_map(Block::part).collect();
        Ok(Reply {
            parts,
            stop,
            usage: self.usage,
            model: self.model,
        })
    }
}

fn piece(block: &mut Block, delta: Piece, out: &mut dyn FnMut(Delta)) -> Result<(), ProviderError> {
    match (block, delta) {
        (Block::Text(all), Piece::TextDelta { text }) => {
            all.push_str(&text);
            out(Delta::Text(text));
        }
        (Block::Thinking { text: all, .. }, Piece::ThinkingDelta { thinking }) => {
            all.push_str(&thinking);
            out(Delta::Reasoning(thinking));
        }
        (Block::Thinking { signature: all, .. }, Piece::SignatureDelta { signature }) => {
            all.push_str(&signature);
        }
        (Block::Call { json, .. }, Piece::InputJsonDelta { partial_json }) => {
            json.push_str(&partial_json);
        }
        (Block::Unknown, _) | (_, Piece::Unknown) => {}
        _ => return Err(ProviderError::bad_reply("a delta does not match its part")),
    }
    Ok(())
}

fn failure(error: &Failure) -> ProviderError {
    let kind = match error.kind.as_str() {
        "authentication_error" | "permission_error" => ModelErrorKind::Auth,
        "rate_limit_error" => ModelErrorKind::RateLimit { after: None },
        "request_too_large" => ModelErrorKind::ContextTooLong,
        "timeout_error" => ModelErrorKind::Timeout,
        "invalid_request_error" if provider_error::is_too_long(&error.message) => {
            ModelErrorKind::ContextTooLong
        }
        "invalid_request_error" | "not_found_error" => ModelErrorKind::BadRequest,
        _ => ModelErrorKind::Transport,
    };
    let message = if error.message.is_empty() {
        &error.kind
    } else {
        &error.message
    };
    ProviderError::new(kind, message)
}
