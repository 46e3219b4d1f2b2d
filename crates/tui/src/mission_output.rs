//! Live output of a mission: a line for each event of the run, and for what its agents do.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use prowess::agent::{Event, StampedEvent, TokenUsage, ToolCall};
use prowess::{Update, Watcher};
use prowess_diag::sanitize;
use prowess_diag::wording::{shorten, thousands};
use prowess_flow::mission::{MissionEvent, MissionState, MissionUnit};
use serde_json::Value;

/// The maximum number of characters of the input of a call.
const MAX_INPUT: usize = 100;
/// The maximum number of sessions whose tasks are remembered.
const MAX_SESSIONS: usize = 100_000;

/// Shows lines that replace each other, such as those at the bottom of a terminal.
pub type TaskBoard = Box<dyn FnMut(&[String]) + Send>;

/// Prints the events of a mission, and keeps a line for each task that runs.
pub struct MissionLines {
    state: Mutex<State>,
}

struct State {
    out: Box<dyn Write + Send>,
    board: Option<TaskBoard>,
    /// The task of each session, and the name of the agent if it is not a commander.
    sessions: BTreeMap<Box<str>, (String, Option<String>)>,
    /// The tasks that run, in the order in which they started.
    running: Vec<RunningTask>,
}

/// A task or an item that runs.
struct RunningTask {
    name: String,
    /// What it does or waits for.
    doing: String,
    tokens: u64,
    /// Millionths of a dollar.
    micros: u64,
}

impl RunningTask {
    /// Describes what was used so far, in brackets. Empty if that is nothing.
    fn used(&self) -> String {
        let tokens = usize::try_from(self.tokens).unwrap_or(usize::MAX);
        match (self.tokens, self.micros) {
            (0, 0) => String::new(),
            (_, 0) => format!(" ({} tokens)", thousands(tokens)),
            (_, micros) => {
                let cost = format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100);
                format!(" ({} tokens, {cost})", thousands(tokens))
            }
        }
    }
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
                board: None,
                sessions: BTreeMap::new(),
                running: Vec::new(),
            }),
        }
    }

    /// Shows a line for each task that runs: what it does or waits for, and what it used.
    #[must_use]
    pub fn with_board(self, board: TaskBoard) -> Self {
        let mut state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        state.board = Some(board);
        Self {
            state: Mutex::new(state),
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
                    let name = unit.to_string();
                    let session = one.session.clone();
                    let named = session.map(|session| (session, (name.clone(), None)));
                    lines.sessions.extend(named);
                    if one.ending.is_none() {
                        let task = lines.task(&name);
                        task.tokens = one.spent.tokens;
                        task.micros = one.spent.micros;
                    }
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
            _ => return,
        }
        let _ = state.out.flush();
        state.show_board();
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
                let known = above.and_then(|above| self.sessions.get(&above.session));
                let known = known.map(|(task, _)| task.clone());
                let agent = started.agent.as_ref().map(|agent| agent.name.to_string());
                let agent = agent.filter(|_| known.is_some());
                let own = started.title.strip_prefix("task ").map(str::to_owned);
                let task = known.or(own.filter(|_| depth == 0));
                if let Some(task) = task.filter(|_| self.sessions.len() < MAX_SESSIONS) {
                    self.sessions.insert(session.into(), (task, agent));
                }
            }
            Event::Asked { .. } => self.does(session, "waits for the model"),
            Event::Replied { reply, .. } => {
                self.used(session, &reply.usage);
                for call in reply.calls() {
                    let text = call_text(call);
                    self.line(session, depth, &text);
                    self.does(session, &text);
                }
            }
            Event::CallEnded { result, usage, .. } => {
                // The sessions of other agents count their own replies.
                if let Some(usage) = usage
                    && matches!(&*result.name, "ask_agent" | "ask_commander")
                {
                    self.used(session, usage);
                }
                if result.is_error {
                    let text = format!(
                        "{} failed: {}",
                        result.name,
                        shorten(&result.text, MAX_INPUT)
                    );
                    self.line(session, depth, &text);
                } else if let Some(how) = &result.command_failure {
                    self.line(session, depth, &format!("{} ended: {how}", result.name));
                }
            }
            Event::Questioned(question) => {
                let text = format!(
                    "waits for an answer to question {}: {}",
                    question.id,
                    shorten(&question.what, MAX_INPUT)
                );
                self.line(session, depth, &text);
                self.does(session, &text);
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
                self.sessions
                    .insert(session.clone(), (unit.to_string(), None));
                return;
            }
            MissionEvent::Spent { .. } | MissionEvent::Output { .. } => return,
            event => event.to_string(),
        };
        match event {
            MissionEvent::TaskStarted { task } => {
                self.task(task);
            }
            MissionEvent::ItemStarted { task, item, .. } => {
                // The line of the task is that of its items.
                self.running.retain(|one| *one.name != **task);
                self.task(&format!("{task}[{item}]"));
            }
            _ => {}
        }
        let ended = match event {
            MissionEvent::TaskEnded { task, .. } => Some(task.to_string()),
            MissionEvent::ItemEnded { task, item, .. } => Some(format!("{task}[{item}]")),
            _ => None,
        };
        let place = ended.and_then(|name| self.running.iter().position(|one| one.name == name));
        if let Some(place) = place {
            text.push_str(&self.running.remove(place).used());
        }
        if matches!(
            event,
            MissionEvent::Ended { .. } | MissionEvent::HandedOver { .. }
        ) {
            self.running.clear();
        }
        let text = sanitize::line(&text);
        let _ = writeln!(self.out, "{text}");
    }

    /// Returns the line of a task that runs.
    fn task(&mut self, name: &str) -> &mut RunningTask {
        let known = self.running.iter().position(|one| one.name == name);
        let place = known.unwrap_or_else(|| {
            self.running.push(RunningTask {
                name: name.to_owned(),
                doing: "starts".to_owned(),
                tokens: 0,
                micros: 0,
            });
            self.running.len() - 1
        });
        &mut self.running[place]
    }

    /// Notes what a session does.
    fn does(&mut self, session: &str, text: &str) {
        let Some((task, agent)) = self.sessions.get(session).cloned() else {
            return;
        };
        let text = match agent {
            Some(agent) => format!("{agent}: {text}"),
            None => text.to_owned(),
        };
        if let Some(running) = self.running.iter_mut().find(|one| one.name == task) {
            running.doing = text;
        }
    }

    /// Counts what a session used.
    fn used(&mut self, session: &str, usage: &TokenUsage) {
        let Some((task, _)) = self.sessions.get(session) else {
            return;
        };
        let task = self.running.iter_mut().find(|one| one.name == *task);
        if let Some(task) = task {
            task.tokens = task.tokens.saturating_add(usage.tokens());
            task.micros = task.micros.saturating_add(usage.micros.unwrap_or(0));
        }
    }

    fn show_board(&mut self) {
        let Some(board) = &mut self.board else {
            return;
        };
        let line = |task: &RunningTask| {
            let text = format!("{}{}: {}", task.name, task.used(), task.doing);
            sanitize::line(&text).into_owned()
        };
        let lines: Vec<String> = self.running.iter().map(line).collect();
        board(&lines);
    }

    fn line(&mut self, session: &str, depth: u8, text: &str) {
        // The task of an agent that worked before the run was resumed is not known.
        let task = self
            .sessions
            .get(session)
            .map(|(task, _)| format!("{task}: "));
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
