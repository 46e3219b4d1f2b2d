//! Measures the MCP server and the skills of `fastmcp` in alternating rounds.
//!
//! `fastmcp` has no tool that loads a skill, so its resource is read instead of calling
//! `load_skill`. Reading the same resource from our server is a separate row.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::mcp_clients::{python, server, target};

/// The version of `fastmcp`.
const FASTMCP: &str = "fastmcp==4.1.2";
const ROUNDS: usize = 3;
const CALLS: usize = 1_000;
const CLIENTS: usize = 16;
/// The number of calls of each parallel client.
const EACH: usize = 50;
/// The maximum time for which a server is measured; a slow one gets fewer calls.
const LONGEST: Duration = Duration::from_secs(10);

/// Serves a folder with `fastmcp`: `FOLDER`, or `FOLDER PORT` for HTTP.
const PEER: &str = "
import sys
from pathlib import Path
from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
server = FastMCP('skills')
server.add_provider(SkillsDirectoryProvider(roots=Path(sys.argv[1])))
if len(sys.argv) > 2:
    server.run(transport='http', host='127.0.0.1', port=int(sys.argv[2]), show_banner=False, log_level='ERROR')
else:
    server.run(show_banner=False, log_level='ERROR')
";

/// The way in which a skill is requested.
#[derive(Clone, Copy)]
enum Call {
    Tool,
    Resource,
}

impl Call {
    fn message(self, id: usize, skill: usize) -> Value {
        let name = format!("skill-{skill:04}");
        let (method, params) = match self {
            Self::Tool => (
                "tools/call",
                json!({ "name": "load_skill", "arguments": { "name": name } }),
            ),
            Self::Resource => (
                "resources/read",
                json!({ "uri": format!("skill://{name}/SKILL.md") }),
            ),
        };
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }
}

/// The results of one round.
#[derive(Default)]
struct Row {
    first_list: Vec<f64>,
    call: Vec<f64>,
    parallel: Vec<f64>,
    memory: Vec<f64>,
}

pub(crate) fn run(root: &Path, skills: usize, measured: bool) -> Result<()> {
    let target = target(root);
    let home = target.join("mcp-clients");
    std::fs::create_dir_all(&home)?;
    let ours = server(root, &target, measured)?;
    let python = python(&home, "fastmcp", FASTMCP)?;
    let world = tempfile::tempdir()?;
    let folder = world.path().join("skills");
    for at in 0..skills {
        let skill = folder.join(format!("skill-{at:04}"));
        std::fs::create_dir_all(skill.join("references"))?;
        let body = "Read the notes, then do the work step by step.\n".repeat(60);
        let text = format!(
            "---\nname: skill-{at:04}\ndescription: Does the work number {at}. Use when it is wanted.\n---\n{body}"
        );
        std::fs::write(skill.join("SKILL.md"), text)?;
        std::fs::write(skill.join("references/notes.md"), "# Notes\n")?;
    }
    let token = world.path().join("token");
    let start = |kind: usize, port: Option<u16>| -> Command {
        let mut command = if kind == 2 {
            let mut command = Command::new(&python);
            command.arg("-c").arg(PEER).arg(&folder);
            command
        } else {
            let mut command = Command::new(&ours);
            command.arg(&folder);
            command
        };
        match port {
            Some(port) if kind == 2 => {
                command.arg(port.to_string());
            }
            Some(port) => {
                command
                    .args(["--http", &format!("127.0.0.1:{port}"), "--token-file"])
                    .arg(&token);
            }
            None => {}
        }
        command
    };
    let kinds = [
        ("prowess, load_skill", Call::Tool),
        ("prowess, resource", Call::Resource),
        ("FastMCP, resource", Call::Resource),
    ];
    let mut rows: Vec<Row> = kinds.iter().map(|_| Row::default()).collect();
    for _ in 0..ROUNDS {
        for (kind, (_, call)) in kinds.iter().enumerate() {
            let row = &mut rows[kind];
            stdio(start(kind, None), *call, skills, row)?;
            let port = free_port()?;
            row.parallel.push(parallel(
                start(kind, Some(port)),
                port,
                &token,
                *call,
                skills,
            )?);
        }
    }
    println!("{skills} skills, medians of {ROUNDS} rounds\n");
    println!(
        "| server | start to first list | one call, of up to {CALLS} in a row | calls per second, {CLIENTS} clients over HTTP | peak memory |"
    );
    println!("|---|---|---|---|---|");
    for ((name, _), row) in kinds.iter().zip(&mut rows) {
        println!(
            "| {name} | {:.1} ms | {:.3} ms | {:.0} | {:.1} MB |",
            median(&mut row.first_list),
            median(&mut row.call),
            median(&mut row.parallel),
            median(&mut row.memory)
        );
    }
    Ok(())
}

/// Measures one client over standard input and output.
fn stdio(mut command: Command, call: Call, skills: usize, row: &mut Row) -> Result<()> {
    let begin = Instant::now();
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut pipe = Pipe::new(child)?;
    pipe.ask(&handshake())?;
    pipe.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    let list = match call {
        Call::Tool => "tools/list",
        Call::Resource => "resources/list",
    };
    pipe.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": list, "params": {} }))?;
    row.first_list.push(milliseconds(begin.elapsed()));
    let begin = Instant::now();
    let mut done = 0.0;
    for at in 0..CALLS {
        pipe.ask(&call.message(at + 2, at % skills))?;
        done += 1.0;
        if begin.elapsed() > LONGEST {
            break;
        }
    }
    row.call.push(milliseconds(begin.elapsed()) / done);
    row.memory.push(pipe.peak_memory()?);
    Ok(())
}

/// Measures many clients over HTTP. Returns calls per second.
fn parallel(
    mut command: Command,
    port: u16,
    token: &Path,
    call: Call,
    skills: usize,
) -> Result<f64> {
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let _child = Ended(child);
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if begin.elapsed() > Duration::from_mins(1) {
            bail!("the server does not listen");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let token = std::fs::read_to_string(token)
        .unwrap_or_default()
        .trim()
        .to_owned();
    let begin = Instant::now();
    let work = |client: usize| -> Result<f64> {
        let mut done = 0.0;
        let (session, _) = post(port, &token, None, &handshake())?;
        let session = session.context("a session")?;
        for at in 0..EACH {
            let message = call.message(at + 1, (client * EACH + at) % skills);
            let (_, body) = post(port, &token, Some(&session), &message)?;
            if !body.contains("\"result\"") {
                bail!("no result: {body}");
            }
            done += 1.0;
            if begin.elapsed() > LONGEST {
                break;
            }
        }
        Ok(done)
    };
    let work = &work;
    let done = std::thread::scope(|scope| -> Result<f64> {
        let threads: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || work(client)))
            .collect();
        let mut done = 0.0;
        for thread in threads {
            done += thread
                .join()
                .map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok(done)
    })?;
    Ok(done / begin.elapsed().as_secs_f64())
}

fn post(
    port: u16,
    token: &str,
    session: Option<&str>,
    message: &Value,
) -> Result<(Option<String>, String)> {
    let body = message.to_string();
    let session = session
        .map(|id| format!("Mcp-Session-Id: {id}\r\n"))
        .unwrap_or_default();
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let id = text
        .lines()
        .take_while(|line| !line.is_empty())
        .find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id")
                .then(|| value.trim().to_owned())
        });
    Ok((id, text))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn handshake() -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

/// A process that is killed on drop.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Pipe {
    child: Ended,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn new(mut child: Child) -> Result<Self> {
        let input = child.stdin.take().context("a pipe")?;
        let output = BufReader::new(child.stdout.take().context("a pipe")?);
        Ok(Self {
            child: Ended(child),
            input,
            output,
        })
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes())?;
        Ok(())
    }

    fn ask(&mut self, message: &Value) -> Result<()> {
        self.send(message)?;
        let id = format!("\"id\":{}", message["id"]);
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the server exited");
            }
            if line.contains(&id) && line.contains("\"result\"") {
                return Ok(());
            }
            if line.contains("\"error\"") {
                bail!("{line}");
            }
        }
    }

    /// Returns the peak memory in MB.
    fn peak_memory(&self) -> Result<f64> {
        let status = PathBuf::from(format!("/proc/{}/status", self.child.0.id()));
        let status = std::fs::read_to_string(status)?;
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .context("VmHWM")?;
        let kibibytes: f64 = line
            .split_whitespace()
            .nth(1)
            .context("a number")?
            .parse()?;
        Ok(kibibytes * 1024.0 / 1e6)
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
