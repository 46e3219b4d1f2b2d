//! `prowess chat`: a conversation in a terminal, or in plain lines.
//!
//! [`ChatLink::new`] gives a watcher and an approver for a runtime, and a [`ChatUi`] that shows what
//! they see:
//!
//! ```no_run
//! # async fn example(builder: prowess::Builder) -> Result<(), Box<dyn std::error::Error>> {
//! use prowess_tui::chat::{Begin, ChatLink, ChatOptions, Face};
//!
//! let link = ChatLink::new(Face::choose(false));
//! let runtime = builder.watcher(link.watcher).approver(link.approver).build()?;
//! let begin = Begin::New { title: "chat".to_owned() };
//! let end = link.ui.run(runtime, begin, ChatOptions::default()).await;
//! # let _ = end;
//! # Ok(())
//! # }
//! ```

mod command;
mod complete;
mod draw;
mod editor;
mod history;
mod item;
mod lines;
mod link;
mod markdown;
mod news;
mod plain;
mod screen;
mod state;
mod views;
mod work;
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
use link::{Inbox, Incoming, Link};
use plain::Plain;
pub use plain::Streams;
use screen::Screen;
use state::{Message, Report};
use work::{Became, Work};

pub(crate) use lines::{money, took};
pub(crate) use news::answered;

/// How long a step that was begun has to end when another order comes.
const GRACE: Duration = Duration::from_millis(100);
/// How long what is under way has to end when a person leaves.
const LEAVE: Duration = Duration::from_secs(6);

/// What the screen wants done, each with what ends it.
type Wanted = mpsc::Receiver<(Order, CancellationToken)>;

/// How a chat looks.
#[derive(Debug)]
#[non_exhaustive]
pub enum Face {
    /// The whole terminal.
    Screen,
    /// Lines.
    Plain(Streams),
}

impl Face {
    /// Chooses: the screen where input and output are a terminal that can do it, and lines were not
    /// asked for.
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

    /// Lines on the standard streams.
    pub fn plain() -> Self {
        let errors = std::io::stderr();
        Self::Plain(Streams {
            person: std::io::stdin().is_terminal() && errors.is_terminal(),
            terminal: std::io::stdout().is_terminal(),
            input: Box::new(std::io::BufReader::new(std::io::stdin())),
            output: Box::new(std::io::stdout()),
            errors: Box::new(errors),
        })
    }
}

/// What a runtime is given of a chat, and the chat.
#[derive(Debug)]
pub struct ChatLink {
    /// For `Builder::watcher`.
    pub watcher: Arc<dyn Watcher>,
    /// For `Builder::approver`. It says no until the chat runs.
    pub approver: Arc<dyn Approver>,
    /// Shows what they see.
    pub ui: ChatUi,
}

/// A chat that is about to begin.
#[derive(Debug)]
pub struct ChatUi {
    end: End,
}

#[derive(Debug)]
enum End {
    Screen(Arc<Link>, Inbox),
    Plain(Arc<Plain>),
}

/// Why a chat could not begin, or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The session could not be started or resumed.
    #[error("{message}")]
    Session {
        /// What happened.
        message: String,
        /// What to type next.
        hints: Vec<String>,
    },
    /// The input cannot be read.
    #[error("cannot read the input")]
    Input(#[source] std::io::Error),
    /// The terminal cannot be used.
    #[error("cannot use the terminal")]
    Terminal(#[source] std::io::Error),
    /// [`ChatUi::run`] was called for a link that is already used up.
    #[error("this chat has already ended")]
    AlreadyRan,
    /// The person left before the session began.
    #[error("left before the session began")]
    LeftEarly,
    /// The thread that draws the screen panicked.
    #[error("the chat ended unexpectedly")]
    ScreenPanicked,
}

/// What the conversation begins with.
#[derive(Clone, Debug)]
pub enum Begin {
    /// A new session.
    New {
        /// What it is called in lists.
        title: String,
    },
    /// A session that was left.
    Resume {
        /// Its id, or the beginning of it.
        id: String,
    },
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct ChatOptions {
    /// The file that remembers what was typed; nothing to forget it.
    pub history: Option<PathBuf>,
    /// Whether colours may be used.
    pub colours: bool,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            history: None,
            colours: true,
        }
    }
}

/// How a chat ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatEnd {
    /// The session that was open last.
    pub session: Box<str>,
    /// What that session used.
    pub spent: Spent,
    /// The exit code: of the first turn in lines that went wrong; leaving a screen is no fault.
    pub code: u8,
    /// How many questions were answered with no because nobody was there.
    pub unanswered: usize,
}

impl ChatEnd {
    /// A line about it, with what to type next.
    pub fn line(&self) -> String {
        if self.spent.turns == 0 {
            return "nothing was asked; begin again with `prowess chat`, or ask at once with \
                    `prowess run --task TEXT`"
                .to_owned();
        }
        let mut parts = vec![
            count(self.spent.turns as usize, "turn"),
            lines::tokens(self.spent.usage.tokens()),
        ];
        parts.extend(self.spent.usage.micros.map(money));
        format!(
            "{}; go on with `prowess session resume {}`",
            parts.join(", "),
            self.session
        )
    }
}

impl ChatLink {
    /// Makes both ends of a chat.
    pub fn new(face: Face) -> Self {
        match face {
            Face::Screen => {
                let (link, inbox) = Link::new();
                Self {
                    watcher: Arc::clone(&link) as Arc<dyn Watcher>,
                    approver: Arc::clone(&link) as Arc<dyn Approver>,
                    ui: ChatUi {
                        end: End::Screen(link, inbox),
                    },
                }
            }
            Face::Plain(streams) => {
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
    /// Talks until a person leaves, or the input ends. The runtime must have the watcher and the
    /// approver of the same [`ChatLink`].
    pub async fn run(
        self,
        runtime: Runtime,
        begin: Begin,
        options: ChatOptions,
    ) -> Result<ChatEnd, ChatError> {
        match self.end {
            End::Plain(plain) => plain::talk(plain, runtime, begin).await,
            End::Screen(link, inbox) => on_screen(&link, &inbox, runtime, begin, options).await,
        }
    }
}

async fn on_screen(
    link: &Arc<Link>,
    inbox: &Inbox,
    runtime: Runtime,
    begin: Begin,
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
        colours: options.colours,
        left: left.clone(),
        current: Arc::clone(&current),
    };
    link.set_live(true);
    let thread = std::thread::Builder::new().name("chat-screen".to_owned());
    let handle = thread
        .spawn(move || screen.run())
        .map_err(ChatError::Terminal)?;
    // Whatever happens to the session, the terminal is given back before anything else is said.
    let mut shown = Shown {
        link: Arc::clone(link),
        handle: Some(handle),
    };
    // Taking a session up again may ask something, so the screen is there before.
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
            // A thread that dies cannot put the hook back that was there before.
            drop(std::panic::take_hook());
            Err(ChatError::ScreenPanicked)
        }
        Some(Ok(Ok(()))) | None => worked,
    }
}

/// The thread that shows the chat; it ends with this.
struct Shown {
    link: Arc<Link>,
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

/// Does what the screen orders, until `left` says that it is gone.
async fn serve(
    out: SyncSender<Incoming>,
    mut orders: Wanted,
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
                    return work.obey(order, &cancel).await;
                }
                report(Report::Busy);
                work.go_on(&cancel).await
            };
            let mut doing = std::pin::pin!(doing);
            tokio::select! {
                biased;
                became = &mut doing => Some(became),
                () = left.cancelled() => {
                    // What is under way ends, and is written down.
                    cancel.cancel();
                    let _ = tokio::time::timeout(LEAVE, &mut doing).await;
                    None
                }
            }
        };
        match became {
            Some(Became::View(view)) => report(Report::View(view)),
            Some(Became::Problem(problem)) => {
                report(Report::Problem {
                    message: problem.message,
                    hints: problem.hints,
                });
            }
            Some(Became::Cleared) => {
                report(Report::Ready {
                    session: work.id().into(),
                    past: Vec::new(),
                });
            }
            // It was seen while it happened.
            Some(Became::Paused(_)) => {}
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

/// Waits for an order, or for a skill in the background, which needs none.
async fn next(work: &mut Work, orders: &mut Wanted) -> Option<(Option<Order>, CancellationToken)> {
    let ordered = |(order, cancel)| (Some(order), cancel);
    if work.background() == 0 {
        return orders.recv().await.map(ordered);
    }
    let mut wait = std::pin::pin!(work.wait());
    tokio::select! {
        biased;
        order = orders.recv() => {
            // A result that just came in is written down before anything else is said.
            let _ = tokio::time::timeout(GRACE, &mut wait).await;
            order.map(ordered)
        }
        _ = &mut wait => Some((None, CancellationToken::new())),
    }
}
