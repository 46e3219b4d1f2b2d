//! Access to the skill usage database.

use std::error::Error;

use prowess_store::{SqliteUsage, SystemClock};
use prowess_traits::{Clock, UsageError};

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
