//! The state of the chat as a pure state machine: messages in, effects out. Its keys are in
//! `state/keys.rs`.

mod keys;

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{KeyEvent, KeyEventKind};
use prowess::agent::{TextQuestion, TokenUsage};
use prowess::policy::ApprovalAnswer;
use prowess::traits::TextReply;

use super::command::{self, Input, Order};
use super::complete::{Name, Popup};
use super::display::{DisplayEvent, Tone};
use super::editor::Editor;
use super::history::History;
use super::item::{Items, Kind, View};

/// The time for which a question must be visible before a key can answer it, so that a key typed
/// for something else does not approve an action.
pub(crate) const ARMED: Duration = Duration::from_millis(600);
/// The time for which a hint is shown.
const HINT: Duration = Duration::from_secs(4);
/// The maximum number of messages that wait for the end of the turn.
const MAX_QUEUE: usize = 20;
/// The maximum number of open questions. Further ones are answered with no.
const MAX_QUESTIONS: usize = 50;

/// Input of the state machine.
#[derive(Debug)]
pub(crate) enum Message {
    /// The time since the start of the chat.
    Time(Duration),
    Key(KeyEvent),
    Paste(String),
    /// Lines to scroll; negative is up.
    Scroll(isize),
    /// The result of drawing: the number of lines, the visible lines, and the first of them.
    Drawn {
        total: usize,
        height: usize,
        top: usize,
    },
    /// An event of a session.
    Event {
        session: Box<str>,
        depth: u8,
        event: DisplayEvent,
    },
    /// A question to the user.
    Ask(PendingQuestion),
    /// A question that needs no answer any more.
    Withdraw(u64),
    /// A report of the session.
    Report(Report),
}

/// A question to the user. All texts are safe for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingQuestion {
    pub(crate) id: u64,
    pub(crate) what: String,
    pub(crate) why: String,
    pub(crate) remedy: Option<String>,
    pub(crate) skill: Option<String>,
    /// The parts of a question that needs a text or a choice.
    pub(crate) text: Option<PendingText>,
}

/// The parts of a question that needs a text or a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingText {
    /// The agent that asks. Safe for a terminal.
    pub(crate) asker: String,
    /// The choices, with their numbers, one per line. Safe for a terminal.
    pub(crate) choices: String,
    /// The question as it was asked, which reads the answer. Not safe for a terminal.
    pub(crate) details: TextQuestion,
}

/// A report of the session.
#[derive(Debug)]
pub(crate) enum Report {
    /// A session is ready, with its past events.
    Ready {
        session: Box<str>,
        past: Vec<DisplayEvent>,
    },
    /// The state for the status line.
    Facts(Facts),
    /// The names of skills.
    Names(Vec<Name>),
    /// Output to show.
    View(View),
    /// An error.
    Problem { message: String, hints: Vec<String> },
    /// Work started without an order.
    Busy,
    /// The order is finished.
    Done,
}

/// The content of the status line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) model: String,
    /// Notes about the model for the start of the chat.
    pub(crate) about: Vec<String>,
    pub(crate) turns: u32,
    pub(crate) usage: TokenUsage,
    pub(crate) skills: Vec<String>,
    pub(crate) background: usize,
}

/// An action for the caller.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Order(Order),
    /// Cancel the current work.
    Cancel,
    Answer(u64, ApprovalAnswer),
    AnswerText(u64, TextReply),
    /// Add a message to the history.
    Remember(String),
    Leave,
}

/// The current work.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) since: Duration,
    pub(crate) doing: String,
    pub(crate) cancelled: bool,
}

/// The result of the last drawing.
#[derive(Clone, Copy, Debug, Default)]
struct Drawn {
    total: usize,
    height: usize,
    top: usize,
}

/// The state of the chat.
#[derive(Debug, Default)]
pub(crate) struct ChatState {
    pub(crate) items: Items,
    pub(crate) editor: Editor,
    /// The answer to a question that needs a text.
    pub(crate) answer: Editor,
    pub(crate) history: History,
    pub(crate) popup: Option<Popup>,
    pub(crate) questions: VecDeque<(PendingQuestion, Duration)>,
    pub(crate) running: Option<Running>,
    pub(crate) queue: VecDeque<String>,
    pub(crate) facts: Facts,
    pub(crate) session: Box<str>,
    /// The first visible line; `None` to follow the end.
    pub(crate) top: Option<usize>,
    /// The item whose start is shown if it is longer than the screen.
    pub(crate) look_at: Option<u64>,
    pub(crate) now: Duration,
    names: Vec<Name>,
    drawn: Drawn,
    leaving: Option<Duration>,
    hint: Option<(String, Duration)>,
    last_key: Duration,
}

impl ChatState {
    pub(crate) fn new(history: History) -> Self {
        let doing = "starting".to_owned();
        let running = Running {
            since: Duration::ZERO,
            doing,
            cancelled: false,
        };
        Self {
            history,
            running: Some(running),
            ..Self::default()
        }
    }

    /// Processes a message.
    pub(crate) fn update(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Time(now) => self.now = now,
            Message::Key(key) if key.kind != KeyEventKind::Release => return self.key(key),
            Message::Key(_) => {}
            Message::Paste(text) => {
                let is_answer = self.asks_for_text();
                let left_out = if is_answer {
                    self.answer.insert(&text)
                } else {
                    self.editor.insert(&text)
                };
                if left_out > 0 {
                    let what = prowess_diag::wording::count(left_out, "character");
                    self.say(format!(
                        "{what} left out: not printable, or the text is too long"
                    ));
                }
                if !is_answer {
                    self.typed();
                }
            }
            Message::Scroll(by) => self.scroll(by),
            Message::Drawn { total, height, top } => {
                self.drawn = Drawn { total, height, top };
                if self.questions.is_empty() && self.top.is_some_and(|top| top + height >= total) {
                    self.top = None;
                }
            }
            Message::Event {
                session,
                depth,
                event,
            } => self.event(&session, depth, &event),
            Message::Ask(asked) if self.questions.len() >= MAX_QUESTIONS => {
                return vec![refusal(&asked)];
            }
            Message::Withdraw(id) => self.withdraw(id),
            Message::Ask(asked) => {
                self.questions.push_back((asked, self.now));
                self.top = None;
            }
            Message::Report(report) => return self.report(report),
        }
        Vec::new()
    }

    /// Returns the current hint.
    pub(crate) fn hint(&self) -> Option<&str> {
        let (text, until) = self.hint.as_ref()?;
        (*until > self.now).then_some(text)
    }

    /// Returns the open question, and `true` if a key may answer it.
    pub(crate) fn question(&self) -> Option<(&PendingQuestion, bool)> {
        let (asked, since) = self.questions.front()?;
        let quiet = self.now.saturating_sub((*since).max(self.last_key));
        Some((asked, quiet >= ARMED))
    }

    /// Returns `true` if the open question needs a text.
    pub(crate) fn asks_for_text(&self) -> bool {
        let asked = self.questions.front();
        asked.is_some_and(|(asked, _)| asked.text.is_some())
    }

    /// Drops a question.
    fn withdraw(&mut self, id: u64) {
        let is_open = self.questions.front().is_some_and(|(it, _)| it.id == id);
        self.questions.retain(|(asked, _)| asked.id != id);
        if is_open {
            self.next_question();
            self.say("the question has expired");
        }
    }

    /// Shows the next question, which has not been read yet.
    fn next_question(&mut self) {
        self.answer.take();
        if let Some((_, since)) = self.questions.front_mut() {
            *since = self.now;
        }
        self.top = None;
    }

    /// Returns `true` if the screen changes without input.
    pub(crate) fn is_moving(&self) -> bool {
        self.running.is_some()
            || self.hint.is_some()
            || !self.questions.is_empty()
            || self.facts.background > 0
    }

    fn say(&mut self, text: impl Into<String>) {
        self.hint = Some((text.into(), self.now + HINT));
    }

    fn typed(&mut self) {
        self.popup = Popup::find(&self.editor, &self.names);
        self.history.stay();
    }

    fn scroll(&mut self, by: isize) {
        if by == 0 {
            return;
        }
        self.look_at = None;
        let Drawn { total, height, top } = self.drawn;
        let last = total.saturating_sub(height);
        let top = self.top.unwrap_or(top).saturating_add_signed(by).min(last);
        // A question is shown from its start unless the user scrolls.
        self.top = (top < last || !self.questions.is_empty()).then_some(top);
    }

    fn event(&mut self, session: &str, depth: u8, event: &DisplayEvent) {
        self.items.take(session, depth, event, self.now);
        let usage = match event {
            DisplayEvent::Replied { usage, .. } => Some(usage),
            DisplayEvent::CallEnded { usage, .. } => usage.as_ref(),
            _ => None,
        };
        if depth == 0 {
            self.facts.turns += u32::from(matches!(event, DisplayEvent::Replied { .. }));
            self.facts.usage += usage.copied().unwrap_or_default();
        }
        let doing = match event {
            DisplayEvent::Asked => Some("waiting for the model".to_owned()),
            DisplayEvent::Thinking => Some("thinking".to_owned()),
            DisplayEvent::Text(_) => Some("answering".to_owned()),
            DisplayEvent::Calling(tool) => Some(format!("calling {tool}")),
            DisplayEvent::CallStarted { .. } => Some("working".to_owned()),
            _ => None,
        };
        if let (Some(running), Some(doing)) = (&mut self.running, doing) {
            running.doing = doing;
        }
    }

    fn report(&mut self, report: Report) -> Vec<Effect> {
        match report {
            Report::Ready { session, past } => {
                if !self.session.is_empty() {
                    self.items = Items::default();
                }
                self.session = session;
                for event in &past {
                    let session = self.session.clone();
                    self.items.take(&session, 0, event, self.now);
                }
                self.items.close();
                self.top = None;
            }
            Report::Facts(facts) => self.facts = facts,
            Report::Names(names) => {
                self.names = names;
                if self.popup.is_some() {
                    self.popup = Popup::find(&self.editor, &self.names);
                }
            }
            Report::View(view) => self.show(view),
            Report::Problem { message, hints } => {
                let line = |tone, what, text| Kind::Line { tone, what, text };
                self.items.push(0, line(Tone::Bad, "error", message));
                for hint in hints {
                    self.items.push(0, line(Tone::Plain, "hint", hint));
                }
                self.top = None;
            }
            Report::Busy => {
                let doing = "working".to_owned();
                self.running = Some(Running {
                    since: self.now,
                    doing,
                    cancelled: false,
                });
            }
            Report::Done => {
                self.items.close();
                self.running = None;
                return self.next_waiting();
            }
        }
        Vec::new()
    }

    fn show(&mut self, view: View) {
        self.items.push(0, Kind::View(view));
        self.top = None;
        self.look_at = self.items.iter().next_back().map(|item| item.id);
    }

    fn next_waiting(&mut self) -> Vec<Effect> {
        match self.queue.pop_front() {
            Some(text) => self.begin(&text),
            None => Vec::new(),
        }
    }

    fn begin(&mut self, text: &str) -> Vec<Effect> {
        let Input::Order(order) = command::read(text) else {
            return Vec::new();
        };
        let doing = match &order {
            Order::Compact => "summarizing",
            _ => "working",
        };
        self.items
            .push(0, Kind::Person(super::display::block(text)));
        self.running = Some(Running {
            since: self.now,
            doing: doing.to_owned(),
            cancelled: false,
        });
        vec![Effect::Order(order)]
    }
}

/// Returns the answer to a question that the user does not answer.
fn refusal(asked: &PendingQuestion) -> Effect {
    match asked.text {
        Some(_) => Effect::AnswerText(asked.id, TextReply::Refused { because: None }),
        None => Effect::Answer(asked.id, ApprovalAnswer::No),
    }
}
