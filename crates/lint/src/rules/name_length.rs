//! A name that is too long.

use super::name_folder_mismatch::fix_name;
use super::{Finding, Levels, Sink, Subject};
use prowess_spec::name::{MAX_NAME, NameFault};

rule!(
    "name-length",
    Levels::of("EEW"),
    Safe,
    "the name is longer than 64 characters"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    for fault in faults {
        if let NameFault::TooLong { characters } = fault {
            let message = super::too_long("the name", *characters, MAX_NAME);
            out.report(fix_name(skill, Finding::at(text.span, message)));
        }
    }
}
