//! A description that does not say when to use the skill.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::vocabulary;

rule!(
    "description-trigger",
    Levels::of("WWN"),
    None,
    "the description does not say when to use the skill"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(manifest) = skill.parsed.map(|parsed| &parsed.manifest) else {
        return;
    };
    let Some(text) = manifest.description.as_ref().filter(|text| !text.is_blank()) else {
        return;
    };
    if manifest.when_to_use.as_ref().is_some_and(|text| !text.is_blank())
        || manifest.model_invocation_disabled()
        || vocabulary::says_when(&text.value)
    {
        return;
    }
    out.report(
        Finding::at(text.span, "the description does not say when to use the skill")
            .label("a model chooses by this text alone")
            .help("add a sentence that begins with `Use when`"),
    );
}
