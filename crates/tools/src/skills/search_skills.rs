//! `search_skills`: finds skills that match a query.
//!
//! Agentick's `search({query, metadata, limit})` as a tool; the ranking is ours. Scores are not
//! returned: they depend on skills that the model must not know about.

use std::borrow::Cow;
use std::collections::HashSet;

use prowess_catalog::visibility::{Audience, CatalogView, SkillVisibility};
use prowess_catalog::{CatalogEntry, SkillId};
use prowess_diag::sanitize;
use prowess_diag::wording::shorten;
use prowess_search::hint::{path_matches, paths};
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
/// Maximum length of a glob in a result, in characters.
const MAX_GLOB: usize = 100;
/// Maximum number of globs of a skill in a result.
const MAX_GLOBS: usize = 5;

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
                    json!({ "type": "string", "description": "The user's message, or a few words that describe the task. Include the paths of the files that it is about." }),
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
        // Files that the query names count as used.
        let named = paths(words, &context.settings.paths.workspace);
        let mut visibility = Cow::Borrowed(&context.settings.visibility);
        if !named.is_empty() && visibility.touched.is_some() {
            let touched = visibility.to_mut().touched.get_or_insert_default();
            touched.extend(named.iter().cloned());
        }
        let view = CatalogView::new(&catalog, &visibility, Audience::Model);
        let names = NameMatcher::new(words);
        let is_shown = |entry: &CatalogEntry| match view.searchable(entry) {
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
        let hits: Vec<(&SearchHit, Seen<'_>)> = hits
            .iter()
            .filter_map(|hit| Some((hit, catalog.entry_of(&hit.skill)?)))
            .map(|(hit, entry)| (hit, (entry, view.searchable(entry))))
            .collect();
        let described = hits
            .iter()
            .find(|(_, (_, sight))| *sight == SkillVisibility::Full);
        let best_score = described.map_or(0.0, |(hit, _)| hit.score);
        let fits = |hit: &SearchHit, (entry, sight): Seen<'_>| {
            // The hidden description must not count.
            let fit = match sight {
                SkillVisibility::Full => hit.fit_among(best_score),
                _ => names.compare(view.name(entry)).fit(),
            };
            fit >= GOOD_FIT && view.awaited_files(entry).is_empty()
        };
        let mut found: Vec<Found<'_>> = hits
            .into_iter()
            .map(|(hit, seen)| (seen, fits(hit, seen)))
            .collect();
        let by_path = path_matches(&catalog, &named);
        if query.metadata.is_empty() && !by_path.is_empty() {
            let by_path = by_path.into_iter().filter(|entry| is_shown(entry));
            let by_path = by_path.map(|entry| (entry, view.searchable(entry)));
            found = with_matches_by_path(found, by_path.collect());
        }
        let total = found.len();
        let best = &found[..limit.min(total)];
        let seen: Vec<Seen<'_>> = best.iter().map(|(seen, _)| *seen).collect();
        let lines: Vec<String> = listing::bullets(&view, &seen)
            .into_iter()
            .zip(&seen)
            .map(|(line, (entry, _))| line + &condition(&view.awaited_files(entry)))
            .collect();
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
        let skills: Vec<Value> = best[..lines.len()]
            .iter()
            .map(|(seen, fits)| {
                let mut value = listing::value(&view, loaded, seen);
                value["fits"] = (*fits).into();
                let awaited = view.awaited_files(seen.0);
                if !awaited.is_empty() {
                    value["paths"] = awaited
                        .iter()
                        .take(MAX_GLOBS)
                        .map(|glob| safe(glob))
                        .collect();
                }
                value
            })
            .collect();
        Ok(ToolAnswer::new(
            told,
            json!({ "skills": skills, "total": total }),
        ))
    }
}

/// A skill that was found; `true` if it fits the query well.
type Found<'c> = (Seen<'c>, bool);

/// Inserts the skills whose `paths` match a file of the query after those that fit by their words.
fn with_matches_by_path<'c>(found: Vec<Found<'c>>, by_path: Vec<Seen<'c>>) -> Vec<Found<'c>> {
    let (mut rows, others): (Vec<Found<'c>>, Vec<Found<'c>>) =
        found.into_iter().partition(|(_, fits)| *fits);
    let mut known: HashSet<&SkillId> = rows.iter().map(|((entry, _), _)| &entry.skill.id).collect();
    let by_path = by_path.into_iter().map(|seen| (seen, true));
    let rest = by_path.chain(others);
    rows.extend(rest.filter(|((entry, _), _)| known.insert(&entry.skill.id)));
    rows
}

/// Formats the files that a skill waits for.
fn condition(globs: &[String]) -> String {
    if globs.is_empty() {
        return String::new();
    }
    let globs: Vec<String> = globs
        .iter()
        .take(MAX_GLOBS)
        .map(|glob| safe(glob))
        .collect();
    format!(" (only for files that match {})", globs.join(", "))
}

/// Returns a glob as text that cannot end a line or a tag.
fn safe(glob: &str) -> String {
    shorten(&sanitize::line(glob), MAX_GLOB).replace('<', "&lt;")
}

/// Returns the schema of a result: a listed skill, and whether it fits the query well.
fn schema() -> Value {
    let mut schema = listing::schema();
    schema["properties"]["fits"] = json!({
        "type": "boolean",
        "description": "True if the skill is a good match for the query.",
    });
    schema["properties"]["paths"] = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "Globs of files. The skill is only for tasks about such files.",
    });
    schema
}
