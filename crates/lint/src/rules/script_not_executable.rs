//! A script that is run directly but is not executable.

use std::collections::BTreeSet;

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::package::PathStatus;

rule!(
    "script-not-executable",
    RuleLevels::of("WWN"),
    None,
    "a script is run directly but is not executable"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for script in skill.scripts() {
        let path = script.span.of(parsed.text);
        if script.run_directly
            && seen.insert(path)
            && skill.package.look(path) == PathStatus::File(Some(false))
        {
            out.report(
                LintFinding::at(
                    script.span,
                    format!(
                        "{} is run directly but is not executable",
                        wording::tick(path)
                    ),
                )
                .label("running it will fail with `permission denied`")
                .help(format!("make it executable: `chmod +x {path}`")),
            );
        }
    }
}
