//! Usage records of skills.

use std::collections::BTreeMap;

use super::{SKEW, frecency};

/// The outcome of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UseOutcome {
    /// The skill succeeded.
    Done,
    /// The skill failed.
    Failed,
    /// A user or a rule refused it.
    Refused,
}

impl UseOutcome {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }
}

/// The number of uses by outcome. Some outcomes are unknown, so the sum may be less than the number
/// of uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseOutcomes {
    /// Successful uses.
    pub done: u64,
    /// Failed uses.
    pub failed: u64,
    /// Refused uses.
    pub refused: u64,
}

impl UseOutcomes {
    /// Counts one use.
    pub fn add(&mut self, outcome: UseOutcome) {
        let count = match outcome {
            UseOutcome::Done => &mut self.done,
            UseOutcome::Failed => &mut self.failed,
            UseOutcome::Refused => &mut self.refused,
        };
        *count = count.saturating_add(1);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.done = self.done.saturating_add(other.done);
        self.failed = self.failed.saturating_add(other.failed);
        self.refused = self.refused.saturating_add(other.refused);
    }
}

/// The usage of one skill, by one agent or summed over several.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillUsage {
    /// The name of the skill.
    pub skill: Box<str>,
    /// The number of uses.
    pub count: u64,
    /// The last use, in nanoseconds since 1970.
    pub last_used: i64,
    /// The weight of all uses at `last_used`, with a half-life of [`HALF_LIFE`](super::HALF_LIFE).
    /// Between 1 and `count`.
    pub score: f64,
    /// The outcomes of the uses.
    pub outcomes: UseOutcomes,
}

impl SkillUsage {
    /// Returns the usage after a first use.
    pub fn first(skill: impl Into<Box<str>>, at: i64, outcome: Option<UseOutcome>) -> Self {
        let mut outcomes = UseOutcomes::default();
        if let Some(outcome) = outcome {
            outcomes.add(outcome);
        }
        Self {
            skill: skill.into(),
            count: 1,
            last_used: at,
            score: 1.0,
            outcomes,
        }
    }

    /// Adds a use. Uses may be slightly out of order. A `last_used` more than a day after this use
    /// is an error of a clock and is corrected.
    pub fn add(&mut self, at: i64, outcome: Option<UseOutcome>) {
        if self.last_used > at.saturating_add(SKEW) {
            self.last_used = at;
        }
        let after = self.last_used.max(at);
        let score = frecency::decay(
            self.sound_score(),
            after,
            self.last_used,
            frecency::HALF_LIFE,
        ) + frecency::decay(1.0, after, at, frecency::HALF_LIFE);
        self.count = self.count.saturating_add(1);
        self.last_used = after;
        self.score = score;
        self.score = self.sound_score();
        if let Some(outcome) = outcome {
            self.outcomes.add(outcome);
        }
    }

    /// Adds the usage of the same skill by another agent.
    pub fn merge(&mut self, other: &Self) {
        let after = self.last_used.max(other.last_used);
        let score = frecency::decay(
            self.sound_score(),
            after,
            self.last_used,
            frecency::HALF_LIFE,
        ) + frecency::decay(
            other.sound_score(),
            after,
            other.last_used,
            frecency::HALF_LIFE,
        );
        self.count = self.count.saturating_add(other.count);
        self.last_used = after;
        self.score = score;
        self.score = self.sound_score();
        self.outcomes.merge(&other.outcomes);
    }

    /// Returns the score, clamped to the valid range: stored values are not trusted.
    pub(super) fn sound_score(&self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a weight needs no more precision"
        )]
        let most = self.count.max(1) as f64;
        if self.score.is_nan() {
            1.0
        } else {
            self.score.clamp(1.0, most)
        }
    }
}

/// Adds up the records of each skill, sorted by name: counts are summed, the latest use wins.
pub fn union<'a>(entries: impl IntoIterator<Item = &'a SkillUsage>) -> Vec<SkillUsage> {
    let mut skills: BTreeMap<&str, SkillUsage> = BTreeMap::new();
    for entry in entries {
        if let Some(sum) = skills.get_mut(&*entry.skill) {
            sum.merge(entry);
        } else {
            skills.insert(&entry.skill, entry.clone());
        }
    }
    skills.into_values().collect()
}
