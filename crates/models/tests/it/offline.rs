//! Models without a server: scripts, recordings, echo.

use std::sync::Arc;

use prowess_agent::{
    Delta, Message, MessagePart, Reply, Request, StopReason, TokenUsage, ToolCall,
};
use prowess_models::{EchoModel, RecordingModel, ReplayModel, ScriptError, ScriptedModel, digest};
use prowess_traits::{Model, ModelErrorKind};
use serde_json::json;

use crate::support::{ask, conversation, hello, text};

#[test]
fn script_is_played_line_by_line() {
    let script = r#"
        # first it calls
        {"text": "I lööök.", "calls": [{"name": "look", "input": {"a": 1}}, {"name": "list"}], "chunks": 3, "usage": {"input": 5, "output": 2}, "expect": ["hel", "lo"]}
        {"text": "Done.", "stop": "max_tokens"}
        {"error": {"kind": "rate-limit", "message": "slow"}}
        {"text": "never", "expect": "good bye"}
    "#;
    let model = ScriptedModel::parse("demo", script).unwrap();
    assert_eq!(&*model.about().name, "scripted/demo");
    assert!(model.about().note.as_ref().unwrap().contains("script"));
    let (reply, shown) = ask(&model, &hello());
    let expected = Reply {
        parts: vec![
            MessagePart::text("I lööök."),
            MessagePart::Call(ToolCall::new("call-3-1", "look", json!({"a": 1}))),
            MessagePart::Call(ToolCall::new("call-3-2", "list", json!({}))),
        ],
        stop: StopReason::ToolUse,
        usage: TokenUsage {
            input: 5,
            output: 2,
            ..TokenUsage::default()
        },
        model: "scripted".into(),
    };
    assert_eq!(reply, Ok(expected));
    let call = |name: &str| Delta::Call { name: name.into() };
    assert_eq!(
        shown,
        [
            text("I l"),
            text("ööö"),
            text("k."),
            call("look"),
            call("list")
        ]
    );
    assert_eq!(ask(&model, &hello()).0.unwrap().stop, StopReason::MaxTokens);
    let error = ask(&model, &hello()).0.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ModelErrorKind::RateLimit { after: None }, "slow")
    );
    let error = ask(&model, &hello()).0.unwrap_err();
    assert_eq!(
        error.message,
        "line 6 of the script expects `good bye` in the request, but it is missing"
    );
    let error = ask(&model, &hello()).0.unwrap_err();
    assert_eq!(error.message, "the script has only 4 replies");
    assert_eq!((error.kind, model.left()), (ModelErrorKind::BadRequest, 0));
}

#[test]
fn invalid_scripts_are_rejected() {
    assert_eq!(
        ScriptedModel::parse("x", "\n# no\n").unwrap_err(),
        ScriptError::Empty
    );
    for line in [
        "{",
        "[]",
        r#"{"txt": "slip"}"#,
        r#"{"calls": [{"input": {}}]}"#,
    ] {
        let error = ScriptedModel::parse("x", &format!("\n{line}")).unwrap_err();
        assert!(
            matches!(error, ScriptError::Line { line: 2, .. }),
            "{error}"
        );
    }
}

#[test]
fn echo_repeats_the_last_text() {
    let mut request = conversation("x", json!({}));
    let (reply, shown) = ask(&EchoModel::default(), &request);
    assert_eq!(reply.unwrap().parts, [MessagePart::text("Thanks.")]);
    assert_eq!(shown, [text("Thanks.")]);
    request.messages.truncate(3);
    assert_eq!(
        ask(&EchoModel::default(), &request).0.unwrap().parts,
        [MessagePart::text("See:")]
    );
}

#[test]
fn recording_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape.jsonl");
    let script = "{\"text\":\"one\",\"calls\":[{\"name\":\"look\"}]}\n{\"text\":\"two\"}\n{\"text\":\"other\"}";
    let other = Request {
        messages: vec![Message::user("other")].into(),
        ..Request::default()
    };
    let inner = Arc::new(ScriptedModel::parse("demo", script).unwrap());
    let recorder = RecordingModel::open(inner, &path).unwrap();
    let first = [&hello(), &hello(), &other].map(|request| ask(&recorder, request));
    let replay = ReplayModel::open(&path).unwrap();
    let second = [&hello(), &hello(), &other].map(|request| ask(&replay, request));
    assert_eq!(first, second);
    assert_eq!(&*replay.about().name, "replay/scripted/demo");
    assert_eq!(
        ask(&replay, &hello()).0.unwrap().parts,
        [MessagePart::text("two")],
        "the last again"
    );
    let unknown = Request {
        messages: vec![Message::user("new")].into(),
        ..Request::default()
    };
    let error = ask(&replay, &unknown).0.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::BadRequest);
    assert!(error.message.contains(&digest(&unknown)), "{error}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[test]
fn digest_covers_the_request() {
    let one = conversation("x", json!({"a": 1, "b": 2}));
    assert_eq!(
        digest(&one),
        digest(&conversation("x", json!({"b": 2, "a": 1})))
    );
    let mut others = vec![one.clone(); 5];
    others[0].system.push("more".into());
    others[1].tools.pop();
    others[2].messages.pop();
    others[3].options.max_tokens = None;
    others[4].tools[0].description.push('!');
    for other in &others {
        assert_ne!(digest(&one), digest(other));
    }
}

#[test]
fn invalid_recordings_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape.jsonl");
    assert!(ReplayModel::open(&path).is_err());
    std::fs::write(&path, "\n{}\n").unwrap();
    assert!(
        ReplayModel::open(&path)
            .unwrap_err()
            .to_string()
            .contains("line 2")
    );
}
