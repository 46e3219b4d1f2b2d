//! The chat as a pure machine: messages come in, what is to be done comes out.

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use prowess::agent::Usage;
use prowess::policy::ApprovalAnswer;

use super::command::{self, Order, Wish};
use super::complete::{Name, Popup};
use super::editor::Editor;
use super::history::History;
use super::item::{Items, Kind, View};
use super::news::{News, Tone};

/// How long a question must be on the screen before a key answers it, so that nobody says yes with a
/// letter that they typed for something else.
pub(crate) const ARMED: Duration = Duration::from_millis(600);
/// How long the first Ctrl+C counts.
const AGAIN: Duration = Duration::from_secs(2);
/// How long a hint stays.
const HINT: Duration = Duration::from_secs(4);
/// Most messages that wait for the turn to end.
const MAX_QUEUE: usize = 20;
/// Most questions at once; more are answered with no.
const MAX_QUESTIONS: usize = 50;

/// Something that came in.
#[derive(Debug)]
pub(crate) enum Message {
    /// The time since the chat began.
    Time(Duration),
    Key(KeyEvent),
    Paste(String),
    /// Lines to scroll, up is negative.
    Scroll(isize),
    /// What was drawn: lines there are, lines that fit, and the first of these.
    Drawn {
        total: usize,
        height: usize,
        top: usize,
    },
    /// Something happened in a session.
    News {
        session: Box<str>,
        depth: u8,
        news: News,
    },
    /// A person is asked.
    Ask(Asked),
    /// What the session's side says.
    Report(Report),
}

/// A question to a person. Every text is safe for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) id: u64,
    pub(crate) what: String,
    pub(crate) why: String,
    pub(crate) remedy: Option<String>,
    pub(crate) skill: Option<String>,
}

/// What the session's side says.
#[derive(Debug)]
pub(crate) enum Report {
    /// A session is there, with what was said in it before.
    Ready { session: Box<str>, past: Vec<News> },
    /// How things are.
    Facts(Facts),
    /// Names of skills.
    Names(Vec<Name>),
    /// Something to show.
    View(View),
    /// Something did not work.
    Problem { message: String, hints: Vec<String> },
    /// Something goes on that nobody ordered.
    Busy,
    /// The order is done.
    Done,
}

/// What the line at the bottom shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) model: String,
    /// What people should know of the model before they talk to it.
    pub(crate) about: Vec<String>,
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    pub(crate) skills: Vec<String>,
    pub(crate) background: usize,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Order(Order),
    /// End what is under way.
    Cancel,
    Answer(u64, ApprovalAnswer),
    /// Remember what was typed.
    Remember(String),
    Leave,
}

/// What is under way.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) since: Duration,
    pub(crate) doing: String,
    pub(crate) cancelled: bool,
}

/// What was drawn last.
#[derive(Clone, Copy, Debug, Default)]
struct Drawn {
    total: usize,
    height: usize,
    top: usize,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub(crate) struct ChatState {
    pub(crate) items: Items,
    pub(crate) editor: Editor,
    pub(crate) history: History,
    pub(crate) popup: Option<Popup>,
    pub(crate) questions: VecDeque<(Asked, Duration)>,
    pub(crate) running: Option<Running>,
    pub(crate) queue: VecDeque<String>,
    pub(crate) facts: Facts,
    pub(crate) session: Box<str>,
    /// The first line that is shown; nothing to follow the end.
    pub(crate) top: Option<usize>,
    /// The part whose beginning is shown, where it is longer than the screen.
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

    /// Takes a message.
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
                        "{what} left out: they would not show, or the text is too long"
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
            Message::News {
                session,
                depth,
                news,
            } => self.news(&session, depth, &news),
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

    /// A word about what a key did, while it is new.
    pub(crate) fn hint(&self) -> Option<&str> {
        let (text, until) = self.hint.as_ref()?;
        (*until > self.now).then_some(text)
    }

    /// The question that is open, and whether a key may answer it yet.
    pub(crate) fn question(&self) -> Option<(&Asked, bool)> {
        let (asked, since) = self.questions.front()?;
        let quiet = self.now.saturating_sub((*since).max(self.last_key));
        Some((asked, quiet >= ARMED))
    }

    /// Whether something moves on the screen while nothing comes in.
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
        // A question is shown from its beginning, unless somebody went elsewhere.
        self.top = (top < last || !self.questions.is_empty()).then_some(top);
    }

    fn news(&mut self, session: &str, depth: u8, news: &News) {
        self.items.take(session, depth, news, self.now);
        let usage = match news {
            News::Replied { usage, .. } => Some(usage),
            News::CallEnded { usage, .. } => usage.as_ref(),
            _ => None,
        };
        if depth == 0 {
            self.facts.turns += u32::from(matches!(news, News::Replied { .. }));
            self.facts.usage += usage.copied().unwrap_or_default();
        }
        let doing = match news {
            News::Asked => Some("waiting for the model".to_owned()),
            News::Thinking => Some("thinking".to_owned()),
            News::Text(_) => Some("answering".to_owned()),
            News::Calling(tool) => Some(format!("calling {tool}")),
            News::CallStarted { .. } => Some("working".to_owned()),
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
                for news in &past {
                    let session = self.session.clone();
                    self.items.take(&session, 0, news, self.now);
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
            // What waits comes back to be looked at.
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
        self.say("press Ctrl+C again to leave");
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
            self.say("read the question first, then answer it");
            return Vec::new();
        }
        self.settle(answer)
    }

    fn settle(&mut self, answer: ApprovalAnswer) -> Vec<Effect> {
        let Some((asked, _)) = self.questions.pop_front() else {
            return Vec::new();
        };
        // The next one has not been read yet.
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
            (Wish::Help, _) => self.show(command::help()),
            (Wish::Quit, _) => effects.push(Effect::Leave),
            (Wish::Misused(name), _) => {
                self.editor.set(&text);
                self.say(command::misused(name));
            }
            (Wish::Order(_), Some(_)) if self.queue.len() >= MAX_QUEUE => {
                self.editor.set(&text);
                self.say("too many messages wait already");
            }
            (Wish::Order(_), Some(_)) => self.queue.push_back(text),
            (Wish::Order(_), None) => effects.extend(self.begin(&text)),
        }
        effects
    }

    fn begin(&mut self, text: &str) -> Vec<Effect> {
        let Wish::Order(order) = command::read(text) else {
            return Vec::new();
        };
        let doing = match &order {
            Order::Compact => "summing up",
            _ => "working",
        };
        self.items.push(0, Kind::Person(super::news::block(text)));
        self.running = Some(Running {
            since: self.now,
            doing: doing.to_owned(),
            cancelled: false,
        });
        vec![Effect::Order(order)]
    }
}
