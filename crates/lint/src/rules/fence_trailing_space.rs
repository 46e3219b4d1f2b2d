//! Trailing whitespace on a `---` line.

use prowess_diag::{Edit, Fix};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::problem::ProblemKind;

rule!(
    "fence-trailing-space",
    Levels::of("NWN"),
    AllSafe,
    "a `---` line has trailing spaces"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::FenceTrailingSpace {
            let fix = Fix::safe("remove the spaces", vec![Edit::delete(problem.span)]);
            out.report(
                Finding::at(problem.span, "trailing spaces after `---`")
                    .label("some clients do not find the frontmatter")
                    .fix(fix),
            );
        }
    }
}
