//! Keys that claude.ai rejects.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::fields;

rule!(
    "claude-ai-keys",
    RuleLevels::claude_ai(),
    None,
    "claude.ai rejects a key"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for entry in parsed
        .manifest
        .entries
        .iter()
        .filter(|entry| !fields::is_standard(&entry.key))
    {
        out.report(
            LintFinding::at(
                entry.key_span,
                format!(
                    "Unexpected key(s) in SKILL.md frontmatter: {}. Allowed properties are: allowed-tools, compatibility, description, license, metadata, name",
                    entry.key
                ),
            )
            .help("move it under `metadata`, or remove it"),
        );
    }
}
