//! Live output of a session.

use std::fmt::Debug;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use prowess::agent::{Delta, Ending, Event, Question, RecordedAnswer, StampedEvent, ToolCall};
use prowess::{Update, Watcher};
use prowess_diag::wording::shorten;
use prowess_diag::{review, sanitize, theme};
use serde_json::Value;

/// The maximum number of characters of the input of a call.
const MAX_INPUT: usize = 100;

/// Prints a line for each event, and the text of the model as it arrives.
pub struct Live {
    state: Mutex<State>,
}

/// The place where the final answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerDisplay {
    /// Here, as it arrives.
    Here,
    /// Elsewhere, when it is complete. Only the earlier texts are shown here.
    Elsewhere,
}

struct State {
    out: Box<dyn Write + Send>,
    colors: bool,
    /// `true` at the start of a line.
    at_start: bool,
    answer: AnswerDisplay,
    /// Text that may be the answer, if that is shown elsewhere.
    held: String,
    /// `true` if a reply ended with this text.
    is_whole: bool,
    open: Vec<(Box<str>, ToolCall)>,
}

impl Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Live")
    }
}

impl Live {
    /// Creates an output on a stream, with or without colours.
    pub fn new(out: Box<dyn Write + Send>, colors: bool, answer: AnswerDisplay) -> Self {
        let (held, open) = (String::new(), Vec::new());
        let state = State {
            out,
            colors,
            at_start: true,
            answer,
            held,
            is_whole: false,
            open,
        };
        Self {
            state: Mutex::new(state),
        }
    }
}

impl Watcher for Live {
    fn update(&self, _session: &str, depth: u8, update: Update<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match update {
            // The text of a sub-run is not shown; its calls are.
            Update::Delta(Delta::Text(text)) if depth == 0 => match state.answer {
                AnswerDisplay::Here => state.words(text),
                AnswerDisplay::Elsewhere => state.hold(text),
            },
            Update::Delta(Delta::Restart) if depth == 0 => {
                state.held.clear();
                state.line(
                    depth,
                    theme::WARNING,
                    "retry",
                    "the connection was lost; retrying",
                );
            }
            Update::Message(text) => state.line(depth, theme::WARNING, "note", text),
            Update::Waiting(question) => state.question(depth, question),
            Update::Event(event) => state.event(depth, event),
            _ => {}
        }
        let _ = state.out.flush();
    }
}

impl State {
    fn words(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
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

    fn line(&mut self, depth: u8, color: AnsiColor, what: &str, text: &str) {
        self.end_line();
        let style = if self.colors {
            color.on_default()
        } else {
            Style::new()
        };
        let indent = "  ".repeat(usize::from(depth) + 1);
        let text = sanitize::line(text);
        let _ = writeln!(self.out, "{indent}{style}{what:<9}{style:#} {text}");
    }

    /// Prints a question, with the action as a block.
    fn question(&mut self, depth: u8, question: &Question) {
        let text = format!("{}: {}", question.id, question.reason);
        self.line(depth, theme::WARNING, "question", &text);
        self.rows(depth, &question.what);
    }

    /// Prints a text of others, each line with a mark, so that none of them looks like ours.
    fn rows(&mut self, depth: u8, text: &str) {
        let indent = "  ".repeat(usize::from(depth) + 1);
        for row in review::text(text).split('\n') {
            let _ = writeln!(self.out, "{indent}{}{row}", review::GUTTER);
        }
    }

    fn hold(&mut self, text: &str) {
        // There is more text, so the held text was not the answer.
        if self.is_whole {
            self.release();
        }
        self.held.push_str(text);
    }

    /// Prints the held text: it was not the answer.
    fn release(&mut self) {
        self.is_whole = false;
        let held = std::mem::take(&mut self.held);
        self.words(&held);
        self.end_line();
    }

    fn event(&mut self, depth: u8, stamped: &StampedEvent) {
        match &stamped.event {
            Event::Replied { reply, .. } => {
                match reply.calls().next() {
                    _ if depth > 0 => {}
                    Some(_) => self.release(),
                    None => self.is_whole = true,
                }
                for call in reply.calls() {
                    self.open.push((call.id.clone(), call.clone()));
                }
                if self.open.len() > 1_000 {
                    self.open.clear();
                }
            }
            Event::CallStarted { call, .. } => {
                let found = self
                    .open
                    .iter()
                    .find(|(id, _)| id == call)
                    .map(|(_, call)| call.clone());
                if let Some(call) = found {
                    self.line(depth, theme::ACCENT, "call", &summary(&call));
                }
            }
            Event::CallEnded {
                result, submitted, ..
            } => {
                self.open.retain(|(id, _)| *id != result.call);
                if result.is_error {
                    let first = result.text.lines().next().unwrap_or_default();
                    self.line(depth, theme::BAD, "failed", &shorten(first, 300));
                } else if let Some(how) = &result.command_failure {
                    self.line(depth, theme::WARNING, "ended", how);
                } else if submitted.is_some() {
                    self.line(depth, theme::GOOD, "submitted", "a valid result");
                }
            }
            Event::Decided(decided) => {
                if let Some(answer) = &decided.answer {
                    let (what, answer) = (shorten(&decided.what, 500), answer.as_str());
                    if what.trim_end().contains('\n') {
                        self.line(depth, theme::WARNING, "asked", answer);
                        self.rows(depth, &what);
                    } else {
                        let text = format!("{what} — {answer}");
                        self.line(depth, theme::WARNING, "asked", &text);
                    }
                }
            }
            Event::Answered {
                answer: RecordedAnswer::Text(texts),
                who,
                ..
            } => {
                let text = shorten(&crate::chat::given(texts, who), 500);
                self.line(depth, theme::GOOD, "answered", &text);
            }
            Event::Compacted { .. } => {
                self.line(
                    depth,
                    theme::WARNING,
                    "compacted",
                    "the start of the conversation was summarized",
                );
            }
            Event::Ended { ending } => {
                // An incomplete reply is not the answer.
                if depth == 0 && !self.is_whole {
                    self.release();
                }
                match ending {
                    Ending::Exhausted { limit } => {
                        self.line(depth, theme::BAD, "stopped", &limit.to_string());
                    }
                    Ending::Failed { message, .. } => {
                        self.line(depth, theme::BAD, "failed", message);
                    }
                    Ending::Cancelled => self.line(depth, theme::WARNING, "cancelled", ""),
                    Ending::Answered
                    | Ending::Submitted { .. }
                    | Ending::Declined { .. }
                    | Ending::Waiting { .. } => {
                        self.end_line();
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns a call in one line: the tool and its main input.
pub fn summary(call: &ToolCall) -> String {
    let about = [
        "command",
        "commandLine",
        "path",
        "pattern",
        "url",
        "query",
        "question",
        "name",
    ]
    .iter()
    .find_map(|key| call.input.get(*key).and_then(Value::as_str));
    let about = match about {
        Some(text) => text.to_owned(),
        None if call
            .input
            .as_object()
            .is_some_and(serde_json::Map::is_empty) =>
        {
            String::new()
        }
        None => call.input.to_string(),
    };
    let about = sanitize::line(&about).into_owned();
    format!("{} {}", call.name, shorten(&about, MAX_INPUT))
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use prowess::agent::{MessagePart, Reply};

    use super::*;

    /// A shared buffer.
    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Returns the output for two replies: one with text and a call, and one with `last`.
    fn shown(answer: AnswerDisplay, last: &str, ending: Ending) -> String {
        let page = Page::default();
        let live = Live::new(Box::new(page.clone()), false, answer);
        let say = |text: &str| live.update("s", 0, Update::Delta(&Delta::Text(text.to_owned())));
        let tell =
            |event: Event| live.update("s", 0, Update::Event(&StampedEvent { at: 0, event }));
        let replied = |parts| Event::Replied {
            reply: Reply {
                parts,
                ..Reply::default()
            },
            milliseconds: 1,
        };
        let input = serde_json::json!({ "path": "a.csv" });
        let call = ToolCall {
            id: "1".into(),
            name: "read".into(),
            input,
            fault: None,
            opaque: None,
        };
        say("Let me ");
        say("look.");
        tell(replied(vec![
            MessagePart::text("Let me look."),
            MessagePart::Call(call),
        ]));
        tell(Event::CallStarted {
            call: "1".into(),
            read_only: true,
            child: None,
        });
        say(last);
        if ending == Ending::Answered {
            tell(replied(vec![MessagePart::text(last)]));
        }
        tell(Event::Ended { ending });
        let bytes = page.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn answer_shown_elsewhere_is_not_shown_here() {
        let way = "Let me look.\n  call      read a.csv\n";
        let here = shown(AnswerDisplay::Here, "It is 42.", Ending::Answered);
        assert_eq!(here, format!("{way}It is 42.\n"));
        assert_eq!(
            shown(AnswerDisplay::Elsewhere, "It is 42.", Ending::Answered),
            way
        );
        // An incomplete reply is shown here.
        let broken = shown(AnswerDisplay::Elsewhere, "It is 4", Ending::Cancelled);
        assert!(
            broken.starts_with(&format!("{way}It is 4\n  cancelled")),
            "{broken}"
        );
    }
}
