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
                .help(advice(&link.path)),
            );
        }
    }
}

fn advice(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default();
    if file.eq_ignore_ascii_case("SKILL.md") {
        return "mention the other skill by name instead, or copy what is needed into this one"
            .to_owned();
    }
    let what = if file.contains('.') { "file" } else { "files" };
    format!(
        "copy the {what} into the skill; or mention another skill by name, and a path in the \
         user's project in backticks"
    )
}
