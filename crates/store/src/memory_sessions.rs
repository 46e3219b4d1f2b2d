//! Sessions in memory, for tests and for programs without files.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prowess_agent::StampedEvent;
use prowess_traits::{Lease, MAX_EVENT, SessionError, SessionQuery, SessionStore, SessionSummary};

use crate::ids::{self, LATEST, NEAR};
use crate::session_summary::{follow, summarize};

/// Stores sessions in memory.
#[derive(Debug, Default)]
pub struct MemorySessions {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<Box<str>, Kept>,
    /// The number of writes.
    turn: u64,
}

#[derive(Debug)]
struct Kept {
    summary: SessionSummary,
    events: Vec<StampedEvent>,
    token: Option<u64>,
    /// The number of the last write. Clocks can be set back.
    turn: u64,
}

impl MemorySessions {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No change can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for MemorySessions {
    fn create(&self, first: &StampedEvent) -> Result<Lease, SessionError> {
        encode(first, "new")?;
        let mut state = self.lock();
        let taken = |id: &str| Ok::<_, Infallible>(state.sessions.contains_key(id));
        let Ok(session) = ids::new_id(taken);
        let token = ids::random();
        let turn = state.next_turn();
        let summary = summarize(session.clone(), first);
        let events = vec![first.clone()];
        state.sessions.insert(
            session.clone(),
            Kept {
                summary,
                events,
                token: Some(token),
                turn,
            },
        );
        Ok(Lease { session, token })
    }

    fn take(&self, id: &str) -> Result<Lease, SessionError> {
        let mut state = self.lock();
        let Some(kept) = state.sessions.get_mut(id) else {
            return Err(state.missing(id));
        };
        if kept.token.is_some() {
            return Err(in_use(id));
        }
        let token = ids::random();
        kept.token = Some(token);
        Ok(Lease {
            session: id.into(),
            token,
        })
    }

    fn append(&self, lease: &Lease, events: &[StampedEvent]) -> Result<(), SessionError> {
        for event in events {
            encode(event, &lease.session)?;
        }
        let mut state = self.lock();
        let turn = state.next_turn();
        let Some(kept) = state.sessions.get_mut(&lease.session) else {
            return Err(state.missing(&lease.session));
        };
        if kept.token != Some(lease.token) {
            return Err(SessionError::Lost {
                session: lease.session.clone(),
            });
        }
        for event in events {
            kept.summary.events += 1;
            kept.summary.updated = event.at;
            follow(&mut kept.summary.ending, &event.event);
            kept.events.push(event.clone());
            kept.turn = turn;
        }
        Ok(())
    }

    fn release(&self, lease: Lease) {
        let mut state = self.lock();
        if let Some(kept) = state.sessions.get_mut(&lease.session)
            && kept.token == Some(lease.token)
        {
            kept.token = None;
        }
    }

    fn events(&self, id: &str) -> Result<Vec<StampedEvent>, SessionError> {
        let state = self.lock();
        let kept = state.sessions.get(id).ok_or_else(|| state.missing(id))?;
        Ok(kept.events.clone())
    }

    fn list(&self, query: &SessionQuery) -> Result<Vec<SessionSummary>, SessionError> {
        let state = self.lock();
        let wanted = |summary: &SessionSummary| {
            summary.parent == query.parent
                && query
                    .project
                    .as_ref()
                    .is_none_or(|project| *project == summary.project)
        };
        let found = state
            .latest()
            .into_iter()
            .filter(|kept| wanted(&kept.summary));
        let told = |kept: &Kept| SessionSummary {
            live: kept.token.is_some(),
            ..kept.summary.clone()
        };
        Ok(found.take(query.limit).map(told).collect())
    }

    fn find(&self, prefix: &str) -> Result<Box<str>, SessionError> {
        let state = self.lock();
        ids::choose(prefix, state.starting(prefix), &state.latest_ids())
    }

    fn remove(&self, id: &str) -> Result<u64, SessionError> {
        let mut state = self.lock();
        if !state.sessions.contains_key(id) {
            return Err(state.missing(id));
        }
        let mut family = vec![Box::from(id)];
        let mut next = 0;
        while let Some(parent) = family.get(next).cloned() {
            next += 1;
            for (child, kept) in &state.sessions {
                if kept.summary.parent.as_ref() == Some(&parent) && !family.contains(child) {
                    family.push(child.clone());
                }
            }
        }
        let held = |id: &str| {
            state
                .sessions
                .get(id)
                .is_some_and(|kept| kept.token.is_some())
        };
        if let Some(held) = family.iter().find(|id| held(id)) {
            return Err(in_use(held));
        }
        state.sessions.retain(|id, _| !family.contains(id));
        Ok(u64::try_from(family.len()).unwrap_or(u64::MAX))
    }
}

impl State {
    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    fn latest(&self) -> Vec<&Kept> {
        let mut all: Vec<&Kept> = self.sessions.values().collect();
        all.sort_by_key(|kept| std::cmp::Reverse(kept.turn));
        all
    }

    fn latest_ids(&self) -> Vec<Box<str>> {
        self.latest()
            .into_iter()
            .take(LATEST)
            .map(|kept| kept.summary.id.clone())
            .collect()
    }

    fn starting(&self, prefix: &str) -> Vec<Box<str>> {
        let prefix = ids::normal(prefix);
        if prefix.is_empty() {
            return Vec::new();
        }
        let found = self.sessions.keys().filter(|id| id.starts_with(&prefix));
        found.take(NEAR).cloned().collect()
    }

    fn missing(&self, id: &str) -> SessionError {
        ids::missing(id, self.starting(id), &self.latest_ids())
    }
}

/// Encodes an event, unless it is too large.
pub(crate) fn encode(event: &StampedEvent, session: &str) -> Result<Vec<u8>, SessionError> {
    let text = serde_json::to_vec(event).map_err(|error| SessionError::Failed {
        store: session.into(),
        source: Box::new(error),
    })?;
    if text.len() > MAX_EVENT {
        return Err(SessionError::TooLarge {
            session: session.into(),
            bytes: text.len(),
        });
    }
    Ok(text)
}

fn in_use(session: &str) -> SessionError {
    SessionError::InUse {
        session: session.into(),
        process: std::process::id(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    prowess_test::session_conformance!((MemorySessions::new(), ()));
}
