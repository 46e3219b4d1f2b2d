//! Sessions in memory, for tests and for programs without files.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prowess_agent::{Question, StampedEvent};
use prowess_traits::{
    Answer, AnswerOutcome, Lease, MAX_EVENT, OpenQuestion, QuestionQuery, SessionError,
    SessionQuery, SessionStore, SessionSummary, StoredQuestion,
};

use crate::ids::{self, LATEST, NEAR};
use crate::inbox::{self, InboxChange, MAX_PARENTS};
use crate::session_summary::{follow, summarize};

/// Stores sessions in memory.
#[derive(Debug, Default)]
pub struct MemorySessions {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<Box<str>, Kept>,
    /// The questions, in the order of asking.
    questions: Vec<KeptQuestion>,
    /// The number of writes.
    turn: u64,
}

#[derive(Debug)]
struct Kept {
    summary: SessionSummary,
    events: Vec<StampedEvent>,
    token: Option<u64>,
    /// The token of the lease that was asked to stop.
    stopped: Option<u64>,
    /// The number of the last write. Clocks can be set back.
    turn: u64,
}

#[derive(Debug)]
struct KeptQuestion {
    question: Question,
    session: Box<str>,
    at: i64,
    answer: Option<Answer>,
    gone: Option<Box<str>>,
}

impl KeptQuestion {
    fn is_open(&self) -> bool {
        self.answer.is_none() && self.gone.is_none()
    }
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
                stopped: None,
                turn,
            },
        );
        Ok(Lease::new(session, token, 1))
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
        Ok(Lease::new(id, token, kept.summary.events))
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
        let (expected, found) = (lease.position(), kept.summary.events);
        let moved = expected.saturating_add(u64::try_from(events.len()).unwrap_or(u64::MAX));
        if expected != found && !events.is_empty() {
            // An earlier attempt may have written them although it failed.
            let stored = usize::try_from(expected)
                .ok()
                .and_then(|from| kept.events.get(from..)?.get(..events.len()));
            if stored != Some(events) {
                return Err(SessionError::Position {
                    session: lease.session.clone(),
                    expected,
                    found,
                });
            }
            lease.set_position(moved);
            return Ok(());
        }
        for event in events {
            kept.summary.events += 1;
            kept.summary.updated = event.at;
            follow(&mut kept.summary.ending, &event.event);
            kept.events.push(event.clone());
            kept.turn = turn;
        }
        for event in events {
            state.update_inbox(&lease.session, event);
        }
        lease.set_position(moved);
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
        state
            .questions
            .retain(|kept| !family.contains(&kept.session));
        Ok(u64::try_from(family.len()).unwrap_or(u64::MAX))
    }

    fn request_stop(&self, id: &str) -> Result<(), SessionError> {
        let mut state = self.lock();
        let Some(kept) = state.sessions.get_mut(id) else {
            return Err(state.missing(id));
        };
        kept.stopped = kept.token.or(kept.stopped);
        Ok(())
    }

    fn is_stop_requested(&self, lease: &Lease) -> Result<bool, SessionError> {
        let state = self.lock();
        let kept = state.sessions.get(&lease.session);
        Ok(kept.is_some_and(|kept| kept.stopped == Some(lease.token)))
    }

    fn questions(&self, query: &QuestionQuery) -> Result<Vec<OpenQuestion>, SessionError> {
        let state = self.lock();
        let open = state.questions.iter().filter(|kept| kept.is_open());
        let open = open.map(|kept| state.stored(kept).asked);
        let wanted = |asked: &OpenQuestion| {
            let project = query.project.as_ref();
            project.is_none_or(|project| *project == asked.project)
        };
        Ok(open.filter(wanted).take(query.limit).collect())
    }

    fn question(&self, id: &str) -> Result<StoredQuestion, SessionError> {
        let state = self.lock();
        let found = inbox::choose(
            id,
            &state.questions_starting(id, KeptQuestion::is_open),
            state.questions_starting(id, |_| true),
            &state.latest_questions(),
        )?;
        let kept = state
            .questions
            .iter()
            .find(|kept| kept.question.id == found);
        kept.map(|kept| state.stored(kept))
            .ok_or_else(|| inbox::missing(id, Vec::new(), &[]))
    }

    fn answer(&self, id: &str, answer: &Answer) -> Result<AnswerOutcome, SessionError> {
        let mut state = self.lock();
        let (starting, latest) = (
            state.questions_starting(id, |_| true),
            state.latest_questions(),
        );
        let mut questions = state.questions.iter();
        let Some(at) = questions.position(|kept| *kept.question.id == *id) else {
            return Err(inbox::missing(id, starting, &latest));
        };
        let outcome = inbox::outcome(state.stored(&state.questions[at]), answer.at);
        if outcome == AnswerOutcome::Stored {
            state.questions[at].answer = Some(answer.clone());
        }
        Ok(outcome)
    }
}

impl State {
    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// Applies an event to the inbox.
    fn update_inbox(&mut self, session: &str, event: &StampedEvent) {
        let questions = &mut self.questions;
        let mut drop_open = |why: &str, is_meant: &dyn Fn(&Question) -> bool| {
            for kept in &mut *questions {
                if *kept.session == *session && kept.is_open() && is_meant(&kept.question) {
                    kept.gone = Some(why.into());
                }
            }
        };
        match inbox::change(event) {
            None => {}
            Some(InboxChange::Ask(question)) => {
                drop_open(&inbox::replaced(&question.id), &|other| {
                    other.call == question.call
                });
                if questions.iter().all(|kept| kept.question.id != question.id) {
                    questions.push(KeptQuestion {
                        question: question.clone(),
                        session: session.into(),
                        at: event.at,
                        answer: None,
                        gone: None,
                    });
                }
            }
            Some(InboxChange::Answer(id, answer)) => {
                let is_meant = |kept: &&mut KeptQuestion| {
                    *kept.question.id == *id && *kept.session == *session
                };
                if let Some(kept) = questions.iter_mut().find(is_meant) {
                    kept.answer.get_or_insert(answer);
                }
            }
            Some(InboxChange::DropCall(call, why)) => {
                drop_open(why, &|question| question.call.as_deref() == call);
            }
            Some(InboxChange::DropAll(why)) => drop_open(&why, &|_| true),
        }
    }

    fn stored(&self, kept: &KeptQuestion) -> StoredQuestion {
        let summary = |id: &str| self.sessions.get(id).map(|kept| &kept.summary);
        let mut root = kept.session.clone();
        for _ in 0..MAX_PARENTS {
            match summary(&root).and_then(|summary| summary.parent.clone()) {
                Some(parent) => root = parent,
                None => break,
            }
        }
        StoredQuestion {
            asked: OpenQuestion {
                question: kept.question.clone(),
                session: kept.session.clone(),
                root,
                project: summary(&kept.session)
                    .map(|summary| summary.project.clone())
                    .unwrap_or_default(),
                at: kept.at,
            },
            state: inbox::state(kept.answer.clone(), kept.gone.clone()),
        }
    }

    fn questions_starting(
        &self,
        prefix: &str,
        wanted: impl Fn(&KeptQuestion) -> bool,
    ) -> Vec<Box<str>> {
        let prefix = ids::normal(prefix);
        if prefix.is_empty() {
            return Vec::new();
        }
        let questions = self.questions.iter().filter(|kept| wanted(kept));
        let mut found: Vec<Box<str>> = questions
            .map(|kept| kept.question.id.clone())
            .filter(|id| id.starts_with(&prefix))
            .collect();
        found.sort();
        found.truncate(NEAR);
        found
    }

    fn latest_questions(&self) -> Vec<Box<str>> {
        let questions = self.questions.iter().rev().take(LATEST);
        questions.map(|kept| kept.question.id.clone()).collect()
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
        holder: format!("process {} on this machine", std::process::id()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    prowess_test::session_conformance!((MemorySessions::new(), ()));
}
