//! Runs that a tool call starts in a conversation of their own.

use std::sync::Arc;
use std::time::Instant;

use prowess_agent::{Ending, EndingKind, Event, Run, RunLimit, StampedEvent, Started, ToolCall};
use prowess_traits::{SessionError, SessionQuery, SessionStore};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::agent_run::{self, AgentStart};
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::outcome::FinishedRun;
use crate::resume::Above;
use crate::session::Session;
use crate::subrun::{self, MAX_DEPTH, SubRun};

/// The number of the latest sub-runs among which the one of an interrupted call is searched. Other
/// sub-runs can only be newer if they run in the background.
const MAX_SEARCHED: usize = 64;

/// A sub-run of an interrupted call, as it was recorded.
#[derive(Debug)]
pub(crate) struct StoredChild {
    id: Box<str>,
    started: Started,
    run: Run,
}

/// A run that a tool call starts.
#[derive(Debug)]
pub(crate) enum ChildRun {
    /// A skill.
    Skill(Box<SubRun>),
    /// An agent.
    Agent(Box<AgentChild>),
}

/// An agent that a tool call starts.
#[derive(Debug)]
pub(crate) struct AgentChild {
    /// The name that the model used.
    pub(crate) name: Box<str>,
    pub(crate) start: AgentStart,
    pub(crate) task: String,
}

impl Session {
    /// Runs the child of a call to its end, with at most the permissions of this session.
    pub(crate) async fn run_child(
        &mut self,
        _call: &ToolCall,
        child: ChildRun,
        cancel: &CancellationToken,
    ) -> Result<FinishedRun, RuntimeError> {
        let mut context = self.confined();
        match child {
            ChildRun::Skill(sub) => {
                Box::pin(subrun::run_in(&self.engine, &context, *sub, cancel)).await
            }
            ChildRun::Agent(child) => {
                if let Some(outside) = &self.outside {
                    outside.restore(&mut context);
                }
                let AgentChild { start, task, .. } = *child;
                let run = agent_run::run_in(&self.engine, context, start, &task, cancel);
                Box::pin(run).await
            }
        }
    }

    /// Returns the sub-run that an interrupted call has started; `None` if it did nothing yet.
    pub(crate) async fn child_of(
        &self,
        call: &ToolCall,
    ) -> Result<Option<StoredChild>, RuntimeError> {
        let (store, parent) = (Arc::clone(self.engine.sessions()), self.journal.id.clone());
        let call = call.id.clone();
        let found = blocking(move || {
            let query = SessionQuery {
                project: None,
                parent: Some(parent),
                limit: MAX_SEARCHED,
            };
            for child in store.list(&query)? {
                let events = store.events(&child.id)?;
                let Some(Event::Started(started)) = events.first().map(|first| &first.event) else {
                    continue;
                };
                let by = started.parent.as_ref().and_then(|it| it.call.as_ref());
                if by != Some(&call) {
                    continue;
                }
                let has_begun = events.iter().any(|stamped| {
                    matches!(
                        stamped.event,
                        Event::Said { .. }
                            | Event::ActivationStarted { .. }
                            | Event::Questioned(_)
                            | Event::Ended { .. }
                    )
                });
                return Ok(has_begun.then_some((child.id, events)));
            }
            Ok::<_, SessionError>(None)
        })
        .await??;
        let Some((id, events)) = found else {
            return Ok(None);
        };
        let run = Run::replay(&events).map_err(|fault| RuntimeError::Fold {
            session: id.clone(),
            fault,
        })?;
        let started = run.started().cloned().unwrap_or_default();
        Ok(Some(StoredChild { id, started, run }))
    }

    /// Ends the sub-runs that wait for an answer: the calls that started them get other results.
    pub(crate) async fn withdraw_children(&self) -> Result<(), RuntimeError> {
        let (store, id) = (Arc::clone(self.engine.sessions()), self.journal.id.clone());
        let at = self.engine.services().clock.now();
        Ok(blocking(move || withdraw(&*store, &id, at, 0)).await??)
    }

    /// Continues the sub-run of an interrupted call, or takes its result if it has ended, and records
    /// the result of the call.
    pub(crate) async fn continue_child(
        &mut self,
        call: &ToolCall,
        child: StoredChild,
        cancel: &CancellationToken,
        span: &Span,
    ) -> Result<(), RuntimeError> {
        // The sub-run had effects; a question of a hook after it cannot repeat the call.
        self.journal.decisions.commit();
        let began = Instant::now();
        let started = &child.started;
        let agent = started.agent.as_ref().map(|agent| agent.name.clone());
        let name = started.skill.clone().or(agent);
        let name = name.unwrap_or_else(|| started.title.as_str().into());
        let finished = self.resume_child(child, cancel).await;
        if let Some(ending) = self.stopped_with(&finished) {
            self.end(ending).await?;
            return Ok(());
        }
        match self.child_result(call, &name, finished)? {
            Some((result, usage)) => self.forked(call, result, usage, began, span).await,
            None => Ok(()),
        }
    }

    /// Runs a recorded sub-run to its end, with at most the permissions of this session.
    async fn resume_child(
        &mut self,
        child: StoredChild,
        cancel: &CancellationToken,
    ) -> Result<FinishedRun, RuntimeError> {
        let StoredChild { id, run, started } = child;
        let in_mission = self.engine.mission().is_some();
        let continues = |ending: &&Ending| {
            matches!(ending, Ending::Waiting { .. }) || in_mission && is_stopped(ending)
        };
        if let Some(ending) = run.ending().filter(|ending| !continues(ending)) {
            let text = run.answer();
            return Ok(FinishedRun {
                session: id,
                ending: subrun::ended_as(ending.clone(), &text),
                text,
                spent: *run.spent(),
            });
        }
        self.check_restrictions()?;
        let mut context = self.confined();
        if started.agent.is_some() && started.skill.is_none() {
            // An agent is not limited to what the agent of this session replaced.
            if let Some(outside) = &self.outside {
                outside.restore(&mut context);
            }
        }
        let above = Above::Restricted(&context);
        let resumed = Session::resume_within(&self.engine, above, &id, None);
        let mut session = Box::pin(resumed).await?;
        let pause = Box::pin(session.proceed(cancel)).await?;
        subrun::finish(session, pause).await
    }
}

impl Session {
    /// Returns the ending of this session if its sub-run was stopped with the mission that both
    /// belong to. The call stays open, and continues when the mission is resumed.
    pub(crate) fn stopped_with(
        &self,
        finished: &Result<FinishedRun, RuntimeError>,
    ) -> Option<Ending> {
        let parts = self.engine.mission()?;
        let ending = &finished.as_ref().ok()?.ending;
        let is_spent = parts.meter.limit().is_some();
        let stops = matches!(ending, Ending::Cancelled) || is_stopped(ending) && is_spent;
        stops.then(|| ending.clone())
    }
}

/// Returns `true` if a run ended because it was cancelled or a budget was used up.
fn is_stopped(ending: &Ending) -> bool {
    matches!(
        ending,
        Ending::Cancelled
            | Ending::Exhausted {
                limit: RunLimit::Tokens | RunLimit::Money
            }
    )
}

/// Ends the sub-runs of a session that wait for an answer, and those below them. One that another
/// process continues is left alone.
pub(crate) fn withdraw(
    store: &dyn SessionStore,
    parent: &str,
    at: i64,
    depth: u8,
) -> Result<(), SessionError> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    let query = SessionQuery {
        project: None,
        parent: Some(parent.into()),
        limit: MAX_SEARCHED,
    };
    for child in store.list(&query)? {
        if child.ending != Some(EndingKind::Waiting) {
            continue;
        }
        withdraw(store, &child.id, at, depth + 1)?;
        let lease = match store.take(&child.id) {
            Ok(lease) => lease,
            Err(SessionError::InUse { .. } | SessionError::NotFound { .. }) => continue,
            Err(error) => return Err(error),
        };
        let ended = StampedEvent {
            at,
            event: Event::Ended {
                ending: Ending::Cancelled,
            },
        };
        let written = store.append(&lease, &[ended]);
        store.release(lease);
        written?;
    }
    Ok(())
}
