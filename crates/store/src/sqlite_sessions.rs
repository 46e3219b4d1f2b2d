//! Sessions in a SQLite file.
//!
//! A session is one row of `sessions`, with everything that a list needs and its holder, and one
//! row of `events` for each event. Both change in one transaction, which is on disk when it
//! returns.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_agent::{EndingKind, StampedEvent};
use prowess_traits::{Lease, MAX_EVENT, SessionError, SessionQuery, SessionStore, SessionSummary};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::database::{Database, DatabaseError, Tables};
use crate::ids::{self, LATEST, NEAR};
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
/// [`SessionError::Unwritable`], nothing was written and the call can be retried. After another
/// error of the file it is unknown whether the events were written: release the session, take it
/// again and read it.
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
        Ok(Lease { session, token })
    }

    fn take(&self, id: &str) -> Result<Lease, SessionError> {
        let holder = Holder::here();
        let token = ids::random();
        self.change(id, |transaction| {
            let held = |row: &Row<'_>| Ok(self.living(row));
            match transaction
                .query_row(sql::SELECT_HOLDER, [id], held)
                .optional()?
            {
                None => missing(transaction, id),
                Some(Some(Holder { process, .. })) => Ok(Err(SessionError::InUse {
                    session: id.into(),
                    process,
                })),
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
                    Ok(Ok(()))
                }
            }
        })?;
        Ok(Lease {
            session: id.into(),
            token,
        })
    }

    fn append(&self, lease: &Lease, events: &[StampedEvent]) -> Result<(), SessionError> {
        let id = &*lease.session;
        let texts = events
            .iter()
            .map(|event| encode(event, id))
            .collect::<Result<Vec<_>, _>>()?;
        self.change(id, |transaction| {
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
            for (event, text) in events.iter().zip(&texts) {
                insert(transaction, id, count, event.at, text)?;
                count = count.saturating_add(1);
                follow(&mut ending, &event.event);
            }
            let turn = next_turn(transaction)?;
            transaction.execute(
                sql::UPDATE_SESSION,
                params![id, last.at, count, ending.map(EndingKind::as_str), turn],
            )?;
            Ok(Ok(()))
        })
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
                if let Some(Holder { process, .. }) = self.living(row) {
                    return Ok(Err(SessionError::InUse { session, process }));
                }
                family.push(session);
            }
            if family.is_empty() {
                return missing(transaction, id);
            }
            for session in &family {
                transaction.execute(sql::DELETE_EVENTS, [session])?;
                transaction.execute(sql::DELETE_SESSION, [session])?;
            }
            Ok(Ok(u64::try_from(family.len()).unwrap_or(u64::MAX)))
        })
    }
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
