//! The use of skills in a SQLite file.

use std::path::Path;
use std::time::Duration;

use prowess_catalog::rank::{SkillUsage, UseOutcomes};
use prowess_traits::usage::{MAX_PROJECT, MAX_ROWS};
use prowess_traits::{
    AgentFilter, SkillUse, UsageError, UsageFilter, UsageQuery, UsageRow, UsageStore, UsageSummary,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Transaction, params};

use crate::database::{Database, DatabaseError, Tables};
use crate::{memory_usage, sql};

/// The default time to wait for a lock. A write takes less than a millisecond, and a user may be
/// waiting for the skill.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
const TABLES: Tables = Tables {
    since: 1,
    sync: sql::SYNC_NORMAL,
};

/// Stores the use of skills in a SQLite file.
#[derive(Debug)]
pub struct SqliteUsage {
    database: Database,
    max_rows: usize,
}

impl SqliteUsage {
    /// Creates a store. The file is not opened or created yet.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let database = Database::new(path.as_ref(), BUSY_TIMEOUT, TABLES);
        Self {
            database,
            max_rows: MAX_ROWS,
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

    #[cfg(test)]
    fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    fn write<T>(
        &self,
        work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, UsageError> {
        self.database.write(work).map_err(|error| self.error(error))
    }

    /// Runs a read. Returns `None` if there is nothing to read.
    fn read<T>(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, UsageError> {
        self.database.read(work).map_err(|error| self.error(error))
    }

    fn error(&self, error: DatabaseError) -> UsageError {
        let store = self.database.name();
        match error {
            DatabaseError::Busy => UsageError::Busy { store },
            DatabaseError::ReadOnly => UsageError::ReadOnly { store },
            DatabaseError::Full => UsageError::Full { store },
            DatabaseError::NotAFile => UsageError::NotAFile { store },
            DatabaseError::Damaged { reason } => UsageError::Damaged { store, reason },
            DatabaseError::Foreign => UsageError::Foreign { store },
            DatabaseError::Newer { found, known } => UsageError::Newer {
                store,
                found,
                known,
            },
            DatabaseError::Unavailable { source } => UsageError::Unavailable { store, source },
        }
    }
}

impl UsageStore for SqliteUsage {
    fn record(&self, used: &SkillUse) -> Result<(), UsageError> {
        used.check()?;
        self.write(|transaction| {
            let row = if let Some(mut row) = find(transaction, used)? {
                row.agent_type = used.agent_type.clone();
                row.usage.add(used.at, used.outcome);
                row
            } else {
                evict(transaction, self.max_rows)?;
                memory_usage::first_row(used)
            };
            put(transaction, &row)
        })
    }

    fn settle(&self, used: &SkillUse) -> Result<(), UsageError> {
        used.check()?;
        let Some(outcome) = used.outcome else {
            return Ok(());
        };
        // Without a file there is nothing to settle, and no reason to create one.
        if self.read(|_| Ok(()))?.is_none() {
            return Ok(());
        }
        self.write(|transaction| {
            let Some(mut row) = find(transaction, used)? else {
                return Ok(());
            };
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

    fn summary(&self, project: Option<&str>, limit: usize) -> Result<UsageSummary, UsageError> {
        let project = project.map(Box::from);
        let query = UsageQuery {
            project,
            team: None,
            whose: AgentFilter::Everyone,
            limit: MAX_ROWS,
        };
        Ok(UsageSummary::of(self.rows(&query)?, limit))
    }

    fn forget(&self, which: &UsageFilter) -> Result<u64, UsageError> {
        if self.read(|_| Ok(()))?.is_none() {
            return Ok(0);
        }
        let UsageFilter {
            project,
            team,
            agent,
            skill,
            before,
        } = which;
        let removed = self.write(|transaction| {
            transaction.execute(sql::DELETE, params![project, team, agent, skill, before])
        })?;
        Ok(u64::try_from(removed).unwrap_or(u64::MAX))
    }
}

fn find(transaction: &Transaction<'_>, used: &SkillUse) -> rusqlite::Result<Option<UsageRow>> {
    let mut statement = transaction.prepare(sql::SELECT_ROW)?;
    let mut rows = statement.query(params![used.project, used.team, used.agent, used.skill])?;
    Ok(rows.next()?.and_then(read_row))
}

fn put(transaction: &Transaction<'_>, row: &UsageRow) -> rusqlite::Result<()> {
    let UsageRow {
        project,
        team,
        agent,
        agent_type,
        usage,
    } = row;
    let SkillUsage {
        skill,
        count,
        last_used,
        score,
        outcomes,
    } = usage;
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let UseOutcomes {
        done,
        failed,
        refused,
    } = *outcomes;
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

fn evict(transaction: &Transaction<'_>, max_rows: usize) -> rusqlite::Result<()> {
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
        AgentFilter::Everyone => (None, None),
        AgentFilter::Agent(agent) => (Some(agent), None),
        AgentFilter::Type(agent_type) => (None, Some(agent_type)),
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

/// Reads an untrusted row. Without a name it is ignored; an invalid number is 0.
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
        // `SkillUsage` corrects invalid scores.
        _ => 0.0,
    };
    Some(UsageRow {
        project: text(0)?,
        team: text(1)?,
        agent: text(2)?,
        agent_type: text(3).unwrap_or_default(),
        usage: SkillUsage {
            skill: text(4)?,
            count: count(5),
            last_used: number(6),
            score,
            outcomes: UseOutcomes {
                done: count(8),
                failed: count(9),
                refused: count(10),
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make() -> (SqliteUsage, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (
            SqliteUsage::new(folder.path().join("state/usage.db")),
            folder,
        )
    }

    prowess_test::usage_conformance!(make());

    #[test]
    fn oldest_row_is_evicted() {
        let (store, _folder) = make();
        let store = store.with_max_rows(2);
        prowess_test::conformance::usage::oldest_of_two_is_evicted(&store);
    }
}
