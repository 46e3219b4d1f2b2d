//! A link that leaves the skill's folder.

use prowess_diag::wording;

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::resource_path::PathFault;

rule!(
    "link-outside",
    Levels::of("WWN"),
    None,
    "a link leads out of the skill's folder"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    for link in skill.links() {
        if link.file == Err(PathFault::Escapes) {
            out.report(
                Finding::at(
                    link.span,
                    format!(
                        "the link {} leads out of the skill's folder",
                        wording::tick(&link.path)
                    ),
                )
                .label("a skill travels alone; what lies beside it may not be there")
                .help("copy the file into the skill, or name the other skill in words"),
            );
        }
    }
}
