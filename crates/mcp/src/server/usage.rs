//! Records the use of skills without blocking the thread that answers.

use std::sync::Arc;

use prowess_traits::{
    SkillUse, UsageError, UsageFilter, UsageQuery, UsageRow, UsageStore, UsageSummary,
};
use tokio::sync::Semaphore;

/// Maximum number of queued writes.
const MOST_WAITING: usize = 64;

/// A store that records uses on a blocking thread. All other methods run directly.
#[derive(Debug)]
pub(crate) struct DeferredUsage {
    inner: Arc<dyn UsageStore>,
    room: Arc<Semaphore>,
}

impl DeferredUsage {
    pub(crate) fn wrap(inner: Arc<dyn UsageStore>) -> Arc<dyn UsageStore> {
        let room = Arc::new(Semaphore::new(MOST_WAITING));
        Arc::new(Self { inner, room })
    }
}

impl UsageStore for DeferredUsage {
    fn record(&self, used: &SkillUse) -> Result<(), UsageError> {
        let runtime = tokio::runtime::Handle::try_current();
        let permit = Arc::clone(&self.room).try_acquire_owned();
        let (Ok(runtime), Ok(permit)) = (runtime, permit) else {
            return self.inner.record(used);
        };
        let (inner, used) = (Arc::clone(&self.inner), used.clone());
        runtime.spawn_blocking(move || {
            // A store error does not fail the call.
            let _ = inner.record(&used);
            drop(permit);
        });
        Ok(())
    }

    fn settle(&self, used: &SkillUse) -> Result<(), UsageError> {
        self.inner.settle(used)
    }

    fn rows(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError> {
        self.inner.rows(query)
    }

    fn summary(&self, project: Option<&str>, limit: usize) -> Result<UsageSummary, UsageError> {
        self.inner.summary(project, limit)
    }

    fn forget(&self, which: &UsageFilter) -> Result<u64, UsageError> {
        self.inner.forget(which)
    }
}
