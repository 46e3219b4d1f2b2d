//! Shared helpers.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, SystemTime};

use prowess_agent::{
    Delta, Image, Message, MessagePart, MessageRole, ProviderData, Reply, Request, RequestOptions,
    TokenUsage, ToolCall, ToolDeclaration, ToolResult,
};
use prowess_http::{Deadlines, HttpClient, HttpUrl};
use prowess_models::{ApiKey, ModelSettings, RemoteModel, RetryPolicy, Waiter, WireFormat};
use prowess_test::server::TestServer;
use prowess_traits::{BoxFuture, Model, ModelError, ModelInfo, Price};
use serde_json::json;

/// One client for all tests: reading the system's certificates is slow.
static HTTP: LazyLock<HttpClient> =
    LazyLock::new(|| HttpClient::new("prowess-test", patient()).unwrap());

pub(crate) const KEY: &str = "sk-test-0123456789-secret";

/// Records delays instead of waiting.
#[derive(Debug, Default)]
pub(crate) struct Waits(pub(crate) Mutex<Vec<Duration>>);

impl Waiter for Waits {
    fn wait(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(time);
        Box::pin(async {})
    }

    fn random(&self) -> u64 {
        0
    }

    fn now(&self) -> SystemTime {
        // Sun, 06 Nov 1994 08:49:37 GMT
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
    }
}

/// Deadlines that no correct response reaches.
pub(crate) fn patient() -> Deadlines {
    Deadlines {
        connect: Duration::from_secs(20),
        first: Duration::from_secs(20),
        idle: Duration::from_secs(20),
        total: Duration::from_secs(40),
        bytes: 64 * 1024 * 1024,
    }
}

pub(crate) fn remote(wire: Arc<dyn WireFormat>, model: &str, port: u16) -> RemoteModel {
    remote_within(wire, model, port, patient())
}

pub(crate) fn remote_within(
    wire: Arc<dyn WireFormat>,
    model: &str,
    port: u16,
    deadlines: Deadlines,
) -> RemoteModel {
    let base = HttpUrl::parse(&format!("http://127.0.0.1:{port}")).unwrap();
    let key = ApiKey::new(KEY, base.origin()).unwrap();
    let about = ModelInfo {
        name: format!("test/{model}").into(),
        window: 1_000,
        price: Some(Price {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
        }),
        note: None,
    };
    let http = HTTP.with_deadlines(deadlines);
    RemoteModel::new(about, wire, model, base, Some(key), http)
        .with_retry(RetryPolicy::never(), Arc::new(Waits::default()))
}

/// Settings for the selection of a model.
pub(crate) fn settings() -> ModelSettings {
    ModelSettings::with_client(HTTP.clone())
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Sends a request; returns the reply and the deltas.
pub(crate) fn ask(model: &dyn Model, request: &Request) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let mut shown = Vec::new();
    let reply = block_on(async { model.ask(request, &mut |delta| shown.push(delta)).await });
    (reply, shown)
}

pub(crate) fn text(text: &str) -> Delta {
    Delta::Text(text.into())
}

/// The usage in most recorded replies.
pub(crate) fn usage() -> TokenUsage {
    TokenUsage {
        input: 25,
        output: 89,
        cache_read: 1_000,
        cache_write: 0,
        micros: Some(75 + 1_335 + 300),
    }
}

/// The deltas of the recorded replies: reasoning, text and two calls.
pub(crate) fn seen(thoughts: &[&str], words: &[&str]) -> Vec<Delta> {
    let thoughts = thoughts
        .iter()
        .map(|&thought| Delta::Reasoning(thought.into()));
    let calls = ["look", "list"].map(|name| Delta::Call { name: name.into() });
    thoughts
        .chain(words.iter().map(|word| text(word)))
        .chain(calls)
        .collect()
}

/// Requests a reply without streaming; returns the server.
pub(crate) fn check_whole(
    wire: Arc<dyn WireFormat>,
    model: &str,
    body: &str,
    reply: Reply,
) -> TestServer {
    let server = TestServer::once(prowess_test::server::json("200 OK", "", body));
    let model = remote(wire, model, server.port).with_stream(false);
    assert_eq!(ask(&model, &hello()), (Ok(reply), vec![]));
    server
}

pub(crate) fn hello() -> Request {
    Request {
        messages: vec![Message::user("hello")].into(),
        ..Request::default()
    }
}

pub(crate) fn picture() -> Image {
    Image {
        media_type: "image/png".into(),
        data: "iVBORw0=".into(),
    }
}

/// A conversation with every kind of part. `own` is the name of the wire format.
pub(crate) fn conversation(own: &str, opaque: serde_json::Value) -> Request {
    let tool = |name: &str| ToolDeclaration {
        name: name.into(),
        description: format!("Does {name}"),
        schema: json!({"type": "object", "properties": {"b": {}, "a": {"type": "string"}}}),
    };
    let thought = |provider: &str, value| MessagePart::Reasoning {
        text: "hm".into(),
        opaque: Some(ProviderData {
            provider: provider.into(),
            value,
        }),
    };
    let one = ToolCall::new("c1", "look", json!({"b": 1, "a": "ü"}));
    let two = ToolCall {
        fault: Some("no JSON".into()),
        ..ToolCall::new("c2", "find", json!("{bad"))
    };
    let good = ToolResult {
        images: vec![picture()],
        ..ToolResult::of(&one, "seen")
    };
    let bad = ToolResult::error(&two, "not found");
    Request {
        system: vec!["Be brief.".into(), "Use tools.".into()],
        tools: vec![tool("look"), tool("find")],
        messages: vec![
            Message {
                role: MessageRole::User,
                parts: vec![MessagePart::text("See:"), MessagePart::Image(picture())],
            },
            Message {
                role: MessageRole::Assistant,
                parts: vec![
                    thought(own, opaque),
                    thought("somebody-else", json!({"secret": 1})),
                    MessagePart::text("I look."),
                    MessagePart::Call(one),
                    MessagePart::Call(two),
                ],
            },
            Message {
                role: MessageRole::User,
                parts: vec![MessagePart::Result(good), MessagePart::Result(bad)],
            },
            Message::assistant("Done."),
            Message::user("Thanks."),
        ]
        .into(),
        options: RequestOptions {
            max_tokens: Some(500),
            ..RequestOptions::default()
        },
    }
}
