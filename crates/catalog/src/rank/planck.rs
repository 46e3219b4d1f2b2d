//! Planck's contract: the last use decides.
//!
//! The number of uses decides only between uses at the same time, then the name. An agent without
//! history gets the skills that changed last. Unlike Planck, so does one with a short history, and
//! pinned or deleted skills take no place. What an orchestrator starts with is the
//! [`union`](super::union) of the rows of its team's orchestrators.

use std::cmp::Ordering;

use super::Entry;

/// The type of agent that leads a team.
pub const ORCHESTRATOR: &str = "orchestrator";
/// The team of a session without one.
pub const DEFAULT_TEAM: &str = "default";

/// The latest first; between equals the most used, then the name.
pub(super) fn order(one: &Entry<'_>, other: &Entry<'_>) -> Ordering {
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
