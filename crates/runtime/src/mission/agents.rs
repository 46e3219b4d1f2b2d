//! The agents and commanders of a mission, as sessions run with them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_agent::{
    AgentNotes, AgentProfile, ConversationLimits, Effort, OwnSkill, RunBudget, TeamMember,
};
use prowess_diag::wording;
use prowess_flow::mission::{
    AgentBlock, Commander, ContextLimits, DefinitionScope, Mission, MissionProject, MissionTask,
    ModelRef, SkillBlock, ToolRef, Value,
};
use prowess_tools::{AskHuman, Tool};
use prowess_traits::Model;

use crate::agent_profile::PreparedAgent;
use crate::engine::Engine;

/// Maximum size of one tool result that a file can ask for, in tokens, as in Squadron.
const MAX_RESULT_TOKENS: u64 = 64_000;
/// Default number of model turns of a commander.
const MAX_COMMANDER_TURNS: u32 = 200;

/// Provides what the files of a mission name.
pub trait MissionServices: std::fmt::Debug + Send + Sync {
    /// Returns the tools that a reference in a mission means: one, or all tools of a server. The error says why it
    /// is not available.
    fn tools(&self, mission: &str, tool: &ToolRef) -> Result<Vec<Arc<dyn Tool>>, String>;

    /// Returns a model of a `model` block.
    fn model(&self, model: &ModelRef) -> Result<Arc<dyn Model>, String>;

    /// Returns the folder for the memories and scratchpads of all projects; `None` if there is none.
    fn storage(&self) -> Option<PathBuf> {
        None
    }
}

/// The agents of a mission, with their tools and models.
#[derive(Debug, Default)]
pub(crate) struct MissionCast {
    pub(crate) agents: BTreeMap<Box<str>, PreparedAgent>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) models: BTreeMap<Box<str>, Arc<dyn Model>>,
    /// Reasons why the mission cannot run.
    pub(crate) faults: Vec<String>,
}

/// Returns the name under which sessions record a model of a block.
pub(crate) fn model_name(model: &ModelRef) -> Box<str> {
    format!("models.{}.{}", model.block, model.name).into()
}

/// Returns the agent that a mission means by a name: its own, or one of the project.
pub(crate) fn find_agent<'p>(
    plan: &'p MissionProject,
    mission: &str,
    name: &str,
) -> Option<&'p AgentBlock> {
    let mut agents = plan.agents.iter().filter(|agent| *agent.name == *name);
    let own = |agent: &&AgentBlock| matches!(&agent.scope, DefinitionScope::Mission(of) if **of == *mission);
    let global = |agent: &&AgentBlock| agent.scope == DefinitionScope::Global;
    agents.clone().find(own).or_else(|| agents.find(global))
}

/// Returns the skills that an agent may load: the blocks, and the names of the library.
fn skills_of<'p>(
    plan: &'p MissionProject,
    mission: &str,
    agent: &AgentBlock,
) -> (Vec<&'p SkillBlock>, Vec<String>) {
    let is_own = |skill: &SkillBlock| match (&skill.scope, &agent.scope) {
        (DefinitionScope::Agent(of), DefinitionScope::Global) => *of == agent.name,
        (
            DefinitionScope::MissionAgent {
                mission: of,
                agent: owner,
            },
            DefinitionScope::Mission(_),
        ) => **of == *mission && *owner == agent.name,
        _ => false,
    };
    let (mut blocks, mut library) = (Vec::new(), Vec::new());
    for name in &agent.skills {
        let named = plan.skills.iter().filter(|skill| skill.name == *name);
        let own = named.clone().find(|skill| is_own(skill));
        let global = |skill: &&SkillBlock| skill.scope == DefinitionScope::Global;
        match own.or_else(|| named.clone().find(global)) {
            Some(block) => blocks.push(block),
            None => library.push(name.to_string()),
        }
    }
    (blocks, library)
}

impl MissionCast {
    /// Prepares the agents of a mission. Agents that no task can call are left out.
    pub(crate) fn new(
        engine: &Engine,
        plan: &MissionProject,
        mission: &Mission,
        root: &Path,
        services: &dyn MissionServices,
    ) -> Self {
        let mut cast = Self::default();
        let is_chosen = engine.settings().is_model_chosen;
        let mut names: Vec<&str> = mission.agents.iter().map(|name| &**name).collect();
        for task in &mission.tasks {
            names.extend(task.agents.iter().flatten().map(|name| &**name));
        }
        if let Some(model) = mission.commander.model.as_ref().filter(|_| !is_chosen) {
            cast.add_model(model, services);
        }
        for name in names {
            if cast.agents.contains_key(name) {
                continue;
            }
            let Some(agent) = find_agent(plan, &mission.name, name) else {
                let name = wording::tick(name);
                cast.faults.push(format!("no agent named {name}"));
                continue;
            };
            if let Some(model) = agent.model.as_ref().filter(|_| !is_chosen) {
                cast.add_model(model, services);
            }
            let prepared = cast.prepare(engine, plan, mission, agent, root, services);
            cast.agents.insert(name.into(), prepared);
        }
        cast
    }

    fn add_model(&mut self, model: &ModelRef, services: &dyn MissionServices) {
        let name = model_name(model);
        if self.models.contains_key(&name) {
            return;
        }
        match services.model(model) {
            Ok(found) => {
                self.models.insert(name, found);
            }
            Err(why) => self
                .faults
                .push(format!("model {}: {why}", wording::tick(name))),
        }
    }

    /// Returns a fault for each model of a file whose price is not known: what it costs cannot be
    /// counted, so it would switch off a budget in money. A file that says that a model is free is no
    /// proof of it.
    pub(crate) fn unpriced(&self) -> Vec<String> {
        let is_unknown = |model: &dyn Model| {
            let price = model.about().price;
            price.is_none_or(|price| price.input <= 0.0 || price.output <= 0.0)
        };
        let unknown = self
            .models
            .iter()
            .filter(|(_, model)| is_unknown(&***model));
        unknown
            .map(|(name, _)| no_price(name, "set `pricing` in its block, or use"))
            .collect()
    }

    /// Adds the tools of references. Returns their names, and the references without a tool.
    fn add_tools(
        &mut self,
        mission: &str,
        tools: &[ToolRef],
        services: &dyn MissionServices,
    ) -> (Vec<Box<str>>, Vec<String>) {
        let (mut names, mut missing) = (Vec::new(), Vec::new());
        for reference in tools {
            let found = match reference {
                ToolRef::BuiltIn(name) if &**name == "human.ask" => {
                    Ok(vec![Arc::new(AskHuman) as Arc<dyn Tool>])
                }
                _ => services.tools(mission, reference),
            };
            match found {
                Ok(found) => {
                    for tool in found {
                        let name: Box<str> = tool.name().into();
                        if !self.tools.iter().any(|known| known.name() == tool.name()) {
                            self.tools.push(tool);
                        }
                        if !names.contains(&name) {
                            names.push(name);
                        }
                    }
                }
                Err(why) => {
                    missing.push(format!("{}: {why}", wording::tick(reference.to_string())));
                }
            }
        }
        (names, missing)
    }

    fn prepare(
        &mut self,
        engine: &Engine,
        plan: &MissionProject,
        mission: &Mission,
        agent: &AgentBlock,
        root: &Path,
        services: &dyn MissionServices,
    ) -> PreparedAgent {
        let (own, missing) = self.add_tools(&mission.name, &agent.tools, services);
        let mut messages: Vec<String> = missing
            .iter()
            .map(|missing| {
                let name = wording::tick(&agent.name);
                format!("agent {name} has a tool that is not available: {missing}")
            })
            .collect();
        let (blocks, library) = skills_of(plan, &mission.name, agent);
        let mut own_skills = Vec::new();
        let mut of_skills: BTreeSet<Box<str>> = BTreeSet::new();
        for block in blocks {
            let (tools, missing) = self.add_tools(&mission.name, &block.tools, services);
            of_skills.extend(tools.iter().cloned());
            own_skills.push(own_skill(block, root, tools, &missing));
            messages.extend(missing.iter().map(|missing| {
                let name = wording::tick(&block.name);
                format!("skill {name} has a tool that is not available: {missing}")
            }));
        }
        let skill_only: Vec<Box<str>> = of_skills
            .into_iter()
            .filter(|tool| !own.contains(tool))
            .collect();
        let mut skills: Vec<String> = own_skills.iter().map(|one| one.name.to_string()).collect();
        skills.extend(library);
        let settings = engine.settings();
        let is_set = settings.agents.contains_key(&agent.name);
        let is_chosen = settings.is_model_chosen;
        PreparedAgent {
            profile: AgentProfile {
                name: agent.name.clone(),
                prompt: Some(agent_prompt(agent)),
                notes: AgentNotes::Without,
                tools: Some(own.iter().chain(&skill_only).cloned().collect()),
                skills: Some(skills),
                own_skills,
                skill_only_tools: skill_only,
                result_tokens: result_tokens(&agent.limits),
                ..AgentProfile::default()
            },
            model: agent.model.as_ref().filter(|_| !is_chosen).map(model_name),
            effort: agent.effort.as_deref().and_then(Effort::parse),
            budget: RunBudget::default(),
            limits: conversation_limits(&agent.limits),
            preload: Vec::new(),
            restricted_by: is_set.then(|| agent.name.clone()).into_iter().collect(),
            messages,
        }
    }

    /// Returns the agents that the commander of a task may call.
    pub(crate) fn team(
        plan: &MissionProject,
        mission: &Mission,
        task: &MissionTask,
    ) -> Vec<TeamMember> {
        let names = task.agents.as_ref().unwrap_or(&mission.agents);
        let member = |name: &str| {
            let agent = find_agent(plan, &mission.name, name)?;
            Some(TeamMember {
                name: name.into(),
                agent: name.into(),
                description: prowess_catalog::skill::one_line(
                    agent.description().unwrap_or_default(),
                )
                .into(),
                is_tool: false,
            })
        };
        names.iter().filter_map(|name| member(name)).collect()
    }
}

/// Returns the fault of a model whose price is not known, in a run with a budget in money.
pub(crate) fn no_price(model: &str, instead: &str) -> String {
    let model = wording::tick(model);
    format!(
        "no price is known for model {model}, so a budget in dollars has no effect: {instead} \
         `--budget tokens=N`"
    )
}

/// Returns the limits of a block as a session has them.
fn conversation_limits(limits: &ContextLimits) -> ConversationLimits {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    ConversationLimits {
        compact_at: limits.compaction.map(|(tokens, _)| tokens),
        keep_turns: limits.compaction.map(|(_, turns)| small(turns)),
        prune: limits.pruning.map(|(on, to)| (small(on), small(to))),
    }
}

/// Returns the maximum size of one tool result, in tokens.
fn result_tokens(limits: &ContextLimits) -> Option<u32> {
    let tokens = limits.result_tokens?.min(MAX_RESULT_TOKENS);
    u32::try_from(tokens).ok()
}

/// Returns the commander of a task.
pub(crate) fn commander(
    commander: &Commander,
    system: String,
    team: Vec<TeamMember>,
    is_model_chosen: bool,
) -> PreparedAgent {
    PreparedAgent {
        profile: AgentProfile {
            name: "commander".into(),
            prompt: Some(system),
            notes: AgentNotes::Without,
            tools: Some(Vec::new()),
            skills: Some(Vec::new()),
            team,
            result_tokens: result_tokens(&commander.limits),
            is_commander: true,
            ..AgentProfile::default()
        },
        model: commander
            .model
            .as_ref()
            .filter(|_| !is_model_chosen)
            .map(model_name),
        effort: commander.effort.as_deref().and_then(Effort::parse),
        budget: RunBudget::turns(MAX_COMMANDER_TURNS),
        limits: conversation_limits(&commander.limits),
        preload: Vec::new(),
        restricted_by: Vec::new(),
        messages: Vec::new(),
    }
}

/// Returns the instructions of an agent.
fn agent_prompt(agent: &AgentBlock) -> String {
    let mut text = format!(
        "You are agent `{}`. You get a task from a commander. Do it with your tools, and answer with \
         the result: the answer is all that the commander sees.",
        agent.name
    );
    let parts = [
        ("Role", agent.role.as_ref()),
        ("Personality", Some(&agent.personality)),
    ];
    for (title, value) in parts {
        let value = value.and_then(Value::as_text).map(str::trim);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&format!("\n\n{title}:\n{value}"));
        }
    }
    text
}

/// Returns a skill block as a skill of an agent. Its note says which tools it adds, and which of them
/// are missing.
fn own_skill(
    block: &SkillBlock,
    root: &Path,
    tools: Vec<Box<str>>,
    missing: &[String],
) -> OwnSkill {
    let text = |value: &Value| value.as_text().unwrap_or_default().trim().to_owned();
    let mut notes = Vec::new();
    if !tools.is_empty() {
        let names = tools.iter().map(wording::tick);
        notes.push(format!(
            "Tools that this skill adds: {}",
            wording::all(names)
        ));
    }
    if !missing.is_empty() {
        notes.push(format!(
            "Tools of this skill that are not available: {}",
            wording::all(missing.iter().cloned())
        ));
    }
    let folder = block.folder.as_deref().map(|folder| root.join(folder));
    OwnSkill {
        name: block.name.clone(),
        description: text(&block.description),
        instructions: text(&block.instructions),
        is_template: block.folder.is_some(),
        folder: folder.and_then(|folder| folder.to_str().map(Into::into)),
        note: notes.join("\n\n"),
        tools,
    }
}
