//! Missing instructions.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::identity;

rule!(
    "body-empty",
    RuleLevels::of("WWW"),
    None,
    "the skill has no instructions"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    // Fast path: nearly every body starts with a heading.
    let first = parsed
        .body_text()
        .bytes()
        .find(|byte| !matches!(byte, b'\n' | b'#' | b' '));
    if first.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return;
    }
    if parsed.yaml.is_some()
        && !parsed.manifest.incomplete
        && identity::first_line(parsed.body_text()).is_none()
    {
        let end = parsed.fences.map_or(parsed.body, |(_, close)| close);
        out.report(
            LintFinding::at(
                end,
                "the skill has no instructions: nothing follows the frontmatter",
            )
            .help("write what the agent should do, step by step"),
        );
    }
}
