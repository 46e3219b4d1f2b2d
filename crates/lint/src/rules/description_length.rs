//! A description that is too long.

use prowess_diag::wording;

use super::{Finding, Levels, Sink, Subject};

rule!(
    "description-length",
    Levels::of("EEW"),
    None,
    "the description is longer than 1,024 characters"
);

/// Longest description the standard allows, in characters.
pub(super) const MAX_DESCRIPTION: usize = 1024;

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(text) = skill.parsed.and_then(|parsed| parsed.manifest.description.as_ref()) else {
        return;
    };
    if text.value.len() <= MAX_DESCRIPTION {
        return;
    }
    let characters = text.value.chars().count();
    if characters > MAX_DESCRIPTION {
        out.report(
            Finding::at(
                text.span,
                format!(
                    "the description exceeds the {MAX_DESCRIPTION} character limit ({} characters)",
                    wording::thousands(characters)
                ),
            )
            .help("keep what the skill does and when to use it; move the rest to the body"),
        );
    }
}
