//! The limits that a session passes on to its sub-runs: the rest of its budget and its
//! restrictions.

use std::sync::Arc;

use prowess_agent::RunBudget;
use prowess_tools::{SkillHandle, SkillSnapshot, ToolContext};

use crate::session::Session;
use crate::subrun::{SkillRef, SubRun};

impl Session {
    /// Returns a sub-run of this session, limited to the rest of its budget and to its tools.
    pub(crate) fn child_run(&self, skill: SkillHandle) -> SubRun {
        let started = self.journal.run.started();
        let tools = started.and_then(|started| started.tools.clone());
        let agents = started
            .map(|started| started.agents.clone())
            .unwrap_or_default();
        SubRun {
            budget: self.remaining_budget(),
            tools,
            agents,
            ..SubRun::new(SkillRef::Resolved(skill))
        }
    }

    /// Returns the budget left for a sub-run. Turns are counted separately for each run.
    fn remaining_budget(&self) -> RunBudget {
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

    /// Returns the context for a sub-run, with the restrictions of loaded skills applied.
    pub(crate) fn confined(&self) -> ToolContext {
        let context = self.context.derive();
        restrict(&context, self.active_skills());
        context
    }
}

/// Adds the restrictions of trusted skills to the rules of a context.
pub(crate) fn restrict<'s>(
    context: &ToolContext,
    skills: impl IntoIterator<Item = &'s Arc<SkillSnapshot>>,
) {
    let mut gate = context.gate();
    for skill in skills.into_iter().filter(|skill| skill.is_trusted()) {
        gate.rules.restrict(&skill.trust.tools);
    }
}
