//! The session's side of a chat: executes orders and reports results.

use std::sync::Arc;

use super::ChatError;
use prowess::agent::{Ending, Event, FailureKind, Spent, StampedEvent};
use prowess::tools::{ActivationError, ExpandError};
use prowess::traits::SessionError;
use prowess::{CancellationToken, Pause, Runtime, RuntimeError, Session};
use prowess_diag::sanitize;
use prowess_diag::wording::{either, shorten, tick};

use super::command::{Order, near};
use super::complete::Name;
use super::display::{DisplayEvent, of_event, user_message};
use super::item::{Body, View};
use super::state::Facts;
use super::{ChatStart, command_views};

/// The maximum number of past events that are shown.
const MAX_PAST: usize = 500;

/// The maximum number of characters in an error.
const MAX_MESSAGE: usize = 2_000;

/// A session and its runtime.
#[derive(Debug)]
pub(crate) struct Work {
    runtime: Runtime,
    session: Session,
    title: String,
    /// The agent that the chat is with.
    agent: Option<String>,
    /// `true` if the last attempt to record background skills failed.
    note_failed: bool,
    /// `true` if the session waited for an answer when it was resumed.
    was_waiting: bool,
}

/// The result of an order.
#[derive(Debug)]
pub(crate) enum OrderResult {
    Paused(Pause),
    View(View),
    Problem(Problem),
    /// A new session was started.
    Cleared,
}

/// An error, safe for a terminal.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    /// `true` if the action was denied by a rule, a hook or a missing answer.
    pub(crate) refused: bool,
}

impl Work {
    /// Starts or resumes a session.
    pub(crate) async fn begin(runtime: Runtime, begin: ChatStart) -> Result<Self, ChatError> {
        let is_resumed = matches!(begin, ChatStart::Resume { .. });
        let (session, title, agent) = match begin {
            ChatStart::New { title } => (runtime.session(&title).await, title, None),
            ChatStart::Agent { name, title } => {
                let session = runtime.agent_session(&name, &title).await;
                (session, title, Some(name))
            }
            ChatStart::Resume { id } => {
                let session = resume(&runtime, id).await;
                let agent = session.as_ref().ok().and_then(Session::agent);
                let agent = agent.map(ToOwned::to_owned);
                (session, "chat".to_owned(), agent)
            }
        };
        let session = session.map_err(|error| {
            let problem = problem(&error);
            ChatError::Session {
                message: problem.message,
                hints: problem.hints,
            }
        })?;
        let mut work = Self {
            runtime,
            session,
            title,
            agent,
            note_failed: false,
            was_waiting: false,
        };
        work.was_waiting = is_resumed && work.ended_as_waiting().await;
        Ok(work)
    }

    /// Returns `true` once if the session was resumed while it waited for an answer: it asks again
    /// before it takes a message, which would withdraw the question.
    pub(crate) fn take_was_waiting(&mut self) -> bool {
        std::mem::take(&mut self.was_waiting)
    }

    async fn ended_as_waiting(&self) -> bool {
        let Ok(events) = self.events().await else {
            return false;
        };
        let mut endings = events
            .iter()
            .rev()
            .filter_map(|stamped| match &stamped.event {
                Event::Ended { ending } => Some(ending),
                _ => None,
            });
        matches!(endings.next(), Some(Ending::Waiting { .. }))
            && !self.session.run().open_calls().is_empty()
    }

    pub(crate) fn id(&self) -> &str {
        self.session.id()
    }

    pub(crate) fn spent(&self) -> Spent {
        *self.session.spent()
    }

    /// Returns the state for the status line.
    pub(crate) fn facts(&self) -> Facts {
        let clean = |text: &str| sanitize::line(text).into_owned();
        let spent = self.session.spent();
        let about = self.session.model().about();
        Facts {
            about: command_views::about(about),
            model: clean(&about.name),
            turns: spent.turns,
            usage: spent.usage,
            skills: self
                .session
                .skills()
                .iter()
                .map(|skill| clean(&skill.name))
                .collect(),
            background: self.session.background(),
        }
    }

    /// Returns the names that can be completed.
    pub(crate) async fn names(&self) -> Vec<Name> {
        let context = self.session.context().derive();
        tokio::task::spawn_blocking(move || command_views::names(&context))
            .await
            .unwrap_or_default()
    }

    /// Returns the past events of the session.
    pub(crate) async fn past(&self) -> Vec<DisplayEvent> {
        let Ok(events) = self.events().await else {
            return Vec::new();
        };
        let first = events.len().saturating_sub(MAX_PAST);
        let shown =
            |stamped: &StampedEvent| [user_message(&stamped.event), of_event(&stamped.event)];
        events[first..].iter().flat_map(shown).flatten().collect()
    }

    /// Returns the number of skills in the background.
    pub(crate) fn background(&self) -> usize {
        self.session.background()
    }

    /// Waits for a skill in the background. Returns `false` if its result cannot be recorded before
    /// the next order. Dropping the future loses nothing.
    pub(crate) async fn background_ended(&mut self) -> bool {
        !self.note_failed && self.session.background_ended().await
    }

    /// Records the skills in the background that have ended, and continues.
    pub(crate) async fn proceed_after_background(
        &mut self,
        cancel: &CancellationToken,
    ) -> OrderResult {
        let noted = self.session.note_background().await;
        self.note_failed = noted.is_err();
        match noted {
            Ok(()) => became(self.session.proceed(cancel).await),
            Err(error) => became(Err(error)),
        }
    }

    /// Executes an order.
    pub(crate) async fn execute(
        &mut self,
        order: Order,
        cancel: &CancellationToken,
    ) -> OrderResult {
        self.note_failed = false;
        match order {
            Order::Say(text) => self.say(&text, cancel).await,
            Order::Skills => {
                let context = self.session.context().derive();
                let active = self.session.skills().into_iter();
                let active: Vec<_> = active.map(|skill| (skill.name, skill.tokens)).collect();
                shown(
                    tokio::task::spawn_blocking(move || command_views::skills(&context, &active))
                        .await,
                )
            }
            Order::Why(None) => match self.events().await {
                Ok(events) => OrderResult::View(command_views::why_last(&events)),
                Err(error) => OrderResult::Problem(problem(&error)),
            },
            Order::Why(Some(name)) => self.why(name).await,
            Order::Model => OrderResult::View(command_views::model(self.session.model().about())),
            Order::Cost => OrderResult::View(command_views::cost(self.session.spent())),
            Order::Compact => match self.session.shorten(cancel).await {
                Ok(done) => {
                    let text = if done {
                        "The start of the conversation was summarized."
                    } else if cancel.is_cancelled() {
                        "Cancelled. The conversation is unchanged."
                    } else {
                        "There is nothing to summarize yet."
                    };
                    let title = "Compact".to_owned();
                    OrderResult::View(View {
                        title,
                        body: Body::Text(text.to_owned()),
                    })
                }
                Err(error) => OrderResult::Problem(problem(&error)),
            },
            Order::Clear => match self.fresh().await {
                Ok(session) => {
                    self.session = session;
                    OrderResult::Cleared
                }
                Err(error) => OrderResult::Problem(problem(&error)),
            },
        }
    }

    /// Starts another session like this one.
    async fn fresh(&self) -> Result<Session, RuntimeError> {
        match &self.agent {
            Some(agent) => self.runtime.agent_session(agent, &self.title).await,
            None => self.runtime.session(&self.title).await,
        }
    }

    async fn say(&mut self, text: &str, cancel: &CancellationToken) -> OrderResult {
        match self.session.say(text, cancel).await {
            Ok(_) => became(self.session.proceed(cancel).await),
            Err(RuntimeError::Cancelled { .. }) => {
                OrderResult::Paused(Pause::Ended(Ending::Cancelled))
            }
            Err(error) => OrderResult::Problem(problem(&error)),
        }
    }

    async fn why(&self, name: String) -> OrderResult {
        let context = self.session.context().derive();
        let asked = name.clone();
        let view =
            tokio::task::spawn_blocking(move || command_views::why_skill(&context, &asked)).await;
        match view {
            Ok(Err(near)) => OrderResult::Problem(Problem {
                message: format!("no skill named {}", tick(sanitize::line(&name))),
                hints: did_you_mean(near.iter().map(ToString::to_string), ""),
                refused: false,
            }),
            Ok(Ok(view)) => OrderResult::View(view),
            Err(error) => shown(Err(error)),
        }
    }

    async fn events(&self) -> Result<Vec<StampedEvent>, RuntimeError> {
        let store = Arc::clone(self.runtime.engine().sessions());
        let id: Box<str> = self.session.id().into();
        let read = tokio::task::spawn_blocking(move || store.events(&id)).await;
        Ok(read.map_err(|error| RuntimeError::Task(error.to_string()))??)
    }
}

/// Resumes a session by its id or a prefix of it.
async fn resume(runtime: &Runtime, id: String) -> Result<Session, RuntimeError> {
    let store = Arc::clone(runtime.engine().sessions());
    let found = tokio::task::spawn_blocking(move || store.find(&id)).await;
    let id = found.map_err(|error| RuntimeError::Task(error.to_string()))??;
    runtime.resume(&id).await
}

fn shown(view: Result<View, tokio::task::JoinError>) -> OrderResult {
    match view {
        Ok(view) => OrderResult::View(view),
        Err(error) => OrderResult::Problem(problem(&RuntimeError::Task(error.to_string()))),
    }
}

fn became(pause: Result<Pause, RuntimeError>) -> OrderResult {
    match pause {
        Ok(pause) => OrderResult::Paused(pause),
        Err(error) => OrderResult::Problem(problem(&error)),
    }
}

fn did_you_mean(names: impl Iterator<Item = String>, mark: &str) -> Vec<String> {
    let names: Vec<String> = names
        .take(3)
        .map(|name| tick(format!("{mark}{}", sanitize::line(&name))))
        .collect();
    if names.is_empty() {
        Vec::new()
    } else {
        vec![format!("did you mean {}?", either(names))]
    }
}

/// Converts an error to a message with hints.
fn problem(error: &RuntimeError) -> Problem {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let text = inner.to_string();
        if !message.contains(&text) {
            message.push_str(&format!(": {text}"));
        }
        source = inner.source();
    }
    let hints = match error {
        RuntimeError::NoCommand { name, near: skills } => {
            let mut hints = did_you_mean(near(name, skills).into_iter(), "/");
            if hints.is_empty() {
                hints.push("type `/skills` to list skills, or `/help` for commands".to_owned());
            }
            hints
        }
        RuntimeError::Interrupted { session } => {
            vec![format!("continue with `prowess chat --resume {session}`")]
        }
        RuntimeError::Store(SessionError::NotFound { near, .. }) => {
            let mut hints = did_you_mean(near.iter().map(ToString::to_string), "");
            if hints.is_empty() {
                hints.push("run `prowess session list`".to_owned());
            }
            hints
        }
        RuntimeError::NoAgent { name, .. } => {
            vec![format!(
                "define it in the configuration: `[agents.{}]`",
                sanitize::line(name)
            )]
        }
        RuntimeError::UnknownAgent { near, .. } => {
            did_you_mean(near.iter().map(ToString::to_string), "")
        }
        RuntimeError::UntrustedAgent { path, .. } => {
            let path = path.to_string_lossy();
            vec![format!(
                "review and trust it with {}",
                prowess_diag::wording::command(["prowess", "trust", &path])
            )]
        }
        RuntimeError::Skill(ActivationError::Command(ExpandError::Denied { decision, .. }))
        | RuntimeError::Denied { decision, .. }
        | RuntimeError::AgentDenied { decision, .. } => {
            let remedy = decision.remedy.as_ref();
            remedy
                .map(|remedy| sanitize::line(&remedy.to_string()).into_owned())
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    };
    let refused = matches!(
        error,
        RuntimeError::Refused { .. }
            | RuntimeError::NoSkill(_)
            | RuntimeError::UntrustedAgent { .. }
            | RuntimeError::Denied { .. }
            | RuntimeError::AgentDenied { .. }
            | RuntimeError::Skill(ActivationError::Command(ExpandError::Denied { .. }))
    );
    let lines: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let message = shorten(&sanitize::line(&lines.join("; ")), MAX_MESSAGE);
    Problem {
        message,
        hints,
        refused,
    }
}

/// Returns the exit code for the result of a turn.
pub(crate) fn code(became: &OrderResult) -> u8 {
    match became {
        OrderResult::View(_) | OrderResult::Cleared | OrderResult::Paused(Pause::Answered(_)) => 0,
        OrderResult::Problem(problem) => {
            if problem.refused {
                3
            } else {
                2
            }
        }
        OrderResult::Paused(Pause::Ended(ending)) => match ending {
            Ending::Answered | Ending::Submitted { .. } => 0,
            Ending::Declined { .. } => 1,
            Ending::Exhausted { .. } => 5,
            Ending::Cancelled => 130,
            Ending::Waiting { .. } => 6,
            Ending::Failed {
                kind: FailureKind::Auth,
                ..
            } => 4,
            Ending::Failed { .. } => 2,
        },
    }
}
