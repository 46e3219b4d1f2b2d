//! Frontmatter as JSON: every key as the author wrote it.

use prowess_spec::yaml::{YamlNode, YamlStyle, YamlValue as Yaml};
use prowess_spec::{Manifest, yaml};
use serde_json::{Map, Number, Value};

/// All of the frontmatter, in the order of the file.
pub(crate) fn to_json(manifest: &Manifest) -> Map<String, Value> {
    object(&manifest.entries)
}

fn object(entries: &[yaml::YamlEntry]) -> Map<String, Value> {
    entries
        .iter()
        .map(|entry| (entry.key.to_string(), value(&entry.value)))
        .collect()
}

fn value(node: &YamlNode) -> Value {
    match &node.value {
        Yaml::Scalar(text, YamlStyle::Plain) => plain(text),
        Yaml::Scalar(text, _) => Value::String(text.to_string()),
        Yaml::Sequence(items, _) => Value::Array(items.iter().map(value).collect()),
        Yaml::Mapping(entries, _) => Value::Object(object(entries)),
    }
}

/// What bare words mean, by the core schema of YAML 1.2.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    integer(text)
        .or_else(|| float(text))
        .map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn integer(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok().map(Number::from);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    text.parse::<i64>()
        .map(Number::from)
        .or_else(|_| text.parse::<u64>().map(Number::from))
        .ok()
}

fn float(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let begins = digits.strip_prefix('.').unwrap_or(digits);
    // Rust reads `inf` and `nan`; JSON has neither.
    let is_number = begins.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let number: f64 = is_number.then(|| text.parse().ok()).flatten()?;
    Number::from_f64(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_key_is_there_as_it_was_written() {
        let text = b"---\nname: x\ndescription: 'Does: things'\nallowed-tools: Read, Bash(git:*)\nversion: 1.10\n\
            count: 12\noctal: 0o17\nnegative: -3\nquoted: \"12\"\nyes-word: yes\nnone:\nflag: true\ndate: 2024-01-01\n\
            metadata:\n  author: me\n  tags: [a, 2]\nnot-a-number: 1.2.3\n---\nBody\n";
        let parsed = prowess_spec::parse(text);
        let expected = json!({
            "name": "x", "description": "Does: things", "allowed-tools": "Read, Bash(git:*)",
            "version": 1.1, "count": 12, "octal": 15, "negative": -3, "quoted": "12",
            "yes-word": "yes", "none": null, "flag": true, "date": "2024-01-01",
            "metadata": { "author": "me", "tags": ["a", 2] }, "not-a-number": "1.2.3",
        });
        assert_eq!(Value::Object(to_json(&parsed.manifest)), expected);
    }
}
