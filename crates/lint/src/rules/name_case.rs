//! Upper-case letters in a name.

use super::name_folder_mismatch::fix_name;
use super::{Finding, Levels, Sink, Subject};
use prowess_spec::name::NameFault;

rule!(
    "name-case",
    Levels::of("EEW"),
    Safe,
    "the name contains upper-case letters"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    if faults.contains(&NameFault::NotLowercase) {
        let finding = Finding::at(text.span, "the name must be lowercase");
        out.report(fix_name(
            skill,
            finding.label("contains upper-case letters"),
        ));
    }
}
