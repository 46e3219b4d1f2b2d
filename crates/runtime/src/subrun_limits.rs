//! The limits of sub-runs: the tools that a skill has, and the rest of the budget and the
//! restrictions of the session.

use std::collections::BTreeSet;
use std::sync::Arc;

use prowess_agent::{ActiveSkill, RunBudget};
use prowess_tools::names::{LIST_SKILLS, LOAD_SKILL_RESOURCE, LOAD_SKILL_RESOURCES, SUBMIT};
use prowess_tools::{SkillEffects, SkillHandle, SkillSnapshot, ToolContext};
use prowess_trust::SkillTrust;

use crate::agent_profile::is_about_skills;
use crate::error::RuntimeError;
use crate::session::Session;
use crate::subrun::{SkillRef, SubRun};

impl Session {
    /// Returns a sub-run of this session, limited to the rest of its budget and to its tools.
    pub(crate) fn child_run(&self, skill: SkillHandle) -> SubRun {
        let started = self.journal.run.started();
        let agent = started.and_then(|started| started.agent.clone());
        let by_agent = agent.as_ref().and_then(|agent| {
            let tools = agent.skill_tools.as_ref().or(agent.tools.as_ref());
            let about_skills = self.tools.names();
            let about_skills = about_skills.filter(|name| is_about_skills(name));
            let mut tools = tools?.clone();
            tools.extend(about_skills.map(Into::into));
            Some(tools)
        });
        let tools = started.and_then(|started| started.tools.clone());
        let tools = match (tools, by_agent) {
            (Some(tools), Some(by_agent)) => Some(
                tools
                    .into_iter()
                    .filter(|it| by_agent.contains(it))
                    .collect(),
            ),
            (tools, by_agent) => tools.or(by_agent),
        };
        let agents = started
            .map(|started| started.agents.clone())
            .unwrap_or_default();
        SubRun {
            budget: self.remaining_budget(),
            tools,
            agents,
            agent,
            ..SubRun::new(SkillRef::Resolved(skill))
        }
    }

    /// Returns the budget left for a sub-run. Turns are counted separately for each run.
    pub(crate) fn remaining_budget(&self) -> RunBudget {
        let run = &self.journal.run;
        let (budget, spent) = (
            run.started()
                .map(|started| started.limits.budget)
                .unwrap_or_default(),
            run.spent(),
        );
        let usual = self.engine.settings().sub_budget;
        let least = |limit: Option<u64>, spent: u64, usual: Option<u64>| {
            let left = limit.map(|limit| limit.saturating_sub(spent));
            left.into_iter().chain(usual).min()
        };
        RunBudget {
            turns: None,
            tokens: least(budget.tokens, spent.usage.tokens(), usual.tokens),
            micros: least(budget.micros, spent.usage.micros.unwrap_or(0), usual.micros),
            milliseconds: least(budget.milliseconds, spent.milliseconds, usual.milliseconds),
        }
    }

    /// Returns `true` if the session and its sub-runs share a budget of tokens or money. Only one of
    /// them can run at a time then, because each may spend all that is left.
    pub(crate) fn has_shared_budget(&self) -> bool {
        let started = self.journal.run.started();
        let budget = started
            .map(|started| started.limits.budget)
            .unwrap_or_default();
        budget.tokens.is_some() || budget.micros.is_some()
    }

    /// Checks that every skill that the session has loaded is still the one that was loaded. A
    /// sub-run cannot continue without its restrictions.
    pub(crate) fn check_restrictions(&self) -> Result<(), RuntimeError> {
        let is_there = |recorded: &ActiveSkill| {
            let mut known = self.loaded.snapshots();
            known.any(|one| one.name == recorded.name && *one.digest() == *recorded.digest)
        };
        let mut recorded = self.journal.run.active().iter();
        match recorded.find(|recorded| !is_there(recorded)) {
            Some(lost) => Err(RuntimeError::RestrictionsLost {
                name: lost.name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Returns the context for a sub-run, with the restrictions of loaded skills applied.
    pub(crate) fn confined(&self) -> ToolContext {
        let context = self.context.derive();
        restrict(&context, self.active_skills());
        context
    }
}

/// Adds the restrictions of skills to the rules of a context.
pub(crate) fn restrict<'s>(
    context: &ToolContext,
    skills: impl IntoIterator<Item = &'s Arc<SkillSnapshot>>,
) {
    let mut gate = context.gate();
    let trusts = skills.into_iter().map(|skill| &skill.trust);
    for tools in trusts.filter_map(SkillTrust::restrictions) {
        gate.rules.restrict(tools);
    }
}

/// Returns `true` if a sub-run of a skill has a tool: it must be one of `wanted`, in
/// `allowed-tools` or given to all skills by the user, and not in `disallowed-tools`.
pub(crate) fn is_within(
    effects: &SkillEffects,
    tool: &str,
    wanted: Option<&[Box<str>]>,
    in_skills: &BTreeSet<Box<str>>,
) -> bool {
    // Every skill can submit its result and read its own files.
    if matches!(tool, SUBMIT | LOAD_SKILL_RESOURCE | LOAD_SKILL_RESOURCES) {
        return true;
    }
    let asked = wanted.is_none_or(|wanted| wanted.iter().any(|name| **name == *tool));
    let allowed = match tool {
        // As in Planck, a worker lists skills only if that is asked for: usually it is given the
        // names of the skills that it needs.
        LIST_SKILLS => effects.names(tool),
        _ => effects.allowed.is_none() || effects.allows(tool) || in_skills.contains(tool),
    };
    asked && allowed && !effects.forbids(tool)
}
