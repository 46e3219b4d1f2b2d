//! A name that differs from the folder's.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::name;
use prowess_spec::yaml::write;

rule!(
    "name-folder-mismatch",
    RuleLevels::of("EEW"),
    Suggested,
    "the skill's name differs from its folder"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    let Some(folder) = skill.package.folder() else {
        return;
    };
    let (name, folder_name) = (name::normalise(&text.value), name::normalise(folder));
    // Another rule reports a name that is only a misspelling of the folder's.
    let only_misspelt = !faults.is_empty() && name::repair(&name).as_deref() == Some(&*folder_name);
    if name == folder_name || only_misspelt {
        return;
    }
    let finding = LintFinding::at(text.span, "skill name differs from its folder");
    let finding = fix_name(skill, finding.label(format!("the folder is `{folder}`")));
    let folder_is_valid = name::faults(&folder_name).is_empty();
    out.report(if !folder_is_valid && faults.is_empty() {
        finding.help(format!("rename the folder to `{name}`"))
    } else {
        finding
    });
}

/// Adds the same fix for every fault of a name, so that rules agree: the folder's name if it is
/// valid, else the nearest valid name.
///
/// It is safe only if nothing but the spelling changes: `PDF_tools` in a folder `pdf-tools`. If
/// both name and folder are invalid there is no fix, because both must be renamed together.
pub(super) fn fix_name(skill: &LintSubject<'_>, finding: LintFinding) -> LintFinding {
    let name = skill
        .parsed
        .and_then(|parsed| parsed.manifest.name.as_ref());
    let folder = skill.package.folder().map(name::normalise);
    let is_wrong = folder.is_some_and(|folder| !name::faults(&folder).is_empty());
    match name
        .filter(|_| is_wrong)
        .and_then(|text| name::repair(&text.value))
    {
        Some(better) => finding.help(format!(
            "rename both the skill and its folder to `{better}`"
        )),
        None => finding.fix(name_fix(skill)),
    }
}

fn name_fix(skill: &LintSubject<'_>) -> Option<Fix> {
    let parsed = skill.parsed?;
    let text = parsed.manifest.name.as_ref()?;
    let entry = parsed.manifest.entry("name")?;
    // The marker of a block scalar is outside its span; leave it to the author.
    entry.value.verbatim_start(parsed.text)?;
    let repaired = name::repair(&text.value);
    let folder = skill
        .package
        .folder()
        .map(name::normalise)
        .filter(|folder| name::faults(folder).is_empty());
    let rename = |to: &str| vec![TextEdit::replace(text.span, write::scalar(to))];
    match (folder, repaired) {
        (Some(folder), Some(repaired)) if *folder == repaired => {
            Some(Fix::safe("spell it like the folder", rename(&folder)))
        }
        (Some(folder), _) => Some(Fix::suggested(
            "change the name to that of the folder",
            rename(&folder),
        )),
        (None, Some(repaired)) if repaired != *text.value => {
            Some(Fix::suggested("rename the skill", rename(&repaired)))
        }
        (None, _) => None,
    }
}
