//! A missing name.

use prowess_diag::Fix;

use super::{
    FindingSink, LintFinding, LintSubject, RuleLevels, TextEdit, complete_frontmatter, insert_key,
    missing_key, misspelling,
};
use crate::profile::LintProfile;
use prowess_spec::name;
use prowess_spec::parse::ParsedSkill;
use prowess_spec::yaml::write;

rule!(
    "name-missing",
    RuleLevels::of("EWN"),
    Safe,
    "the skill has no name"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some((parsed, manifest)) = complete_frontmatter(skill) else {
        return;
    };
    // `frontmatter-not-a-map` already reports an empty block.
    if manifest.entries.is_empty() && skill.package.folder().is_none() {
        return;
    }
    let folder = skill.package.folder();
    let valid = || folder.filter(|folder| name::faults(&name::normalise(folder)).is_empty());
    let title = "name it after its folder";
    let misspelt = misspelling(skill, "name");
    if misspelt.is_some() && out.profile() != LintProfile::Spec {
        out.report(missing_key(parsed, "name", misspelt));
        return;
    }
    match manifest.entry("name") {
        None => {
            let fix = valid()
                .filter(|_| is_block_map(parsed))
                .and_then(|folder| insert_key(parsed, &format!("name: {}", name_for(folder))))
                .map(|edit| Fix::safe(title, vec![edit]));
            let label = folder.map_or("no `name` here".to_owned(), |folder| {
                format!("no `name` here; the folder's name `{folder}` is used")
            });
            out.report(missing_key(parsed, "name", None).label(label).fix(fix));
        }
        Some(entry)
            if entry.value.is_null()
                || manifest
                    .name
                    .as_ref()
                    .is_some_and(prowess_spec::manifest::SpannedText::is_blank) =>
        {
            let edit = |folder: &str| {
                let gap = if entry.value.span.is_empty() { " " } else { "" };
                TextEdit::replace(entry.value.span, format!("{gap}{}", name_for(folder)))
            };
            // Only if the value follows the colon directly.
            let before = parsed
                .text
                .get(..entry.value.span.start as usize)
                .unwrap_or_default();
            let has_place = entry.value.verbatim_start(parsed.text).is_some()
                && before.trim_end().ends_with(':');
            let fix = valid()
                .filter(|_| has_place)
                .map(|folder| Fix::safe(title, vec![edit(folder)]));
            out.report(
                LintFinding::at(entry.key_span, "field `name` must be a non-empty string")
                    .label("no value")
                    .fix(fix),
            );
        }
        Some(_) => {}
    }
}

/// Returns the folder's name as a YAML scalar.
fn name_for(folder: &str) -> String {
    write::scalar(&name::normalise(folder))
}

/// Returns `true` if a line can be inserted before the first key: the key starts its line, or there
/// is no key.
fn is_block_map(parsed: &ParsedSkill<'_>) -> bool {
    let Some(first) = parsed.manifest.entries.first() else {
        return true;
    };
    let before = parsed
        .text
        .get(..first.key_span.start as usize)
        .unwrap_or_default();
    before.ends_with(['\n', '\r'])
}
