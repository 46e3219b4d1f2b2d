//! Live output of a mission: a line for each event of the run, and for what its agents do.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use prowess::agent::{Event, StampedEvent, ToolCall};
use prowess::{Update, Watcher};
use prowess_diag::sanitize;
use prowess_diag::wording::{shorten, thousands};
use prowess_flow::mission::{MissionEvent, MissionState, MissionUnit};
use serde_json::Value;

/// The maximum number of characters of the input of a call.
const MAX_INPUT: usize = 100;
/// The maximum number of sessions whose tasks are remembered.
const MAX_SESSIONS: usize = 100_000;

/// Prints the events of a mission.
pub struct MissionLines {
    state: Mutex<State>,
}

struct State {
    out: Box<dyn Write + Send>,
    /// The task of each session.
    tasks: BTreeMap<Box<str>, String>,
    /// Tokens used by the sessions of each task.
    tokens: BTreeMap<String, u64>,
}

impl Debug for MissionLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MissionLines")
    }
}

impl MissionLines {
    /// Creates an output on a stream.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            state: Mutex::new(State {
                out,
                tasks: BTreeMap::new(),
                tokens: BTreeMap::new(),
            }),
        }
    }

    /// Names the tasks of the commanders that a resumed run has already.
    #[must_use]
    pub fn resumed(self, state: &MissionState) -> Self {
        {
            let mut lines = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            for (task, known) in state.tasks() {
                for (item, one) in &known.units {
                    let unit = MissionUnit {
                        task: task.name.clone(),
                        item: *item,
                    };
                    let session = one.session.clone();
                    let named = session.map(|session| (session, unit.to_string()));
                    lines.tasks.extend(named);
                }
            }
        }
        self
    }
}

impl Watcher for MissionLines {
    fn update(&self, session: &str, depth: u8, update: Update<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match update {
            Update::Message(text) => state.line(session, depth, text),
            Update::Event(event) => state.event(session, depth, event),
            _ => {}
        }
        let _ = state.out.flush();
    }
}

impl State {
    fn event(&mut self, session: &str, depth: u8, stamped: &StampedEvent) {
        match &stamped.event {
            Event::Mission { fact } => {
                if let Ok(event) = serde_json::from_value::<MissionEvent>(fact.clone()) {
                    self.mission(&event);
                }
            }
            Event::Started(started) => {
                // A commander has the name of its task; the sessions below it have its task.
                let above = started.parent.as_ref();
                let known = above.and_then(|above| self.tasks.get(&above.session).cloned());
                let own = started.title.strip_prefix("task ").map(str::to_owned);
                let task = known.or(own.filter(|_| depth == 0));
                if let Some(task) = task.filter(|_| self.tasks.len() < MAX_SESSIONS) {
                    self.tasks.insert(session.into(), task);
                }
            }
            Event::Replied { reply, .. } => {
                if let Some(task) = self.tasks.get(session) {
                    *self.tokens.entry(task.clone()).or_default() += reply.usage.tokens();
                }
                for call in reply.calls() {
                    let text = call_text(call);
                    self.line(session, depth, &text);
                }
            }
            Event::CallEnded { result, .. } if result.is_error => {
                let text = format!(
                    "{} failed: {}",
                    result.name,
                    shorten(&result.text, MAX_INPUT)
                );
                self.line(session, depth, &text);
            }
            Event::Questioned(question) => {
                let text = format!(
                    "waits for an answer to question {}: {}",
                    question.id,
                    shorten(&question.what, MAX_INPUT)
                );
                self.line(session, depth, &text);
            }
            _ => {}
        }
    }

    fn mission(&mut self, event: &MissionEvent) {
        let mut text = match event {
            MissionEvent::SessionStarted {
                task,
                item,
                session,
            } => {
                let (task, item) = (task.clone(), *item);
                let unit = MissionUnit { task, item };
                self.tasks.insert(session.clone(), unit.to_string());
                return;
            }
            MissionEvent::Spent { .. } | MissionEvent::Output { .. } => return,
            event => event.to_string(),
        };
        let ended = match event {
            MissionEvent::TaskEnded { task, .. } => Some(task.to_string()),
            MissionEvent::ItemEnded { task, item, .. } => Some(format!("{task}[{item}]")),
            _ => None,
        };
        if let Some(tokens) = ended.and_then(|task| self.tokens.remove(&task)) {
            let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
            text.push_str(&format!(" ({} tokens)", thousands(tokens)));
        }
        let text = sanitize::line(&text);
        let _ = writeln!(self.out, "{text}");
    }

    fn line(&mut self, session: &str, depth: u8, text: &str) {
        // The task of an agent that worked before the run was resumed is not known.
        let task = self.tasks.get(session).map(|task| format!("{task}: "));
        let task = sanitize::line(task.as_deref().unwrap_or_default()).into_owned();
        let indent = "  ".repeat(usize::from(depth) + 1);
        let text = sanitize::line(text);
        let _ = writeln!(self.out, "{indent}{task}{text}");
    }
}

/// Describes a call in one line.
fn call_text(call: &ToolCall) -> String {
    let text = |key: &str| call.input.get(key).and_then(Value::as_str);
    match (text("name"), text("task")) {
        (Some(name), Some(task)) if &*call.name == "call_agent" => {
            format!("agent {name}: {}", shorten(task, MAX_INPUT))
        }
        _ => format!(
            "{} {}",
            call.name,
            shorten(&call.input.to_string(), MAX_INPUT)
        ),
    }
}
