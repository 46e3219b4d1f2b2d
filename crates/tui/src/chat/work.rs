//! The session's side of a chat: does what is ordered, and says how it went.

use std::sync::Arc;

use super::ChatError;
use prowess::agent::{Ending, FailureKind, Spent, Stamped};
use prowess::tools::{ActivationError, ExpandError};
use prowess::traits::SessionError;
use prowess::{CancellationToken, Pause, Runtime, RuntimeError, Session};
use prowess_diag::sanitize;
use prowess_diag::wording::{either, shorten, tick};

use super::command::{Order, near};
use super::complete::Name;
use super::item::{Body, View};
use super::news::{News, of_event, said};
use super::state::Facts;
use super::{Begin, views};

/// Most events of the past that are shown.
const MAX_PAST: usize = 500;

/// Most characters of what is said about something that did not work.
const MAX_MESSAGE: usize = 2_000;

/// A session, and what it belongs to.
#[derive(Debug)]
pub(crate) struct Work {
    runtime: Runtime,
    session: Session,
    title: String,
}

/// What became of an order.
#[derive(Debug)]
pub(crate) enum Became {
    Paused(Pause),
    View(View),
    Problem(Problem),
    /// Another session began.
    Cleared,
}

/// Something that did not work, in words that are safe for a terminal.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    /// Whether a rule, a hook or nobody's answer was in the way.
    pub(crate) refused: bool,
}

impl Work {
    /// Begins a session, or takes one up again.
    pub(crate) async fn begin(runtime: Runtime, begin: Begin) -> Result<Self, ChatError> {
        let (session, title) = match begin {
            Begin::New { title } => (runtime.session(&title).await, title),
            Begin::Resume { id } => (resume(&runtime, id).await, "chat".to_owned()),
        };
        let session = session.map_err(|error| {
            let problem = problem(&error);
            ChatError::Session {
                message: problem.message,
                hints: problem.hints,
            }
        })?;
        Ok(Self {
            runtime,
            session,
            title,
        })
    }

    pub(crate) fn id(&self) -> &str {
        self.session.id()
    }

    pub(crate) fn spent(&self) -> Spent {
        *self.session.spent()
    }

    /// How things are.
    pub(crate) fn facts(&self) -> Facts {
        let clean = |text: &str| sanitize::line(text).into_owned();
        let spent = self.session.spent();
        let about = self.session.model().about();
        Facts {
            about: views::about(about),
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

    /// What people may call by name.
    pub(crate) async fn names(&self) -> Vec<Name> {
        let context = self.session.context().derive();
        tokio::task::spawn_blocking(move || views::names(&context))
            .await
            .unwrap_or_default()
    }

    /// What was said before.
    pub(crate) async fn past(&self) -> Vec<News> {
        let Ok(events) = self.events().await else {
            return Vec::new();
        };
        let first = events.len().saturating_sub(MAX_PAST);
        let news = |stamped: &Stamped| [said(&stamped.event), of_event(&stamped.event)];
        events[first..].iter().flat_map(news).flatten().collect()
    }

    /// How many skills work in the background.
    pub(crate) fn background(&self) -> usize {
        self.session.background()
    }

    /// Waits for a skill in the background.
    pub(crate) async fn wait(&mut self) -> Result<bool, RuntimeError> {
        self.session.wait_for_background().await
    }

    /// Goes on after a skill in the background was done.
    pub(crate) async fn go_on(&mut self, cancel: &CancellationToken) -> Became {
        became(self.session.proceed(cancel).await)
    }

    /// Does what is ordered.
    pub(crate) async fn obey(&mut self, order: Order, cancel: &CancellationToken) -> Became {
        match order {
            Order::Say(text) => self.say(&text, cancel).await,
            Order::Skills => {
                let context = self.session.context().derive();
                let active = self.session.skills().into_iter();
                let active: Vec<_> = active.map(|skill| (skill.name, skill.tokens)).collect();
                shown(tokio::task::spawn_blocking(move || views::skills(&context, &active)).await)
            }
            Order::Why(None) => match self.events().await {
                Ok(events) => Became::View(views::why_last(&events)),
                Err(error) => Became::Problem(problem(&error)),
            },
            Order::Why(Some(name)) => self.why(name).await,
            Order::Model => Became::View(views::model(self.session.model().about())),
            Order::Cost => Became::View(views::cost(self.session.spent())),
            Order::Compact => match self.session.shorten(cancel).await {
                Ok(done) => {
                    let text = if done {
                        "The beginning was summed up."
                    } else {
                        "There is nothing to sum up yet."
                    };
                    let title = "Compact".to_owned();
                    Became::View(View {
                        title,
                        body: Body::Text(text.to_owned()),
                    })
                }
                Err(error) => Became::Problem(problem(&error)),
            },
            Order::Clear => match self.runtime.session(&self.title).await {
                Ok(session) => {
                    self.session = session;
                    Became::Cleared
                }
                Err(error) => Became::Problem(problem(&error)),
            },
        }
    }

    async fn say(&mut self, text: &str, cancel: &CancellationToken) -> Became {
        if let Err(error) = self.session.say(text, cancel).await {
            return Became::Problem(problem(&error));
        }
        became(self.session.proceed(cancel).await)
    }

    async fn why(&self, name: String) -> Became {
        let context = self.session.context().derive();
        let budget = self.runtime.engine().settings().index;
        let asked = name.clone();
        let view =
            tokio::task::spawn_blocking(move || views::why_skill(&context, budget, &asked)).await;
        match view {
            Ok(Err(near)) => Became::Problem(Problem {
                message: format!("no skill named {}", tick(sanitize::line(&name))),
                hints: did_you_mean(near.iter().map(ToString::to_string), ""),
                refused: false,
            }),
            Ok(Ok(view)) => Became::View(view),
            Err(error) => shown(Err(error)),
        }
    }

    async fn events(&self) -> Result<Vec<Stamped>, RuntimeError> {
        let store = Arc::clone(self.runtime.engine().sessions());
        let id: Box<str> = self.session.id().into();
        let read = tokio::task::spawn_blocking(move || store.events(&id)).await;
        Ok(read.map_err(|error| RuntimeError::Task(error.to_string()))??)
    }
}

/// Takes a session up again; the beginning of its id will do.
async fn resume(runtime: &Runtime, id: String) -> Result<Session, RuntimeError> {
    let store = Arc::clone(runtime.engine().sessions());
    let found = tokio::task::spawn_blocking(move || store.find(&id)).await;
    let id = found.map_err(|error| RuntimeError::Task(error.to_string()))??;
    runtime.resume(&id).await
}

fn shown(view: Result<View, tokio::task::JoinError>) -> Became {
    match view {
        Ok(view) => Became::View(view),
        Err(error) => Became::Problem(problem(&RuntimeError::Task(error.to_string()))),
    }
}

fn became(pause: Result<Pause, RuntimeError>) -> Became {
    match pause {
        Ok(pause) => Became::Paused(pause),
        Err(error) => Became::Problem(problem(&error)),
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

/// Why something did not work, and what to type.
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
                hints.push("`/skills` shows what there is, `/help` the commands".to_owned());
            }
            hints
        }
        RuntimeError::Store(SessionError::NotFound { near, .. }) => {
            let mut hints = did_you_mean(near.iter().map(ToString::to_string), "");
            if hints.is_empty() {
                hints.push("list the sessions with `prowess session list`".to_owned());
            }
            hints
        }
        RuntimeError::NoAgent { name, .. } => {
            vec![format!(
                "define it in the configuration: `[agents.{}]`",
                sanitize::line(name)
            )]
        }
        RuntimeError::Skill(ActivationError::Command(ExpandError::Denied { decision, .. })) => {
            let remedy = decision.remedy.as_deref();
            remedy
                .map(|remedy| sanitize::line(remedy).into_owned())
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    };
    let refused = matches!(
        error,
        RuntimeError::Refused { .. }
            | RuntimeError::NoSkill(_)
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

/// The exit code for how a turn ended.
pub(crate) fn code(became: &Became) -> u8 {
    match became {
        Became::View(_) | Became::Cleared | Became::Paused(Pause::Answered(_)) => 0,
        Became::Problem(problem) => {
            if problem.refused {
                3
            } else {
                2
            }
        }
        Became::Paused(Pause::Ended(ending)) => match ending {
            Ending::Answered | Ending::Submitted { .. } => 0,
            Ending::Declined { .. } => 1,
            Ending::Exhausted { .. } => 5,
            Ending::Cancelled => 130,
            Ending::Failed {
                kind: FailureKind::Auth,
                ..
            } => 4,
            Ending::Failed { .. } => 2,
        },
    }
}
