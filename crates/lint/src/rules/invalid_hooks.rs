//! Invalid hooks.

use prowess_diag::{Severity, suggest, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::vocabulary::HOOK_EVENTS;
use prowess_spec::yaml::YamlNode;

rule!(
    "invalid-hooks",
    RuleLevels::of("WWW"),
    None,
    "`hooks` contains an entry that never runs"
);

/// Returns the advice about the shape of an event's hooks.
fn shape(event: &str) -> String {
    let event = if HOOK_EVENTS.contains(&event) {
        event
    } else {
        "PreToolUse"
    };
    format!("use `{event}:` with a list of `matcher` and `hooks`, each hook with a `type`")
}

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(entry) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.entry("hooks"))
    else {
        return;
    };
    for event in entry.value.entries().unwrap_or_default() {
        if !HOOK_EVENTS.contains(&&*event.key) {
            let finding = LintFinding::at(
                event.key_span,
                format!("unknown hook event {}", wording::tick(&event.key)),
            );
            out.report(
                match suggest::nearest(&event.key, HOOK_EVENTS.iter().copied()) {
                    Some(near) => finding.label(format!("did you mean `{near}`?")),
                    None => finding.label("not a known event").at_most(Severity::Note),
                },
            );
        }
        let Some(matchers) = event.value.items() else {
            out.report(
                LintFinding::at(
                    event.value.span,
                    format!("hooks for {} must be a list", wording::tick(&event.key)),
                )
                .label("never runs")
                .help(shape(&event.key)),
            );
            continue;
        };
        for matcher in matchers {
            let hooks = matcher
                .get("hooks")
                .and_then(YamlNode::items)
                .unwrap_or_default();
            if hooks.is_empty() || hooks.iter().any(|hook| !is_runnable(hook)) {
                out.report(
                    LintFinding::at(
                        matcher.span,
                        format!(
                            "an entry for {} has no runnable hook",
                            wording::tick(&event.key)
                        ),
                    )
                    .label("never runs")
                    .help(shape(&event.key)),
                );
            }
        }
    }
}

/// Returns `true` if a hook has a type, and a command if it is a command hook.
fn is_runnable(hook: &YamlNode) -> bool {
    match hook.get("type").and_then(YamlNode::text) {
        Some("command") => hook.get("command").and_then(YamlNode::text).is_some(),
        kind => kind.is_some(),
    }
}
