//! The Responses format.

use std::sync::Arc;

use prowess_agent::{
    Effort, MessagePart, ProviderData, Reply, RequestOptions, StopReason, ToolCall,
};
use prowess_models::OpenAiResponses;
use prowess_traits::ModelErrorKind;
use serde_json::{Value, json};

use crate::support::{KEY, ask, check_whole, conversation, hello, remote, seen, usage};
use prowess_test::server::{TestServer, json as whole, sse};

const OUTPUT: &str = r#"[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA","status":null},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"I look."}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"look","arguments":"{\"a\":\"xy\"}"},{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_b","name":"list","arguments":"{}"},{"type":"something_new"}]"#;

fn answer(output: &str, status: &str, more: &str) -> String {
    format!(
        r#"{{"id":"resp_1","object":"response","model":"gpt-5-2025-08-07","status":"{status}","error":null,"output":{output},"usage":{{"input_tokens":1025,"input_tokens_details":{{"cached_tokens":1000}},"output_tokens":89,"output_tokens_details":{{"reasoning_tokens":64}}}}{more}}}"#
    )
}

fn stream(last_output: &str) -> String {
    let items: Vec<Value> = serde_json::from_str(OUTPUT).unwrap();
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
        json!({"type": "response.in_progress", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_item.added", "output_index": 0,
               "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": items[0]}),
        json!({"type": "response.output_item.added", "output_index": 1,
               "item": {"type": "message", "role": "assistant", "content": []}}),
        json!({"type": "response.content_part.added", "output_index": 1}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "I lo"}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "ok."}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": items[1]}),
    ];
    for (at, name) in [(2, "look"), (3, "list")] {
        events.push(
            json!({"type": "response.output_item.added", "output_index": at,
            "item": {"type": "function_call", "call_id": "x", "name": name, "arguments": ""}}),
        );
        events.push(json!({"type": "response.function_call_arguments.delta", "delta": "{"}));
        events.push(
            json!({"type": "response.output_item.done", "output_index": at, "item": items[at]}),
        );
    }
    let last: Value = serde_json::from_str(&answer(last_output, "completed", "")).unwrap();
    events.push(json!({"type": "response.completed", "response": last}));
    events
        .iter()
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

fn reply() -> Reply {
    let value = json!({
        "type": "reasoning", "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA",
    });
    Reply {
        parts: vec![
            MessagePart::Reasoning {
                text: "hm".into(),
                opaque: Some(ProviderData {
                    provider: "openai-responses".into(),
                    value,
                }),
            },
            MessagePart::text("I look."),
            MessagePart::Call(ToolCall::new("call_a", "look", json!({"a": "xy"}))),
            MessagePart::Call(ToolCall::new("call_b", "list", json!({}))),
        ],
        stop: StopReason::ToolUse,
        usage: usage(),
        model: "gpt-5-2025-08-07".into(),
    }
}

#[test]
fn streamed_reply_is_parsed() {
    // The last event repeats the output or omits it.
    for last in [OUTPUT, "[]"] {
        let server = TestServer::once(sse(&stream(last)));
        let (got, shown) = ask(
            &remote(Arc::new(OpenAiResponses), "gpt-5", server.port),
            &hello(),
        );
        assert_eq!(got, Ok(reply()));
        assert_eq!(shown, seen(&["hm"], &["I lo", "ok."]));
    }
}

#[test]
fn complete_reply_is_parsed() {
    check_whole(
        Arc::new(OpenAiResponses),
        "gpt-5",
        &answer(OUTPUT, "completed", ""),
        reply(),
    );
}

#[test]
fn request_body_is_exact() {
    let server = TestServer::once(sse(&stream(OUTPUT)));
    let model = remote(Arc::new(OpenAiResponses), "gpt-5", server.port);
    let own = json!({"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "e"});
    let mut request = conversation("openai-responses", own.clone());
    request.options = RequestOptions {
        max_tokens: Some(500),
        effort: Some(Effort::Medium),
        ..RequestOptions::default()
    };
    ask(&model, &request).0.unwrap();
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {"type": "string"}}});
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBORw0="});
    let tool = |name: &str| {
        json!({
            "type": "function", "name": name, "description": format!("Does {name}"),
            "parameters": schema, "strict": false,
        })
    };
    let expected = json!({
        "model": "gpt-5",
        "instructions": "Be brief.\n\nUse tools.",
        "tools": [tool("look"), tool("find")],
        "input": [
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "See:"}, image,
            ]},
            own,
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "I look."},
            ]},
            {"type": "function_call", "call_id": "c1", "name": "look",
             "arguments": "{\"b\":1,\"a\":\"ü\"}"},
            {"type": "function_call", "call_id": "c2", "name": "find", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": [
                {"type": "input_text", "text": "seen"}, image,
            ]},
            {"type": "function_call_output", "call_id": "c2", "output": "error: not found"},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "Done."},
            ]},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Thanks."},
            ]},
        ],
        "max_output_tokens": 500,
        "reasoning": {"effort": "medium"},
        "include": ["reasoning.encrypted_content"],
        "store": false,
        "stream": true,
    });
    let asked = &server.asked()[0];
    assert_eq!(asked.body, expected.to_string());
    assert!(
        asked.head.starts_with("post /responses http/1.1\r\n"),
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
fn effort_is_omitted_for_models_without_reasoning() {
    let mut request = hello();
    request.options.effort = Some(Effort::High);
    let body = remote(Arc::new(OpenAiResponses), "gpt-4o", 1).body(&request);
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((body.get("reasoning"), body.get("include")), (None, None));
}

#[test]
fn stop_reasons_are_mapped() {
    let refusal = r#"[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]"#;
    let details = |reason: &str| format!(r#","incomplete_details":{{"reason":"{reason}"}}"#);
    for (body, stop) in [
        (answer("[]", "completed", ""), StopReason::End),
        (
            answer("[]", "incomplete", &details("max_output_tokens")),
            StopReason::MaxTokens,
        ),
        (
            answer("[]", "incomplete", &details("content_filter")),
            StopReason::Refused,
        ),
        (answer(refusal, "completed", ""), StopReason::Refused),
    ] {
        let server = TestServer::once(whole("200 OK", "", &body));
        let model = remote(Arc::new(OpenAiResponses), "m", server.port).with_stream(false);
        assert_eq!(ask(&model, &hello()).0.unwrap().stop, stop);
    }
}

#[test]
fn error_in_the_stream() {
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "words"});
        json!({"type": "response.failed", "response": {"status": "failed", "error": error}})
    };
    for (event, expected) in [
        (failed("server_error"), ModelErrorKind::Transport),
        (
            failed("rate_limit_exceeded"),
            ModelErrorKind::RateLimit { after: None },
        ),
        (
            failed("context_length_exceeded"),
            ModelErrorKind::ContextTooLong,
        ),
        (
            json!({"type": "error", "code": "invalid_prompt", "message": "no"}),
            ModelErrorKind::BadRequest,
        ),
        (
            json!({"type": "error", "error": {"code": "x", "message":
                "Your input exceeds the context window of this model."}}),
            ModelErrorKind::ContextTooLong,
        ),
    ] {
        let server = TestServer::once(sse(&event.to_string()));
        let model = remote(Arc::new(OpenAiResponses), "m", server.port);
        assert_eq!(
            ask(&model, &hello()).0.unwrap_err().kind,
            expected,
            "{event}"
        );
    }
}
