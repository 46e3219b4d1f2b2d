//! What is known of the use of a skill.

use std::collections::BTreeMap;

use super::{SKEW, frecency};

/// How a use ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It did what it was used for.
    Done,
    /// It did not.
    Failed,
    /// Somebody, or a rule, did not let it.
    Refused,
}

impl Outcome {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }
}

/// How uses ended. Their sum may be smaller than the number of uses: not every end is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Uses that did what they were for.
    pub done: u64,
    /// Uses that did not.
    pub failed: u64,
    /// Uses that were not let.
    pub refused: u64,
}

impl Outcomes {
    /// Counts one more.
    pub fn add(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Done => &mut self.done,
            Outcome::Failed => &mut self.failed,
            Outcome::Refused => &mut self.refused,
        };
        *count = count.saturating_add(1);
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        self.done = self.done.saturating_add(other.done);
        self.failed = self.failed.saturating_add(other.failed);
        self.refused = self.refused.saturating_add(other.refused);
    }
}

/// The use of one skill, by one agent or added up over several.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// The name of the skill.
    pub skill: Box<str>,
    /// How often it was used.
    pub count: u64,
    /// When for the last time, in nanoseconds since 1970.
    pub last_used: i64,
    /// What all uses together weighed at `last_used`, where each weighs half after each
    /// [`HALF_LIFE`](super::HALF_LIFE). At least 1, at most `count`.
    pub score: f64,
    /// How the uses ended.
    pub outcomes: Outcomes,
}

impl Usage {
    /// Makes the usage after the first use.
    pub fn first(skill: impl Into<Box<str>>, at: i64, outcome: Option<Outcome>) -> Self {
        let mut outcomes = Outcomes::default();
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

    /// Adds a use. Uses may come a little out of order. A last use that lies more than a day after
    /// this one was the mistake of a clock and is corrected.
    pub fn add(&mut self, at: i64, outcome: Option<Outcome>) {
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

    /// The score, within what it can be: a stored one may come from anywhere.
    pub(super) fn sound_score(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a weight needs no more")]
        let most = self.count.max(1) as f64;
        if self.score.is_nan() {
            1.0
        } else {
            self.score.clamp(1.0, most)
        }
    }
}

/// Adds up the entries of each skill: counts are summed, the latest use counts. In order of names.
pub fn union<'a>(entries: impl IntoIterator<Item = &'a Usage>) -> Vec<Usage> {
    let mut skills: BTreeMap<&str, Usage> = BTreeMap::new();
    for entry in entries {
        if let Some(sum) = skills.get_mut(&*entry.skill) {
            sum.merge(entry);
        } else {
            skills.insert(&entry.skill, entry.clone());
        }
    }
    skills.into_values().collect()
}
