//! Runs that a tool call starts in a conversation of their own.

use prowess_agent::ToolCall;
use tokio_util::sync::CancellationToken;

use crate::agent_run::{self, AgentStart};
use crate::error::RuntimeError;
use crate::outcome::FinishedRun;
use crate::session::Session;
use crate::subrun::{self, SubRun};

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
}
