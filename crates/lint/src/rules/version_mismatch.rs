//! Two versions that differ.

use prowess_diag::{LineIndex, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "version-mismatch",
    RuleLevels::of("WWW"),
    None,
    "`version` and `metadata.version` differ"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    let Some(top) = manifest.entry("version") else {
        return;
    };
    let metadata = manifest.entry("metadata");
    let entries = metadata.and_then(|entry| entry.value.entries());
    let other = entries
        .unwrap_or_default()
        .iter()
        .find(|entry| &*entry.key == "version");
    let (Some(ours), Some(other)) = (top.value.text(), other) else {
        return;
    };
    let Some(theirs) = other.value.text() else {
        return;
    };
    if ours.trim() == theirs.trim() || top.value.is_null() || other.value.is_null() {
        return;
    }
    let at = other.key_span.start as usize;
    let line = LineIndex::new(parsed.text).position(parsed.text, at).line;
    out.report(
        LintFinding::at(
            top.value.span,
            format!(
                "the version is {} here and {} in `metadata`",
                wording::tick(wording::shorten(ours.trim(), MOST_SHOWN)),
                wording::tick(wording::shorten(theirs.trim(), MOST_SHOWN))
            ),
        )
        .label(format!(
            "Prowess uses this one; the other is on line {line}"
        ))
        .help("remove one of them; the standard has only `metadata.version`"),
    );
}

/// Maximum number of characters of a version that are shown.
const MOST_SHOWN: usize = 40;
