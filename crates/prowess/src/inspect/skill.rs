//! One skill of the catalogue.

use prowess_catalog::{Catalog, CatalogEntry, SkillVisibility};
use serde_json::{Value, json};

/// What every JSON document says of a skill.
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
        "location": skill.location,
        "description": skill.description,
        "when_to_use": skill.when_to_use,
        "version": skill.version,
        "tags": skill.tags,
        "paths": skill.paths,
        "pinned": skill.pinned,
        "shadowed_by": catalog.winner_over(entry).map(|winner| &winner.skill.location),
        "problems": skill.problems,
    })
}

/// What somebody sees of a skill, in a word for programs.
pub fn sight(sight: SkillVisibility) -> &'static str {
    match sight {
        SkillVisibility::Full => "full",
        SkillVisibility::NameOnly => "name-only",
        SkillVisibility::Hidden(why) => why.as_str(),
    }
}

/// Where a skill comes from, in a word or two: `project/claude`.
pub fn from(entry: &CatalogEntry) -> String {
    let origin = &entry.skill.id.origin;
    if origin.vendor.is_empty() {
        origin.scope.as_str().to_owned()
    } else {
        format!("{}/{}", origin.scope.as_str(), origin.vendor)
    }
}
