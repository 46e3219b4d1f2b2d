//! Upper-case letters in a name.

use super::{Finding, Levels, Sink, Subject, name_folder_mismatch::name_fix};
use prowess_spec::name::{self, NameFault};

rule!("name-case", Levels::of("EEW"), Safe, "the name has upper-case letters");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(text) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.name.as_ref())
        .filter(|text| !text.is_blank())
    else {
        return;
    };
    if name::faults(&name::normalise(&text.value)).contains(&NameFault::NotLowercase) {
        out.report(
            Finding::at(text.span, "the name must be lowercase")
                .label("has upper-case letters")
                .fix(name_fix(skill)),
        );
    }
}
