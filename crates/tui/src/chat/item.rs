//! The conversation as it is shown: a bounded list of parts.

use std::collections::VecDeque;
use std::time::Duration;

use super::news::{MAX_SHOWN, News, Tone};

/// Most parts that are kept.
const MAX_ITEMS: usize = 2_000;
/// Most bytes that are kept.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// One part of what is shown.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// A number of its own.
    pub(crate) id: u64,
    /// Changes with what it says.
    pub(crate) revision: u32,
    /// How deep the sub-run is that it belongs to.
    pub(crate) depth: u8,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// What a person said.
    Person(String),
    /// What the model said.
    Model { text: String, open: bool },
    /// A tool that was called.
    Call {
        session: Box<str>,
        call: Box<str>,
        line: String,
        state: CallState,
    },
    /// A line about something.
    Line {
        tone: Tone,
        what: &'static str,
        text: String,
    },
    /// What a command of the chat shows.
    View(View),
}

/// How far a call is.
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
    /// The turn ended before it did.
    Open,
}

/// What a command of the chat shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) title: String,
    pub(crate) body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// Words and what they mean.
    Pairs(Vec<(String, String)>),
    /// A table; the first column is the name.
    Table {
        head: Vec<&'static str>,
        rows: Vec<Vec<String>>,
    },
    /// Text, as it is.
    Text(String),
}

/// What is shown, the oldest first. What is too much is dropped, and counted.
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

    /// How many are no longer here.
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

    /// Takes what happened; `now` is for calls that begin.
    pub(crate) fn take(&mut self, session: &str, depth: u8, news: &News, now: Duration) {
        match news {
            News::Said(text) => self.push(depth, Kind::Person(text.clone())),
            // What a sub-run says is its own; its calls are of interest.
            News::Text(piece) if depth == 0 => self.grow(piece),
            News::Restart if depth == 0 => {
                self.replace_open(String::new());
                let text = "the connection broke; asking once more".to_owned();
                self.push(
                    depth,
                    Kind::Line {
                        tone: Tone::Warning,
                        what: "again",
                        text,
                    },
                );
            }
            News::Replied { text, calls, .. } => {
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
            News::CallStarted { call } => {
                self.set_call(session, call, CallState::Running { since: now });
            }
            News::CallEnded {
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
            News::Line { tone, what, text } => {
                self.push(
                    depth,
                    Kind::Line {
                        tone: *tone,
                        what,
                        text: text.clone(),
                    },
                );
            }
            News::Asked | News::Thinking | News::Calling(_) | News::Text(_) | News::Restart => {}
        }
    }

    /// A turn ended: nothing of it goes on.
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

    /// Adds a piece to the answer that is on its way.
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
            // The whole answer comes at the end, with a word about what is left out.
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

    /// Puts the whole answer in the place of its pieces.
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
    use prowess::agent::Usage;

    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn replied(text: &str) -> News {
        News::Replied {
            text: text.into(),
            calls: Vec::new(),
            usage: Usage::default(),
        }
    }

    #[test]
    fn pieces_become_the_whole_answer() {
        let mut items = Items::default();
        for news in [
            News::Text("He".into()),
            News::Text("llo".into()),
            replied("Hello."),
        ] {
            items.take("s", 0, &news, NOW);
        }
        let texts: Vec<_> = items
            .iter()
            .map(|item| match &item.kind {
                Kind::Model { text, open: false } => text.as_str(),
                _ => "?",
            })
            .collect();
        assert_eq!(texts, ["Hello."]);
        // Nothing of what a sub-run says is shown.
        items.take("t", 1, &News::Text("inner".into()), NOW);
        items.take("t", 1, &replied("inner"), NOW);
        assert_eq!(items.iter().count(), 1);
    }

    #[test]
    fn what_is_shown_is_bounded() {
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
            items.take("s", 0, &News::Text("x".repeat(10_000)), NOW);
        }
        assert!(items.bytes < MAX_SHOWN + 20_000);
    }
}
