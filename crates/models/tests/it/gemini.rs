//! The format of Gemini.

use std::sync::Arc;
use std::time::Duration;

use prowess_agent::{
    Effort, MessagePart, MessageRole, ProviderData, Reply, Request, RequestOptions, StopReason,
    ToolCall, ToolChoice,
};
use prowess_models::Gemini;
use prowess_traits::ModelErrorKind;
use serde_json::{Value, json};

use crate::support::{KEY, ask, check_whole, conversation, hello, remote, seen, usage};
use prowess_test::server::{TestServer, json as whole, sse};

const STREAM: &str = r#"
{"candidates":[{"content":{"parts":[{"text":"h","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":1025},"modelVersion":"gemini-2.5-pro","responseId":"r"}
{"candidates":[{"content":{"parts":[{"text":"m","thought":true}],"role":"model"},"index":0}]}
{"candidates":[{"content":{"parts":[{"text":"I lo"}],"role":"model"},"index":0}]}
{"candidates":[{"content":{"parts":[{"text":"ok."}],"role":"model"},"index":0}]}
{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"a":"xy"}},"thoughtSignature":"CsIB"},{"functionCall":{"id":"f2","name":"list","args":{}}}],"role":"model"},"index":0}]}
{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"EjQ="}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1025,"cachedContentTokenCount":1000,"candidatesTokenCount":25,"thoughtsTokenCount":64,"totalTokenCount":1114},"modelVersion":"gemini-2.5-pro"}
"#;

const WHOLE: &str = r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"I look."},{"functionCall":{"name":"look","args":{"a":"xy"}},"thoughtSignature":"CsIB"},{"functionCall":{"id":"f2","name":"list"}},{"text":"","thoughtSignature":"EjQ="}],"role":"model"},"finishReason":"STOP","safetyRatings":[]}],"usageMetadata":{"promptTokenCount":1025,"cachedContentTokenCount":1000,"candidatesTokenCount":25,"thoughtsTokenCount":64},"modelVersion":"gemini-2.5-pro"}"#;

fn opaque(signature: &str) -> ProviderData {
    ProviderData {
        provider: "gemini".into(),
        value: json!({"thoughtSignature": signature}),
    }
}

fn reply() -> Reply {
    let look = ToolCall {
        opaque: Some(opaque("CsIB")),
        ..ToolCall::new("", "look", json!({"a": "xy"}))
    };
    Reply {
        parts: vec![
            MessagePart::Reasoning {
                text: "hm".into(),
                opaque: None,
            },
            MessagePart::text("I look."),
            MessagePart::Call(look),
            MessagePart::Call(ToolCall::new("f2", "list", json!({}))),
            MessagePart::Reasoning {
                text: String::new(),
                opaque: Some(opaque("EjQ=")),
            },
        ],
        stop: StopReason::ToolUse,
        usage: usage(),
        model: "gemini-2.5-pro".into(),
    }
}

#[test]
fn streamed_reply_is_parsed() {
    let server = TestServer::once(sse(STREAM));
    let (got, shown) = ask(
        &remote(Arc::new(Gemini), "gemini-2.5-pro", server.port),
        &hello(),
    );
    assert_eq!(got, Ok(reply()));
    assert_eq!(shown, seen(&["h", "m"], &["I lo", "ok."]));
    let head = &server.asked()[0].head;
    let path = "post /v1beta/models/gemini-2.5-pro:streamgeneratecontent?alt=sse http/1.1\r\n";
    assert!(head.starts_with(path), "{head}");
    assert!(
        head.contains(&format!("x-goog-api-key: {KEY}\r\n")),
        "{head}"
    );
}

#[test]
fn complete_reply_is_parsed() {
    let server = check_whole(Arc::new(Gemini), "gemini-2.5-pro", WHOLE, reply());
    let head = &server.asked()[0].head;
    assert!(
        head.starts_with("post /v1beta/models/gemini-2.5-pro:generatecontent http"),
        "{head}"
    );
}

#[test]
fn request_body_is_exact() {
    let server = TestServer::once(sse(STREAM));
    let model = remote(Arc::new(Gemini), "gemini-2.5-pro", server.port);
    let mut request = conversation("gemini", json!({"thoughtSignature": "T"}));
    if let Some(MessagePart::Call(call)) = request.messages[1].parts.get_mut(3) {
        call.opaque = Some(opaque("S"));
    }
    request.options = RequestOptions {
        max_tokens: Some(500),
        effort: Some(Effort::Low),
        choice: ToolChoice::None,
        cache: true,
    };
    ask(&model, &request).0.unwrap();
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {"type": "string"}}});
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0="}});
    let tool = |name: &str| {
        let description = format!("Does {name}");
        json!({"name": name, "description": description, "parametersJsonSchema": schema})
    };
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Use tools."}]},
        "tools": [{"functionDeclarations": [tool("look"), tool("find")]}],
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
        "contents": [
            {"role": "user", "parts": [{"text": "See:"}, image]},
            {"role": "model", "parts": [
                {"text": "", "thoughtSignature": "T"},
                {"text": "I look."},
                {"functionCall": {"name": "look", "args": {"b": 1, "a": "ü"}, "id": "c1"},
                 "thoughtSignature": "S"},
                {"functionCall": {"name": "find", "args": {}, "id": "c2"}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "look", "response": {"result": "seen"}, "id": "c1"}},
                image,
                {"functionResponse":
                    {"name": "find", "response": {"error": "not found"}, "id": "c2"}},
            ]},
            {"role": "model", "parts": [{"text": "Done."}]},
            {"role": "user", "parts": [{"text": "Thanks."}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 500,
            "thinkingConfig": {"thinkingBudget": 1_024, "includeThoughts": true},
        },
    });
    assert_eq!(server.asked()[0].body, expected.to_string());
}

#[test]
fn effort_depends_on_the_model() {
    let config = |model: &str, effort| {
        let mut request = Request { ..hello() };
        request.options.effort = Some(effort);
        let body = remote(Arc::new(Gemini), model, 1).body(&request);
        let body: Value = serde_json::from_slice(&body).unwrap();
        body["generationConfig"]["thinkingConfig"].clone()
    };
    let level = |level: &str| json!({"thinkingLevel": level, "includeThoughts": true});
    assert_eq!(
        config("gemini-3-flash-preview", Effort::Medium),
        level("medium")
    );
    assert_eq!(
        config("gemini-3-pro-preview", Effort::Medium),
        level("high")
    );
    assert_eq!(config("gemini-2.0-flash", Effort::Medium), Value::Null);
    assert_eq!(hello().messages[0].role, MessageRole::User);
}

#[test]
fn stop_reasons_are_mapped() {
    for (body, stop) in [
        (
            json!({"candidates": [{"finishReason": "MAX_TOKENS"}]}),
            Ok(StopReason::MaxTokens),
        ),
        (
            json!({"candidates": [{"finishReason": "SAFETY"}]}),
            Ok(StopReason::Refused),
        ),
        (
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
            Ok(StopReason::Refused),
        ),
        (
            json!({"candidates": [{"finishReason": "OTHER"}]}),
            Ok(StopReason::Other("OTHER".into())),
        ),
        (
            json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}),
            Err(ModelErrorKind::BadReply),
        ),
        (
            json!({"candidates": [{"content": {"parts": [{"text": "x"}]}}]}),
            Err(ModelErrorKind::BadReply),
        ),
    ] {
        let server = TestServer::once(sse(&body.to_string()));
        let got = ask(&remote(Arc::new(Gemini), "m", server.port), &hello()).0;
        assert_eq!(
            got.map(|reply| reply.stop).map_err(|error| error.kind),
            stop,
            "{body}"
        );
    }
}

#[test]
fn errors_are_mapped() {
    let after = Some(Duration::from_secs(30));
    for (status, message, expected) in [
        (
            "400 X",
            "API key not valid. Please pass a valid API key.",
            ModelErrorKind::Auth,
        ),
        (
            "400 X",
            "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
            ModelErrorKind::ContextTooLong,
        ),
        (
            "400 X",
            "Invalid value at 'contents'",
            ModelErrorKind::BadRequest,
        ),
        ("403 X", "denied", ModelErrorKind::Auth),
        (
            "429 X",
            "Resource exhausted",
            ModelErrorKind::RateLimit { after },
        ),
        (
            "503 X",
            "The model is overloaded.",
            ModelErrorKind::Transport,
        ),
    ] {
        let detail =
            json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30s"});
        let error = json!({"code": 1, "message": message, "status": "X", "details": [detail]});
        // In a stream, an error is wrapped in a list.
        let server = TestServer::once(whole(status, "", &json!([{"error": error}]).to_string()));
        let got = ask(&remote(Arc::new(Gemini), "m", server.port), &hello())
            .0
            .unwrap_err();
        assert_eq!(got.kind, expected, "{message}");
        assert!(got.message.starts_with(message), "{got}");
    }
}
