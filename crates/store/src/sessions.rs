//! Sessions in a file, with SQLite.
//!
//! A session is one row of `sessions`, which says all that a list needs and who has it, and a row
//! of `events` for each event. Both change in one transaction, which is on the disk when it
//! returns.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_agent::{EndingKind, Stamped};
use prowess_traits::{Lease, MAX_EVENT, SessionError, SessionQuery, SessionStore, SessionSummary};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::database::{Database, Fault, Tables};
use crate::holder::Holder;
use crate::ids::{self, LATEST, NEAR};
use crate::memory_sessions::{encode, follow, summarise};
use crate::sql;

/// How long a lock of somebody else is waited for. A session that cannot be written must stop, so
/// it is worth more patience than a use.
pub const PATIENCE: Duration = Duration::from_secs(10);
const TABLES: Tables = Tables {
    since: 2,
    sync: sql::SYNC_FULL,
};

/// Remembers sessions in a SQLite file; the one with the use of skills will do.
///
/// Where [`append`](SessionStore::append) fails with [`SessionError::Busy`], nothing was written
/// and it can be tried again. After any other failure of the disk it is not known whether the
/// events are there: release the session, take it again and read.
#[derive(Debug)]
pub struct SqliteSessions {
    database: Database,
    /// Leases that were given back while the file could not be written.
    given_up: Mutex<BTreeSet<i64>>,
}

/// What happened in a transaction. An error of ours leaves the file as it is.
type Outcome<T> = rusqlite::Result<Result<T, SessionError>>;

type Ids = Vec<Box<str>>;

impl SqliteSessions {
    /// Names the file. Nothing is opened or created yet.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let database = Database::new(path.as_ref(), PATIENCE, TABLES);
        Self {
            database,
            given_up: Mutex::default(),
        }
    }

    /// Sets how long a lock of somebody else is waited for, at most an hour.
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

    /// Runs one transaction that writes. What fails with an error of ours must not have written.
    fn write<T>(&self, work: impl Fn(&Transaction<'_>) -> Outcome<T>) -> Result<T, SessionError> {
        self.database
            .write(work)
            .map_err(|fault| self.error(fault))?
    }

    /// Like [`write`](Self::write), for a session that must be there: creates no file.
    fn change<T>(
        &self,
        id: &str,
        work: impl Fn(&Transaction<'_>) -> Outcome<T>,
    ) -> Result<T, SessionError> {
        let exists = self
            .database
            .read(|_| Ok(()))
            .map_err(|fault| self.error(fault))?;
        match exists {
            Some(()) => self.write(work),
            None => Err(ids::missing(id, Vec::new(), &[])),
        }
    }

    /// Runs something that reads; nothing where there is nothing to read.
    fn read<T>(&self, work: impl Fn(&Connection) -> Outcome<T>) -> Result<Option<T>, SessionError> {
        self.database
            .read(work)
            .map_err(|fault| self.error(fault))?
            .transpose()
    }

    fn error(&self, fault: Fault) -> SessionError {
        let store = self.database.name();
        match fault {
            Fault::Busy => SessionError::Busy { store },
            Fault::ReadOnly => SessionError::Unwritable {
                store,
                reason: "it may only be read".into(),
            },
            Fault::Full => SessionError::Unwritable {
                store,
                reason: "no room is left".into(),
            },
            Fault::NotAFile => SessionError::Unusable {
                store,
                reason: "it is not a regular file".into(),
            },
            Fault::Damaged { reason } => SessionError::Unusable {
                store,
                reason: format!("it is damaged: {reason}").into(),
            },
            Fault::Foreign => SessionError::Unusable {
                store,
                reason: "it is the database of another program".into(),
            },
            Fault::Newer { found, known } => SessionError::Unusable {
                store,
                reason: format!("it has the format {found}; this version knows up to {known}")
                    .into(),
            },
            Fault::Unavailable { source } => SessionError::Failed { store, source },
        }
    }

    /// Returns who has a session, if that process lives and did not give it back.
    fn living(&self, row: &Row<'_>) -> Option<Holder> {
        let (holder, token) = read_holder(row)?;
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        (!given_up.contains(&token) && holder.lives()).then_some(holder)
    }
}

impl SessionStore for SqliteSessions {
    fn create(&self, first: &Stamped) -> Result<Lease, SessionError> {
        let text = encode(first, "new")?;
        let holder = Holder::here();
        let token = ids::random();
        let session = self.write(|transaction| {
            let taken = |id: &str| transaction.query_row(sql::HAS_SESSION, [id], |row| row.get(0));
            let summary = summarise(ids::new_id(taken)?, first);
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

    fn append(&self, lease: &Lease, events: &[Stamped]) -> Result<(), SessionError> {
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
            transaction.execute(sql::LET_GO, params![lease.session, token])?;
            Ok(Ok(()))
        });
        if released.is_err() {
            self.given_up
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(token);
        }
    }

    fn events(&self, id: &str) -> Result<Vec<Stamped>, SessionError> {
        let events = self.read(|connection| {
            // In one transaction, so that the number fits the events.
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

    fn find(&self, beginning: &str) -> Result<Box<str>, SessionError> {
        let found = self.read(|connection| {
            let (starting, latest) = candidates(connection, beginning)?;
            Ok(ids::choose(beginning, starting, &latest))
        })?;
        found.ok_or_else(|| ids::missing(beginning, Vec::new(), &[]))
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
    // JSON is text; nothing is copied to say so.
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

/// Reads events that anybody may have written. Either all are as they were written, or it fails.
fn read_events(connection: &Connection, id: &str, count: i64) -> Outcome<Vec<Stamped>> {
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
            return Ok(Err(unreadable(expected, "it is missing".into())));
        }
        match decode(row.get_ref(1)?, row.get_ref(2)?) {
            Ok(event) => events.push(event),
            Err(reason) => return Ok(Err(unreadable(expected, reason))),
        }
    }
    if i64::try_from(events.len()).ok() != Some(count) {
        return Ok(Err(unreadable(events.len(), "it is missing".into())));
    }
    Ok(Ok(events))
}

fn decode(text: ValueRef<'_>, sum: ValueRef<'_>) -> Result<Stamped, Box<str>> {
    let ValueRef::Text(text) = text else {
        return Err("it is no text".into());
    };
    if text.len() > MAX_EVENT {
        return Err("it is too large".into());
    }
    if sum != ValueRef::Integer(crc32fast::hash(text).into()) {
        return Err("it is not what was written".into());
    }
    serde_json::from_slice(text).map_err(|error| error.to_string().into())
}

/// Says that there is no such session, and which there are.
fn missing<T>(connection: &Connection, id: &str) -> Outcome<T> {
    let (starting, latest) = candidates(connection, id)?;
    Ok(Err(ids::missing(id, starting, &latest)))
}

/// Returns ids that begin so, and where there are none, the latest ones.
fn candidates(connection: &Connection, beginning: &str) -> rusqlite::Result<(Ids, Ids)> {
    let beginning = ids::normal(beginning);
    let mut starting = Vec::new();
    if !beginning.is_empty() {
        let mut statement = connection.prepare(sql::SELECT_STARTING)?;
        let rows = statement.query_map(params![beginning, bound(NEAR)], |row| row.get(0))?;
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

/// Reads who has a session, and the token. What is not all there is nobody.
fn read_holder(row: &Row<'_>) -> Option<(Holder, i64)> {
    let process = u32::try_from(integer(row, 0)?).ok()?;
    let holder = Holder {
        process,
        start: integer(row, 1)?,
        place: text(row, 2)?,
    };
    Some((holder, integer(row, 3)?))
}

/// Reads a row that anybody may have written: what has no id is none, and what is no number is
/// zero.
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
