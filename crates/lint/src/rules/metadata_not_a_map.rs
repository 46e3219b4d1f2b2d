//! `metadata` that is not a map.

use super::{Finding, Levels, Sink, Subject};

rule!("metadata-not-a-map", Levels::of("EWW"), None, "`metadata` is not a map");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(entry) = skill.parsed.and_then(|parsed| parsed.manifest.entry("metadata")) else {
        return;
    };
    if entry.value.entries().is_none() && !entry.value.is_null() {
        out.report(
            Finding::at(entry.value.span, "`metadata` must be a map of texts")
                .label(format!("this is {}, and is ignored", entry.value.kind()))
                .help("write `metadata:` and, indented below it, `key: value` pairs"),
        );
    }
}
