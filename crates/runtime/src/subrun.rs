//! Sub-runs: a skill runs with its own conversation, budget and tools, and returns a value.

use std::sync::Arc;

use prowess_agent::{
    AgentNotes, AgentProfile, Effort, Ending, FailureKind, MessagePart, ParentSession, RunBudget,
    Started,
};
use prowess_catalog::Audience;
use prowess_registry::{NewSkill, Registry};
use prowess_render::Arguments;
use prowess_tools::names::{LOAD_SKILL_RESOURCES, SUBMIT};
use prowess_tools::{
    Activation, ActivationError, Role, SkillHandle, SkillSnapshot, Tool, ToolContext,
    ToolSelection, Toolset, check_arguments, read,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent_profile::{self, Caller, PreparedAgent};
use crate::agents::{self, Agent};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::outcome::{FinishedRun, Pause};
use crate::session::{Session, limits, toolset};
use crate::subrun_limits::is_within;
use crate::user_message::{PendingMessage, Prompts};

/// Maximum depth of nested sub-runs.
pub const MAX_DEPTH: u8 = 3;
/// Default number of model turns in a sub-run.
pub const MAX_TICKS: u32 = 10;

/// A reference to the skill of a sub-run.
#[derive(Clone, Debug)]
pub enum SkillRef {
    /// The name of a skill in the registry.
    Name(Box<str>),
    /// A definition that is not in the registry.
    Definition(Box<NewSkill>),
    /// A skill that the caller has resolved.
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

/// A skill to run in a separate conversation.
#[derive(Clone, Debug)]
pub struct SubRun {
    /// The skill.
    pub skill: SkillRef,
    /// The arguments of the skill.
    pub arguments: Arguments,
    /// The schema of the result. If `None`, the result is the last text.
    pub result: Option<Value>,
    /// The budget. Missing limits are taken from the skill, then from the engine's settings.
    pub budget: RunBudget,
    /// The model. If `None`, the skill's model or else the engine's.
    pub model: Option<Box<str>>,
    /// The reasoning effort. If `None`, the skill's effort or else the engine's.
    pub effort: Option<Effort>,
    /// Restricts the run to these tools.
    pub tools: Option<Vec<Box<str>>>,
    /// The session that started the run.
    pub parent: Option<ParentSession>,
    /// The side that started the run: a user or a model.
    pub who: Audience,
    /// Agents that it runs as in addition to the one that the skill names. The run is limited to what
    /// all of them have.
    pub agents: Vec<Box<str>>,
    /// The agent of the session that started the run, whose skills and limits the run has.
    pub agent: Option<Box<AgentProfile>>,
}

impl SubRun {
    /// Creates a run of a skill without arguments, started by a user.
    pub fn new(skill: SkillRef) -> Self {
        Self {
            skill,
            arguments: Arguments::none(),
            result: None,
            budget: RunBudget::default(),
            model: None,
            effort: None,
            tools: None,
            parent: None,
            who: Audience::Person,
            agents: Vec::new(),
            agent: None,
        }
    }
}

impl Engine {
    /// Runs a skill in a separate conversation.
    pub async fn run_skill(
        &self,
        sub: SubRun,
        cancel: &CancellationToken,
    ) -> Result<FinishedRun, RuntimeError> {
        Box::pin(run_in(self, self.context(), sub, cancel)).await
    }
}

/// Runs a skill in a separate conversation that has at most the permissions of `parent`.
pub(crate) async fn run_in(
    engine: &Engine,
    parent: &ToolContext,
    sub: SubRun,
    cancel: &CancellationToken,
) -> Result<FinishedRun, RuntimeError> {
    let depth = sub.parent.as_ref().map_or(0, |parent| parent.depth);
    if depth > MAX_DEPTH {
        return Err(RuntimeError::TooDeep { depth });
    }
    let mut context = parent.derive();
    let skill = resolve(&mut context, &sub)?;
    // What a model runs was permitted when it called the tool.
    if sub.who == Audience::Person {
        let arguments = sub.arguments.raw().unwrap_or_default();
        permit_user(&context, &skill, true, arguments)?;
    }
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
    check_arguments(&snapshot, &sub.arguments)?;
    let (shared, read, above) = (engine.clone(), Arc::clone(&snapshot), sub.agents.clone());
    // What a model runs in a session was permitted when it called the tool.
    let is_client = sub.who == Audience::Model && sub.parent.is_none();
    let derived = context.derive();
    let (agents, runs_as) = blocking(move || {
        let agents = shared.agents_of(&read, &above)?;
        match &read.effects.agent {
            Some(agent) if is_client => shared.permit_client_agent(&derived, agent, &read.name)?,
            Some(agent) => shared.permit_user_agent(&derived, agent)?,
            None => {}
        }
        let runs_as = shared.agent_of_skill(&agents);
        Ok::<_, RuntimeError>((agents, runs_as))
    })
    .await??;
    agents::narrow(&agents, &mut context, &skill, sub.who)?;
    let mut session = begin(engine, context, &sub, &snapshot, &agents, runs_as).await?;
    let activated = session.activate(&snapshot, sub.arguments.clone(), Prompts::CanWait, cancel);
    let activation = match activated.await {
        Ok(activation) => activation,
        Err(RuntimeError::Cancelled { .. }) => {
            let pause = session.end(Ending::Cancelled).await?;
            return finish(session, pause).await;
        }
        Err(_) if !session.waiting.is_empty() => {
            let pause = session.wait_for_answers().await?;
            return finish(session, pause).await;
        }
        Err(error) => return Err(not_started(&mut session, error).await),
    };
    session.tell_missing_tools(&snapshot);
    let said = opening(&mut session, &activation, sub.result.is_some());
    session.write_said(said, None).await?;
    let pause = session.proceed(cancel).await?;
    finish(session, pause).await
}

/// Applies the rules about skills to one that a user invokes.
pub(crate) fn permit_user(
    context: &ToolContext,
    skill: &SkillHandle,
    forked: bool,
    arguments: &str,
) -> Result<(), RuntimeError> {
    context
        .permit_user(skill, forked, arguments)
        .map_err(|decision| RuntimeError::Denied {
            skill: skill.name().into(),
            decision: Box::new(decision),
        })
}

/// Resolves the skill of a run. A definition is put into a new registry, which replaces the one of
/// the context.
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
    runs_as: Option<PreparedAgent>,
) -> Result<Session, RuntimeError> {
    let choice = ToolSelection {
        role: Role::Worker,
        list: true,
        runs_as: Some(skill.name.clone()),
        result: sub.result.clone(),
        ..ToolSelection::default()
    };
    let mut tools = toolset(engine, &choice)?;
    if let Some(above) = &sub.agent {
        agent_profile::add_owned(engine, above, &mut tools);
    }
    confine(
        &mut tools,
        &mut context,
        skill,
        sub.tools.as_deref(),
        agents,
    );
    agents::restrict_tools(engine, agents, &mut tools);
    let profile = combined(sub.agent.as_deref(), runs_as.as_ref());
    if let Some(profile) = &profile {
        confine_as(profile, &mut tools, &mut context);
        agents::restrict_given(engine, agents, &mut tools);
    }
    let (effects, trusted) = (&skill.effects, skill.is_trusted());
    let by_agent = runs_as.as_ref();
    let wanted = effects.model.as_deref().filter(|_| trusted);
    let wanted = wanted.or_else(|| by_agent.and_then(|agent| agent.model.as_deref()));
    let (model, missing) = match (sub.model.as_deref(), wanted) {
        (Some(name), _) => (engine.find_model(name)?, None),
        // Skills written for other programs often name a model that is not available here. Use the
        // default model.
        (None, Some(name)) => match engine.find_model(name) {
            Ok(model) => (model, None),
            Err(error) => (Arc::clone(engine.model()), Some(error)),
        },
        (None, None) => (Arc::clone(engine.model()), None),
    };
    let default = engine.settings().sub_budget;
    let usual = default.turns.unwrap_or(MAX_TICKS);
    // An untrusted skill may lower the limit but not raise it.
    let ticks = effects
        .max_ticks
        .map(|ticks| if trusted { ticks } else { ticks.min(usual) });
    let by_agent_turns = by_agent.and_then(|agent| agent.budget.turns);
    let turns = sub.budget.turns.or(ticks).or(by_agent_turns);
    let turns = turns.unwrap_or(usual);
    let budget = RunBudget {
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
            .or_else(|| by_agent.and_then(|agent| agent.effort))
            .or(engine.settings().effort),
        parent: sub.parent.clone(),
        skill: Some(skill.name.clone()),
        arguments: recorded(&sub.arguments),
        result: sub.result.clone(),
        tools: sub.tools.clone(),
        agents: agents.iter().map(|agent| agent.name.clone()).collect(),
        agent: profile.map(Box::new),
        ..Started::default()
    };
    let session = Session::begin(engine, context, tools, model, started).await?;
    if let Some(error) = missing {
        let name = &session.model.about().name;
        session.tell(&format!(
            "skill `{}` requests another model: {error}; continuing with {name}",
            skill.name
        ));
    }
    Ok(session)
}

/// Removes the tools that a sub-run of a skill may not use, and makes the skill the actor.
pub(crate) fn confine(
    tools: &mut Toolset,
    context: &mut ToolContext,
    skill: &Arc<SkillSnapshot>,
    wanted: Option<&[Box<str>]>,
    agents: &[Agent],
) {
    let in_skills = &context.settings.tools_in_skills;
    tools.retain(|tool| is_within(&skill.effects, tool, wanted, in_skills));
    if skill.effects.names(LOAD_SKILL_RESOURCES) {
        tools.declare_resources();
    }
    if agents.iter().any(|agent| agent.read_only) {
        retain_read_only(tools, context);
    }
    if let Some(agent) = agents.last() {
        context.settings.agent = agent.name.clone();
    }
    context.acting = Some(Arc::clone(skill));
}

impl Engine {
    /// Returns the agent of a file that a skill runs as: the last one. Reads files.
    pub(crate) fn agent_of_skill(&self, agents: &[Agent]) -> Option<PreparedAgent> {
        let agent = agents.last().filter(|agent| agent.file.is_some())?;
        Some(self.prepare(agent, Caller::default()))
    }
}

/// Combines the agent of the session that starts a skill with the one that the skill runs as: the
/// skills of the first, the instructions and tools of the second.
fn combined(above: Option<&AgentProfile>, runs_as: Option<&PreparedAgent>) -> Option<AgentProfile> {
    let own = runs_as.map(|agent| &agent.profile);
    let of_skills = above.map(|above| AgentProfile {
        name: above.name.clone(),
        given: above.given.clone(),
        file: above.file.clone(),
        read_only: above.read_only,
        skills: above.skills.clone(),
        without_skills: above.without_skills.clone(),
        folders: above.folders.clone(),
        forks_skills: above.forks_skills,
        tools: above.tools.clone().filter(|_| above.forks_skills),
        ..AgentProfile::default()
    });
    let Some(own) = own else {
        return of_skills.filter(|profile| {
            *profile
                != AgentProfile {
                    name: profile.name.clone(),
                    ..AgentProfile::default()
                }
        });
    };
    Some(AgentProfile {
        name: own.name.clone(),
        given: own.given.clone(),
        file: own.file.clone(),
        prompt: own.prompt.clone(),
        notes: own.notes.clone(),
        tools: own.tools.clone(),
        read_only: own.read_only || above.is_some_and(|above| above.read_only),
        forks_skills: false,
        ..of_skills.unwrap_or_default()
    })
}

/// Gives a sub-run of a skill the instructions and the tools of the agent that it runs as.
pub(crate) fn confine_as(profile: &AgentProfile, tools: &mut Toolset, context: &mut ToolContext) {
    let settings = &mut context.settings;
    if let Some(prompt) = &profile.prompt {
        settings.instructions = Some(prompt.clone());
        settings.agent = profile.name.clone();
    }
    match &profile.notes {
        AgentNotes::Project => {}
        AgentNotes::Own(text) => settings.project_notes = Some(text.clone()),
        AgentNotes::Without => settings.project_notes = None,
    }
    let has = |tool: &str| {
        let listed = profile.tools.as_ref().filter(|_| !profile.forks_skills);
        agent_profile::is_about_skills(tool)
            || listed.is_none_or(|tools| tools.iter().any(|name| **name == *tool))
    };
    tools.retain(has);
    if profile.read_only {
        retain_read_only(tools, context);
    }
    agent_profile::add_given(profile, tools, context);
}

/// Keeps the tools that change nothing.
pub(crate) fn retain_read_only(tools: &mut Toolset, context: &ToolContext) {
    let read_only: Vec<Box<str>> = tools
        .tools(context)
        .filter(|tool| Tool::is_read_only(*tool, context))
        .map(|tool| tool.name().into())
        .collect();
    tools.retain(|tool| {
        matches!(tool, SUBMIT | LOAD_SKILL_RESOURCES)
            || read_only.iter().any(|name| **name == *tool)
    });
}

/// Returns arguments as a session records them, to activate the skill again.
fn recorded(arguments: &Arguments) -> Option<Value> {
    let text = || arguments.raw().map(|text| Value::String(text.to_owned()));
    arguments.json().cloned().or_else(text)
}

impl Session {
    /// Activates the skill of this sub-run after a question about one of its commands. Returns a pause
    /// if it waits again, or fails.
    pub(crate) async fn activate_again(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<Option<Pause>, RuntimeError> {
        let started = self.journal.run.started().cloned().unwrap_or_default();
        let Some(snapshot) = self.context.acting.clone() else {
            let ending = Ending::Failed {
                kind: FailureKind::Skill,
                message: "the skill of this run is not available".to_owned(),
            };
            return self.end(ending).await.map(Some);
        };
        let arguments = started
            .arguments
            .map_or_else(Arguments::none, Arguments::from_json);
        let activated = self.activate(&snapshot, arguments, Prompts::CanWait, cancel);
        match activated.await {
            Ok(activation) => {
                self.tell_missing_tools(&snapshot);
                let said = opening(self, &activation, started.result.is_some());
                self.write_said(said, None).await?;
                Ok(None)
            }
            Err(_) if !self.waiting.is_empty() => self.wait_for_answers().await.map(Some),
            Err(RuntimeError::Cancelled { .. }) => self.end(Ending::Cancelled).await.map(Some),
            Err(error @ RuntimeError::Store(_)) => Err(error),
            Err(error) => {
                let ending = Ending::Failed {
                    kind: FailureKind::Skill,
                    message: error.to_string(),
                };
                self.end(ending).await.map(Some)
            }
        }
    }
}

/// Builds the first message for the model.
fn opening(session: &mut Session, activation: &Activation, typed: bool) -> PendingMessage {
    let name = activation.name();
    let mut parts = vec![MessagePart::Text {
        text: format!("Run skill: {name}\n\n{}", activation.text()),
        keep: Some(name.into()),
    }];
    if typed {
        parts.push(MessagePart::text(
            "When the work is done, call `submit` with the result. Do not write the result as text.",
        ));
    }
    let loaded = vec![session.loaded.insert(activation)];
    PendingMessage {
        parts,
        loaded,
        ..PendingMessage::default()
    }
}

/// Records that a run could not start because of an error, and returns the error.
pub(crate) async fn not_started(session: &mut Session, error: RuntimeError) -> RuntimeError {
    if matches!(error, RuntimeError::Store(_)) {
        return error;
    }
    let ending = Ending::Failed {
        kind: FailureKind::Skill,
        message: error.to_string(),
    };
    session.end(ending).await.err().unwrap_or(error)
}

/// Records the end of a run and returns its outcome.
pub(crate) async fn finish(
    mut session: Session,
    pause: Pause,
) -> Result<FinishedRun, RuntimeError> {
    let text = session.run().answer();
    let ending = match pause {
        Pause::Answered(text) => {
            session.end(Ending::Answered).await?;
            submitted(text)
        }
        Pause::Ended(ending) => ended_as(ending, &text),
    };
    let spent = *session.spent();
    Ok(FinishedRun {
        session: session.id().into(),
        ending,
        text,
        spent,
    })
}

/// Returns the ending of a run as its caller sees it. `text` is the last text of the model.
pub(crate) fn ended_as(ending: Ending, text: &str) -> Ending {
    match ending {
        Ending::Answered => submitted(text.to_owned()),
        ending => ending,
    }
}

/// Returns the ending of a run without a schema: it submits its last text.
fn submitted(text: String) -> Ending {
    Ending::Submitted {
        value: Value::String(text),
    }
}

/// Formats the outcome and the cost of a sub-run for the model that started it. The flag is `true`
/// for a failure.
pub(crate) fn report(name: &str, finished: &FinishedRun) -> (String, bool) {
    report_as("Skill", name, finished)
}

/// Formats the outcome of a run like [`report`]. `noun` is what ran: a skill or an agent.
pub(crate) fn report_as(noun: &str, name: &str, finished: &FinishedRun) -> (String, bool) {
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
        Ending::Cancelled => ("It was cancelled.".to_owned(), true),
        Ending::Waiting { .. } => ("It waits for a person.".to_owned(), true),
        Ending::Failed { message, .. } => (format!("It failed: {message}"), true),
    };
    let line = format!(
        "{noun} `{name}` finished (session {}, {} turns, {} tokens). Result:",
        finished.session,
        spent.turns,
        spent.usage.tokens()
    );
    (format!("{line}\n\n{text}"), is_error)
}
