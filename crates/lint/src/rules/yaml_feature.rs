//! Anchors, aliases, merge keys, tags and other features that are not allowed in frontmatter.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::problem::ProblemKind;

rule!(
    "yaml-feature",
    RuleLevels::of("EEE"),
    None,
    "the frontmatter uses a YAML feature that is not allowed"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::YamlRefused(refusal) = &problem.kind {
            out.report(
                LintFinding::at(
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
