//! A server in its own process, and a scripted client.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use prowess_test::{PATIENCE, World, wait_for_exit};
use serde_json::{Value, json};

/// Returns the path of the example `serve`, which is built with the tests.
pub(crate) fn server() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test
        .parent()
        .and_then(Path::parent)
        .unwrap()
        .join("examples/serve");
    assert!(built.is_file(), "`cargo test` builds {}", built.display());
    built
}

/// Writes a skill into the folder `skills`, which the server serves.
pub(crate) fn skill(world: &World, name: &str, text: &str) {
    world.file(format!("skills/{name}/SKILL.md"), text);
}

/// Writes a simple skill with this name.
pub(crate) fn plain(world: &World, name: &str) {
    world.skill_in(format!("skills/{name}"), "", "Do $ARGUMENTS.");
}

/// A client connected by two pipes.
pub(crate) struct Raw {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl Raw {
    pub(crate) fn start(world: &World, options: &[&str]) -> Self {
        let mut child = Command::new(server())
            .arg(world.path("skills"))
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            lines,
            next: 0,
        }
    }

    /// Like `start`, after the handshake of older protocols.
    pub(crate) fn connect(world: &World, options: &[&str]) -> Self {
        let mut raw = Self::start(world, options);
        raw.request("initialize", handshake("2025-11-25"));
        raw.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        raw
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Returns the next message.
    pub(crate) fn receive(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a message");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not the protocol: {line}"))
    }

    /// Returns the next message, if one arrives in time.
    pub(crate) fn receive_within(&self, patience: Duration) -> Option<Value> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Sends a request and returns the whole response. Notifications in between are dropped.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Sends a request and returns the result.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, &params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends a request and returns the error code.
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.ask(method, &params);
        answer["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// Closes our end, and waits until the server exits.
    pub(crate) fn close(mut self) {
        drop(self.input.take());
        wait_for_exit(&mut self.child);
    }

    /// Returns the peak memory of the server, in MiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            / 1024
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn handshake(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

/// Adds the metadata that each request of protocol 2026-07-28 carries.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}
