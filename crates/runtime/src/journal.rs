//! Records events before the runtime acts on them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prowess_agent::{Event, Run, StampedEvent};
use prowess_traits::{Lease, SessionError, SessionStore, Update};

use crate::decision_log::DecisionLog;
use crate::engine::Engine;
use crate::error::RuntimeError;

/// An open session in the store, with the state folded from its events.
#[derive(Debug)]
pub(crate) struct Journal {
    engine: Engine,
    held: Arc<Held>,
    pub(crate) id: Box<str>,
    pub(crate) depth: u8,
    pub(crate) run: Run,
    pub(crate) decisions: Arc<DecisionLog>,
    /// `true` while events may be in the store that are not in `run`. If a write fails without
    /// saying whether it had an effect, or its future is dropped, this stays `true` and nothing more
    /// is written: the state would not follow from the record.
    behind: bool,
}

/// Writes to a journal from other threads, as long as the journal exists.
#[derive(Debug)]
pub(crate) struct JournalHandle {
    engine: Engine,
    held: Weak<Held>,
    id: Box<str>,
    depth: u8,
}

impl JournalHandle {
    /// Records events, all or none, and returns them. The journal applies those that change its
    /// state before its next write. Blocks. Returns `None` if the journal was dropped.
    pub(crate) fn record(
        &self,
        events: Vec<Event>,
    ) -> Option<Result<Vec<StampedEvent>, SessionError>> {
        let held = self.held.upgrade()?;
        let at = self.engine.services().clock.now();
        let stamped: Vec<StampedEvent> = events
            .into_iter()
            .map(|event| StampedEvent { at, event })
            .collect();
        if let Err(error) = held.append(&stamped) {
            return Some(Err(error));
        }
        for event in &stamped {
            self.engine.tell(&self.id, self.depth, Update::Event(event));
        }
        Some(Ok(stamped))
    }

    /// Returns the id of the session.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the store.
    pub(crate) fn sessions(&self) -> &dyn SessionStore {
        &**self.engine.sessions()
    }
}

/// The lease on a session. It is released when the last reference is dropped, which may be in a
/// write that outlives its journal.
#[derive(Debug)]
struct Held {
    store: Arc<dyn SessionStore>,
    lease: Option<Lease>,
    /// Held during a write: the position of the lease belongs to one write at a time.
    writing: Mutex<()>,
}

impl Held {
    fn new(engine: &Engine, lease: Lease) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(engine.sessions()),
            lease: Some(lease),
            writing: Mutex::default(),
        })
    }

    fn append(&self, events: &[StampedEvent]) -> Result<(), SessionError> {
        let Some(lease) = &self.lease else {
            return Ok(());
        };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        match self.store.append(lease, events) {
            // The lease has the position, so that repeating the write cannot store it twice.
            Err(SessionError::Busy { .. } | SessionError::Failed { .. }) => {
                self.store.append(lease, events)
            }
            written => written,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.store.release(lease);
        }
    }
}

impl Journal {
    /// Creates a session in the store, and connects its log of decisions.
    pub(crate) async fn begin(
        engine: &Engine,
        first: Event,
        depth: u8,
        decisions: Arc<DecisionLog>,
    ) -> Result<Self, RuntimeError> {
        let first = StampedEvent {
            at: engine.services().clock.now(),
            event: first,
        };
        let store = Arc::clone(engine.sessions());
        let written = first.clone();
        let lease = blocking(move || store.create(&written)).await??;
        let id = lease.session.clone();
        let mut journal = Self {
            engine: engine.clone(),
            held: Held::new(engine, lease),
            id,
            depth,
            run: Run::default(),
            decisions,
            behind: false,
        };
        journal.fold(&first)?;
        journal.decisions.open(journal.handle());
        Ok(journal)
    }

    /// Leases an existing session and replays its events.
    pub(crate) async fn take(
        engine: &Engine,
        id: &str,
    ) -> Result<(Self, Vec<StampedEvent>), RuntimeError> {
        let store = Arc::clone(engine.sessions());
        let asked: Box<str> = id.into();
        let (lease, events) = blocking(move || {
            let lease = store.take(&asked)?;
            match store.events(&lease.session) {
                Ok(events) => Ok((lease, events)),
                Err(error) => {
                    store.release(lease);
                    Err(error)
                }
            }
        })
        .await??;
        let id = lease.session.clone();
        let mut journal = Self {
            engine: engine.clone(),
            held: Held::new(engine, lease),
            id: id.clone(),
            depth: 0,
            run: Run::default(),
            decisions: Arc::default(),
            behind: false,
        };
        // If the replay fails, dropping the journal releases the lease.
        journal.run =
            Run::replay(&events).map_err(|fault| RuntimeError::Fold { session: id, fault })?;
        let parent = journal
            .run
            .started()
            .and_then(|started| started.parent.as_ref());
        journal.depth = parent.map_or(0, |parent| parent.depth);
        journal.decisions.open(journal.handle());
        Ok((journal, events))
    }

    /// Returns `true` if another process asked to stop this session.
    pub(crate) async fn is_stop_requested(&self) -> Result<bool, RuntimeError> {
        let held = Arc::clone(&self.held);
        let asked = blocking(move || match &held.lease {
            Some(lease) => held.store.is_stop_requested(lease),
            None => Ok(false),
        });
        Ok(asked.await??)
    }

    fn handle(&self) -> JournalHandle {
        JournalHandle {
            engine: self.engine.clone(),
            held: Arc::downgrade(&self.held),
            id: self.id.clone(),
            depth: self.depth,
        }
    }

    /// Records one event.
    pub(crate) async fn write(&mut self, event: Event) -> Result<(), RuntimeError> {
        self.write_all(vec![event]).await
    }

    /// Records several events, all or none. Fails if a decision could not be recorded before, or if
    /// an earlier write was interrupted.
    pub(crate) async fn write_all(&mut self, events: Vec<Event>) -> Result<(), RuntimeError> {
        self.catch_up()?;
        if self.behind {
            let session = self.id.clone();
            return Err(RuntimeError::Interrupted { session });
        }
        for event in &events {
            self.run.check(event).map_err(|fault| RuntimeError::Fold {
                session: self.id.clone(),
                fault,
            })?;
        }
        let at = self.engine.services().clock.now();
        let stamped: Arc<Vec<StampedEvent>> = Arc::new(
            events
                .into_iter()
                .map(|event| StampedEvent { at, event })
                .collect(),
        );
        let (held, written) = (Arc::clone(&self.held), Arc::clone(&stamped));
        self.behind = true;
        match blocking(move || held.append(&written)).await? {
            Ok(()) => {}
            Err(error) => {
                self.behind = !error.wrote_nothing();
                return Err(error.into());
            }
        }
        for event in &*stamped {
            self.fold(event)?;
        }
        self.behind = false;
        Ok(())
    }

    /// Applies the events that tools have recorded on their threads. Fails if one of them could not
    /// be stored.
    pub(crate) fn catch_up(&mut self) -> Result<(), RuntimeError> {
        for stamped in self.decisions.take_recorded() {
            self.run
                .apply(&stamped.event)
                .map_err(|fault| RuntimeError::Fold {
                    session: self.id.clone(),
                    fault,
                })?;
        }
        Ok(self.decisions.check()?)
    }

    fn fold(&mut self, event: &StampedEvent) -> Result<(), RuntimeError> {
        self.run
            .apply(&event.event)
            .map_err(|fault| RuntimeError::Fold {
                session: self.id.clone(),
                fault,
            })?;
        self.engine.tell(&self.id, self.depth, Update::Event(event));
        Ok(())
    }
}

/// Runs blocking work on the blocking thread pool, in the current span.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RuntimeError> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(work))
        .await
        .map_err(|error| RuntimeError::Task(error.to_string()))
}
