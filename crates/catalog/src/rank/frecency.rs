//! Frecency: frequency and recency combined in a decaying score.
//!
//! Each use has weight 1, which halves after each half-life. The sum over all uses decays as a
//! whole, so storing the sum at the last use and the time of the last use (`SkillUsage::score`) gives
//! exact results.

use std::cmp::Ordering;
use std::time::Duration;

use super::{RankEntry, SkillUsage};

/// Half-life of a use in the stored score.
pub const HALF_LIFE: Duration = Duration::from_hours(7 * 24);

/// Penalty for a failed or refused use: a skill that always fails has half the weight.
const FAILURE: f64 = 0.5;

/// Returns the current weight of all uses. Exact for [`HALF_LIFE`]; another half-life applies from
/// the last use on.
pub fn weight(usage: &SkillUsage, now: i64, half_life: Duration) -> f64 {
    let bad = usage.outcomes.failed.saturating_add(usage.outcomes.refused);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a weight needs no more precision"
    )]
    let share = (bad as f64 / usage.count.max(1) as f64).min(1.0);
    decay(usage.sound_score(), now, usage.last_used, half_life) * (1.0 - FAILURE * share)
}

/// Returns the value at `now` of `weight` at `then`. Nothing decays before `then`.
pub(super) fn decay(weight: f64, now: i64, then: i64, half_life: Duration) -> f64 {
    let age = (i128::from(now) - i128::from(then)).max(0);
    if age == 0 {
        return weight;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a weight needs no more precision"
    )]
    let halvings = age as f64 / half_life.as_nanos().max(1) as f64;
    weight * (-halvings).exp2()
}

/// Compares by score, then by last use, then by count; all descending.
pub(super) fn order(one: &RankEntry<'_>, other: &RankEntry<'_>) -> Ordering {
    other
        .score
        .total_cmp(&one.score)
        .then_with(|| other.last_used.cmp(&one.last_used))
        .then_with(|| other.count().cmp(&one.count()))
        .then_with(|| one.back_fill(other))
}
