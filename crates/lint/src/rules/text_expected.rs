//! A list or map where the standard wants text.

use super::{Finding, Levels, Sink, Subject};

rule!("text-expected", Levels::of("EEW"), None, "a field that must be text is a list or a map");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for key in ["name", "description", "compatibility"] {
        let Some(entry) = parsed.manifest.entry(key) else {
            continue;
        };
        if entry.value.text().is_none() && !entry.value.is_null() {
            out.report(
                Finding::at(entry.value.span, format!("field `{key}` must be a string"))
                    .label(format!("this is {}", entry.value.kind()))
                    .help(format!("write it as text: `{key}: …`, in quotation marks if it begins with a bracket")),
            );
        }
    }
}
