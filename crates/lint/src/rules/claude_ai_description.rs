//! Descriptions that claude.ai rejects.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "claude-ai-description",
    RuleLevels::claude_ai(),
    None,
    "claude.ai rejects the description"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(text) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.description.as_ref())
    else {
        return;
    };
    if let Some(at) = text.value.find(['<', '>']) {
        out.report(
            LintFinding::at(
                text.subspan(at..at + 1),
                "claude.ai rejects `<` and `>` in descriptions",
            )
            .help("write the words without angle brackets"),
        );
    }
}
