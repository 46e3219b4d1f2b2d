//! A server on this machine for missions: a model that follows a script, and pages.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A request: the first line with the headers, and the body.
#[derive(Clone, Debug)]
pub(crate) struct ServerRequest {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl ServerRequest {
    pub(crate) fn is_chat(&self) -> bool {
        self.head.contains("/chat/completions")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns all texts of the body, one after another.
    pub(crate) fn text(&self) -> String {
        fn add(value: &Value, text: &mut String) {
            match value {
                Value::String(one) => text.push_str(&format!("{one}\n")),
                Value::Array(items) => items.iter().for_each(|item| add(item, text)),
                Value::Object(fields) => fields.values().for_each(|field| add(field, text)),
                _ => {}
            }
        }
        let mut text = String::new();
        add(&self.json(), &mut text);
        text
    }

    /// Returns the names of the declared tools.
    pub(crate) fn tools(&self) -> Vec<String> {
        let json = self.json();
        let tools = json["tools"].as_array().cloned().unwrap_or_default();
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }
}

/// What the server does with a request.
pub(crate) enum ServerAnswer {
    /// Sends a reply of a model: a line of a script.
    Reply(Value),
    /// Sends a page.
    Page(&'static str, String),
    /// Sends nothing until the client closes the connection.
    Hold,
}

/// A server that answers every connection.
#[derive(Clone)]
pub(crate) struct MissionServer {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<ServerRequest>>>,
    /// Connections that are held.
    held: Arc<AtomicUsize>,
}

impl MissionServer {
    pub(crate) fn new(
        answer: impl Fn(&ServerRequest) -> ServerAnswer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            requests: Arc::default(),
            held: Arc::default(),
        };
        let (own, answer) = (server.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (own, answer) = (own.clone(), Arc::clone(&answer));
                std::thread::spawn(move || own.serve(stream, &*answer));
            }
        });
        server
    }

    /// Returns a model block with the name `m`, whose model is `small`.
    pub(crate) fn model(&self, more: &str) -> String {
        format!(
            "model \"m\" {{\n  provider = \"ollama\"\n  base_url = \"http://127.0.0.1:{}/v1\"\n  aliases  = {{ small = \"small\" }}\n{more}}}\n",
            self.port
        )
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub(crate) fn requests(&self) -> Vec<ServerRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the number of connections that are held now.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    fn serve(&self, mut stream: TcpStream, answer: &dyn Fn(&ServerRequest) -> ServerAnswer) {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        if stream.read_exact(&mut body).is_err() {
            return;
        }
        let body = String::from_utf8(body).unwrap();
        let request = ServerRequest { head, body };
        self.requests.lock().unwrap().push(request.clone());
        let bytes = match answer(&request) {
            ServerAnswer::Reply(line) => chat(&line),
            ServerAnswer::Page(status, text) => format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                text.len()
            ),
            ServerAnswer::Hold => {
                self.held.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut byte);
                self.held.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        };
        // The client may be gone.
        let _ = stream.write_all(bytes.as_bytes());
    }
}

/// Returns the reply of a script to a request: the first line whose `when` and `unless` fit.
pub(crate) fn reply(script: &[Value], request: &ServerRequest) -> ServerAnswer {
    let text = request.text();
    let has = |one: &Value| text.contains(one.as_str().unwrap());
    let texts = |line: &Value, key: &str| line[key].as_array().cloned().unwrap_or_default();
    let found = script
        .iter()
        .find(|line| texts(line, "when").iter().all(has) && !texts(line, "unless").iter().any(has));
    match found {
        Some(line) => ServerAnswer::Reply(line.clone()),
        None => ServerAnswer::Page("400 Bad Request", format!("no reply to {text}")),
    }
}

/// Returns an event stream with a reply.
fn chat(line: &Value) -> String {
    let calls = line["calls"].as_array().cloned().unwrap_or_default();
    let calls = calls.iter().enumerate().map(|(at, call)| {
        let function = json!({ "name": call["name"], "arguments": call["input"].to_string() });
        json!({ "index": at, "id": format!("call-{at}"), "type": "function", "function": function })
    });
    let calls: Vec<Value> = calls.collect();
    let (delta, reason) = if calls.is_empty() {
        (json!({ "content": line["text"] }), "stop")
    } else {
        (json!({ "tool_calls": calls }), "tool_calls")
    };
    let used = |key: &str, usual: u64| line["usage"][key].as_u64().unwrap_or(usual);
    let (input, output) = (used("input", 10), used("output", 5));
    let total = input + output;
    let usage =
        json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": total });
    let choice = json!({ "index": 0, "finish_reason": reason, "delta": delta });
    let event = json!({ "id": "x", "object": "chat.completion.chunk", "model": "small", "choices": [choice], "usage": usage });
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {event}\n\ndata: [DONE]\n\n"
    )
}
