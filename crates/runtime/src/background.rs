//! Skills that run in the background of a session.

use std::collections::VecDeque;

use prowess_agent::Event;
use prowess_tools::Unattended;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::error::RuntimeError;
use crate::outcome::FinishedRun;
use crate::session::Session;
use crate::subrun::{self, SubRun};

/// The name and the outcome of a background skill.
type EndedSkill = Result<(Box<str>, Result<FinishedRun, RuntimeError>), JoinError>;

/// The skills running in the background. They are aborted when the session is dropped.
#[derive(Debug, Default)]
pub(crate) struct Background {
    running: JoinSet<(Box<str>, Result<FinishedRun, RuntimeError>)>,
    /// Skills that ended and are not recorded yet, oldest first.
    ended: VecDeque<EndedSkill>,
}

/// Maximum number of skills running in the background at once.
pub(crate) const MAX_BACKGROUND: usize = 20;

impl Session {
    /// Starts a skill without waiting for it.
    pub(crate) fn run_in_background(
        &mut self,
        name: &str,
        sub: SubRun,
        cancel: &CancellationToken,
    ) {
        let (engine, mut context) = (self.engine.clone(), self.confined());
        // The call is answered at once, so that no answer could continue it later.
        context.settings.unattended = Unattended::Deny;
        let (name, cancel): (Box<str>, _) = (name.into(), cancel.child_token());
        self.background.running.spawn(async move {
            let ended = Box::pin(subrun::run_in(&engine, &context, sub, &cancel)).await;
            (name, ended)
        });
    }

    /// Returns the number of skills running in the background.
    pub fn background(&self) -> usize {
        self.background.running.len() + self.background.ended.len()
    }

    /// Waits until a background skill ends. Returns `false` if none is running, or if tool calls are
    /// still open. Dropping the future loses nothing.
    pub async fn background_ended(&mut self) -> bool {
        // The note cannot be placed between a tool call and its result.
        if !self.journal.run.open_calls().is_empty() {
            return false;
        }
        if self.background.ended.is_empty()
            && let Some(ended) = self.background.running.join_next().await
        {
            self.background.ended.push_back(ended);
        }
        !self.background.ended.is_empty()
    }

    /// Waits until a background skill finishes and records its result, which the model reads at the
    /// next [`Session::proceed`]. Returns `false` if no skill is running in the background, or if
    /// tool calls are still open.
    pub async fn wait_for_background(&mut self) -> Result<bool, RuntimeError> {
        if !self.background_ended().await {
            return Ok(false);
        }
        self.note_background().await.map(|()| true)
    }

    /// Records the results of background skills that have ended. Does nothing while tool calls are
    /// open. A result that cannot be stored is kept for the next call.
    pub async fn note_background(&mut self) -> Result<(), RuntimeError> {
        while let Some(ended) = self.background.running.try_join_next() {
            self.background.ended.push_back(ended);
        }
        if !self.journal.run.open_calls().is_empty() {
            return Ok(());
        }
        while let Some(ended) = self.background.ended.front() {
            self.journal.write(note(ended)).await?;
            self.background.ended.pop_front();
        }
        Ok(())
    }
}

/// Returns the note for the model about a background skill that ended.
fn note(ended: &EndedSkill) -> Event {
    let (text, usage) = match ended {
        Ok((name, Ok(finished))) => {
            let (text, _) = subrun::report(name, finished);
            (text, Some(finished.spent.usage))
        }
        Ok((name, Err(error))) => (format!("Skill `{name}` failed: {error}"), None),
        Err(_) => (
            "A skill in the background stopped unexpectedly.".to_owned(),
            None,
        ),
    };
    Event::Noted {
        text: format!("[{text}]"),
        known: Vec::new(),
        usage,
    }
}
