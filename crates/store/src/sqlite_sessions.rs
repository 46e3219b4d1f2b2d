//! Sessions in a SQLite file.
//!
//! A session is one row of `sessions`, with everything that a list needs and its holder, and one
//! row of `events` for each event. Both change in one transaction, which is on disk when it
//! returns.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_agent::{EndingKind, RecordedAnswer, StampedEvent};
use prowess_traits::{
    Answer, AnswerOutcome, Lease, MAX_EVENT, OpenQuestion, QuestionQuery, SessionError,
    SessionQuery, SessionStore, SessionSummary, StoredQuestion,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::database::{Database, DatabaseError, Tables};
use crate::ids::{self, LATEST, NEAR};
use crate::inbox::{self, InboxChange, MAX_PARENTS};
use crate::lease_holder::Holder;
use crate::memory_sessions::encode;
use crate::session_summary::{follow, summarize};
use crate::sql;

/// The default time to wait for a lock. Longer than for usage, because a session that cannot be
/// written must stop.
pub const SESSION_BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const TABLES: Tables = Tables {
    since: 2,
    sync: sql::SYNC_FULL,
};

/// Stores sessions in a SQLite file, which may also hold the use of skills.
///
/// If [`append`](SessionStore::append) fails with [`SessionError::Busy`] or
/// [`SessionError::Unwritable`], nothing was written. After another error of the file it is unknown
/// whether the events were written: repeat the call, or release the session, take it again and read
/// it.
#[derive(Debug)]
pub struct SqliteSessions {
    database: Database,
    /// The tokens of leases that were released while the file could not be written.
    released: Mutex<BTreeSet<i64>>,
}

/// The result of a transaction. A `SessionError` leaves the file unchanged.
type Outcome<T> = rusqlite::Result<Result<T, SessionError>>;

type Ids = Vec<Box<str>>;

impl SqliteSessions {
    /// Creates a store. The file is not opened or created yet.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let database = Database::new(path.as_ref(), SESSION_BUSY_TIMEOUT, TABLES);
        Self {
            database,
            released: Mutex::default(),
        }
    }

    /// Sets the time to wait for a lock, at most an hour.
    #[must_use]
    pub fn with_busy_timeout(self, busy_timeout: Duration) -> Self {
        Self {
            database: self.database.with_busy_timeout(busy_timeout),
            ..self
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Runs a write transaction. `work` must not have written if it returns a `SessionError`.
    fn write<T>(&self, work: impl Fn(&Transaction<'_>) -> Outcome<T>) -> Result<T, SessionError> {
        self.database
            .write(work)
            .map_err(|error| self.error(error))?
    }

    /// Like [`write`](Self::write), for an existing session: does not create the file.
    fn change<T>(
        &self,
        id: &str,
        work: impl Fn(&Transaction<'_>) -> Outcome<T>,
    ) -> Result<T, SessionError> {
        let exists = self
            .database
            .read(|_| Ok(()))
            .map_err(|error| self.error(error))?;
        match exists {
            Some(()) => self.write(work),
            None => Err(ids::missing(id, Vec::new(), &[])),
        }
    }

    /// Runs a read. Returns `None` if there is nothing to read.
    fn read<T>(&self, work: impl Fn(&Connection) -> Outcome<T>) -> Result<Option<T>, SessionError> {
        self.database
            .read(work)
            .map_err(|error| self.error(error))?
            .transpose()
    }

    fn error(&self, error: DatabaseError) -> SessionError {
        let store = self.database.name();
        match error {
            DatabaseError::Busy => SessionError::Busy { store },
            DatabaseError::ReadOnly => SessionError::Unwritable {
                store,
                reason: "it is read-only".into(),
            },
            DatabaseError::Full => SessionError::Unwritable {
                store,
                reason: "no space left on the disk".into(),
            },
            DatabaseError::NotAFile => SessionError::Unusable {
                store,
                reason: "it is not a regular file".into(),
            },
            DatabaseError::Damaged { reason } => SessionError::Unusable {
                store,
                reason: format!("it is damaged: {reason}").into(),
            },
            DatabaseError::Foreign => SessionError::Unusable {
                store,
                reason: "it is the database of another program".into(),
            },
            DatabaseError::Newer { found, known } => SessionError::Unusable {
                store,
                reason: format!(
                    "it uses format version {found}, but this version supports at most {known}"
                )
                .into(),
            },
            DatabaseError::Unavailable { source } => SessionError::Failed { store, source },
        }
    }

    /// Returns the holder of a session, if it is running and has not released it.
    fn living(&self, row: &Row<'_>) -> Option<Holder> {
        let (holder, token) = read_holder(row)?;
        let released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        (!released.contains(&token) && holder.lives()).then_some(holder)
    }
}

impl SessionStore for SqliteSessions {
    fn create(&self, first: &StampedEvent) -> Result<Lease, SessionError> {
        let text = encode(first, "new")?;
        let holder = Holder::here();
        let token = ids::random();
        let session = self.write(|transaction| {
            let taken = |id: &str| transaction.query_row(sql::HAS_SESSION, [id], |row| row.get(0));
            let summary = summarize(ids::new_id(taken)?, first);
            transaction.execute(
                sql::INSERT_SESSION,
                params![
                    summary.id,
                    summary.title,
                    summary.project,
                    summary.model,
                    summary.parent,
                    summary.started,
                    summary.updated,
                    1,
                    summary.ending.map(EndingKind::as_str),
                    next_turn(transaction)?,
                    holder.process,
                    holder.start,
                    holder.place,
                    token.cast_signed(),
                ],
            )?;
            insert(transaction, &summary.id, 0, first.at, &text)?;
            Ok(Ok(summary.id))
        })?;
        Ok(Lease::new(session, token, 1))
    }

    fn take(&self, id: &str) -> Result<Lease, SessionError> {
        let holder = Holder::here();
        let token = ids::random();
        let position = self.change(id, |transaction| {
            let held = |row: &Row<'_>| Ok(self.living(row));
            match transaction
                .query_row(sql::SELECT_HOLDER, [id], held)
                .optional()?
            {
                None => missing(transaction, id),
                Some(Some(holder)) => Ok(Err(in_use(id, &holder))),
                Some(None) => {
                    let Holder {
                        process,
                        start,
                        place,
                    } = &holder;
                    transaction.execute(
                        sql::HOLD,
                        params![id, process, start, place, token.cast_signed()],
                    )?;
                    // A row can be damaged; reading the events reports it.
                    let count = |row: &Row<'_>| Ok(integer(row, 0).unwrap_or(0));
                    let count = transaction.query_row(sql::COUNT_EVENTS, [id], count)?;
                    Ok(Ok(u64::try_from(count).unwrap_or(0)))
                }
            }
        })?;
        Ok(Lease::new(id, token, position))
    }

    fn append(&self, lease: &Lease, events: &[StampedEvent]) -> Result<(), SessionError> {
        let id = &*lease.session;
        let texts = events
            .iter()
            .map(|event| encode(event, id))
            .collect::<Result<Vec<_>, _>>()?;
        let expected = i64::try_from(lease.position()).unwrap_or(i64::MAX);
        let written = self.change(id, |transaction| {
            let progress = |row: &Row<'_>| {
                let token: Option<i64> = row.get(0)?;
                let ending: Option<Box<str>> = row.get(2)?;
                let ending = ending.and_then(|word| EndingKind::parse(&word));
                Ok((token, row.get::<_, i64>(1)?, ending))
            };
            let progress = transaction
                .query_row(sql::SELECT_PROGRESS, [id], progress)
                .optional()?;
            let Some((token, mut count, mut ending)) = progress else {
                return missing(transaction, id);
            };
            if token != Some(lease.token.cast_signed()) {
                return Ok(Err(SessionError::Lost { session: id.into() }));
            }
            let Some(last) = events.last() else {
                return Ok(Ok(()));
            };
            if count != expected {
                // An earlier attempt may have written them although it failed.
                return Ok(if is_stored(transaction, id, expected, &texts)? {
                    Ok(())
                } else {
                    Err(SessionError::Position {
                        session: id.into(),
                        expected: lease.position(),
                        found: u64::try_from(count).unwrap_or(0),
                    })
                });
            }
            for (event, text) in events.iter().zip(&texts) {
                insert(transaction, id, count, event.at, text)?;
                count = count.saturating_add(1);
                follow(&mut ending, &event.event);
                update_inbox(transaction, id, event)?;
            }
            let turn = next_turn(transaction)?;
            transaction.execute(
                sql::UPDATE_SESSION,
                params![id, last.at, count, ending.map(EndingKind::as_str), turn],
            )?;
            Ok(Ok(()))
        });
        if written.is_ok() {
            let count = u64::try_from(events.len()).unwrap_or(u64::MAX);
            lease.set_position(lease.position().saturating_add(count));
        }
        written
    }

    fn release(&self, lease: Lease) {
        let token = lease.token.cast_signed();
        let released = self.change(&lease.session, |transaction| {
            transaction.execute(sql::RELEASE, params![lease.session, token])?;
            Ok(Ok(()))
        });
        if released.is_err() {
            self.released
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(token);
        }
    }

    fn events(&self, id: &str) -> Result<Vec<StampedEvent>, SessionError> {
        let events = self.read(|connection| {
            // In one transaction, so that the count matches the events.
            let transaction = connection.unchecked_transaction()?;
            let count = transaction.query_row(sql::COUNT_EVENTS, [id], |row| row.get(0));
            match count.optional()? {
                None => missing(&transaction, id),
                Some(count) => read_events(&transaction, id, count),
            }
        })?;
        events.ok_or_else(|| ids::missing(id, Vec::new(), &[]))
    }

    fn list(&self, query: &SessionQuery) -> Result<Vec<SessionSummary>, SessionError> {
        let limit = bound(query.limit);
        let found = self.read(|connection| {
            let mut statement;
            let mut rows = if let Some(project) = &query.project {
                statement = connection.prepare(sql::LIST_PROJECT)?;
                statement.query(params![query.parent, limit, project])?
            } else {
                statement = connection.prepare(sql::LIST)?;
                statement.query(params![query.parent, limit])?
            };
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let live = self.living(row).is_some();
                found.extend(read_summary(row, live));
            }
            Ok(Ok(found))
        })?;
        Ok(found.unwrap_or_default())
    }

    fn count(&self, project: &str) -> Result<u64, SessionError> {
        let count = self.read(|connection| {
            let count = connection.query_row(sql::COUNT_PROJECT, [project], |row| row.get(0));
            count.map(Ok::<i64, _>)
        })?;
        Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
    }

    fn find(&self, prefix: &str) -> Result<Box<str>, SessionError> {
        let found = self.read(|connection| {
            let (starting, latest) = candidates(connection, prefix)?;
            Ok(ids::choose(prefix, starting, &latest))
        })?;
        found.ok_or_else(|| ids::missing(prefix, Vec::new(), &[]))
    }

    fn remove(&self, id: &str) -> Result<u64, SessionError> {
        self.change(id, |transaction| {
            let mut family: Vec<Box<str>> = Vec::new();
            let mut statement = transaction.prepare(sql::SELECT_FAMILY)?;
            let mut rows = statement.query([id])?;
            while let Some(row) = rows.next()? {
                let session: Box<str> = row.get(4)?;
                if let Some(holder) = self.living(row) {
                    return Ok(Err(in_use(&session, &holder)));
                }
                family.push(session);
            }
            if family.is_empty() {
                return missing(transaction, id);
            }
            for session in &family {
                transaction.execute(sql::DELETE_EVENTS, [session])?;
                transaction.execute(sql::DELETE_QUESTIONS, [session])?;
                transaction.execute(sql::DELETE_STOPS, [session])?;
                transaction.execute(sql::DELETE_SESSION, [session])?;
            }
            Ok(Ok(u64::try_from(family.len()).unwrap_or(u64::MAX)))
        })
    }

    fn request_stop(&self, id: &str) -> Result<(), SessionError> {
        self.change(id, |transaction| {
            let token = transaction.query_row(sql::SELECT_PROGRESS, [id], |row| row.get(0));
            let token: Option<Option<i64>> = token.optional()?;
            match token {
                None => missing(transaction, id),
                Some(token) => {
                    if let Some(token) = token {
                        transaction.execute(sql::INSERT_STOP, params![id, token])?;
                    }
                    Ok(Ok(()))
                }
            }
        })
    }

    fn is_stop_requested(&self, lease: &Lease) -> Result<bool, SessionError> {
        let token = lease.token.cast_signed();
        let found = self.read(|connection| {
            if !connection.query_row(sql::HAS_STOPS, [], |row| row.get(0))? {
                return Ok(Ok(false));
            }
            let row = params![lease.session, token];
            Ok(Ok(
                connection.query_row(sql::HAS_STOP, row, |row| row.get(0))?
            ))
        })?;
        Ok(found.unwrap_or(false))
    }

    fn questions(&self, query: &QuestionQuery) -> Result<Vec<OpenQuestion>, SessionError> {
        let found = self.read(|connection| {
            // In one transaction, so that sessions and questions match.
            let transaction = connection.unchecked_transaction()?;
            if !has_questions(&transaction)? {
                return Ok(Ok(Vec::new()));
            }
            let mut statement = transaction.prepare(sql::LIST_QUESTIONS)?;
            let mut rows = statement.query(params![query.project, bound(query.limit)])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.extend(read_question(&transaction, row)?.map(|stored| stored.asked));
            }
            Ok(Ok(found))
        })?;
        Ok(found.unwrap_or_default())
    }

    fn question(&self, id: &str) -> Result<StoredQuestion, SessionError> {
        let found = self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            if !has_questions(&transaction)? {
                return Ok(Err(inbox::missing(id, Vec::new(), &[])));
            }
            let (open, starting, latest) = question_candidates(&transaction, id)?;
            let found = match inbox::choose(id, &open, starting, &latest) {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            let stored = select_question(&transaction, &found)?;
            Ok(stored.ok_or_else(|| inbox::missing(id, Vec::new(), &[])))
        })?;
        found.ok_or_else(|| inbox::missing(id, Vec::new(), &[]))
    }

    fn answer(&self, id: &str, answer: &Answer) -> Result<AnswerOutcome, SessionError> {
        // Does not create a file only to find no question in it.
        let exists = self.read(|connection| Ok(Ok(has_questions(connection)?)))?;
        if exists != Some(true) {
            return Err(inbox::missing(id, Vec::new(), &[]));
        }
        self.write(|transaction| {
            let Some(stored) = select_question(transaction, id)? else {
                let (_, starting, latest) = question_candidates(transaction, id)?;
                return Ok(Err(inbox::missing(id, starting, &latest)));
            };
            let outcome = inbox::outcome(stored, answer.at);
            if outcome == AnswerOutcome::Stored {
                put_answer(transaction, id, answer, None)?;
            }
            Ok(Ok(outcome))
        })
    }
}

fn in_use(session: &str, holder: &Holder) -> SessionError {
    SessionError::InUse {
        session: session.into(),
        holder: holder.to_string().into(),
    }
}

/// Returns `true` if a session has exactly these events from a position on.
fn is_stored(
    transaction: &Transaction<'_>,
    session: &str,
    position: i64,
    texts: &[Vec<u8>],
) -> rusqlite::Result<bool> {
    let mut statement = transaction.prepare(sql::SELECT_FROM)?;
    let mut rows = statement.query(params![session, position, bound(texts.len())])?;
    for text in texts {
        let Some(row) = rows.next()? else {
            return Ok(false);
        };
        if row.get_ref(0)? != ValueRef::Text(text) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Applies an event to the inbox.
fn update_inbox(
    transaction: &Transaction<'_>,
    session: &str,
    event: &StampedEvent,
) -> rusqlite::Result<()> {
    match inbox::change(event) {
        None => {}
        Some(InboxChange::Ask(question)) => {
            let why = inbox::replaced(&question.id);
            transaction.execute(sql::DROP_CALL, params![session, question.call, why])?;
            // It was encoded as a part of the event before.
            let text = serde_json::to_string(question).unwrap_or_default();
            let row = params![question.id, session, question.call, event.at, text];
            transaction.execute(sql::INSERT_QUESTION, row)?;
        }
        Some(InboxChange::Answer(id, answer)) => {
            put_answer(transaction, id, &answer, Some(session))?;
        }
        Some(InboxChange::DropCall(call, why)) => {
            transaction.execute(sql::DROP_CALL, params![session, call, why])?;
        }
        Some(InboxChange::DropAll(why)) => {
            transaction.execute(sql::DROP_ALL, params![session, why])?;
        }
    }
    Ok(())
}

/// Stores an answer, unless there is one. `session` is the session that the question must be of, if
/// any.
fn put_answer(
    transaction: &Transaction<'_>,
    id: &str,
    answer: &Answer,
    session: Option<&str>,
) -> rusqlite::Result<()> {
    let Answer {
        answer,
        because,
        who,
        at,
    } = answer;
    // It was encoded as a part of the event before, or is a list of texts.
    let answer = match answer {
        RecordedAnswer::Text(_) => serde_json::to_string(answer).unwrap_or_default().into(),
        answer => Cow::Borrowed(answer.as_str()),
    };
    let row = params![id, answer, because, who, at, session];
    transaction.execute(sql::ANSWER_QUESTION, row)?;
    Ok(())
}

fn has_questions(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(sql::HAS_QUESTIONS, [], |row| row.get(0))
}

fn select_question(connection: &Connection, id: &str) -> rusqlite::Result<Option<StoredQuestion>> {
    let mut statement = connection.prepare(sql::SELECT_QUESTION)?;
    let mut rows = statement.query([id])?;
    match rows.next()? {
        Some(row) => read_question(connection, row),
        None => Ok(None),
    }
}

/// Reads an untrusted row. Returns `None` if the question cannot be decoded.
fn read_question(
    connection: &Connection,
    row: &Row<'_>,
) -> rusqlite::Result<Option<StoredQuestion>> {
    let question = text(row, 0).and_then(|text| serde_json::from_str(&text).ok());
    let (Some(question), Some(session)) = (question, text(row, 1)) else {
        return Ok(None);
    };
    let mut root = session.clone();
    for _ in 0..MAX_PARENTS {
        let parent = connection.query_row(sql::SELECT_PARENT, [&root], |row| row.get(0));
        match parent.optional()?.flatten() {
            Some(parent) => root = parent,
            None => break,
        }
    }
    let asked = OpenQuestion {
        question,
        session,
        root,
        project: text(row, 2).unwrap_or_default(),
        at: integer(row, 3).unwrap_or(0),
    };
    let read = |stored: Box<str>| {
        let word = RecordedAnswer::parse(&stored);
        word.or_else(|| serde_json::from_str(&stored).ok())
    };
    let answer = text(row, 4).and_then(read);
    let answer = answer.map(|answer| Answer {
        answer,
        because: text(row, 5).map(Into::into),
        who: text(row, 6).unwrap_or_default(),
        at: integer(row, 7).unwrap_or(0),
    });
    let state = inbox::state(answer, text(row, 8));
    Ok(Some(StoredQuestion { asked, state }))
}

/// Returns the ids of open questions and of all questions with a prefix, or the latest ids if there
/// are none.
fn question_candidates(connection: &Connection, prefix: &str) -> rusqlite::Result<(Ids, Ids, Ids)> {
    let prefix = ids::normal(prefix);
    let select = |query: &str| -> rusqlite::Result<Ids> {
        if prefix.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = connection.prepare(query)?;
        let rows = statement.query_map(params![prefix, bound(NEAR)], |row| row.get(0))?;
        rows.collect()
    };
    let open = select(sql::OPEN_QUESTIONS_STARTING)?;
    let starting = select(sql::QUESTIONS_STARTING)?;
    let mut latest = Vec::new();
    if starting.is_empty() {
        let mut statement = connection.prepare(sql::LATEST_QUESTIONS)?;
        let rows = statement.query_map([bound(LATEST)], |row| row.get(0))?;
        latest = rows.collect::<Result<_, _>>()?;
    }
    Ok((open, starting, latest))
}

fn insert(
    transaction: &Transaction<'_>,
    session: &str,
    number: i64,
    at: i64,
    text: &[u8],
) -> rusqlite::Result<()> {
    let sum = crc32fast::hash(text);
    // JSON is text, so the bytes are passed without a copy.
    let text = ValueRef::Text(text);
    let text = rusqlite::types::ToSqlOutput::Borrowed(text);
    transaction.execute(sql::INSERT_EVENT, params![session, number, at, text, sum])?;
    Ok(())
}

fn next_turn(transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
    let last: i64 = transaction.query_row(sql::LAST_TURN, [], |row| row.get(0))?;
    Ok(last.saturating_add(1))
}

fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Reads untrusted events. Fails unless all of them are intact.
fn read_events(connection: &Connection, id: &str, count: i64) -> Outcome<Vec<StampedEvent>> {
    let mut statement = connection.prepare(sql::SELECT_EVENTS)?;
    let mut rows = statement.query([id])?;
    let mut events = Vec::new();
    let unreadable = |number: usize, reason: Box<str>| SessionError::Unreadable {
        session: id.into(),
        number: u64::try_from(number).unwrap_or(u64::MAX),
        reason,
    };
    while let Some(row) = rows.next()? {
        let expected = events.len();
        let found = match row.get_ref(0)? {
            ValueRef::Integer(number) => usize::try_from(number).ok(),
            _ => None,
        };
        if found != Some(expected) {
            return Ok(Err(unreadable(expected, "missing".into())));
        }
        match decode(row.get_ref(1)?, row.get_ref(2)?) {
            Ok(event) => events.push(event),
            Err(reason) => return Ok(Err(unreadable(expected, reason))),
        }
    }
    if i64::try_from(events.len()).ok() != Some(count) {
        return Ok(Err(unreadable(events.len(), "missing".into())));
    }
    Ok(Ok(events))
}

fn decode(text: ValueRef<'_>, sum: ValueRef<'_>) -> Result<StampedEvent, Box<str>> {
    let ValueRef::Text(text) = text else {
        return Err("not text".into());
    };
    if text.len() > MAX_EVENT {
        return Err("too large".into());
    }
    if sum != ValueRef::Integer(crc32fast::hash(text).into()) {
        return Err("checksum mismatch".into());
    }
    serde_json::from_slice(text).map_err(|error| error.to_string().into())
}

/// Returns the error for an unknown session, with suggestions.
fn missing<T>(connection: &Connection, id: &str) -> Outcome<T> {
    let (starting, latest) = candidates(connection, id)?;
    Ok(Err(ids::missing(id, starting, &latest)))
}

/// Returns ids with a prefix, or the latest ids if there are none.
fn candidates(connection: &Connection, prefix: &str) -> rusqlite::Result<(Ids, Ids)> {
    let prefix = ids::normal(prefix);
    let mut starting = Vec::new();
    if !prefix.is_empty() {
        let mut statement = connection.prepare(sql::SELECT_STARTING)?;
        let rows = statement.query_map(params![prefix, bound(NEAR)], |row| row.get(0))?;
        starting = rows.collect::<Result<_, _>>()?;
    }
    let mut latest = Vec::new();
    if starting.is_empty() {
        let mut statement = connection.prepare(sql::SELECT_LATEST)?;
        let rows = statement.query_map([bound(LATEST)], |row| row.get(0))?;
        latest = rows.collect::<Result<_, _>>()?;
    }
    Ok((starting, latest))
}

/// Reads the holder of a session and its token. Returns `None` if a column is missing.
fn read_holder(row: &Row<'_>) -> Option<(Holder, i64)> {
    let process = u32::try_from(integer(row, 0)?).ok()?;
    let holder = Holder {
        process,
        start: integer(row, 1)?,
        place: text(row, 2)?,
    };
    Some((holder, integer(row, 3)?))
}

/// Reads an untrusted row. Without an id it is ignored; an invalid number is 0.
fn read_summary(row: &Row<'_>, live: bool) -> Option<SessionSummary> {
    Some(SessionSummary {
        id: text(row, 4)?,
        title: text(row, 5).unwrap_or_default(),
        project: text(row, 6).unwrap_or_default(),
        model: text(row, 7).unwrap_or_default(),
        parent: text(row, 8),
        started: integer(row, 9).unwrap_or(0),
        updated: integer(row, 10).unwrap_or(0),
        events: integer(row, 11)
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or(0),
        ending: text(row, 12).and_then(|word| EndingKind::parse(&word)),
        live,
    })
}

fn text(row: &Row<'_>, index: usize) -> Option<Box<str>> {
    match row.get_ref(index) {
        Ok(ValueRef::Text(bytes)) => str::from_utf8(bytes).ok().map(Box::from),
        _ => None,
    }
}

fn integer(row: &Row<'_>, index: usize) -> Option<i64> {
    match row.get_ref(index) {
        Ok(ValueRef::Integer(number)) => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make() -> (SqliteSessions, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (
            SqliteSessions::new(folder.path().join("state/prowess.db")),
            folder,
        )
    }

    prowess_test::session_conformance!(make());
}
