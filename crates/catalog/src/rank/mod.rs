//! Which skills come first.
//!
//! [`rank`] is a function of the visible skills, of what is known of their use, and of a time that
//! the caller gives. The same arguments give the same list, on every machine.

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
pub use usage::{Outcome, Outcomes, Usage, union};

/// How far a recorded time may lie ahead before it counts as the mistake of a clock: one day, in
/// nanoseconds.
pub const SKEW: i64 = 24 * 60 * 60 * 1_000_000_000;

/// What to rank by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Many uses and recent uses both count; a use weighs half after each half-life.
    Frecency {
        /// After how long a use weighs half.
        half_life: Duration,
    },
    /// Planck's contract: the last use decides, the number of uses only between equals.
    Recency,
}

impl Default for Mode {
    fn default() -> Self {
        Self::Frecency {
            half_life: HALF_LIFE,
        }
    }
}

/// How to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What time it is, in nanoseconds since 1970.
    pub now: i64,
    /// Most skills to return.
    pub limit: usize,
    /// What to rank by.
    pub mode: Mode,
    /// Which period it is, where some places go to skills that would not be shown otherwise; see
    /// [`explore`]. Nothing gives every place to the best.
    pub period: Option<i64>,
}

impl Options {
    /// Starts with the defaults: frecency, with exploration by the hour.
    pub fn new(now: i64, limit: usize) -> Self {
        Self {
            now,
            limit,
            mode: Mode::default(),
            period: Some(explore::period(now)),
        }
    }

    /// Asks for Planck's contract: recency, no exploration.
    pub fn planck(now: i64, limit: usize) -> Self {
        Self {
            now,
            limit,
            mode: Mode::Recency,
            period: None,
        }
    }
}

/// Why a skill has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It was used.
    Used {
        /// How often.
        count: u64,
        /// When for the last time, in nanoseconds since 1970.
        last_used: i64,
    },
    /// It was not used, and fills a place that is left: those that changed last come first.
    Recent {
        /// When its file changed, in nanoseconds since 1970.
        modified: i64,
    },
    /// It would not have been shown; it is its turn.
    Explored {
        /// The period whose turn it is.
        period: i64,
    },
}

/// A skill and why it has its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Why it is here.
    pub reason: Reason,
    /// What its use weighs now; 0 where it was never used. Only comparable within one list.
    pub score: f64,
}

/// Returns the first `limit` skills, best first, those to explore last.
///
/// Pinned skills are left out, because every listing has them anyway; usage of names that are not
/// among the skills is disregarded. Neither takes a place. Places that used skills do not fill go to
/// the skills that changed last. Several entries of one name are added up.
pub fn rank(skills: &[Arc<Skill>], usage: &[Usage], options: &Options) -> Vec<Ranked> {
    let limit = options.limit;
    if limit == 0 {
        return Vec::new();
    }
    let usage = union(usage);
    let known: HashMap<&str, &Usage> = usage.iter().map(|one| (&*one.skill, one)).collect();
    let mut entries: Vec<Entry<'_>> = skills
        .iter()
        .filter(|skill| !skill.pinned)
        .map(|skill| Entry::new(skill, known.get(&*skill.name).copied(), options))
        .collect();
    let order = match options.mode {
        Mode::Frecency { .. } => frecency::order,
        Mode::Recency => planck::order,
    };
    let turn = options.period.filter(|_| limit < entries.len());
    let turn = turn.map_or(explore::Turn::NONE, |period| explore::turn(period, limit));
    best_first(&mut entries, limit - turn.places, order);
    let (best, others) = entries.split_at(entries.len().min(limit - turn.places));
    let mut ranked: Vec<Ranked> = best.iter().map(Entry::ranked).collect();
    if let Some(period) = options.period {
        ranked.extend(
            explore::choose(best, others, turn)
                .into_iter()
                .map(|entry| Ranked {
                    skill: Arc::clone(entry.skill),
                    reason: Reason::Explored { period },
                    score: entry.score,
                }),
        );
    }
    ranked
}

/// A skill with what the orders compare.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    skill: &'a Arc<Skill>,
    usage: Option<&'a Usage>,
    /// The last use, not later than now.
    last_used: i64,
    /// The last change, not later than now.
    modified: i64,
    score: f64,
}

impl<'a> Entry<'a> {
    fn new(skill: &'a Arc<Skill>, usage: Option<&'a Usage>, options: &Options) -> Self {
        let half_life = match options.mode {
            Mode::Frecency { half_life } => half_life,
            Mode::Recency => HALF_LIFE,
        };
        Self {
            skill,
            usage,
            last_used: usage.map_or(i64::MIN, |usage| not_ahead(usage.last_used, options.now)),
            modified: not_ahead(skill.stamp.modified, options.now),
            score: usage.map_or(0.0, |usage| frecency::weight(usage, options.now, half_life)),
        }
    }

    fn ranked(&self) -> Ranked {
        let reason = match self.usage {
            Some(usage) => Reason::Used {
                count: usage.count,
                last_used: usage.last_used,
            },
            None => Reason::Recent {
                modified: self.skill.stamp.modified,
            },
        };
        Ranked {
            skill: Arc::clone(self.skill),
            reason,
            score: self.score,
        }
    }

    fn count(&self) -> u64 {
        self.usage.map_or(0, |usage| usage.count)
    }

    /// What decides when nothing else does: used ones first, then those that changed last, then the
    /// name, then the place.
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

/// Brings the first `count` entries to the front, in order, and leaves the others as they come.
fn best_first(
    entries: &mut [Entry<'_>],
    count: usize,
    order: fn(&Entry<'_>, &Entry<'_>) -> Ordering,
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

/// A time that lies far ahead is the mistake of a clock. It counts as now, so that it cannot keep
/// the first place for years.
fn not_ahead(time: i64, now: i64) -> i64 {
    if time > now.saturating_add(SKEW) {
        now
    } else {
        time
    }
}

#[cfg(test)]
mod tests;
