//! Running a skill on its own: its own conversation, its own budget, its own tools, and a value.

use std::sync::Arc;

use prowess_agent::{Budget, Effort, Ending, FailureKind, Parent, Part, Started};
use prowess_catalog::Who;
use prowess_registry::{NewSkill, Registry};
use prowess_render::Arguments;
use prowess_tools::names::{LOAD_SKILL_RESOURCE, SUBMIT};
use prowess_tools::{
    Activation, ActivationError, ActivationRequest, Role, SkillEffects, SkillHandle, SkillSnapshot,
    Tool, ToolContext, ToolSelection, Toolset, activate, read,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agents::{self, Agent};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::outcome::{Finished, Pause};
use crate::say::PendingMessage;
use crate::session::{Session, limits, toolset};

/// How deep sub-runs may start sub-runs.
pub const MAX_DEPTH: u8 = 3;
/// How many answers a model has in a sub-run, unless somebody says otherwise.
pub const MAX_TICKS: u32 = 10;

/// A reference to the skill that runs.
#[derive(Clone, Debug)]
pub enum SkillRef {
    /// The name of a skill in the registry.
    Name(Box<str>),
    /// A definition that is not in the registry.
    Definition(Box<NewSkill>),
    /// A skill that the caller resolved.
    Resolved(SkillHandle),
}

impl From<&str> for SkillRef {
    fn from(name: &str) -> Self {
        Self::Name(name.into())
    }
}

impl From<NewSkill> for SkillRef {
    fn from(skill: NewSkill) -> Self {
        Self::Definition(Box::new(skill))
    }
}

impl From<SkillHandle> for SkillRef {
    fn from(skill: SkillHandle) -> Self {
        Self::Resolved(skill)
    }
}

/// A skill to run on its own.
#[derive(Clone, Debug)]
pub struct SubRun {
    /// Which skill.
    pub skill: SkillRef,
    /// What it is given.
    pub arguments: Arguments,
    /// The schema of the result; nothing for the last text.
    pub result: Option<Value>,
    /// What it may use; ten turns, unless the skill or this says otherwise.
    pub budget: Budget,
    /// The model; the skill's, or the engine's, where nothing is said.
    pub model: Option<Box<str>>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// The only tools it gets, of those it may have.
    pub tools: Option<Vec<Box<str>>>,
    /// The session that it is a part of.
    pub parent: Option<Parent>,
    /// Who wants it.
    pub who: Who,
    /// Agents that it runs as beside the one that the skill names: what one of them does not have, it
    /// does not have.
    pub agents: Vec<Box<str>>,
}

impl SubRun {
    /// A run of a skill without arguments, as a person or a program wants it.
    pub fn new(skill: SkillRef) -> Self {
        Self {
            skill,
            arguments: Arguments::none(),
            result: None,
            budget: Budget::default(),
            model: None,
            effort: None,
            tools: None,
            parent: None,
            who: Who::Person,
            agents: Vec::new(),
        }
    }
}

impl Engine {
    /// Runs a skill on its own.
    pub async fn run_skill(
        &self,
        sub: SubRun,
        cancel: &CancellationToken,
    ) -> Result<Finished, RuntimeError> {
        run_in(self, self.context(), sub, cancel).await
    }
}

/// Runs a skill on its own, with the rules of a context as the upper limit.
pub(crate) async fn run_in(
    engine: &Engine,
    parent: &ToolContext,
    sub: SubRun,
    cancel: &CancellationToken,
) -> Result<Finished, RuntimeError> {
    let depth = sub.parent.as_ref().map_or(0, |parent| parent.depth);
    if depth > MAX_DEPTH {
        return Err(RuntimeError::TooDeep { depth });
    }
    let mut context = parent.derive();
    let skill = resolve(&mut context, &sub)?;
    let snapshot = {
        let (derived, skill) = (context.derive(), skill.clone());
        blocking(move || read(&derived, &skill)).await??
    };
    if let Some(acting) = &parent.acting {
        let (running, skill) = (acting.trust.name.clone(), snapshot.name.clone());
        if running == snapshot.trust.name {
            return Err(RuntimeError::Recursive { skill: running });
        }
        if !acting.is_trusted() {
            return Err(RuntimeError::Untrusted { running, skill });
        }
    }
    let agents = engine.agents_of(&snapshot, &sub.agents)?;
    agents::narrow(&agents, &mut context, &skill, sub.who)?;
    let mut session = begin(engine, context, &sub, &snapshot, &agents).await?;
    let activation = {
        let (context, snapshot) = (Arc::clone(&session.context), Arc::clone(&snapshot));
        let request = ActivationRequest::new(sub.arguments.clone());
        blocking(move || activate(&context, &snapshot, &request)).await?
    };
    let activation = match activation {
        Ok(activation) => activation,
        Err(error) => {
            let ending = Ending::Failed {
                kind: FailureKind::Skill,
                message: error.to_string(),
            };
            session.end(ending).await?;
            return Err(error.into());
        }
    };
    let said = opening(&mut session, &activation, sub.result.is_some());
    session.write_said(said, None).await?;
    let pause = session.proceed(cancel).await?;
    finish(session, pause).await
}

/// Resolves the skill of a run. A definition gets a registry of its own.
fn resolve(context: &mut ToolContext, sub: &SubRun) -> Result<SkillHandle, RuntimeError> {
    let resolved = match &sub.skill {
        SkillRef::Resolved(skill) => return Ok(skill.clone()),
        SkillRef::Name(name) => context.resolve(name, sub.who),
        SkillRef::Definition(skill) => {
            let registry = Registry::default();
            let name: Box<str> = skill.name().into();
            registry.replace((**skill).clone());
            context.services.registry = Arc::new(registry);
            context.resolve(&name, sub.who)
        }
    };
    Ok(resolved.map_err(ActivationError::NotFound)?)
}

async fn begin(
    engine: &Engine,
    mut context: ToolContext,
    sub: &SubRun,
    skill: &Arc<SkillSnapshot>,
    agents: &[Agent],
) -> Result<Session, RuntimeError> {
    let choice = ToolSelection {
        role: Role::Worker,
        runs_as: Some(skill.name.clone()),
        result: sub.result.clone(),
        ..ToolSelection::default()
    };
    let mut tools = toolset(engine, &choice)?;
    confine(
        &mut tools,
        &mut context,
        skill,
        sub.tools.as_deref(),
        agents,
    );
    let (effects, trusted) = (&skill.effects, skill.is_trusted());
    let wanted = effects.model.as_deref().filter(|_| trusted);
    let (model, missing) = match (sub.model.as_deref(), wanted) {
        (Some(name), _) => (engine.find_model(name)?, None),
        // A skill written for others asks for a model that is not here: that is no reason to fail.
        (None, Some(name)) => match engine.find_model(name) {
            Ok(model) => (model, None),
            Err(error) => (Arc::clone(engine.model()), Some(error)),
        },
        (None, None) => (Arc::clone(engine.model()), None),
    };
    let default = engine.settings().sub_budget;
    let usual = default.turns.unwrap_or(MAX_TICKS);
    // What nobody trusts may ask for less, and not for more.
    let ticks = effects
        .max_ticks
        .map(|ticks| if trusted { ticks } else { ticks.min(usual) });
    let turns = sub.budget.turns.or(ticks).unwrap_or(usual);
    let budget = Budget {
        turns: Some(turns),
        tokens: sub.budget.tokens.or(default.tokens),
        micros: sub.budget.micros.or(default.micros),
        milliseconds: sub.budget.milliseconds.or(default.milliseconds),
    };
    let started = Started {
        title: format!("skill {}", skill.name),
        limits: limits(budget, &model),
        effort: sub
            .effort
            .or(effects.effort.filter(|_| trusted))
            .or(engine.settings().effort),
        parent: sub.parent.clone(),
        skill: Some(skill.name.clone()),
        result: sub.result.clone(),
        tools: sub.tools.clone(),
        agents: agents.iter().map(|agent| agent.name.clone()).collect(),
        ..Started::default()
    };
    let session = Session::begin(engine, context, tools, model, started).await?;
    if let Some(error) = missing {
        let name = &session.model.about().name;
        session.tell(&format!(
            "the skill {} asks for another model: {error}; {name} goes on",
            skill.name
        ));
    }
    Ok(session)
}

/// Takes away what a sub-run of a skill does not have, and makes it act as the skill.
pub(crate) fn confine(
    tools: &mut Toolset,
    context: &mut ToolContext,
    skill: &Arc<SkillSnapshot>,
    wanted: Option<&[Box<str>]>,
    agents: &[Agent],
) {
    tools.retain(|tool| is_within(&skill.effects, tool, wanted));
    if agents.iter().any(|agent| agent.only_looks) {
        let harmless: Vec<Box<str>> = tools
            .tools(context)
            .filter(|tool| Tool::is_read_only(*tool, context))
            .map(|tool| tool.name().into())
            .collect();
        tools.retain(|tool| harmless.iter().any(|name| **name == *tool) || tool == SUBMIT);
    }
    if let Some(agent) = agents.last() {
        context.settings.agent = agent.name.clone();
    }
    context.acting = Some(Arc::clone(skill));
}

/// Whether a sub-run of a skill has a tool: one that is asked for, within `allowed-tools`.
fn is_within(effects: &SkillEffects, tool: &str, wanted: Option<&[Box<str>]>) -> bool {
    // What a skill cannot do without: handing in, and reading its own files.
    if tool == SUBMIT || tool == LOAD_SKILL_RESOURCE {
        return true;
    }
    let asked = wanted.is_none_or(|wanted| wanted.iter().any(|name| **name == *tool));
    asked && (effects.allowed.is_none() || effects.allows(tool)) && !effects.forbids(tool)
}

/// What the model reads first.
fn opening(session: &mut Session, activation: &Activation, typed: bool) -> PendingMessage {
    let name = activation.name();
    let mut parts = vec![Part::Text {
        text: format!("Run skill: {name}\n\n{}", activation.text()),
        keep: Some(name.into()),
    }];
    if typed {
        parts.push(Part::text(
            "When the work is done, call `submit` with the result. Do not tell the result in words.",
        ));
    }
    let loaded = vec![session.loaded.insert(activation)];
    PendingMessage {
        parts,
        loaded,
        ..PendingMessage::default()
    }
}

/// Writes down that a run ended, and says how.
pub(crate) async fn finish(mut session: Session, pause: Pause) -> Result<Finished, RuntimeError> {
    let text = session.run().answer();
    let ending = match pause {
        Pause::Answered(text) => {
            session.end(Ending::Answered).await?;
            submitted(text)
        }
        Pause::Ended(Ending::Answered) => submitted(text.clone()),
        Pause::Ended(ending) => ending,
    };
    let spent = *session.spent();
    Ok(Finished {
        session: session.id().into(),
        ending,
        text,
        spent,
    })
}

/// A run without a schema submits its last text.
fn submitted(text: String) -> Ending {
    Ending::Submitted {
        value: Value::String(text),
    }
}

/// What a conversation learns of a sub-run: the value, and what it cost.
pub(crate) fn report(name: &str, finished: &Finished) -> (String, bool) {
    let spent = &finished.spent;
    let (text, is_error) = match &finished.ending {
        Ending::Answered => (finished.text.clone(), false),
        Ending::Submitted {
            value: Value::String(text),
        } => (text.clone(), false),
        Ending::Submitted { value } => (value.to_string(), false),
        Ending::Declined { why } => (format!("It gave no result: {why}"), true),
        Ending::Exhausted { limit } => (
            format!("It ended without a result: {limit} was reached"),
            true,
        ),
        Ending::Cancelled => ("It was stopped.".to_owned(), true),
        Ending::Failed { message, .. } => (format!("It failed: {message}"), true),
    };
    let line = format!(
        "The skill {name} ran on its own (session {}, {} turns, {} tokens). What came out:",
        finished.session,
        spent.turns,
        spent.usage.tokens()
    );
    (format!("{line}\n\n{text}"), is_error)
}
