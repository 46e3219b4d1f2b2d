//! A SQLite file that several stores share, each with its own tables.
//!
//! Nothing is created before the first write. A file that cannot be read as ours is left as it is.
//! Whoever waits for a lock waits for a bounded time.

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

use crate::sql;

/// The longest that anybody can be made to wait.
const MAX_BUSY_TIMEOUT: Duration = Duration::from_hours(1);
/// How long to rest where SQLite says "busy" without having waited.
const REST: Duration = Duration::from_millis(5);
/// The newest format that is known.
const VERSION: usize = sql::MIGRATIONS.len();

/// A file, as one store uses it.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    busy_timeout: Duration,
    tables: Tables,
    open: Mutex<Option<Open>>,
}

/// What a store needs of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables {
    /// The first format that has its tables. In an older file there is nothing to read.
    pub(crate) since: usize,
    /// The statements that say what a power cut may cost.
    pub(crate) sync: &'static str,
}

/// Why a file could not be used.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Somebody else held it for longer than we wait.
    Busy,
    /// It may be read but not written.
    ReadOnly,
    /// There is no more room.
    Full,
    /// Something else than a file is there.
    NotAFile,
    /// It is no database, or a broken one.
    Damaged { reason: Box<str> },
    /// It is the database of another program.
    Foreign,
    /// A newer version of this program wrote it.
    Newer { found: i64, known: i64 },
    /// Anything else.
    Unavailable {
        source: Box<dyn Error + Send + Sync>,
    },
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

impl Database {
    /// Names the file. Nothing is opened or created yet.
    pub(crate) fn new(path: &Path, busy_timeout: Duration, tables: Tables) -> Self {
        // Absolute, so that SQLite never takes it for `:memory:` or an address.
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

    /// Runs one transaction that writes.
    pub(crate) fn write<T>(
        &self,
        work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        // Before waiting for the other threads: together they wait no longer than one alone.
        let deadline = Instant::now() + self.busy_timeout;
        let mut slot = self.lock();
        self.drop_if_replaced(&mut slot);
        let result = self.ready(&mut slot, deadline).and_then(|open| {
            retry(deadline, || {
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
        if result
            .as_ref()
            .is_err_and(|error| !matches!(error, Fault::Busy))
        {
            *slot = None;
        }
        result
    }

    /// Runs something that reads; nothing where there is nothing to read.
    pub(crate) fn read<T>(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Fault> {
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
        let result = retry(deadline, || {
            open.connection.busy_timeout(remaining(deadline))?;
            work(&open.connection)
        });
        let failed = result
            .as_ref()
            .is_err_and(|error| !matches!(error, Fault::Busy));
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
            let _ = open
                .connection
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            *slot = None;
        }
    }

    /// Opens the file for writing, in the newest format; creates it if need be.
    fn ready<'a>(
        &self,
        slot: &'a mut Option<Open>,
        deadline: Instant,
    ) -> Result<&'a mut Open, Fault> {
        if slot.is_none() {
            self.create()?;
            *slot = self.open(deadline, false)?;
        }
        // Nothing only if somebody removed the file between two lines.
        let missing = || unavailable(io::Error::from(ErrorKind::NotFound));
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
    fn create(&self) -> Result<(), Fault> {
        if fs::metadata(&self.path).is_ok() {
            return Ok(());
        }
        let Some(folder) = self.path.parent() else {
            return Err(Fault::NotAFile);
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
        // Under another name first, and closed: closing a file ends all locks that this process has
        // on it, and another connection may have some as soon as the file has its name.
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

    /// Opens the file if there is one, and looks whether it is ours.
    fn open(&self, deadline: Instant, to_read: bool) -> Result<Option<Open>, Fault> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(error)),
        };
        if !found.is_file() {
            return Err(Fault::NotAFile);
        }
        // SQLite would take it for an empty one, and write over it.
        if found.len() == 1 {
            return Err(damaged("file is not a database"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let looked = connect(&self.path, flags, deadline).and_then(|connection| {
            let standing = look(&connection, deadline)?;
            Ok((connection, standing))
        });
        let (frozen, (connection, standing)) = match looked {
            Err(Fault::Unavailable { .. } | Fault::ReadOnly) if self.is_write_protected() => {
                if !to_read {
                    return Err(Fault::ReadOnly);
                }
                (true, self.open_frozen(deadline)?)
            }
            other => (false, other?),
        };
        let blank = match standing {
            Standing::Blank => true,
            Standing::Ours(version) => version < self.tables.since,
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

    /// Reads a file in a folder where nothing can be created, not even the files that SQLite needs
    /// to read: nobody who may not write there writes, so the file stays as it is. If a log lies
    /// beside it, somebody does, and the file alone is not the whole truth.
    fn open_frozen(&self, deadline: Instant) -> Result<(Connection, Standing), Fault> {
        let path = fs::canonicalize(&self.path).map_err(unavailable)?;
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            return Err(Fault::ReadOnly);
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
        let standing = look(&connection, deadline)?;
        Ok((connection, standing))
    }

    /// Brings a file to the newest format.
    fn migrate(&self, open: &mut Open, deadline: Instant) -> Result<(), Fault> {
        let connection = &open.connection;
        retry(deadline, || connection.execute_batch(self.tables.sync))?;
        let standing = look(connection, deadline)?;
        if standing == Standing::Ours(VERSION) {
            return Ok(());
        }
        // It answers with a row; where the file system cannot do it, with the mode that stays.
        retry(deadline, || {
            connection.query_row(sql::USE_WAL, [], |_| Ok(()))
        })?;
        let transaction = retry(deadline, || {
            Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        })?;
        // Somebody else may have been faster.
        let done = match look(&transaction, deadline)? {
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
        steps().map_err(Fault::from)?;
        transaction.commit().map_err(Fault::from)
    }
}

fn connect(path: &Path, flags: OpenFlags, deadline: Instant) -> Result<Connection, Fault> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(remaining(deadline))?;
    // Nothing that a file brings along is run.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(connection)
}

/// Looks at the header of the file.
fn look(connection: &Connection, deadline: Instant) -> Result<Standing, Fault> {
    let (application, version, objects): (i64, i64, i64) = retry(deadline, || {
        connection.query_row(sql::STANDING, [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
    })?;
    if application == sql::APPLICATION_ID {
        return match usize::try_from(version) {
            Ok(version) if version <= VERSION => Ok(Standing::Ours(version)),
            Ok(_) => Err(Fault::Newer {
                found: version,
                known: i64::try_from(VERSION).unwrap_or(i64::MAX),
            }),
            Err(_) => Err(damaged("its version is negative")),
        };
    }
    if (application, version, objects) == (0, 0, 0) {
        return Ok(Standing::Blank);
    }
    Err(Fault::Foreign)
}

/// Tries again while somebody else is busy, until the deadline. SQLite waits by itself, except
/// where it fears a deadlock: when the log is switched on, and after a crash.
fn retry<T>(deadline: Instant, mut work: impl FnMut() -> rusqlite::Result<T>) -> Result<T, Fault> {
    loop {
        match work().map_err(Fault::from) {
            Err(Fault::Busy) if Instant::now() + REST < deadline => thread::sleep(REST),
            result => return result,
        }
    }
}

/// Makes sure that what was put into a folder is there after a power cut.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Not every file system knows it.
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

fn damaged(reason: impl Into<Box<str>>) -> Fault {
    Fault::Damaged {
        reason: reason.into(),
    }
}

fn unavailable(source: impl Error + Send + Sync + 'static) -> Fault {
    Fault::Unavailable {
        source: Box::new(source),
    }
}

fn unwritable(error: io::Error) -> Fault {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Fault::ReadOnly,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Fault::Full,
        _ => unavailable(error),
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::DiskFull) => Self::Full,
            // Our statements are right for our tables: if one is refused, the tables are wrong.
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
