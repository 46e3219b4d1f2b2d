//! Search results.

use prowess_catalog::{Catalog, CatalogEntry};
use prowess_search::{MatchReason, SearchHit};
use serde_json::{Value, json};

use crate::inspect::skill::skill;

/// Maximum number of reasons to show for a score.
const MOST_REASONS: usize = 6;

/// Returns search results as a document. `has_more` is `true` if the list was truncated.
pub fn search_results(
    catalog: &Catalog,
    query: &str,
    hits: &[(&SearchHit, &CatalogEntry)],
    has_more: bool,
) -> Value {
    let row = |(hit, entry): &(&SearchHit, &CatalogEntry)| {
        let mut value = skill(catalog, entry);
        value["score"] = json!(hit.score);
        value["reasons"] = hit.explanation.iter().map(reason).collect();
        value
    };
    let skills: Vec<Value> = hits.iter().map(row).collect();
    json!({ "schema": "prowess.find/1", "query": query, "skills": skills, "more": has_more })
}

/// Explains a score in one line: `pdf in name 3.10 + form in description 1.20`.
pub fn reasons(hit: &SearchHit) -> String {
    let mut parts: Vec<String> = hit
        .explanation
        .iter()
        .take(MOST_REASONS)
        .map(|reason| {
            use prowess_search::MatchForm;
            let form = match reason.form {
                MatchForm::NameCover => return format!("the name as a whole {:.2}", reason.points),
                MatchForm::Exact | MatchForm::Gram => String::new(),
                form => format!(" ({})", form.as_str()),
            };
            format!(
                "`{}` in {}{form} {:.2}",
                reason.term,
                reason.field.as_str(),
                reason.points
            )
        })
        .collect();
    if hit.explanation.len() > MOST_REASONS {
        parts.push("…".to_owned());
    }
    parts.join(" + ")
}

fn reason(reason: &MatchReason) -> Value {
    json!({
        "field": reason.field.as_str(),
        "term": &*reason.term,
        "form": reason.form.as_str(),
        "points": reason.points,
    })
}
