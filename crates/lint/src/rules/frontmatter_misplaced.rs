//! Frontmatter that does not begin on the first line.

use prowess_diag::{Edit, Fix};

use super::{Finding, Levels, Sink, Subject, line_break};
use prowess_spec::problem::{Misplaced, ProblemKind};

rule!(
    "frontmatter-misplaced",
    Levels::of("EWW"),
    Safe,
    "the frontmatter does not begin on the first line"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        let ProblemKind::FrontmatterMisplaced(how) = problem.kind else {
            continue;
        };
        let (label, fix) = match how {
            Misplaced::BlankLines => (
                "nothing may stand before `---`",
                Fix::safe("remove the blank lines", vec![Edit::delete(problem.span)]),
            ),
            Misplaced::CodeFence => (
                "the file is wrapped in a code fence",
                Fix::suggested(
                    "remove this line, and the closing one at the end",
                    vec![Edit::delete(problem.span)],
                ),
            ),
            Misplaced::NoOpener => {
                let opener = format!("---{}", line_break(parsed.text));
                (
                    "the opening `---` is missing",
                    Fix::safe(
                        "add the opening line",
                        vec![Edit::insert(problem.span.start as usize, opener)],
                    ),
                )
            }
        };
        out.report(
            Finding::at(problem.span, "the frontmatter does not begin on the first line; SKILL.md must start with YAML frontmatter (`---`)")
                .label(label)
                .fix(fix),
        );
    }
}
