//! YAML that lacks a quotation mark or two.

use prowess_diag::Fix;

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::problem::{ProblemKind, UNQUOTED_COLON};

rule!(
    "yaml-syntax",
    Levels::of("EEW"),
    Safe,
    "the frontmatter is not valid YAML, but what was meant is clear"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::YamlRepaired { message, title, edits, applicability } = &problem.kind {
            let label = if message == UNQUOTED_COLON {
                "YAML takes this for another key; strict readers refuse the whole file"
            } else {
                "strict readers refuse the whole file"
            };
            out.report(
                Finding::at(problem.span, format!("invalid YAML: {message}")).label(label).fix(
                    Fix {
                        title: (*title).to_owned(),
                        applicability: *applicability,
                        edits: edits.clone(),
                    },
                ),
            );
        }
    }
}
