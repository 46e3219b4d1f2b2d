//! Frontmatter that is empty, a list or a single value.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, frontmatter_start};
use crate::key_notation;
use prowess_spec::problem::ProblemKind;

rule!(
    "frontmatter-not-a-map",
    RuleLevels::of("EEW"),
    Suggested,
    "the frontmatter is not a map"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::NotMapping { found } = problem.kind {
            let span = if problem.span.is_empty() {
                frontmatter_start(parsed)
            } else {
                problem.span
            };
            out.report(
                LintFinding::at(span, "the frontmatter must be a YAML mapping")
                    .label(format!("it is {found}"))
                    .fix_or_help(
                        key_notation::plain_keys(parsed),
                        "write one `key: value` pair per line, at least `name` and `description`",
                    ),
            );
        }
    }
}
