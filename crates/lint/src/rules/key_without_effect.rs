//! Keys that have no effect without another key.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "key-without-effect",
    RuleLevels::of("WWN"),
    None,
    "a key has no effect without another one"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    if manifest.is_forked() {
        return;
    }
    for key in ["agent", "background"] {
        if let Some(entry) = manifest.entry(key).filter(|entry| !entry.value.is_null()) {
            out.report(
                LintFinding::at(
                    entry.key_span,
                    format!("`{key}` has no effect without `context: fork`"),
                )
                .label("only a forked skill has its own agent")
                .help("add `context: fork`, or remove the key"),
            );
        }
    }
}
