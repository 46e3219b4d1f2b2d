//! All SQLite statements except those that create tables, which are in `schema.rs`.
//!
//! Statements contain no logic: `SkillUsage::add` in `crates/catalog` decides what a use changes, and
//! `summarize` and `follow` in `session_summary.rs` decide what is known about a session.

/// The identity of a file. One statement, so that the values are consistent.
pub(crate) const IDENTITY: &str = "SELECT
  (SELECT application_id FROM pragma_application_id),
  (SELECT user_version FROM pragma_user_version),
  (SELECT count(*) FROM sqlite_schema)";
/// Writes [`APPLICATION_ID`](crate::schema::APPLICATION_ID).
pub(crate) const WRITE_APPLICATION_ID: &str = "PRAGMA application_id = 1349676919";
/// Followed by the number.
pub(crate) const WRITE_VERSION: &str = "PRAGMA user_version = ";
/// Readers and a writer do not block each other. Set each time, because the mode is stored in the
/// file.
pub(crate) const USE_WAL: &str = "PRAGMA journal_mode = WAL";
/// After a power failure the last uses may be missing; the file stays intact.
pub(crate) const SYNC_NORMAL: &str = "PRAGMA synchronous = NORMAL";
/// After a power failure all acknowledged events are there; deleted data is overwritten.
pub(crate) const SYNC_FULL: &str = "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON";

/// The columns of [`SELECT_ROW`] and [`SELECT_ROWS`], in this order.
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

pub(crate) const HAS_SESSION: &str = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";

pub(crate) const LAST_TURN: &str = "SELECT ifnull(max(turn), 0) FROM sessions";

pub(crate) const INSERT_SESSION: &str = "INSERT INTO sessions (id, title, project, model, parent,
  started, updated, events, ending, turn, process, process_start, process_place, token)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

pub(crate) const INSERT_EVENT: &str =
    "INSERT INTO events (session, number, at, event, sum) VALUES (?1, ?2, ?3, ?4, ?5)";

pub(crate) const UPDATE_SESSION: &str =
    "UPDATE sessions SET updated = ?2, events = ?3, ending = ?4, turn = ?5 WHERE id = ?1";

pub(crate) const SELECT_PROGRESS: &str = "SELECT token, events, ending FROM sessions WHERE id = ?1";

pub(crate) const HOLD: &str = "UPDATE sessions
SET process = ?2, process_start = ?3, process_place = ?4, token = ?5 WHERE id = ?1";

pub(crate) const RELEASE: &str = "UPDATE sessions
SET process = NULL, process_start = NULL, process_place = NULL, token = NULL
WHERE id = ?1 AND token = ?2";

pub(crate) const SELECT_EVENTS: &str =
    "SELECT number, event, sum FROM events WHERE session = ?1 ORDER BY number";

pub(crate) const COUNT_EVENTS: &str = "SELECT events FROM sessions WHERE id = ?1";

/// The columns of the holder of a session, in this order.
macro_rules! holder {
    () => {
        "process, process_start, process_place, token"
    };
}

/// The columns of a session, in this order, beginning with its holder.
macro_rules! summary {
    () => {
        concat!(
            holder!(),
            ", id, title, project, model, parent, started, updated, events, ending"
        )
    };
}

pub(crate) const SELECT_HOLDER: &str =
    concat!("SELECT ", holder!(), " FROM sessions WHERE id = ?1");

pub(crate) const LIST: &str = concat!(
    "SELECT ",
    summary!(),
    " FROM sessions WHERE parent IS ?1 ORDER BY turn DESC, id DESC LIMIT ?2"
);

pub(crate) const LIST_PROJECT: &str = concat!(
    "SELECT ",
    summary!(),
    " FROM sessions WHERE parent IS ?1 AND project = ?3 ORDER BY turn DESC, id DESC LIMIT ?2"
);

pub(crate) const COUNT_PROJECT: &str =
    "SELECT count(*) FROM sessions WHERE parent IS NULL AND project = ?1";

/// `char(1114111)` is greater than any other character.
pub(crate) const SELECT_STARTING: &str = "SELECT id FROM sessions
WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT ?2";

pub(crate) const SELECT_LATEST: &str = "SELECT id FROM sessions ORDER BY turn DESC LIMIT ?1";

/// A session and all sub-runs below it.
pub(crate) const SELECT_FAMILY: &str = concat!(
    "WITH RECURSIVE family (member) AS (
  SELECT id FROM sessions WHERE id = ?1
  UNION SELECT id FROM sessions JOIN family ON parent = member)
SELECT ",
    holder!(),
    ", id FROM sessions JOIN family ON id = member ORDER BY id"
);

pub(crate) const DELETE_EVENTS: &str = "DELETE FROM events WHERE session = ?1";

pub(crate) const DELETE_SESSION: &str = "DELETE FROM sessions WHERE id = ?1";

/// Returns whether the file has the table of questions. A file of an older version that was not
/// written yet has none.
pub(crate) const HAS_QUESTIONS: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'questions')";

pub(crate) const INSERT_QUESTION: &str =
    "INSERT OR IGNORE INTO questions (id, session, call, asked, question)
VALUES (?1, ?2, ?3, ?4, ?5)";

pub(crate) const ANSWER_QUESTION: &str =
    "UPDATE questions SET answer = ?2, because = ?3, who = ?4, answered = ?5
WHERE id = ?1 AND answer IS NULL AND (?6 IS NULL OR session = ?6)";

pub(crate) const DROP_CALL: &str = "UPDATE questions SET gone = ?3
WHERE session = ?1 AND call IS ?2 AND answer IS NULL AND gone IS NULL";

pub(crate) const DROP_ALL: &str = "UPDATE questions SET gone = ?2
WHERE session = ?1 AND answer IS NULL AND gone IS NULL";

/// The columns of a question, in this order.
macro_rules! question {
    () => {
        "question, session, project, asked, answer, because, who, answered, gone"
    };
}

pub(crate) const LIST_QUESTIONS: &str = concat!(
    "SELECT ",
    question!(),
    " FROM questions JOIN sessions ON sessions.id = session
WHERE answer IS NULL AND gone IS NULL AND (?1 IS NULL OR project = ?1)
ORDER BY number LIMIT ?2"
);

pub(crate) const SELECT_QUESTION: &str = concat!(
    "SELECT ",
    question!(),
    " FROM questions JOIN sessions ON sessions.id = session WHERE questions.id = ?1"
);

pub(crate) const QUESTIONS_STARTING: &str = "SELECT id FROM questions
WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT ?2";

pub(crate) const OPEN_QUESTIONS_STARTING: &str = "SELECT id FROM questions
WHERE id >= ?1 AND id < ?1 || char(1114111) AND answer IS NULL AND gone IS NULL
ORDER BY id LIMIT ?2";

pub(crate) const LATEST_QUESTIONS: &str = "SELECT id FROM questions ORDER BY number DESC LIMIT ?1";

pub(crate) const SELECT_PARENT: &str = "SELECT parent FROM sessions WHERE id = ?1";

pub(crate) const DELETE_QUESTIONS: &str = "DELETE FROM questions WHERE session = ?1";

/// The stored text of the events from a number on.
pub(crate) const SELECT_FROM: &str =
    "SELECT event FROM events WHERE session = ?1 AND number >= ?2 ORDER BY number LIMIT ?3";

pub(crate) const INSERT_STOP: &str =
    "INSERT INTO stops (session, token) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

/// Older files have no such table until something is written.
pub(crate) const HAS_STOPS: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'stops')";

pub(crate) const HAS_STOP: &str =
    "SELECT EXISTS (SELECT 1 FROM stops WHERE session = ?1 AND token = ?2)";

pub(crate) const DELETE_STOPS: &str = "DELETE FROM stops WHERE session = ?1";
