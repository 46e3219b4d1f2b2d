//! Ranks skills by usage.
//!
//! [`rank`] is a pure function of the visible skills, their usage, and a time given by the caller.
//! The same arguments give the same list on every machine.

pub mod explore;
pub mod frecency;
pub mod planck;
mod usage;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::skill::Skill;

pub use frecency::HALF_LIFE;
pub use usage::{SkillUsage, UseOutcome, UseOutcomes, union};

/// Maximum clock skew in nanoseconds: one day. A time further in the future is an error of a clock.
pub const SKEW: i64 = 24 * 60 * 60 * 1_000_000_000;

/// The ranking criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankMode {
    /// Frequency and recency both count; the weight of a use halves after each half-life.
    Frecency {
        /// The half-life of a use.
        half_life: Duration,
    },
    /// Planck's rule: the last use decides, and the number of uses breaks ties.
    Recency,
}

impl Default for RankMode {
    fn default() -> Self {
        Self::Frecency {
            half_life: HALF_LIFE,
        }
    }
}

/// Options of [`rank`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankOptions {
    /// The current time in nanoseconds since 1970.
    pub now: i64,
    /// Maximum number of skills to return.
    pub limit: usize,
    /// The ranking criterion.
    pub mode: RankMode,
    /// The current period for [`explore`]; `None` to disable exploration.
    pub period: Option<i64>,
}

impl RankOptions {
    /// Returns the defaults: frecency, with exploration by the hour.
    pub fn new(now: i64, limit: usize) -> Self {
        Self {
            now,
            limit,
            mode: RankMode::default(),
            period: Some(explore::period(now)),
        }
    }

    /// Returns Planck's rule: recency, without exploration.
    pub fn planck(now: i64, limit: usize) -> Self {
        Self {
            now,
            limit,
            mode: RankMode::Recency,
            period: None,
        }
    }
}

/// The reason for a skill's rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankReason {
    /// It was used.
    Used {
        /// The number of uses.
        count: u64,
        /// The last use, in nanoseconds since 1970.
        last_used: i64,
    },
    /// It was never used and fills a remaining slot; recently modified skills come first.
    Recent {
        /// The modification time of its file, in nanoseconds since 1970.
        modified: i64,
    },
    /// It is shown by rotation.
    Explored {
        /// The current period.
        period: i64,
    },
}

/// A skill with its rank.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedSkill {
    /// The skill.
    pub skill: Arc<Skill>,
    /// The reason for its rank.
    pub reason: RankReason,
    /// The current weight of its uses; 0 if it was never used. Comparable only within one list.
    pub score: f64,
}

/// Returns the first `limit` skills, best first, explored ones last.
///
/// Pinned skills are skipped, because every listing contains them; usage of unknown names is
/// ignored. Slots that used skills do not fill go to the most recently modified ones. Several usage
/// records of one name are added up.
pub fn rank(
    skills: &[Arc<Skill>],
    usage: &[SkillUsage],
    options: &RankOptions,
) -> Vec<RankedSkill> {
    let limit = options.limit;
    if limit == 0 {
        return Vec::new();
    }
    let usage = union(usage);
    let known: HashMap<&str, &SkillUsage> = usage.iter().map(|one| (&*one.skill, one)).collect();
    let mut entries: Vec<RankEntry<'_>> = skills
        .iter()
        .filter(|skill| !skill.pinned)
        .map(|skill| RankEntry::new(skill, known.get(&*skill.name).copied(), options))
        .collect();
    let order = match options.mode {
        RankMode::Frecency { .. } => frecency::order,
        RankMode::Recency => planck::order,
    };
    let turn = options.period.filter(|_| limit < entries.len());
    let turn = turn.map_or(explore::ExplorationTurn::NONE, |period| {
        explore::turn(period, limit)
    });
    best_first(&mut entries, limit - turn.places, order);
    let (best, others) = entries.split_at(entries.len().min(limit - turn.places));
    let mut ranked: Vec<RankedSkill> = best.iter().map(RankEntry::ranked).collect();
    if let Some(period) = options.period {
        ranked.extend(
            explore::choose(best, others, turn)
                .into_iter()
                .map(|entry| RankedSkill {
                    skill: Arc::clone(entry.skill),
                    reason: RankReason::Explored { period },
                    score: entry.score,
                }),
        );
    }
    ranked
}

/// A skill with its sort keys.
#[derive(Clone, Copy, Debug)]
struct RankEntry<'a> {
    skill: &'a Arc<Skill>,
    usage: Option<&'a SkillUsage>,
    /// The last use, not later than now.
    last_used: i64,
    /// The last modification, not later than now.
    modified: i64,
    score: f64,
}

impl<'a> RankEntry<'a> {
    fn new(skill: &'a Arc<Skill>, usage: Option<&'a SkillUsage>, options: &RankOptions) -> Self {
        let half_life = match options.mode {
            RankMode::Frecency { half_life } => half_life,
            RankMode::Recency => HALF_LIFE,
        };
        Self {
            skill,
            usage,
            last_used: usage.map_or(i64::MIN, |usage| not_ahead(usage.last_used, options.now)),
            modified: not_ahead(skill.stamp.modified, options.now),
            score: usage.map_or(0.0, |usage| frecency::weight(usage, options.now, half_life)),
        }
    }

    fn ranked(&self) -> RankedSkill {
        let reason = match self.usage {
            Some(usage) => RankReason::Used {
                count: usage.count,
                last_used: usage.last_used,
            },
            None => RankReason::Recent {
                modified: self.skill.stamp.modified,
            },
        };
        RankedSkill {
            skill: Arc::clone(self.skill),
            reason,
            score: self.score,
        }
    }

    fn count(&self) -> u64 {
        self.usage.map_or(0, |usage| usage.count)
    }

    /// Breaks ties: used skills first, then by modification time (latest first), then by name, then
    /// by id.
    fn back_fill(&self, other: &Self) -> Ordering {
        other
            .usage
            .is_some()
            .cmp(&self.usage.is_some())
            .then_with(|| other.modified.cmp(&self.modified))
            .then_with(|| self.by_name(other))
    }

    fn by_name(&self, other: &Self) -> Ordering {
        self.skill
            .name
            .cmp(&other.skill.name)
            .then_with(|| self.skill.id.cmp(&other.skill.id))
    }
}

/// Moves the first `count` entries to the front, sorted; the rest is unordered.
fn best_first(
    entries: &mut [RankEntry<'_>],
    count: usize,
    order: fn(&RankEntry<'_>, &RankEntry<'_>) -> Ordering,
) {
    if count == 0 {
        return;
    }
    if count < entries.len() {
        entries.select_nth_unstable_by(count, order);
    }
    let count = count.min(entries.len());
    entries[..count].sort_unstable_by(order);
}

/// Replaces a time far in the future, which is an error of a clock, with the current time, so that
/// it cannot rank first for years.
fn not_ahead(time: i64, now: i64) -> i64 {
    if time > now.saturating_add(SKEW) {
        now
    } else {
        time
    }
}

#[cfg(test)]
mod tests;
