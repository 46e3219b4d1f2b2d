//! Lists of skills, and changes to them.

use prowess_catalog::{Catalog, CatalogChange, CatalogEntry, SkillVisibility};
use prowess_registry::{ChangeSet, SourceFault};
use serde_json::{Value, json};

use crate::inspect::skill::{skill, visibility_word};

/// Returns a list of skills as a document, with their visibility to models and users, and the
/// skills that could not be read.
pub fn list<'a>(
    catalog: &Catalog,
    rows: impl Iterator<Item = (&'a CatalogEntry, SkillVisibility, SkillVisibility)>,
    faults: &[SourceFault],
) -> Value {
    let row = |(entry, model, people): (&CatalogEntry, SkillVisibility, SkillVisibility)| {
        let mut value = skill(catalog, entry);
        value["model"] = json!(visibility_word(model));
        value["people"] = json!(visibility_word(people));
        value
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
