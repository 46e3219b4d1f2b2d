//! A `compatibility` field that is empty or too long.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "compatibility-length",
    RuleLevels::of("EEW"),
    None,
    "`compatibility` is empty or longer than 500 characters"
);

/// Maximum length of `compatibility` in the standard, in characters.
const MAX_COMPATIBILITY: usize = 500;

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(text) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.compatibility.as_ref())
    else {
        return;
    };
    // A block scalar keeps its last line break, which no reader counts.
    let characters = text.value.trim_end_matches('\n').chars().count();
    if text.is_blank() {
        out.report(
            LintFinding::at(
                text.span,
                "`compatibility` is empty; it must have 1 to 500 characters",
            )
            .help("remove the key, or say what the skill needs"),
        );
    } else if characters > MAX_COMPATIBILITY {
        let message = super::too_long("`compatibility`", characters, MAX_COMPATIBILITY);
        out.report(LintFinding::at(text.span, message));
    }
}
