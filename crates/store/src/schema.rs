//! The tables of the SQLite file, as migrations.

/// The application id in the file header: `Prow`.
pub(crate) const APPLICATION_ID: i64 = 0x5072_6f77;

/// The migrations. The version of a file is the number of migrations applied to it.
pub(crate) const MIGRATIONS: &[&str] = &[
    "
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
",
    "
CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  title TEXT NOT NULL,
  project TEXT NOT NULL,
  model TEXT NOT NULL,
  parent TEXT,
  started INTEGER NOT NULL, -- nanoseconds since 1970
  updated INTEGER NOT NULL,
  events INTEGER NOT NULL, -- how many
  ending TEXT,
  turn INTEGER NOT NULL, -- counts what is written to any session, because clocks can be set back
  process INTEGER, -- who has it: all four, or none
  process_start INTEGER,
  process_place TEXT,
  token INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_turn ON sessions (turn);
CREATE INDEX sessions_parent ON sessions (parent, turn);
CREATE INDEX sessions_project ON sessions (parent, project, turn);
CREATE TABLE events (
  session TEXT NOT NULL,
  number INTEGER NOT NULL, -- from zero
  at INTEGER NOT NULL, -- nanoseconds since 1970
  event TEXT NOT NULL, -- JSON
  sum INTEGER NOT NULL, -- CRC-32 of the JSON
  PRIMARY KEY (session, number)
) STRICT;
",
    "
CREATE TABLE questions (
  number INTEGER PRIMARY KEY, -- in the order of asking
  id TEXT NOT NULL UNIQUE,
  session TEXT NOT NULL,
  call TEXT, -- none if a skill was being activated
  asked INTEGER NOT NULL, -- nanoseconds since 1970
  question TEXT NOT NULL, -- JSON
  answer TEXT, -- with who and answered, or none of them
  because TEXT,
  who TEXT,
  answered INTEGER,
  gone TEXT -- why it needs no answer any more
) STRICT;
CREATE INDEX questions_open ON questions (session) WHERE answer IS NULL AND gone IS NULL;
CREATE INDEX questions_session ON questions (session);
",
    "
CREATE TABLE stops (
  session TEXT NOT NULL,
  token INTEGER NOT NULL, -- of the lease that was asked to stop
  PRIMARY KEY (session, token)
) STRICT, WITHOUT ROWID;
",
];
