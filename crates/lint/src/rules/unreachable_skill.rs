//! A skill that neither users nor the model may invoke.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "unreachable-skill",
    RuleLevels::of("WWW"),
    None,
    "neither users nor the model can invoke the skill"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(manifest) = skill.parsed.map(|parsed| &parsed.manifest) else {
        return;
    };
    let Some(user) = manifest.user_invocable.filter(|flag| !flag.value) else {
        return;
    };
    let by_sidecar = skill
        .sidecar()
        .and_then(|sidecar| sidecar.allow_implicit_invocation)
        == Some(false);
    if manifest.model_invocation_disabled() || by_sidecar {
        out.report(
            LintFinding::at(
                user.span,
                "neither users nor the model can invoke the skill",
            )
            .label("hidden from users here; model invocation is disabled too")
            .help("remove `user-invocable`, or let the model invoke it"),
        );
    }
}
