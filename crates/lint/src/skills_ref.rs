//! The output of the reference tool for a skill.

use prowess_diag::{Diagnostic, Severity};
use prowess_spec::ParsedSkill;
use prowess_spec::manifest::SpannedText;
use prowess_spec::yaml::{YamlNode, YamlValue as Yaml};
use serde_json::{Map, Value, json};

/// Errors at which `read-properties` stops.
const FATAL: &[&str] = &[
    "not-utf8",
    "nul-byte",
    "byte-order-mark",
    "frontmatter-missing",
    "frontmatter-misplaced",
    "frontmatter-unclosed",
    "frontmatter-too-large",
    "frontmatter-not-a-map",
    "yaml-syntax",
    "yaml-invalid",
    "yaml-feature",
    "duplicate-key",
    "flow-collection",
    "name-missing",
    "description-missing",
    "text-expected",
];

/// Returns the output of `read-properties`, or the finding at which it stops. The findings must be
/// those of the profile `spec`.
pub fn properties<'a>(
    parsed: &ParsedSkill<'_>,
    findings: &'a [Diagnostic],
) -> Result<Value, &'a Diagnostic> {
    let is = |rule: &str| {
        findings
            .iter()
            .find(|finding| finding.rule == rule && finding.severity == Severity::Error)
    };
    if let Some(fatal) = FATAL.iter().find_map(|rule| is(rule)) {
        return Err(fatal);
    }
    let manifest = &parsed.manifest;
    let mut properties = Map::new();
    let trimmed = |text: &Option<SpannedText>| text.as_ref().map(|text| json!(text.value.trim()));
    properties.extend(trimmed(&manifest.name).map(|name| ("name".to_owned(), name)));
    properties.extend(trimmed(&manifest.description).map(|text| ("description".to_owned(), text)));
    for key in ["license", "compatibility", "allowed-tools"] {
        properties.extend(
            manifest
                .entry(key)
                .map(|entry| (key.to_owned(), untyped(&entry.value))),
        );
    }
    if let Some(metadata) = manifest.entry("metadata").map(|entry| &entry.value) {
        match metadata.entries() {
            Some([]) => {}
            Some(entries) => {
                let values = entries
                    .iter()
                    .map(|entry| (entry.key.to_string(), json!(python_text(&entry.value))));
                properties.insert("metadata".to_owned(), Value::Object(values.collect()));
            }
            None => {
                properties.insert("metadata".to_owned(), untyped(metadata));
            }
        }
    }
    Ok(Value::Object(properties))
}

/// Converts a value to JSON with every scalar as a string, including null.
fn untyped(node: &YamlNode) -> Value {
    match &node.value {
        Yaml::Scalar(text, _) => json!(text),
        Yaml::Sequence(items, _) => Value::Array(items.iter().map(untyped).collect()),
        Yaml::Mapping(entries, _) => Value::Object(
            entries
                .iter()
                .map(|entry| (entry.key.to_string(), untyped(&entry.value)))
                .collect(),
        ),
    }
}

/// Converts a value to text as the reference tool does: scalars unchanged, collections in Python
/// notation.
fn python_text(node: &YamlNode) -> String {
    fn repr(node: &YamlNode) -> String {
        match &node.value {
            Yaml::Scalar(text, _) => python_string(text),
            Yaml::Sequence(items, _) => {
                format!(
                    "[{}]",
                    items.iter().map(repr).collect::<Vec<_>>().join(", ")
                )
            }
            Yaml::Mapping(entries, _) => {
                format!(
                    "{{{}}}",
                    entries
                        .iter()
                        .map(|entry| format!(
                            "{}: {}",
                            python_string(&entry.key),
                            repr(&entry.value)
                        ))
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
        }
    }
    match &node.value {
        Yaml::Scalar(text, _) => text.to_string(),
        _ => repr(node),
    }
}

fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut result = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => result.push_str("\\\\"),
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            '\r' => result.push_str("\\r"),
            c if c == quote => {
                result.push('\\');
                result.push(c);
            }
            c => result.push(c),
        }
    }
    result.push(quote);
    result
}

#[cfg(test)]
mod tests {
    use prowess_spec::{PackageListing, parse};

    use super::*;
    use crate::{LintProfile, LintRuleSet, LintSubject, check};

    fn read(text: &str) -> Result<Value, &'static str> {
        let (parsed, package) = (parse(text.as_bytes()), PackageListing::default());
        let rules = LintRuleSet::new(LintProfile::Spec, None);
        let findings = check(&LintSubject::new(&parsed, &package), &rules);
        properties(&parsed, &findings).map_err(|fatal| fatal.rule)
    }

    #[test]
    fn values_are_formatted_as_in_python() {
        let text = "---\nname: a\ndescription: b\nmetadata:\n  list:\n    - x\n    - it's\n---\n";
        let metadata = json!({ "list": "['x', \"it's\"]" });
        let expected = json!({ "name": "a", "description": "b", "metadata": metadata });
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn unreadable_files_are_rejected() {
        assert_eq!(read("# No frontmatter\n"), Err("frontmatter-missing"));
        assert_eq!(read("---\nname: a\n---\n"), Err("description-missing"));
    }
}
