//! Retries.

use std::sync::Arc;
use std::time::Duration;

use prowess_agent::{Delta, MessagePart};
use prowess_models::{Anthropic, OpenAiChat, RemoteModel, RetryPolicy};
use prowess_traits::{ModelError, ModelErrorKind};

use crate::support::{Waits, ask, hello, remote, text};
use prowess_test::server::{ServerStep, TestServer, json, sse};

const GOOD: &str = r#"
{"choices":[{"delta":{"content":"Hello"}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]}
[DONE]
"#;

const RETRY: RetryPolicy = RetryPolicy {
    attempts: 4,
    total: Duration::from_mins(1),
    first: Duration::from_secs(1),
    most: Duration::from_secs(8),
};

fn model(port: u16) -> (RemoteModel, Arc<Waits>) {
    let waits = Arc::new(Waits::default());
    let model = remote(Arc::new(OpenAiChat::Compatible), "m", port);
    (model.with_retry(RETRY, waits.clone()), waits)
}

fn refusal(status: &str, headers: &str) -> Vec<ServerStep> {
    vec![ServerStep::Send(json(
        status,
        headers,
        r#"{"error":{"message":"later"}}"#,
    ))]
}

/// Asks a server that always fails; returns the error, the number of requests and the delays.
fn storm(status: &str, headers: &str) -> (ModelError, usize, Vec<u128>) {
    let server = TestServer::new(vec![refusal(status, headers); 20]);
    let (model, waits) = model(server.port);
    let error = ask(&model, &hello()).0.unwrap_err();
    let waits = waits
        .0
        .lock()
        .unwrap()
        .iter()
        .map(Duration::as_millis)
        .collect();
    (error, server.asked().len(), waits)
}

#[test]
fn retries_stop_after_the_attempts() {
    for status in ["429 X", "500 X", "502 X", "503 X", "529 X"] {
        let (error, requests, waits) = storm(status, "");
        assert_eq!((requests, error.attempts), (4, 4), "{status}");
        assert_eq!(waits, [500, 1_000, 2_000], "{status}");
    }
}

#[test]
fn requested_delay_is_used() {
    for (header, wait) in [
        ("retry-after: 7\r\n", 7_000),
        ("retry-after: Sun, 06 Nov 1994 08:49:47 GMT\r\n", 10_000),
        ("retry-after: Sun, 06 Nov 1994 08:49:00 GMT\r\n", 0),
        ("retry-after-ms: 250\r\nretry-after: 1\r\n", 250),
    ] {
        let (error, requests, waits) = storm("429 X", header);
        assert_eq!((requests, waits), (4, vec![wait; 3]), "{header}");
        let after = Some(Duration::from_millis(u64::try_from(wait).unwrap()));
        assert_eq!(error.kind, ModelErrorKind::RateLimit { after }, "{header}");
    }
}

#[test]
fn delay_beyond_the_limit_is_not_waited() {
    for (header, after) in [
        ("retry-after: 3600\r\n", Duration::from_hours(1)),
        (
            "retry-after: 99999999999999999999\r\n",
            Duration::from_hours(24),
        ),
        (
            "retry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n",
            Duration::from_hours(24),
        ),
    ] {
        let (error, requests, waits) = storm("429 X", header);
        assert_eq!((requests, waits), (1, vec![]), "{header}");
        assert_eq!(
            error.kind,
            ModelErrorKind::RateLimit { after: Some(after) },
            "{header}"
        );
    }
}

#[test]
fn retries_stop_after_the_total_delay() {
    let (error, requests, waits) = storm("503 X", "retry-after: 25\r\n");
    assert_eq!((requests, waits), (3, vec![25_000, 25_000]));
    assert_eq!(error.kind, ModelErrorKind::Transport);
}

#[test]
fn permanent_errors_are_not_retried() {
    for status in ["400 X", "401 X", "403 X", "404 X", "413 X", "422 X"] {
        let (error, requests, _) = storm(status, "retry-after: 1\r\n");
        assert_eq!((requests, error.attempts), (1, 1), "{status}");
    }
}

#[test]
fn reply_after_errors_is_returned() {
    let good = vec![ServerStep::Send(sse(GOOD))];
    let server = TestServer::new([refusal("529 X", ""), refusal("429 X", ""), good]);
    let (reply, shown) = ask(&model(server.port).0, &hello());
    assert_eq!(reply.unwrap().parts, [MessagePart::text("Hello")]);
    assert_eq!(shown, [text("Hello")]);
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert!(
        asked.iter().all(|one| one.body == asked[0].body),
        "the same bytes each time"
    );
}

#[test]
fn shown_deltas_are_restarted() {
    let cut = vec![ServerStep::Send(sse(
        r#"{"choices":[{"delta":{"content":"Hel"}}]}"#,
    ))];
    let server = TestServer::new([
        cut.clone(),
        refusal("500 X", ""),
        cut,
        vec![ServerStep::Send(sse(GOOD))],
    ]);
    let (reply, shown) = ask(&model(server.port).0, &hello());
    assert_eq!(reply.unwrap().parts, [MessagePart::text("Hello")]);
    let expected = [
        text("Hel"),
        Delta::Restart,
        text("Hel"),
        Delta::Restart,
        text("Hello"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn overload_in_the_stream_is_retried() {
    let event = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let server = TestServer::new(vec![vec![ServerStep::Send(sse(event))]; 9]);
    let waits = Arc::new(Waits::default());
    let model = remote(Arc::new(Anthropic), "m", server.port).with_retry(RETRY, waits);
    assert_eq!(ask(&model, &hello()).0.unwrap_err().attempts, 4);
}
