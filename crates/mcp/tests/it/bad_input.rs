//! Invalid input from clients, and clients that disconnect.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Raw, handshake, plain};

const A_SECOND: Duration = Duration::from_secs(1);

fn world() -> tempfile::TempDir {
    let world = tempfile::tempdir().unwrap();
    plain(world.path(), "deploy");
    world
}

#[test]
fn invalid_lines_get_error_codes_and_reading_continues() {
    let world = world();
    let mut raw = Raw::connect(world.path(), &[]);
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
    let mut raw = Raw::start(world.path(), &[]);
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
    let mut raw = Raw::connect(world.path(), &[]);
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

/// Returns the shortest of three runs: other tests run at the same time.
fn shortest(once: impl Fn() -> Duration) -> Duration {
    (0..3).map(|_| once()).min().unwrap()
}

#[test]
fn server_exits_when_client_disconnects() {
    let world = world();
    // Before any input, in the middle of a line, after the handshake, during work.
    let silent = shortest(|| Raw::start(world.path(), &[]).close());
    let cut = shortest(|| {
        let mut raw = Raw::start(world.path(), &[]);
        raw.write(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"meth");
        raw.close()
    });
    let idle = shortest(|| Raw::connect(world.path(), &[]).close());
    let busy = shortest(|| {
        let mut raw = Raw::connect(world.path(), &[]);
        let params = json!({ "name": "load_skill", "arguments": { "name": "deploy" } });
        for id in 0..50 {
            let request =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            raw.send(&request);
        }
        raw.close()
    });
    for took in [silent, cut, idle, busy] {
        assert!(took < A_SECOND, "{silent:?} {cut:?} {idle:?} {busy:?}");
    }
}

#[test]
fn request_flood_is_answered_or_rejected() {
    const MANY: u64 = 5_000;
    let world = world();
    let mut raw = Raw::connect(world.path(), &[]);
    let params = json!({ "name": "load_skill", "arguments": { "name": "deploy" } });
    for id in 1_000..1_000 + MANY {
        raw.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    let (mut answered, mut refused) = (0, 0);
    while let Some(message) = raw.receive_within(Duration::from_secs(3)) {
        match message["error"]["code"].as_i64() {
            None => answered += 1,
            Some(-32000) => refused += 1,
            Some(_) => panic!("{message}"),
        }
    }
    assert!(
        answered >= 1_000 && answered + refused <= MANY,
        "{answered} and {refused}"
    );
    assert!(raw.peak_memory() < 150, "{} MiB", raw.peak_memory());
    assert!(raw.request("tools/list", json!({}))["tools"].is_array());
}

/// A client that sends, never reads, and then closes its end.
#[test]
fn server_exits_when_client_never_reads() {
    let world = world();
    let took = shortest(|| flood_and_leave(world.path()));
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}

fn flood_and_leave(folder: &Path) -> Duration {
    let mut child = Command::new(crate::support::server())
        .arg(folder)
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
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < PATIENCE, "the server does not exit");
        std::thread::sleep(Duration::from_millis(10));
    }
    begin.elapsed()
}

#[test]
fn duplicate_pending_id_is_rejected() {
    let world = world();
    let mut raw = Raw::connect(world.path(), &[]);
    let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {} });
    raw.write(format!("{request}\n{request}\n").as_bytes());
    let answers = [raw.receive(), raw.receive()];
    assert!(answers.iter().all(|answer| answer["id"] == 5));
    assert!(answers.iter().any(|answer| answer["result"].is_object()));
}
