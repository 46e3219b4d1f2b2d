//! Flow collections `[…]` and `{…}`, which the reference validator rejects.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::yaml::{YamlLayout, YamlValue};

rule!(
    "flow-collection",
    RuleLevels::of("E--"),
    None,
    "a list or map is written in brackets"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for entry in &parsed.manifest.entries {
        let mut found = None;
        entry.value.walk(&mut |node| {
            if matches!(
                &node.value,
                YamlValue::Sequence(_, YamlLayout::Flow) | YamlValue::Mapping(_, YamlLayout::Flow)
            ) {
                found.get_or_insert(node.span);
            }
        });
        if let Some(span) = found {
            out.report(
                LintFinding::at(
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
