//! `list_skills`: which skills are there?
//!
//! Planck's text: one bullet `- **name**: description` for each skill, and `No skills available.`
//! where there is none. Different from Planck: in order of name, every entry in one escaped line,
//! paged, with a filter. core-agent answers `{skills: "<xml text>"}`; ours has the list as data.

use prowess_catalog::visibility::{Sight, View, Who};
use prowess_catalog::{Entry, Scope};
use prowess_search::{Mode, Query, substring};
use serde_json::{Value, json};

use crate::access::{SkillAction, permit_all, shown};
use crate::context::ToolContext;
use crate::listing::{self, Seen};
use crate::loaded::Loaded;
use crate::names::LIST_SKILLS;
use crate::tool::{Tool, ToolAnswer, ToolError, number, object, text};

/// How many skills a page has where nobody says how many.
const USUAL_LIMIT: usize = 200;
/// Most skills of a page.
const MAX_LIMIT: usize = 1_000;

/// `list_skills`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListSkills;

impl Tool for ListSkills {
    fn name(&self) -> &'static str {
        LIST_SKILLS
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Lists the skills that you can load, in order of name, with a line about each. Give \
         `query` to see only those that contain a piece of text."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "query",
                    json!({ "type": "string", "description": "A piece of text that the name, the description or the metadata must contain." }),
                ),
                (
                    "scope",
                    json!({ "type": "string", "enum": listing::scopes(), "description": "Only skills that come from there." }),
                ),
                (
                    "offset",
                    json!({ "type": "integer", "minimum": 0, "description": "How many skills to skip: `next` of the last answer." }),
                ),
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "Most skills of one answer (default: 200)." }),
                ),
            ],
            &[],
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
                ("offset", json!({ "type": "integer", "minimum": 0 })),
                ("next", json!({ "type": ["integer", "null"] })),
            ],
            &["skills", "total", "offset", "next"],
        )
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        permit_all(context, SkillAction::List)?;
        let query = text(input, "query").trim();
        let scope = Scope::parse(text(input, "scope"));
        let offset = usize::try_from(number(input, "offset").unwrap_or(0)).unwrap_or(usize::MAX);
        let limit = number(input, "limit").and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT);

        let catalog = context.services.registry.snapshot();
        let view = View::new(&catalog, &context.settings.visibility, Who::Model);
        let all: Vec<Seen<'_>> = view
            .visible()
            .filter(|seen| admits(&view, seen, query, scope))
            .collect();
        let total = all.len();
        let page: Vec<Seen<'_>> = all.into_iter().skip(offset).take(limit).collect();
        let lines = listing::bullets(&view, &page);
        let end = offset.saturating_add(lines.len());
        let next = (end < total && !lines.is_empty()).then_some(end);

        let is_filtered = !query.is_empty() || scope.is_some();
        let mut told = match (lines.is_empty(), total) {
            (true, 0) if is_filtered => match query {
                "" => "No skills come from there.".to_owned(),
                query => format!("No skills match {}.", shown(query)),
            },
            (true, 0) => "No skills available.".to_owned(),
            (true, total) => format!("No skills from offset {offset} on; there are {total}."),
            (false, _) => lines.join("\n"),
        };
        if let Some(next) = next {
            told.push_str(&format!(
                "\n\n[skills {} to {end} of {total}; go on with offset {next}]",
                offset + 1
            ));
        }
        let skills: Vec<Value> = page[..lines.len()]
            .iter()
            .map(|seen| listing::value(&view, loaded, seen))
            .collect();
        let value = json!({ "skills": skills, "total": total, "offset": offset, "next": next });
        Ok(ToolAnswer::new(told, value))
    }
}

/// Whether a skill passes the filters. Of one that shows only its name, only the name is searched.
fn admits(view: &View<'_>, seen: &Seen<'_>, query: &str, scope: Option<Scope>) -> bool {
    let (entry, sight): (&Entry, Sight) = *seen;
    if sight == Sight::NameOnly && !query.is_empty() {
        let named = view
            .name(entry)
            .to_lowercase()
            .contains(&query.to_lowercase());
        return named && scope.is_none_or(|scope| entry.skill.id.origin.scope == scope);
    }
    let query = Query {
        scope,
        mode: Mode::Substring,
        ..Query::new(query)
    };
    !substring::search([&entry.skill], &query).is_empty()
}
