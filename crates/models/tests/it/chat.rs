//! The Chat Completions format.

use std::sync::Arc;

use prowess_agent::{Effort, MessagePart, Reply, RequestOptions, StopReason, ToolCall, ToolChoice};
use prowess_models::OpenAiChat;
use prowess_traits::ModelErrorKind;
use serde_json::{Value, json};

use crate::support::{KEY, ask, check_whole, conversation, hello, remote, seen, usage};
use prowess_test::server::{TestServer, json as whole, sse};

const STREAM: &str = r#"
{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"reasoning_content":"hm","reasoning":"hm"},"finish_reason":null}]}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"content":"I lo"},"finish_reason":null}]}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"content":"ok."},"finish_reason":null}]}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":null}]}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]},"finish_reason":null}]}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"list","arguments":""}}]},"finish_reason":null}]}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"xy\"}"}}]},"finish_reason":null}]}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}
{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[],"usage":{"prompt_tokens":1025,"completion_tokens":89,"total_tokens":1114,"prompt_tokens_details":{"cached_tokens":1000,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":4}}}
[DONE]
"#;

const WHOLE: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","model":"gpt-4o-2024-08-06","choices":[{"index":0,"message":{"role":"assistant","reasoning":"hm","content":"I look.","refusal":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":"{\"a\":\"xy\"}"}},{"id":"call_b","type":"function","function":{"name":"list","arguments":""}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1025,"completion_tokens":89,"prompt_tokens_details":{"cached_tokens":1000}}}"#;

fn reply() -> Reply {
    Reply {
        parts: vec![
            MessagePart::Reasoning {
                text: "hm".into(),
                opaque: None,
            },
            MessagePart::text("I look."),
            MessagePart::Call(ToolCall::new("call_a", "look", json!({"a": "xy"}))),
            MessagePart::Call(ToolCall::new("call_b", "list", json!({}))),
        ],
        stop: StopReason::ToolUse,
        usage: usage(),
        model: "gpt-4o-2024-08-06".into(),
    }
}

fn official() -> Arc<OpenAiChat> {
    Arc::new(OpenAiChat::Official)
}

#[test]
fn streamed_reply_is_parsed() {
    let server = TestServer::once(sse(STREAM));
    let (got, shown) = ask(&remote(official(), "gpt-4o", server.port), &hello());
    assert_eq!(got, Ok(reply()));
    assert_eq!(shown, seen(&["hm"], &["I lo", "ok."]));
}

#[test]
fn complete_reply_is_parsed() {
    check_whole(official(), "gpt-4o", WHOLE, reply());
}

#[test]
fn unstreamed_reply_is_accepted() {
    let server = TestServer::once(whole("200 OK", "", WHOLE));
    let model = remote(official(), "gpt-4o", server.port);
    assert_eq!(ask(&model, &hello()), (Ok(reply()), vec![]));
}

#[test]
fn request_body_is_exact() {
    let server = TestServer::once(sse(STREAM));
    let model = remote(official(), "o3", server.port);
    let mut request = conversation("openai-chat", json!({}));
    request.options = RequestOptions {
        max_tokens: Some(500),
        effort: Some(Effort::Max),
        choice: ToolChoice::Required,
        cache: true,
    };
    ask(&model, &request).0.unwrap();
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {"type": "string"}}});
    let tool = |name: &str| {
        let description = format!("Does {name}");
        let function = json!({"name": name, "description": description, "parameters": schema});
        json!({"type": "function", "function": function})
    };
    let call = |id: &str, name: &str, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": id, "type": "function", "function": function})
    };
    let expected = json!({
        "model": "o3",
        "tools": [tool("look"), tool("find")],
        "tool_choice": "required",
        "messages": [
            {"role": "system", "content": "Be brief.\n\nUse tools."},
            {"role": "user", "content": [
                {"type": "text", "text": "See:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}},
            ]},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                call("c1", "look", "{\"b\":1,\"a\":\"ü\"}"),
                call("c2", "find", "{}"),
            ]},
            {"role": "tool", "tool_call_id": "c1", "content":
                "seen\n[1 image omitted: this provider does not accept images from tools]"},
            {"role": "tool", "tool_call_id": "c2", "content": "error: not found"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks."},
        ],
        "max_completion_tokens": 500,
        "reasoning_effort": "high",
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    let asked = &server.asked()[0];
    assert_eq!(asked.body, expected.to_string());
    assert!(
        asked
            .head
            .starts_with("post /chat/completions http/1.1\r\n"),
        "{}",
        asked.head
    );
    assert!(
        asked
            .head
            .contains(&format!("authorization: bearer {KEY}\r\n")),
        "{}",
        asked.head
    );
}

#[test]
fn other_servers_get_older_fields() {
    let mut request = hello();
    request.options.max_tokens = Some(5);
    let body = remote(Arc::new(OpenAiChat::Compatible), "m", 1)
        .with_stream(false)
        .body(&request);
    let expected = json!({
        "model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 5,
    });
    assert_eq!(String::from_utf8(body).unwrap(), expected.to_string());
}

#[test]
fn calls_with_bad_indexes_are_separated() {
    let piece = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]}).to_string();
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string();
    let whole = |name: &str, index: Value| {
        let mut call = json!({"id": "same", "function": {"name": name, "arguments": "{\"x\":1}"}});
        if !index.is_null() {
            call["index"] = index;
        }
        call
    };
    for (what, pieces) in [
        (
            "no number",
            vec![piece(json!([
                whole("a", Value::Null),
                whole("b", Value::Null)
            ]))],
        ),
        (
            "always 0",
            vec![
                piece(json!([whole("a", json!(0))])),
                piece(json!([whole("b", json!(0))])),
            ],
        ),
        (
            "an object",
            vec![
                piece(json!([{"id": "same", "function": {"name": "a", "arguments": {"x": 1}}}])),
                piece(json!([{"id": "same", "function": {"name": "b"}}])),
                piece(json!([{"function": {"arguments": "{\"x\":"}}])),
                piece(json!([{"function": {"arguments": "1}"}}])),
            ],
        ),
    ] {
        let server = TestServer::once(sse(&[pieces.join("\n"), end.clone()].join("\n")));
        let reply = ask(&remote(official(), "m", server.port), &hello())
            .0
            .unwrap();
        let call = |name: &str| MessagePart::Call(ToolCall::new("same", name, json!({"x": 1})));
        assert_eq!(reply.parts, [call("a"), call("b")], "{what}");
        assert_eq!(reply.stop, StopReason::ToolUse, "{what}");
    }
}

#[test]
fn stop_reasons_are_mapped() {
    for (choice, stop) in [
        (
            json!({"delta": {"content": "x"}, "finish_reason": "stop"}),
            StopReason::End,
        ),
        (
            json!({"delta": {"content": "x"}, "finish_reason": "length"}),
            StopReason::MaxTokens,
        ),
        (
            json!({"delta": {}, "finish_reason": "content_filter"}),
            StopReason::Refused,
        ),
        (
            json!({"delta": {"refusal": "No."}, "finish_reason": "stop"}),
            StopReason::Refused,
        ),
        (
            json!({"delta": {}, "finish_reason": "odd"}),
            StopReason::Other("odd".into()),
        ),
    ] {
        let server = TestServer::once(sse(&json!({"choices": [choice]}).to_string()));
        let reply = ask(&remote(official(), "m", server.port), &hello())
            .0
            .unwrap();
        assert_eq!(reply.stop, stop);
    }
}

#[test]
fn errors_are_mapped() {
    let error = |message: &str, code: Value| json!({"error": {"message": message, "code": code}});
    for (status, body, expected) in [
        (
            "401 X",
            error("Incorrect API key", json!("invalid_api_key")),
            ModelErrorKind::Auth,
        ),
        (
            "404 X",
            error("no such model", json!("model_not_found")),
            ModelErrorKind::BadRequest,
        ),
        (
            "400 X",
            error("x", json!("context_length_exceeded")),
            ModelErrorKind::ContextTooLong,
        ),
        (
            "400 X",
            error(
                "This model's maximum context length is 8192 tokens.",
                json!(400),
            ),
            ModelErrorKind::ContextTooLong,
        ),
        (
            "400 X",
            json!({"error": {"code": 400, "message": "the request exceeds the available context \
                   size, try increasing it", "type": "exceed_context_size_error"}}),
            ModelErrorKind::ContextTooLong,
        ),
        (
            "429 X",
            error("slow", json!("rate_limit_exceeded")),
            ModelErrorKind::RateLimit { after: None },
        ),
        (
            "429 X",
            error("quota", json!("insufficient_quota")),
            ModelErrorKind::BadRequest,
        ),
        (
            "503 X",
            error("down", json!(null)),
            ModelErrorKind::Transport,
        ),
        (
            "400 X",
            json!({"error": "just words"}),
            ModelErrorKind::BadRequest,
        ),
        ("302 X", json!({}), ModelErrorKind::BadRequest),
    ] {
        let server = TestServer::once(whole(
            status,
            "location: http://evil.example/\r\n",
            &body.to_string(),
        ));
        let got = ask(&remote(official(), "m", server.port), &hello())
            .0
            .unwrap_err();
        assert_eq!(got.kind, expected, "{body}: {got}");
    }
}

#[test]
fn error_in_the_stream() {
    let event = json!({"error": {"code": 429, "message": "slow down"}});
    let server = TestServer::once(sse(&event.to_string()));
    let error = ask(&remote(official(), "m", server.port), &hello())
        .0
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::RateLimit { after: None });
}
