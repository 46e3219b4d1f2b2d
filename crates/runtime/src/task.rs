//! Tasks: one message in, one answer or value out.

use std::sync::Arc;

use prowess_agent::{Effort, Ending, RunBudget, Started};
use prowess_tools::ToolSelection;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::outcome::{FinishedRun, Pause};
use crate::session::{Session, limits, one_line, toolset};
use crate::subrun::{finish, not_started};

/// A task for a model that finds the skills it needs by itself.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// The message; `/name` and `$name` work as in a conversation.
    pub text: String,
    /// The schema of the result. If `None`, the result is the last text.
    pub result: Option<Value>,
    /// The budget. Missing limits are taken from the engine's settings.
    pub budget: RunBudget,
    /// The model. If `None`, the engine's model.
    pub model: Option<Box<str>>,
    /// The reasoning effort. If `None`, the engine's setting.
    pub effort: Option<Effort>,
}

impl Task {
    /// Creates a task without a schema.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Engine {
    /// Runs a task in a session of its own.
    pub async fn run_task(
        &self,
        task: Task,
        cancel: &CancellationToken,
    ) -> Result<FinishedRun, RuntimeError> {
        let settings = self.settings();
        let choice = ToolSelection {
            skill: settings.skill_tool,
            result: task.result.clone(),
            ..ToolSelection::default()
        };
        let model = match &task.model {
            Some(name) => self.find_model(name)?,
            None => Arc::clone(self.model()),
        };
        let budget = RunBudget {
            turns: task.budget.turns.or(settings.budget.turns),
            tokens: task.budget.tokens.or(settings.budget.tokens),
            micros: task.budget.micros.or(settings.budget.micros),
            milliseconds: task.budget.milliseconds.or(settings.budget.milliseconds),
        };
        let mut started = Started {
            title: one_line(&task.text),
            limits: limits(budget, &model),
            effort: task.effort.or(settings.effort),
            result: task.result.clone(),
            ..Started::default()
        };
        let (context, mut tools) = (self.context().derive(), toolset(self, &choice)?);
        Session::add_team(self, &mut started, &mut tools).await?;
        let mut session = Session::begin(self, context, tools, model, started).await?;
        let pause = match session.say(&task.text, cancel).await {
            Ok(_) => session.proceed(cancel).await?,
            Err(RuntimeError::Cancelled { .. }) => Pause::Ended(Ending::Cancelled),
            Err(error) => return Err(not_started(&mut session, error).await),
        };
        finish(session, pause).await
    }
}
