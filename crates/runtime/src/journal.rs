//! Writing events down before anything is done.

use std::sync::Arc;

use prowess_agent::{Event, Run, Stamped};
use prowess_traits::{Lease, SessionStore, Update};

use crate::engine::Engine;
use crate::error::RuntimeError;

/// A session that is written to, and the conversation that its events make.
#[derive(Debug)]
pub(crate) struct Journal {
    engine: Engine,
    held: Arc<Held>,
    pub(crate) id: Box<str>,
    pub(crate) depth: u8,
    pub(crate) run: Run,
}

/// The right to write to a session. It is given back when the last who has it is done, be that a
/// write that nobody waits for any more.
#[derive(Debug)]
struct Held {
    store: Arc<dyn SessionStore>,
    lease: Option<Lease>,
}

impl Held {
    fn new(engine: &Engine, lease: Lease) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(engine.sessions()),
            lease: Some(lease),
        })
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
    /// Begins a session.
    pub(crate) async fn begin(
        engine: &Engine,
        first: Event,
        depth: u8,
    ) -> Result<Self, RuntimeError> {
        let first = Stamped {
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
        };
        journal.fold(&first)?;
        Ok(journal)
    }

    /// Takes a session up again.
    pub(crate) async fn take(
        engine: &Engine,
        id: &str,
    ) -> Result<(Self, Vec<Stamped>), RuntimeError> {
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
        };
        // The lease is given back with the journal, whatever is wrong with the events.
        journal.run =
            Run::replay(&events).map_err(|fault| RuntimeError::Fold { session: id, fault })?;
        let parent = journal
            .run
            .started()
            .and_then(|started| started.parent.as_ref());
        journal.depth = parent.map_or(0, |parent| parent.depth);
        Ok((journal, events))
    }

    /// Writes one event down.
    pub(crate) async fn write(&mut self, event: Event) -> Result<(), RuntimeError> {
        self.write_all(vec![event]).await
    }

    /// Writes events down, all or none.
    pub(crate) async fn write_all(&mut self, events: Vec<Event>) -> Result<(), RuntimeError> {
        for event in &events {
            self.run.check(event).map_err(|fault| RuntimeError::Fold {
                session: self.id.clone(),
                fault,
            })?;
        }
        let at = self.engine.services().clock.now();
        let stamped: Arc<Vec<Stamped>> = Arc::new(
            events
                .into_iter()
                .map(|event| Stamped { at, event })
                .collect(),
        );
        let (held, written) = (Arc::clone(&self.held), Arc::clone(&stamped));
        blocking(move || match &held.lease {
            Some(lease) => held.store.append(lease, &written),
            None => Ok(()),
        })
        .await??;
        for event in &*stamped {
            self.fold(event)?;
        }
        Ok(())
    }

    fn fold(&mut self, event: &Stamped) -> Result<(), RuntimeError> {
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

/// Does something that blocks where that hurts nobody.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RuntimeError> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(work))
        .await
        .map_err(|error| RuntimeError::Task(error.to_string()))
}
