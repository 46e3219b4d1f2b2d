//! The Messages format.

use std::sync::Arc;

use prowess_agent::{
    Effort, Message, MessagePart, ProviderData, Reply, RequestOptions, StopReason, TokenUsage,
    ToolCall, ToolChoice,
};
use prowess_models::Anthropic;
use prowess_traits::{Model, ModelErrorKind};
use serde_json::{Value, json};

use crate::support::{KEY, ask, check_whole, conversation, hello, remote, seen};
use prowess_test::server::{TestServer, json as whole, sse};

const STREAM: &str = r#"
{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5-20250929","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":8,"cache_read_input_tokens":1000,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"ping"}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I lo"}}
{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"ok. 🦀"}}
{"type":"content_block_stop","index":2}
{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\": \"x"}}
{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_1","name":"list","input":{}}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"y\"}"}}
{"type":"content_block_stop","index":3}
{"type":"content_block_stop","index":4}
{"type":"some_new_event","data":[1,2]}
{"type":"content_block_start","index":5,"content_block":{"type":"some_new_block","x":1}}
{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}
{"type":"message_stop"}
"#;

const WHOLE: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[{"type":"thinking","thinking":"Let me see.","signature":"EqQB"},{"type":"redacted_thinking","data":"xyz"},{"type":"text","text":"I look. 🦀"},{"type":"tool_use","id":"toolu_1","name":"look","input":{"a":"xy"}},{"type":"tool_use","id":"toolu_1","name":"list","input":{}},{"type":"some_new_block"}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":8,"cache_read_input_tokens":1000,"output_tokens":89}}"#;

fn reply() -> Reply {
    let thought = |text: &str, value: Value| MessagePart::Reasoning {
        text: text.into(),
        opaque: Some(ProviderData {
            provider: "anthropic".into(),
            value,
        }),
    };
    Reply {
        parts: vec![
            thought(
                "Let me see.",
                json!({"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"}),
            ),
            thought("", json!({"type": "redacted_thinking", "data": "xyz"})),
            MessagePart::text("I look. 🦀"),
            MessagePart::Call(ToolCall::new("toolu_1", "look", json!({"a": "xy"}))),
            MessagePart::Call(ToolCall::new("toolu_1", "list", json!({}))),
        ],
        stop: StopReason::ToolUse,
        usage: TokenUsage {
            input: 25,
            output: 89,
            cache_read: 1_000,
            cache_write: 8,
            micros: Some(75 + 1_335 + 300 + 30),
        },
        model: "claude-sonnet-4-5-20250929".into(),
    }
}

#[test]
fn streamed_reply_is_parsed() {
    let server = TestServer::once(sse(STREAM));
    let model = remote(Arc::new(Anthropic), "claude-sonnet-4-5", server.port);
    let (got, shown) = ask(&model, &hello());
    assert_eq!(got, Ok(reply()));
    assert_eq!(shown, seen(&["Let me ", "see."], &["I lo", "ok. 🦀"]));
}

#[test]
fn complete_reply_is_parsed() {
    let server = check_whole(Arc::new(Anthropic), "claude-sonnet-4-5", WHOLE, reply());
    assert_eq!(server.asked()[0].json().get("stream"), None);
}

#[test]
fn request_body_is_exact() {
    let server = TestServer::once(sse(STREAM));
    let model = remote(Arc::new(Anthropic), "claude-sonnet-4-5", server.port);
    let own = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
    let mut request = conversation("anthropic", own);
    request.options = RequestOptions {
        max_tokens: Some(4_000),
        effort: Some(Effort::Low),
        choice: ToolChoice::Auto,
        cache: true,
    };
    ask(&model, &request).0.unwrap();
    let mark = json!({"type": "ephemeral"});
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {"type": "string"}}});
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0="});
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 4_000,
        "system": [
            {"type": "text", "text": "Be brief."},
            {"type": "text", "text": "Use tools.", "cache_control": mark},
        ],
        "tools": [
            {"name": "look", "description": "Does look", "input_schema": schema},
            {"name": "find", "description": "Does find", "input_schema": schema,
             "cache_control": mark},
        ],
        "thinking": {"type": "enabled", "budget_tokens": 2_048},
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "See:"},
                {"type": "image", "source": source},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"b": 1, "a": "ü"}},
                {"type": "tool_use", "id": "c2", "name": "find", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [
                    {"type": "text", "text": "seen"},
                    {"type": "image", "source": source},
                ]},
                {"type": "tool_result", "tool_use_id": "c2", "content": [
                    {"type": "text", "text": "not found"},
                ], "is_error": true},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            {"role": "user", "content": [
                {"type": "text", "text": "Thanks.", "cache_control": mark},
            ]},
        ],
        "stream": true,
    });
    let asked = &server.asked()[0];
    assert_eq!(asked.body, expected.to_string());
    assert!(
        asked.head.starts_with("post /v1/messages http/1.1\r\n"),
        "{}",
        asked.head
    );
    for header in [
        format!("x-api-key: {KEY}\r\n"),
        "anthropic-version: 2023-06-01\r\n".into(),
        "content-type: application/json\r\n".into(),
    ] {
        assert!(asked.head.contains(&header), "{}", asked.head);
    }
}

#[test]
fn effort_depends_on_the_model() {
    let body = |model: &str, effort, choice| {
        let mut request = hello();
        request.options = RequestOptions {
            effort,
            choice,
            max_tokens: Some(100_000),
            cache: false,
        };
        let body = remote(Arc::new(Anthropic), model, 1).body(&request);
        let body: Value = serde_json::from_slice(&body).unwrap();
        (body["thinking"].clone(), body["output_config"].clone())
    };
    let (auto, adaptive) = (ToolChoice::Auto, json!({"type": "adaptive"}));
    for (model, effort, expected) in [
        (
            "claude-opus-4-6",
            Effort::Max,
            (adaptive.clone(), json!({"effort": "max"})),
        ),
        (
            "claude-opus-4-6",
            Effort::Xhigh,
            (adaptive.clone(), json!({"effort": "high"})),
        ),
        (
            "claude-opus-4-7",
            Effort::Xhigh,
            (adaptive, json!({"effort": "xhigh"})),
        ),
        (
            "claude-opus-4-20250514",
            Effort::High,
            (
                json!({"type": "enabled", "budget_tokens": 16_384}),
                Value::Null,
            ),
        ),
        (
            "claude-3-5-haiku-latest",
            Effort::High,
            (Value::Null, Value::Null),
        ),
        ("some-other", Effort::High, (Value::Null, Value::Null)),
    ] {
        assert_eq!(body(model, Some(effort), auto), expected, "{model}");
    }
    assert_eq!(
        body("claude-opus-4-6", None, auto),
        (Value::Null, Value::Null)
    );
    let forced = body("claude-opus-4-6", Some(Effort::High), ToolChoice::Required);
    assert_eq!(forced, (Value::Null, Value::Null));
}

#[test]
fn reasoning_does_not_start_between_calls() {
    let mut request = conversation("another", json!({}));
    request.messages.truncate(3);
    request.options = RequestOptions {
        effort: Some(Effort::Low),
        max_tokens: Some(4_000),
        ..RequestOptions::default()
    };
    let body = remote(Arc::new(Anthropic), "claude-sonnet-4-5", 1).body(&request);
    assert!(!String::from_utf8(body).unwrap().contains("thinking"));
}

#[test]
fn stop_reasons_are_mapped() {
    for (word, stop) in [
        ("end_turn", StopReason::End),
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refused),
        ("pause_turn", StopReason::Other("pause_turn".into())),
    ] {
        let body = json!({
            "content": [{"type": "text", "text": "x"}], "stop_reason": word, "usage": {},
        });
        let server = TestServer::once(whole("200 OK", "", &body.to_string()));
        let model = remote(Arc::new(Anthropic), "m", server.port).with_stream(false);
        assert_eq!(ask(&model, &hello()).0.unwrap().stop, stop);
    }
}

#[test]
fn errors_are_mapped() {
    for (status, kind, message, expected) in [
        (
            "401 X",
            "authentication_error",
            "invalid x-api-key",
            ModelErrorKind::Auth,
        ),
        ("403 X", "permission_error", "no", ModelErrorKind::Auth),
        (
            "404 X",
            "not_found_error",
            "model: foo",
            ModelErrorKind::BadRequest,
        ),
        (
            "400 X",
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            ModelErrorKind::ContextTooLong,
        ),
        (
            "400 X",
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 1 + 2 > 2",
            ModelErrorKind::ContextTooLong,
        ),
        (
            "400 X",
            "invalid_request_error",
            "max_tokens: wrong",
            ModelErrorKind::BadRequest,
        ),
        (
            "413 X",
            "request_too_large",
            "too large",
            ModelErrorKind::ContextTooLong,
        ),
        (
            "429 X",
            "rate_limit_error",
            "slow",
            ModelErrorKind::RateLimit { after: None },
        ),
        ("500 X", "api_error", "oops", ModelErrorKind::Transport),
        (
            "529 X",
            "overloaded_error",
            "Overloaded",
            ModelErrorKind::Transport,
        ),
    ] {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}});
        let server = TestServer::once(whole(status, "", &body.to_string()));
        let model = remote(Arc::new(Anthropic), "m", server.port);
        let error = ask(&model, &hello()).0.unwrap_err();
        assert_eq!(error.kind, expected, "{message}");
        assert!(error.message.starts_with(message), "{error}");
    }
}

#[test]
fn error_in_the_stream() {
    for (kind, message, expected) in [
        ("overloaded_error", "Overloaded", ModelErrorKind::Transport),
        (
            "invalid_request_error",
            "prompt is too long: 9 > 8",
            ModelErrorKind::ContextTooLong,
        ),
    ] {
        let event = json!({"type": "error", "error": {"type": kind, "message": message}});
        let server = TestServer::once(sse(&event.to_string()));
        let model = remote(Arc::new(Anthropic), "m", server.port);
        assert_eq!(ask(&model, &hello()).0.unwrap_err().kind, expected);
    }
}

#[test]
fn invalid_input_json_has_a_fault() {
    let events = STREAM.replace(r#""partial_json":"y\"}""#, r#""partial_json":"y""#);
    let server = TestServer::once(sse(&events));
    let model = remote(Arc::new(Anthropic), "m", server.port);
    let reply = ask(&model, &hello()).0.unwrap();
    let call = reply.calls().next().unwrap();
    assert!(
        call.fault
            .as_ref()
            .unwrap()
            .starts_with("the input is not valid JSON"),
        "{call:?}"
    );
    assert_eq!(call.input, json!("{\"a\": \"xy"));
}

#[test]
fn last_call_of_a_truncated_reply_has_a_fault() {
    let body = json!({
        "content": [{"type": "tool_use", "id": "a", "name": "rm", "input": {}}],
        "stop_reason": "max_tokens",
    });
    let server = TestServer::once(whole("200 OK", "", &body.to_string()));
    let model = remote(Arc::new(Anthropic), "m", server.port).with_stream(false);
    let reply = ask(&model, &hello()).0.unwrap();
    assert_eq!(reply.stop, StopReason::MaxTokens);
    assert!(reply.calls().next().unwrap().fault.is_some());
}

#[test]
fn empty_texts_are_omitted() {
    let mut request = hello();
    request.messages.insert(0, Message::user(" "));
    let body = remote(Arc::new(Anthropic), "m", 1).body(&request);
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert_eq!(
        remote(Arc::new(Anthropic), "m", 1).about().name,
        "test/m".into()
    );
}
