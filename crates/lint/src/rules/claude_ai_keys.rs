//! Keys that claude.ai rejects.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::fields;

rule!(
    "claude-ai-keys",
    Levels::claude_ai(),
    None,
    "claude.ai rejects a key"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for entry in parsed
        .manifest
        .entries
        .iter()
        .filter(|entry| !fields::is_standard(&entry.key))
    {
        out.report(
            Finding::at(
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
