//! A tab between a key and its value.

use prowess_diag::{Fix, Span, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::yaml::{YamlEntry, YamlNode, YamlValue};

rule!(
    "tab-separator",
    RuleLevels::of("EWN"),
    AllSafe,
    "there is a tab between a key and its value"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let has_tab = |yaml: Span| memchr::memchr(b'\t', yaml.of(parsed.text).as_bytes()).is_some();
    if !parsed.yaml.is_some_and(has_tab) {
        return;
    }
    let mut gaps = Vec::new();
    in_entries(parsed.text, &parsed.manifest.entries, &mut gaps);
    for span in gaps {
        out.report(
            LintFinding::at(
                span,
                "invalid YAML for many parsers: a tab precedes a value",
            )
            .label("Python's YAML parsers reject the whole file")
            .fix(Fix::safe("use a space", vec![TextEdit::replace(span, " ")])),
        );
    }
}

fn in_entries(text: &str, entries: &[YamlEntry], gaps: &mut Vec<Span>) {
    for entry in entries {
        let after_key = entry.key_span.end as usize;
        let colon = text
            .get(after_key..)
            .and_then(|rest| rest.find(':'))
            .map(|at| after_key + at + 1);
        gaps.extend(colon.and_then(|colon| gap_with_tab(text, colon)));
        in_node(text, &entry.value, gaps);
    }
}

fn in_node(text: &str, node: &YamlNode, gaps: &mut Vec<Span>) {
    match &node.value {
        YamlValue::Scalar(..) => {}
        YamlValue::Mapping(entries, _) => in_entries(text, entries, gaps),
        YamlValue::Sequence(items, _) => {
            for item in items {
                // After the dash, bracket or comma.
                let before = text.get(..item.span.start as usize).unwrap_or_default();
                let start = before.trim_end_matches([' ', '\t']).len();
                if before[..start].ends_with(['-', '[', ',']) {
                    gaps.extend(gap_with_tab(text, start));
                }
                in_node(text, item, gaps);
            }
        }
    }
}

/// Returns the whitespace that starts here, if it contains a tab and text follows on the line.
fn gap_with_tab(text: &str, start: usize) -> Option<Span> {
    let rest = text.get(start..)?;
    let length = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let followed = !rest[length..].starts_with(['\n', '\r']) && length < rest.len();
    (rest[..length].contains('\t') && followed).then(|| Span::new(start, start + length))
}
