//! Misplaced hyphens in a name.

use super::name_folder_mismatch::fix_name;
use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::profile::LintProfile;
use prowess_spec::name::NameFault;

rule!(
    "name-hyphens",
    RuleLevels::of("EEW"),
    Suggested,
    "the name starts or ends with a hyphen, or has two in a row"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    // In skilled_crew, hyphens may be anywhere.
    if out.profile() == LintProfile::Crew {
        return;
    }
    for fault in faults {
        let message = match fault {
            NameFault::EdgeHyphen => "the name cannot start or end with a hyphen",
            NameFault::DoubleHyphen => "the name cannot contain consecutive hyphens",
            _ => continue,
        };
        let finding = LintFinding::at(text.span, message);
        out.report(fix_name(skill, finding, out.profile()));
    }
}
