//! Every statement for SQLite, and nothing else: another dialect is another file like this one.
//!
//! No rule is in here. What a use adds to a row is decided by `Usage::add` in `crates/catalog`.

/// What marks a file as ours: `Prow`, in the file's header.
pub(crate) const APPLICATION_ID: i64 = 0x5072_6f77;

/// The steps to the newest format. The number of steps that a file went is its version.
pub(crate) const MIGRATIONS: &[&str] = &["
CREATE TABLE usage (
  project TEXT NOT NULL,
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  skill TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  count INTEGER NOT NULL,
  last_used INTEGER NOT NULL, -- nanoseconds since 1970
  score REAL NOT NULL, -- the weight of all uses at last_used
  done INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  PRIMARY KEY (project, team, agent, skill)
) STRICT, WITHOUT ROWID;
"];

/// What a file is. One statement, so that nobody changes it between two of the answers.
pub(crate) const STANDING: &str = "SELECT
  (SELECT application_id FROM pragma_application_id),
  (SELECT user_version FROM pragma_user_version),
  (SELECT count(*) FROM sqlite_schema)";
/// Marks a file as ours.
pub(crate) const WRITE_APPLICATION_ID: &str = "PRAGMA application_id = 1349676919";
/// Followed by the number.
pub(crate) const WRITE_VERSION: &str = "PRAGMA user_version = ";
/// Readers and one writer do not wait for each other; asked each time, because a file remembers it.
pub(crate) const USE_WAL: &str = "PRAGMA journal_mode = WAL";
/// After a power cut the last uses may be missing; the file stays sound.
pub(crate) const SYNC_NORMAL: &str = "PRAGMA synchronous = NORMAL";

/// The columns that [`SELECT_ROW`] and [`SELECT_ROWS`] return, in this order.
macro_rules! columns {
    () => {
        "project, team, agent, agent_type, skill, count, last_used, score, done, failed, refused"
    };
}

pub(crate) const SELECT_ROW: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM usage WHERE project = ?1 AND team = ?2 AND agent = ?3 AND skill = ?4"
);

pub(crate) const SELECT_ROWS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM usage
WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR team = ?2)
  AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR agent_type = ?4)
ORDER BY last_used DESC, count DESC, skill, project, team, agent
LIMIT ?5"
);

pub(crate) const UPSERT: &str = concat!(
    "INSERT INTO usage (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (project, team, agent, skill) DO UPDATE SET
  agent_type = excluded.agent_type, count = excluded.count, last_used = excluded.last_used,
  score = excluded.score, done = excluded.done, failed = excluded.failed,
  refused = excluded.refused"
);

pub(crate) const COUNT_ROWS: &str = "SELECT count(*) FROM usage";

pub(crate) const DELETE_OLDEST: &str = "DELETE FROM usage
WHERE (project, team, agent, skill) IN (
  SELECT project, team, agent, skill FROM usage
  ORDER BY last_used, project, team, agent, skill LIMIT ?1)";

pub(crate) const DELETE: &str = "DELETE FROM usage
WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR team = ?2)
  AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR skill = ?4)
  AND (?5 IS NULL OR last_used < ?5)";
