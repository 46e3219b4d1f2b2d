//! A link that leaves the skill's folder.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::resource_path::PathFault;

rule!(
    "link-outside",
    RuleLevels::of("WWN"),
    None,
    "a link points outside the skill's folder"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    for link in skill.links() {
        if link.file == Err(PathFault::Escapes) {
            out.report(
                LintFinding::at(
                    link.span,
                    format!(
                        "the link {} points outside the skill's folder",
                        wording::tick(&link.path)
                    ),
                )
                .label("a skill is installed without the files around it; this one may be missing")
                .help("copy the file into the skill, or mention the other skill by name"),
            );
        }
    }
}
