//! A description that is too long.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "description-length",
    RuleLevels::of("EEW"),
    None,
    "the description is longer than 1,024 characters"
);

/// Maximum length of a description in the standard, in characters.
pub(super) const MAX_DESCRIPTION: usize = 1024;

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(text) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.description.as_ref())
    else {
        return;
    };
    if text.value.len() <= MAX_DESCRIPTION {
        return;
    }
    let characters = text.value.chars().count();
    if characters > MAX_DESCRIPTION {
        let message = super::too_long("the description", characters, MAX_DESCRIPTION);
        out.report(
            LintFinding::at(text.span, message)
                .help("keep what the skill does and when to use it; move the rest to the body"),
        );
    }
}
