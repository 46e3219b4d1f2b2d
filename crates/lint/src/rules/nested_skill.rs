//! A skill inside a skill.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "nested-skill",
    RuleLevels::of("WWN"),
    None,
    "another `SKILL.md` is inside the skill's folder"
);

/// Maximum number of paths in a message.
const SHOWN: usize = 3;

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let nested = skill.package.nested_skills();
    if nested.is_empty() {
        return;
    }
    let shown = nested
        .iter()
        .take(SHOWN)
        .map(|path| format!("`{path}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let more = nested.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    out.report(
        LintFinding::file(format!("{shown}{more} will not be found as {}", if nested.len() == 1 { "a skill" } else { "skills" }))
            .help("clients do not search below a SKILL.md; move the inner skill next to this one, or rename its file"),
    );
}
