//! Text that YAML reads as a comment.

use prowess_diag::Span;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, lost_text, quote_lost};
use prowess_spec::fields::{self, FieldShape};
use prowess_spec::yaml::YamlEntry;

rule!(
    "comment-in-value",
    RuleLevels::of("WWW"),
    AllSuggested,
    "a ` #` truncates a value"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    // Fast path: most frontmatter has no `#`.
    let has_mark = |yaml: Span| memchr::memchr(b'#', yaml.of(parsed.text).as_bytes()).is_some();
    if !parsed.yaml.is_some_and(has_mark) {
        return;
    }
    let entries = &parsed.manifest.entries;
    let is_prose = |entry: &&YamlEntry| {
        fields::find(&entry.key).is_some_and(|field| field.shape == FieldShape::Text)
            && &*entry.key != "name"
    };
    let metadata = parsed
        .manifest
        .entry("metadata")
        .and_then(|entry| entry.value.entries());
    let prose = entries.iter().filter(is_prose);
    for entry in prose
        .chain(metadata.unwrap_or_default())
        .filter(|entry| !entry.value.is_null())
    {
        if let Some(lost) = lost_text(parsed.text, entry) {
            out.report(
                LintFinding::at(
                    lost,
                    format!("`{}` ends at ` #`; the rest is not read", entry.key),
                )
                .label("YAML reads this as a comment")
                .help("if it is a comment, put it on its own line that starts with `# `")
                .fix(quote_lost(parsed.text, entry, lost)),
            );
        }
    }
}
