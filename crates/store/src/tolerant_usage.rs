//! A usage store that does not fail.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prowess_traits::{
    Clock, SkillUse, UsageError, UsageFilter, UsageQuery, UsageRow, UsageStore, UsageSummary,
};

/// The default time for which a store is not called after it failed.
pub const PAUSE: Duration = Duration::from_secs(30);

/// Wraps a usage store so that its failures do not keep a skill from being used.
///
/// `record`, `settle` and `rows` always succeed. An error is available from
/// [`trouble`](Self::trouble), and the store is not called for a while, because each attempt could
/// wait for a lock. `summary` and `forget` return errors, since their caller wants the result.
#[derive(Debug)]
pub struct TolerantUsage {
    store: Arc<dyn UsageStore>,
    clock: Arc<dyn Clock>,
    pause: i64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    trouble: Option<StoreTrouble>,
    /// The time of the last failure; `None` if the store has worked since.
    down_since: Option<i64>,
}

/// The failures of a store.
#[derive(Clone, Debug)]
pub struct StoreTrouble {
    /// The last error.
    pub error: Arc<UsageError>,
    /// The time of the last error, in nanoseconds since 1970.
    pub at: i64,
    /// The number of failed calls.
    pub failures: u64,
    /// The number of calls that were skipped after a failure.
    pub skipped: u64,
    /// `true` if the store has worked since.
    pub over: bool,
}

impl TolerantUsage {
    /// Wraps a store.
    pub fn new(store: Arc<dyn UsageStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            clock,
            pause: nanos(PAUSE),
            state: Mutex::default(),
        }
    }

    /// Sets the time for which the store is not called after it failed.
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> Self {
        Self {
            pause: nanos(pause),
            ..self
        }
    }

    /// Returns the failures, if there were any.
    pub fn trouble(&self) -> Option<StoreTrouble> {
        self.lock().trouble.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the store unless it has just failed. The lock is not held during the call.
    fn attempt<T: Default>(
        &self,
        call: impl FnOnce(&dyn UsageStore) -> Result<T, UsageError>,
    ) -> T {
        {
            let mut state = self.lock();
            let State {
                trouble,
                down_since,
            } = &mut *state;
            if let Some(since) = *down_since {
                // A clock that was set back must not extend the pause.
                if self.clock.now().abs_diff(since) < self.pause.unsigned_abs() {
                    if let Some(trouble) = trouble {
                        trouble.skipped = trouble.skipped.saturating_add(1);
                    }
                    return T::default();
                }
                // One caller tries; meanwhile the others skip the store.
                *down_since = Some(self.clock.now());
            }
        }
        let result = call(&*self.store);
        let mut state = self.lock();
        match result {
            Ok(value) => {
                state.down_since = None;
                if let Some(trouble) = &mut state.trouble {
                    trouble.over = true;
                }
                value
            }
            Err(error) => {
                let now = self.clock.now();
                // A name that is too long is not a failure of the store.
                if error.is_invalid_input() {
                    state.down_since = None;
                } else {
                    state.down_since = Some(now);
                }
                let (failures, skipped) = state
                    .trouble
                    .as_ref()
                    .map_or((0, 0), |old| (old.failures, old.skipped));
                state.trouble = Some(StoreTrouble {
                    over: error.is_invalid_input(),
                    error: Arc::new(error),
                    at: now,
                    failures: failures.saturating_add(1),
                    skipped,
                });
                T::default()
            }
        }
    }
}

impl UsageStore for TolerantUsage {
    fn record(&self, used: &SkillUse) -> Result<(), UsageError> {
        self.attempt(|store| store.record(used));
        Ok(())
    }

    fn settle(&self, used: &SkillUse) -> Result<(), UsageError> {
        self.attempt(|store| store.settle(used));
        Ok(())
    }

    fn rows(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError> {
        Ok(self.attempt(|store| store.rows(query)))
    }

    fn summary(&self, project: Option<&str>, limit: usize) -> Result<UsageSummary, UsageError> {
        self.store.summary(project, limit)
    }

    fn forget(&self, which: &UsageFilter) -> Result<u64, UsageError> {
        self.store.forget(which)
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use prowess_test::ManualClock;

    use super::*;
    use crate::MemoryUsage;

    /// A store that fails on demand and counts its calls.
    #[derive(Debug, Default)]
    struct Flaky {
        inner: MemoryUsage,
        broken: AtomicBool,
        calls: AtomicU64,
    }

    impl Flaky {
        fn call<T>(&self, result: impl FnOnce(&MemoryUsage) -> T) -> Result<T, UsageError> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            if self.broken.load(Ordering::Relaxed) {
                return Err(UsageError::Busy {
                    store: "moody".into(),
                });
            }
            Ok(result(&self.inner))
        }
    }

    impl UsageStore for Flaky {
        fn record(&self, used: &SkillUse) -> Result<(), UsageError> {
            self.call(|inner| inner.record(used))?
        }
        fn settle(&self, used: &SkillUse) -> Result<(), UsageError> {
            self.call(|inner| inner.settle(used))?
        }
        fn rows(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError> {
            self.call(|inner| inner.rows(query))?
        }
        fn summary(&self, project: Option<&str>, limit: usize) -> Result<UsageSummary, UsageError> {
            self.call(|inner| inner.summary(project, limit))?
        }
        fn forget(&self, which: &UsageFilter) -> Result<u64, UsageError> {
            self.call(|inner| inner.forget(which))?
        }
    }

    prowess_test::usage_conformance_valid!((
        TolerantUsage::new(Arc::new(MemoryUsage::new()), Arc::new(ManualClock::at(0))),
        (),
    ));

    #[test]
    fn failing_store_is_not_called_for_a_while() {
        let store = Arc::new(Flaky::default());
        let clock = Arc::new(ManualClock::at(1_000));
        let tolerant = TolerantUsage::new(Arc::clone(&store) as _, Arc::clone(&clock) as _)
            .with_pause(Duration::from_nanos(100));
        let used = SkillUse::new("p", "a", 5);
        let calls = || store.calls.load(Ordering::Relaxed);
        tolerant.record(&used).unwrap();
        assert!(tolerant.trouble().is_none());

        store.broken.store(true, Ordering::Relaxed);
        for _ in 0..10 {
            tolerant.record(&used).unwrap();
            assert_eq!(tolerant.rows(&UsageQuery::project("p")).unwrap(), []);
        }
        assert_eq!(calls(), 2, "one that worked and one that failed");
        let trouble = tolerant.trouble().unwrap();
        assert!(matches!(*trouble.error, UsageError::Busy { .. }));
        assert_eq!(
            (trouble.at, trouble.failures, trouble.skipped),
            (1_000, 1, 19)
        );
        assert!(!trouble.over);
        // Explicit requests return the error.
        assert!(tolerant.summary(None, 5).is_err());
        assert!(tolerant.forget(&UsageFilter::default()).is_err());

        clock.set(1_099);
        tolerant.record(&used).unwrap();
        assert_eq!(calls(), 4);
        clock.set(1_100);
        tolerant.record(&used).unwrap();
        assert_eq!(calls(), 5, "tried again");
        // A clock that was set back.
        clock.set(0);
        tolerant.record(&used).unwrap();
        assert_eq!(calls(), 6);

        store.broken.store(false, Ordering::Relaxed);
        clock.set(5_000);
        tolerant.record(&used).unwrap();
        assert_eq!(
            tolerant.rows(&UsageQuery::project("p")).unwrap()[0]
                .usage
                .count,
            2
        );
        let trouble = tolerant.trouble().unwrap();
        assert_eq!(
            (trouble.failures, trouble.over),
            (3, true),
            "kept, and over"
        );
    }

    #[test]
    fn invalid_name_does_not_disable_the_store() {
        let tolerant =
            TolerantUsage::new(Arc::new(MemoryUsage::new()), Arc::new(ManualClock::at(0)));
        tolerant
            .record(&SkillUse::new("p", "x".repeat(10_000), 5))
            .unwrap();
        tolerant.record(&SkillUse::new("p", "a", 5)).unwrap();
        assert_eq!(tolerant.rows(&UsageQuery::project("p")).unwrap().len(), 1);
        let trouble = tolerant.trouble().unwrap();
        assert!(matches!(*trouble.error, UsageError::TooLong { .. }));
        assert!(trouble.over);
    }
}
