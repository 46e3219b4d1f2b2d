//! What a session hands down to the sub-runs it starts: what is left of its budget, and what it may
//! not do.

use std::sync::Arc;

use prowess_agent::Budget;
use prowess_tools::{SkillHandle, SkillSnapshot, ToolContext};

use crate::session::Session;
use crate::subrun::{SkillRef, SubRun};

impl Session {
    /// A skill to run as a part of this session, with what is left of its budget and of its tools.
    pub(crate) fn part(&self, skill: SkillHandle) -> SubRun {
        let started = self.journal.run.started();
        let tools = started.and_then(|started| started.tools.clone());
        let agents = started
            .map(|started| started.agents.clone())
            .unwrap_or_default();
        SubRun {
            budget: self.left(),
            tools,
            agents,
            ..SubRun::new(SkillRef::Resolved(skill))
        }
    }

    /// What is left for a sub-run, which has turns of its own.
    fn left(&self) -> Budget {
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
        Budget {
            turns: None,
            tokens: least(budget.tokens, spent.usage.tokens(), usual.tokens),
            micros: least(budget.micros, spent.usage.micros.unwrap_or(0), usual.micros),
            milliseconds: least(budget.milliseconds, spent.milliseconds, usual.milliseconds),
        }
    }

    /// The context of a sub-run: what loaded skills take away here is not there either.
    pub(crate) fn confined(&self) -> ToolContext {
        let context = self.context.derive();
        restrict(&context, self.active_skills());
        context
    }
}

/// Adds what skills forbid to the rules of a context.
pub(crate) fn restrict<'s>(
    context: &ToolContext,
    skills: impl IntoIterator<Item = &'s Arc<SkillSnapshot>>,
) {
    let mut gate = context.gate();
    for skill in skills.into_iter().filter(|skill| skill.is_trusted()) {
        gate.rules.restrict(&skill.trust.tools);
    }
}
