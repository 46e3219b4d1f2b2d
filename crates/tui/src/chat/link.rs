//! What the runtime is given of a chat: somebody who watches, and somebody to ask.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use prowess::policy::{ApprovalAnswer, Decision};
use prowess::traits::{Approver, Question};
use prowess::{Update, Watcher};
use prowess_diag::sanitize;
use prowess_diag::wording::{shorten, thousands};

use super::news::{News, Tone, news};
use super::state::{Asked, Message};

/// Most messages that wait to be shown; who has one more waits for them.
const MAX_WAITING: usize = 1_024;

/// Most bytes of what a person is asked about. Nobody reads more before they say yes.
pub(crate) const MAX_WHAT: usize = 16 * 1024;

/// What comes in for the chat.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message(Message),
    /// A question, and where the answer goes.
    Ask(Asked, SyncSender<ApprovalAnswer>),
    /// The other side is done.
    Stop,
}

/// The runtime's end.
#[derive(Debug)]
pub(crate) struct Link {
    sender: SyncSender<Incoming>,
    /// Whether somebody looks at the other end.
    live: AtomicBool,
    next: AtomicU64,
}

/// The chat's end.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) receiver: Mutex<Option<Receiver<Incoming>>>,
}

impl Link {
    pub(crate) fn new() -> (Arc<Self>, Inbox) {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let link = Self {
            sender,
            live: AtomicBool::new(false),
            next: AtomicU64::new(0),
        };
        (
            Arc::new(link),
            Inbox {
                receiver: Mutex::new(Some(receiver)),
            },
        )
    }

    pub(crate) fn set_live(&self, live: bool) {
        self.live.store(live, Ordering::SeqCst);
    }

    pub(crate) fn sender(&self) -> SyncSender<Incoming> {
        self.sender.clone()
    }
}

impl Inbox {
    pub(crate) fn take(&self) -> Option<Receiver<Incoming>> {
        self.receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Watcher for Link {
    fn update(&self, session: &str, depth: u8, update: Update<'_>) {
        if !self.live.load(Ordering::SeqCst) {
            return;
        }
        if let Some(news) = news(update) {
            let message = Message::News {
                session: session.into(),
                depth,
                news,
            };
            // Nobody is left to see it.
            let _ = self.sender.send(Incoming::Message(message));
        }
    }
}

impl Approver for Link {
    fn ask(&self, question: &Question<'_>) -> ApprovalAnswer {
        if !self.live.load(Ordering::SeqCst) {
            return ApprovalAnswer::No;
        }
        if question.what.len() > MAX_WHAT {
            let text = too_long(question);
            let news = News::Line {
                tone: Tone::Bad,
                what: "refused",
                text,
            };
            let message = Message::News {
                session: "".into(),
                depth: 0,
                news,
            };
            let _ = self.sender.send(Incoming::Message(message));
            return ApprovalAnswer::No;
        }
        let (sender, answer) = sync_channel(1);
        let asked = asked(self.next.fetch_add(1, Ordering::SeqCst), question);
        if self.sender.send(Incoming::Ask(asked, sender)).is_err() {
            return ApprovalAnswer::No;
        }
        answer.recv().unwrap_or(ApprovalAnswer::No)
    }
}

/// Says that something is too long to be read and answered.
pub(crate) fn too_long(question: &Question<'_>) -> String {
    let first = question.what.lines().next().unwrap_or_default();
    let (first, size) = (shorten(first, 80), thousands(question.what.len()));
    format!(
        "{}: it has {size} bytes, too many to be read and allowed",
        sanitize::line(&first)
    )
}

/// A question made safe for a terminal.
pub(crate) fn asked(id: u64, question: &Question<'_>) -> Asked {
    let line = |text: &str| sanitize::line(text).into_owned();
    Asked {
        id,
        what: sanitize::block(question.what).into_owned(),
        why: explain(question.decision),
        remedy: question.decision.remedy.as_deref().map(line),
        skill: question.skill.map(line),
    }
}

/// What a person reads about a decision.
fn explain(decision: &Decision) -> String {
    let mut text = decision.reason.to_string();
    if let Some(rule) = &decision.rule {
        text.push_str(&format!(" (rule `{}`, {})", rule.text, rule.source));
    }
    sanitize::line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use prowess::policy::Verdict;

    use super::*;

    #[test]
    fn nobody_there_means_no() {
        let (link, inbox) = Link::new();
        let decision = Decision::new(Verdict::Ask, "x\x1b[2J");
        let question = Question {
            what: "rm\u{202e} -r\n.",
            decision: &decision,
            skill: Some("s"),
            action: None,
        };
        assert_eq!(
            link.ask(&question),
            ApprovalAnswer::No,
            "before it is shown"
        );
        link.set_live(true);
        let receiver = inbox.take().unwrap();
        let long = "x".repeat(MAX_WHAT + 1);
        let huge = Question {
            what: &long,
            ..question
        };
        assert_eq!(
            link.ask(&huge),
            ApprovalAnswer::No,
            "nobody reads that much"
        );
        assert!(matches!(
            receiver.recv().unwrap(),
            Incoming::Message(Message::News { .. })
        ));
        let thread = {
            let link = Arc::clone(&link);
            std::thread::spawn(move || {
                let decision = Decision::new(Verdict::Ask, "x");
                link.ask(&Question {
                    what: "a",
                    decision: &decision,
                    skill: None,
                    action: None,
                })
            })
        };
        // The answer is given up with its channel.
        drop(receiver.recv().unwrap());
        assert_eq!(thread.join().unwrap(), ApprovalAnswer::No);
        drop(receiver);
        assert_eq!(
            link.ask(&question),
            ApprovalAnswer::No,
            "after it was shown"
        );
        let safe = asked(1, &question);
        assert_eq!(
            (&*safe.what, &*safe.why),
            ("rm\\u{202e} -r\n.", "x\\u{1b}[2J")
        );
    }
}
