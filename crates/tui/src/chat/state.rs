//! The state of the chat as a pure state machine: messages in, effects out.

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use prowess::agent::TokenUsage;
use prowess::policy::ApprovalAnswer;

use super::command::{self, Input, Order};
use super::complete::{Name, Popup};
use super::display::{DisplayEvent, Tone};
use super::editor::Editor;
use super::history::History;
use super::item::{Items, Kind, View};

/// The time for which a question must be visible before a key can answer it, so that a key typed
/// for something else does not approve an action.
pub(crate) const ARMED: Duration = Duration::from_millis(600);
/// The time within which a second Ctrl+C quits.
const AGAIN: Duration = Duration::from_secs(2);
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
                let left_out = self.editor.insert(&text);
                if left_out > 0 {
                    let what = prowess_diag::wording::count(left_out, "character");
                    self.say(format!(
                        "{what} left out: not printable, or the text is too long"
                    ));
                }
                self.typed();
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
                return vec![Effect::Answer(asked.id, ApprovalAnswer::No)];
            }
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

    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return self.interrupt();
        }
        self.leaving = None;
        match key.code {
            KeyCode::PageUp => self.scroll(-self.page()),
            KeyCode::PageDown => self.scroll(self.page()),
            _ if !self.questions.is_empty() => return self.answer(key),
            KeyCode::Char('d') if control => {
                if self.editor.is_empty() {
                    return vec![Effect::Leave];
                }
                self.editor.delete();
                self.typed();
            }
            _ => {
                self.last_key = self.now;
                return self.edit(key);
            }
        }
        Vec::new()
    }

    fn page(&self) -> isize {
        self.drawn.height.saturating_sub(2).max(1).cast_signed()
    }

    fn interrupt(&mut self) -> Vec<Effect> {
        if let Some(running) = self.running.as_mut().filter(|running| !running.cancelled) {
            running.cancelled = true;
            "stopping".clone_into(&mut running.doing);
            // Return queued messages to the input.
            let waiting: Vec<String> = self.queue.drain(..).collect();
            if !waiting.is_empty() {
                let typed = self.editor.take();
                let all = waiting
                    .into_iter()
                    .chain([typed])
                    .filter(|text| !text.is_empty());
                self.editor.set(&all.collect::<Vec<_>>().join("\n"));
            }
            let mut effects: Vec<Effect> = self
                .questions
                .drain(..)
                .map(|(asked, _)| Effect::Answer(asked.id, ApprovalAnswer::No))
                .collect();
            effects.push(Effect::Cancel);
            return effects;
        }
        if !self.questions.is_empty() {
            return self.settle(ApprovalAnswer::No);
        }
        if self
            .leaving
            .is_some_and(|since| self.now.saturating_sub(since) <= AGAIN)
        {
            return vec![Effect::Leave];
        }
        if !self.editor.is_empty() {
            let text = self.editor.take();
            self.history.push(&text);
            self.popup = None;
        }
        self.leaving = Some(self.now);
        self.say("press Ctrl+C again to quit");
        Vec::new()
    }

    fn answer(&mut self, key: KeyEvent) -> Vec<Effect> {
        let armed = self.question().is_some_and(|(_, armed)| armed);
        let (plain, code) = (
            key.modifiers.difference(KeyModifiers::SHIFT).is_empty(),
            key.code,
        );
        let answer = match code {
            KeyCode::Char('y' | 'Y') if plain => ApprovalAnswer::Once,
            KeyCode::Char('s' | 'S') if plain => ApprovalAnswer::Session,
            KeyCode::Char('n' | 'N') if plain => ApprovalAnswer::No,
            KeyCode::Esc => ApprovalAnswer::No,
            KeyCode::Up => {
                self.scroll(-1);
                return Vec::new();
            }
            KeyCode::Down => {
                self.scroll(1);
                return Vec::new();
            }
            _ => {
                self.say("answer the question first: y, s or n");
                return Vec::new();
            }
        };
        if !armed {
            self.last_key = self.now;
            self.say("read the question before you answer it");
            return Vec::new();
        }
        self.settle(answer)
    }

    fn settle(&mut self, answer: ApprovalAnswer) -> Vec<Effect> {
        let Some((asked, _)) = self.questions.pop_front() else {
            return Vec::new();
        };
        // The next question has not been read yet.
        if let Some((_, since)) = self.questions.front_mut() {
            *since = self.now;
        }
        self.top = None;
        vec![Effect::Answer(asked.id, answer)]
    }

    fn edit(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let jump = control || alt;
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Enter if alt || shift => {
                self.editor.insert("\n");
            }
            KeyCode::Char('j') if control => {
                self.editor.insert("\n");
            }
            KeyCode::Enter => return self.enter(),
            KeyCode::Tab => {
                self.tab();
                return Vec::new();
            }
            KeyCode::Up | KeyCode::Down | KeyCode::BackTab => {
                self.vertical(key.code);
                return Vec::new();
            }
            KeyCode::Char('p') if control => {
                self.vertical(KeyCode::Up);
                return Vec::new();
            }
            KeyCode::Char('n') if control => {
                self.vertical(KeyCode::Down);
                return Vec::new();
            }
            KeyCode::Esc => {
                self.popup = None;
                return Vec::new();
            }
            KeyCode::Left if jump => self.editor.word_left(),
            KeyCode::Right if jump => self.editor.word_right(),
            KeyCode::Left => self.editor.left(),
            KeyCode::Right => self.editor.right(),
            KeyCode::End if control => {
                self.top = None;
                self.look_at = None;
                self.drawn.top = self.drawn.total.saturating_sub(self.drawn.height);
            }
            KeyCode::Home => self.editor.home(),
            KeyCode::End => self.editor.end(),
            KeyCode::Backspace if jump => self.editor.cut_word(),
            KeyCode::Backspace => self.editor.backspace(),
            KeyCode::Delete => self.editor.delete(),
            KeyCode::Char(c) if control => match c {
                'a' => self.editor.home(),
                'e' => self.editor.end(),
                'b' => self.editor.left(),
                'f' => self.editor.right(),
                'h' => self.editor.backspace(),
                'k' => self.editor.cut_to_end(),
                'u' => self.editor.cut_to_start(),
                'w' => self.editor.cut_word(),
                'y' => self.editor.paste_cut(),
                _ => return Vec::new(),
            },
            KeyCode::Char(c) if alt => match c {
                'b' => self.editor.word_left(),
                'f' => self.editor.word_right(),
                'd' => self.editor.cut_word_right(),
                _ => return Vec::new(),
            },
            KeyCode::Char(c) => {
                self.editor.insert(c.encode_utf8(&mut [0; 4]));
            }
            _ => return Vec::new(),
        }
        self.typed();
        Vec::new()
    }

    fn tab(&mut self) {
        if let Some(popup) = self.popup.take() {
            popup.accept(&mut self.editor);
        } else {
            self.popup = Popup::find(&self.editor, &self.names);
        }
    }

    fn vertical(&mut self, code: KeyCode) {
        let up = code != KeyCode::Down;
        if let Some(popup) = &mut self.popup {
            popup.step(if up { -1 } else { 1 });
            return;
        }
        let moved = if up {
            self.editor.up()
        } else {
            self.editor.down()
        };
        if moved || code == KeyCode::BackTab {
            return;
        }
        let typed = self.editor.text().to_owned();
        let found = if up {
            self.history.older(&typed)
        } else {
            self.history.newer()
        };
        if let Some(text) = found {
            let text = text.to_owned();
            self.editor.set(&text);
        }
    }

    fn enter(&mut self) -> Vec<Effect> {
        if let Some(popup) = self.popup.take()
            && popup.moved
        {
            popup.accept(&mut self.editor);
            return Vec::new();
        }
        if self.editor.text().trim().is_empty() {
            self.editor.take();
            return Vec::new();
        }
        let is_new = self.history.push(self.editor.text());
        let text = self.editor.take();
        let mut effects = Vec::new();
        if is_new {
            effects.push(Effect::Remember(text.clone()));
        }
        self.top = None;
        self.look_at = None;
        match (command::read(&text), &self.running) {
            (Input::Help, _) => self.show(command::help()),
            (Input::Quit, _) => effects.push(Effect::Leave),
            (Input::Misused(name), _) => {
                self.editor.set(&text);
                self.say(command::misused(name));
            }
            (Input::Order(_), Some(_)) if self.queue.len() >= MAX_QUEUE => {
                self.editor.set(&text);
                self.say("too many messages are waiting");
            }
            (Input::Order(_), Some(_)) => self.queue.push_back(text),
            (Input::Order(_), None) => effects.extend(self.begin(&text)),
        }
        effects
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
