//! Descriptions that claude.ai rejects.

use super::{Finding, Levels, Sink, Subject};

rule!(
    "claude-ai-description",
    Levels::claude_ai(),
    None,
    "claude.ai rejects the description"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(text) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.description.as_ref())
    else {
        return;
    };
    if let Some(at) = text.value.find(['<', '>']) {
        out.report(
            Finding::at(
                text.subspan(at..at + 1),
                "claude.ai rejects `<` and `>` in descriptions",
            )
            .help("write the words without angle brackets"),
        );
    }
}
