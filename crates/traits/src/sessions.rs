//! Storage of sessions.

use std::error::Error;
use std::fmt::Debug;

use prowess_agent::{EndingKind, StampedEvent};

/// The maximum size of one event in bytes.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

/// The maximum number of sessions that are listed in order to count them.
const MAX_COUNTED: usize = 100_000;

/// Stores the events of sessions, an append-only list for each.
///
/// Events acknowledged by [`SessionStore::append`] survive a kill at any time. Writing needs a
/// [`Lease`], of which a session has at most one, so that two processes cannot continue it at once.
/// Reading needs none.
pub trait SessionStore: Send + Sync + Debug {
    /// Creates a session and leases it. The id is new, short and alphanumeric.
    fn create(&self, first: &StampedEvent) -> Result<Lease, SessionError>;

    /// Leases an existing session. Fails if a running process holds it.
    fn take(&self, id: &str) -> Result<Lease, SessionError>;

    /// Appends events atomically, in order. After an error other than those of
    /// [`SessionError::wrote_nothing`] it is unknown whether they were written.
    fn append(&self, lease: &Lease, events: &[StampedEvent]) -> Result<(), SessionError>;

    /// Releases a session. A process that exits releases all of its sessions.
    fn release(&self, lease: Lease);

    /// Returns the events of a session, in order.
    fn events(&self, id: &str) -> Result<Vec<StampedEvent>, SessionError>;

    /// Returns summaries of sessions, latest first.
    fn list(&self, query: &SessionQuery) -> Result<Vec<SessionSummary>, SessionError>;

    /// Returns the number of top-level sessions of a project.
    fn count(&self, project: &str) -> Result<u64, SessionError> {
        let sessions = self.list(&SessionQuery {
            project: Some(project.into()),
            parent: None,
            limit: MAX_COUNTED,
        })?;
        Ok(u64::try_from(sessions.len()).unwrap_or(u64::MAX))
    }

    /// Returns the id that starts with a prefix.
    fn find(&self, prefix: &str) -> Result<Box<str>, SessionError>;

    /// Removes a session and its sub-runs, and returns their number. Fails if one of them is in use.
    fn remove(&self, id: &str) -> Result<u64, SessionError>;
}

/// The right to write to a session.
#[derive(Debug)]
pub struct Lease {
    /// The id of the session.
    pub session: Box<str>,
    /// A value unique to this lease.
    pub token: u64,
}

/// A query for sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionQuery {
    /// The project; `None` for all.
    pub project: Option<Box<str>>,
    /// The parent session; `None` for top-level sessions.
    pub parent: Option<Box<str>>,
    /// The maximum number of sessions.
    pub limit: usize,
}

/// A summary of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The id.
    pub id: Box<str>,
    /// The title.
    pub title: Box<str>,
    /// The project.
    pub project: Box<str>,
    /// The model.
    pub model: Box<str>,
    /// The parent session, in a sub-run.
    pub parent: Option<Box<str>>,
    /// The start time, in nanoseconds since 1970.
    pub started: i64,
    /// The time of the last event.
    pub updated: i64,
    /// The number of events.
    pub events: u64,
    /// The name of its last ending; `None` if it is active or was interrupted.
    pub ending: Option<EndingKind>,
    /// `true` if a process holds it now.
    pub live: bool,
}

/// A failed access to stored sessions. `store` is its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The session does not exist.
    #[error("session `{asked}` not found")]
    NotFound {
        /// The requested id.
        asked: Box<str>,
        /// Similar ids, or ids that start with it.
        near: Vec<Box<str>>,
    },
    /// A process holds the session.
    #[error("session `{session}` is in use by process {process}")]
    InUse {
        /// The session.
        session: Box<str>,
        /// The process.
        process: u32,
    },
    /// Another process has taken over the session.
    #[error("session `{session}` was taken over by another process")]
    Lost {
        /// The session.
        session: Box<str>,
    },
    /// An event is too large.
    #[error(
        "an event of session `{session}` is too large: {bytes} bytes, the maximum is {MAX_EVENT}"
    )]
    TooLarge {
        /// The session.
        session: Box<str>,
        /// The size in bytes.
        bytes: usize,
    },
    /// A stored event cannot be decoded.
    #[error("cannot read event {number} of session `{session}`: {reason}")]
    Unreadable {
        /// The session.
        session: Box<str>,
        /// The index of the event.
        number: u64,
        /// The reason.
        reason: Box<str>,
    },
    /// Another process held a lock on the store for too long.
    #[error("the store `{store}` is locked by another process")]
    Busy {
        /// The path.
        store: Box<str>,
    },
    /// The store is read-only, or the disk is full. Nothing was written.
    #[error("cannot write the store `{store}`: {reason}")]
    Unwritable {
        /// The path.
        store: Box<str>,
        /// The reason.
        reason: Box<str>,
    },
    /// The file is not a store, is damaged, or is newer than this version. It is left unchanged.
    #[error("cannot use the store `{store}`: {reason}")]
    Unusable {
        /// The path.
        store: Box<str>,
        /// The reason.
        reason: Box<str>,
    },
    /// Another error.
    #[error("the store `{store}` failed")]
    Failed {
        /// The path.
        store: Box<str>,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl SessionError {
    /// Returns `true` if a failed [`SessionStore::append`] certainly wrote nothing. After another
    /// error, the session must be released, taken again and read.
    pub fn wrote_nothing(&self) -> bool {
        match self {
            Self::NotFound { .. }
            | Self::InUse { .. }
            | Self::Lost { .. }
            | Self::TooLarge { .. }
            | Self::Busy { .. }
            | Self::Unwritable { .. } => true,
            Self::Unreadable { .. } | Self::Unusable { .. } | Self::Failed { .. } => false,
        }
    }
}
