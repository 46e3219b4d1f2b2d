//! `metadata` that is not a map.

use prowess_diag::{Fix, Span, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::yaml::{YamlLayout, YamlNode, YamlValue};

rule!(
    "metadata-not-a-map",
    RuleLevels::of("EWW"),
    Suggested,
    "`metadata` is not a map"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let Some(entry) = parsed.manifest.entry("metadata") else {
        return;
    };
    if entry.value.entries().is_none() && !entry.value.is_null() {
        out.report(
            LintFinding::at(entry.value.span, "`metadata` must be a map of strings")
                .label(format!("this is {}, and is ignored", entry.value.kind()))
                .fix_or_help(
                    without_hyphens(parsed.text, &entry.value),
                    "write `metadata:` and, indented below it, `key: value` pairs",
                ),
        );
    }
}

/// Turns a list of pairs into one map by replacing each hyphen with a space.
fn without_hyphens(text: &str, node: &YamlNode) -> Option<Fix> {
    let YamlValue::Sequence(items, YamlLayout::Block) = &node.value else {
        return None;
    };
    let hyphen = |item: &YamlNode| {
        let before = text.get(..item.span.start as usize)?;
        let at = before.strip_suffix("- ")?.len();
        item.entries()
            .map(|_| TextEdit::replace(Span::new(at, at + 1), " "))
    };
    let edits: Option<Vec<TextEdit>> = items.iter().map(hyphen).collect();
    Some(Fix::suggested("write the pairs without hyphens", edits?))
}
