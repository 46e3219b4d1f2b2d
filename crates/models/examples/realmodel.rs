//! Talks to a small real model in every wire format: streamed and not, with a tool call.
//!
//! ```sh
//! cargo run -p prowess-models --example realmodel -- http://127.0.0.1:8089
//! ```
//!
//! The model is small and often wrong, so only the structure of its replies is checked.
#![expect(clippy::print_stdout, reason = "an example speaks to people")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use prowess_agent::{
    Delta, Message, MessagePart, MessageRole, Reply, Request, RequestOptions, ToolChoice,
    ToolDeclaration, ToolResult,
};
use prowess_http::{Deadlines, HttpClient, HttpUrl};
use prowess_models::{
    Anthropic, ApiKey, Gemini, ModelSettings, OpenAiChat, OpenAiResponses, RemoteModel, WireFormat,
    choose, known,
};
use prowess_traits::{Model, ModelInfo};
use serde_json::json;

type Done = Result<(), Box<dyn Error>>;

fn main() -> Done {
    let base = std::env::args()
        .nth(1)
        .ok_or("the address of the server is missing")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(all(&base))
}

async fn all(base: &str) -> Done {
    let http = HttpClient::new("prowess-example", Deadlines::default())?;
    let wires: [(&str, &str, Arc<dyn WireFormat>); 4] = [
        ("anthropic", "", Arc::new(Anthropic)),
        ("openai-chat", "v1", Arc::new(OpenAiChat::Compatible)),
        ("openai-responses", "v1", Arc::new(OpenAiResponses)),
        ("gemini", "", Arc::new(Gemini)),
    ];
    for (name, below, wire) in wires {
        let root = HttpUrl::parse(base)?;
        let base = if below.is_empty() {
            root
        } else {
            root.below(below)
        };
        for stream in [true, false] {
            let key = ApiKey::new("test-key", base.origin())?;
            let about = ModelInfo {
                name: format!("{name}/smollm2").into(),
                window: 8_192,
                price: known("smollm2").map(|known| known.price),
                note: None,
            };
            let model = RemoteModel::new(
                about,
                wire.clone(),
                "smollm2",
                base.clone(),
                Some(key),
                http.clone(),
            )
            .with_stream(stream);
            let how = if stream { "in pieces" } else { "whole" };
            says(&model)
                .await
                .map_err(|error| format!("{name}, {how}, text: {error}"))?;
            calls(&model)
                .await
                .map_err(|error| format!("{name}, {how}, tool: {error}"))?;
            println!("{name}: {how}: text, call, answer of the tool, text");
        }
    }
    let chosen = by_address(&format!("{}/v1", base.trim_end_matches('/'))).await?;
    println!("{chosen}");
    Ok(())
}

/// Selects a model by the URL of its server, probes it, and asks.
async fn by_address(base: &str) -> Result<String, Box<dyn Error>> {
    let variables = |name: &str| (name == "PROWESS_BASE_URL").then(|| base.to_owned());
    let settings = ModelSettings::from_variables("prowess-example", &variables)?;
    let chosen = choose(None, &variables, &settings).await?;
    let remote = chosen.remote.ok_or("no server")?;
    let health = remote.probe(Duration::from_secs(10)).await?;
    check(
        health.has_model == Some(true),
        "the server does not list its own model",
    )?;
    says(&remote).await?;
    Ok(format!(
        "{}: chosen because {}",
        chosen.model.about().name,
        chosen.why
    ))
}

async fn says(model: &RemoteModel) -> Done {
    let request = Request {
        system: vec!["Answer in one short sentence.".into()],
        messages: vec![Message::user("What colour is the sky?")].into(),
        options: RequestOptions {
            max_tokens: Some(40),
            ..RequestOptions::default()
        },
        ..Request::default()
    };
    let (reply, shown) = ask(model, &request).await?;
    let text = text_of(&reply);
    check(!text.is_empty(), "no text")?;
    check(reply.calls().next().is_none(), "a call without tools")?;
    check(
        shown.is_empty() || shown == text,
        "the pieces are not the text",
    )?;
    check(
        reply.usage.output > 0 && reply.usage.prompt() > 0,
        "no usage",
    )
}

async fn calls(model: &RemoteModel) -> Done {
    let tool = ToolDeclaration {
        name: "get_weather".into(),
        description: "Tells the weather of a city".into(),
        schema: json!({
            "type": "object",
            "properties": {"city": {"type": "string", "description": "the city"}},
            "required": ["city"],
        }),
    };
    let mut request = Request {
        tools: vec![tool],
        messages: vec![Message::user("What is the weather in Paris?")].into(),
        options: RequestOptions {
            max_tokens: Some(60),
            choice: ToolChoice::Required,
            ..RequestOptions::default()
        },
        ..Request::default()
    };
    let (reply, _) = ask(model, &request).await?;
    let call = reply.calls().next().ok_or("no call")?.clone();
    check(&*call.name == "get_weather", "another tool")?;
    check(
        call.fault.is_none() && call.input["city"].is_string(),
        "an input that does not fit",
    )?;
    check(
        reply.stop == prowess_agent::StopReason::ToolUse,
        "another reason to stop",
    )?;
    request.messages.push(Message {
        role: MessageRole::Assistant,
        parts: reply.parts.clone(),
    });
    let results = reply
        .calls()
        .map(|call| MessagePart::Result(ToolResult::of(call, "18 degrees and sunny")));
    request.messages.push(Message {
        role: MessageRole::User,
        parts: results.collect(),
    });
    request.options.choice = ToolChoice::Auto;
    let (reply, _) = ask(model, &request).await?;
    check(
        !reply.parts.is_empty(),
        "nothing after the answer of the tool",
    )
}

async fn ask(model: &RemoteModel, request: &Request) -> Result<(Reply, String), Box<dyn Error>> {
    let mut shown = String::new();
    let mut take = |delta: Delta| {
        if let Delta::Text(text) = delta {
            shown.push_str(&text);
        }
    };
    let asked = model.ask(request, &mut take);
    let reply = tokio::time::timeout(Duration::from_mins(2), asked).await??;
    Ok((reply, shown))
}

fn text_of(reply: &Reply) -> String {
    Message {
        role: MessageRole::Assistant,
        parts: reply.parts.clone(),
    }
    .text()
}

fn check(holds: bool, what: &'static str) -> Done {
    if holds { Ok(()) } else { Err(what.into()) }
}
