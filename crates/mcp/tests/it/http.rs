//! The server over HTTP: access checks, and clients that misbehave.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use prowess_test::{PATIENCE, World, wait_until};
use serde_json::{Value, json};

use crate::support::{handshake, modern, plain};

const ORIGIN: &str = "https://app.example";

/// A running server.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) port: u16,
    pub(crate) tokens: Vec<String>,
    pub(crate) world: World,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the message of the response, also if it is an event stream.
    fn message(&self) -> Value {
        let line = self.body.lines().rev().find_map(|line| {
            let line = line.strip_prefix("data:").unwrap_or(line).trim();
            line.starts_with('{')
                .then(|| serde_json::from_str(line).ok())
                .flatten()
        });
        line.unwrap_or_else(|| panic!("{} {}", self.status, self.body))
    }
}

impl HttpServer {
    pub(crate) fn open(options: &[&str]) -> Self {
        let world = World::new();
        plain(&world, "deploy");
        let tokens = vec!["a".repeat(64), "b".repeat(64)];
        world
            .file("../token", format!("{}\n{}\n", tokens[0], tokens[1]))
            .mode("../token", 0o600);
        let mut child = Command::new(crate::support::server())
            .arg(world.path("skills"))
            .args([
                "--http",
                "127.0.0.1:0",
                "--allow-origin",
                ORIGIN,
                "--token-file",
            ])
            .arg(world.path("../token"))
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line
            .trim()
            .trim_end_matches("/mcp")
            .rsplit(':')
            .next()
            .unwrap();
        let port = port.parse().unwrap_or_else(|_| panic!("{line}"));
        Self {
            child,
            port,
            tokens,
            world,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request with exactly these headers.
    fn raw(&self, method: &str, path: &str, headers: &[(&str, String)], body: &str) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        let mut stream = self.connect();
        stream
            .write_all(format!("{request}\r\n{body}").as_bytes())
            .unwrap();
        answer(stream)
    }

    /// Posts a message with a token.
    fn post(&self, token: usize, session: Option<&str>, body: &str) -> Answer {
        let mut headers = self.headers(token);
        if let Some(session) = session {
            headers.push(("Mcp-Session-Id", session.to_owned()));
        }
        self.raw("POST", "/mcp", &headers, body)
    }

    fn headers(&self, token: usize) -> Vec<(&'static str, String)> {
        vec![
            ("Host", format!("127.0.0.1:{}", self.port)),
            ("Authorization", format!("Bearer {}", self.tokens[token])),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ]
    }

    fn begin(&self, token: usize) -> Answer {
        self.post(
            token,
            None,
            &message(1, "initialize", &handshake("2025-11-25")),
        )
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn message(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A reset ends the response, too.
    if let Err(error) = stream.read_to_end(&mut bytes) {
        let is_open = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(!is_open, "the server does not close the connection");
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split_whitespace()
        .nth(1)
        .and_then(|status| status.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// Every combination of host, origin, token, method and path.
#[test]
fn access_matrix() {
    let server = HttpServer::open(&[]);
    let port = server.port;
    let hosts = [
        (Some(format!("127.0.0.1:{port}")), true),
        (Some(format!("LocalHost:{port}")), true),
        (Some(format!("[::1]:{port}")), true),
        (Some("127.0.0.1".to_owned()), false),
        (Some(format!("127.0.0.1:{}", port - 1)), false),
        (Some(format!("0.0.0.0:{port}")), false),
        (Some(format!("evil.example:{port}")), false),
        (Some(format!("127.0.0.1:{port}@evil.example")), false),
        (Some(String::new()), false),
        (None, false),
    ];
    let origins = [
        (None, true),
        (Some(ORIGIN), true),
        (Some("https://app.example:8443"), false),
        (Some("https://evil.example"), false),
        (Some("https://app.example.evil.example"), false),
        (Some("null"), false),
        (Some("*"), false),
    ];
    let tokens = [
        (Some(format!("Bearer {}", server.tokens[0])), true),
        (Some(format!("bearer {}", server.tokens[1])), true),
        (Some(format!("Bearer {}", "c".repeat(64))), false),
        (Some(format!("Bearer {}", &server.tokens[0][..63])), false),
        (Some(format!("Basic {}", server.tokens[0])), false),
        (Some(server.tokens[0].clone()), false),
        (None, false),
    ];
    let methods = ["POST", "GET", "DELETE", "OPTIONS", "PUT", "PATCH", "HEAD"];
    let body = message(1, "tools/list", &modern(json!({})));
    let check = |host: &(Option<String>, bool),
                 origin: &(Option<&str>, bool),
                 token: &(Option<String>, bool),
                 method: &str,
                 path: &str| {
        let mut headers = vec![
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("MCP-Protocol-Version", "2026-07-28".to_owned()),
            ("Mcp-Method", "tools/list".to_owned()),
        ];
        headers.extend(host.0.clone().map(|host| ("Host", host)));
        headers.extend(origin.0.map(|origin| ("Origin", origin.to_owned())));
        headers.extend(token.0.clone().map(|token| ("Authorization", token)));
        let sent = if method == "POST" { body.as_str() } else { "" };
        let answer = server.raw(method, path, &headers, sent);
        let case = format!(
            "{method} {path} {host:?} {origin:?} {token:?}: {} {}",
            answer.head, answer.body
        );
        let status = answer.status;
        match (host.1, origin.1, token.1) {
            (false, ..) | (_, false, _) => assert_eq!(status, 403, "{case}"),
            _ if method == "OPTIONS" && origin.0.is_some() => assert_eq!(status, 204, "{case}"),
            (_, _, false) => assert_eq!(status, 401, "{case}"),
            _ if path != "/mcp" => assert_eq!(status, 404, "{case}"),
            _ => match method {
                "POST" => {
                    assert_eq!(status, 200, "{case}");
                    assert!(answer.message()["result"]["tools"].is_array(), "{case}");
                }
                "GET" | "DELETE" => assert!((400..500).contains(&status), "no session: {case}"),
                _ => assert_eq!(status, 405, "{case}"),
            },
        }
        if status != 200 {
            assert!(!answer.body.contains("\"result\""), "{case}");
        }
        // Only the allowed origin may read a response.
        let allowed = answer.header("access-control-allow-origin");
        let is_welcome = host.1 && origin.0 == Some(ORIGIN);
        assert!(
            allowed.is_none() || is_welcome && allowed == Some(ORIGIN),
            "{case}"
        );
        assert!(allowed.is_some() || !is_welcome || status > 204, "{case}");
        assert!(
            answer.header("access-control-allow-credentials").is_none(),
            "{case}"
        );
    };
    std::thread::scope(|scope| {
        for token in &tokens {
            let (hosts, origins, methods, check) = (&hosts, &origins, &methods, &check);
            scope.spawn(move || {
                for host in hosts {
                    for origin in origins {
                        for method in methods {
                            check(host, origin, token, method, "/mcp");
                        }
                        check(host, origin, token, "POST", "/");
                        check(host, origin, token, "GET", "/mcp/other");
                    }
                }
            });
        }
    });
}

#[test]
fn duplicate_headers_are_rejected() {
    let server = HttpServer::open(&[]);
    let body = message(1, "initialize", &handshake("2025-11-25"));
    let right = server.headers(0);
    for (name, value, statuses) in [
        ("Host", "evil.example".to_owned(), [400, 403]),
        ("Origin", "https://evil.example".to_owned(), [403, 403]),
        ("Authorization", "Bearer wrong".to_owned(), [401, 401]),
    ] {
        let mut headers = right.clone();
        headers.push((name, value));
        if name == "Origin" {
            headers.push((name, ORIGIN.to_owned()));
        }
        let status = server.raw("POST", "/mcp", &headers, &body).status;
        assert!(statuses.contains(&status), "{name}: {status}");
    }
    // The request line contains a host, too.
    let status = server
        .raw("POST", "http://evil.example/mcp", &right, &body)
        .status;
    assert_eq!(status, 403);
}

#[test]
fn bodies_are_limited() {
    let server = HttpServer::open(&["--patience", "1000"]);
    let host = format!(
        "Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
        server.port, server.tokens[0]
    );

    // Too large, by `Content-Length` and by chunks.
    let mut stream = server.connect();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\n{host}Content-Length: 1073741824\r\n\r\n"
    )
    .unwrap();
    assert_eq!(answer(stream).status, 413);
    let mut stream = server.connect();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n"
    )
    .unwrap();
    let piece = "x".repeat(1024 * 1024);
    for _ in 0..6 {
        if write!(stream, "100000\r\n{piece}\r\n").is_err() {
            break;
        }
    }
    let answered = answer(stream).status;
    assert!(answered == 413 || answered == 0, "{answered}");

    // Too slow: the body, and the head.
    let mut stream = server.connect();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\n{host}Content-Length: 10\r\n\r\n{{"
    )
    .unwrap();
    assert_eq!(answer(stream).status, 408);
    let mut stream = server.connect();
    write!(stream, "POST /mcp HTTP/1.1\r\nHost: ").unwrap();
    answer(stream);

    // Invalid JSON, and JSON nested too deeply.
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
    for (body, code) in [("nonsense", -32700), ("[1]", -32700), (&*deep, -32600)] {
        let answer = server.post(0, None, body);
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.message()["error"]["code"], code, "{body}");
    }
    assert_eq!(server.begin(0).status, 200, "the next one is served");
}

#[test]
fn sessions_belong_to_their_token_and_are_limited() {
    let server = HttpServer::open(&["--sessions", "3"]);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let answer = server.begin(0);
        assert_eq!(answer.status, 200);
        ids.push(answer.header("mcp-session-id").unwrap().to_owned());
    }
    assert!(ids.iter().all(|id| id.len() >= 32) && ids[0] != ids[1] && ids[1] != ids[2]);
    let full = server.begin(0);
    assert_eq!((full.status, full.header("retry-after")), (503, Some("30")));

    let list = message(2, "tools/list", &json!({}));
    assert_eq!(server.post(0, Some(&ids[0]), &list).status, 200);
    assert_eq!(
        server.post(1, Some(&ids[0]), &list).status,
        404,
        "session of another token"
    );
    assert_eq!(server.post(0, Some("made-up"), &list).status, 404);
    let mut headers = server.headers(1);
    headers.push(("Mcp-Session-Id", ids[0].clone()));
    assert_eq!(
        server.raw("DELETE", "/mcp", &headers, "").status,
        404,
        "another token cannot end it"
    );

    let mut headers = server.headers(0);
    headers.push(("Mcp-Session-Id", ids[0].clone()));
    assert_eq!(server.raw("DELETE", "/mcp", &headers, "").status, 204);
    assert_eq!(
        server.post(0, Some(&ids[0]), &list).status,
        404,
        "the session has ended"
    );
    assert_eq!(server.begin(1).status, 200, "a session is free again");
}

/// A client that requests a lot and never reads is disconnected.
#[test]
fn client_that_never_reads_is_disconnected() {
    let server = HttpServer::open(&["--patience", "1000"]);
    let mut stream = server.connect();
    stream
        .set_write_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let body = message(1, "tools/list", &modern(json!({})));
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nContent-Length: {}\r\n\r\n{body}",
        server.port,
        server.tokens[0],
        body.len()
    );
    // At some point the server cannot write and gives up.
    wait_until("the server closes the connection", || {
        let written = stream.write_all(request.as_bytes());
        written.is_err_and(|error| {
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        })
    });
    assert_eq!(server.begin(0).status, 200);
}
