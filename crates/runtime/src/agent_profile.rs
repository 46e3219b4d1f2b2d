//! Profiles: what an agent's file says, as the data that a session runs with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_agent::{
    AgentCommand, AgentNotes, AgentProfile, AgentSource, ConversationLimits, Effort, OwnSkill,
    RunBudget, SpawnLimits, TeamMember,
};
use prowess_catalog::{Scope, SkillGrant};
use prowess_diag::{suggest, wording};
use prowess_flow::{AgentDef, AgentScope, Dialect, ModelChoice, PromptSource, Selection, TeamKind};
use prowess_policy::CHANGING_TOOLS;
use prowess_registry::resource::{Resource, SkillFolder};
use prowess_registry::{NewSkill, Place, Registry};
use prowess_spec::yaml::write;
use prowess_tools::names::{
    ASK_HUMAN, LIST_SKILLS, LOAD_SKILL, LOAD_SKILL_RESOURCE, LOAD_SKILL_RESOURCES,
    RUN_COMMAND_LINE, SEARCH_SKILLS, SKILL, SUBMIT, UNLOAD_SKILL,
};
use prowess_tools::{
    AgentLibrary, AskHuman, FoundAgent, ServerTools, Tool, ToolContext, ToolOwner, Toolset,
    bans_skills, selected_tools, server_of,
};

use crate::agents::Agent;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::subrun::retain_read_only;
use crate::subrun_limits::is_within;
use crate::team_tools;

/// Maximum number of agents that one agent may start.
const MAX_TEAM: usize = 200;
/// Maximum size of the notes of an agent's folder, in bytes.
const MAX_NOTES: usize = 32 * 1024;
/// Maximum size of a slash command, in bytes.
const MAX_COMMAND: usize = 256 * 1024;

/// An agent that is ready to start.
#[derive(Clone, Debug)]
pub(crate) struct PreparedAgent {
    pub(crate) profile: AgentProfile,
    /// The model that its file names. `None` for the one of the caller.
    pub(crate) model: Option<Box<str>>,
    pub(crate) effort: Option<Effort>,
    pub(crate) budget: RunBudget,
    pub(crate) limits: ConversationLimits,
    /// Skills that are in its first message.
    pub(crate) preload: Vec<Box<str>>,
    /// Names of agents in the settings that restrict it.
    pub(crate) restricted_by: Vec<Box<str>>,
    /// Messages for the user.
    pub(crate) messages: Vec<String>,
}

/// The session that starts an agent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller<'p> {
    /// The agent that it runs as.
    pub(crate) profile: Option<&'p AgentProfile>,
    pub(crate) depth: u8,
}

impl Engine {
    /// Prepares an agent by name. Reads files.
    pub(crate) fn prepare_agent(
        &self,
        name: &str,
        caller: Caller<'_>,
    ) -> Result<PreparedAgent, RuntimeError> {
        let own = self.mission().and_then(|parts| parts.agents.get(name));
        if let Some(agent) = own {
            return Ok(agent.clone());
        }
        let agent = self.agent(name)?;
        Ok(self.prepare(&agent, caller))
    }

    /// Makes a profile. The one place in which a definition becomes what a session runs with.
    pub(crate) fn prepare(&self, agent: &Agent, caller: Caller<'_>) -> PreparedAgent {
        let mut made = self.prepare_bare(agent);
        if let Some(found) = &agent.file
            && let Some(definition) = found.definition()
        {
            self.add_definition(&mut made, found, definition, caller);
        }
        if let Some(above) = caller.profile {
            made.profile.read_only |= above.read_only;
            let depths = [made.profile.max_depth, above.max_depth];
            made.profile.max_depth = depths.into_iter().flatten().min();
        }
        made
    }

    /// Prepares an agent without the definition of a file: its name and the tools in the settings.
    fn prepare_bare(&self, agent: &Agent) -> PreparedAgent {
        let settings = self.settings();
        let mut messages = Vec::new();
        let (mut tools, mut named_tools) = (None, Vec::new());
        if agent.file.is_none() && !agent.is_built_in {
            // As in Planck, a worker lists skills only if that is asked for.
            let without = vec![LIST_SKILLS.into()];
            let mut choice = Selection {
                only: None,
                without,
            };
            if let Some(listed) = settings.agent_tools.get(&agent.name) {
                choice = Selection::listed(listed.clone());
            }
            let selected = select(self, &choice, &Selection::all(), ServerTools::ByTool);
            messages.extend(missing_tools(&agent.name, &selected));
            tools = selected.tools;
            named_tools = changing_tools(&choice);
        }
        PreparedAgent {
            profile: AgentProfile {
                name: agent.name.clone(),
                tools,
                named_tools,
                read_only: agent.read_only,
                ..AgentProfile::default()
            },
            model: None,
            effort: None,
            budget: RunBudget::default(),
            limits: ConversationLimits::default(),
            preload: Vec::new(),
            restricted_by: agent.settings_name().into_iter().collect(),
            messages,
        }
    }

    fn add_definition(
        &self,
        made: &mut PreparedAgent,
        found: &FoundAgent,
        definition: &AgentDef,
        caller: Caller<'_>,
    ) {
        let (above, context) = (caller.profile, self.context());
        let profile = &mut made.profile;
        profile.file = Some(AgentSource {
            path: found.path().to_string_lossy().into(),
            digest: found.digest().into(),
            in_project: found.entry.scope == AgentScope::Project,
        });
        profile.given = Some(definition.name.as_str().into());
        profile.prompt = (!definition.prompt.is_empty()).then(|| definition.prompt.to_string());
        if let PromptSource::Unread(file) = &definition.prompt_source {
            let (name, file) = (
                wording::tick(&profile.name),
                wording::tick(prowess_tools::answer::shown(file)),
            );
            let path = wording::command(["prowess", "validate", &found.path().to_string_lossy()]);
            made.messages.push(format!(
                "agent {name} has no instructions: {file} cannot be read; see {path}"
            ));
        }
        profile.notes = notes(context, found, definition);
        profile.read_only |= definition.is_read_only;
        let how = match definition.dialect {
            Dialect::CoreAgent | Dialect::SkilledCrew => ServerTools::ByServer,
            _ => ServerTools::ByTool,
        };
        let selected = select_own(self, profile, definition, how);
        made.messages
            .extend(missing_tools(&profile.name, &selected));
        let inherited = above.and_then(|above| above.tools.as_ref());
        profile.tools = match (selected.tools, inherited) {
            // Without a list, an agent has the tools of its caller, and its own.
            (Some(tools), Some(theirs)) if definition.tools.only.is_none() => {
                let has = |tool: &str| {
                    theirs.iter().any(|known| **known == *tool) || owns(self, profile, tool)
                };
                Some(tools.into_iter().filter(|tool| has(tool)).collect())
            }
            (None, Some(theirs)) if definition.tools.only.is_none() => {
                // An agent that may ask people is given that itself.
                let others = theirs.iter().filter(|tool| ***tool != *ASK_HUMAN);
                Some(others.cloned().collect())
            }
            (selected, _) => selected,
        };
        profile.named_tools = changing_tools(&definition.tools);
        set_skills(profile, found, definition, above);
        if found.entry.file.team.as_ref().map(|team| team.kind) == Some(TeamKind::Crew) {
            set_crew(profile, found, definition);
        }
        let (model, note) = model_of(&profile.name, &definition.model);
        made.model = model;
        made.messages.extend(note);
        made.effort = definition.effort.as_deref().and_then(Effort::parse);
        if let Some(word) = definition
            .effort
            .as_deref()
            .filter(|_| made.effort.is_none())
        {
            let name = wording::tick(&profile.name);
            let word = wording::tick(wording::shorten(word, 40));
            made.messages
                .push(format!("agent {name} has an unknown effort: {word}"));
        }
        let limits = definition.limits;
        made.budget = RunBudget {
            turns: limits.turns,
            tokens: None,
            micros: limits.micros,
            milliseconds: limits.seconds.map(|seconds| seconds.saturating_mul(1000)),
        };
        let below = limits
            .depth
            .map(|depth| u8::try_from(depth).unwrap_or(u8::MAX));
        profile.max_depth = below.map(|below| caller.depth.saturating_add(below));
        made.preload.clone_from(&definition.preload);
        if let Some(library) = &context.services.agents {
            profile.team = team(library, found, definition);
            profile.spawns = self.spawn_limits(found, definition);
        }
    }

    /// Returns what an orchestrator may give to agents that it defines: what its team has.
    fn spawn_limits(&self, found: &FoundAgent, leader: &AgentDef) -> Option<SpawnLimits> {
        let team = found.entry.file.team.as_ref()?;
        let is_leader =
            team.kind == TeamKind::Orchestrated && team.entry.as_ref() == Some(&leader.name);
        let is_named = leader.tools.only.iter().flatten();
        let is_named = is_named
            .clone()
            .any(|tool| &**tool == team_tools::SPAWN_AGENT);
        let has_members = leader
            .calls
            .only
            .as_ref()
            .is_some_and(|calls| !calls.is_empty());
        if !is_leader || !(is_named || has_members) {
            return None;
        }
        let mut limits = SpawnLimits {
            tools: Some(Vec::new()),
            skills: Some(Vec::new()),
        };
        for agent in &found.entry.file.agents {
            let selected = select(self, &agent.tools, &agent.servers, ServerTools::ByTool);
            let member = format!("{}/{}", team.name, agent.name);
            let tools = self.within_settings(&member, selected.tools);
            limits.tools = union(limits.tools, tools);
            let skills = agent.skills.only.as_ref();
            let skills = skills.map(|names| names.iter().map(ToString::to_string).collect());
            limits.skills = union(limits.skills, skills);
        }
        Some(limits)
    }

    /// Returns the agents that a session without an agent may start, if there are any: all trusted
    /// ones.
    pub(crate) fn session_team(&self) -> Vec<TeamMember> {
        let library = self.services().agents.as_ref();
        let Some(library) = library.filter(|_| self.settings().call_agents) else {
            return Vec::new();
        };
        let entries = library.roster().entries().iter();
        let used = entries.filter(|entry| entry.shadowed_by.is_none() && !entry.is_member());
        let found = used.map(FoundAgent::new);
        let trusted = found.filter(|found| library.is_trusted(found));
        trusted
            .take(MAX_TEAM)
            .filter_map(|found| member(&found))
            .collect()
    }
}

impl Engine {
    /// Checks the agent of a recorded session again: it must still be trusted. Returns a message if
    /// its file changed. Reads files.
    pub(crate) fn check_profile(
        &self,
        profile: &AgentProfile,
    ) -> Result<Option<String>, RuntimeError> {
        let Some(source) = &profile.file else {
            return Ok(None);
        };
        let library = self.services().agents.as_ref();
        let entries = library.map_or(&[][..], |library| library.roster().entries());
        let mut found = entries.iter().map(FoundAgent::new);
        let found = found.find(|found| found.path().to_string_lossy() == *source.path);
        let is_trusted = match (&found, library) {
            (Some(found), Some(library)) => library.is_trusted(found),
            // Without its file, an agent of a project cannot be trusted.
            _ => !source.in_project,
        };
        if !is_trusted {
            return Err(RuntimeError::UntrustedAgent {
                agent: profile.name.clone(),
                path: PathBuf::from(&*source.path),
            });
        }
        let is_same = found.is_some_and(|found| self.has_digest(&found, profile, source));
        Ok((!is_same).then(|| {
            format!(
                "agent {} changed after the session started; it continues as it was",
                wording::tick(&profile.name)
            )
        }))
    }

    /// Returns `true` if the files of a recorded agent did not change.
    fn has_digest(&self, found: &FoundAgent, profile: &AgentProfile, source: &AgentSource) -> bool {
        // The digest covers the instructions, which differ between the members of a team.
        let library = self.services().agents.as_ref();
        let own = library.and_then(|library| library.find(&profile.name));
        let own = own.filter(|own| own.path() == found.path());
        own.as_ref().unwrap_or(found).digest() == *source.digest
    }
}

/// Returns what two lists have in common, of which `None` is everything.
pub(crate) fn common<T: PartialEq>(left: Option<Vec<T>>, right: Option<Vec<T>>) -> Option<Vec<T>> {
    match (left, right) {
        (Some(left), Some(right)) => {
            let kept = left.into_iter().filter(|item| right.contains(item));
            Some(kept.collect())
        }
        (left, right) => left.or(right),
    }
}

/// Joins two lists, of which `None` is everything.
fn union<T: PartialEq>(left: Option<Vec<T>>, right: Option<Vec<T>>) -> Option<Vec<T>> {
    let (mut left, right) = (left?, right?);
    for item in right {
        if !left.contains(&item) {
            left.push(item);
        }
    }
    Some(left)
}

/// Adds the tools that only this agent has. Its servers replace those of all agents with the same
/// names.
pub(crate) fn add_owned(engine: &Engine, profile: &AgentProfile, tools: &mut Toolset) {
    let own: Vec<&Arc<dyn Tool>> = own_tools(engine, profile).collect();
    tools.retain(|tool| !own.iter().any(|own| have_one_server(own.name(), tool)));
    for tool in own {
        tools.add(Arc::clone(tool));
    }
}

/// Returns `true` if an agent has a tool of its own with this name.
pub(crate) fn owns(engine: &Engine, profile: &AgentProfile, tool: &str) -> bool {
    own_tools(engine, profile).any(|own| own.name() == tool)
}

/// Returns the tools that an agent has and the session of the user does not.
fn own_tools<'e>(
    engine: &'e Engine,
    profile: &AgentProfile,
) -> impl Iterator<Item = &'e Arc<dyn Tool>> {
    let (file, given) = (profile.file.as_ref(), profile.given.as_ref());
    let owned = engine.services().owned_tools.iter();
    let is_own = move |owner: &ToolOwner| {
        file.is_some_and(|file| file.path == owner.file) && given == Some(&owner.agent)
    };
    let own = owned.filter(move |owned| owned.owners.iter().any(is_own));
    own.map(|owned| &owned.tool)
}

/// Returns `true` if two tools belong to MCP servers of the same name.
fn have_one_server(one: &str, other: &str) -> bool {
    server_of(one).is_some_and(|server| server_of(other) == Some(server))
}

/// Selects from the tools that an agent can have: not those of other agents, and with a root no
/// server but its own.
fn select_own(
    engine: &Engine,
    profile: &AgentProfile,
    definition: &AgentDef,
    how: ServerTools,
) -> prowess_tools::SelectedTools {
    let all = engine.settings().known_tools.as_deref().unwrap_or_default();
    let own: Vec<&str> = own_tools(engine, profile).map(|tool| tool.name()).collect();
    let services = engine.services();
    let others: Vec<&str> = {
        let of_all = services.tools.iter().chain(&services.skill_tools);
        let of_all: Vec<&str> = of_all.map(|tool| tool.name()).collect();
        let owned = services.owned_tools.iter().map(|owned| owned.tool.name());
        owned.filter(|tool| !of_all.contains(tool)).collect()
    };
    let is_here = |tool: &str| {
        let is_replaced = || own.iter().any(|own| have_one_server(own, tool));
        let is_shared = || definition.root.is_none() || !tool.starts_with("mcp__");
        own.contains(&tool) || !others.contains(&tool) && !is_replaced() && is_shared()
    };
    let known: Vec<Box<str>> = all.iter().filter(|tool| is_here(tool)).cloned().collect();
    let mut selected = selected_tools(&definition.tools, &definition.servers, how, &known);
    if known.len() < all.len() {
        selected.tools.get_or_insert(known);
    }
    selected
}

/// Selects the tools of a list in the settings.
pub(crate) fn select_listed(engine: &Engine, listed: &[Box<str>]) -> prowess_tools::SelectedTools {
    let choice = Selection::listed(listed.to_vec());
    select(engine, &choice, &Selection::all(), ServerTools::ByTool)
}

fn select(
    engine: &Engine,
    tools: &Selection,
    servers: &Selection,
    how: ServerTools,
) -> prowess_tools::SelectedTools {
    let known = engine.settings().known_tools.as_deref().unwrap_or_default();
    selected_tools(tools, servers, how, known)
}

/// Returns the tools that may change something on the web and that a list names. No pattern names
/// them.
fn changing_tools(tools: &Selection) -> Vec<Box<str>> {
    let listed = tools.only.iter().flatten();
    let is_changing = |name: &str| CHANGING_TOOLS.contains(&name);
    listed.filter(|name| is_changing(name)).cloned().collect()
}

/// Returns messages about tools that an agent names and does not get: they do not exist, or the list
/// limits them with a pattern.
fn missing_tools(agent: &str, selected: &prowess_tools::SelectedTools) -> Vec<String> {
    let message = |names: &[Box<str>], what: &str, hint: &str| {
        let names: Vec<String> = names
            .iter()
            .map(|name| wording::tick(wording::shorten(name, 64)))
            .collect();
        let (list, more) = prowess_tools::answer::listed(&names, 400);
        let more = match more {
            _ if names.is_empty() => return None,
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let agent = wording::tick(agent);
        Some(format!("agent {agent} {what}: {list}{more}{hint}"))
    };
    let missing = message(&selected.missing, "names tools that are not available", "");
    let limited = message(
        &selected.limited,
        "does not get tools that its list limits with a pattern",
        "; list whole tools, and write deny rules in the settings",
    );
    missing.into_iter().chain(limited).collect()
}

/// Returns the notes of an agent. A file that is the instructions of an agent of the same team is no
/// note about the project.
fn notes(context: &ToolContext, found: &FoundAgent, definition: &AgentDef) -> AgentNotes {
    if let Some(root) = &definition.root {
        // Opened below the project, so that a link in the path of the root cannot leave it.
        let text = read_text(
            &found.entry.file.root,
            &format!("{root}/AGENTS.md"),
            MAX_NOTES,
        );
        let is_prompt = |text: &String| {
            definition.prompt.is_empty() || !text.contains(definition.prompt.trim())
        };
        return match text.filter(is_prompt) {
            Some(text) => AgentNotes::Own(text),
            None => AgentNotes::Without,
        };
    }
    let project = context
        .settings
        .project_notes
        .as_deref()
        .unwrap_or_default();
    let mut agents = found.entry.file.agents.iter();
    let is_prompt = |agent: &AgentDef| !agent.prompt.is_empty() && project.contains(&*agent.prompt);
    if agents.any(is_prompt) {
        return AgentNotes::Without;
    }
    AgentNotes::Project
}

/// Reads a text file of a folder. Links out of the folder are not followed.
fn read_text(folder: &Path, file: &str, bytes: usize) -> Option<String> {
    let folder = SkillFolder::open(folder).ok()?;
    match folder.read(file, 0, bytes).ok()? {
        Resource::Text { text, .. } => {
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        }
        Resource::Binary { .. } => None,
    }
}

fn set_skills(
    profile: &mut AgentProfile,
    found: &FoundAgent,
    definition: &AgentDef,
    above: Option<&AgentProfile>,
) {
    let names = |names: &[Box<str>]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let Selection { only, without } = &definition.skills;
    profile.skills = only.as_deref().map(names);
    profile.without_skills = names(without);
    if bans_skills(&definition.tools) {
        profile.skills = Some(Vec::new());
    }
    let path = |path: &str| found.path_of(path).to_string_lossy().into();
    if let Some(root) = &definition.root {
        profile.folders = Some(vec![path(&format!("{root}/skills"))]);
    } else if !definition.skill_folders.is_empty() {
        let folders = definition.skill_folders.iter();
        profile.folders = Some(folders.map(|(_, folder)| path(folder)).collect());
    } else if let Some(above) = above.filter(|_| only.is_none()) {
        // Without a list, an agent has the skills of its caller.
        profile.folders.clone_from(&above.folders);
        if profile.skills.is_none() {
            profile.skills.clone_from(&above.skills);
        }
        profile.without_skills.extend(above.without_skills.clone());
    }
}

/// Sets what only agents of a crew have: each skill is a sub-run that may run commands and use the
/// MCP servers of the agent.
fn set_crew(profile: &mut AgentProfile, found: &FoundAgent, definition: &AgentDef) {
    profile.forks_skills = true;
    profile.folders.get_or_insert_default();
    let mut tools = profile.tools.clone().unwrap_or_default();
    tools.push(RUN_COMMAND_LINE.into());
    profile.skill_tools = Some(tools);
    let team = found.entry.file.team.as_ref();
    // The user talks to the entry agent.
    let team = team.filter(|team| team.entry.as_ref() == Some(&definition.name));
    let commands = team.into_iter().flat_map(|team| &team.commands);
    profile.commands = commands
        .map(|command| AgentCommand {
            name: command.name.clone(),
            file: found.path_of(&command.file).to_string_lossy().into(),
        })
        .collect();
}

/// Returns the model that a file names, in the notation of model names, and a message if it cannot
/// be used.
fn model_of(agent: &str, choice: &ModelChoice) -> (Option<Box<str>>, Option<String>) {
    match choice {
        ModelChoice::Inherit => (None, None),
        // A file must not send conversations to a server of its choice.
        ModelChoice::Named {
            base_url: Some(_), ..
        } => {
            let agent = wording::tick(agent);
            let text = format!(
                "agent {agent} names a model server; its conversations stay with your own model"
            );
            (None, Some(text))
        }
        choice => (Some(choice.spec().into()), None),
    }
}

/// Returns the agents that an agent may start. Agents that are not trusted are left out, and so is
/// the agent itself.
fn team(library: &AgentLibrary, found: &FoundAgent, definition: &AgentDef) -> Vec<TeamMember> {
    let calls = &definition.calls;
    let file = &found.entry.file;
    let own = |name: &str| {
        let team = file.team.as_ref().filter(|team| team.entry.is_some());
        let full = match team {
            Some(team) => format!(
                "{}:{}:{}/{name}",
                found.entry.scope.as_str(),
                file.dialect.as_str(),
                team.name
            ),
            None => format!(
                "{}:{}:{name}",
                found.entry.scope.as_str(),
                file.dialect.as_str()
            ),
        };
        library.find(&full)
    };
    let members = file.team.is_some();
    let is_self = |other: &FoundAgent| {
        let same = other
            .definition()
            .is_some_and(|other| other.name == definition.name && other.file == definition.file);
        same && other.entry.scope == found.entry.scope
    };
    let named = |name: &str| {
        let other = own(name)
            .filter(|_| members)
            .or_else(|| library.find(name))?;
        (!is_self(&other) && library.is_trusted(&other)).then_some(())?;
        let mut member = member(&other)?;
        member.name = name.into();
        Some(member)
    };
    let Some(names) = &calls.only else {
        let entries = library.roster().entries().iter();
        let used = entries.filter(|entry| {
            entry.shadowed_by.is_none() && !entry.is_member() && calls.contains(&entry.name)
        });
        let found = used.map(FoundAgent::new);
        let found = found.filter(|other| !is_self(other) && library.is_trusted(other));
        let members = found.take(MAX_TEAM).filter_map(|found| member(&found));
        return members.collect();
    };
    let mut listed: Vec<TeamMember> = Vec::new();
    let names = names.iter().filter(|name| calls.contains(name));
    for name in names.take(MAX_TEAM) {
        if let Some(member) = named(name)
            && listed.iter().all(|known| known.name != member.name)
        {
            listed.push(member);
        }
    }
    listed
}

/// Returns an agent as a member of a team.
fn member(found: &FoundAgent) -> Option<TeamMember> {
    let definition = found.definition()?;
    let team = found.entry.team();
    let description = team
        .and_then(|team| team.description.clone())
        .unwrap_or_else(|| definition.description.clone());
    let kind = found.entry.file.team.as_ref().map(|team| team.kind);
    Some(TeamMember {
        name: found.entry.name.clone(),
        agent: found.entry.qualified().into(),
        description: prowess_catalog::skill::one_line(&description).into(),
        is_tool: kind == Some(TeamKind::Roster),
    })
}

/// Returns the nearest member of a team.
pub(crate) fn nearest<'t>(name: &str, team: &'t [TeamMember]) -> Option<&'t str> {
    suggest::nearest(name, team.iter().map(|member| &*member.name))
}

/// The parts of a context that an agent replaces, as they were before.
#[derive(Clone, Debug)]
pub(crate) struct OutsideAgent {
    registry: Arc<Registry>,
    settings: prowess_tools::Settings,
}

impl OutsideAgent {
    fn of(context: &ToolContext) -> Self {
        Self {
            registry: Arc::clone(&context.services.registry),
            settings: context.settings.clone(),
        }
    }

    /// Undoes what the agent of a session changed, for another agent. Restrictions stay.
    pub(crate) fn restore(&self, context: &mut ToolContext) {
        let before = &self.settings;
        context.services.registry = Arc::clone(&self.registry);
        let settings = &mut context.settings;
        settings.visibility.grant = before.visibility.grant.clone();
        settings.instructions.clone_from(&before.instructions);
        settings.project_notes.clone_from(&before.project_notes);
        settings.tools_in_skills.clone_from(&before.tools_in_skills);
        settings.agent.clone_from(&before.agent);
        settings.fork_skills = before.fork_skills;
        settings.result_bytes = before.result_bytes;
    }
}

/// Gives a context the instructions and the skills of an agent. Reads files. Returns what it was
/// before.
pub(crate) fn apply(profile: &AgentProfile, context: &mut ToolContext) -> OutsideAgent {
    let before = OutsideAgent::of(context);
    context.settings.agent = profile.name.clone();
    if let Some(prompt) = &profile.prompt {
        context.settings.instructions = Some(prompt.clone());
    }
    match &profile.notes {
        AgentNotes::Project => {}
        AgentNotes::Own(text) => context.settings.project_notes = Some(text.clone()),
        AgentNotes::Without => context.settings.project_notes = None,
    }
    apply_skills(profile, context);
    let bytes = profile
        .result_tokens
        .map(|tokens| (tokens as usize).saturating_mul(4));
    context.settings.result_bytes = bytes.or(context.settings.result_bytes);
    if profile.read_only {
        // Without its commands, loading a skill changes nothing.
        context.settings.commands = false;
    }
    before
}

/// Gives a context the skills of an agent.
pub(crate) fn apply_skills(profile: &AgentProfile, context: &mut ToolContext) {
    let grant = SkillGrant {
        allow: profile.skills.clone(),
        deny: profile.without_skills.clone(),
    };
    let visibility = &mut context.settings.visibility;
    if let Some(folders) = &profile.folders {
        let in_project = profile.file.as_ref().is_none_or(|file| file.in_project);
        let scope = if in_project {
            Scope::Project
        } else {
            Scope::User
        };
        let paths = &context.settings.paths;
        let folders = folders.iter();
        let place = Place {
            current: paths.workspace.clone(),
            home: Some(paths.home.clone()).filter(|home| !home.as_os_str().is_empty()),
            agent_folders: Some(
                folders
                    .map(|folder| (scope, PathBuf::from(&**folder)))
                    .collect(),
            ),
            ..Place::default()
        };
        let registry = Registry::of_place(place);
        let mut names = Vec::new();
        for command in &profile.commands {
            for skill in slash_commands(command) {
                names.push(skill.name().to_owned());
                registry.replace(skill);
            }
        }
        context.services.registry = Arc::new(registry);
        visibility.grant = grant;
        if let Some(allow) = &mut visibility.grant.allow {
            allow.extend(names);
        }
    } else if !profile.own_skills.is_empty() {
        // The skills of a mission are beside those of the library that it names.
        let registry = context.services.registry.derived();
        let (mut literal, mut commandless) = (BTreeSet::new(), BTreeSet::new());
        let mut notes = BTreeMap::new();
        for skill in &profile.own_skills {
            let Some(new) = own_skill(skill) else {
                continue;
            };
            let name: Box<str> = new.name().into();
            if let Some(on_disk) = folder_skill(skill, &new) {
                notes.insert(name, skill.note.clone());
                registry.replace(on_disk);
                continue;
            }
            if skill.is_template {
                commandless.insert(name);
            } else {
                literal.insert(name);
            }
            registry.replace(new);
        }
        notes.retain(|_, note| !note.is_empty());
        context.services.registry = Arc::new(registry);
        visibility.grant = grant;
        context.settings.literal_skills = literal;
        context.settings.commandless_skills = commandless;
        context.settings.skill_notes = notes;
    } else {
        let catalog = context.services.registry.snapshot();
        visibility.grant = grant.and(&visibility.grant, &catalog);
    }
    context.settings.fork_skills |= profile.forks_skills;
    // The tools of its servers stay available in the sub-runs of its skills.
    if profile.forks_skills {
        let tools = profile.tools.iter().flatten();
        context.settings.tools_in_skills.extend(tools.cloned());
    }
}

/// Returns a skill that a mission defines as one that can be loaded.
fn own_skill(skill: &OwnSkill) -> Option<NewSkill> {
    let (name, about) = (
        write::scalar(&skill.name),
        write::scalar(&skill.description),
    );
    let mut text = format!("---\nname: {name}\ndescription: {about}\n---\n");
    for part in [&skill.instructions, &skill.note] {
        if !part.is_empty() {
            text.push_str(&format!("{part}\n\n"));
        }
    }
    NewSkill::from_file_text(text.trim_end().to_owned() + "\n", Some(&skill.name)).ok()
}

/// Returns the skill in the folder that a mission takes, under the name of `defined`. `None` if there is
/// no folder, or if its text is not the one of the plan any more. It is trusted on its own, as every
/// skill of a project.
fn folder_skill(skill: &OwnSkill, defined: &NewSkill) -> Option<NewSkill> {
    let folder = Path::new(skill.folder.as_deref()?);
    let found = NewSkill::from_path(folder).ok()??;
    let parsed = prowess_spec::parse(found.text().as_bytes());
    let is_same = parsed
        .body_text()
        .trim()
        .lines()
        .eq(skill.instructions.lines());
    is_same.then(|| found.clone().renamed(defined.name(), &skill.description))
}

/// Returns a slash command of an agent as skills that only users can invoke: by its name and by the
/// name of its file.
fn slash_commands(command: &AgentCommand) -> Vec<NewSkill> {
    let path = Path::new(&*command.file);
    let folder = path.parent().unwrap_or(path);
    let file = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let Some(text) = read_text(folder, file, MAX_COMMAND) else {
        return Vec::new();
    };
    let parsed = prowess_spec::parse(text.as_bytes());
    let description = parsed
        .manifest
        .description
        .as_ref()
        .map_or("", |text| &text.value);
    let stem = file.split('.').next().unwrap_or(file);
    let mut names: Vec<&str> = vec![&command.name];
    if !stem.is_empty() && stem != &*command.name {
        names.push(stem);
    }
    let body = parsed.body_text();
    let made = names.into_iter().map(|name| {
        let (key, about) = (write::scalar(name), write::scalar(description));
        let text = format!(
            "---\nname: {key}\ndescription: {about}\ndisable-model-invocation: true\n---\n{body}"
        );
        NewSkill::from_file_text(text, Some(name))
    });
    made.filter_map(Result::ok).collect()
}

/// Removes the tools that an agent does not have, and adds those for starting others.
pub(crate) fn confine(
    profile: &AgentProfile,
    tools: &mut Toolset,
    context: &ToolContext,
    depth: u8,
) {
    tools.retain(|tool| {
        is_about_skills(tool)
            || profile
                .tools
                .as_ref()
                .is_none_or(|tools| tools.iter().any(|name| **name == *tool))
    });
    if profile.read_only {
        retain_read_only(tools, context);
    }
    if profile.is_commander {
        tools.retain(|_| false);
    }
    add_given(profile, tools, context);
    let is_deepest = profile.max_depth.is_some_and(|max| depth >= max);
    if !is_deepest {
        team_tools::add(profile, tools);
    }
}

/// Adds the tool that asks people if the agent has it by name. A skill that the agent works for must
/// allow it as well. It changes nothing by itself, so agents that only read have it too.
pub(crate) fn add_given(profile: &AgentProfile, tools: &mut Toolset, context: &ToolContext) {
    let mut listed = profile.tools.iter().flatten();
    let is_given = listed.any(|tool| **tool == *ASK_HUMAN);
    let in_skills = &context.settings.tools_in_skills;
    let acting = context.acting.as_ref();
    let is_allowed =
        acting.is_none_or(|skill| is_within(&skill.effects, ASK_HUMAN, None, in_skills));
    if is_given && is_allowed && !tools.has(ASK_HUMAN) {
        tools.add(Arc::new(AskHuman));
    }
}

/// Returns `true` for tools that an agent has whenever it has skills, and for `submit`.
pub(crate) fn is_about_skills(tool: &str) -> bool {
    matches!(
        tool,
        SEARCH_SKILLS
            | LOAD_SKILL
            | UNLOAD_SKILL
            | SKILL
            | LOAD_SKILL_RESOURCE
            | LOAD_SKILL_RESOURCES
            | SUBMIT
    )
}
