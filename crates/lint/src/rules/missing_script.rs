//! A script that the body mentions and the folder lacks.

use std::collections::BTreeSet;

use prowess_diag::{Span, suggest, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::package::PathStatus;
use prowess_spec::resource_path::ResourcePath;

rule!(
    "missing-script",
    RuleLevels::of("WWN"),
    None,
    "the body mentions a script that does not exist"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    // `broken-link` reports links to scripts. Links are sorted by position.
    let links = skill.links();
    let is_linked = |script: Span| {
        let before = links.partition_point(|link| link.span.start <= script.start);
        links[..before]
            .last()
            .is_some_and(|link| link.span.contains(script))
    };
    for script in skill.scripts() {
        let path = script.span.of(parsed.text);
        if !seen.insert(path) {
            continue;
        }
        let missing = ResourcePath::new(path)
            .is_ok_and(|clean| skill.package.look(clean.as_str()) == PathStatus::Missing);
        if !missing || is_linked(script.span) {
            continue;
        }
        if out.is_full() {
            out.count();
            continue;
        }
        let finding = LintFinding::at(
            script.span,
            format!("the script {} does not exist", wording::tick(path)),
        );
        out.report(match suggest::nearest(path, skill.package.paths()) {
            Some(near) => finding.label(format!("did you mean `{near}`?")),
            None => finding
                .label("no such file in the skill's folder")
                .help("add the script, or write its full path if it is not part of the skill"),
        });
    }
}
