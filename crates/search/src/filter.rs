//! The filters of a query, which apply in every search mode.

use prowess_catalog::Skill;

use crate::SearchQuery;

/// Returns `true` if a skill passes the filters of a query: its scope and every metadata pair.
pub(crate) fn admits(query: &SearchQuery<'_>, skill: &Skill) -> bool {
    let has = |(key, value): &(&str, &str)| {
        skill
            .metadata
            .iter()
            .any(|(own, content)| **own == **key && **content == **value)
    };
    query
        .scope
        .is_none_or(|scope| skill.id.origin.scope == scope)
        && query.metadata.iter().all(has)
}
