//! A value of the wrong type in an optional field.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::fields::{self, FieldShape};
use prowess_spec::yaml::YamlNode;

rule!(
    "field-type",
    RuleLevels::of("WWW"),
    Suggested,
    "a field has a value of the wrong type"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for entry in &parsed.manifest.entries {
        let Some(field) = fields::find(&entry.key) else {
            continue;
        };
        // Other rules check these.
        if matches!(
            &*entry.key,
            "name" | "description" | "compatibility" | "metadata"
        ) || entry.value.is_null()
        {
            continue;
        }
        if let Some(wanted) = wanted(field.shape, &entry.value, &entry.key) {
            let items = entry.value.items().unwrap_or_default();
            let odd = items.iter().find(|item| item.text().is_none());
            let finding = |node: &YamlNode, label: String| {
                LintFinding::at(node.span, format!("`{}` must be {wanted}", entry.key)).label(label)
            };
            out.report(match odd {
                Some(odd) => {
                    let label = format!(
                        "YAML reads {} here, so the whole list is ignored",
                        odd.kind()
                    );
                    let is_tool = field.shape == FieldShape::Tools;
                    let fix = if entry.key == "argument-hint" {
                        quote_brackets(parsed.text, &entry.value)
                    } else {
                        fix_item(parsed.text, odd, is_tool)
                    };
                    finding(odd, label).fix(fix)
                }
                None => finding(
                    &entry.value,
                    format!("this is {}, and is ignored", entry.value.kind()),
                ),
            });
        }
    }
}

/// Returns the expected type if the value has another one.
fn wanted(shape: FieldShape, node: &YamlNode, key: &str) -> Option<&'static str> {
    let is_text = node.text().is_some();
    let is_list_of_text = node
        .items()
        .is_some_and(|items| items.iter().all(|item| item.text().is_some()));
    match shape {
        FieldShape::Text if key == "argument-hint" => {
            (!is_text && !is_list_of_text).then_some("text")
        }
        FieldShape::Text | FieldShape::Choice(_) => (!is_text).then_some("text"),
        // `boolean-value` checks these.
        FieldShape::Flag { .. } => None,
        FieldShape::Tools | FieldShape::Words | FieldShape::Globs => {
            (!is_text && !is_list_of_text).then_some("a string or a list of strings")
        }
        FieldShape::Number => node
            .text()
            .is_none_or(|text| text.parse::<u32>().map_or(true, |n| n == 0))
            .then_some("a positive integer"),
        FieldShape::Map => node.entries().is_none().then_some("a map"),
    }
}

/// Fixes `Bash(git: x)`, a map in YAML, with quotation marks, and reduces `Read: true` to `Read`.
fn fix_item(text: &str, item: &YamlNode, is_tool: bool) -> Option<Fix> {
    let raw = item.span.of(text);
    let (name, rest) = raw.split_once(':')?;
    if is_tool && !name.contains('(') {
        let edit = TextEdit::replace(item.span, name);
        return (rest.trim() == "true").then(|| Fix::suggested("remove the value", vec![edit]));
    }
    let quoted = format!("'{}'", raw.replace('\'', "''"));
    let is_plain = !raw.is_empty() && !raw.contains(['\n', '"', '\'', '[', '{']);
    is_plain.then(|| Fix::suggested("quote it", vec![TextEdit::replace(item.span, quoted)]))
}

/// Quotes a hint such as `[file: path]`, whose brackets are text.
fn quote_brackets(text: &str, value: &YamlNode) -> Option<Fix> {
    let raw = value.span.of(text);
    let is_plain = raw.starts_with('[') && raw.ends_with(']') && !raw.contains(['\n', '\'']);
    let edit = || TextEdit::replace(value.span, format!("'{raw}'"));
    is_plain.then(|| Fix::suggested("quote it", vec![edit()]))
}
