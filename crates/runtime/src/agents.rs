//! Agents: named sets of tools and skills that a forked skill runs with.

use prowess_catalog::{Audience, CatalogView, SkillGrant};
use prowess_diag::{hex, suggest, wording};
use prowess_flow::Selection;
use prowess_policy::Verdict;
use prowess_tools::names::ASK_HUMAN;
use prowess_tools::{
    FoundAgent, Loaded, SkillHandle, SkillSnapshot, ToolContext, Toolset, agent_rules, decide_agent,
};
use sha2::{Digest, Sha256};

use crate::agent_profile;
use crate::engine::Engine;
use crate::error::RuntimeError;

/// The agent of a forked skill that names none.
pub const GENERAL_PURPOSE: &str = "general-purpose";

/// The names of the built-in agents.
pub const BUILT_IN_AGENTS: [&str; 3] = [BUILT_IN[0].0, BUILT_IN[1].0, BUILT_IN[2].0];

/// The built-in agents, named as in Claude Code. The flag is `true` for read-only agents.
const BUILT_IN: [(&str, bool); 3] = [(GENERAL_PURPOSE, false), ("Explore", true), ("Plan", true)];

/// Maximum number of agents listed in an error.
const MAX_LISTED: usize = 20;
/// Maximum number of characters of a name in an error. The name is taken from a skill.
const MAX_NAME: usize = 64;

/// An agent that a session or a sub-run runs as.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) name: Box<str>,
    /// `true` if it has only read-only tools.
    pub(crate) read_only: bool,
    /// `true` if it is part of the program.
    pub(crate) is_built_in: bool,
    /// The skills that the settings give it, for each of its names in the settings.
    grants: Vec<SkillGrant>,
    /// The tools that the settings give it, likewise.
    tools: Vec<Vec<Box<str>>>,
    /// The file that defines it.
    pub(crate) file: Option<FoundAgent>,
}

impl Agent {
    /// Returns its name if the program or the settings restrict it.
    pub(crate) fn settings_name(&self) -> Option<Box<str>> {
        (self.is_built_in || !self.grants.is_empty()).then(|| self.name.clone())
    }

    /// Returns the skills that its file gives it; `None` for all.
    fn file_grant(&self) -> Option<SkillGrant> {
        let Selection { only, without } = &self.file.as_ref()?.definition()?.skills;
        let names = |names: &[Box<str>]| names.iter().map(ToString::to_string).collect();
        (only.is_some() || !without.is_empty()).then(|| SkillGrant {
            allow: only.as_deref().map(names),
            deny: names(without),
        })
    }
}

impl Engine {
    /// Returns the agents that a skill runs as: those of the parent runs, then its own. The run is
    /// limited to what all of them have.
    pub(crate) fn agents_of(
        &self,
        skill: &SkillSnapshot,
        above: &[Box<str>],
    ) -> Result<Vec<Agent>, RuntimeError> {
        let effects = &skill.effects;
        let forked = effects.forked.then_some(GENERAL_PURPOSE);
        let own = effects.agent.as_deref().or(forked);
        let names = above.iter().map(|name| &**name).chain(own);
        let mut agents: Vec<Agent> = Vec::new();
        for name in names {
            let agent = self.find_agent(name);
            let agent = agent.ok_or_else(|| self.no_agent(&skill.name, name))?;
            self.check_trust(&agent)?;
            agents.retain(|known| known.name != agent.name);
            agents.push(agent);
        }
        Ok(agents)
    }

    /// Finds an agent that a user, a program or another agent names.
    pub(crate) fn agent(&self, name: &str) -> Result<Agent, RuntimeError> {
        let agent = self.known_agent(name)?;
        self.check_trust(&agent)?;
        Ok(agent)
    }

    /// Finds agents whose settings restrict a session. Their files need no trust for that.
    pub(crate) fn restricting(&self, names: &[Box<str>]) -> Result<Vec<Agent>, RuntimeError> {
        let agents = names.iter().map(|name| self.known_agent(name));
        agents.collect()
    }

    fn known_agent(&self, name: &str) -> Result<Agent, RuntimeError> {
        self.find_agent(name).ok_or_else(|| {
            let known = self.known_agents();
            RuntimeError::UnknownAgent {
                name: wording::shorten(name, MAX_NAME).into(),
                near: suggest::nearest(name, known.iter().map(|name| &**name)).map(Into::into),
            }
        })
    }

    /// Returns an error if the file of an agent is not trusted.
    fn check_trust(&self, agent: &Agent) -> Result<(), RuntimeError> {
        let (Some(found), Some(library)) = (&agent.file, &self.services().agents) else {
            return Ok(());
        };
        if library.is_trusted(found) {
            return Ok(());
        }
        Err(RuntimeError::UntrustedAgent {
            agent: agent.name.clone(),
            path: found.path(),
        })
    }

    /// Finds an agent by name: a built-in one, one of the settings or one of a file. The case of
    /// ASCII letters is ignored for the first two. Reads the agent files on the first call.
    fn find_agent(&self, name: &str) -> Option<Agent> {
        let settings = self.settings();
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        let built_in = BUILT_IN.iter().find(|(known, _)| same(known));
        let library = self.services().agents.as_ref();
        let file = match built_in {
            None => library.and_then(|library| library.find(name)),
            Some(_) => None,
        };
        let file = file.filter(|file| file.definition().is_some());
        // The settings for a name apply to every agent that has it, however it was found.
        let named = file.iter().flat_map(|file| file.entry.spellings());
        // A member of a team is also called by its name in the team.
        let in_team = file.iter().filter_map(FoundAgent::definition);
        let in_team = in_team.map(|definition| definition.name.as_str().into());
        let named = named.chain(in_team);
        let mut given: Vec<(&Box<str>, &SkillGrant)> = Vec::new();
        for name in named.chain([name.into()]) {
            let set = &settings.agents;
            let by_case = || set.iter().find(|(key, _)| key.eq_ignore_ascii_case(&name));
            let found = set.get_key_value(&name).or_else(by_case);
            given.extend(found.filter(|(key, _)| given.iter().all(|(known, _)| known != key)));
        }
        let (own, read_only): (Box<str>, bool) = match (built_in, &file, given.first()) {
            (Some((name, read_only)), ..) => ((*name).into(), *read_only),
            (None, Some(file), _) => {
                let entry = &file.entry;
                let is_first = entry.shadowed_by.is_none();
                let shown = is_first.then(|| entry.name.clone());
                (shown.unwrap_or_else(|| entry.qualified().into()), false)
            }
            (None, None, Some((name, _))) => ((*name).clone(), false),
            (None, None, None) => return None,
        };
        let tools = given
            .iter()
            .filter_map(|(key, _)| settings.agent_tools.get(*key));
        Some(Agent {
            name: own,
            read_only,
            is_built_in: built_in.is_some(),
            tools: tools.cloned().collect(),
            grants: given.into_iter().map(|(_, grant)| grant.clone()).collect(),
            file,
        })
    }

    /// Returns those of a list of tools that the settings give to an agent. `None` is every tool.
    pub(crate) fn within_settings(
        &self,
        name: &str,
        tools: Option<Vec<Box<str>>>,
    ) -> Option<Vec<Box<str>>> {
        let found = self.find_agent(name);
        let lists = found.iter().flat_map(|agent| &agent.tools);
        lists.fold(tools, |tools, listed| {
            let given = agent_profile::select_listed(self, listed).tools;
            agent_profile::common(tools, given)
        })
    }

    /// Returns the names in the settings that restrict an agent which a model defines: those of the
    /// name that it gives, with and without the name of its team.
    pub(crate) fn names_in_settings(&self, names: &[&str]) -> Vec<Box<str>> {
        let keys = self.settings().agents.keys();
        let is_named = |key: &str| {
            let own = key.rsplit(':').next().unwrap_or(key);
            names.iter().any(|name| own.eq_ignore_ascii_case(name))
        };
        keys.filter(|key| is_named(key)).cloned().collect()
    }

    /// Applies the deny rules about agents to one that a user starts. For ask rules, typing the name
    /// is the approval.
    pub(crate) fn permit_user_agent(
        &self,
        context: &ToolContext,
        name: &str,
    ) -> Result<(), RuntimeError> {
        let decision = agent_rules(context, &Loaded::default(), &self.agent_names(name));
        match decision.filter(|decision| decision.verdict == Verdict::Deny) {
            None => Ok(()),
            Some(decision) => Err(RuntimeError::AgentDenied {
                agent: name.into(),
                decision: Box::new(decision),
            }),
        }
    }

    /// Applies the rules about agents to one that a client starts with a skill.
    pub(crate) fn permit_client_agent(
        &self,
        context: &ToolContext,
        name: &str,
        skill: &str,
    ) -> Result<(), RuntimeError> {
        let (names, task) = (self.agent_names(name), format!("skill {skill}"));
        let decided = decide_agent(context, &Loaded::default(), &names, &task);
        decided.map_err(|decision| RuntimeError::AgentDenied {
            agent: name.into(),
            decision: Box::new(decision),
        })
    }

    /// Returns the digest of the files that define an agent, if it is one of a file, or of the
    /// definition of an agent of a mission. Reads files.
    pub(crate) fn agent_digest(&self, name: &str) -> Option<String> {
        let own = self.mission().and_then(|parts| parts.agents.get(name));
        if let Some(agent) = own {
            let definition = Sha256::digest(format!("{agent:?}"));
            return Some(format!("sha256:{}", hex(&definition)));
        }
        let agent = self.find_agent(name)?;
        Some(agent.file?.digest())
    }

    /// Returns the names by which a rule may call an agent: as it was named, its own name, and for
    /// an agent of a file those with qualifiers. Reads the agent files on the first call.
    pub(crate) fn agent_names(&self, name: &str) -> Vec<Box<str>> {
        let mut names: Vec<Box<str>> = vec![name.into()];
        let found = self.find_agent(name);
        let file = found.iter().filter_map(|agent| agent.file.as_ref());
        let spellings = file.flat_map(|file| file.entry.spellings());
        let own = found.iter().map(|agent| agent.name.clone());
        for name in own.chain(spellings) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the names of all agents: built-in ones, those of the settings and those of files.
    fn known_agents(&self) -> Vec<Box<str>> {
        let built_in = BUILT_IN.iter().map(|(name, _)| Box::from(*name));
        let mut known: Vec<Box<str>> = built_in.collect();
        let set = self.settings().agents.keys();
        let library = self.services().agents.as_ref();
        let files = library.map_or(&[][..], |library| library.roster().entries());
        let files = files.iter().filter(|entry| entry.shadowed_by.is_none());
        for name in set.chain(files.map(|entry| &entry.name)) {
            if !known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                known.push(name.clone());
            }
        }
        known
    }

    fn no_agent(&self, skill: &str, name: &str) -> RuntimeError {
        let known = self.known_agents();
        RuntimeError::NoAgent {
            skill: skill.into(),
            name: wording::shorten(name, MAX_NAME).into(),
            near: suggest::nearest(name, known.iter().map(|name| &**name)).map(Into::into),
            known,
        }
    }
}

/// Formats the error for an unknown agent, with a suggestion and the list of known agents.
pub(crate) fn missing(skill: &str, name: &str, near: Option<&str>, known: &[Box<str>]) -> String {
    let suggestion = match near {
        Some(near) => format!("did you mean {}? Available agents", wording::tick(near)),
        None => "available agents".to_owned(),
    };
    let listed = known.iter().take(MAX_LISTED);
    let listed = listed.map(|name| wording::tick(wording::shorten(name, MAX_NAME)));
    let more = known.len().saturating_sub(MAX_LISTED);
    let more = (more > 0).then(|| format!("{more} more"));
    format!(
        "no agent named {}, required by skill `{skill}`; {suggestion}: {}",
        wording::tick(name),
        wording::all(listed.chain(more)),
    )
}

/// Hides the skills that the agents may not use. The running skill stays visible unless an agent is
/// denied it: an allow list limits what an agent can find, not what it is started for.
pub(crate) fn narrow(
    agents: &[Agent],
    context: &mut ToolContext,
    running: &SkillHandle,
    who: Audience,
) -> Result<(), RuntimeError> {
    let catalog = context.services.registry.snapshot();
    let grants = agents.iter().flat_map(|agent| {
        let grants = agent.grants.iter().cloned().chain(agent.file_grant());
        grants.map(move |grant| (agent, grant))
    });
    for (agent, mut grant) in grants {
        if let Some(allow) = &mut grant.allow {
            allow.push(catalog.qualified_name(running.entry()));
        }
        context.settings.visibility.grant = grant.and(&context.settings.visibility.grant, &catalog);
        let view = CatalogView::new(&catalog, &context.settings.visibility, who);
        if !view.admits(running.entry()) {
            return Err(RuntimeError::NotGiven {
                skill: running.name().into(),
                agent: agent.name.clone(),
            });
        }
    }
    Ok(())
}

/// Hides the skills that the settings do not give to these agents.
pub(crate) fn restrict(agents: &[Agent], context: &mut ToolContext) {
    let catalog = context.services.registry.snapshot();
    for grant in agents.iter().flat_map(|agent| &agent.grants) {
        let visibility = &mut context.settings.visibility;
        visibility.grant = grant.and(&visibility.grant, &catalog);
    }
}

/// Removes the tool that asks people if the settings do not give it to these agents. It is added after
/// the other tools were restricted.
pub(crate) fn restrict_given(engine: &Engine, agents: &[Agent], tools: &mut Toolset) {
    for listed in agents.iter().flat_map(|agent| &agent.tools) {
        let selected = agent_profile::select_listed(engine, listed).tools;
        let has_asker = |names: &[Box<str>]| names.iter().any(|name| **name == *ASK_HUMAN);
        let is_given = has_asker(listed) || selected.is_none_or(|names| has_asker(&names));
        tools.retain(|tool| tool != ASK_HUMAN || is_given);
    }
}

/// Removes the tools that the settings do not give to these agents. The tools that load skills stay.
pub(crate) fn restrict_tools(engine: &Engine, agents: &[Agent], tools: &mut Toolset) {
    for listed in agents.iter().flat_map(|agent| &agent.tools) {
        let selected = agent_profile::select_listed(engine, listed).tools;
        tools.retain(|tool| {
            let is_selected = |names: &Vec<Box<str>>| names.iter().any(|name| **name == *tool);
            agent_profile::is_about_skills(tool) || selected.as_ref().is_none_or(is_selected)
        });
    }
}
