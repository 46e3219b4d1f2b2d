//! Storage of sessions.

use std::error::Error;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use prowess_agent::{
    EndingKind, Question, QuestionKind, RecordedAnswer, StampedEvent, TextQuestion,
};

/// The maximum size of one event in bytes.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

/// The maximum number of sessions that are listed in order to count them.
const MAX_COUNTED: usize = 100_000;

/// Stores the events of sessions, an append-only list for each.
///
/// Events acknowledged by [`SessionStore::append`] survive a kill at any time. Writing needs a
/// [`Lease`], of which a session has at most one, so that two processes cannot continue it at once.
/// Reading needs none.
///
/// The store also keeps an inbox of the questions in these events. Answering one needs no lease, so
/// that any process can do it, whether or not the session is in use.
pub trait SessionStore: Send + Sync + Debug {
    /// Creates a session and leases it. The id is new, short and alphanumeric.
    fn create(&self, first: &StampedEvent) -> Result<Lease, SessionError>;

    /// Leases an existing session. Fails if a running process holds it.
    fn take(&self, id: &str) -> Result<Lease, SessionError>;

    /// Appends events atomically, in order, at the position of the lease, and moves the position.
    ///
    /// After an error other than those of [`SessionError::wrote_nothing`] it is unknown whether they
    /// were written. The call can then be repeated with the same lease and events: if they are
    /// stored at that position already, it succeeds and writes nothing. Other events at that position
    /// are [`SessionError::Position`]. Threads that share a lease must not append at the same time.
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
    /// Their questions are removed with them.
    fn remove(&self, id: &str) -> Result<u64, SessionError>;

    /// Asks the process that holds a session to stop it. Needs no lease.
    fn request_stop(&self, id: &str) -> Result<(), SessionError>;

    /// Returns `true` if the session was asked to stop since it was leased.
    fn is_stop_requested(&self, lease: &Lease) -> Result<bool, SessionError>;

    /// Returns the open questions, oldest first.
    fn questions(&self, query: &QuestionQuery) -> Result<Vec<OpenQuestion>, SessionError>;

    /// Returns a question by its id or a prefix of it. A prefix that several questions have refers to
    /// the one that is open, if it is only one.
    fn question(&self, id: &str) -> Result<StoredQuestion, SessionError>;

    /// Answers a question, by its id. The first answer counts; a later one changes nothing, and so
    /// does one whose time is after the deadline of the question. Needs no lease.
    fn answer(&self, id: &str, answer: &Answer) -> Result<AnswerOutcome, SessionError>;
}

/// The right to write to a session, and the position of the next event.
#[derive(Debug)]
pub struct Lease {
    /// The id of the session.
    pub session: Box<str>,
    /// A value unique to this lease.
    pub token: u64,
    /// The number of events before the next one.
    position: AtomicU64,
}

impl Lease {
    /// Creates a lease. For implementations of [`SessionStore`].
    pub fn new(session: impl Into<Box<str>>, token: u64, position: u64) -> Self {
        Self {
            session: session.into(),
            token,
            position: position.into(),
        }
    }

    /// Returns the number of events before the next one.
    pub fn position(&self) -> u64 {
        self.position.load(Ordering::SeqCst)
    }

    /// Sets the position after a successful write. For implementations of [`SessionStore`].
    pub fn set_position(&self, position: u64) {
        self.position.store(position, Ordering::SeqCst);
    }
}

/// A query for open questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionQuery {
    /// The project; `None` for all.
    pub project: Option<Box<str>>,
    /// The maximum number of questions.
    pub limit: usize,
}

/// A question that a session asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The question.
    pub question: Question,
    /// The session that asked it.
    pub session: Box<str>,
    /// The session above all sub-runs, which continues after the answer. It can be `session` itself.
    pub root: Box<str>,
    /// The project of the session.
    pub project: Box<str>,
    /// The time of the question, in nanoseconds since 1970.
    pub at: i64,
}

impl OpenQuestion {
    /// Returns the choices and what else belongs to the question, if it needs a text or a choice.
    pub fn text(&self) -> Option<&TextQuestion> {
        match &self.question.kind {
            QuestionKind::Text(details) => Some(details),
            _ => None,
        }
    }

    /// Returns the time at which its deadline passes, in nanoseconds since 1970. `None` without a
    /// deadline.
    pub fn expires_at(&self) -> Option<i64> {
        self.text()?.expires_at(self.at)
    }

    /// Returns `true` if an answer at this time is too late.
    pub fn is_expired(&self, now: i64) -> bool {
        self.expires_at().is_some_and(|deadline| now > deadline)
    }
}

/// A question with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredQuestion {
    /// The question.
    pub asked: OpenQuestion,
    /// The state.
    pub state: QuestionState,
}

/// The state of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionState {
    /// It has no answer.
    Open,
    /// It has an answer.
    Answered(Answer),
    /// It has no answer and needs none any more.
    Gone {
        /// The reason.
        why: Box<str>,
    },
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The answer.
    pub answer: RecordedAnswer,
    /// The reason that the person gave.
    pub because: Option<String>,
    /// The person, or the place of the answer.
    pub who: Box<str>,
    /// The time, in nanoseconds since 1970.
    pub at: i64,
}

/// The effect of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// It is stored and counts.
    Stored,
    /// Another answer was first.
    AlreadyAnswered(Answer),
    /// The question needs no answer any more.
    Gone {
        /// The reason.
        why: Box<str>,
    },
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
    /// A question does not exist.
    #[error("question `{asked}` not found")]
    NoQuestion {
        /// The requested id.
        asked: Box<str>,
        /// Similar ids, or ids that start with it.
        near: Vec<Box<str>>,
    },
    /// A process holds the session.
    #[error("session `{session}` is in use by {holder}")]
    InUse {
        /// The session.
        session: Box<str>,
        /// The process and its machine, as text for a person.
        holder: Box<str>,
    },
    /// The session has other events at the position of the lease. The writer must read it again.
    #[error(
        "session `{session}` has {found} events, but the writer has seen {expected} and would add others"
    )]
    Position {
        /// The session.
        session: Box<str>,
        /// The position of the lease.
        expected: u64,
        /// The number of stored events.
        found: u64,
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
    /// Returns `true` if a failed [`SessionStore::append`] certainly wrote nothing, so that the state
    /// of the writer still follows from the record. After another error, the append can be repeated,
    /// or the session must be released, taken again and read.
    pub fn wrote_nothing(&self) -> bool {
        match self {
            Self::NotFound { .. }
            | Self::NoQuestion { .. }
            | Self::InUse { .. }
            | Self::Lost { .. }
            | Self::TooLarge { .. }
            | Self::Busy { .. }
            | Self::Unwritable { .. } => true,
            Self::Position { .. }
            | Self::Unreadable { .. }
            | Self::Unusable { .. }
            | Self::Failed { .. } => false,
        }
    }
}
