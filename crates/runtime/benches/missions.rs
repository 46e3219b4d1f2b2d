//! Measures what a mission costs outside of its models: ten missions of twenty tasks at once, in
//! memory and on disk, beside the same number of appends. Run with
//! `cargo bench -p prowess-runtime --bench missions`.

#![expect(
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its table and fails by panicking"
)]

use std::alloc::System;
use std::sync::Arc;
use std::time::Instant;

use prowess_agent::{MessagePart, Reply, Request, StopReason, ToolCall};
use prowess_flow::ProjectFiles;
use prowess_flow::mission::{
    MissionBudget, MissionProject, MissionSettings, MissionText, ModelRef, ToolRef,
};
use prowess_registry::Registry;
use prowess_runtime::{CancellationToken, Engine, MissionRequest, MissionServices, mission_state};
use prowess_spec::ReadFault;
use prowess_store::{MemorySessions, SqliteSessions, SystemClock};
use prowess_tools::{Tool, ToolContext};
use prowess_traits::{
    BoxFuture, Model, ModelError, ModelInfo, OnDelta, SessionQuery, SessionStore,
};
use serde_json::{Map, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MISSIONS: usize = 10;
const TASKS: usize = 20;

/// Ends every task with its first reply.
#[derive(Debug)]
struct Quick(ModelInfo);

impl Model for Quick {
    fn about(&self) -> &ModelInfo {
        &self.0
    }

    fn ask<'a>(
        &'a self,
        _: &'a Request,
        _: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let call = ToolCall::new("c", "task_complete", json!({ "summary": "done" }));
        let reply = Reply {
            parts: vec![MessagePart::Call(call)],
            stop: StopReason::ToolUse,
            ..Reply::default()
        };
        Box::pin(async move { Ok(reply) })
    }
}

#[derive(Debug)]
struct Nothing;

impl MissionServices for Nothing {
    fn tools(&self, _: &str, _: &ToolRef) -> Result<Vec<Arc<dyn Tool>>, String> {
        Ok(Vec::new())
    }

    fn model(&self, _: &ModelRef) -> Result<Arc<dyn Model>, String> {
        Err("the model is chosen".to_owned())
    }
}

struct NoFiles;

impl ProjectFiles for NoFiles {
    fn read(&self, _: &str) -> Result<Vec<u8>, ReadFault> {
        Err(ReadFault::Missing)
    }
}

fn request() -> MissionRequest {
    let tasks: String = (0..TASKS)
        .map(|number| format!("  task \"t{number}\" {{ objective = \"o\" }}\n"))
        .collect();
    let text = format!(
        "model \"m\" {{\n  provider = \"ollama\"\n  base_url = \"http://127.0.0.1:9\"\n  aliases  = {{ x = \"x\" }}\n}}\nagent \"a\" {{\n  model       = models.m.x\n  personality = \"p\"\n}}\nmission \"x\" {{\n  commander {{ model = models.m.x }}\n  agents       = [agents.a]\n  max_parallel = 5\n{tasks}}}\n"
    );
    let files = [MissionText {
        path: "x.hcl".to_owned(),
        bytes: Ok(text.into_bytes()),
    }];
    let settings = MissionSettings::default();
    let (plan, reports) = MissionProject::read(&files, &NoFiles, &settings);
    assert!(reports.iter().all(|report| report.diagnostics.is_empty()));
    MissionRequest {
        folder: "/".into(),
        plan,
        digest: "d".into(),
        mission: "x".into(),
        inputs: Map::new(),
        budget: MissionBudget::default(),
    }
}

fn engine(store: Arc<dyn SessionStore>) -> Engine {
    let registry = Arc::new(Registry::default());
    let mut context = ToolContext::new(registry, Arc::new(SystemClock));
    context.settings.is_model_chosen = true;
    context.services.model = Some(Arc::new(Quick(ModelInfo {
        name: "quick/one".into(),
        window: 128_000,
        price: None,
        note: None,
    })));
    context.services.sessions = Some(store);
    Engine::new(context).expect("an engine")
}

/// Returns the number of events of a run and its sessions.
fn count_events(store: &dyn SessionStore, run: &str) -> usize {
    let own = store.events(run).expect("events");
    assert!(mission_state(&own).expect("a state").is_some());
    let query = SessionQuery {
        project: None,
        parent: Some(run.into()),
        limit: TASKS * 2,
    };
    let children = store.list(&query).expect("sessions");
    assert_eq!(children.len(), TASKS);
    let children = children.iter().map(|one| one.events);
    own.len() + usize::try_from(children.sum::<u64>()).unwrap_or(usize::MAX)
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    println!("{MISSIONS} missions of {TASKS} tasks at once, five tasks of each at a time");
    println!(
        "{:<24} {:>10} {:>12} {:>12} {:>12} {:>12}",
        "", "time", "per task", "events", "events/s", "allocated"
    );
    let memory: Arc<dyn SessionStore> = Arc::new(MemorySessions::new());
    let sqlite: Arc<dyn SessionStore> = Arc::new(SqliteSessions::new(folder.path().join("s.db")));
    for (name, store) in [("in memory", memory), ("SQLite, on disk", sqlite)] {
        let engine = engine(Arc::clone(&store));
        let region = Region::new(ALLOCATOR);
        let began = Instant::now();
        let runs = runtime.block_on(async {
            let mut running = tokio::task::JoinSet::new();
            for _ in 0..MISSIONS {
                let engine = engine.clone();
                running.spawn(async move {
                    let cancel = CancellationToken::new();
                    let run = engine.run_mission(request(), Arc::new(Nothing), &cancel);
                    run.await.expect("the mission ends").run
                });
            }
            running.join_all().await
        });
        let time = began.elapsed();
        let change = region.change();
        let held = change
            .bytes_allocated
            .saturating_sub(change.bytes_deallocated);
        let events: usize = runs.iter().map(|run| count_events(&*store, run)).sum();
        let seconds = time.as_secs_f64();
        println!(
            "{name:<24} {:>7.0} ms {:>9.2} ms {events:>12} {:>12.0} {:>9.1} MB",
            seconds * 1e3,
            seconds * 1e3 / (MISSIONS * TASKS) as f64,
            events as f64 / seconds,
            held as f64 / 1e6
        );
    }
}
