//! Frequency and recency in one number that decays.
//!
//! Each use weighs 1 when it happens and half as much after each half-life. The sum over all uses
//! needs no list of them: it decays as a whole, so the sum at the last use and the time of the last
//! use are enough (`Usage::score`), and the result is exact.

use std::cmp::Ordering;
use std::time::Duration;

use super::{Entry, Usage};

/// After how long a use weighs half, in what is stored.
pub const HALF_LIFE: Duration = Duration::from_hours(7 * 24);

/// What one use that failed or was refused costs: a skill that always fails weighs half.
const FAILURE: f64 = 0.5;

/// Returns what the uses weigh now. With [`HALF_LIFE`] it is exact; another half-life counts from
/// the last use on.
pub fn weight(usage: &Usage, now: i64, half_life: Duration) -> f64 {
    let bad = usage.outcomes.failed.saturating_add(usage.outcomes.refused);
    #[expect(clippy::cast_precision_loss, reason = "a weight needs no more")]
    let share = (bad as f64 / usage.count.max(1) as f64).min(1.0);
    decay(usage.sound_score(), now, usage.last_used, half_life) * (1.0 - FAILURE * share)
}

/// What `weight` at the time `then` is worth at `now`. Nothing decays before its time.
pub(super) fn decay(weight: f64, now: i64, then: i64, half_life: Duration) -> f64 {
    let age = (i128::from(now) - i128::from(then)).max(0);
    if age == 0 {
        return weight;
    }
    #[expect(clippy::cast_precision_loss, reason = "a weight needs no more")]
    let halvings = age as f64 / half_life.as_nanos().max(1) as f64;
    weight * (-halvings).exp2()
}

/// The heaviest first; between equals the latest, then the most used.
pub(super) fn order(one: &Entry<'_>, other: &Entry<'_>) -> Ordering {
    other
        .score
        .total_cmp(&one.score)
        .then_with(|| other.last_used.cmp(&one.last_used))
        .then_with(|| other.count().cmp(&one.count()))
        .then_with(|| one.back_fill(other))
}
