//! `search_skills`: which skill fits these words?
//!
//! Agentick's `search({query, metadata, limit})` as a tool; the ranking is ours. No score is told:
//! it would hang on skills that the model must not know of.

use prowess_catalog::visibility::{Sight, View, Who};
use prowess_search::Query;
use serde_json::{Value, json};

use crate::access::{SkillAction, permit_all, shown};
use crate::context::ToolContext;
use crate::listing::{self, Seen};
use crate::loaded::Loaded;
use crate::names::SEARCH_SKILLS;
use crate::tool::{Tool, ToolAnswer, ToolError, number, object, text};

/// How many skills are found where nobody says how many.
const USUAL_LIMIT: usize = 10;
/// Most skills that are found.
const MAX_LIMIT: usize = 50;

/// `search_skills`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchSkills;

impl Tool for SearchSkills {
    fn name(&self) -> &'static str {
        SEARCH_SKILLS
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Finds the skills that fit a few words about the task, the best first. Then call \
         `load_skill` with a name."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "query",
                    json!({ "type": "string", "description": "A few words about what is to be done." }),
                ),
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "Most skills of the answer (default: 10)." }),
                ),
                (
                    "metadata",
                    json!({
                        "type": "object",
                        "additionalProperties": { "type": "string" },
                        "description": "Pairs that a skill's metadata must have, every one, exactly.",
                    }),
                ),
            ],
            &["query"],
        )
    }

    fn output_schema(&self) -> Value {
        object(
            &[
                (
                    "skills",
                    json!({ "type": "array", "items": listing::schema() }),
                ),
                ("total", json!({ "type": "integer", "minimum": 0 })),
            ],
            &["skills", "total"],
        )
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        permit_all(context, SkillAction::List)?;
        let words = text(input, "query");
        let limit = number(input, "limit").and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT);
        let metadata = input.get("metadata").and_then(Value::as_object);
        let metadata = metadata.into_iter().flatten();
        let metadata: Vec<(&str, &str)> = metadata
            .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
            .collect();

        // The limit comes after visibility, or hidden skills would take places.
        let query = Query {
            metadata,
            limit: 0,
            explain: false,
            ..Query::new(words)
        };
        let hits = context.services.registry.search(&query);
        let catalog = context.services.registry.snapshot();
        let view = View::new(&catalog, &context.settings.visibility, Who::Model);
        let seen: Vec<Seen<'_>> = hits
            .iter()
            .filter_map(|hit| catalog.entry_of(&hit.skill))
            .map(|entry| (entry, view.sight(entry)))
            .filter(|(entry, sight)| match sight {
                Sight::Full => true,
                Sight::NameOnly => query.metadata.is_empty() && has_word(entry.name(), words),
                Sight::Hidden(_) => false,
            })
            .collect();
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
                "\n\n[{more} more fit less well; say more to find them]"
            ));
        }
        let skills: Vec<Value> = best[..lines.len()]
            .iter()
            .map(|seen| listing::value(&view, loaded, seen))
            .collect();
        Ok(ToolAnswer::new(
            told,
            json!({ "skills": skills, "total": total }),
        ))
    }
}

/// Whether a name has one of the words in it. Of a skill that shows only its name, only the name is
/// searched.
fn has_word(name: &str, words: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = words.split_whitespace().peekable();
    words.peek().is_none() || words.any(|word| name.contains(&word.to_lowercase()))
}
