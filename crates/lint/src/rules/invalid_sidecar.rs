//! An invalid `agents/openai.yaml` of Codex.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::sidecar::SIDECAR_PATH;

rule!(
    "invalid-sidecar",
    RuleLevels::of("WWW"),
    None,
    "`agents/openai.yaml` is invalid"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(fault) = skill.sidecar().and_then(|sidecar| sidecar.fault.as_ref()) else {
        return;
    };
    let text = skill.package.sidecar().unwrap_or_default();
    let position = prowess_diag::LineIndex::new(text).position(text, fault.span.start as usize);
    out.report(
        LintFinding::file(format!(
            "`{SIDECAR_PATH}`, line {}, column {}: {}",
            position.line, position.column, fault.message
        ))
        .help("the skill loads without these settings"),
    );
}
