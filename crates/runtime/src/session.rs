//! Sessions: conversations with a model.

use std::sync::Arc;

use prowess_agent::{
    ActiveSkill, AgentProfile, Effort, Event, MessagePart, OwnSkill, Run, RunBudget, RunLimits,
    Spent, Started, ToolDeclaration, VERSION,
};
use prowess_catalog::index::{DEFAULT_FRACTION, IndexBudget, ShownSkills};
use prowess_tools::names::SUBMIT;
use prowess_tools::{
    HookState, LiveSettings, Loaded, SettingsVersion, SkillSnapshot, ToolContext, ToolSelection,
    Toolset,
};
use prowess_traits::{Model, Stoppable, Update};

use crate::agent_profile::{self, OutsideAgent};
use crate::background::Background;
use crate::decision_log::DecisionLog;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::journal::{Journal, blocking};
use crate::mission::desk::TaskDesk;
use crate::prompt::{Prompt, prompt};
use crate::session_approver::SessionApprover;

/// Maximum number of characters in a title.
const MAX_TITLE: usize = 80;

/// One conversation. It holds the lease on its record, so no other process can write to it.
#[derive(Debug)]
pub struct Session {
    pub(crate) engine: Engine,
    pub(crate) journal: Journal,
    pub(crate) context: Arc<ToolContext>,
    pub(crate) tools: Arc<Toolset>,
    pub(crate) loaded: Loaded,
    pub(crate) hooks: HookState,
    pub(crate) known: ShownSkills,
    pub(crate) generation: u64,
    /// The settings at the start, which later ones can only restrict.
    pub(crate) base: LiveSettings,
    /// The version of the settings in use.
    pub(crate) settings_version: u64,
    /// `true` if a file was touched after the model was last told about its skills.
    pub(crate) touched: bool,
    /// Parts to put before the next user message.
    pub(crate) pending: Vec<MessagePart>,
    pub(crate) pending_skills: Vec<ActiveSkill>,
    /// Skills to record as unloaded with the next user message.
    pub(crate) pending_gone: Vec<Box<str>>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) effort: Option<Effort>,
    /// Number of consecutive requests that were too long for the provider.
    pub(crate) too_long: u32,
    /// Stops the commands that tools started.
    pub(crate) stop: Option<Stoppable>,
    /// Skills running in the background.
    pub(crate) background: Background,
    /// The parts of the context that the agent of the session replaced, as they were before.
    pub(crate) outside: Option<Box<OutsideAgent>>,
    /// What the commander of a task works with.
    pub(crate) desk: Option<Arc<TaskDesk>>,
    /// The questions that the current call or activation waits for.
    pub(crate) waiting: Vec<Box<str>>,
    /// The start of an activation in which nothing was decided, to record with its message.
    pub(crate) pending_activation: Option<Event>,
}

/// A loaded skill, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveView {
    /// Its name.
    pub name: Box<str>,
    /// The digest over its files when it was loaded.
    pub digest: Box<str>,
    /// The estimated number of tokens in its text.
    pub tokens: u64,
}

impl Session {
    /// Starts a session with every tool of the engine. The title is shown in lists of sessions.
    pub async fn start(engine: &Engine, title: &str) -> Result<Self, RuntimeError> {
        let settings = engine.settings();
        let choice = ToolSelection {
            skill: settings.skill_tool,
            ..ToolSelection::default()
        };
        let model = Arc::clone(engine.model());
        let mut started = Started {
            title: one_line(title),
            limits: limits(settings.budget, &model),
            effort: settings.effort,
            ..Started::default()
        };
        let mut tools = toolset(engine, &choice)?;
        Self::add_team(engine, &mut started, &mut tools).await?;
        Self::begin(engine, engine.context().derive(), tools, model, started).await
    }

    /// Lets a session that runs as no agent start the trusted agents of files, if there are any.
    pub(crate) async fn add_team(
        engine: &Engine,
        started: &mut Started,
        tools: &mut Toolset,
    ) -> Result<(), RuntimeError> {
        let shared = engine.clone();
        let team = blocking(move || shared.session_team()).await?;
        if !team.is_empty() {
            let profile = AgentProfile {
                name: engine.settings().agent.clone(),
                team,
                ..AgentProfile::default()
            };
            agent_profile::confine(&profile, tools, engine.context(), 0);
            started.agent = Some(Box::new(profile));
        }
        Ok(())
    }

    /// Starts a session. Fills in the project, the model and the prompt in `started`.
    pub(crate) async fn begin(
        engine: &Engine,
        mut context: ToolContext,
        tools: Toolset,
        model: Arc<dyn Model>,
        mut started: Started,
    ) -> Result<Self, RuntimeError> {
        let (parent, effort) = (started.parent.as_ref(), started.effort);
        let depth = parent.map_or(0, |parent| parent.depth);
        let decisions = Arc::new(DecisionLog::default());
        SessionApprover::install(engine, &mut context, &decisions);
        context.settings.effort = effort;
        context.settings.visibility.touched.get_or_insert_default();
        fit_index(&mut context, engine, &model);
        let stop = make_stoppable(&mut context);
        let base = LiveSettings::of(&context);
        let settings_version = restrict(&base, &mut context).await?;
        let (context, tools) = (Arc::new(context), Arc::new(tools));
        let made = {
            let (context, tools) = (Arc::clone(&context), Arc::clone(&tools));
            blocking(move || {
                let names: Vec<Box<str>> = tools
                    .tools(&context)
                    .map(|tool| tool.name().into())
                    .collect();
                prompt(&context, &names)
            })
            .await?
        };
        let Prompt {
            system,
            listed,
            known,
            generation,
        } = made;
        started.version = VERSION;
        started.project = context.settings.paths.workspace.to_string_lossy().into();
        started.model = model.about().name.clone();
        started.system = system;
        let first = Event::Started(Box::new(started));
        let mut journal = Journal::begin(engine, first, depth, decisions).await?;
        journal.write(Event::Listed(listed)).await?;
        let mut session = Self {
            engine: engine.clone(),
            journal,
            context,
            tools,
            loaded: Loaded::default(),
            hooks: HookState::default(),
            known,
            generation,
            base,
            settings_version,
            touched: false,
            pending: Vec::new(),
            pending_skills: Vec::new(),
            pending_gone: Vec::new(),
            model,
            effort,
            too_long: 0,
            stop,
            background: Background::default(),
            outside: None,
            desk: None,
            waiting: Vec::new(),
            pending_activation: None,
        };
        session.name_context();
        Ok(session)
    }

    /// Applies the changes of skills and settings that were made since the last call. Skills are
    /// scanned again only if something changed.
    pub(crate) async fn refresh(&mut self) -> Result<(), RuntimeError> {
        let services = &self.context.services;
        let (registry, live) = (Arc::clone(&services.registry), services.live.clone());
        let version = blocking(move || {
            registry.settle();
            live.map(|live| live.current())
        })
        .await?;
        let is_new = |version: &SettingsVersion| version.number != self.settings_version;
        let Some(version) = version.filter(is_new) else {
            return Ok(());
        };
        // A tool that did not stop when it was cancelled still has the context.
        if Arc::get_mut(&mut self.context).is_none() {
            self.context = Arc::new(self.context.derive());
        }
        if let Some(context) = Arc::get_mut(&mut self.context) {
            self.base.within(&version.settings).apply(context);
            self.settings_version = version.number;
            self.touched = true;
        }
        if let Some(message) = version.message.filter(|_| self.journal.depth == 0) {
            self.tell(&message);
        }
        Ok(())
    }

    /// Sets the session id in the context.
    pub(crate) fn name_context(&mut self) {
        let id = self.journal.id.to_string();
        if let Some(context) = Arc::get_mut(&mut self.context) {
            context.settings.session = Some(id);
        }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.journal.id
    }

    /// Returns the conversation so far.
    pub fn run(&self) -> &Run {
        &self.journal.run
    }

    /// Returns the name of the agent that the session runs as, if it runs as one.
    pub fn agent(&self) -> Option<&str> {
        let profile = self.journal.run.started()?.agent.as_deref()?;
        let usual = &self.engine.settings().agent;
        (profile.file.is_some() || profile.name != *usual).then_some(&*profile.name)
    }

    /// Returns the resources used so far.
    pub fn spent(&self) -> &Spent {
        self.journal.run.spent()
    }

    /// Returns the current model.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// Returns the context of tools: the rules, services and settings of this session.
    pub fn context(&self) -> &ToolContext {
        &self.context
    }

    /// Returns the loaded skills.
    pub fn skills(&self) -> Vec<ActiveView> {
        let run = &self.journal.run;
        let size = |name: &str| {
            let parts = run.messages().iter().flat_map(|message| &message.parts);
            let sizes = parts.map(|part| match part {
                MessagePart::Text {
                    text,
                    keep: Some(keep),
                } if **keep == *name => text.len(),
                MessagePart::Result(result) if result.keep.as_deref() == Some(name) => {
                    result.text.len()
                }
                _ => 0,
            });
            (sizes.max().unwrap_or(0) as u64).div_ceil(4)
        };
        let view = |skill: &ActiveSkill| ActiveView {
            name: skill.name.clone(),
            digest: skill.digest.clone(),
            tokens: size(&skill.name),
        };
        run.active().iter().map(view).collect()
    }

    /// Returns the tool declarations for the next request. Tools that a loaded skill forbids are left
    /// out; tools that only skills provide are included while a loaded skill allows them.
    pub(crate) fn declared(&self) -> Vec<ToolDeclaration> {
        let tools = self
            .tools
            .tools(&self.context)
            .filter(|tool| self.is_declared(tool.name()));
        tools
            .map(|tool| ToolDeclaration {
                name: tool.name().into(),
                description: tool.description(&self.context),
                schema: tool.input_schema(),
            })
            .collect()
    }

    pub(crate) fn is_declared(&self, tool: &str) -> bool {
        let mut by_skill = self.engine.services().skill_tools.iter();
        let by_skill = by_skill.any(|known| known.name() == tool)
            && !self
                .profile()
                .is_some_and(|profile| agent_profile::owns(&self.engine, profile, tool));
        let (acting, settings) = (&self.context.acting, &self.context.settings);
        let skills = self.active_skills().chain(acting);
        let mut trusted = skills.filter(|skill| skill.is_trusted());
        let started = self.journal.run.started();
        let agent = started.and_then(|started| started.agent.as_deref());
        let by_agent = agent.filter(|_| acting.is_none());
        let available = !by_skill
            || by_agent.is_some_and(|agent| agent.named_tools.iter().any(|it| **it == *tool))
            || acting.is_some() && settings.tools_in_skills.contains(tool)
            || trusted.any(|skill| skill.effects.allows(tool));
        let mut active = self.active_skills();
        available && self.has_own_tool(tool) && !active.any(|skill| skill.forbids(tool))
    }

    /// Returns `true` unless the agent has a tool only while one of its own skills is loaded, and none
    /// of those is.
    fn has_own_tool(&self, tool: &str) -> bool {
        let Some(profile) = self.profile() else {
            return true;
        };
        if !profile.skill_only_tools.iter().any(|name| **name == *tool) {
            return true;
        }
        let lists = |skill: &&OwnSkill| skill.tools.iter().any(|name| **name == *tool);
        let own = profile.own_skills.iter().filter(lists);
        own.into_iter()
            .any(|skill| self.loaded.get(&skill.name).is_some())
    }

    /// Returns the loaded skills that affect the session, in order of name. A server's skill does
    /// not.
    pub(crate) fn active_skills(&self) -> impl Iterator<Item = &Arc<SkillSnapshot>> {
        self.loaded.snapshots().filter(|skill| !skill.is_served())
    }

    /// Returns `true` if a loaded skill has hooks.
    pub(crate) fn has_hooks(&self) -> bool {
        self.active_skills()
            .any(|skill| !skill.effects.hooks.is_empty())
    }

    /// Stops the commands that tools started.
    pub(crate) fn stop_commands(&self) {
        if let Some(stoppable) = &self.stop {
            (stoppable.stop)();
        }
    }

    /// Tells the watchers which tools of a skill do not exist.
    pub(crate) fn tell_missing_tools(&self, skill: &SkillSnapshot) {
        if let Some(missing) = skill.effects.missing_tools().filter(|_| !skill.is_served()) {
            let name = &skill.name;
            self.tell(&format!(
                "skill `{name}` names tools in `allowed-tools` that are not available: {missing}"
            ));
        }
    }

    /// Sends a message to the watchers.
    pub(crate) fn tell(&self, text: &str) {
        self.engine
            .tell(&self.journal.id, self.journal.depth, Update::Message(text));
    }
}

impl Drop for Session {
    /// Stops running commands: their output has no reader any more.
    fn drop(&mut self) {
        self.stop_commands();
    }
}

/// Applies settings that changed since the program started to the context of a new session. Returns
/// their version.
pub(crate) async fn restrict(
    base: &LiveSettings,
    context: &mut ToolContext,
) -> Result<u64, RuntimeError> {
    let Some(live) = context.services.live.clone() else {
        return Ok(0);
    };
    let version = blocking(move || live.current()).await?;
    base.within(&version.settings).apply(context);
    Ok(version.number)
}

/// Gives a context its own command runner, so that stopping it does not affect other sessions.
pub(crate) fn make_stoppable(context: &mut ToolContext) -> Option<Stoppable> {
    let stoppable = context.services.runner.as_ref()?.stoppable()?;
    context.services.runner = Some(Arc::clone(&stoppable.runner));
    Some(stoppable)
}

/// Returns the selected tools of an engine.
pub(crate) fn toolset(engine: &Engine, choice: &ToolSelection) -> Result<Toolset, RuntimeError> {
    let mut tools = Toolset::new(choice)?;
    let services = engine.services();
    for tool in services.tools.iter().chain(&services.skill_tools) {
        // A custom tool must not replace the built-in `submit` of a run with a result.
        if choice.result.is_none() || tool.name() != SUBMIT {
            tools.add(Arc::clone(tool));
        }
    }
    Ok(tools)
}

/// Returns the limits of a session with a budget and a model.
pub(crate) fn limits(budget: RunBudget, model: &Arc<dyn Model>) -> RunLimits {
    RunLimits {
        budget,
        window: model.about().window,
        ..RunLimits::default()
    }
}

/// Sets the budget of the index to the share of the model's context window, if the budget depends
/// on it.
fn fit_index(context: &mut ToolContext, engine: &Engine, model: &Arc<dyn Model>) {
    let window = model.about().window;
    if !context.settings.index_follows_model {
        return;
    }
    context.settings.index.limit = if window == engine.model().about().window {
        engine.settings().index.limit
    } else {
        let tokens = usize::try_from(window).unwrap_or(usize::MAX);
        IndexBudget::of_window(tokens, DEFAULT_FRACTION).limit
    };
}

/// Shortens a text to a one-line title.
pub(crate) fn one_line(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
