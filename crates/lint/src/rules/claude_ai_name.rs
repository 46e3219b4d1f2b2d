//! Names that claude.ai rejects.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "claude-ai-name",
    RuleLevels::claude_ai(),
    None,
    "claude.ai rejects the name"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(text) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.name.as_ref())
    else {
        return;
    };
    let lower = text.value.to_lowercase();
    for word in ["anthropic", "claude"] {
        if lower.contains(word) {
            out.report(LintFinding::at(
                text.span,
                format!("claude.ai reserves the word `{word}`; a name must not contain it"),
            ));
        }
    }
    if text.value.contains(['<', '>']) {
        out.report(LintFinding::at(
            text.span,
            "claude.ai rejects XML tags in names",
        ));
    }
}
