//! Planck's ranking rule: the last use decides.
//!
//! The number of uses breaks ties, then the name. An agent without history gets the most recently
//! modified skills. Unlike in Planck, so does one with a short history, and pinned or deleted
//! skills take no slot. A new orchestrator starts with the [`union`](super::union) of the records
//! of its team's orchestrators.

use std::cmp::Ordering;

use super::RankEntry;

/// The type of an agent that leads a team.
pub const ORCHESTRATOR: &str = "orchestrator";
/// The team of a session without a team.
pub const DEFAULT_TEAM: &str = "default";

/// Compares by last use, then by count, both descending, then by name.
pub(super) fn order(one: &RankEntry<'_>, other: &RankEntry<'_>) -> Ordering {
    let used = other.usage.is_some().cmp(&one.usage.is_some());
    if used.is_ne() || one.usage.is_none() {
        return one.back_fill(other);
    }
    other
        .last_used
        .cmp(&one.last_used)
        .then_with(|| other.count().cmp(&one.count()))
        .then_with(|| one.by_name(other))
}
