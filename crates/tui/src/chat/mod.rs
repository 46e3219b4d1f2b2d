//! `prowess chat`: a conversation on a terminal screen or in plain lines.
//!
//! [`ChatLink::new`] returns a watcher and an approver for a runtime, and a [`ChatUi`] that shows
//! their events:
//!
//! ```no_run
//! # async fn example(builder: prowess::RuntimeBuilder) -> Result<(), Box<dyn std::error::Error>> {
//! use prowess_tui::chat::{ChatStart, ChatLink, ChatOptions, ChatMode};
//!
//! let link = ChatLink::new(ChatMode::choose(false));
//! let runtime = builder.watcher(link.watcher).approver(link.approver).build()?;
//! let begin = ChatStart::New { title: "chat".to_owned() };
//! let end = link.ui.run(runtime, begin, ChatOptions::default()).await;
//! # let _ = end;
//! # Ok(())
//! # }
//! ```

mod command;
mod command_views;
mod complete;
mod display;
mod draw;
mod editor;
mod history;
mod item;
mod lines;
mod markdown;
mod plain;
mod runtime_link;
mod screen;
mod session_task;
mod state;
mod wrap;

#[cfg(test)]
mod draw_tests;
#[cfg(test)]
mod serve_tests;
#[cfg(test)]
mod state_tests;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prowess::agent::Spent;
use prowess::traits::Approver;
use prowess::{CancellationToken, Runtime, Watcher};
use prowess_diag::wording::count;
use tokio::sync::mpsc;

use command::Order;
pub use plain::ChatStreams;
use plain::Plain;
use runtime_link::{Bridge, Inbox, Incoming};
use screen::Screen;
use session_task::{OrderResult, Work};
use state::{Message, Report};

pub(crate) use display::{answered, given};
pub(crate) use lines::{money, took};

/// The time for the current work to finish when the user quits.
const LEAVE: Duration = Duration::from_secs(6);

/// Orders from the screen, each with its cancellation token.
type OrderReceiver = mpsc::Receiver<(Order, CancellationToken)>;

/// The display of a chat.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChatMode {
    /// The whole terminal.
    Screen,
    /// Plain lines.
    Plain(ChatStreams),
}

impl ChatMode {
    /// Selects the screen if input and output are a capable terminal, unless `plain` is set.
    pub fn choose(plain: bool) -> Self {
        let (input, output) = (
            std::io::stdin().is_terminal(),
            std::io::stdout().is_terminal(),
        );
        if !plain && input && output {
            Self::Screen
        } else {
            Self::plain()
        }
    }

    /// Returns plain lines on the standard streams.
    pub fn plain() -> Self {
        let errors = std::io::stderr();
        Self::Plain(ChatStreams {
            person: std::io::stdin().is_terminal() && errors.is_terminal(),
            terminal: std::io::stdout().is_terminal(),
            input: Box::new(std::io::BufReader::new(std::io::stdin())),
            output: Box::new(std::io::stdout()),
            errors: Box::new(errors),
        })
    }
}

/// The ends of a chat for a runtime.
#[derive(Debug)]
pub struct ChatLink {
    /// For `Builder::watcher`.
    pub watcher: Arc<dyn Watcher>,
    /// For `Builder::approver`. Denies everything until the chat runs.
    pub approver: Arc<dyn Approver>,
    /// The user interface.
    pub ui: ChatUi,
}

/// A chat that has not started.
#[derive(Debug)]
pub struct ChatUi {
    end: End,
}

#[derive(Debug)]
enum End {
    Screen(Arc<Bridge>, Inbox),
    Plain(Arc<Plain>),
}

/// A chat that could not start or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The session could not be started or resumed.
    #[error("{message}")]
    Session {
        /// The message.
        message: String,
        /// The next commands to type.
        hints: Vec<String>,
    },
    /// The input cannot be read.
    #[error("cannot read the input")]
    Input(#[source] std::io::Error),
    /// The terminal cannot be used.
    #[error("cannot use the terminal")]
    Terminal(#[source] std::io::Error),
    /// [`ChatUi::run`] was called twice.
    #[error("this chat has already ended")]
    AlreadyRan,
    /// The user quit before the session started.
    #[error("quit before the session started")]
    LeftEarly,
    /// The thread that draws the screen panicked.
    #[error("the chat ended unexpectedly")]
    ScreenPanicked,
}

/// The start of a chat.
#[derive(Clone, Debug)]
pub enum ChatStart {
    /// A new session.
    New {
        /// The title in lists.
        title: String,
    },
    /// A new session that runs as an agent.
    Agent {
        /// The name of the agent or the team.
        name: String,
        /// The title in lists.
        title: String,
    },
    /// An existing session.
    Resume {
        /// The id or a prefix of it.
        id: String,
    },
}

/// Options of a chat.
#[derive(Clone, Debug)]
pub struct ChatOptions {
    /// The history file; `None` for no history.
    pub history: Option<PathBuf>,
    /// `true` to use colours.
    pub colors: bool,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            history: None,
            colors: true,
        }
    }
}

/// The end of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatEnd {
    /// The last session.
    pub session: Box<str>,
    /// The usage of that session.
    pub spent: Spent,
    /// The exit code. In plain lines, that of the first failed turn; 0 for the screen.
    pub code: u8,
    /// The number of questions that were denied because there was no terminal.
    pub unanswered: usize,
}

impl ChatEnd {
    /// Returns a summary line with the next command to type.
    pub fn line(&self) -> String {
        if self.spent.turns == 0 {
            return "no message was sent; start again with `prowess chat`, or run `prowess run --task TEXT`"
                .to_owned();
        }
        let mut parts = vec![
            count(self.spent.turns as usize, "turn"),
            lines::tokens(self.spent.usage.tokens()),
        ];
        parts.extend(self.spent.usage.micros.map(money));
        format!(
            "{}; resume with `prowess session resume {}`",
            parts.join(", "),
            self.session
        )
    }
}

impl ChatLink {
    /// Creates both ends of a chat.
    pub fn new(face: ChatMode) -> Self {
        match face {
            ChatMode::Screen => {
                let (link, inbox) = Bridge::new();
                Self {
                    watcher: Arc::clone(&link) as Arc<dyn Watcher>,
                    approver: Arc::clone(&link) as Arc<dyn Approver>,
                    ui: ChatUi {
                        end: End::Screen(link, inbox),
                    },
                }
            }
            ChatMode::Plain(streams) => {
                let plain = Plain::new(streams);
                Self {
                    watcher: Arc::clone(&plain) as Arc<dyn Watcher>,
                    approver: Arc::clone(&plain) as Arc<dyn Approver>,
                    ui: ChatUi {
                        end: End::Plain(plain),
                    },
                }
            }
        }
    }
}

impl ChatUi {
    /// Runs the chat until the user quits or the input ends. The runtime must use the watcher and
    /// the approver of the same [`ChatLink`].
    pub async fn run(
        self,
        runtime: Runtime,
        begin: ChatStart,
        options: ChatOptions,
    ) -> Result<ChatEnd, ChatError> {
        match self.end {
            End::Plain(plain) => plain::talk(plain, runtime, begin).await,
            End::Screen(link, inbox) => on_screen(&link, &inbox, runtime, begin, options).await,
        }
    }
}

async fn on_screen(
    link: &Arc<Bridge>,
    inbox: &Inbox,
    runtime: Runtime,
    begin: ChatStart,
    options: ChatOptions,
) -> Result<ChatEnd, ChatError> {
    let receiver = inbox.take().ok_or(ChatError::AlreadyRan)?;
    let (orders, wanted) = mpsc::channel(8);
    let left = CancellationToken::new();
    let current = Arc::new(Mutex::new(CancellationToken::new()));
    let screen = Screen {
        receiver,
        sender: link.sender(),
        orders,
        history: options.history.map(history::HistoryFile::new),
        colors: options.colors,
        left: left.clone(),
        current: Arc::clone(&current),
    };
    link.set_live(true);
    let thread = std::thread::Builder::new().name("chat-screen".to_owned());
    let handle = thread
        .spawn(move || screen.run())
        .map_err(ChatError::Terminal)?;
    // Restore the terminal before anything else is printed.
    let mut shown = Shown {
        link: Arc::clone(link),
        handle: Some(handle),
    };
    // Resuming may ask questions, so the screen starts first.
    let begun = tokio::select! {
        begun = Work::begin(runtime, begin) => Some(begun),
        () = left.cancelled() => None,
    };
    let worked = match begun {
        Some(Ok(work)) => Ok(serve(link.sender(), wanted, work, &current, &left).await),
        Some(Err(failure)) => Err(failure),
        None => Err(ChatError::LeftEarly),
    };
    match shown.join() {
        Some(Ok(Err(error))) => Err(ChatError::Terminal(error)),
        Some(Err(_)) => {
            // A panicked thread cannot restore the previous panic hook.
            drop(std::panic::take_hook());
            Err(ChatError::ScreenPanicked)
        }
        Some(Ok(Ok(()))) | None => worked,
    }
}

/// The thread of the screen, which is joined on drop.
struct Shown {
    link: Arc<Bridge>,
    handle: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

impl Shown {
    fn join(&mut self) -> Option<std::thread::Result<std::io::Result<()>>> {
        let handle = self.handle.take()?;
        self.link.set_live(false);
        let _ = self.link.sender().send(Incoming::Stop);
        Some(handle.join())
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.join();
    }
}

/// Executes orders of the screen until it is closed.
async fn serve(
    out: SyncSender<Incoming>,
    mut orders: OrderReceiver,
    work: Work,
    current: &Mutex<CancellationToken>,
    left: &CancellationToken,
) -> ChatEnd {
    let mut work = work;
    let report = |report: Report| {
        let _ = out.send(Incoming::Message(Message::Report(report)));
    };
    report(Report::Ready {
        session: work.id().into(),
        past: work.past().await,
    });
    loop {
        report(Report::Facts(work.facts()));
        report(Report::Names(work.names().await));
        report(Report::Done);
        let next = tokio::select! {
            biased;
            () = left.cancelled() => break,
            next = next(&mut work, &mut orders) => next,
        };
        let Some((order, cancel)) = next else { break };
        *current.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        let became = {
            let doing = async {
                if let Some(order) = order {
                    return work.execute(order, &cancel).await;
                }
                report(Report::Busy);
                work.proceed_after_background(&cancel).await
            };
            let mut doing = std::pin::pin!(doing);
            tokio::select! {
                biased;
                became = &mut doing => Some(became),
                () = left.cancelled() => {
                    // The current work is cancelled and its end is stored.
                    cancel.cancel();
                    let _ = tokio::time::timeout(LEAVE, &mut doing).await;
                    None
                }
            }
        };
        match became {
            Some(OrderResult::View(view)) => report(Report::View(view)),
            Some(OrderResult::Problem(problem)) => {
                report(Report::Problem {
                    message: problem.message,
                    hints: problem.hints,
                });
            }
            Some(OrderResult::Cleared) => {
                report(Report::Ready {
                    session: work.id().into(),
                    past: Vec::new(),
                });
            }
            // The watcher has already shown it.
            Some(OrderResult::Paused(_)) => {}
            None => break,
        }
    }
    ChatEnd {
        session: work.id().into(),
        spent: work.spent(),
        code: 0,
        unanswered: 0,
    }
}

/// Waits for an order or for a background skill. A resumed session that waited for an answer
/// continues first.
async fn next(
    work: &mut Work,
    orders: &mut OrderReceiver,
) -> Option<(Option<Order>, CancellationToken)> {
    if work.take_was_waiting() {
        return Some((None, CancellationToken::new()));
    }
    let ordered = |(order, cancel)| (Some(order), cancel);
    if work.background() == 0 {
        return orders.recv().await.map(ordered);
    }
    tokio::select! {
        biased;
        order = orders.recv() => return order.map(ordered),
        has_ended = work.background_ended() => if !has_ended {
            // A cancelled turn left open calls, which only the next message closes.
            return orders.recv().await.map(ordered);
        },
    }
    Some((None, CancellationToken::new()))
}
