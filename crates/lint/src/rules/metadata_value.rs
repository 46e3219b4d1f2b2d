//! Metadata values that YAML does not read as strings.

use prowess_diag::{Edit, Fix, wording};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::yaml::{Style, Value, write};

rule!(
    "metadata-value",
    Levels::of("WWN"),
    Safe,
    "a metadata value is not a string"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
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
            Value::Scalar(text, Style::Plain)
                if !item.value.is_null() && write::looks_typed(text) =>
            {
                let fix = Fix::safe(
                    "quote it",
                    vec![Edit::replace(item.value.span, write::quoted(text))],
                );
                out.report(
                    Finding::at(item.value.span, message())
                        .label("strict parsers read a number, a date or a boolean")
                        .fix(fix),
                );
            }
            Value::Scalar(..) => {}
            Value::Sequence(..) | Value::Mapping(..) => {
                out.report(
                    Finding::at(item.key_span, message())
                        .label(format!("this is {}", item.value.kind()))
                        .help("the standard allows only string values; write it as one string"),
                );
            }
        }
    }
}
