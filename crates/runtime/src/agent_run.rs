//! Runs of agents: a task for an agent, in a session of its own.

use std::sync::Arc;

use prowess_agent::{
    AgentProfile, Effort, Ending, MessagePart, ParentSession, RunBudget, RunLimits, Started,
};
use prowess_catalog::{Audience, LookupRefusal};
use prowess_diag::wording;
use prowess_policy::SkillAction;
use prowess_render::Arguments;
use prowess_tools::{ActivationError, Role, ToolContext, ToolSelection, ToolSpec, Toolset, read};
use prowess_traits::Model;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent_profile::{self, Caller, OutsideAgent, PreparedAgent};
use crate::agents;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::mission::desk::TaskDesk;
use crate::outcome::{FinishedRun, Pause};
use crate::session::{Session, limits, one_line, toolset};
use crate::subrun::{MAX_DEPTH, finish, not_started};
use crate::user_message::Prompts;

/// Default number of model turns of an agent that another one starts.
const MAX_TURNS: u32 = 50;

/// A task for an agent.
#[derive(Clone, Debug, Default)]
pub struct AgentRun {
    /// The name of the agent, or of a team, whose entry agent gets the task.
    pub agent: Box<str>,
    /// The task.
    pub task: String,
    /// The schema of the result. If `None`, the result is the last text.
    pub result: Option<Value>,
    /// The budget. Missing limits are taken from the agent, then from the engine's settings.
    pub budget: RunBudget,
    /// The model. If `None`, the agent's model or else the engine's.
    pub model: Option<Box<str>>,
    /// The reasoning effort. If `None`, the agent's effort or else the engine's.
    pub effort: Option<Effort>,
}

impl AgentRun {
    /// Creates a task without a schema.
    pub fn new(agent: impl Into<Box<str>>, task: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            task: task.into(),
            ..Self::default()
        }
    }
}

/// The start of a session that runs as an agent.
#[derive(Debug)]
pub(crate) struct AgentStart {
    pub(crate) agent: PreparedAgent,
    pub(crate) title: String,
    pub(crate) result: Option<Value>,
    pub(crate) budget: RunBudget,
    pub(crate) model: Option<Box<str>>,
    pub(crate) effort: Option<Effort>,
    pub(crate) parent: Option<ParentSession>,
    /// Names of agents whose restrictions in the settings apply too.
    pub(crate) above: Vec<Box<str>>,
    /// What it works with as the commander of a task.
    pub(crate) desk: Option<Arc<TaskDesk>>,
}

impl Engine {
    /// Prepares an agent that a user starts. Reads files.
    fn prepare_user_agent(&self, name: &str) -> Result<PreparedAgent, RuntimeError> {
        let agent = self.prepare_agent(name, Caller::default())?;
        self.permit_user_agent(self.context(), name)?;
        Ok(agent)
    }

    /// Runs a task as an agent, in a session of its own.
    pub async fn run_agent(
        &self,
        run: AgentRun,
        cancel: &CancellationToken,
    ) -> Result<FinishedRun, RuntimeError> {
        let (engine, name) = (self.clone(), run.agent.clone());
        let agent = blocking(move || engine.prepare_user_agent(&name)).await??;
        let settings = self.settings();
        let limits = agent.budget;
        let start = AgentStart {
            title: one_line(&format!("{}: {}", agent.profile.name, run.task)),
            budget: RunBudget {
                turns: run.budget.turns.or(limits.turns).or(settings.budget.turns),
                tokens: run.budget.tokens.or(settings.budget.tokens),
                micros: run
                    .budget
                    .micros
                    .or(limits.micros)
                    .or(settings.budget.micros),
                milliseconds: run
                    .budget
                    .milliseconds
                    .or(limits.milliseconds)
                    .or(settings.budget.milliseconds),
            },
            agent,
            result: run.result,
            model: run.model,
            effort: run.effort,
            parent: None,
            above: Vec::new(),
            desk: None,
        };
        let context = self.context().derive();
        Box::pin(run_in(self, context, start, &run.task, cancel)).await
    }

    /// Returns the tools that a session of an agent begins with. Reads files.
    pub fn agent_tools(&self, name: &str) -> Result<Vec<ToolSpec>, RuntimeError> {
        let agent = self.prepare_agent(name, Caller::default())?;
        let (profile, mut context) = (&agent.profile, self.context().derive());
        let choice = ToolSelection {
            skill: self.settings().skill_tool,
            ..ToolSelection::default()
        };
        let (tools, _) = self.equip(&choice, profile, &agent.restricted_by, &mut context, 0)?;
        let mut specs = tools.specs(&context);
        specs.retain(|spec| {
            let mut by_skill = self.services().skill_tools.iter();
            agent_profile::owns(self, profile, &spec.name)
                || !by_skill.any(|tool| *tool.name() == *spec.name)
        });
        Ok(specs)
    }

    /// Returns the tools of an agent, and gives a context its instructions and skills. Agents in the
    /// settings restrict it. Reads files.
    fn equip(
        &self,
        choice: &ToolSelection,
        profile: &AgentProfile,
        restricted_by: &[Box<str>],
        context: &mut ToolContext,
        depth: u8,
    ) -> Result<(Toolset, OutsideAgent), RuntimeError> {
        let mut tools = toolset(self, choice)?;
        agent_profile::add_owned(self, profile, &mut tools);
        let restricting = self.restricting(restricted_by)?;
        let outside = agent_profile::apply(profile, context);
        agents::restrict(&restricting, context);
        agents::restrict_tools(self, &restricting, &mut tools);
        agent_profile::confine(profile, &mut tools, context, depth);
        agents::restrict_given(self, &restricting, &mut tools);
        Ok((tools, outside))
    }
}

impl Session {
    /// Starts a session as an agent. The title is shown in lists of sessions.
    pub async fn start_agent(
        engine: &Engine,
        name: &str,
        title: &str,
        cancel: &CancellationToken,
    ) -> Result<Self, RuntimeError> {
        let (shared, wanted) = (engine.clone(), name.to_owned());
        let agent = blocking(move || shared.prepare_user_agent(&wanted)).await??;
        let (limits, set) = (agent.budget, engine.settings().budget);
        let start = AgentStart {
            title: one_line(title),
            // In a conversation, each limit counts for the whole of it. The turns of an agent are
            // meant for one task.
            budget: RunBudget {
                micros: set.micros.or(limits.micros),
                milliseconds: set.milliseconds.or(limits.milliseconds),
                ..set
            },
            agent,
            result: None,
            model: None,
            effort: None,
            parent: None,
            above: Vec::new(),
            desk: None,
        };
        Self::begin_agent(engine, engine.context().derive(), start, cancel).await
    }

    /// Starts a session as an agent, with the skills that it has from the start.
    pub(crate) async fn begin_agent(
        engine: &Engine,
        mut context: ToolContext,
        start: AgentStart,
        cancel: &CancellationToken,
    ) -> Result<Self, RuntimeError> {
        let AgentStart {
            agent,
            title,
            result,
            budget,
            model,
            effort,
            parent,
            above,
            desk,
        } = start;
        let depth = parent.as_ref().map_or(0, |parent| parent.depth);
        if depth > MAX_DEPTH {
            return Err(RuntimeError::TooDeep { depth });
        }
        let mut names = above;
        names.extend(agent.restricted_by.iter().cloned());
        names.dedup();
        let choice = ToolSelection {
            role: Role::Orchestrator,
            skill: engine.settings().skill_tool,
            result: result.clone(),
            ..ToolSelection::default()
        };
        let (shared, profile, restricting) = (engine.clone(), agent.profile.clone(), names.clone());
        let desk_tools = desk.iter().flat_map(TaskDesk::tools).collect::<Vec<_>>();
        let (context, tools, outside) = blocking(move || {
            let (mut tools, outside) =
                shared.equip(&choice, &profile, &restricting, &mut context, depth)?;
            for tool in desk_tools {
                tools.add(tool);
            }
            Ok::<_, RuntimeError>((context, tools, outside))
        })
        .await??;
        let (model, missing) = agent_model(engine, model.as_deref(), &agent, depth == 0)?;
        let started = Started {
            title,
            limits: RunLimits {
                conversation: agent.limits,
                ..limits(budget, &model)
            },
            effort: effort.or(agent.effort).or(engine.settings().effort),
            parent,
            result,
            agents: names,
            agent: Some(Box::new(agent.profile.clone())),
            ..Started::default()
        };
        let mut session = Self::begin(engine, context, tools, model, started).await?;
        session.outside = Some(Box::new(outside));
        session.desk = desk;
        for message in agent.messages.iter().chain(&missing) {
            session.tell(message);
        }
        session.tell_unknown_skills(&agent.profile);
        for name in &agent.preload {
            session.preload(name, cancel).await?;
        }
        Ok(session)
    }

    /// Tells the watchers which skills of an agent do not exist.
    fn tell_unknown_skills(&self, profile: &AgentProfile) {
        let catalog = self.context.services.registry.snapshot();
        let skills = profile.skills.iter().flatten();
        let missing = skills.filter(|name| catalog.resolve(name).is_err());
        let missing: Vec<String> = missing
            .map(|name| wording::tick(wording::shorten(name, 64)))
            .collect();
        if !missing.is_empty() {
            let (list, _) = prowess_tools::answer::listed(&missing, 400);
            let name = wording::tick(&profile.name);
            self.tell(&format!(
                "agent {name} names skills that do not exist: {list}"
            ));
        }
    }

    /// Puts a skill into the first message.
    async fn preload(
        &mut self,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<(), RuntimeError> {
        let (context, asked) = (Arc::clone(&self.context), name.to_owned());
        let loaded = self.loaded.clone();
        let snapshot = blocking(move || {
            let missing = "no such skill, or it cannot be read";
            let skill = context.resolve(&asked, Audience::Model);
            let skill = skill.map_err(|refusal| match refusal {
                LookupRefusal::OtherVersion { .. } => refusal.to_string(),
                _ => missing.to_owned(),
            })?;
            // The file of the agent requests it, not the user.
            let permitted = context.permit_client(&loaded, &skill, SkillAction::Load, "");
            permitted.map_err(|error| error.to_string())?;
            read(&context, &skill).map_err(|error| match error {
                ActivationError::Package { .. } => error.to_string(),
                _ => missing.to_owned(),
            })
        })
        .await?;
        let activated = match snapshot {
            Err(why) => Err(why),
            Ok(snapshot) => {
                let activated = self.activate(&snapshot, Arguments::none(), Prompts::Now, cancel);
                match activated.await {
                    Ok(activation) => Ok(activation),
                    Err(error @ (RuntimeError::Store(_) | RuntimeError::Cancelled { .. })) => {
                        return Err(error);
                    }
                    Err(error) => Err(error.to_string()),
                }
            }
        };
        match activated {
            Ok(activation) => {
                let name = activation.name();
                self.pending.push(MessagePart::Text {
                    text: format!("Skill `{name}` is loaded.\n\n{}", activation.text()),
                    keep: Some(name.into()),
                });
                self.tell_missing_tools(&activation.snapshot);
                let active = self.loaded.insert_by_user(&activation);
                self.pending_skills.push(active);
            }
            Err(why) => {
                let name = wording::tick(wording::shorten(name, 64));
                self.tell(&format!("skill {name} was not loaded at the start: {why}"));
            }
        }
        Ok(())
    }
}

/// Runs a task in a session of an agent.
pub(crate) async fn run_in(
    engine: &Engine,
    context: ToolContext,
    start: AgentStart,
    task: &str,
    cancel: &CancellationToken,
) -> Result<FinishedRun, RuntimeError> {
    run_announced(engine, context, start, task, cancel, |_| {}).await
}

/// Runs a task in a session of an agent. Calls `announce` with the id of the session.
pub(crate) async fn run_announced(
    engine: &Engine,
    context: ToolContext,
    start: AgentStart,
    task: &str,
    cancel: &CancellationToken,
    announce: impl FnOnce(&str) + Send,
) -> Result<FinishedRun, RuntimeError> {
    let is_child = start.parent.is_some();
    let mut session = Session::begin_agent(engine, context, start, cancel).await?;
    announce(session.id());
    // A task of a model is text. One of a user may invoke skills.
    let said = if is_child {
        session.say_plainly(task).await
    } else {
        session.say(task, cancel).await
    };
    let pause = match said {
        Ok(_) => session.proceed(cancel).await?,
        Err(RuntimeError::Cancelled { .. }) => Pause::Ended(Ending::Cancelled),
        Err(error) => return Err(not_started(&mut session, error).await),
    };
    finish(session, pause).await
}

/// Returns the model of an agent: the one that the caller chose, the one that its file names, or the
/// engine's. What the user chose counts more than the file of the agent that the user starts. If the one of the file is not available, returns the engine's and a message.
fn agent_model(
    engine: &Engine,
    chosen: Option<&str>,
    agent: &PreparedAgent,
    is_first: bool,
) -> Result<(Arc<dyn Model>, Option<String>), RuntimeError> {
    if let Some(name) = chosen {
        return Ok((engine.find_model(name)?, None));
    }
    let usual = || Arc::clone(engine.model());
    let is_chosen = is_first && engine.settings().is_model_chosen;
    let Some(name) = agent.model.as_ref().filter(|_| !is_chosen) else {
        return Ok((usual(), None));
    };
    match engine.find_model(name) {
        Ok(model) => Ok((model, None)),
        Err(error) => {
            let (agent, model) = (wording::tick(&agent.profile.name), usual());
            let text = format!(
                "agent {agent} requests another model: {error}; continuing with {}",
                model.about().name
            );
            Ok((model, Some(text)))
        }
    }
}

/// Returns the budget of an agent that another one starts: the lowest of what is left and what its
/// file sets.
pub(crate) fn child_budget(left: RunBudget, limits: RunBudget, usual: RunBudget) -> RunBudget {
    let least = |left: Option<u64>, own: Option<u64>| left.into_iter().chain(own).min();
    RunBudget {
        turns: limits.turns.or(usual.turns).or(Some(MAX_TURNS)),
        tokens: least(left.tokens, limits.tokens),
        micros: least(left.micros, limits.micros),
        milliseconds: least(left.milliseconds, limits.milliseconds),
    }
}
