//! The connection between the runtime and the chat: a watcher and an approver.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use prowess::policy::ApprovalAnswer;
use prowess::traits::{ApprovalRequest, Approver, TextReply, TextRequest};
use prowess::{Update, Watcher};
use prowess_diag::wording::{shorten, thousands};
use prowess_diag::{review, sanitize};

use super::display::{DisplayEvent, Tone, display_event};
use super::state::{Message, PendingQuestion, PendingText};
use crate::text_prompt;

/// The maximum number of queued messages. A sender waits while the queue is full.
const MAX_WAITING: usize = 1_024;

/// Input of the chat.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message(Message),
    /// A question, and the channel for the answer.
    Ask(PendingQuestion, SyncSender<ApprovalAnswer>),
    /// A question that needs a text, and the channel for the answer.
    AskText(PendingQuestion, SyncSender<TextReply>),
    /// The session has stopped.
    Stop,
}

/// The runtime's end.
#[derive(Debug)]
pub(crate) struct Bridge {
    sender: SyncSender<Incoming>,
    /// `true` while the chat is running.
    live: AtomicBool,
    next: AtomicU64,
}

/// The chat's end.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) receiver: Mutex<Option<Receiver<Incoming>>>,
}

impl Bridge {
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

impl Watcher for Bridge {
    fn update(&self, session: &str, depth: u8, update: Update<'_>) {
        if !self.live.load(Ordering::SeqCst) {
            return;
        }
        if let Some(event) = display_event(update) {
            let message = Message::Event {
                session: session.into(),
                depth,
                event,
            };
            // Fails if the chat has ended.
            let _ = self.sender.send(Incoming::Message(message));
        }
    }
}

impl Approver for Bridge {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        if !self.live.load(Ordering::SeqCst) {
            return ApprovalAnswer::Unavailable;
        }
        if question.is_too_long() {
            let text = too_long(question);
            let event = DisplayEvent::Line {
                tone: Tone::Bad,
                what: "refused",
                text,
            };
            let message = Message::Event {
                session: "".into(),
                depth: 0,
                event,
            };
            let _ = self.sender.send(Incoming::Message(message));
            return ApprovalAnswer::Unavailable;
        }
        let (sender, answer) = sync_channel(1);
        let asked = asked(self.next.fetch_add(1, Ordering::SeqCst), question);
        if self.sender.send(Incoming::Ask(asked, sender)).is_err() {
            return ApprovalAnswer::Unavailable;
        }
        answer.recv().unwrap_or(ApprovalAnswer::Unavailable)
    }

    fn ask_text(&self, question: &TextRequest<'_>) -> TextReply {
        if !self.live.load(Ordering::SeqCst) {
            return TextReply::Unavailable;
        }
        let (sender, answer) = sync_channel(1);
        let id = self.next.fetch_add(1, Ordering::SeqCst);
        let asked = asked_text(id, question);
        if self.sender.send(Incoming::AskText(asked, sender)).is_err() {
            return TextReply::Unavailable;
        }
        let Some(remaining) = question.remaining else {
            return answer.recv().unwrap_or(TextReply::Unavailable);
        };
        match answer.recv_timeout(remaining) {
            Ok(reply) => reply,
            Err(RecvTimeoutError::Timeout) => {
                // Fails if the chat has ended.
                let _ = self.sender.send(Incoming::Message(Message::Withdraw(id)));
                TextReply::Expired
            }
            Err(RecvTimeoutError::Disconnected) => TextReply::Unavailable,
        }
    }
}

/// Returns the message for an action that is too long to be approved.
pub(crate) fn too_long(question: &ApprovalRequest<'_>) -> String {
    let first = question.what.lines().next().unwrap_or_default();
    let (first, size) = (shorten(first, 80), thousands(question.what.len()));
    format!(
        "{}: too long to be approved: {size} bytes",
        sanitize::line(&first)
    )
}

/// Makes a question safe for a terminal.
pub(crate) fn asked(id: u64, question: &ApprovalRequest<'_>) -> PendingQuestion {
    let line = |text: &str| sanitize::line(text).into_owned();
    PendingQuestion {
        id,
        what: review::text(question.what),
        why: review::line(&question.explain()),
        remedy: (question.decision.remedy.as_ref()).map(|remedy| line(&remedy.to_string())),
        skill: question.skill.map(line),
        text: None,
    }
}

/// Makes a question that needs a text safe for a terminal.
fn asked_text(id: u64, question: &TextRequest<'_>) -> PendingQuestion {
    let details = question.details;
    PendingQuestion {
        id,
        what: review::text(question.what),
        why: review::text(details.context.as_deref().unwrap_or_default()),
        remedy: None,
        skill: None,
        text: Some(PendingText {
            asker: text_prompt::asker(question),
            choices: text_prompt::choices(details),
            details: details.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use prowess::policy::{Decision, Verdict};

    use super::*;

    #[test]
    fn prompt_is_denied_without_a_chat() {
        let (link, inbox) = Bridge::new();
        let decision = Decision::new(Verdict::Ask, "x\x1b[2J");
        let question = ApprovalRequest {
            what: "rm\u{202e} -r\n.",
            decision: &decision,
            skill: Some("s"),
            action: None,
            note: None,
        };
        assert_eq!(
            link.ask(&question),
            ApprovalAnswer::Unavailable,
            "before the chat starts"
        );
        link.set_live(true);
        let receiver = inbox.take().unwrap();
        let long = "x".repeat(ApprovalRequest::MAX_BYTES + 1);
        let huge = ApprovalRequest {
            what: &long,
            ..question
        };
        assert_eq!(link.ask(&huge), ApprovalAnswer::Unavailable, "too long");
        assert!(matches!(
            receiver.recv().unwrap(),
            Incoming::Message(Message::Event { .. })
        ));
        let thread = {
            let link = Arc::clone(&link);
            std::thread::spawn(move || {
                let decision = Decision::new(Verdict::Ask, "x");
                link.ask(&ApprovalRequest {
                    what: "a",
                    decision: &decision,
                    skill: None,
                    action: None,
                    note: None,
                })
            })
        };
        // The channel is dropped without an answer.
        drop(receiver.recv().unwrap());
        assert_eq!(thread.join().unwrap(), ApprovalAnswer::Unavailable);
        drop(receiver);
        assert_eq!(
            link.ask(&question),
            ApprovalAnswer::Unavailable,
            "after the chat has ended"
        );
        let safe = asked(1, &question);
        assert_eq!(
            (&*safe.what, &*safe.why),
            ("rm\\u{202e} -r\n.", "x\\u{1b}[2J")
        );
    }
}
