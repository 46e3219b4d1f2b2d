//! Upper-case letters in a name.

use super::name_folder_mismatch::fix_name;
use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
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
    if faults.contains(&NameFault::NotLowercase) {
        let finding = LintFinding::at(text.span, "the name must be lowercase");
        let finding = finding.label("contains upper-case letters");
        out.report(fix_name(skill, finding, out.profile()));
    }
}
