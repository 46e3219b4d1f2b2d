//! Invalid input from clients, and clients that disconnect.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use prowess_test::{World, wait_for_exit, wait_until};
use serde_json::{Value, json};

use crate::support::{Raw, handshake, plain};

fn world() -> World {
    let world = World::new();
    plain(&world, "deploy");
    world
}

#[test]
fn invalid_lines_get_error_codes_and_reading_continues() {
    let world = world();
    let mut raw = Raw::connect(&world, &[]);
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for (line, code, id) in [
        ("garbage", -32700, Value::Null),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1", -32700, Value::Null),
        ("\u{0}\u{1}", -32700, Value::Null),
        ("[1, 2]", -32600, Value::Null),
        ("[]", -32600, Value::Null),
        ("42", -32600, Value::Null),
        ("{}", -32600, Value::Null),
        (&deep, -32600, Value::Null),
        ("{\"jsonrpc\": \"2.0\", \"id\": 7}", -32600, json!(7)),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"tools/call\", \"params\": {}}",
            -32602,
            json!(8),
        ),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"tools/call\", \"params\": 5}",
            -32602,
            json!(9),
        ),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": \"a\", \"method\": \"no/such\"}",
            -32601,
            json!("a"),
        ),
    ] {
        raw.write(format!("{line}\n").as_bytes());
        let answer = raw.receive();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer["id"], id, "{line}: {answer}");
    }
    raw.write(b"\xff\xfe\n");
    assert_eq!(raw.receive()["error"]["code"], -32700);
    // Blank lines and unknown or invalid notifications get no response.
    raw.write(b"\n  \r\n{\"jsonrpc\": \"2.0\", \"method\": \"$/cancelRequest\", \"params\": {\"id\": 1}}\n");
    raw.write(b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/progress\", \"params\": {}}\n");
    assert!(raw.request("tools/list", json!({}))["tools"].is_array());
}

#[test]
fn early_requests_are_rejected() {
    let world = world();
    let mut raw = Raw::start(&world, &[]);
    raw.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    raw.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    raw.write(b"garbage\n");
    assert_eq!(raw.receive()["error"]["code"], -32700);
    assert_eq!(
        raw.refused("tools/list", json!({})),
        -32602,
        "neither handshake nor metadata"
    );
    raw.request("ping", json!({}));
    raw.request("initialize", handshake("2025-06-18"));
    assert!(raw.request("tools/list", json!({}))["tools"].is_array());
}

#[test]
fn gibibyte_line_uses_constant_memory() {
    let world = world();
    let mut raw = Raw::connect(&world, &[]);
    raw.request("tools/list", json!({}));
    let before = raw.peak_memory();
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..1024 {
        raw.write(&piece);
    }
    raw.write(b"\n");
    let answer = raw.receive();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(raw.request("tools/list", json!({}))["tools"].is_array());
    let used = raw.peak_memory() - before;
    assert!(used < 32, "{used} MiB more");
}

#[test]
fn server_exits_when_client_disconnects() {
    let world = world();
    // Before any input, in the middle of a line, after the handshake, during work.
    Raw::start(&world, &[]).close();
    let mut cut = Raw::start(&world, &[]);
    cut.write(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"meth");
    cut.close();
    Raw::connect(&world, &[]).close();
    let mut busy = Raw::connect(&world, &[]);
    let params = json!({ "name": "load_skill", "arguments": { "name": "deploy" } });
    for id in 0..50 {
        busy.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    busy.close();
}

#[test]
fn request_flood_is_answered_or_rejected() {
    const MANY: u64 = 5_000;
    let world = world();
    let mut raw = Raw::connect(&world, &[]);
    let params = json!({ "name": "load_skill", "arguments": { "name": "deploy" } });
    for id in 1_000..1_000 + MANY {
        raw.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    let (mut answered, mut refused, mut tries) = (0, 0, 0);
    let mut is_over = false;
    wait_until(
        "1,000 answers, and one to a request after the flood",
        || {
            // This request may be refused, and a refusal may be dropped: repeat it.
            if !is_over {
                tries += 1;
                let id = format!("after-{tries}");
                raw.send(
                    &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }),
                );
            }
            while let Some(message) = raw.receive_within(Duration::from_millis(100)) {
                let is_after = message["id"].is_string();
                match message["error"]["code"].as_i64() {
                    None if is_after => is_over = true,
                    None => answered += 1,
                    Some(-32000) if is_after => {}
                    Some(-32000) => refused += 1,
                    Some(_) => panic!("{message}"),
                }
                if is_over && answered >= 1_000 {
                    break;
                }
            }
            is_over && answered >= 1_000
        },
    );
    assert!(answered + refused <= MANY, "{answered} and {refused}");
    assert!(raw.peak_memory() < 150, "{} MiB", raw.peak_memory());
    assert!(raw.request("tools/list", json!({}))["tools"].is_array());
}

/// A client that sends, never reads, and then closes its end.
#[test]
fn server_exits_when_client_never_reads() {
    let world = world();
    let mut child = Command::new(crate::support::server())
        .arg(world.path("skills"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let params = handshake("2025-06-18");
    let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    writeln!(input, "{begin}").unwrap();
    for id in 1..3_000 {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} });
        writeln!(input, "{request}").unwrap();
    }
    drop(input);
    wait_for_exit(&mut child);
}

#[test]
fn duplicate_pending_id_is_rejected() {
    let world = world();
    let mut raw = Raw::connect(&world, &[]);
    let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {} });
    raw.write(format!("{request}\n{request}\n").as_bytes());
    let answers = [raw.receive(), raw.receive()];
    assert!(answers.iter().all(|answer| answer["id"] == 5));
    assert!(answers.iter().any(|answer| answer["result"].is_object()));
}
