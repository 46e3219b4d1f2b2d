//! Trailing whitespace on a `---` line.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::problem::ProblemKind;

rule!(
    "fence-trailing-space",
    RuleLevels::of("NWN"),
    AllSafe,
    "a `---` line has trailing spaces"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::FenceTrailingSpace {
            let fix = Fix::safe("remove the spaces", vec![TextEdit::delete(problem.span)]);
            out.report(
                LintFinding::at(problem.span, "trailing spaces after `---`")
                    .label("some clients do not find the frontmatter")
                    .fix(fix),
            );
        }
    }
}
