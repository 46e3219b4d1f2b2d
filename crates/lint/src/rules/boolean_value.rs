//! A value that is not a boolean.

use prowess_diag::{Fix, TextEdit, suggest, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "boolean-value",
    RuleLevels::of("WWW"),
    Suggested,
    "a value is not a boolean"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    for (key, flag) in [
        (
            "disable-model-invocation",
            manifest.disable_model_invocation,
        ),
        ("user-invocable", manifest.user_invocable),
        ("background", manifest.background),
        ("always_present", manifest.always_present),
    ] {
        let Some(flag) = flag.filter(|flag| !flag.understood) else {
            continue;
        };
        let written = flag.span.of(parsed.text);
        let near = suggest::nearest(written, ["true", "false"]);
        let fix = near.map(|near| {
            Fix::suggested(
                format!("write `{near}`"),
                vec![TextEdit::replace(flag.span, near)],
            )
        });
        out.report(
            LintFinding::at(flag.span, format!("`{key}` must be `true` or `false`"))
                .label(format!(
                    "{} counts as `{}`, the safer value",
                    wording::tick(wording::shorten(written, 20)),
                    flag.value
                ))
                .fix_or_help(fix, "write `true` or `false`"),
        );
    }
}
