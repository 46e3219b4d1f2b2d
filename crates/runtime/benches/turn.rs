//! Measures the cost of a turn outside the model, the latency of a streamed delta, and the memory of
//! an idle session, each next to the lower bound for the machine. Run with
//! `cargo bench -p prowess-runtime`.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its table and fails by panicking"
)]

use std::alloc::System;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prowess_agent::{
    Delta, Event, Message, MessagePart, Reply, Request, RunBudget, StampedEvent, StopReason,
    ToolCall, ToolResult,
};
use prowess_catalog::Precedence;
use prowess_http::{Deadlines, HttpClient, HttpUrl};
use prowess_models::{Anthropic, OpenAiChat, RemoteModel, WireFormat};
use prowess_policy::PermissionMode;
use prowess_registry::{FileOptions, FileSource, Place, Registry};
use prowess_runtime::{CancellationToken, Engine, Session, Update, Watcher};
use prowess_store::{MemorySessions, SqliteSessions, SystemClock};
use prowess_tools::{ToolContext, ToolPaths};
use prowess_traits::{BoxFuture, Model, ModelError, ModelInfo, OnDelta, SessionStore};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tempfile::TempDir;
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SKILLS: usize = 1_000;
const MESSAGES: usize = 200;
/// Bytes of each message.
const SIZE: usize = 1_000;
/// Number of sessions with a history; `TURNS` is the number of turns of each kind in each of them.
const ROUNDS: usize = 20;
const TURNS: usize = 5;
/// Number of files in the project.
const FILES: usize = 500;
const IDLE: usize = 1_000;
/// Number of streamed replies; `PIECES` is the number of deltas in each.
const ANSWERS: usize = 200;
const PIECES: usize = 11;
const PAUSE: Duration = Duration::from_millis(2);

fn main() {
    // The same runtime as in the CLI.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let world = World::new();
    turns(&runtime, &world);
    stream(&runtime, &world);
    idle(&runtime, &world);
}

// --- turns ---

fn turns(runtime: &Runtime, world: &World) {
    println!("a turn, {SKILLS} skills, {MESSAGES} messages of {SIZE} bytes");
    println!(
        "{:<46} {:>11} {:>11} {:>11} {:>9} {:>9}",
        "", "fastest", "p50", "p99", "allocs", "kB"
    );
    let memory: Arc<dyn SessionStore> = Arc::new(MemorySessions::new());
    let sqlite: Arc<dyn SessionStore> = Arc::new(SqliteSessions::new(world.path("sessions.db")));
    let mut written = Vec::new();
    let model = Quick::new();
    for (name, store) in [("memory", memory), ("SQLite", sqlite)] {
        let engine = world.engine(model.clone(), store, None);
        let (mut answers, mut calls) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            let id = history(runtime, &engine);
            runtime.block_on(async {
                let mut session = Session::resume(&engine, &id, None)
                    .await
                    .expect("session resumes");
                one_turn(&mut session, "begin").await;
                for _ in 0..TURNS {
                    answers.take_async(one_turn(&mut session, "go on")).await;
                }
                one_turn(&mut session, "remember").await;
                written = last_turn(&engine, &id);
                for _ in 0..TURNS {
                    calls
                        .take_async(one_turn(&mut session, "read a file"))
                        .await;
                }
            });
        }
        answers.print(&format!("{name}: a message and its answer"));
        calls.print(&format!("{name}: the same with one file read"));
    }
    let state = model.state.lock().expect("a state");
    limits(world, &written, &state.last);
}

async fn one_turn(session: &mut Session, text: &str) {
    let cancel = CancellationToken::new();
    session
        .say(text, &cancel)
        .await
        .expect("message is recorded");
    session.proceed(&cancel).await.expect("model answers");
}

/// Returns the events of the last turn.
fn last_turn(engine: &Engine, id: &str) -> Vec<StampedEvent> {
    let events = engine.sessions().events(id).expect("events");
    let said = |stamped: &StampedEvent| matches!(stamped.event, Event::Said { .. });
    let at = events.iter().rposition(said).expect("a user message");
    events[at..].to_vec()
}

/// Measures the minimum work of a turn.
fn limits(world: &World, events: &[StampedEvent], request: &Request) {
    let encode = || {
        events
            .iter()
            .map(|event| serde_json::to_vec(event).expect("JSON"))
    };
    let mut samples = Samples::default();
    for _ in 0..1_000 {
        samples.take(|| encode().map(|text| text.len()).sum::<usize>());
    }
    samples.print(&format!("limit: {} events as JSON", events.len()));
    let mut file = File::create(world.path("plain")).expect("a file");
    let texts: Vec<Vec<u8>> = encode().collect();
    let mut samples = Samples::default();
    for _ in 0..100 {
        samples.take(|| {
            for text in &texts {
                file.write_all(text).expect("writes");
                file.sync_data().expect("syncs");
            }
        });
    }
    samples.print(&format!(
        "limit: {} appends, each with fdatasync",
        events.len()
    ));
    let model = remote(Arc::new(Anthropic), 1);
    let mut samples = Samples::default();
    for _ in 0..100 {
        samples.take(|| model.body(request).len());
    }
    samples.print("for comparison: the request body (Anthropic)");
    println!("the request body has {} bytes\n", model.body(request).len());
}

// --- streamed replies ---

fn stream(runtime: &Runtime, world: &World) {
    println!("from the server's write to the watcher, {ANSWERS} replies of {PIECES} deltas");
    println!("{:<46} {:>11} {:>11} {:>11}", "", "fastest", "p50", "p99");
    let sent: Stamps = Stamps::default();
    let seen = Arc::new(Seen::default());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = {
        let sent = Arc::clone(&sent);
        std::thread::spawn(move || serve(&listener, &sent))
    };
    let model = Arc::new(remote(Arc::new(OpenAiChat::Compatible), port));
    let store: Arc<dyn SessionStore> = Arc::new(MemorySessions::new());
    let engine = world.engine(model, store, Some(Arc::clone(&seen) as Arc<dyn Watcher>));
    runtime.block_on(async {
        let mut session = Session::start(&engine, "stream")
            .await
            .expect("session starts");
        for _ in 0..ANSWERS {
            one_turn(&mut session, "go on").await;
        }
    });
    drop(engine);
    server.join().expect("the server ends");
    let (mut first, mut later) = (Samples::default(), Samples::default());
    let sent = sent.lock().expect("stamps");
    let seen = seen.0.lock().expect("stamps");
    assert_eq!(sent.len(), seen.len(), "every delta arrived");
    for (at, (sent, seen)) in sent.iter().zip(&*seen).enumerate() {
        let samples = if at % PIECES == 0 {
            &mut first
        } else {
            &mut later
        };
        samples.times.push(seen.duration_since(*sent));
    }
    first.print("the first delta, together with the header");
    later.print("every other delta");
    loopback().print("limit: a thread that reads the same bytes");
    println!();
}

type Stamps = Arc<Mutex<Vec<Instant>>>;

/// Records when each delta arrives.
#[derive(Debug, Default)]
struct Seen(Mutex<Vec<Instant>>);

impl Watcher for Seen {
    fn update(&self, _session: &str, _depth: u8, update: Update<'_>) {
        if let Update::Delta(Delta::Text(_)) = update {
            self.0.lock().expect("stamps").push(Instant::now());
        }
    }
}

/// Streams replies and records when each delta is written.
fn serve(listener: &TcpListener, sent: &Stamps) {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                        transfer-encoding: chunked\r\n\r\n";
    let (mut out, _) = listener.accept().expect("a connection");
    out.set_nodelay(true).expect("no delay");
    let mut input = BufReader::new(out.try_clone().expect("both ways"));
    for _ in 0..ANSWERS {
        read_request(&mut input);
        for at in 0..PIECES {
            std::thread::sleep(PAUSE);
            let head = if at == 0 { HEAD } else { "" };
            let bytes = [head.as_bytes(), &chunk(&piece())].concat();
            sent.lock().expect("stamps").push(Instant::now());
            out.write_all(&bytes).expect("writes");
        }
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let end = format!("data: {end}\n\ndata: [DONE]\n\n");
        let bytes = [&*chunk(&end), b"0\r\n\r\n"].concat();
        out.write_all(&bytes).expect("writes");
    }
}

fn piece() -> String {
    let piece = json!({"choices": [{"index": 0, "delta": {"content": "word "}}]});
    format!("data: {piece}\n\n")
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

fn read_request(input: &mut impl BufRead) {
    let mut length = 0;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).expect("a line");
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
    }
    std::io::copy(&mut input.take(length), &mut std::io::sink()).expect("a body");
}

/// Measures the lower bound: a thread that reads the same bytes.
fn loopback() -> Samples {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut out = TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
    out.set_nodelay(true).expect("no delay");
    let (mut input, _) = listener.accept().expect("a connection");
    let bytes = chunk(&piece());
    let size = bytes.len();
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; size];
        let read = |_| {
            input.read_exact(&mut buffer).expect("reads");
            Instant::now()
        };
        (0..ANSWERS * PIECES).map(read).collect::<Vec<_>>()
    });
    let write = |_| {
        std::thread::sleep(PAUSE);
        let now = Instant::now();
        out.write_all(&bytes).expect("writes");
        now
    };
    let sent: Vec<Instant> = (0..ANSWERS * PIECES).map(write).collect();
    let seen = reader.join().expect("the reader ends");
    let times = sent
        .iter()
        .zip(&seen)
        .map(|(sent, seen)| seen.duration_since(*sent))
        .collect();
    Samples {
        times,
        ..Samples::default()
    }
}

// --- idle sessions ---

fn idle(runtime: &Runtime, world: &World) {
    println!("{IDLE} idle sessions, {SKILLS} skills: memory of each");
    println!("{:<46} {:>12} {:>12}", "", "allocated", "resident");
    let model = Quick::new();
    let memory: Arc<dyn SessionStore> = Arc::new(MemorySessions::new());
    let sqlite: Arc<dyn SessionStore> = Arc::new(SqliteSessions::new(world.path("idle.db")));
    for (name, store) in [
        ("SQLite: new", sqlite.clone()),
        ("memory: new, with its events", memory),
    ] {
        let engine = world.engine(model.clone(), store, None);
        weigh(name, IDLE, || {
            runtime
                .block_on(Session::start(&engine, "idle"))
                .expect("session starts")
        });
    }
    let engine = world.engine(model, sqlite, None);
    let few = IDLE / 10;
    let mut ids: Vec<Box<str>> = (0..few).map(|_| history(runtime, &engine)).collect();
    let name = format!("SQLite: {MESSAGES} messages of {SIZE} bytes ({few})");
    weigh(&name, few, || {
        let id = ids.pop().expect("a session id");
        runtime
            .block_on(Session::resume(&engine, &id, None))
            .expect("session resumes")
    });
}

/// Creates `count` values and prints the memory of one of them.
fn weigh<T>(name: &str, count: usize, mut make: impl FnMut() -> T) {
    // Exclude what is created only once, such as statements and threads.
    let first = make();
    let (region, resident) = (Region::new(ALLOCATOR), resident());
    let made: Vec<T> = (1..count).map(|_| make()).collect();
    let change = region.change();
    let allocated = change
        .bytes_allocated
        .saturating_sub(change.bytes_deallocated);
    let resident = self::resident().saturating_sub(resident);
    let each = |bytes: usize| format!("{:.1} kB", kilobytes(bytes / made.len()));
    println!("{name:<46} {:>12} {:>12}", each(allocated), each(resident));
    drop((first, made));
}

fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4096
}

// --- the world ---

/// A temporary folder with a project and many skills.
struct World {
    root: TempDir,
    registry: Arc<Registry>,
}

impl World {
    fn new() -> Self {
        // Not in `/tmp`, which may be in memory.
        let root = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let skills = root.path().join("project/.agents/skills");
        for number in 0..SKILLS {
            let folder = skills.join(format!("skill-number-{number}"));
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("SKILL.md"), skill(number)).expect("a file");
        }
        for number in 0..FILES {
            let path = root.path().join(format!("project/file-{number}.txt"));
            std::fs::write(path, "x".repeat(SIZE)).expect("a file");
        }
        let place = Place {
            current: root.path().join("project"),
            ..Place::default()
        };
        let registry = Registry::new(Precedence::default());
        registry.add_files(FileSource::new(place, FileOptions::default()));
        registry.refresh();
        assert_eq!(registry.snapshot().entries().len(), SKILLS);
        Self {
            root,
            registry: Arc::new(registry),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn engine(
        &self,
        model: Arc<dyn Model>,
        store: Arc<dyn SessionStore>,
        watcher: Option<Arc<dyn Watcher>>,
    ) -> Engine {
        let clock = Arc::new(SystemClock);
        let workspace = self.path("project");
        let mut context = ToolContext::new(Arc::clone(&self.registry), clock);
        context.gate().mode = PermissionMode::Yolo;
        context.gate().places.root = workspace.to_string_lossy().into();
        context.settings.paths = ToolPaths {
            workspace,
            ..ToolPaths::default()
        };
        context.settings.budget = RunBudget::default();
        context.services.model = Some(model);
        context.services.sessions = Some(store);
        context.services.tools = prowess_tools::files::file_tools(None);
        context.services.watchers.extend(watcher);
        Engine::new(context).expect("an engine")
    }
}

fn skill(number: usize) -> String {
    format!(
        "---\nname: skill-number-{number}\ndescription: Does the work of number {number}. Use it \
         when the user asks for number {number} or a number near it.\n---\n# Steps\n\n{}\n",
        "Do one thing after the other.\n".repeat(20)
    )
}

/// Records a realistic conversation: it starts like a real one, and the model reads a file between
/// every two answers.
fn history(runtime: &Runtime, engine: &Engine) -> Box<str> {
    let session = runtime
        .block_on(Session::start(engine, "history"))
        .expect("session starts");
    let id: Box<str> = session.id().into();
    drop(session);
    let text = || "word ".repeat(SIZE / 5);
    let mut events = Vec::new();
    for at in 0..MESSAGES / 4 {
        let parts = vec![MessagePart::text(text())];
        events.push(Event::Said {
            parts,
            typed: None,
            loaded: Vec::new(),
            usage: None,
        });
        let path = json!({"path": format!("file-{at}.txt")});
        let call = ToolCall::new(format!("old-{at}"), "read", path);
        let result = ToolResult::of(&call, text());
        let parts = vec![MessagePart::text(text()), MessagePart::Call(call)];
        let reply = Reply {
            parts,
            stop: StopReason::ToolUse,
            ..Reply::default()
        };
        events.push(Event::Replied {
            reply,
            milliseconds: 0,
        });
        events.push(Event::answer(result));
        events.push(Event::Replied {
            reply: Reply::text(text()),
            milliseconds: 0,
        });
    }
    let events: Vec<StampedEvent> = events
        .into_iter()
        .map(|event| StampedEvent { at: 1, event })
        .collect();
    let store = engine.sessions();
    let lease = store.take(&id).expect("lease is free");
    store.append(&lease, &events).expect("events are stored");
    store.release(lease);
    id
}

/// A model that takes no time. If the message asks for it, it first reads a file, each time a
/// different one.
#[derive(Debug)]
struct Quick {
    about: ModelInfo,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: usize,
    last: Request,
}

impl Quick {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            about: about(),
            state: Mutex::default(),
        })
    }

    fn answer(&self, request: &Request) -> Reply {
        let mut state = self.state.lock().expect("a state");
        let text = request
            .messages
            .last()
            .map(Message::text)
            .unwrap_or_default();
        match &*text {
            "remember" => state.last = request.clone(),
            "read a file" => {
                state.files += 1;
                let path = json!({"path": format!("file-{}.txt", state.files % FILES)});
                let call = ToolCall::new(format!("call-{}", state.files), "read", path);
                let parts = vec![MessagePart::Call(call)];
                return Reply {
                    parts,
                    stop: StopReason::ToolUse,
                    ..Reply::default()
                };
            }
            _ => {}
        }
        Reply::text("word ".repeat(SIZE / 5))
    }
}

impl Model for Quick {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        _deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move { Ok(self.answer(request)) })
    }
}

/// The window is large enough that compaction never runs.
fn about() -> ModelInfo {
    ModelInfo {
        name: "bench/model".into(),
        window: 1_000_000,
        price: None,
        note: None,
    }
}

fn remote(wire: Arc<dyn WireFormat>, port: u16) -> RemoteModel {
    let base = HttpUrl::parse(&format!("http://127.0.0.1:{port}")).expect("an address");
    let http = HttpClient::new("prowess-bench", Deadlines::default()).expect("a client");
    RemoteModel::new(about(), wire, "bench", base, None, http)
}

// --- figures ---

/// Samples of time, number of allocations and allocated bytes. All threads are included.
#[derive(Default)]
struct Samples {
    times: Vec<Duration>,
    asked: Vec<usize>,
    bytes: Vec<usize>,
}

impl Samples {
    fn take<T>(&mut self, work: impl FnOnce() -> T) {
        let (region, began) = (Region::new(ALLOCATOR), Instant::now());
        std::hint::black_box(work());
        self.note(&region, began);
    }

    async fn take_async(&mut self, work: impl Future<Output = ()>) {
        let (region, began) = (Region::new(ALLOCATOR), Instant::now());
        work.await;
        self.note(&region, began);
    }

    fn note(&mut self, region: &Region<'_, System>, began: Instant) {
        self.times.push(began.elapsed());
        let change = region.change();
        self.asked.push(change.allocations + change.reallocations);
        self.bytes.push(change.bytes_allocated);
    }

    fn print(mut self, name: &str) {
        self.times.sort_unstable();
        let times = &self.times;
        let micros = |at: usize| format!("{:.1} µs", times[at].as_secs_f64() * 1e6);
        let last = times.len() - 1;
        let (fastest, middle, slow) = (micros(0), micros(last / 2), micros(last * 99 / 100));
        let memory = match (median(&mut self.asked), median(&mut self.bytes)) {
            (Some(asked), Some(bytes)) => format!("{asked:>9} {:>9.1}", kilobytes(bytes)),
            _ => String::new(),
        };
        println!("{name:<46} {fastest:>11} {middle:>11} {slow:>11} {memory}");
    }
}

fn median(values: &mut [usize]) -> Option<usize> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1e3
}
