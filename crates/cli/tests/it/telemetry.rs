//! Logging to standard error, and traces for a collector.

use crate::world::World;

const RUN: [&str; 5] = ["run", "greet", "Marker-Ada", "--model", "echo"];

/// Returns the log lines without timestamps.
fn lines(stderr: &str) -> Vec<&str> {
    stderr
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("] "))
        .map(|(_, line)| line)
        .collect()
}

#[test]
fn logging_is_off_by_default() {
    let output = World::with_a_greeting().run(&RUN).expect(0);
    assert!(lines(&output.stderr).is_empty(), "{}", output.stderr);
}

#[test]
fn verbose_logs_finished_spans() {
    let world = World::with_a_greeting();
    let output = world
        .command(&RUN)
        .env("PROWESS_LOG", "off")
        .run()
        .expect(0);
    assert!(lines(&output.stderr).is_empty(), "{}", output.stderr);
    let quiet = output.stdout;
    let output = world.run(&[&RUN[..], &["-v"]].concat()).expect(0);
    let told = lines(&output.stderr);
    assert_eq!(told.len(), 2, "{}", output.stderr);
    assert!(told[0].starts_with("info  chat echo ("), "{told:?}");
    assert!(told[0].contains(" gen_ai.provider.name=echo "), "{told:?}");
    assert!(
        told[0].contains(" gen_ai.response.finish_reasons=stop "),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("info  invoke_agent greet ("),
        "{told:?}"
    );
    assert!(told[1].contains(" prowess.skill.name=greet "), "{told:?}");
    assert!(told.iter().all(|line| !line.contains("Marker")), "{told:?}");
    assert_eq!(output.stdout, quiet, "the answer stays what it is");
}

#[test]
fn very_verbose_also_logs_started_spans() {
    let output = World::with_a_greeting()
        .run(&[&RUN[..], &["-vv"]].concat())
        .expect(0);
    let told = lines(&output.stderr);
    assert_eq!(told.len(), 4, "{}", output.stderr);
    assert_eq!(
        told[..2],
        [
            "debug invoke_agent greet started",
            "debug chat echo started"
        ]
    );
    let output = World::with_a_greeting()
        .command(&RUN)
        .env("PROWESS_LOG", "prowess=debug")
        .run()
        .expect(0);
    assert_eq!(lines(&output.stderr).len(), 4, "{}", output.stderr);
}

#[test]
fn log_lines_do_not_continue_streamed_text() {
    let world = World::with_a_greeting();
    // With a typed result, text is always streamed.
    let submit = r#"[{"name": "submit", "input": {}}]"#;
    world.file(
        "script.jsonl",
        format!("{{\"text\": \"without an end\", \"calls\": {submit}}}\n"),
    );
    let run = [
        "run",
        "--task",
        "x",
        "--model",
        "scripted:script.jsonl",
        "-v",
    ];
    let output = world
        .run(&[&run[..], &["--output-schema", "{}"]].concat())
        .expect(0);
    assert!(
        output.stderr.contains("\nwithout an end\n["),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("\n\n"), "{}", output.stderr);
}

#[test]
fn logging_keeps_json_valid() {
    let output = World::with_a_greeting()
        .run(&[&RUN[..], &["--json", "-vv"]].concat())
        .expect(0);
    assert_eq!(lines(&output.stderr).len(), 4, "{}", output.stderr);
    for line in output.stdout.lines() {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok(),
            "{line}"
        );
    }
}

#[test]
fn invalid_filter_is_an_error() {
    let output = World::with_a_greeting()
        .command(&RUN)
        .env("PROWESS_LOG", "prowess=loud")
        .run()
        .expect(2);
    assert!(
        output
            .stderr
            .starts_with("error: invalid filter in `PROWESS_LOG`: "),
        "{}",
        output.stderr
    );
    assert!(
        output
            .stderr
            .contains("hint: valid filters are e.g. `info`"),
        "{}",
        output.stderr
    );
    let output = World::with_a_greeting()
        .run(&[&RUN[..], &["-v", "-q"]].concat())
        .expect(2);
    assert!(output.stderr.contains("--quiet"), "{}", output.stderr);
}

#[cfg(feature = "otel")]
mod export {
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use super::{RUN, world};

    /// A field in the protobuf wire format: its number, and its bytes or value.
    enum Piece<'b> {
        Bytes(&'b [u8]),
        Number(u64),
    }

    fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn pieces(mut bytes: &[u8]) -> Vec<(u64, Piece<'_>)> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let key = number(&mut bytes);
            let length = match key & 7 {
                0 => {
                    all.push((key >> 3, Piece::Number(number(&mut bytes))));
                    continue;
                }
                1 => 8,
                2 => usize::try_from(number(&mut bytes)).unwrap(),
                5 => 4,
                other => panic!("wire type {other}"),
            };
            let (piece, rest) = bytes.split_at(length);
            all.push((key >> 3, Piece::Bytes(piece)));
            bytes = rest;
        }
        all
    }

    fn messages(bytes: &[u8], wanted: u64) -> Vec<&[u8]> {
        let fits = |(field, piece)| match piece {
            Piece::Bytes(bytes) if field == wanted => Some(bytes),
            _ => None,
        };
        pieces(bytes).into_iter().filter_map(fits).collect()
    }

    fn text(bytes: &[u8], wanted: u64) -> String {
        let found = messages(bytes, wanted);
        found
            .first()
            .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
            .unwrap_or_default()
    }

    fn value(bytes: &[u8]) -> String {
        match pieces(bytes).first() {
            Some((1, Piece::Bytes(text))) => String::from_utf8(text.to_vec()).unwrap(),
            Some((3, Piece::Number(number))) => number.to_string(),
            Some((5, Piece::Bytes(list))) => {
                format!(
                    "{:?}",
                    messages(list, 1).into_iter().map(value).collect::<Vec<_>>()
                )
            }
            _ => "?".to_owned(),
        }
    }

    fn attributes(bytes: &[u8], wanted: u64) -> BTreeMap<String, String> {
        let one = |bytes| (text(bytes, 1), value(messages(bytes, 2)[0]));
        messages(bytes, wanted).into_iter().map(one).collect()
    }

    struct Span {
        id: Vec<u8>,
        parent: Vec<u8>,
        name: String,
        kind: u64,
        attributes: BTreeMap<String, String>,
    }

    fn span(bytes: &[u8]) -> Span {
        let id = |wanted| {
            messages(bytes, wanted)
                .first()
                .map(|id| id.to_vec())
                .unwrap_or_default()
        };
        let kind = pieces(bytes)
            .into_iter()
            .find_map(|(field, piece)| match piece {
                Piece::Number(kind) if field == 6 => Some(kind),
                _ => None,
            });
        Span {
            id: id(2),
            parent: id(4),
            name: text(bytes, 5),
            kind: kind.unwrap_or(0),
            attributes: attributes(bytes, 9),
        }
    }

    /// Accepts one export. Returns its headers, in lower case, and its body.
    fn collector(status: &'static str) -> (u16, JoinHandle<(String, Vec<u8>)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut all, mut chunk) = (Vec::new(), [0; 4096]);
            loop {
                let read = stream.read(&mut chunk).unwrap();
                assert!(read > 0, "it left in the middle");
                all.extend_from_slice(&chunk[..read]);
                let Some(at) = all.windows(4).position(|four| four == b"\r\n\r\n") else {
                    continue;
                };
                let head = String::from_utf8_lossy(&all[..at]).to_lowercase();
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "));
                if all.len() - at - 4 == length.unwrap().parse::<usize>().unwrap() {
                    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                    stream.write_all(answer.as_bytes()).unwrap();
                    return (head, all.split_off(at + 4));
                }
            }
        });
        (port, taken)
    }

    /// Waits for the export.
    fn received(taken: JoinHandle<(String, Vec<u8>)>) -> (String, Vec<u8>) {
        prowess_test::wait_until("the export arrives", || taken.is_finished());
        taken.join().unwrap()
    }

    #[test]
    fn collector_receives_the_spans_of_a_run() {
        let (port, taken) = collector("200 OK");
        let output = World::with_a_greeting()
            .command(&RUN)
            .env(
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                format!("http://127.0.0.1:{port}"),
            )
            .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret-key")
            .run()
            .expect(0);
        assert!(!output.stderr.contains("warning"), "{}", output.stderr);
        let (head, body) = received(taken);
        assert!(head.starts_with("post /v1/traces "), "{head}");
        assert!(
            head.contains("content-type: application/x-protobuf"),
            "{head}"
        );
        assert!(head.contains("x-key: secret-key"), "{head}");
        assert!(
            !String::from_utf8_lossy(&body).contains("Marker"),
            "nothing that was said"
        );
        let batch = messages(&body, 1)[0];
        assert_eq!(
            attributes(messages(batch, 1)[0], 1)["service.name"],
            "prowess"
        );
        let spans: Vec<Span> = messages(messages(batch, 2)[0], 2)
            .into_iter()
            .map(span)
            .collect();
        let [chat, agent] = &spans[..] else {
            panic!("{} spans", spans.len())
        };
        assert_eq!(
            (&*agent.name, agent.kind),
            ("invoke_agent greet", 1),
            "internal"
        );
        assert_eq!((&*chat.name, chat.kind), ("chat echo", 3), "client");
        assert!(agent.parent.is_empty());
        assert_eq!(chat.parent, agent.id);
        assert_eq!(agent.attributes["prowess.skill.name"], "greet");
        assert_eq!(chat.attributes["gen_ai.operation.name"], "chat");
        assert_eq!(
            chat.attributes["gen_ai.response.finish_reasons"], "[\"stop\"]",
            "a list"
        );
        assert!(
            chat.attributes["gen_ai.usage.output_tokens"]
                .parse::<u64>()
                .is_ok()
        );
        let ours = |name: &String| name.starts_with("gen_ai.") || name.starts_with("prowess.");
        for span in &spans {
            assert!(span.attributes.keys().all(ours), "{:?}", span.attributes);
        }
    }

    #[test]
    fn failing_collector_is_a_warning() {
        let (port, taken) = collector("503 Service Unavailable");
        let endpoint = format!("http://127.0.0.1:{port}");
        let run = |endpoint: &str| {
            World::with_a_greeting()
                .command(&RUN)
                .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
                .run()
        };
        let output = run(&endpoint).expect(0);
        let warning = "warning: cannot send all spans to the collector";
        assert!(output.stderr.contains(warning), "{}", output.stderr);
        received(taken);
        // The collector is gone.
        let output = run(&endpoint).expect(0);
        assert!(output.stderr.contains(warning), "{}", output.stderr);
        let output = run("nowhere").expect(2);
        let error = "error: cannot use `OTEL_EXPORTER_OTLP_ENDPOINT` as an OTLP endpoint";
        assert!(output.stderr.starts_with(error), "{}", output.stderr);
    }

    #[test]
    fn command_without_spans_sends_nothing() {
        let output = World::with_a_greeting()
            .command(&["list"])
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
            .run()
            .expect(0);
        assert!(!output.stderr.contains("warning"), "{}", output.stderr);
    }
}
