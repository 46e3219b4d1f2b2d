//! Frontmatter as JSON.

use serde_json::{Map, Number, Value};

use crate::yaml::{YamlEntry, YamlNode, YamlStyle, YamlValue as Yaml};

/// The JSON type of unquoted scalars. Quoted scalars are always strings, and null is always null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarTypes {
    /// Every scalar is a string: `1.10` stays `"1.10"`.
    Strings,
    /// Unquoted scalars have the types of the YAML 1.2 core schema: `1.10` becomes `1.1`.
    CoreSchema,
}

/// Converts entries to a JSON object, in file order.
pub fn object(entries: &[YamlEntry<'_>], types: ScalarTypes) -> Map<String, Value> {
    entries
        .iter()
        .map(|entry| (entry.key.to_string(), value(&entry.value, types)))
        .collect()
}

/// Converts one value to JSON.
pub fn value(node: &YamlNode<'_>, types: ScalarTypes) -> Value {
    match &node.value {
        _ if node.is_null() => Value::Null,
        Yaml::Scalar(text, YamlStyle::Plain) if types == ScalarTypes::CoreSchema => {
            core_schema(text)
        }
        Yaml::Scalar(text, _) => Value::String(text.to_string()),
        Yaml::Sequence(items, _) => {
            Value::Array(items.iter().map(|item| value(item, types)).collect())
        }
        Yaml::Mapping(entries, _) => Value::Object(object(entries, types)),
    }
}

/// Converts an unquoted scalar by the YAML 1.2 core schema.
fn core_schema(text: &str) -> Value {
    match text {
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => integer(text)
            .or_else(|| float(text))
            .map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn integer(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
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

/// Parses digits without a sign, which `from_str_radix` would accept.
fn radix(digits: &str, radix: u32) -> Option<Number> {
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok().map(Number::from)
}

fn float(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let begins = digits.strip_prefix('.').unwrap_or(digits);
    // Rust parses `inf` and `nan`, which JSON does not have.
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

    fn check(yaml: &str, types: ScalarTypes, expected: &Value) {
        let text = format!("---\n{yaml}---\nBody\n");
        let parsed = crate::parse(text.as_bytes());
        let found = Value::Object(object(&parsed.manifest.entries, types));
        assert_eq!(&found, expected);
        let keys = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect());
        assert_eq!(keys(&found), keys(expected) as Option<Vec<String>>);
    }

    const FRONTMATTER: &str = "name: x\ndescription: 'Does: things'\n\
        allowed-tools: Read, Bash(git:*)\nversion: 1.10\ncount: 12\noctal: 0o17\nhex: 0xff\n\
        sign: 0x+1\nnegative: -3\nplus: +4\nhuge: 18446744073709551615\nquoted: \"12\"\n\
        yes-word: yes\nnone:\ntilde: ~\nnull-word: null\nquoted-null: 'null'\nempty: ''\n\
        flag: true\nupper: FALSE\ndate: 2024-01-01\nexponent: 1e3\ninfinite: .inf\nword: nan\n\
        metadata:\n  author: me\n  tags: [a, 2]\nnot-a-number: 1.2.3\n";

    #[test]
    fn core_schema_types_unquoted_scalars() {
        let expected = json!({
            "name": "x", "description": "Does: things", "allowed-tools": "Read, Bash(git:*)",
            "version": 1.1, "count": 12, "octal": 15, "hex": 255, "sign": "0x+1", "negative": -3,
            "plus": 4, "huge": 18_446_744_073_709_551_615_u64, "quoted": "12", "yes-word": "yes",
            "none": null, "tilde": null, "null-word": null, "quoted-null": "null", "empty": "",
            "flag": true, "upper": false, "date": "2024-01-01", "exponent": 1000.0,
            "infinite": ".inf", "word": "nan",
            "metadata": { "author": "me", "tags": ["a", 2] }, "not-a-number": "1.2.3",
        });
        check(FRONTMATTER, ScalarTypes::CoreSchema, &expected);
    }

    #[test]
    fn strings_keep_the_text_of_scalars() {
        let expected = json!({
            "name": "x", "description": "Does: things", "allowed-tools": "Read, Bash(git:*)",
            "version": "1.10", "count": "12", "octal": "0o17", "hex": "0xff", "sign": "0x+1",
            "negative": "-3", "plus": "+4", "huge": "18446744073709551615", "quoted": "12",
            "yes-word": "yes", "none": null, "tilde": null, "null-word": null,
            "quoted-null": "null", "empty": "", "flag": "true", "upper": "FALSE",
            "date": "2024-01-01", "exponent": "1e3", "infinite": ".inf", "word": "nan",
            "metadata": { "author": "me", "tags": ["a", "2"] }, "not-a-number": "1.2.3",
        });
        check(FRONTMATTER, ScalarTypes::Strings, &expected);
    }
}
