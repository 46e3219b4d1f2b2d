//! A task: something is said once, and an answer or a value comes back.

use std::sync::Arc;

use prowess_agent::{Budget, Effort, Started};
use prowess_tools::ToolSelection;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::outcome::Finished;
use crate::session::{Session, limits, one_line, toolset};
use crate::subrun::finish;

/// A task for a model that finds the skills it needs itself.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// What is to be done; `/name` and `$name` work as in a conversation.
    pub text: String,
    /// The schema of the result; nothing for the last text.
    pub result: Option<Value>,
    /// What it may use; as the engine says where nothing is said.
    pub budget: Budget,
    /// The model; the engine's, where nothing is said.
    pub model: Option<Box<str>>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
}

impl Task {
    /// A task without a schema.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Engine {
    /// Does a task.
    pub async fn run_task(
        &self,
        task: Task,
        cancel: &CancellationToken,
    ) -> Result<Finished, RuntimeError> {
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
        let budget = Budget {
            turns: task.budget.turns.or(settings.budget.turns),
            tokens: task.budget.tokens.or(settings.budget.tokens),
            micros: task.budget.micros.or(settings.budget.micros),
            milliseconds: task.budget.milliseconds.or(settings.budget.milliseconds),
        };
        let started = Started {
            title: one_line(&task.text),
            limits: limits(budget, &model),
            effort: task.effort.or(settings.effort),
            result: task.result.clone(),
            ..Started::default()
        };
        let (context, tools) = (self.context().derive(), toolset(self, &choice)?);
        let mut session = Session::begin(self, context, tools, model, started).await?;
        session.say(&task.text, cancel).await?;
        let pause = session.proceed(cancel).await?;
        finish(session, pause).await
    }
}
