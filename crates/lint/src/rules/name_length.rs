//! A name that is too long.

use super::name_folder_mismatch::fix_name;
use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::name::{MAX_NAME, NameFault};

rule!(
    "name-length",
    RuleLevels::of("EEW"),
    Suggested,
    "the name is longer than 64 characters"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    for fault in faults {
        if let NameFault::TooLong { characters } = fault {
            let message = super::too_long("the name", *characters, MAX_NAME);
            let finding = LintFinding::at(text.span, message);
            out.report(fix_name(skill, finding, out.profile()));
        }
    }
}
