//! A description that does not say when to use the skill.

use super::unknown_key::is_sentence;
use super::{FindingSink, LintFinding, LintSubject, RuleLevels, lost_text};
use prowess_spec::vocabulary;

rule!(
    "description-trigger",
    RuleLevels::of("WWN"),
    None,
    "the description does not say when to use the skill"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    let Some(text) = manifest
        .description
        .as_ref()
        .filter(|text| !text.is_blank())
    else {
        return;
    };
    if manifest
        .when_to_use
        .as_ref()
        .is_some_and(|text| !text.is_blank())
        || manifest.model_invocation_disabled()
        || vocabulary::says_when(&text.value)
    {
        return;
    }
    // The trigger may be on a line that became its own key (`unknown-key` reports that), or after a
    // `#` (`comment-in-value` reports that).
    let lost = manifest
        .entry("description")
        .and_then(|entry| lost_text(parsed.text, entry));
    if manifest.entries.iter().any(|entry| is_sentence(&entry.key)) {
        return;
    }
    if lost.is_some_and(|lost| vocabulary::says_when(lost.of(parsed.text))) {
        return;
    }
    out.report(
        LintFinding::at(
            text.span,
            "the description does not say when to use the skill",
        )
        .label("models choose skills by this text alone")
        .help("add a sentence that says when to use it, such as `Use when …`"),
    );
}
