//! Agents: what a skill runs as that has a conversation of its own.

use prowess_catalog::{Grant, View, Who};
use prowess_diag::{suggest, wording};
use prowess_tools::{SkillHandle, SkillSnapshot, ToolContext};

use crate::engine::Engine;
use crate::error::RuntimeError;

/// The agent that a forked skill runs as where it names none.
pub const GENERAL_PURPOSE: &str = "general-purpose";

/// The agents that are always there, as Claude Code calls them, and whether they only look.
const BUILT_IN: [(&str, bool); 3] = [(GENERAL_PURPOSE, false), ("Explore", true), ("Plan", true)];

/// Most agents that an error names.
const MOST_TOLD: usize = 20;
/// Most characters of a name in an error: it comes from a skill.
const MAX_TOLD: usize = 64;

/// An agent that a sub-run runs as.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) name: Box<str>,
    /// Whether it has only tools that change nothing.
    pub(crate) only_looks: bool,
    /// Which skills it was given, where somebody said so.
    grant: Option<Grant>,
}

impl Engine {
    /// The agents that a skill runs as: those above it, and its own last. What one of them does not
    /// have, the run does not have.
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

    /// Finds an agent. Capital letters do not count: `explore` is `Explore`.
    fn find_agent(&self, skill: &str, name: &str) -> Result<Agent, RuntimeError> {
        let set = &self.settings().agents;
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        let set_by_name = || set.iter().find(|(known, _)| same(known));
        let given = set.get_key_value(name).or_else(set_by_name);
        let built_in = BUILT_IN.iter().find(|(known, _)| same(known));
        let (name, only_looks) = match (built_in, given) {
            (Some((name, only_looks)), _) => (*name, *only_looks),
            (None, Some((name, _))) => (&**name, false),
            (None, None) => return Err(self.no_agent(skill, name)),
        };
        let grant = given.map(|(_, grant)| grant.clone());
        Ok(Agent {
            name: name.into(),
            only_looks,
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
            name: wording::shorten(name, MAX_TOLD).into(),
            near: suggest::nearest(name, known.iter().copied()).map(Into::into),
            known: known.into_iter().map(Into::into).collect(),
        }
    }
}

/// Says which agent is missing, which one may be meant, and which there are.
pub(crate) fn missing(skill: &str, name: &str, near: Option<&str>, known: &[Box<str>]) -> String {
    let there = match near {
        Some(near) => format!("did you mean {}? There are", wording::tick(near)),
        None => "there are".to_owned(),
    };
    let told = known.iter().take(MOST_TOLD);
    let told = told.map(|name| wording::tick(wording::shorten(name, MAX_TOLD)));
    let more = known.len().saturating_sub(MOST_TOLD);
    let more = (more > 0).then(|| format!("{more} more"));
    format!(
        "no agent named {}, which the skill {skill} asks for; {there} {}; nothing was run",
        wording::tick(name),
        wording::all(told.chain(more)),
    )
}

/// Takes the skills away that agents were not given. The one that runs stays, unless it is denied:
/// an agent's list is about what it finds, and not about what it is started for.
pub(crate) fn narrow(
    agents: &[Agent],
    context: &mut ToolContext,
    running: &SkillHandle,
    who: Who,
) -> Result<(), RuntimeError> {
    let catalog = context.services.registry.snapshot();
    for agent in agents {
        let Some(grant) = &agent.grant else { continue };
        let mut grant = grant.clone();
        if let Some(allow) = &mut grant.allow {
            allow.push(catalog.qualified_name(running.entry()));
        }
        context.settings.visibility.grant = grant.and(&context.settings.visibility.grant, &catalog);
        let view = View::new(&catalog, &context.settings.visibility, who);
        if !view.admits(running.entry()) {
            return Err(RuntimeError::NotGiven {
                skill: running.name().into(),
                agent: agent.name.clone(),
            });
        }
    }
    Ok(())
}
