//! Usage in a file, with SQLite.
//!
//! Nothing is created before the first write. A file that cannot be read as ours is left as it is.
//! Whoever waits for a lock waits for a bounded time.

use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use prowess_catalog::rank::{Outcomes, Usage};
use prowess_ports::usage::{MAX_PROJECT, MAX_ROWS};
use prowess_ports::{Forget, Summary, UsageError, UsageQuery, UsageRow, UsageStore, Use, Whose};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Transaction, TransactionBehavior, params};
use rustix::fs::{Access, access};

use crate::{memory, sql};

/// How long a lock of somebody else is waited for. A write takes less than a millisecond, and a
/// person may be waiting for the skill.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest that anybody can be made to wait.
const MAX_BUSY_TIMEOUT: Duration = Duration::from_hours(1);
/// How long to rest where SQLite says "busy" without having waited.
const REST: Duration = Duration::from_millis(5);
/// The newest format that is known.
const VERSION: usize = sql::MIGRATIONS.len();

/// Remembers the use of skills in a SQLite file.
#[derive(Debug)]
pub struct SqliteUsage {
    path: PathBuf,
    busy_timeout: Duration,
    max_rows: usize,
    open: Mutex<Option<Open>>,
}

/// An open file.
#[derive(Debug)]
struct Open {
    connection: Connection,
    file: FileId,
    /// Whether it may be written and has the newest format.
    ready: bool,
    /// Whether there is nothing to read.
    blank: bool,
    /// Whether it was opened as a file that nobody changes.
    frozen: bool,
}

/// Which file it is, whatever its name: device and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId(u64, u64);

/// What a file is, by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// An empty database.
    Blank,
    /// Ours, in this format.
    Ours(usize),
}

impl SqliteUsage {
    /// Names the file. Nothing is opened or created yet.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        // Absolute, so that SQLite never takes it for `:memory:` or an address.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { path, busy_timeout: BUSY_TIMEOUT, max_rows: MAX_ROWS, open: Mutex::default() }
    }

    /// Sets how long a lock of somebody else is waited for, at most an hour.
    #[must_use]
    pub fn with_busy_timeout(self, busy_timeout: Duration) -> Self {
        Self { busy_timeout: busy_timeout.min(MAX_BUSY_TIMEOUT), ..self }
    }

    #[cfg(test)]
    fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs one transaction that writes.
    fn write<T>(
        &self,
        work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, UsageError> {
        // Before waiting for the other threads: together they wait no longer than one alone.
        let deadline = Instant::now() + self.busy_timeout;
        let mut slot = self.lock();
        self.drop_if_replaced(&mut slot);
        let result = self.ready(&mut slot, deadline).and_then(|open| {
            self.retry(deadline, || {
                let connection = &mut open.connection;
                connection.busy_timeout(remaining(deadline))?;
                // Immediate: a transaction that reads first and then wants to write fails at once
                // when somebody else wrote in between, however long it would wait.
                let transaction =
                    connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            })
        });
        if result.as_ref().is_err_and(|error| !matches!(error, UsageError::Busy { .. })) {
            *slot = None;
        }
        result
    }

    /// Runs something that reads; nothing where there is nothing to read.
    fn read<T>(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, UsageError> {
        let deadline = Instant::now() + self.busy_timeout;
        let mut slot = self.lock();
        self.drop_if_replaced(&mut slot);
        // Somebody else may have filled what was blank.
        if slot.as_ref().is_some_and(|open| open.blank) {
            *slot = None;
        }
        if slot.is_none() {
            *slot = self.open(deadline, true)?;
        }
        let Some(open) = slot.as_mut().filter(|open| !open.blank) else {
            return Ok(None);
        };
        let result = self.retry(deadline, || {
            open.connection.busy_timeout(remaining(deadline))?;
            work(&open.connection)
        });
        let failed = result.as_ref().is_err_and(|error| !matches!(error, UsageError::Busy { .. }));
        if failed || open.frozen {
            *slot = None;
        }
        result.map(Some)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        // An unfinished transaction was rolled back when it was dropped.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of a file that has been removed or replaced: what is written to it would be lost.
    fn drop_if_replaced(&self, slot: &mut Option<Open>) {
        let Some(open) = slot else { return };
        let same = fs::metadata(&self.path).is_ok_and(|found| FileId::of(&found) == open.file);
        if !same {
            // On closing, SQLite would tidy up the log beside it, which may be the new file's.
            let _ = open.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            *slot = None;
        }
    }

    /// Opens the file for writing, in the newest format; creates it if need be.
    fn ready<'a>(
        &self,
        slot: &'a mut Option<Open>,
        deadline: Instant,
    ) -> Result<&'a mut Open, UsageError> {
        if slot.is_none() {
            self.create()?;
            *slot = self.open(deadline, false)?;
        }
        // Nothing only if somebody removed the file between two lines.
        let missing = || self.unavailable(io::Error::from(ErrorKind::NotFound));
        let open = slot.as_mut().ok_or_else(missing)?;
        if !open.ready {
            self.migrate(open, deadline)?;
            open.ready = true;
            open.blank = false;
        }
        Ok(open)
    }

    /// Creates the file, readable for its owner only, unless there is something. SQLite gives the
    /// files beside it the same mode.
    fn create(&self) -> Result<(), UsageError> {
        if fs::metadata(&self.path).is_ok() {
            return Ok(());
        }
        let Some(folder) = self.path.parent() else {
            return Err(UsageError::NotAFile { store: self.name() });
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder).map_err(|error| self.io(error))?;
        // Under another name first, and closed: closing a file ends all locks that this process has
        // on it, and another connection may have some as soon as the file has its name.
        let file = tempfile::Builder::new().prefix(".prowess-").tempfile_in(folder);
        let file = file.map_err(|error| self.io(error))?.into_temp_path();
        match file.persist_noclobber(&self.path) {
            Ok(()) => Ok(()),
            Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(failed) => Err(self.io(failed.error)),
        }
    }

    /// Opens the file if there is one, and looks whether it is ours.
    fn open(&self, deadline: Instant, to_read: bool) -> Result<Option<Open>, UsageError> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unavailable(error)),
        };
        if !found.is_file() {
            return Err(UsageError::NotAFile { store: self.name() });
        }
        // SQLite would take it for an empty one, and write over it.
        if found.len() == 1 {
            return Err(self.damaged("file is not a database"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let looked = self.connect(&self.path, flags, deadline).and_then(|connection| {
            let standing = self.standing(&connection, deadline)?;
            Ok((connection, standing))
        });
        let (frozen, (connection, standing)) = match looked {
            Err(UsageError::Unavailable { .. } | UsageError::ReadOnly { .. })
                if self.is_write_protected() =>
            {
                if !to_read {
                    return Err(UsageError::ReadOnly { store: self.name() });
                }
                (true, self.open_frozen(deadline)?)
            }
            other => (false, other?),
        };
        let blank = matches!(standing, Standing::Blank | Standing::Ours(0));
        Ok(Some(Open { connection, file: FileId::of(&found), ready: false, blank, frozen }))
    }

    fn is_write_protected(&self) -> bool {
        let folder = self.path.parent().unwrap_or(&self.path);
        [folder, &self.path].iter().any(|path| access(*path, Access::WRITE_OK).is_err())
    }

    /// Reads a file in a folder where nothing can be created, not even the files that SQLite needs
    /// to read: nobody who may not write there writes, so the file stays as it is. If a log lies
    /// beside it, somebody does, and the file alone is not the whole truth.
    fn open_frozen(&self, deadline: Instant) -> Result<(Connection, Standing), UsageError> {
        let path = fs::canonicalize(&self.path).map_err(|error| self.unavailable(error))?;
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            return Err(UsageError::ReadOnly { store: self.name() });
        }
        let mut address = String::from("file:");
        for byte in path.as_os_str().as_bytes() {
            match byte {
                b'/' | b'-' | b'.' | b'_' => address.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => address.push(char::from(*byte)),
                byte => address.push_str(&format!("%{byte:02X}")),
            }
        }
        address.push_str("?immutable=1");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let connection = self.connect(Path::new(&address), flags, deadline)?;
        let standing = self.standing(&connection, deadline)?;
        Ok((connection, standing))
    }

    fn connect(
        &self,
        path: &Path,
        flags: OpenFlags,
        deadline: Instant,
    ) -> Result<Connection, UsageError> {
        let open = || {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(remaining(deadline))?;
            // Nothing that a file brings along is run.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            Ok(connection)
        };
        open().map_err(|error| self.error(error))
    }

    /// Looks at the header of the file.
    fn standing(&self, connection: &Connection, deadline: Instant) -> Result<Standing, UsageError> {
        let (application, version, objects): (i64, i64, i64) = self.retry(deadline, || {
            connection
                .query_row(sql::STANDING, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        })?;
        if application == sql::APPLICATION_ID {
            return match usize::try_from(version) {
                Ok(version) if version <= VERSION => Ok(Standing::Ours(version)),
                Ok(_) => Err(UsageError::Newer {
                    store: self.name(),
                    found: version,
                    known: i64::try_from(VERSION).unwrap_or(i64::MAX),
                }),
                Err(_) => Err(self.damaged("its version is negative")),
            };
        }
        if (application, version, objects) == (0, 0, 0) {
            return Ok(Standing::Blank);
        }
        Err(UsageError::Foreign { store: self.name() })
    }

    /// Brings a file to the newest format.
    fn migrate(&self, open: &mut Open, deadline: Instant) -> Result<(), UsageError> {
        let connection = &open.connection;
        self.retry(deadline, || connection.execute_batch(sql::SYNC_NORMAL))?;
        let standing = self.standing(connection, deadline)?;
        if standing == Standing::Ours(VERSION) {
            return Ok(());
        }
        // It answers with a row; where the file system cannot do it, with the mode that stays.
        self.retry(deadline, || connection.query_row(sql::USE_WAL, [], |_| Ok(())))?;
        let transaction = self.retry(deadline, || {
            Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        })?;
        // Somebody else may have been faster.
        let done = match self.standing(&transaction, deadline)? {
            Standing::Blank => 0,
            Standing::Ours(version) => version,
        };
        let steps = || {
            for step in sql::MIGRATIONS.iter().skip(done) {
                transaction.execute_batch(step)?;
            }
            transaction.execute_batch(sql::WRITE_APPLICATION_ID)?;
            transaction.execute_batch(&format!("{}{VERSION}", sql::WRITE_VERSION))
        };
        steps().map_err(|error| self.error(error))?;
        transaction.commit().map_err(|error| self.error(error))
    }

    /// Tries again while somebody else is busy, until the deadline. SQLite waits by itself, except
    /// where it fears a deadlock: when the log is switched on, and after a crash.
    fn retry<T>(
        &self,
        deadline: Instant,
        mut work: impl FnMut() -> rusqlite::Result<T>,
    ) -> Result<T, UsageError> {
        loop {
            match work() {
                Ok(value) => return Ok(value),
                Err(error) => {
                    let error = self.error(error);
                    let busy = matches!(error, UsageError::Busy { .. });
                    if !busy || Instant::now() + REST >= deadline {
                        return Err(error);
                    }
                    thread::sleep(REST);
                }
            }
        }
    }

    fn name(&self) -> Box<str> {
        self.path.to_string_lossy().into()
    }

    fn damaged(&self, reason: impl Into<Box<str>>) -> UsageError {
        UsageError::Damaged { store: self.name(), reason: reason.into() }
    }

    fn unavailable(&self, source: impl std::error::Error + Send + Sync + 'static) -> UsageError {
        UsageError::Unavailable { store: self.name(), source: Box::new(source) }
    }

    fn io(&self, error: io::Error) -> UsageError {
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                UsageError::ReadOnly { store: self.name() }
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                UsageError::Full { store: self.name() }
            }
            _ => self.unavailable(error),
        }
    }

    fn error(&self, error: rusqlite::Error) -> UsageError {
        let store = self.name();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => UsageError::Busy { store },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                UsageError::ReadOnly { store }
            }
            Some(ErrorCode::DiskFull) => UsageError::Full { store },
            // Our statements are right for our tables: if one is refused, the tables are wrong.
            Some(
                ErrorCode::NotADatabase
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown,
            ) => self.damaged(error.to_string()),
            _ => match error {
                rusqlite::Error::SqlInputError { msg, .. } => self.damaged(msg),
                error => self.unavailable(error),
            },
        }
    }
}

impl UsageStore for SqliteUsage {
    fn record(&self, used: &Use) -> Result<(), UsageError> {
        used.check()?;
        self.write(|transaction| {
            let row = if let Some(mut row) = find(transaction, used)? {
                row.agent_type = used.agent_type.clone();
                row.usage.add(used.at, used.outcome);
                row
            } else {
                make_room(transaction, self.max_rows)?;
                memory::first_row(used)
            };
            put(transaction, &row)
        })
    }

    fn settle(&self, used: &Use) -> Result<(), UsageError> {
        used.check()?;
        let Some(outcome) = used.outcome else { return Ok(()) };
        // Where there is no file, there is nothing to settle, and no reason to create one.
        if self.read(|_| Ok(()))?.is_none() {
            return Ok(());
        }
        self.write(|transaction| {
            let Some(mut row) = find(transaction, used)? else { return Ok(()) };
            row.usage.outcomes.add(outcome);
            put(transaction, &row)
        })
    }

    fn rows(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError> {
        let rows = self.read(|connection| {
            let mut rows = Vec::new();
            select(connection, query, |row| rows.push(row))?;
            Ok(rows)
        })?;
        Ok(rows.unwrap_or_default())
    }

    fn summary(&self, project: Option<&str>, limit: usize) -> Result<Summary, UsageError> {
        let project = project.map(Box::from);
        let query = UsageQuery { project, team: None, whose: Whose::Everyone, limit: MAX_ROWS };
        Ok(Summary::of(self.rows(&query)?, limit))
    }

    fn forget(&self, which: &Forget) -> Result<u64, UsageError> {
        if self.read(|_| Ok(()))?.is_none() {
            return Ok(0);
        }
        let Forget { project, team, agent, skill, before } = which;
        let removed = self.write(|transaction| {
            transaction.execute(sql::DELETE, params![project, team, agent, skill, before])
        })?;
        Ok(u64::try_from(removed).unwrap_or(u64::MAX))
    }
}

fn remaining(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

impl FileId {
    fn of(found: &Metadata) -> Self {
        Self(found.dev(), found.ino())
    }
}

fn find(transaction: &Transaction<'_>, used: &Use) -> rusqlite::Result<Option<UsageRow>> {
    let mut statement = transaction.prepare(sql::SELECT_ROW)?;
    let mut rows = statement.query(params![used.project, used.team, used.agent, used.skill])?;
    Ok(rows.next()?.and_then(read_row))
}

fn put(transaction: &Transaction<'_>, row: &UsageRow) -> rusqlite::Result<()> {
    let UsageRow { project, team, agent, agent_type, usage } = row;
    let Usage { skill, count, last_used, score, outcomes } = usage;
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let Outcomes { done, failed, refused } = *outcomes;
    transaction.execute(
        sql::UPSERT,
        params![
            project,
            team,
            agent,
            agent_type,
            skill,
            number(*count),
            last_used,
            score,
            number(done),
            number(failed),
            number(refused),
        ],
    )?;
    Ok(())
}

fn make_room(transaction: &Transaction<'_>, max_rows: usize) -> rusqlite::Result<()> {
    let rows: i64 = transaction.query_row(sql::COUNT_ROWS, [], |row| row.get(0))?;
    let most = i64::try_from(max_rows).unwrap_or(i64::MAX);
    let surplus = rows.saturating_sub(most).saturating_add(1);
    if surplus > 0 {
        transaction.execute(sql::DELETE_OLDEST, [surplus])?;
    }
    Ok(())
}

fn select(
    connection: &Connection,
    query: &UsageQuery,
    mut found: impl FnMut(UsageRow),
) -> rusqlite::Result<()> {
    let (agent, agent_type) = match &query.whose {
        Whose::Everyone => (None, None),
        Whose::Agent(agent) => (Some(agent), None),
        Whose::Type(agent_type) => (None, Some(agent_type)),
    };
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare(sql::SELECT_ROWS)?;
    let mut rows = statement.query(params![query.project, query.team, agent, agent_type, limit])?;
    while let Some(row) = rows.next()? {
        if let Some(row) = read_row(row) {
            found(row);
        }
    }
    Ok(())
}

/// Reads a row that anybody may have written: what is not a name is no row, and what is not a
/// number is none.
fn read_row(row: &Row<'_>) -> Option<UsageRow> {
    let text = |index: usize| match row.get_ref(index) {
        Ok(ValueRef::Text(bytes)) if bytes.len() <= MAX_PROJECT * 4 => {
            str::from_utf8(bytes).ok().map(Box::from)
        }
        _ => None,
    };
    let number = |index: usize| match row.get_ref(index) {
        Ok(ValueRef::Integer(number)) => number,
        _ => 0,
    };
    let count = |index: usize| u64::try_from(number(index)).unwrap_or(0);
    let score = match row.get_ref(7) {
        Ok(ValueRef::Real(score)) => score,
        // What is whole may be stored as an integer; `Usage` puts nonsense right.
        _ => 0.0,
    };
    Some(UsageRow {
        project: text(0)?,
        team: text(1)?,
        agent: text(2)?,
        agent_type: text(3).unwrap_or_default(),
        usage: Usage {
            skill: text(4)?,
            count: count(5),
            last_used: number(6),
            score,
            outcomes: Outcomes { done: count(8), failed: count(9), refused: count(10) },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make() -> (SqliteUsage, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (SqliteUsage::new(folder.path().join("state/usage.db")), folder)
    }

    prowess_test::usage_conformance!(make());

    #[test]
    fn the_oldest_row_makes_room() {
        let (store, _folder) = make();
        let store = store.with_max_rows(2);
        prowess_test::conformance::usage::the_oldest_of_two_makes_room(&store);
    }
}
