//! A web server on this machine: files of a folder, and git repositories over smart HTTP.

#![expect(clippy::unwrap_used, reason = "test support fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server that runs until the test ends.
#[derive(Debug)]
pub struct WebServer {
    /// The port on this machine.
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl WebServer {
    /// Serves a folder. Requests below `/git/` go to `git http-backend`; `/moved/` redirects to another
    /// host, `/private/` asks for credentials, `/token/` serves the folder `token` to those who send
    /// `Authorization: Bearer s3cret-token`, `/endless/` never ends, and `/to/PORT/PATH` redirects to that port of this machine.
    pub fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, folder) = (Arc::clone(&asked), folder.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, folder) = (Arc::clone(&seen), folder.clone());
                thread::spawn(move || answer(stream, &folder, &seen));
            }
        });
        Self { port, asked }
    }

    /// Returns the address of a path on this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the heads of the requests: the first line and the headers.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, folder: &Path, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    seen.lock().unwrap().push(head.clone());
    let header = |name: &str| {
        let found = head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        });
        found.unwrap_or_default()
    };
    let mut first = head.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    if path.starts_with("/endless/") {
        let head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
        stream.write_all(head).ok()?;
        // Until the client has enough.
        while stream.write_all(&[b' '; 8 * 1024]).is_ok() {}
        return None;
    }
    let reply = if path.starts_with("/moved/") {
        b"HTTP/1.1 301 Moved\r\nlocation: https://elsewhere.example/new/info/refs?service=git-upload-pack\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
    } else if let Some(place) = path.strip_prefix("/to/") {
        format!("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes()
    } else if path.starts_with("/private/")
        || (path.starts_with("/token/") && header("authorization") != "Bearer s3cret-token")
    {
        b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"x\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
    } else if let Some(inner) = path.strip_prefix("/git") {
        let headers = [
            ("CONTENT_TYPE", header("content-type")),
            ("HTTP_CONTENT_ENCODING", header("content-encoding")),
            ("HTTP_GIT_PROTOCOL", header("git-protocol")),
            ("GIT_PROTOCOL", header("git-protocol")),
        ];
        backend(folder, inner, query, &method, &headers, &body)?
    } else {
        file(folder, path)
    };
    stream.write_all(&reply).ok()
}

fn file(folder: &Path, path: &str) -> Vec<u8> {
    let place: PathBuf = folder.join(path.trim_start_matches('/').replace("%20", " "));
    let (status, body) = match std::fs::read(place) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", b"<html>nothing here</html>".to_vec()),
    };
    let mut reply = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    reply.extend(body);
    reply
}

fn backend(
    folder: &Path,
    path: &str,
    query: &str,
    method: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", folder)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", method)
        .env("CONTENT_LENGTH", body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    for (name, value) in headers {
        command.env(name, value);
    }
    let mut child = command.spawn().ok()?;
    let mut input = child.stdin.take()?;
    let body = body.to_vec();
    let writer = thread::spawn(move || input.write_all(&body));
    let output = child.wait_with_output().ok()?.stdout;
    let _ = writer.join();
    let end = output.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: "));
    let mut reply = format!(
        "HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {}\r\n{head}",
        status.unwrap_or("200 OK"),
        output.len() - end
    )
    .into_bytes();
    reply.extend(&output[end..]);
    Some(reply)
}
