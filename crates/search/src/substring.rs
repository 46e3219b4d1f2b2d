//! Substring search without ranking, as in Agentick.

use super::filter::admits;
use super::{SearchHit, SearchQuery};
use prowess_catalog::Skill;
use std::sync::Arc;

/// Returns the skills that contain the text, in the order given.
///
/// The text is trimmed and lower-cased, and searched for in name, description, `when_to_use` and
/// the metadata values. Applies the filters of the query, and stops at the limit (0 for none).
pub fn search<'a>(
    skills: impl IntoIterator<Item = &'a Arc<Skill>>,
    query: &SearchQuery<'_>,
) -> Vec<SearchHit> {
    let wanted = query.text.trim().to_lowercase();
    let most = if query.limit == 0 {
        usize::MAX
    } else {
        query.limit
    };
    skills
        .into_iter()
        .filter(|skill| admits(query, skill) && (wanted.is_empty() || contains(skill, &wanted)))
        .take(most)
        .map(|skill| SearchHit {
            skill: Arc::clone(skill),
            score: 0.0,
            fit: 0.0,
            explanation: Vec::new(),
        })
        .collect()
}

fn contains(skill: &Skill, wanted: &str) -> bool {
    let texts = [
        Some(&skill.name),
        Some(&skill.description),
        skill.when_to_use.as_ref(),
    ];
    let values = skill.metadata.iter().map(|(_, value)| value);
    texts
        .into_iter()
        .flatten()
        .chain(values)
        .any(|text| holds(text, wanted))
}

/// Returns `true` if the lower-cased text contains `wanted`.
fn holds(text: &str, wanted: &str) -> bool {
    if !text.is_ascii() {
        return text.to_lowercase().contains(wanted);
    }
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let Some(first) = wanted.first() else {
        return true;
    };
    text.windows(wanted.len())
        .any(|piece| piece[0].to_ascii_lowercase() == *first && piece.eq_ignore_ascii_case(wanted))
}
