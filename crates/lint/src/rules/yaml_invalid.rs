//! YAML that cannot be mended.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::problem::ProblemKind;

rule!(
    "yaml-invalid",
    Levels::of("EEE"),
    None,
    "a part of the frontmatter is not YAML and was not read"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::YamlInvalid { message, key } = &problem.kind {
            let lost = match key {
                Some(key) => format!("`{key}` was not read; the other keys were"),
                None => "this was not read; the other keys were".to_owned(),
            };
            out.report(Finding::at(problem.span, format!("invalid YAML: {message}")).label(lost));
        }
    }
}
