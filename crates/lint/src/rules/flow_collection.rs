//! Flow collections `[…]` and `{…}`, which the reference validator rejects.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::yaml::{Layout, Value};

rule!(
    "flow-collection",
    Levels::of("E--"),
    None,
    "a list or map is written in brackets"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for entry in &parsed.manifest.entries {
        let mut found = None;
        entry.value.walk(&mut |node| {
            if matches!(
                &node.value,
                Value::Sequence(_, Layout::Flow) | Value::Mapping(_, Layout::Flow)
            ) {
                found.get_or_insert(node.span);
            }
        });
        if let Some(span) = found {
            out.report(
                Finding::at(
                    span,
                    format!(
                        "invalid YAML: `{}` is written in brackets, which strict parsers reject",
                        entry.key
                    ),
                )
                .help("write one item per line: `- item` for lists, `key: value` for maps"),
            );
        }
    }
}
