//! A world with an engine.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use prowess_agent::{DecisionRecord, Event, StampedEvent};
use prowess_catalog::Precedence;
use prowess_policy::profile::Strength;
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode, RuleSource};
use prowess_registry::{FileOptions, FileSource, Place, Registry};
use prowess_runtime::{CancellationToken, Engine, Update, Watcher};
use prowess_sandbox::{Helper, Runner};
use prowess_store::{MemorySessions, SqliteSessions};
use prowess_test::ManualClock;
use prowess_test::harness::DEADLINE;
use prowess_tools::{Loaded, Tool, ToolAnswer, ToolContext, ToolError, ToolPaths};
use prowess_traits::{
    ApprovalRequest, Approver, Model, SessionQuery, SessionStore, SessionSummary,
};
use prowess_trust::TrustStore;
use serde_json::{Value, json};

/// This program, as its own sandbox helper.
pub(crate) static HELPER: OnceLock<Helper> = OnceLock::new();

/// Runs a future to completion, for at most [`DEADLINE`].
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let bounded = async { tokio::time::timeout(DEADLINE, work).await };
    if let Ok(done) = runtime.block_on(bounded) {
        return done;
    }
    // Do not wait for blocked threads, so that the test can fail.
    runtime.shutdown_background();
    panic!("the test did not end within {} s", DEADLINE.as_secs());
}

pub(crate) fn never() -> CancellationToken {
    CancellationToken::new()
}

/// A project and a home, with an engine.
pub(crate) struct World(prowess_test::World);

impl Deref for World {
    type Target = prowess_test::World;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self(prowess_test::World::shared())
    }

    /// Opens a world that another process created and will remove.
    #[allow(dead_code, reason = "for the other process of `kill.rs`")]
    pub(crate) fn at(root: PathBuf) -> Self {
        Self(prowess_test::World::at(root))
    }

    pub(crate) fn context(&self) -> ToolContext {
        let home = self.path("~");
        let workspace = self.path("");
        let place = Place {
            current: workspace.clone(),
            home: Some(home.clone()),
            ..Place::default()
        };
        // No bundled skills: a test sees only its own.
        let registry = Registry::new(Precedence::default());
        registry.add_files(FileSource::new(place, FileOptions::default()));
        registry.refresh();
        let mut context = ToolContext::new(Arc::new(registry), Arc::new(ManualClock::at(1)));
        context.services.trust = Some(TrustStore::new(self.path("../trust")));
        context.services.runner = Some(Arc::new(Runner::new(HELPER.get().unwrap().clone())));
        context.gate().places.root = workspace.to_str().unwrap().into();
        context.gate().places.home = home.to_str().unwrap().into();
        context.settings.paths = ToolPaths {
            workspace,
            home,
            ..ToolPaths::default()
        };
        context.settings = prowess_tools::Settings {
            paths: context.settings.paths.clone(),
            strength: Strength::BestEffort,
            edits: true,
            ..prowess_tools::Settings::default()
        };
        context
    }

    /// Returns a context with file tools, rules that prompt, no approver, and sessions in memory.
    pub(crate) fn parts(&self, model: Arc<dyn Model>) -> ToolContext {
        let mut parts = self.context();
        parts.services.model = Some(model);
        parts.services.sessions = Some(Arc::new(MemorySessions::new()));
        parts.services.tools = prowess_tools::files::file_tools(None);
        parts
    }

    pub(crate) fn engine(&self, model: Arc<dyn Model>) -> Engine {
        Engine::new(self.parts(model)).unwrap()
    }

    /// Creates an engine that allows everything that no rule forbids.
    pub(crate) fn free(&self, model: Arc<dyn Model>) -> Engine {
        let mut parts = self.parts(model);
        mode(&mut parts, PermissionMode::Yolo);
        Engine::new(parts).unwrap()
    }

    pub(crate) fn sqlite(&self) -> Arc<dyn SessionStore> {
        Arc::new(SqliteSessions::new(self.path("../state/sessions.db")))
    }
}

pub(crate) fn mode(parts: &mut ToolContext, mode: PermissionMode) {
    parts.gate().mode = mode;
}

pub(crate) fn rule(parts: &mut ToolContext, effect: Effect, rule: &str) {
    let mut gate = parts.gate();
    gate.rules.add(effect, rule, RuleSource::Flag);
    assert!(gate.rules.unread().is_empty(), "{rule}");
}

/// Returns the events of a session.
pub(crate) fn events(engine: &Engine, id: &str) -> Vec<StampedEvent> {
    engine.sessions().events(id).unwrap()
}

pub(crate) fn decisions(engine: &Engine, id: &str) -> Vec<DecisionRecord> {
    let events = events(engine, id).into_iter();
    events
        .filter_map(|stamped| match stamped.event {
            Event::Decided(decided) => Some(decided),
            _ => None,
        })
        .collect()
}

/// Returns the sub-runs of a session.
pub(crate) fn children(engine: &Engine, id: &str) -> Vec<SessionSummary> {
    let query = SessionQuery {
        project: None,
        parent: Some(id.into()),
        limit: 100,
    };
    engine.sessions().list(&query).unwrap()
}

/// Returns every session that is not a sub-run.
pub(crate) fn roots(engine: &Engine) -> Vec<SessionSummary> {
    let query = SessionQuery {
        project: None,
        parent: None,
        limit: 100,
    };
    engine.sessions().list(&query).unwrap()
}

/// An approver that always gives the same answer and records the questions.
#[derive(Debug)]
pub(crate) struct Person {
    answer: ApprovalAnswer,
    asked: Mutex<Vec<String>>,
}

impl Person {
    pub(crate) fn says(answer: ApprovalAnswer) -> Arc<Self> {
        Arc::new(Self {
            answer,
            asked: Mutex::default(),
        })
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approver for Person {
    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        self.asked.lock().unwrap().push(question.what.to_owned());
        self.answer
    }
}

/// A host tool that records its inputs.
#[derive(Debug)]
pub(crate) struct Counter {
    name: &'static str,
    inputs: Mutex<Vec<Value>>,
}

impl Counter {
    pub(crate) fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self {
            name,
            inputs: Mutex::default(),
        })
    }

    pub(crate) fn inputs(&self) -> Vec<Value> {
        self.inputs.lock().unwrap().clone()
    }
}

impl Tool for Counter {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Counts.".to_owned()
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object", "additionalProperties": true })
    }

    fn output_schema(&self) -> Value {
        json!({ "type": "object" })
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        false
    }

    fn answer(
        &self,
        _context: &ToolContext,
        _loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let mut inputs = self.inputs.lock().unwrap();
        inputs.push(input.clone());
        let text = format!("{} was called {} times", self.name, inputs.len());
        Ok(ToolAnswer::new(text, json!({})))
    }
}

/// A watcher that calls a closure for each update.
pub(crate) struct Seeing<F>(pub(crate) F);

impl<F> std::fmt::Debug for Seeing<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seeing")
    }
}

impl<F: Fn(&str, Update<'_>) + Send + Sync> Watcher for Seeing<F> {
    fn update(&self, session: &str, _depth: u8, update: Update<'_>) {
        (self.0)(session, update);
    }
}
