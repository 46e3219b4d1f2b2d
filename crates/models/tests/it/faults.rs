//! Servers that hang, disconnect or send invalid data.

use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use prowess_agent::Delta;
use prowess_http::Deadlines;
use prowess_models::{Anthropic, Gemini, OpenAiChat, OpenAiResponses, WireFormat};
use prowess_traits::{Model, ModelError, ModelErrorKind};

use crate::support::{ask, block_on, hello, patient, remote, remote_within, text};
use prowess_test::PATIENCE;
use prowess_test::server::{ServerStep, TestServer, sse, sse_head};

const SHORT: Duration = Duration::from_millis(60);

fn wires() -> [Arc<dyn WireFormat>; 4] {
    [
        Arc::new(Anthropic),
        Arc::new(OpenAiChat::Compatible),
        Arc::new(OpenAiResponses),
        Arc::new(Gemini),
    ]
}

fn fails(steps: Vec<ServerStep>, deadlines: Deadlines) -> (ModelError, Vec<Delta>) {
    let server = TestServer::new([steps]);
    let model = remote_within(
        Arc::new(OpenAiChat::Compatible),
        "m",
        server.port,
        deadlines,
    );
    let (reply, shown) = ask(&model, &hello());
    (reply.unwrap_err(), shown)
}

const BEGIN: &str = r#"{"choices":[{"delta":{"content":"Once"}}]}"#;

#[test]
fn connection_is_refused() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let error = ask(&remote(Arc::new(Anthropic), "m", port), &hello())
        .0
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Transport);
    assert!(
        error.message.starts_with("cannot connect to 127.0.0.1:"),
        "{error}"
    );
}

#[test]
fn silent_server_times_out() {
    let (error, _) = fails(
        vec![ServerStep::Hold],
        Deadlines {
            first: SHORT,
            ..patient()
        },
    );
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ModelErrorKind::Timeout, "no response in time")
    );
}

#[test]
fn stalled_response_times_out() {
    let steps = vec![ServerStep::Send(sse(BEGIN)), ServerStep::Hold];
    let (error, shown) = fails(
        steps,
        Deadlines {
            idle: SHORT,
            ..patient()
        },
    );
    assert_eq!(error.kind, ModelErrorKind::Timeout);
    assert_eq!(error.message, "the response stalled");
    assert_eq!(shown, [text("Once")]);
}

#[test]
fn dripping_response_times_out() {
    let steps = vec![ServerStep::Send(sse_head()), ServerStep::Drip];
    let (error, _) = fails(
        steps,
        Deadlines {
            total: SHORT,
            ..patient()
        },
    );
    assert_eq!(error.kind, ModelErrorKind::Timeout);
    assert_eq!(error.message, "the response took too long");
}

#[test]
fn oversized_event_is_rejected() {
    let mut steps = vec![
        ServerStep::Send(sse_head()),
        ServerStep::Send(b"data: ".to_vec()),
    ];
    steps.extend(vec![ServerStep::Send(vec![b'x'; 1024 * 1024]); 50]);
    let (error, _) = fails(steps, patient());
    assert_eq!(error.kind, ModelErrorKind::BadReply);
    assert_eq!(error.message, "an event is larger than 8388608 bytes");
}

#[test]
fn endless_response_is_rejected() {
    let mut steps = vec![ServerStep::Send(sse_head())];
    steps.extend(vec![ServerStep::Send(b": x\n\n".repeat(1_000)); 30]);
    let (error, _) = fails(
        steps,
        Deadlines {
            bytes: 100_000,
            ..patient()
        },
    );
    assert_eq!(error.kind, ModelErrorKind::BadReply);
    assert_eq!(error.message, "the response is larger than 100000 bytes");
}

#[test]
fn compressed_response_is_rejected() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\
                connection: close\r\n\r\n";
    let (error, _) = fails(
        vec![ServerStep::Send(head.into()), ServerStep::Hold],
        patient(),
    );
    assert_eq!(error.kind, ModelErrorKind::BadReply);
}

#[test]
fn truncated_response_is_rejected() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{";
    let (error, _) = fails(vec![ServerStep::Send(head.into())], patient());
    assert_eq!(error.kind, ModelErrorKind::Transport);
}

#[test]
fn response_that_is_not_http_is_rejected() {
    let (error, _) = fails(
        vec![ServerStep::Send(b"SSH-2.0-OpenSSH\r\n".to_vec())],
        patient(),
    );
    assert_eq!(error.kind, ModelErrorKind::Transport);
}

#[test]
fn invalid_data_in_every_format() {
    let kinds: &[&str] = &[
        "not json",
        "{",
        "[1,2]",
        "7",
        "\"x\"",
        "null",
        "{\"type\":7}",
    ];
    let typed: &[&str] = &[
        r#"{"type":"content_block_delta","index":"x","delta":{}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"response.output_text.delta","delta":5}"#,
        r#"{"type":"response.completed","response":[]}"#,
        r#"{"choices":[{"delta":{"content":5}}]}"#,
        r#"{"choices":7}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":5}}]}}]}"#,
        r#"{"candidates":"x"}"#,
    ];
    for wire in wires() {
        for event in kinds.iter().chain(typed) {
            let server = TestServer::once(sse(event));
            let (reply, shown) = ask(&remote(wire.clone(), "m", server.port), &hello());
            let error = reply.unwrap_err();
            assert_eq!(
                error.kind,
                ModelErrorKind::BadReply,
                "{wire:?}: {event}: {error}"
            );
            assert_eq!(shown, [], "{wire:?}: {event}");
        }
    }
}

#[test]
fn empty_stream_in_every_format() {
    for wire in wires() {
        for events in ["", "[DONE]", r#"{"type":"ping"}"#] {
            let server = TestServer::once(sse(events));
            let error = ask(&remote(wire.clone(), "m", server.port), &hello())
                .0
                .unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::BadReply, "{wire:?}: {events}");
        }
        let server = TestServer::once(prowess_test::server::json("200 OK", "", "{}"));
        let model = remote(wire.clone(), "m", server.port).with_stream(false);
        assert_eq!(
            ask(&model, &hello()).0.unwrap_err().kind,
            ModelErrorKind::BadReply,
            "{wire:?}"
        );
    }
}

#[test]
fn html_error_page_is_not_quoted() {
    let page = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 23\r\nconnection: close\r\n\r\n\
                <html>nginx</html>\n\n\n\n\n";
    let (error, _) = fails(vec![ServerStep::Send(page.into())], patient());
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ModelErrorKind::Transport, "status 502")
    );
}

#[test]
fn long_error_is_truncated() {
    let body = format!(
        r#"{{"error":{{"message":"{}"}}}}"#,
        "a\\u001b".repeat(5_000)
    );
    let (error, _) = fails(
        vec![ServerStep::Send(prowess_test::server::json(
            "400 X", "", &body,
        ))],
        patient(),
    );
    assert!(error.message.chars().count() <= 600 && !error.message.contains('\u{1b}'));
}

#[test]
fn dropping_the_request_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let model = remote(Arc::new(Anthropic), "m", port);
    let (sender, received) = tokio::sync::oneshot::channel();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut start = [0; 17];
        stream.read_exact(&mut start).unwrap();
        sender.send(start).unwrap();
        // Ends when the client has closed the connection in any way.
        let end = stream.read_to_end(&mut Vec::new());
        end.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true)
    });
    block_on(async {
        let request = hello();
        let mut ignore = |_| {};
        tokio::select! {
            reply = model.ask(&request, &mut ignore) => panic!("{reply:?}"),
            start = received => assert_eq!(&start.unwrap(), b"POST /v1/messages"),
        }
    });
    assert!(server.join().unwrap(), "the connection is still open");
}
