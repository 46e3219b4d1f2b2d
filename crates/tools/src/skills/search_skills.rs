//! `search_skills`: finds skills that match a query.
//!
//! Agentick's `search({query, metadata, limit})` as a tool; the ranking is ours. Scores are not
//! returned: they depend on skills that the model must not know about.

use prowess_catalog::CatalogEntry;
use prowess_catalog::visibility::{Audience, CatalogView, SkillVisibility};
use prowess_search::name_match::{NameMatch, NameMatcher};
use prowess_search::{GOOD_FIT, SearchHit, SearchQuery};
use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::listing::{self, Seen};
use crate::loaded::Loaded;
use crate::names::SEARCH_SKILLS;
use crate::skill_access::{permit_all, shown};
use crate::tool::{Tool, ToolAnswer, ToolError, number, object, text};
use prowess_policy::SkillAction;

/// Default number of results.
const USUAL_LIMIT: usize = 10;
/// Maximum number of results.
const MAX_LIMIT: usize = 50;

/// `search_skills`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchSkills;

impl Tool for SearchSkills {
    fn name(&self) -> &'static str {
        SEARCH_SKILLS
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Finds skills that match the user's message or a few words about the task, best match \
         first. Then call `load_skill` with a name."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "query",
                    json!({ "type": "string", "description": "The user's message, or a few words that describe the task." }),
                ),
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "Maximum number of skills to return (default: 10)." }),
                ),
                (
                    "metadata",
                    json!({
                        "type": "object",
                        "additionalProperties": { "type": "string" },
                        "description": "Metadata that a skill must have: every key with exactly this value.",
                    }),
                ),
            ],
            &["query"],
        )
    }

    fn output_schema(&self) -> Value {
        object(
            &[
                ("skills", json!({ "type": "array", "items": schema() })),
                ("total", json!({ "type": "integer", "minimum": 0 })),
            ],
            &["skills", "total"],
        )
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        true
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        permit_all(context, loaded, SkillAction::List)?;
        let words = text(input, "query");
        let limit = number(input, "limit").and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT);
        let metadata = input.get("metadata").and_then(Value::as_object);
        let metadata = metadata.into_iter().flatten();
        let metadata: Vec<(&str, &str)> = metadata
            .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
            .collect();

        let query = SearchQuery {
            metadata,
            limit: 0,
            explain: false,
            ..SearchQuery::new(words)
        };
        let catalog = context.services.registry.snapshot();
        let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Model);
        let names = NameMatcher::new(words);
        let is_shown = |entry: &CatalogEntry| match view.visibility(entry) {
            SkillVisibility::Full => true,
            SkillVisibility::NameOnly if !query.metadata.is_empty() => false,
            SkillVisibility::NameOnly => {
                words.trim().is_empty() || names.compare(view.name(entry)) > NameMatch::No
            }
            SkillVisibility::Hidden(_) => false,
        };
        // A hidden skill must not change the limit, the order or the fit of the others.
        let index = context.services.registry.search_index();
        let index = index.only(|skill| catalog.entry_of(skill).is_some_and(is_shown));
        let hits = index.search(&query);
        let (shown_hits, seen): (Vec<&SearchHit>, Vec<Seen<'_>>) = hits
            .iter()
            .filter_map(|hit| Some((hit, catalog.entry_of(&hit.skill)?)))
            .map(|(hit, entry)| (hit, (entry, view.visibility(entry))))
            .unzip();
        let total = seen.len();
        let best = &seen[..limit.min(total)];
        let lines = listing::bullets(&view, best);
        let mut told = match total {
            0 if view.visible().next().is_none() => "No skills available.".to_owned(),
            0 if words.trim().is_empty() => "No skills match.".to_owned(),
            0 => format!("No skills match {}.", shown(words)),
            _ => lines.join("\n"),
        };
        let more = total - lines.len();
        if more > 0 {
            told.push_str(&format!(
                "\n\n[{more} more not shown; use a more specific query]"
            ));
        }
        let described = shown_hits.iter().zip(&seen);
        let described = described.filter(|(_, (_, sight))| *sight == SkillVisibility::Full);
        let best_score = described.map(|(hit, _)| hit.score).next().unwrap_or(0.0);
        let skills: Vec<Value> = best[..lines.len()]
            .iter()
            .zip(&shown_hits)
            .map(|(seen, hit)| {
                // The hidden description must not count.
                let fit = match seen.1 {
                    SkillVisibility::Full => hit.fit_among(best_score),
                    _ => names.compare(view.name(seen.0)).fit(),
                };
                let mut value = listing::value(&view, loaded, seen);
                value["fits"] = (fit >= GOOD_FIT).into();
                value
            })
            .collect();
        Ok(ToolAnswer::new(
            told,
            json!({ "skills": skills, "total": total }),
        ))
    }
}

/// Returns the schema of a result: a listed skill, and whether it fits the query well.
fn schema() -> Value {
    let mut schema = listing::schema();
    schema["properties"]["fits"] = json!({
        "type": "boolean",
        "description": "True if the skill is a good match for the query.",
    });
    schema
}
