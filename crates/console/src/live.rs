//! Lines about a session while it goes on.

use std::fmt::Debug;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use prowess::agent::{Delta, Ending, Event, Stamped, ToolCall};
use prowess::{Update, Watcher};
use prowess_diag::sanitize;
use prowess_diag::wording::shorten;
use serde_json::Value;

/// Most characters of the input of a call in a line.
const MAX_INPUT: usize = 100;

/// Writes a line for what happens, and the model's words as they come.
pub struct Live {
    state: Mutex<State>,
}

struct State {
    out: Box<dyn Write + Send>,
    colours: bool,
    /// Whether the last character was the end of a line.
    at_start: bool,
    open: Vec<(Box<str>, ToolCall)>,
}

impl Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Live")
    }
}

impl Live {
    /// Writes to a stream, with or without colours.
    pub fn new(out: Box<dyn Write + Send>, colours: bool) -> Self {
        let state = State { out, colours, at_start: true, open: Vec::new() };
        Self { state: Mutex::new(state) }
    }
}

impl Watcher for Live {
    fn update(&self, _session: &str, depth: u8, update: Update<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match update {
            // What a sub-run says is its own; its calls are of interest.
            Update::Delta(Delta::Text(text)) if depth == 0 => state.words(text),
            Update::Delta(Delta::Restart) if depth == 0 => {
                state.line(
                    depth,
                    AnsiColor::Yellow,
                    "again",
                    "the connection broke; asking once more",
                );
            }
            Update::Message(text) => state.line(depth, AnsiColor::Yellow, "note", text),
            Update::Event(event) => state.event(depth, event),
            _ => {}
        }
        let _ = state.out.flush();
    }
}

impl State {
    fn words(&mut self, text: &str) {
        let clean = sanitize::block(text);
        let _ = self.out.write_all(clean.as_bytes());
        self.at_start = clean.ends_with('\n');
    }

    fn end_line(&mut self) {
        if !self.at_start {
            let _ = self.out.write_all(b"\n");
            self.at_start = true;
        }
    }

    fn line(&mut self, depth: u8, colour: AnsiColor, what: &str, text: &str) {
        self.end_line();
        let style = if self.colours { colour.on_default() } else { Style::new() };
        let indent = "  ".repeat(usize::from(depth) + 1);
        let text = sanitize::line(text);
        let _ = writeln!(self.out, "{indent}{style}{what:<9}{style:#} {text}");
    }

    fn event(&mut self, depth: u8, stamped: &Stamped) {
        match &stamped.event {
            Event::Replied { reply, .. } => {
                for call in reply.calls() {
                    self.open.push((call.id.clone(), call.clone()));
                }
                if self.open.len() > 1_000 {
                    self.open.clear();
                }
            }
            Event::CallStarted { call, .. } => {
                let found =
                    self.open.iter().find(|(id, _)| id == call).map(|(_, call)| call.clone());
                if let Some(call) = found {
                    self.line(depth, AnsiColor::Cyan, "call", &summary(&call));
                }
            }
            Event::CallEnded { result, submitted, .. } => {
                self.open.retain(|(id, _)| *id != result.call);
                if result.is_error {
                    let first = result.text.lines().next().unwrap_or_default();
                    self.line(depth, AnsiColor::Red, "refused", &shorten(first, 300));
                } else if submitted.is_some() {
                    self.line(depth, AnsiColor::Green, "submitted", "a value that fits the schema");
                }
            }
            Event::Decided(decided) if decided.answer.is_some() => {
                let answer = decided.answer.as_deref().unwrap_or_default();
                self.line(
                    depth,
                    AnsiColor::Yellow,
                    "asked",
                    &format!("{} — {answer}", decided.what),
                );
            }
            Event::Compacted { .. } => {
                self.line(depth, AnsiColor::Yellow, "shortened", "the beginning was summed up");
            }
            Event::Ended { ending } => match ending {
                Ending::Exhausted { limit } => {
                    self.line(depth, AnsiColor::Red, "stopped", &limit.to_string());
                }
                Ending::Failed { message, .. } => {
                    self.line(depth, AnsiColor::Red, "failed", message);
                }
                Ending::Cancelled => self.line(depth, AnsiColor::Yellow, "cancelled", ""),
                Ending::Answered | Ending::Submitted { .. } | Ending::Declined { .. } => {
                    self.end_line()
                }
            },
            _ => {}
        }
    }
}

/// A call in one line: the tool, and what it is about.
pub fn summary(call: &ToolCall) -> String {
    let about = ["command", "commandLine", "path", "pattern", "url", "query", "name"]
        .iter()
        .find_map(|key| call.input.get(*key).and_then(Value::as_str));
    let about = match about {
        Some(text) => text.to_owned(),
        None if call.input.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
        None => call.input.to_string(),
    };
    let about = sanitize::line(&about).into_owned();
    format!("{} {}", call.name, shorten(&about, MAX_INPUT)).trim_end().to_owned()
}
