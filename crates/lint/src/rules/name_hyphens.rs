//! Misplaced hyphens in a name.

use super::name_folder_mismatch::fix_name;
use super::{Finding, Levels, Sink, Subject};
use prowess_spec::name::NameFault;

rule!(
    "name-hyphens",
    Levels::of("EEW"),
    Safe,
    "the name starts or ends with a hyphen, or has two in a row"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    for fault in faults {
        let message = match fault {
            NameFault::EdgeHyphen => "the name cannot start or end with a hyphen",
            NameFault::DoubleHyphen => "the name cannot contain consecutive hyphens",
            _ => continue,
        };
        out.report(fix_name(skill, Finding::at(text.span, message)));
    }
}
