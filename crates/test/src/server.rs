//! An HTTP server that sends prepared responses, including malformed ones.

#![expect(clippy::unwrap_used, reason = "test support fails by panicking")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// An action of the server after it has read a request.
#[derive(Clone, Debug)]
pub enum ServerStep {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Writes a file, whose folder is created if needed.
    Write(PathBuf, String),
    /// Sends nothing until the client closes the connection.
    Hold,
    /// Sends single bytes until the client closes the connection.
    Drip,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// The first line and the headers, in lower case.
    pub head: String,
    /// The body.
    pub body: String,
}

impl ReceivedRequest {
    /// Parses the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A server on this machine.
#[derive(Debug)]
pub struct TestServer {
    /// The port.
    pub port: u16,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl TestServer {
    /// Starts a server that serves one response per connection.
    pub fn new(answers: impl IntoIterator<Item = Vec<ServerStep>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let answers: Vec<Vec<ServerStep>> = answers.into_iter().collect();
        std::thread::spawn(move || {
            for steps in answers {
                let Ok((stream, _)) = listener.accept() else {
                    return;
                };
                serve(stream, steps, &seen);
            }
        });
        Self { port, asked }
    }

    /// Starts a server that sends one response.
    pub fn once(answer: Vec<u8>) -> Self {
        Self::new([vec![ServerStep::Send(answer)]])
    }

    /// Returns the received requests.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, steps: Vec<ServerStep>, seen: &Mutex<Vec<ReceivedRequest>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    seen.lock().unwrap().push(ReceivedRequest {
        head,
        body: String::from_utf8(body).unwrap(),
    });
    // The client may close the connection at any time; many tests do.
    for step in steps {
        match step {
            ServerStep::Send(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            ServerStep::Write(path, text) => {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            ServerStep::Hold => {
                let _ = stream.read(&mut byte);
                return;
            }
            ServerStep::Drip => {
                stream.set_nonblocking(true).unwrap();
                while !matches!(stream.read(&mut byte), Ok(0)) {
                    if stream
                        .write_all(b":")
                        .is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
                    {
                        return;
                    }
                    std::thread::yield_now();
                }
                return;
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read(&mut byte);
}

/// Returns the head of an event stream.
pub fn sse_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n".to_vec()
}

/// Returns an event stream of lines of JSON.
pub fn sse(events: &str) -> Vec<u8> {
    let mut all = sse_head();
    for line in events
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        if let Some(kind) = value["type"].as_str() {
            all.extend(format!("event: {kind}\n").bytes());
        }
        all.extend(format!("data: {line}\n\n").bytes());
    }
    all
}

/// Returns a JSON response.
pub fn json(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
