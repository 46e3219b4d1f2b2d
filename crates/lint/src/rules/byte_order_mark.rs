//! A byte-order mark before the frontmatter.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::problem::ProblemKind;

rule!(
    "byte-order-mark",
    RuleLevels::of("ENN"),
    AllSafe,
    "the file starts with a byte-order mark"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::ByteOrderMark {
            let fix = Fix::safe("remove the mark", vec![TextEdit::delete(problem.span)]);
            let label = if parsed.yaml.is_some() {
                "some clients do not find the frontmatter after it"
            } else {
                "some clients show it as a character"
            };
            out.report(
                LintFinding::at(
                    problem.span,
                    "the file starts with a byte-order mark, not with `---`",
                )
                .label(label)
                .fix(fix),
            );
        }
    }
}
