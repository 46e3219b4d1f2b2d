//! Remembering sessions.

use std::error::Error;
use std::fmt::Debug;

use prowess_agent::{EndingKind, Stamped};

/// Most bytes of one event.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

/// Keeps the events of sessions: an append-only list for each.
///
/// What [`SessionStore::append`] acknowledged is never lost, whatever is killed when. A session that
/// is written to belongs to one [`Lease`] at a time, so that two processes cannot continue it at
/// once; reading needs none.
pub trait SessionStore: Send + Sync + Debug {
    /// Begins a session and takes it. The id is new, short, and made of letters and digits.
    fn create(&self, first: &Stamped) -> Result<Lease, SessionError>;

    /// Takes a session that exists. Fails where a process that still lives has it.
    fn take(&self, id: &str) -> Result<Lease, SessionError>;

    /// Writes events down, all or none, in order, behind those that are there.
    fn append(&self, lease: &Lease, events: &[Stamped]) -> Result<(), SessionError>;

    /// Gives a session back. A process that ends gives back all it has.
    fn release(&self, lease: Lease);

    /// Returns the events of a session, in order.
    fn events(&self, id: &str) -> Result<Vec<Stamped>, SessionError>;

    /// Returns what is known about sessions, the latest first.
    fn list(&self, query: &SessionQuery) -> Result<Vec<SessionSummary>, SessionError>;

    /// Finds the whole id for its beginning.
    fn find(&self, beginning: &str) -> Result<Box<str>, SessionError>;

    /// Removes a session and its sub-runs. Tells how many went. Fails where somebody has one.
    fn remove(&self, id: &str) -> Result<u64, SessionError>;
}

/// The right to write to a session.
#[derive(Debug)]
pub struct Lease {
    /// The id of the session.
    pub session: Box<str>,
    /// What tells this lease from others.
    pub token: u64,
}

/// Which sessions are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionQuery {
    /// Of this project; nothing means all.
    pub project: Option<Box<str>>,
    /// Sub-runs of this session; nothing means sessions that are no sub-runs.
    pub parent: Option<Box<str>>,
    /// Most sessions.
    pub limit: usize,
}

/// What is known about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its id.
    pub id: Box<str>,
    /// What it is about.
    pub title: Box<str>,
    /// The project.
    pub project: Box<str>,
    /// The model.
    pub model: Box<str>,
    /// The session that it is a part of.
    pub parent: Option<Box<str>>,
    /// When it began, in nanoseconds since 1970.
    pub started: i64,
    /// When its last event was.
    pub updated: i64,
    /// How many events it has.
    pub events: u64,
    /// Its last ending. `None` if it continues or was interrupted.
    pub ending: Option<EndingKind>,
    /// Whether a process has it now.
    pub live: bool,
}

/// Why a session was not remembered, or could not be told. `store` is where: a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no such session.
    #[error("no session `{asked}`")]
    NotFound {
        /// What was asked for.
        asked: Box<str>,
        /// Ids that come near, or that begin so.
        near: Vec<Box<str>>,
    },
    /// A process has it.
    #[error("session `{session}` is in use by the process {process}")]
    InUse {
        /// The session.
        session: Box<str>,
        /// The process.
        process: u32,
    },
    /// The lease does not count any more: somebody else took the session.
    #[error("session `{session}` was taken over by another process")]
    Lost {
        /// The session.
        session: Box<str>,
    },
    /// An event is too large.
    #[error("an event of session `{session}` has {bytes} bytes, more than {MAX_EVENT}")]
    TooLarge {
        /// The session.
        session: Box<str>,
        /// Its size.
        bytes: usize,
    },
    /// What is written cannot be read.
    #[error("event {number} of session `{session}` cannot be read: {reason}")]
    Unreadable {
        /// The session.
        session: Box<str>,
        /// Which event, from zero.
        number: u64,
        /// Why.
        reason: Box<str>,
    },
    /// Somebody else held the store for longer than we wait.
    #[error("the store `{store}` is locked by another process")]
    Busy {
        /// Where.
        store: Box<str>,
    },
    /// There is no more room, or it must not be written.
    #[error("the store `{store}` cannot be written: {reason}")]
    Unwritable {
        /// Where.
        store: Box<str>,
        /// Why.
        reason: Box<str>,
    },
    /// What is there is no store of ours, a broken one or a newer one. It is left as it is.
    #[error("the store `{store}` cannot be used: {reason}")]
    Unusable {
        /// Where.
        store: Box<str>,
        /// Why.
        reason: Box<str>,
    },
    /// Anything else.
    #[error("the store `{store}` failed")]
    Failed {
        /// Where.
        store: Box<str>,
        /// What the system says.
        source: Box<dyn Error + Send + Sync>,
    },
}
