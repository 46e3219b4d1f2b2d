//! The displayed conversation: a bounded list of items.

use std::collections::VecDeque;
use std::time::Duration;

use super::display::{DisplayEvent, MAX_SHOWN, Tone};

/// The maximum number of items.
const MAX_ITEMS: usize = 2_000;
/// The maximum size in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// One item of the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// A unique number.
    pub(crate) id: u64,
    /// Changes with the content.
    pub(crate) revision: u32,
    /// The depth of the sub-run it belongs to.
    pub(crate) depth: u8,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A message of the user.
    Person(String),
    /// A message of the model.
    Model { text: String, open: bool },
    /// A tool call.
    Call {
        session: Box<str>,
        call: Box<str>,
        line: String,
        state: CallState,
    },
    /// A line of information.
    Line {
        tone: Tone,
        what: &'static str,
        text: String,
    },
    /// The output of a chat command.
    View(View),
}

/// The state of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallState {
    Waiting,
    Running {
        since: Duration,
    },
    Done {
        milliseconds: u64,
    },
    Refused {
        why: String,
    },
    /// The turn ended before the call.
    Open,
}

/// The output of a chat command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) title: String,
    pub(crate) body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// Terms with descriptions.
    Pairs(Vec<(String, String)>),
    /// A table whose first column is the name.
    Table {
        head: Vec<&'static str>,
        rows: Vec<Vec<String>>,
    },
    /// Plain text.
    Text(String),
}

/// The items, oldest first. The oldest ones are dropped and counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items {
    list: VecDeque<Item>,
    dropped: usize,
    bytes: usize,
    next: u64,
}

impl Items {
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.list.iter()
    }

    /// Returns the number of dropped items.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    pub(crate) fn push(&mut self, depth: u8, kind: Kind) {
        self.bytes += size(&kind);
        self.next += 1;
        self.list.push_back(Item {
            id: self.next,
            revision: 0,
            depth,
            kind,
        });
        self.bound();
    }

    /// Adds an event. `now` is the start time of a new call.
    pub(crate) fn take(&mut self, session: &str, depth: u8, event: &DisplayEvent, now: Duration) {
        match event {
            DisplayEvent::Said(text) => self.push(depth, Kind::Person(text.clone())),
            // The text of a sub-run is not shown; its calls are.
            DisplayEvent::Text(piece) if depth == 0 => self.grow(piece),
            DisplayEvent::Restart if depth == 0 => {
                self.replace_open(String::new());
                let text = "the connection was lost; retrying".to_owned();
                self.push(
                    depth,
                    Kind::Line {
                        tone: Tone::Warning,
                        what: "retry",
                        text,
                    },
                );
            }
            DisplayEvent::Replied { text, calls, .. } => {
                if depth == 0 {
                    self.replace_open(text.clone());
                }
                for (call, line) in calls {
                    self.push(
                        depth,
                        Kind::Call {
                            session: session.into(),
                            call: call.clone(),
                            line: line.clone(),
                            state: CallState::Waiting,
                        },
                    );
                }
            }
            DisplayEvent::CallStarted { call } => {
                self.set_call(session, call, CallState::Running { since: now });
            }
            DisplayEvent::CallEnded {
                call,
                fault,
                milliseconds,
                ..
            } => {
                let state = match fault {
                    Some(why) => CallState::Refused { why: why.clone() },
                    None => CallState::Done {
                        milliseconds: *milliseconds,
                    },
                };
                self.set_call(session, call, state);
            }
            DisplayEvent::Line { tone, what, text } => {
                self.push(
                    depth,
                    Kind::Line {
                        tone: *tone,
                        what,
                        text: text.clone(),
                    },
                );
            }
            DisplayEvent::Asked
            | DisplayEvent::Thinking
            | DisplayEvent::Calling(_)
            | DisplayEvent::Text(_)
            | DisplayEvent::Restart => {}
        }
    }

    /// Ends the turn: no item of it is open any more.
    pub(crate) fn close(&mut self) {
        for item in &mut self.list {
            match &mut item.kind {
                Kind::Model { open, .. } => *open = false,
                Kind::Call { state, .. }
                    if item.depth == 0
                        && matches!(state, CallState::Waiting | CallState::Running { .. }) =>
                {
                    *state = CallState::Open;
                    item.revision += 1;
                }
                _ => {}
            }
        }
    }

    /// Appends a piece to the streamed reply.
    fn grow(&mut self, piece: &str) {
        let open = self
            .list
            .iter_mut()
            .rev()
            .find_map(|item| match &mut item.kind {
                Kind::Model { text, open: true } => Some((&mut item.revision, text)),
                _ => None,
            });
        match open {
            Some((revision, text)) if text.len() < MAX_SHOWN => {
                text.push_str(piece);
                *revision += 1;
                self.bytes += piece.len();
            }
            // The complete reply follows, with a note about the omitted part.
            Some(_) => {}
            None => self.push(
                0,
                Kind::Model {
                    text: piece.to_owned(),
                    open: true,
                },
            ),
        }
        self.bound();
    }

    /// Replaces the streamed reply with the complete one.
    fn replace_open(&mut self, whole: String) {
        let found = self
            .list
            .iter()
            .rposition(|item| matches!(item.kind, Kind::Model { open: true, .. }));
        match found {
            Some(at) if whole.trim().is_empty() => {
                if let Some(gone) = self.list.remove(at) {
                    self.bytes = self.bytes.saturating_sub(size(&gone.kind));
                }
            }
            Some(at) => {
                if let Some(item) = self.list.get_mut(at) {
                    self.bytes = (self.bytes + whole.len()).saturating_sub(size(&item.kind));
                    item.kind = Kind::Model {
                        text: whole,
                        open: false,
                    };
                    item.revision += 1;
                }
            }
            None if whole.trim().is_empty() => {}
            None => self.push(
                0,
                Kind::Model {
                    text: whole,
                    open: false,
                },
            ),
        }
    }

    fn set_call(&mut self, session: &str, call: &str, new: CallState) {
        let found = self.list.iter_mut().rev().find(|item| {
            matches!(&item.kind, Kind::Call { session: of, call: id, .. } if **of == *session && **id == *call)
        });
        if let Some(item) = found
            && let Kind::Call { state, .. } = &mut item.kind
        {
            *state = new;
            item.revision += 1;
        }
    }

    fn bound(&mut self) {
        while self.list.len() > MAX_ITEMS || (self.bytes > MAX_BYTES && self.list.len() > 1) {
            if let Some(gone) = self.list.pop_front() {
                self.bytes = self.bytes.saturating_sub(size(&gone.kind));
                self.dropped += 1;
            }
        }
    }
}

fn size(kind: &Kind) -> usize {
    match kind {
        Kind::Person(text) | Kind::Model { text, .. } | Kind::Line { text, .. } => text.len(),
        Kind::Call { line, .. } => line.len(),
        Kind::View(view) => match &view.body {
            Body::Text(text) => text.len(),
            Body::Pairs(pairs) => pairs.iter().map(|(a, b)| a.len() + b.len()).sum(),
            Body::Table { rows, .. } => rows.iter().flatten().map(String::len).sum(),
        },
    }
}

#[cfg(test)]
mod tests {
    use prowess::agent::TokenUsage;

    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn replied(text: &str) -> DisplayEvent {
        DisplayEvent::Replied {
            text: text.into(),
            calls: Vec::new(),
            usage: TokenUsage::default(),
        }
    }

    #[test]
    fn pieces_are_replaced_by_the_complete_reply() {
        let mut items = Items::default();
        for event in [
            DisplayEvent::Text("He".into()),
            DisplayEvent::Text("llo".into()),
            replied("Hello."),
        ] {
            items.take("s", 0, &event, NOW);
        }
        let texts: Vec<_> = items
            .iter()
            .map(|item| match &item.kind {
                Kind::Model { text, open: false } => text.as_str(),
                _ => "?",
            })
            .collect();
        assert_eq!(texts, ["Hello."]);
        // The text of a sub-run is not shown.
        items.take("t", 1, &DisplayEvent::Text("inner".into()), NOW);
        items.take("t", 1, &replied("inner"), NOW);
        assert_eq!(items.iter().count(), 1);
    }

    #[test]
    fn displayed_items_are_bounded() {
        let mut items = Items::default();
        for _ in 0..MAX_ITEMS + 10 {
            items.push(0, Kind::Person("x".into()));
        }
        assert_eq!((items.iter().count(), items.dropped()), (MAX_ITEMS, 10));
        for _ in 0..100 {
            items.push(0, Kind::Person("x".repeat(MAX_SHOWN)));
        }
        assert!(items.bytes <= MAX_BYTES && items.iter().count() < 100);
        let mut items = Items::default();
        for _ in 0..100 {
            items.take("s", 0, &DisplayEvent::Text("x".repeat(10_000)), NOW);
        }
        assert!(items.bytes < MAX_SHOWN + 20_000);
    }
}
