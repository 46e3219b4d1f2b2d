//! Anchors, aliases, merge keys, tags and other features that frontmatter must not use.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::problem::ProblemKind;

rule!(
    "yaml-feature",
    Levels::of("EEE"),
    None,
    "the frontmatter uses a feature of YAML that is refused"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::YamlRefused(refusal) = &problem.kind {
            out.report(
                Finding::at(
                    problem.span,
                    format!(
                        "invalid YAML: frontmatter must not use {}",
                        refusal.feature.name()
                    ),
                )
                .label("nothing but name and description was read from this file")
                .help("write the value out, or put it in quotation marks if it is meant as text"),
            );
        }
    }
}
