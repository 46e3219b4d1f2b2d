//! Agents: named sets of tools and skills that a forked skill runs with.

use prowess_catalog::{Audience, CatalogView, SkillGrant};
use prowess_diag::{suggest, wording};
use prowess_tools::{SkillHandle, SkillSnapshot, ToolContext};

use crate::engine::Engine;
use crate::error::RuntimeError;

/// The agent of a forked skill that names none.
pub const GENERAL_PURPOSE: &str = "general-purpose";

/// The built-in agents, named as in Claude Code. The flag is `true` for read-only agents.
const BUILT_IN: [(&str, bool); 3] = [(GENERAL_PURPOSE, false), ("Explore", true), ("Plan", true)];

/// Maximum number of agents listed in an error.
const MAX_LISTED: usize = 20;
/// Maximum number of characters of a name in an error. The name is taken from a skill.
const MAX_NAME: usize = 64;

/// An agent that a sub-run runs as.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) name: Box<str>,
    /// `true` if it has only read-only tools.
    pub(crate) read_only: bool,
    /// The skills it may use; `None` if the settings do not restrict them.
    grant: Option<SkillGrant>,
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
            let agent = self.find_agent(&skill.name, name)?;
            agents.retain(|known| known.name != agent.name);
            agents.push(agent);
        }
        Ok(agents)
    }

    /// Finds an agent by name, ignoring ASCII case.
    fn find_agent(&self, skill: &str, name: &str) -> Result<Agent, RuntimeError> {
        let set = &self.settings().agents;
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        let set_by_name = || set.iter().find(|(known, _)| same(known));
        let given = set.get_key_value(name).or_else(set_by_name);
        let built_in = BUILT_IN.iter().find(|(known, _)| same(known));
        let (name, read_only) = match (built_in, given) {
            (Some((name, read_only)), _) => (*name, *read_only),
            (None, Some((name, _))) => (&**name, false),
            (None, None) => return Err(self.no_agent(skill, name)),
        };
        let grant = given.map(|(_, grant)| grant.clone());
        Ok(Agent {
            name: name.into(),
            read_only,
            grant,
        })
    }

    fn no_agent(&self, skill: &str, name: &str) -> RuntimeError {
        let built_in = BUILT_IN.iter().map(|(name, _)| *name);
        let is_new = |name: &&str| {
            !BUILT_IN
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        let set = self
            .settings()
            .agents
            .keys()
            .map(|name| &**name)
            .filter(is_new);
        let known: Vec<&str> = built_in.chain(set).collect();
        RuntimeError::NoAgent {
            skill: skill.into(),
            name: wording::shorten(name, MAX_NAME).into(),
            near: suggest::nearest(name, known.iter().copied()).map(Into::into),
            known: known.into_iter().map(Into::into).collect(),
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
    for agent in agents {
        let Some(grant) = &agent.grant else { continue };
        let mut grant = grant.clone();
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
