//! `list_skills`: lists the available skills.
//!
//! The text is Planck's: one bullet `- **name**: description` for each skill, or `No skills
//! available.`. Unlike Planck, the list is sorted by name, escaped to one line for each skill,
//! paged and filtered. core-agent returns `{skills: "<xml text>"}`; we return the list as data.

use prowess_catalog::visibility::{Audience, CatalogView, SkillVisibility};
use prowess_catalog::{CatalogEntry, Scope};
use prowess_search::{SearchMode, SearchQuery, substring};
use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::listing::{self, Seen};
use crate::loaded::Loaded;
use crate::names::LIST_SKILLS;
use crate::skill_access::{permit_all, shown};
use crate::tool::{Tool, ToolAnswer, ToolError, number, object, text};
use prowess_policy::SkillAction;

/// Default number of skills on a page.
const USUAL_LIMIT: usize = 200;
/// Maximum number of skills on a page.
const MAX_LIMIT: usize = 1_000;

/// `list_skills`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListSkills;

impl Tool for ListSkills {
    fn name(&self) -> &'static str {
        LIST_SKILLS
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Lists the skills that you can load, sorted by name, with a one-line description of each. \
         Pass `query` to list only the skills that contain a text."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "query",
                    json!({ "type": "string", "description": "Text that the name, description or metadata must contain." }),
                ),
                (
                    "scope",
                    json!({ "type": "string", "enum": listing::scopes(), "description": "List only skills from this scope." }),
                ),
                (
                    "offset",
                    json!({ "type": "integer", "minimum": 0, "description": "Number of skills to skip: `next` from the previous result." }),
                ),
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "Maximum number of skills to return (default: 200)." }),
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
        let query = text(input, "query").trim();
        let scope = Scope::parse(text(input, "scope"));
        let offset = usize::try_from(number(input, "offset").unwrap_or(0)).unwrap_or(usize::MAX);
        let limit = number(input, "limit").and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT);

        let catalog = context.services.registry.snapshot();
        let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Model);
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
                "" => "No skills in this scope.".to_owned(),
                query => format!("No skills match {}.", shown(query)),
            },
            (true, 0) => "No skills available.".to_owned(),
            (true, total) => format!("No skills at offset {offset}; the total is {total}."),
            (false, _) => lines.join("\n"),
        };
        if let Some(next) = next {
            told.push_str(&format!(
                "\n\n[skills {} to {end} of {total}; pass offset {next} to continue]",
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

/// Returns `true` if a skill matches the filters. If only its name is visible, only the name is
/// searched.
fn admits(view: &CatalogView<'_>, seen: &Seen<'_>, query: &str, scope: Option<Scope>) -> bool {
    let (entry, sight): (&CatalogEntry, SkillVisibility) = *seen;
    if sight == SkillVisibility::NameOnly && !query.is_empty() {
        let named = view
            .name(entry)
            .to_lowercase()
            .contains(&query.to_lowercase());
        return named && scope.is_none_or(|scope| entry.skill.id.origin.scope == scope);
    }
    let query = SearchQuery {
        scope,
        mode: SearchMode::Substring,
        ..SearchQuery::new(query)
    };
    !substring::search([&entry.skill], &query).is_empty()
}
