//! No description.

use super::{Finding, Levels, Sink, Subject, complete_frontmatter, frontmatter_start};
use prowess_spec::identity;
use prowess_spec::manifest::Text;

rule!("description-missing", Levels::of("EEW"), None, "the skill has no description");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some((parsed, manifest)) = complete_frontmatter(skill) else {
        return;
    };
    let (span, message) = match manifest.entry("description") {
        None => (frontmatter_start(parsed), "missing required field in frontmatter: `description`"),
        Some(entry)
            if entry.value.is_null()
                || manifest.description.as_ref().is_some_and(Text::is_blank) =>
        {
            (entry.key_span, "field `description` must be a non-empty string")
        }
        Some(_) => return,
    };
    let stand_in = match identity::first_line(parsed.body_text()) {
        Some(_) => "the first line of the body is used instead",
        None => "a model cannot tell what the skill is for",
    };
    out.report(
        Finding::at(span, message)
            .label(stand_in)
            .help("say what the skill does and when to use it: `description: Fills PDF forms. Use when a PDF has form fields.`"),
    );
}
