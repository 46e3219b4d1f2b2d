//! A skill is resolved, opened, hashed and parsed once, whichever entry point loads it.
//!
//! The kernel counts how often a file is opened; the crates count the rest. The counters are those
//! of the process, so the tests take turns.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_catalog::Audience;
use prowess_mcp::{Server, ServerOptions};
use prowess_models::ScriptedModel;
use prowess_registry::Registry;
use prowess_registry::counters::{self, Counts};
use prowess_render::Arguments;
use prowess_runtime::{CancellationToken, Ending, Engine, Pause, Session, SkillRef, SubRun};
use prowess_store::{MemorySessions, SystemClock};
use prowess_test::{Opens, PATIENCE};
use prowess_tools::{
    ActivationRequest, Loaded, ToolContext, ToolSelection, Toolset, activate, open,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const ONCE: Counts = Counts {
    resolved: 1,
    hashed: 1,
    parsed: 1,
};

fn take_turns() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Skills in the folder `skills`, and a registry that has read their heads.
struct World {
    world: prowess_test::World,
    registry: Arc<Registry>,
}

impl World {
    /// Each skill has three files; `more` is further frontmatter.
    fn new(skills: &[(&str, &str)]) -> Self {
        let world = prowess_test::World::new();
        for (name, more) in skills {
            world
                .skill_in(format!("skills/{name}"), more, "Do $ARGUMENTS.")
                .file(format!("skills/{name}/run.sh"), "echo\n")
                .file(format!("skills/{name}/references/a.md"), "More.\n");
        }
        let registry = Registry::default();
        registry.load_dir(&world.path("skills")).unwrap();
        Self {
            world,
            registry: Arc::new(registry),
        }
    }

    fn path(&self) -> PathBuf {
        self.world.path("skills")
    }

    fn context(&self) -> ToolContext {
        ToolContext::new(Arc::clone(&self.registry), Arc::new(SystemClock))
    }

    fn engine(&self, script: &[Value]) -> Engine {
        let script: Vec<String> = script.iter().map(ToString::to_string).collect();
        let model = ScriptedModel::parse("test", &script.join("\n")).unwrap();
        // The first message would build it, which reads every skill.
        self.registry.search_index();
        let mut context = self.context();
        context.services.model = Some(Arc::new(model));
        context.services.sessions = Some(Arc::new(MemorySessions::default()));
        Engine::new(context).unwrap()
    }
}

/// Each file of a skill, opened once.
fn each_file_once(skill: &str) -> BTreeMap<String, usize> {
    ["SKILL.md", "references/a.md", "run.sh"]
        .map(|file| (format!("{skill}/{file}"), 1))
        .into()
}

fn load(name: &str) -> Value {
    json!({ "calls": [{ "name": "load_skill", "input": { "name": name, "arguments": "it" } }] })
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() })
}

async fn say(session: &mut Session, text: &str) {
    let cancel = CancellationToken::new();
    session.say(text, &cancel).await.unwrap();
    let pause = session.proceed(&cancel).await.unwrap();
    assert!(matches!(pause, Pause::Answered(_)), "{pause:?}");
}

#[test]
fn session_reads_a_skill_once() {
    let _turn = take_turns();
    let world = World::new(&[("one", "model: inherit\neffort: high\n")]);
    let engine = world.engine(&[load("one"), json!({ "text": "Done." })]);
    wait(async {
        let mut session = Session::start(&engine, "test").await.unwrap();
        let (opens, before) = (Opens::below(&world.path()).unwrap(), counters::now());
        say(&mut session, "Begin.").await;
        assert_eq!(counters::now().since(before), ONCE);
        assert_eq!(opens.take(), each_file_once("one"));
        assert_eq!(&*session.skills()[0].name, "one");
    });
}

#[test]
fn session_reads_a_typed_skill_once() {
    let _turn = take_turns();
    let world = World::new(&[("one", "")]);
    let engine = world.engine(&[json!({ "text": "Done." })]);
    wait(async {
        let mut session = Session::start(&engine, "test").await.unwrap();
        let (opens, before) = (Opens::below(&world.path()).unwrap(), counters::now());
        say(&mut session, "/one it").await;
        assert_eq!(counters::now().since(before), ONCE);
        assert_eq!(opens.take(), each_file_once("one"));
    });
}

#[test]
fn sixth_load_touches_only_its_own_files() {
    let _turn = take_turns();
    let names = ["a", "b", "c", "d", "e", "f"];
    let world = World::new(&names.map(|name| (name, "disallowed-tools: WebFetch\n")));
    let mut script: Vec<Value> = names[..5].iter().map(|name| load(name)).collect();
    script.push(json!({ "text": "Five." }));
    script.extend([load("f"), json!({ "text": "Six." })]);
    let engine = world.engine(&script);
    wait(async {
        let mut session = Session::start(&engine, "test").await.unwrap();
        say(&mut session, "Load five.").await;
        assert_eq!(session.skills().len(), 5);
        let (opens, before) = (Opens::below(&world.path()).unwrap(), counters::now());
        say(&mut session, "Load one more.").await;
        assert_eq!(counters::now().since(before), ONCE);
        assert_eq!(opens.take(), each_file_once("f"));
        assert_eq!(session.skills().len(), 6);
    });
}

#[test]
fn sub_run_reads_its_skill_once() {
    let _turn = take_turns();
    let world = World::new(&[("one", "allowed-tools: Read\nmax-ticks: 3\n")]);
    let engine = world.engine(&[json!({ "text": "Done." })]);
    wait(async {
        let (opens, before) = (Opens::below(&world.path()).unwrap(), counters::now());
        let sub = SubRun::new(SkillRef::from("one"));
        let finished = engine
            .run_skill(sub, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(
            finished.ending,
            Ending::Submitted {
                value: json!("Done.")
            }
        );
        assert_eq!(counters::now().since(before), ONCE);
        assert_eq!(opens.take(), each_file_once("one"));
    });
}

#[test]
fn session_reads_a_forked_skill_once() {
    let _turn = take_turns();
    let world = World::new(&[("one", "context: fork\n")]);
    let script = [
        load("one"),
        json!({ "text": "From the fork." }),
        json!({ "text": "Done." }),
    ];
    let engine = world.engine(&script);
    wait(async {
        let mut session = Session::start(&engine, "test").await.unwrap();
        let (opens, before) = (Opens::below(&world.path()).unwrap(), counters::now());
        say(&mut session, "Begin.").await;
        assert_eq!(counters::now().since(before), ONCE);
        assert_eq!(opens.take(), each_file_once("one"));
    });
}

#[test]
fn mcp_reads_a_skill_once() {
    let _turn = take_turns();
    let world = World::new(&[("small", ""), ("large", "")]);
    let large = vec![b'x'; 300 * 1024];
    world.world.file("skills/large/run.sh", large);
    let options = ServerOptions {
        watch: false,
        ..ServerOptions::default()
    };
    let tools = Toolset::new(&ToolSelection::default()).unwrap();
    let server = Server::new(&world.context(), tools, &options);
    wait(async {
        let (client, served) = tokio::io::duplex(1024 * 1024);
        let (input, output) = tokio::io::split(served);
        let serving = tokio::spawn(async move { server.serve(input, output).await });
        let (read, mut write) = tokio::io::split(client);
        let mut lines = BufReader::new(read).lines();
        let mut ask = async |message: Value| {
            let text = format!("{message}\n");
            write.write_all(text.as_bytes()).await.unwrap();
            loop {
                let line = lines.next_line().await.unwrap().unwrap();
                let answer: Value = serde_json::from_str(&line).unwrap();
                if answer["id"] == message["id"] {
                    return answer;
                }
            }
        };
        let about = json!({ "name": "test", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
        ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello })).await;
        // The second one is too large for the thread that answers.
        for (id, name) in [(2, "small"), (3, "large")] {
            let (opens, before) = (Opens::below(&world.path()).unwrap(), counters::now());
            let params = json!({ "name": "load_skill", "arguments": { "name": name } });
            let call =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            let answer = ask(call).await;
            assert_eq!(
                answer["result"]["structuredContent"]["skill_name"], name,
                "{answer}"
            );
            assert_eq!(counters::now().since(before), ONCE, "{name}");
            assert_eq!(opens.take(), each_file_once(name));
        }
        serving.abort();
    });
}

/// `prowess prompt --skill` calls these two functions.
#[test]
fn prompt_reads_a_skill_once() {
    let _turn = take_turns();
    let world = World::new(&[("one", "arguments: [what]\n")]);
    let context = world.context();
    let (opens, before) = (Opens::below(&world.path()).unwrap(), counters::now());
    let skill = open(&context, "one", Audience::Person).unwrap();
    let request = ActivationRequest::new(Arguments::from_text("it"));
    let activation = activate(&context, &Loaded::default(), &skill, &request).unwrap();
    assert_eq!(activation.body.trim(), "Do it.");
    assert_eq!(counters::now().since(before), ONCE);
    assert_eq!(opens.take(), each_file_once("one"));
}
