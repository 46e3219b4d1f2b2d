//! A byte-order mark before the frontmatter.

use prowess_diag::{Edit, Fix};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::problem::ProblemKind;

rule!(
    "byte-order-mark",
    Levels::of("ENN"),
    AllSafe,
    "the file starts with a byte-order mark"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::ByteOrderMark {
            let fix = Fix::safe("remove the mark", vec![Edit::delete(problem.span)]);
            out.report(
                Finding::at(
                    problem.span,
                    "the file starts with a byte-order mark, not with `---`",
                )
                .label("some clients do not find the frontmatter after it")
                .fix(fix),
            );
        }
    }
}
