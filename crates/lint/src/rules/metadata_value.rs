//! Metadata values that YAML does not read as strings.

use prowess_diag::{Fix, TextEdit, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::yaml::{YamlStyle, YamlValue, write};

rule!(
    "metadata-value",
    RuleLevels::of("WWN"),
    Safe,
    "a metadata value is not a string"
);

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
                out.report(
                    LintFinding::at(item.key_span, message())
                        .label(format!("this is {}", item.value.kind()))
                        .help("the standard allows only string values; write it as one string"),
                );
            }
        }
    }
}
