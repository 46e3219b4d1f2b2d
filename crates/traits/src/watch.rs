//! Watching sessions.

use std::fmt::Debug;

use prowess_agent::{Delta, Question, StampedEvent};

/// Receives updates of sessions. Called synchronously, so implementations must return quickly.
pub trait Watcher: Send + Sync + Debug {
    /// Receives an update of a session. `depth` is 0 for a top-level session.
    fn update(&self, session: &str, depth: u8, update: Update<'_>);
}

/// Something that happened in a session.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Update<'a> {
    /// An event, as it is in the store now.
    Event(&'a StampedEvent),
    /// A piece of a reply that is still arriving.
    Delta(&'a Delta),
    /// A message for people. Models do not see it.
    Message(&'a str),
    /// A question that the session waits for now.
    Waiting(&'a Question),
}
