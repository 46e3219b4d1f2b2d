//! Budgets that several sessions share: those of an item, a task and a mission.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prowess_agent::{RunLimit, TokenUsage};
use prowess_flow::mission::{MissionBudget, MissionLimit, MissionUsage};

/// Counts what sessions use, and what the sessions below others use.
#[derive(Debug, Default)]
pub(crate) struct BudgetMeter {
    /// The name of the task; `None` for the mission.
    task: Option<Box<str>>,
    budget: MissionBudget,
    tokens: AtomicU64,
    micros: AtomicU64,
    turns: AtomicU64,
    above: Option<Arc<BudgetMeter>>,
}

impl BudgetMeter {
    /// Creates a meter that starts with what was used before.
    pub(crate) fn new(
        task: Option<&str>,
        budget: MissionBudget,
        used: MissionUsage,
        above: Option<Arc<Self>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            task: task.map(Into::into),
            budget,
            tokens: used.tokens.into(),
            micros: used.micros.into(),
            turns: used.turns.into(),
            above,
        })
    }

    /// Adds the usage of a request, here and above.
    pub(crate) fn add(&self, usage: &TokenUsage) {
        self.tokens.fetch_add(usage.tokens(), Ordering::SeqCst);
        let micros = usage.micros.unwrap_or(0);
        self.micros.fetch_add(micros, Ordering::SeqCst);
        self.turns.fetch_add(1, Ordering::SeqCst);
        if let Some(above) = &self.above {
            above.add(usage);
        }
    }

    /// Adds an amount that was used before a restart, here and above.
    pub(crate) fn add_used(&self, used: MissionUsage) {
        self.tokens.fetch_add(used.tokens, Ordering::SeqCst);
        self.micros.fetch_add(used.micros, Ordering::SeqCst);
        self.turns.fetch_add(used.turns, Ordering::SeqCst);
        if let Some(above) = &self.above {
            above.add_used(used);
        }
    }

    /// Returns the amount used.
    pub(crate) fn used(&self) -> MissionUsage {
        MissionUsage {
            tokens: self.tokens.load(Ordering::SeqCst),
            micros: self.micros.load(Ordering::SeqCst),
            turns: self.turns.load(Ordering::SeqCst),
        }
    }

    /// Returns the budget that is used up, with its task and the amount: the nearest one.
    pub(crate) fn reached(&self) -> Option<(Option<Box<str>>, MissionLimit, u64)> {
        if let Some((limit, used)) = self.budget.reached(self.used()) {
            return Some((self.task.clone(), limit, used));
        }
        self.above.as_ref()?.reached()
    }

    /// Returns the limit as a session records it.
    pub(crate) fn limit(&self) -> Option<RunLimit> {
        let (_, limit, _) = self.reached()?;
        Some(match limit {
            MissionLimit::Tokens => RunLimit::Tokens,
            MissionLimit::Dollars => RunLimit::Money,
        })
    }
}
