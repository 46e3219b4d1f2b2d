//! Metadata values that YAML does not read as strings.

use prowess_diag::{Fix, Severity, TextEdit, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, as_flat_text, is_nested};
use prowess_spec::yaml::{YamlNode, YamlStyle, YamlValue, write};

rule!(
    "metadata-value",
    RuleLevels::of("WWN"),
    Safe,
    "a metadata value is not a string"
);

/// Keys under `metadata` that a client reads as a map, and ignores as a string.
const NAMESPACES: &[(&str, &str)] = &[
    ("clawdbot", "OpenClaw"),
    ("clawdis", "OpenClaw"),
    ("hermes", "Hermes Agent"),
    ("moltbot", "OpenClaw"),
    ("nanobot", "nanobot"),
    ("openclaw", "OpenClaw"),
    ("skillport", "SkillPort"),
];

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(entry) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.entry("metadata"))
    else {
        return;
    };
    for item in entry.value.entries().unwrap_or_default() {
        let message = || {
            format!(
                "metadata value {} is not a string",
                wording::tick(&item.key)
            )
        };
        match &item.value.value {
            // The command `npx skills` hides the skill only for the boolean.
            YamlValue::Scalar(text, YamlStyle::Plain)
                if &*item.key == "internal" && matches!(&**text, "true" | "false") =>
            {
                out.report(
                    LintFinding::at(item.value.span, message())
                        .label("strict parsers read a boolean")
                        .help("keep it if `npx skills` should hide the skill, which needs a boolean; remove it otherwise")
                        .at_most(Severity::Note),
                );
            }
            YamlValue::Scalar(text, YamlStyle::Plain)
                if !item.value.is_null() && write::looks_typed(text) =>
            {
                let fix = Fix::safe(
                    "quote it",
                    vec![TextEdit::replace(item.value.span, write::quoted(text))],
                );
                out.report(
                    LintFinding::at(item.value.span, message())
                        .label("strict parsers read a number, a date or a boolean")
                        .fix(fix),
                );
            }
            YamlValue::Scalar(..) => {}
            YamlValue::Sequence(..) | YamlValue::Mapping(..) => {
                let finding = LintFinding::at(item.key_span, message())
                    .label(format!("this is {}", item.value.kind()));
                let client = NAMESPACES
                    .iter()
                    .find(|(key, _)| *key == &*item.key)
                    .filter(|_| item.value.entries().is_some());
                out.report(match client {
                    Some((_, client)) => finding
                        .help(format!(
                            "keep it if the skill is for {client}, which reads it as a map; \
                             clients that follow the standard reject or drop it"
                        ))
                        .at_most(Severity::Note),
                    None => finding.help(advice(&item.key, &item.value)),
                });
            }
        }
    }
}

/// Returns how to write a list or a map with strings.
fn advice(key: &str, value: &YamlNode) -> String {
    let how = if is_nested(value) {
        "give each value its own key directly under `metadata`"
    } else {
        "write it as one string"
    };
    let example = as_flat_text(key, value).map_or(String::new(), |text| format!(": {text}"));
    format!("the standard allows only string values; {how}{example}")
}
