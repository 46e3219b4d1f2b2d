//! The terminal: reads keys, draws the chat, and restores the terminal at the end.

use std::collections::HashMap;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    Event, MouseEventKind,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use prowess::CancellationToken;
use prowess::policy::ApprovalAnswer;
use prowess::traits::TextReply;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::command::Order;
use super::draw::{Cache, draw};
use super::history::{History, HistoryFile};
use super::runtime_link::Incoming;
use super::state::{ChatState, Effect, Message, Report};

/// The timeout of one poll for keys.
const LOOK: Duration = Duration::from_millis(100);
/// The interval between frames of animations.
const MOVE: Duration = Duration::from_millis(100);
/// The minimum interval between frames while text is streamed.
const PAUSE: Duration = Duration::from_millis(30);
/// The maximum number of messages between two frames.
const MAX_BATCH: usize = 256;

/// Orders for the session, each with its cancellation token.
pub(crate) type Orders = tokio::sync::mpsc::Sender<(Order, CancellationToken)>;

/// The screen of the chat.
pub(crate) struct Screen {
    pub(crate) receiver: Receiver<Incoming>,
    pub(crate) sender: SyncSender<Incoming>,
    pub(crate) orders: Orders,
    pub(crate) history: Option<HistoryFile>,
    pub(crate) colors: bool,
    /// Cancelled when the user quits.
    pub(crate) left: CancellationToken,
    /// The token of work that was not ordered, such as a turn after a background skill.
    pub(crate) current: Arc<Mutex<CancellationToken>>,
}

impl Screen {
    /// Shows the chat until the user quits or the session stops.
    pub(crate) fn run(self) -> std::io::Result<()> {
        let Self {
            receiver,
            sender,
            orders,
            history,
            colors,
            left,
            current,
        } = self;
        let _left = left.drop_guard();
        let stop = Arc::new(AtomicBool::new(false));
        let mut guard = Guard::enter()?;
        let reader = read_keys(sender, Arc::clone(&stop))?;
        let entries = history.as_ref().map(HistoryFile::load).unwrap_or_default();
        let mut loop_ = Loop {
            state: ChatState::new(History::new(entries)),
            answers: HashMap::new(),
            texts: HashMap::new(),
            orders,
            history,
            current,
        };
        let shown = loop_.show(&receiver, colors);
        stop.store(true, Ordering::SeqCst);
        // Waiting senders fail from now on.
        drop(receiver);
        drop(loop_);
        let _ = reader.join();
        guard.leave();
        shown
    }
}

struct Loop {
    state: ChatState,
    answers: HashMap<u64, SyncSender<ApprovalAnswer>>,
    texts: HashMap<u64, SyncSender<TextReply>>,
    orders: Orders,
    history: Option<HistoryFile>,
    current: Arc<Mutex<CancellationToken>>,
}

impl Loop {
    fn show(&mut self, receiver: &Receiver<Incoming>, colors: bool) -> std::io::Result<()> {
        let began = Instant::now();
        let mut terminal = Terminal::new(CrosstermBackend::new(std::io::stdout()))?;
        let mut cache = Cache::default();
        loop {
            self.state.update(Message::Time(began.elapsed()));
            queue!(std::io::stdout(), BeginSynchronizedUpdate)?;
            let mut drawn = None;
            terminal.draw(|frame| {
                let area = frame.area();
                let done = draw(&self.state, &mut cache, colors, area, frame.buffer_mut());
                if let Some(cursor) = done.cursor {
                    frame.set_cursor_position(cursor);
                }
                drawn = Some(done);
            })?;
            execute!(std::io::stdout(), EndSynchronizedUpdate)?;
            if let Some(done) = drawn {
                let (total, height, top) = (done.total, done.height, done.top);
                self.state.update(Message::Drawn { total, height, top });
            }
            let last = Instant::now();
            let wait = if self.state.is_moving() {
                MOVE
            } else {
                Duration::from_secs(5)
            };
            let mut next = match receiver.recv_timeout(wait) {
                Ok(incoming) => Some(incoming),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let mut taken = 0;
            while let Some(incoming) = next.take() {
                self.state.update(Message::Time(began.elapsed()));
                let typed = matches!(
                    incoming,
                    Incoming::Message(Message::Key(_) | Message::Paste(_) | Message::Scroll(_))
                );
                if self.take(incoming) {
                    return Ok(());
                }
                taken += 1;
                next = receiver.try_recv().ok().filter(|_| taken < MAX_BATCH);
                // Streamed text is not drawn for each word.
                if next.is_none() && !typed && taken < MAX_BATCH {
                    let left = PAUSE.saturating_sub(last.elapsed());
                    next = receiver.recv_timeout(left).ok().filter(|_| !left.is_zero());
                }
            }
        }
    }

    /// Handles input. Returns `true` at the end of the chat.
    fn take(&mut self, incoming: Incoming) -> bool {
        let message = match incoming {
            Incoming::Stop => return true,
            Incoming::Message(message) => message,
            Incoming::Ask(asked, answer) => {
                self.answers.insert(asked.id, answer);
                Message::Ask(asked)
            }
            Incoming::AskText(asked, answer) => {
                self.texts.insert(asked.id, answer);
                Message::Ask(asked)
            }
        };
        if let Message::Withdraw(id) = message {
            self.texts.remove(&id);
        }
        for effect in self.state.update(message) {
            match effect {
                Effect::Leave => return true,
                Effect::Cancel => self.current().cancel(),
                Effect::Answer(id, answer) => {
                    if let Some(waits) = self.answers.remove(&id) {
                        let _ = waits.send(answer);
                    }
                }
                Effect::AnswerText(id, reply) => {
                    if let Some(waits) = self.texts.remove(&id) {
                        let _ = waits.send(reply);
                    }
                }
                Effect::Remember(text) => {
                    // A chat works without a history.
                    let _ = self.history.as_ref().map(|file| file.append(&text));
                }
                Effect::Order(order) => {
                    let cancel = CancellationToken::new();
                    *self.current.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
                    if self.orders.try_send((order, cancel)).is_err() {
                        let message = "the session has stopped".to_owned();
                        let report = Report::Problem {
                            message,
                            hints: Vec::new(),
                        };
                        self.state.update(Message::Report(report));
                        self.state.update(Message::Report(Report::Done));
                    }
                }
            }
        }
        false
    }

    fn current(&self) -> CancellationToken {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Reads keys on a separate thread until it is stopped.
fn read_keys(
    sender: SyncSender<Incoming>,
    stop: Arc<AtomicBool>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let read = move || {
        while !stop.load(Ordering::SeqCst) {
            let found = match event::poll(LOOK) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(error) => Err(error),
            };
            let incoming = match found {
                Ok(found) => match message(found) {
                    Some(message) => Incoming::Message(message),
                    None => continue,
                },
                // The terminal is gone.
                Err(_) => Incoming::Stop,
            };
            let over = matches!(incoming, Incoming::Stop);
            if sender.send(incoming).is_err() || over {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("chat-keys".to_owned())
        .spawn(read)
}

fn message(found: Event) -> Option<Message> {
    match found {
        Event::Key(key) => Some(Message::Key(key)),
        Event::Paste(text) => Some(Message::Paste(text)),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Message::Scroll(-3)),
            MouseEventKind::ScrollDown => Some(Message::Scroll(3)),
            _ => None,
        },
        // The size is read when drawing.
        Event::Resize(..) => Some(Message::Scroll(0)),
        Event::FocusGained | Event::FocusLost => None,
    }
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Owns the terminal, and always restores it.
struct Guard {
    /// The messages of panics, which would not be readable on the alternate screen.
    said: Arc<Mutex<Vec<String>>>,
    before: Option<Arc<Hook>>,
    entered: bool,
}

impl Guard {
    fn enter() -> std::io::Result<Self> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let before: Arc<Hook> = Arc::new(std::panic::take_hook());
        let words = Arc::clone(&said);
        std::panic::set_hook(Box::new(move |info| {
            let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
            if words.len() < 10 {
                words.push(info.to_string());
            }
        }));
        let mut guard = Self {
            said,
            before: Some(before),
            entered: true,
        };
        let entered = enable_raw_mode().and_then(|()| {
            execute!(
                std::io::stdout(),
                EnterAlternateScreen,
                EnableBracketedPaste,
                EnableMouseCapture
            )
        });
        if let Err(error) = entered {
            guard.leave();
            return Err(error);
        }
        Ok(guard)
    }

    fn leave(&mut self) {
        if !std::mem::take(&mut self.entered) {
            return;
        }
        let mut out = std::io::stdout();
        // A failing step must not skip the others.
        let _ = execute!(out, EndSynchronizedUpdate);
        let _ = execute!(out, DisableMouseCapture);
        let _ = execute!(out, DisableBracketedPaste);
        let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
        if !std::thread::panicking()
            && let Some(before) = self.before.take()
        {
            std::panic::set_hook(Box::new(move |info| before(info)));
        }
        for text in self
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            let text = prowess_diag::sanitize::block(&text).into_owned();
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.leave();
    }
}
