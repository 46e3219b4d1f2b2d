//! Watching sessions.

use std::fmt::Debug;

use prowess_agent::{Delta, Stamped};

/// Receives what happens in sessions. It is called in between and must not take long.
pub trait Watcher: Send + Sync + Debug {
    /// Receives an update of a session. `depth` is zero for a session that is no sub-run.
    fn update(&self, session: &str, depth: u8, update: Update<'_>);
}

/// Something that happened in a session.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Update<'a> {
    /// An event, as it is in the store now.
    Event(&'a Stamped),
    /// A piece of an answer that is on its way.
    Delta(&'a Delta),
    /// A message for people. Models do not see it.
    Message(&'a str),
}
