//! Skills that work in the background of a session.

use prowess_agent::Event;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::error::RuntimeError;
use crate::outcome::Finished;
use crate::session::Session;
use crate::subrun::{self, SubRun};

/// Skills that work in the background. They end with the session.
pub(crate) type Background = JoinSet<(Box<str>, Result<Finished, RuntimeError>)>;

/// Most skills that work in the background at once.
pub(crate) const MAX_BACKGROUND: usize = 20;

impl Session {
    /// Starts a skill that is not waited for.
    pub(crate) fn run_in_background(
        &mut self,
        name: &str,
        sub: SubRun,
        cancel: &CancellationToken,
    ) {
        let (engine, context) = (self.engine.clone(), self.confined());
        let (name, cancel): (Box<str>, _) = (name.into(), cancel.child_token());
        self.background.spawn(async move {
            let ended = Box::pin(subrun::run_in(&engine, &context, sub, &cancel)).await;
            (name, ended)
        });
    }

    /// How many skills work in the background.
    pub fn background(&self) -> usize {
        self.background.len()
    }

    /// Waits until a skill that works in the background is done, and notes what came out, so that
    /// [`Session::proceed`] tells the model. Tells whether there was one.
    pub async fn wait_for_background(&mut self) -> Result<bool, RuntimeError> {
        // The model is told between two of its answers, and not while a call waits for its own.
        if !self.journal.run.open_calls().is_empty() {
            return Ok(false);
        }
        match self.background.join_next().await {
            Some(ended) => self.note_ended(ended).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Notes what came out of skills that are done.
    pub(crate) async fn note_background(&mut self) -> Result<(), RuntimeError> {
        while let Some(ended) = self.background.try_join_next() {
            self.note_ended(ended).await?;
        }
        Ok(())
    }

    async fn note_ended(
        &mut self,
        ended: Result<(Box<str>, Result<Finished, RuntimeError>), JoinError>,
    ) -> Result<(), RuntimeError> {
        let (text, usage) = match ended {
            Ok((name, Ok(finished))) => {
                let (text, _) = subrun::report(&name, &finished);
                (text, Some(finished.spent.usage))
            }
            Ok((name, Err(error))) => (format!("The skill {name} failed: {error}"), None),
            Err(_) => (
                "A skill in the background ended unexpectedly.".to_owned(),
                None,
            ),
        };
        let text = format!("[{text}]");
        self.journal
            .write(Event::Noted {
                text,
                known: Vec::new(),
                usage,
            })
            .await
    }
}
