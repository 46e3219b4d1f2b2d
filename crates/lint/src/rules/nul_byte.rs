//! A NUL byte.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::problem::ProblemKind;

rule!(
    "nul-byte",
    Levels::of("EEE"),
    None,
    "the file contains a NUL byte"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::Nul {
            out.report(
                Finding::at(problem.span, "the file contains a NUL byte")
                    .help("remove it: `tr -d '\\000'`"),
            );
        }
    }
}
