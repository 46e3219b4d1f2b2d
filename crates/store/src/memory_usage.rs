//! The use of skills in memory, for tests and for programs without files.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prowess_catalog::SkillUsage;
use prowess_traits::usage::MAX_ROWS;
use prowess_traits::{
    SkillUse, UsageError, UsageFilter, UsageQuery, UsageRow, UsageStore, UsageSummary,
};

/// Project, team, agent, skill.
type Key = [Box<str>; 4];

/// Stores the use of skills in memory.
#[derive(Debug)]
pub struct MemoryUsage {
    rows: Mutex<BTreeMap<Key, UsageRow>>,
    max_rows: usize,
}

impl MemoryUsage {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self {
            rows: Mutex::default(),
            max_rows: MAX_ROWS,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, UsageRow>> {
        // No change can panic half-way.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryUsage {
    fn default() -> Self {
        Self::new()
    }
}

impl UsageStore for MemoryUsage {
    fn record(&self, used: &SkillUse) -> Result<(), UsageError> {
        used.check()?;
        let mut rows = self.lock();
        if let Some(row) = rows.get_mut(&key(used)) {
            row.agent_type = used.agent_type.clone();
            row.usage.add(used.at, used.outcome);
            return Ok(());
        }
        while rows.len() >= self.max_rows {
            let oldest = rows.iter().min_by_key(|(_, row)| row.usage.last_used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            rows.remove(&oldest);
        }
        rows.insert(key(used), first_row(used));
        Ok(())
    }

    fn settle(&self, used: &SkillUse) -> Result<(), UsageError> {
        used.check()?;
        if let (Some(row), Some(outcome)) = (self.lock().get_mut(&key(used)), used.outcome) {
            row.usage.outcomes.add(outcome);
        }
        Ok(())
    }

    fn rows(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError> {
        let mut found: Vec<UsageRow> = self
            .lock()
            .values()
            .filter(|row| query.matches(row))
            .cloned()
            .collect();
        found.sort_by(|one, other| {
            let (a, b) = (&one.usage, &other.usage);
            (b.last_used, b.count, &a.skill).cmp(&(a.last_used, a.count, &b.skill))
        });
        found.truncate(query.limit);
        Ok(found)
    }

    fn summary(&self, project: Option<&str>, limit: usize) -> Result<UsageSummary, UsageError> {
        let rows = self.lock();
        let rows = rows
            .values()
            .filter(|row| project.is_none_or(|name| name == &*row.project));
        Ok(UsageSummary::of(rows.cloned(), limit))
    }

    fn forget(&self, which: &UsageFilter) -> Result<u64, UsageError> {
        let mut rows = self.lock();
        let before = rows.len();
        rows.retain(|_, row| !which.matches(row));
        Ok(u64::try_from(before - rows.len()).unwrap_or(u64::MAX))
    }
}

/// Returns the row for the first use.
pub(crate) fn first_row(used: &SkillUse) -> UsageRow {
    UsageRow {
        project: used.project.clone(),
        team: used.team.clone(),
        agent: used.agent.clone(),
        agent_type: used.agent_type.clone(),
        usage: SkillUsage::first(used.skill.clone(), used.at, used.outcome),
    }
}

fn key(used: &SkillUse) -> Key {
    [
        used.project.clone(),
        used.team.clone(),
        used.agent.clone(),
        used.skill.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    prowess_test::usage_conformance!((MemoryUsage::new(), ()));

    #[test]
    fn oldest_row_is_evicted() {
        let store = MemoryUsage::new().with_max_rows(2);
        prowess_test::conformance::usage::oldest_of_two_is_evicted(&store);
    }
}
