//! A value outside the set of allowed words.

use prowess_diag::{Fix, TextEdit, suggest, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::fields::{FIELDS, FieldShape};

rule!(
    "choice-value",
    RuleLevels::of("WWW"),
    Suggested,
    "a value is not one of the allowed words"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for field in FIELDS {
        let FieldShape::Choice(words) = field.shape else {
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
                vec![TextEdit::replace(entry.value.span, near)],
            )
        });
        out.report(
            LintFinding::at(
                entry.value.span,
                format!(
                    "`{}` must be {}",
                    field.key,
                    wording::either(words.iter().map(wording::tick))
                ),
            )
            .label("this value has no effect")
            .fix_or_help(
                fix,
                format!(
                    "remove it, or move `{}` below `metadata:` if it is a key of your own",
                    field.key
                ),
            ),
        );
    }
}
