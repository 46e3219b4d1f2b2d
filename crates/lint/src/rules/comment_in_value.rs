//! Text that YAML reads as a comment.

use prowess_diag::Span;

use super::{Finding, Levels, Sink, Subject, lost_text, quote_lost};
use prowess_spec::fields::{self, Shape};
use prowess_spec::yaml::Entry;

rule!(
    "comment-in-value",
    Levels::of("WWW"),
    AllSuggested,
    "a ` #` truncates a value"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    // Fast path: most frontmatter has no `#`.
    let has_mark = |yaml: Span| memchr::memchr(b'#', yaml.of(parsed.text).as_bytes()).is_some();
    if !parsed.yaml.is_some_and(has_mark) {
        return;
    }
    let entries = &parsed.manifest.entries;
    let is_prose = |entry: &&Entry| {
        fields::find(&entry.key).is_some_and(|field| field.shape == Shape::Text)
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
                Finding::at(
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
