//! Upper-case letters in a name.

use super::name_folder_mismatch::fix_name;
use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::profile::LintProfile;
use prowess_spec::name::NameFault;

rule!(
    "name-case",
    RuleLevels::of("EEW"),
    Suggested,
    "the name contains upper-case letters"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    // `name-characters` names the letters too. The reference validator reports both.
    let is_reported = out.profile() != LintProfile::Spec && out.is_covered_by(&["name-characters"]);
    if faults.contains(&NameFault::NotLowercase) && !is_reported {
        let finding = LintFinding::at(text.span, "the name must be lowercase");
        let finding = finding.label("contains upper-case letters");
        out.report(fix_name(skill, finding, out.profile()));
    }
}
