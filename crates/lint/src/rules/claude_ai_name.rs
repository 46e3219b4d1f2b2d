//! Names that claude.ai rejects.

use super::{Finding, Levels, Sink, Subject};

rule!(
    "claude-ai-name",
    Levels::claude_ai(),
    None,
    "claude.ai rejects the name"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(text) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.name.as_ref())
    else {
        return;
    };
    let lower = text.value.to_lowercase();
    for word in ["anthropic", "claude"] {
        if lower.contains(word) {
            out.report(Finding::at(
                text.span,
                format!("claude.ai reserves the word `{word}`; a name must not contain it"),
            ));
        }
    }
    if text.value.contains(['<', '>']) {
        out.report(Finding::at(
            text.span,
            "claude.ai rejects XML tags in names",
        ));
    }
}
