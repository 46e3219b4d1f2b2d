//! Anchors, aliases, merge keys, tags and other features that are not allowed in frontmatter.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::problem::ProblemKind;

rule!(
    "yaml-feature",
    Levels::of("EEE"),
    None,
    "the frontmatter uses a YAML feature that is not allowed"
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
                .label("only name and description were read from this file")
                .help("write the value out, or quote it if it is text"),
            );
        }
    }
}
