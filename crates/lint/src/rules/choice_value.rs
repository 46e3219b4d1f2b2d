//! A value outside the set of allowed words.

use prowess_diag::{Edit, Fix, suggest, wording};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::fields::{FIELDS, Shape};

rule!(
    "choice-value",
    Levels::of("WWW"),
    Suggested,
    "a value is not one of the allowed words"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for field in FIELDS {
        let Shape::Choice(words) = field.shape else {
            continue;
        };
        let Some(entry) = parsed.manifest.entry(field.key) else {
            continue;
        };
        let Some(text) = entry.value.text().filter(|text| !words.contains(text)) else {
            continue;
        };
        let near = suggest::nearest(text, words.iter().copied());
        let fix = near.map(|near| {
            Fix::suggested(
                format!("use `{near}`"),
                vec![Edit::replace(entry.value.span, near)],
            )
        });
        out.report(
            Finding::at(
                entry.value.span,
                format!(
                    "`{}` must be {}",
                    field.key,
                    wording::either(words.iter().map(wording::tick))
                ),
            )
            .label("this value has no effect")
            .fix(fix),
        );
    }
}
