//! A NUL byte.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::problem::ProblemKind;

rule!(
    "nul-byte",
    RuleLevels::of("EEE"),
    None,
    "the file contains a NUL byte"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::Nul {
            out.report(
                LintFinding::at(problem.span, "the file contains a NUL byte")
                    .help("remove it: `tr -d '\\000'`"),
            );
        }
    }
}
