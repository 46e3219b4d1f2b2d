//! Watching a session while it goes on.

use std::fmt::Debug;

use prowess_agent::{Delta, Stamped};

/// Sees what happens in sessions. It is called in between and must not take long.
pub trait Watcher: Send + Sync + Debug {
    /// Something happened in a session; `depth` is zero for a session that is no sub-run.
    fn update(&self, session: &str, depth: u8, update: Update<'_>);
}

/// What happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Update<'a> {
    /// An event, as it is in the store now.
    Event(&'a Stamped),
    /// A piece of an answer that is on its way.
    Delta(&'a Delta),
    /// Something that a person may want to know, and a model need not.
    Message(&'a str),
}
