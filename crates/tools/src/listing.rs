//! Formats skills that are not loaded for a model: one line each.

use prowess_catalog::index::{
    self, Bullets, DEFAULT_ENTRY_CHARS, EntryDetail, IndexBudget, IndexFormat, IndexLimit,
    IndexOptions,
};
use prowess_catalog::visibility::{CatalogView, SkillVisibility};
use prowess_catalog::{CatalogEntry, Scope};
use prowess_diag::sanitize;
use prowess_diag::wording::shorten;
use serde_json::{Value, json};

use crate::loaded::Loaded;

/// Maximum size of a page in bytes. Leaves room for a note in the result.
const MAX_PAGE: usize = 48_000;

/// A visible skill.
pub(crate) type Seen<'c> = (&'c CatalogEntry, SkillVisibility);

/// Formats one line for each skill, escaped as in the index, as many as fit.
pub(crate) fn bullets(view: &CatalogView<'_>, seen: &[Seen<'_>]) -> Vec<String> {
    let mut room = MAX_PAGE;
    let mut lines = Vec::new();
    for entry in seen {
        let line = bullet(view, entry);
        if line.len() + 1 > room && !lines.is_empty() {
            break;
        }
        room = room.saturating_sub(line.len() + 1);
        lines.push(line);
    }
    lines
}

/// Formats a skill as `- **name**: description`.
fn bullet(view: &CatalogView<'_>, seen: &Seen<'_>) -> String {
    let unlimited = IndexBudget {
        limit: IndexLimit::Unlimited,
        entry_chars: DEFAULT_ENTRY_CHARS,
    };
    let text = index::index(&[entry(view, seen)], &options(unlimited)).text;
    let line = text.lines().find(|line| line.starts_with("- "));
    // Only a skill whose name cannot be used has no line.
    line.map_or_else(
        || "- (a skill without a usable name)".to_owned(),
        str::to_owned,
    )
}

/// Formats all skills within a budget of characters. Returns the lines and the number of omitted
/// skills.
pub(crate) fn within(view: &CatalogView<'_>, characters: usize) -> (String, usize) {
    let entries = index::entries(view, &[]);
    let made = index::index(&entries, &options(IndexBudget::of_characters(characters)));
    let lines: Vec<&str> = made
        .text
        .lines()
        .filter(|line| line.starts_with("- **"))
        .collect();
    (lines.join("\n"), entries.len() - lines.len())
}

fn entry<'v>(view: &'v CatalogView<'_>, (entry, sight): &Seen<'v>) -> index::IndexEntry<'v> {
    let mut line = index::IndexEntry::new(&entry.skill, view.name(entry));
    if *sight == SkillVisibility::NameOnly {
        line.show = EntryDetail::NameOnly;
    }
    line
}

fn options(budget: IndexBudget) -> IndexOptions<'static> {
    IndexOptions {
        format: IndexFormat::Markdown(Bullets::Colon),
        budget,
        discovery_tool: None,
        load_tool: None,
        ..IndexOptions::default()
    }
}

/// Returns a skill as JSON.
pub(crate) fn value(view: &CatalogView<'_>, loaded: &Loaded, (entry, sight): &Seen<'_>) -> Value {
    let skill = &entry.skill;
    let mut value = json!({ "name": view.name(entry), "scope": skill.id.origin.scope.as_str() });
    if *sight != SkillVisibility::NameOnly {
        let text = skill.listing_text();
        value["description"] = shorten(&sanitize::line(&text), DEFAULT_ENTRY_CHARS).into();
    }
    if let Some(version) = &skill.version {
        value["version"] = shorten(&sanitize::line(version), 100).into();
    }
    value["loaded"] = loaded.get(entry.name()).is_some().into();
    value
}

/// Returns the schema of [`value`].
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "scope": { "type": "string", "enum": scopes() },
            "description": { "type": "string" },
            "version": { "type": "string" },
            "loaded": { "type": "boolean" },
        },
        "required": ["name", "scope", "loaded"],
        "additionalProperties": false,
    })
}

/// Returns the names of all scopes.
pub(crate) fn scopes() -> Vec<&'static str> {
    Scope::ALL.iter().map(|scope| scope.as_str()).collect()
}
