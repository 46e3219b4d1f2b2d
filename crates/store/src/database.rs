//! A SQLite file that several stores share, each with its own tables.
//!
//! The file is created by the first write. A file that does not belong to this program is left
//! unchanged. Waits for locks are bounded.

use std::error::Error;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::{Access, access};

use crate::{schema, sql};

/// The maximum time to wait for a lock.
const MAX_BUSY_TIMEOUT: Duration = Duration::from_hours(1);
/// The pause before a retry if SQLite reports a lock without having waited for it.
const RETRY_DELAY: Duration = Duration::from_millis(5);
/// The newest supported version.
const VERSION: usize = schema::MIGRATIONS.len();

/// A file, as used by one store.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    busy_timeout: Duration,
    tables: Tables,
    open: Mutex<Option<Open>>,
}

/// The requirements of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables {
    /// The first version with its tables. An older file has nothing to read.
    pub(crate) since: usize,
    /// The statements that set the durability.
    pub(crate) sync: &'static str,
}

/// The reason why a file cannot be used.
#[derive(Debug)]
pub(crate) enum DatabaseError {
    /// Another process held a lock for too long.
    Busy,
    /// The file is read-only.
    ReadOnly,
    /// The disk is full.
    Full,
    /// The path is not a regular file.
    NotAFile,
    /// The file is not a database, or is damaged.
    Damaged { reason: Box<str> },
    /// The file is the database of another program.
    Foreign,
    /// The file was written by a newer version.
    Newer { found: i64, known: i64 },
    /// Another error.
    Unavailable {
        source: Box<dyn Error + Send + Sync>,
    },
}

/// An open file.
#[derive(Debug)]
struct Open {
    connection: Connection,
    file: FileId,
    /// `true` if it can be written and has the newest version.
    ready: bool,
    /// `true` if there is nothing to read.
    blank: bool,
    /// `true` if it was opened as immutable.
    frozen: bool,
}

/// The device and inode number of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId(u64, u64);

/// The identity of a file according to its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// An empty database.
    Blank,
    /// A file of this program, with its version.
    Ours(usize),
}

impl Database {
    /// Creates a database. The file is not opened or created yet.
    pub(crate) fn new(path: &Path, busy_timeout: Duration, tables: Tables) -> Self {
        // Absolute, so that SQLite does not read it as `:memory:` or a URI.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self {
            path,
            busy_timeout,
            tables,
            open: Mutex::default(),
        }
    }

    pub(crate) fn with_busy_timeout(self, busy_timeout: Duration) -> Self {
        Self {
            busy_timeout: busy_timeout.min(MAX_BUSY_TIMEOUT),
            ..self
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path for messages.
    pub(crate) fn name(&self) -> Box<str> {
        self.path.to_string_lossy().into()
    }

    /// Runs a write transaction.
    pub(crate) fn write<T>(
        &self,
        work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        // Set before waiting for other threads, so that the total wait is bounded.
        let deadline = Instant::now() + self.busy_timeout;
        let mut slot = self.lock();
        self.drop_if_replaced(&mut slot);
        let result = self.ready(&mut slot, deadline).and_then(|open| {
            retry(deadline, || {
                let connection = &mut open.connection;
                connection.busy_timeout(remaining(deadline))?;
                // Immediate: a transaction that reads first and writes later fails at once if
                // another process wrote in between, whatever the timeout.
                let transaction =
                    connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            })
        });
        if result
            .as_ref()
            .is_err_and(|error| !matches!(error, DatabaseError::Busy))
        {
            *slot = None;
        }
        result
    }

    /// Runs a read. Returns `None` if there is nothing to read.
    pub(crate) fn read<T>(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, DatabaseError> {
        let deadline = Instant::now() + self.busy_timeout;
        let mut slot = self.lock();
        self.drop_if_replaced(&mut slot);
        // Another process may have filled the blank file.
        if slot.as_ref().is_some_and(|open| open.blank) {
            *slot = None;
        }
        if slot.is_none() {
            *slot = self.open(deadline, true)?;
        }
        let Some(open) = slot.as_mut().filter(|open| !open.blank) else {
            return Ok(None);
        };
        let result = retry(deadline, || {
            open.connection.busy_timeout(remaining(deadline))?;
            work(&open.connection)
        });
        let failed = result
            .as_ref()
            .is_err_and(|error| !matches!(error, DatabaseError::Busy));
        if failed || open.frozen {
            *slot = None;
        }
        result.map(Some)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        // An unfinished transaction was rolled back when it was dropped.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes a file that was removed or replaced: writes to it would be lost.
    fn drop_if_replaced(&self, slot: &mut Option<Open>) {
        let Some(open) = slot else { return };
        let same = fs::metadata(&self.path).is_ok_and(|found| FileId::of(&found) == open.file);
        if !same {
            // On close, SQLite would check-point the log, which may belong to the new file.
            let _ = open
                .connection
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            *slot = None;
        }
    }

    /// Opens the file for writing, with the newest version. Creates it if necessary.
    fn ready<'a>(
        &self,
        slot: &'a mut Option<Open>,
        deadline: Instant,
    ) -> Result<&'a mut Open, DatabaseError> {
        if slot.is_none() {
            self.create()?;
            *slot = self.open(deadline, false)?;
        }
        // `None` only if the file was removed in between.
        let missing = || unavailable(io::Error::from(ErrorKind::NotFound));
        let open = slot.as_mut().ok_or_else(missing)?;
        if !open.ready {
            self.migrate(open, deadline)?;
            open.ready = true;
            open.blank = false;
        }
        Ok(open)
    }

    /// Creates the file, readable only by its owner, unless the path exists. SQLite gives the files
    /// next to it the same mode.
    fn create(&self) -> Result<(), DatabaseError> {
        if fs::metadata(&self.path).is_ok() {
            return Ok(());
        }
        let Some(folder) = self.path.parent() else {
            return Err(DatabaseError::NotAFile);
        };
        let missing = |folder: &&Path| !folder.exists();
        let parents: Vec<&Path> = folder
            .ancestors()
            .take_while(missing)
            .filter_map(Path::parent)
            .collect();
        let mut builder = DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(unwritable)?;
        // Created under another name and closed: closing a file drops all locks of this process on
        // it, and other connections can lock it as soon as it has its final name.
        let file = tempfile::Builder::new()
            .prefix(".prowess-")
            .tempfile_in(folder);
        let file = file.map_err(unwritable)?.into_temp_path();
        match file.persist_noclobber(&self.path) {
            Err(failed) if failed.error.kind() != ErrorKind::AlreadyExists => {
                return Err(unwritable(failed.error));
            }
            _ => {}
        }
        [folder]
            .into_iter()
            .chain(parents)
            .try_for_each(sync_folder)
            .map_err(unwritable)
    }

    /// Opens the file if it exists, and checks its identity.
    fn open(&self, deadline: Instant, to_read: bool) -> Result<Option<Open>, DatabaseError> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(error)),
        };
        if !found.is_file() {
            return Err(DatabaseError::NotAFile);
        }
        // SQLite would treat it as an empty database and overwrite it.
        if found.len() == 1 {
            return Err(damaged("file is not a database"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let looked = connect(&self.path, flags, deadline).and_then(|connection| {
            let identity = look(&connection, deadline)?;
            Ok((connection, identity))
        });
        let (frozen, (connection, identity)) = match looked {
            Err(DatabaseError::Unavailable { .. } | DatabaseError::ReadOnly)
                if self.is_write_protected() =>
            {
                if !to_read {
                    return Err(DatabaseError::ReadOnly);
                }
                (true, self.open_frozen(deadline)?)
            }
            other => (false, other?),
        };
        let blank = match identity {
            Identity::Blank => true,
            Identity::Ours(version) => version < self.tables.since,
        };
        Ok(Some(Open {
            connection,
            file: FileId::of(&found),
            ready: false,
            blank,
            frozen,
        }))
    }

    fn is_write_protected(&self) -> bool {
        let folder = self.path.parent().unwrap_or(&self.path);
        [folder, &self.path]
            .iter()
            .any(|path| access(*path, Access::WRITE_OK).is_err())
    }

    /// Opens a file in a folder without write permission, where SQLite cannot create the files it
    /// needs even for reading. The file is read as immutable. If there is a non-empty log next to
    /// it, another process is writing, and the file alone is incomplete.
    fn open_frozen(&self, deadline: Instant) -> Result<(Connection, Identity), DatabaseError> {
        let path = fs::canonicalize(&self.path).map_err(unavailable)?;
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            return Err(DatabaseError::ReadOnly);
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
        let connection = connect(Path::new(&address), flags, deadline)?;
        let identity = look(&connection, deadline)?;
        Ok((connection, identity))
    }

    /// Migrates a file to the newest version.
    fn migrate(&self, open: &mut Open, deadline: Instant) -> Result<(), DatabaseError> {
        let connection = &open.connection;
        retry(deadline, || connection.execute_batch(self.tables.sync))?;
        let identity = look(connection, deadline)?;
        if identity == Identity::Ours(VERSION) {
            return Ok(());
        }
        // Returns one row: the new mode, or the old one if the file system does not support WAL.
        retry(deadline, || {
            connection.query_row(sql::USE_WAL, [], |_| Ok(()))
        })?;
        let transaction = retry(deadline, || {
            Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        })?;
        // Another process may have migrated it first.
        let done = match look(&transaction, deadline)? {
            Identity::Blank => 0,
            Identity::Ours(version) => version,
        };
        let steps = || {
            for step in schema::MIGRATIONS.iter().skip(done) {
                transaction.execute_batch(step)?;
            }
            transaction.execute_batch(sql::WRITE_APPLICATION_ID)?;
            transaction.execute_batch(&format!("{}{VERSION}", sql::WRITE_VERSION))
        };
        steps().map_err(DatabaseError::from)?;
        transaction.commit().map_err(DatabaseError::from)
    }
}

fn connect(path: &Path, flags: OpenFlags, deadline: Instant) -> Result<Connection, DatabaseError> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(remaining(deadline))?;
    // Do not run code that is stored in the file.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(connection)
}

/// Reads the identity of the file.
fn look(connection: &Connection, deadline: Instant) -> Result<Identity, DatabaseError> {
    let (application, version, objects): (i64, i64, i64) = retry(deadline, || {
        connection.query_row(sql::IDENTITY, [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
    })?;
    if application == schema::APPLICATION_ID {
        return match usize::try_from(version) {
            Ok(version) if version <= VERSION => Ok(Identity::Ours(version)),
            Ok(_) => Err(DatabaseError::Newer {
                found: version,
                known: i64::try_from(VERSION).unwrap_or(i64::MAX),
            }),
            Err(_) => Err(damaged("its version is negative")),
        };
    }
    if (application, version, objects) == (0, 0, 0) {
        return Ok(Identity::Blank);
    }
    Err(DatabaseError::Foreign)
}

/// Retries while the file is locked, until the deadline. SQLite waits by itself, except where a
/// deadlock is possible: when WAL is switched on, and after a crash.
fn retry<T>(
    deadline: Instant,
    mut work: impl FnMut() -> rusqlite::Result<T>,
) -> Result<T, DatabaseError> {
    loop {
        match work().map_err(DatabaseError::from) {
            Err(DatabaseError::Busy) if Instant::now() + RETRY_DELAY < deadline => {
                thread::sleep(RETRY_DELAY);
            }
            result => return result,
        }
    }
}

/// Syncs a folder, so that new entries survive a power failure.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Not supported by every file system.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

fn damaged(reason: impl Into<Box<str>>) -> DatabaseError {
    DatabaseError::Damaged {
        reason: reason.into(),
    }
}

fn unavailable(source: impl Error + Send + Sync + 'static) -> DatabaseError {
    DatabaseError::Unavailable {
        source: Box::new(source),
    }
}

fn unwritable(error: io::Error) -> DatabaseError {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => DatabaseError::ReadOnly,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => DatabaseError::Full,
        _ => unavailable(error),
    }
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::DiskFull) => Self::Full,
            // The statements match our tables, so a rejected one means that the tables are damaged.
            Some(
                ErrorCode::NotADatabase
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown,
            ) => damaged(error.to_string()),
            _ => match error {
                rusqlite::Error::SqlInputError { msg, .. } => damaged(msg),
                error => unavailable(error),
            },
        }
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
