//! Access to the skill usage database.

use std::error::Error;
use std::sync::Arc;

use prowess_catalog::rank::{SkillUsage, union};
use prowess_registry::fs::skill_folders;
use prowess_store::{SqliteUsage, SystemClock, TolerantUsage};
use prowess_traits::{Clock, UsageError, UsageQuery, UsageStore};

use crate::env::Environment;
use crate::targets;

/// Returns the current time in nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    SystemClock.now()
}

/// Returns the usage store, or `None` without a home folder.
pub(crate) fn store(environment: &Environment) -> Option<SqliteUsage> {
    environment.store_file().map(SqliteUsage::new)
}

/// Formats a store error and its causes, with a shortened path.
pub(crate) fn explain(
    error: &UsageError,
    store: &SqliteUsage,
    environment: &Environment,
) -> String {
    let path = store.path();
    let shown = targets::display(path, environment);
    let mut text = error.to_string().replace(&*path.to_string_lossy(), &shown);
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(&format!(": {cause_text}"));
        }
        source = cause.source();
    }
    text
}

/// Returns the project that usage is recorded for: the repository, or the current folder.
pub(crate) fn project(environment: &Environment) -> String {
    let folder = skill_folders::repository(&environment.current).unwrap_or(&environment.current);
    folder.to_string_lossy().into_owned()
}

/// Returns the usage in this project, empty if the store is broken, locked or missing.
pub(crate) fn of_project(environment: &Environment, agent: Option<&str>) -> Vec<SkillUsage> {
    let Some(store) = store(environment) else {
        return Vec::new();
    };
    let store = TolerantUsage::new(Arc::new(store), Arc::new(SystemClock));
    let project = project(environment);
    let query = match agent {
        Some(agent) => {
            UsageQuery::agent(project, prowess_catalog::rank::planck::DEFAULT_TEAM, agent)
        }
        None => UsageQuery::project(project),
    };
    let rows = store.rows(&query).unwrap_or_default();
    union(rows.iter().map(|row| &row.usage))
}
