//! Bidirectional control characters.

use prowess_diag::{Severity, sanitize};

use super::{FindingSink, LintSubject, RuleLevels};

rule!(
    "bidi-characters",
    RuleLevels::of("WEW"),
    AllSuggested,
    "the text contains characters that change its direction"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let is_bidi = |_, c, _, _| sanitize::is_bidi(c);
    let found = super::invisible_characters::deceptive(skill, is_bidi);
    if let Some(finding) = super::invisible_characters::describe(
        parsed.text,
        &found,
        "changes the text direction: people and models read different text",
    ) {
        // Single marks are part of ordinary Hebrew and Arabic; overrides and isolates are not.
        let only_marks = found
            .iter()
            .all(|&(_, c)| matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}'));
        out.report(if only_marks {
            finding.at_most(Severity::Note)
        } else {
            finding
        });
    }
}
