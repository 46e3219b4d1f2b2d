//! `metadata` that is not a map.

use prowess_diag::{Edit, Fix, Span};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::yaml::{Layout, Node, Value};

rule!(
    "metadata-not-a-map",
    Levels::of("EWW"),
    Suggested,
    "`metadata` is not a map"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let Some(entry) = parsed.manifest.entry("metadata") else {
        return;
    };
    if entry.value.entries().is_none() && !entry.value.is_null() {
        out.report(
            Finding::at(entry.value.span, "`metadata` must be a map of strings")
                .label(format!("this is {}, and is ignored", entry.value.kind()))
                .fix_or_help(
                    without_hyphens(parsed.text, &entry.value),
                    "write `metadata:` and, indented below it, `key: value` pairs",
                ),
        );
    }
}

/// Turns a list of pairs into one map by replacing each hyphen with a space.
fn without_hyphens(text: &str, node: &Node) -> Option<Fix> {
    let Value::Sequence(items, Layout::Block) = &node.value else {
        return None;
    };
    let hyphen = |item: &Node| {
        let before = text.get(..item.span.start as usize)?;
        let at = before.strip_suffix("- ")?.len();
        item.entries()
            .map(|_| Edit::replace(Span::new(at, at + 1), " "))
    };
    let edits: Option<Vec<Edit>> = items.iter().map(hyphen).collect();
    Some(Fix::suggested("write the pairs without hyphens", edits?))
}
