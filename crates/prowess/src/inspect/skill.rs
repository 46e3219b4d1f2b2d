//! One skill of the catalogue.

use prowess_catalog::index::{EntryOutcome, IndexText};
use prowess_catalog::{Catalog, CatalogEntry, SkillVisibility};
use serde_json::{Value, json};

/// Returns the JSON description of a skill that all documents share.
pub fn skill(catalog: &Catalog, entry: &CatalogEntry) -> Value {
    let skill = &entry.skill;
    let origin = &skill.id.origin;
    json!({
        "name": entry.name(),
        "qualified_name": catalog.qualified_name(entry),
        "alias": skill.alias,
        "scope": origin.scope.as_str(),
        "vendor": (!origin.vendor.is_empty()).then_some(&*origin.vendor),
        "root": origin.root,
        "location": skill.location.text(),
        "description": skill.description,
        "when_to_use": skill.when_to_use,
        "version": skill.version,
        "tags": skill.tags,
        "paths": skill.paths,
        "pinned": skill.pinned,
        "shadowed_by": catalog.winner_over(entry).map(|winner| winner.skill.location.text()),
        "problems": skill.problems,
    })
}

/// Returns the visibility of a skill as a word for JSON documents.
pub fn visibility_word(sight: SkillVisibility) -> &'static str {
    match sight {
        SkillVisibility::Full => "full",
        SkillVisibility::NameOnly => "name-only",
        SkillVisibility::Hidden(why) => why.as_str(),
    }
}

/// Returns the outcome for the skill with this name in an index.
pub fn outcome_of(index: &IndexText, name: &str) -> Option<EntryOutcome> {
    let mut rows = index.report.rows.iter();
    rows.find(|row| row.name == name).map(|row| row.fate)
}

/// Returns what the index has of a skill, as a word for JSON documents.
pub fn outcome_word(outcome: EntryOutcome) -> &'static str {
    match outcome {
        EntryOutcome::Whole | EntryOutcome::Shortened { .. } => "described",
        EntryOutcome::NameOnly(_) => "name-only",
        EntryOutcome::Cut(_) => "left-out",
    }
}

/// Returns the origin of a skill in short form: `project/claude`.
pub fn origin_text(entry: &CatalogEntry) -> String {
    let origin = &entry.skill.id.origin;
    if origin.vendor.is_empty() {
        origin.scope.as_str().to_owned()
    } else {
        format!("{}/{}", origin.scope.as_str(), origin.vendor)
    }
}
