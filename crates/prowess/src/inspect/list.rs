//! Lists of skills, and changes to them.

use prowess_catalog::index::EntryOutcome;
use prowess_catalog::{Catalog, CatalogChange, CatalogEntry, SkillVisibility};
use prowess_registry::{ChangeSet, SourceFault};
use serde_json::{Value, json};

use crate::inspect::skill::{outcome_word, skill, visibility_word};

/// A skill of a list.
#[derive(Clone, Copy, Debug)]
pub struct ListedSkill<'a> {
    /// The skill.
    pub entry: &'a CatalogEntry,
    /// Its visibility to models.
    pub model: SkillVisibility,
    /// Its visibility to users.
    pub people: SkillVisibility,
    /// The outcome in the index of a session; `None` if models do not see it.
    pub outcome: Option<EntryOutcome>,
}

/// Returns a list of skills as a document, with their visibility to models and users, the skills
/// that are shadowed within their own root, and the skills that could not be read.
pub fn list<'a>(
    catalog: &Catalog,
    rows: impl Iterator<Item = ListedSkill<'a>>,
    faults: &[SourceFault],
) -> Value {
    let row = |row: ListedSkill<'_>| {
        let mut value = skill(catalog, row.entry);
        value["model"] = json!(visibility_word(row.model));
        value["people"] = json!(visibility_word(row.people));
        value["index"] = json!(row.outcome.map(outcome_word));
        value
    };
    let copy = |(loser, winner): (&CatalogEntry, &CatalogEntry)| {
        json!({
            "name": loser.name(),
            "location": loser.skill.location.text(),
            "shadowed_by": winner.skill.location.text(),
        })
    };
    let fault = |fault: &SourceFault| {
        json!({
            "location": fault.location.text(),
            "kind": fault.why.as_str(),
            "why": fault.why.to_string(),
            "kept": fault.kept,
        })
    };
    json!({
        "schema": "prowess.list/1",
        "generation": catalog.generation(),
        "skills": rows.map(row).collect::<Vec<_>>(),
        "shadowed_in_root": catalog.shadowed_in_root().map(copy).collect::<Vec<_>>(),
        "faults": faults.iter().map(fault).collect::<Vec<_>>(),
    })
}

/// Returns a set of changes as a document.
pub fn changes(set: &ChangeSet) -> Value {
    let changed: Vec<Value> = set.changes.iter().map(change).collect();
    json!({
        "schema": "prowess.changes/1",
        "generation": set.generation,
        "changes": changed,
        "lagged": set.lagged,
    })
}

fn change(change: &CatalogChange) -> Value {
    json!({
        "kind": change.kind.as_str(),
        "name": change.name,
        "scope": change.id.origin.scope.as_str(),
        "root": change.id.origin.root,
        "path": change.id.path,
    })
}
