//! Edits JSON without touching the rest: comments, order and whitespace are kept.
//!
//! Accepts comments and trailing commas, as editors do.

use std::ops::Range;

use serde_json::Value;

use super::{MergeError, NAME};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 128;
/// Default indentation.
const STEP: &str = "  ";

/// Adds our entry under a top-level key.
pub(super) fn merge(
    before: &str,
    section: &'static str,
    entry: &Value,
) -> Result<String, MergeError> {
    let whole = || {
        format!(
            "{}\n",
            pretty(&serde_json::json!({ section: { NAME: entry } }), "")
        )
    };
    let start = blank(before.as_bytes(), 0);
    if start == before.len() {
        return Ok(whole());
    }
    let top = object(before, start)?.ok_or(syntax(start))?;
    if blank(before.as_bytes(), top.end) != before.len() {
        return Err(syntax(top.end));
    }
    let Some(servers) = top.get(section) else {
        let value = serde_json::json!({ NAME: entry });
        return Ok(add(before, &top, section, &value));
    };
    let servers =
        object(before, servers.value.start)?.ok_or(MergeError::NotATable { key: section })?;
    Ok(match servers.get(NAME) {
        Some(own) => {
            let text = &before[own.value.clone()];
            if serde_json::from_str::<Value>(text).is_ok_and(|known| known == *entry) {
                return Ok(before.to_owned());
            }
            let value = pretty(entry, indent(before, own.key.start));
            format!(
                "{}{value}{}",
                &before[..own.value.start],
                &before[own.value.end..]
            )
        }
        None => add(before, &servers, NAME, entry),
    })
}

/// Returns `true` if the text contains our entry.
pub(super) fn has(text: &str, section: &str) -> bool {
    let find = || {
        let top = object(text, blank(text.as_bytes(), 0)).ok()??;
        let servers = object(text, top.get(section)?.value.start).ok()??;
        servers.get(NAME).map(|_| ())
    };
    find().is_some()
}

/// A member of an object, with the ranges of its key and value.
struct Member {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

/// An object with its range and members.
struct Object {
    start: usize,
    end: usize,
    members: Vec<Member>,
    /// End of the trailing comma, if there is one.
    comma: Option<usize>,
}

impl Object {
    fn get(&self, name: &str) -> Option<&Member> {
        // If a key is duplicated, the last one counts.
        self.members.iter().rev().find(|member| member.name == name)
    }
}

/// Adds a member at the end of an object.
fn add(text: &str, object: &Object, name: &str, value: &Value) -> String {
    let outer = indent(text, object.start);
    let line = |own: &str| format!("\n{own}\"{name}\": {}", pretty(value, own));
    let Some(last) = object.members.last() else {
        let at = object.start + 1;
        let rest = &text[at..];
        let has_break = rest.trim_start_matches([' ', '\t']).starts_with('\n');
        let closing = if has_break {
            String::new()
        } else {
            format!("\n{outer}")
        };
        return format!(
            "{}{}{closing}{rest}",
            &text[..at],
            line(&format!("{outer}{STEP}"))
        );
    };
    let is_in_one_line = !text[object.start..last.key.start].contains('\n');
    let (line, closing) = if is_in_one_line {
        (line(&format!("{outer}{STEP}")), format!("\n{outer}"))
    } else {
        (line(indent(text, last.key.start)), String::new())
    };
    if let Some(at) = object.comma {
        return format!("{}{line},{closing}{}", &text[..at], &text[at..]);
    }
    let at = last.value.end;
    format!("{},{line}{closing}{}", &text[..at], &text[at..])
}

/// Returns the indentation of the line at an offset.
fn indent(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let blanks = text[line..].find(|c| c != ' ' && c != '\t').unwrap_or(0);
    &text[line..(line + blanks).min(at)]
}

/// Formats a value on several lines; all but the first are indented.
fn pretty(value: &Value, indent: &str) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let inner = format!("{indent}{STEP}");
            let member = |(name, value): (&String, &Value)| {
                format!(
                    "{inner}{}: {}",
                    Value::from(name.as_str()),
                    pretty(value, &inner)
                )
            };
            let lines: Vec<String> = members.iter().map(member).collect();
            format!("{{\n{}\n{indent}}}", lines.join(",\n"))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| pretty(item, indent)).collect();
            format!("[{}]", items.join(", "))
        }
        plain => plain.to_string(),
    }
}

/// Parses the object at an offset. Returns `None` if there is something else.
fn object(text: &str, start: usize) -> Result<Option<Object>, MergeError> {
    let bytes = text.as_bytes();
    if bytes.get(start) != Some(&b'{') {
        return Ok(None);
    }
    let mut found = Object {
        start,
        end: start,
        members: Vec::new(),
        comma: None,
    };
    let mut at = blank(bytes, start + 1);
    while bytes.get(at) != Some(&b'}') {
        let key = at..string(bytes, at)?;
        let colon = blank(bytes, key.end);
        if bytes.get(colon) != Some(&b':') {
            return Err(syntax(colon));
        }
        let begins = blank(bytes, colon + 1);
        let value = begins..value(bytes, begins, 0)?;
        let name = serde_json::from_str(&text[key.clone()]).map_err(|_| syntax(key.start))?;
        at = blank(bytes, value.end);
        found.comma = None;
        found.members.push(Member { name, key, value });
        if bytes.get(at) == Some(&b',') {
            found.comma = Some(at + 1);
            at = blank(bytes, at + 1);
        } else if bytes.get(at) != Some(&b'}') {
            return Err(syntax(at));
        }
    }
    found.end = at + 1;
    Ok(Some(found))
}

/// Returns the end of a value.
fn value(bytes: &[u8], at: usize, depth: usize) -> Result<usize, MergeError> {
    if depth > MAX_DEPTH {
        return Err(syntax(at));
    }
    let (close, has_keys) = match bytes.get(at) {
        Some(b'"') => return string(bytes, at),
        Some(b'{') => (b'}', true),
        Some(b'[') => (b']', false),
        Some(_) => {
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let length = bytes[at..].iter().take_while(|byte| is_plain(byte)).count();
            return if length > 0 {
                Ok(at + length)
            } else {
                Err(syntax(at))
            };
        }
        None => return Err(syntax(at)),
    };
    let mut at = blank(bytes, at + 1);
    while bytes.get(at) != Some(&close) {
        if has_keys {
            at = blank(bytes, string(bytes, at)?);
            if bytes.get(at) != Some(&b':') {
                return Err(syntax(at));
            }
            at = blank(bytes, at + 1);
        }
        at = blank(bytes, value(bytes, at, depth + 1)?);
        match bytes.get(at) {
            Some(b',') => at = blank(bytes, at + 1),
            Some(byte) if *byte == close => {}
            _ => return Err(syntax(at)),
        }
    }
    Ok(at + 1)
}

/// Returns the end of a string.
fn string(bytes: &[u8], start: usize) -> Result<usize, MergeError> {
    if bytes.get(start) != Some(&b'"') {
        return Err(syntax(start));
    }
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return Ok(at + 1),
            Some(b'\n') | None => return Err(syntax(at)),
            Some(_) => at += 1,
        }
    }
}

/// Returns the end of whitespace and comments.
fn blank(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match rest {
            [b' ' | b'\t' | b'\n' | b'\r', ..] => 1,
            [0xef, 0xbb, 0xbf, ..] if at == 0 => 3,
            [b'/', b'/', ..] => rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest
                .windows(2)
                .skip(2)
                .position(|pair| pair == b"*/")
                .map_or(rest.len(), |end| end + 4),
            _ => return at,
        };
        at += length;
    }
}

fn syntax(at: usize) -> MergeError {
    MergeError::Syntax { format: "JSON", at }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(before: &str) -> Result<String, MergeError> {
        merge(
            before,
            "servers",
            &json!({ "command": "prowess", "args": ["mcp"] }),
        )
    }

    #[test]
    fn other_content_is_unchanged() {
        let own =
            "\"prowess\": {\n      \"command\": \"prowess\",\n      \"args\": [\"mcp\"]\n    }";
        for (before, after) in [
            ("", format!("{{\n  \"servers\": {{\n    {own}\n  }}\n}}\n")),
            ("{}", format!("{{\n  \"servers\": {{\n    {own}\n  }}\n}}")),
            (
                "{\n  \"a\": 1.10\n}\n",
                format!("{{\n  \"a\": 1.10,\n  \"servers\": {{\n    {own}\n  }}\n}}\n"),
            ),
            (
                "// mine\n{\n  \"servers\": {\n    \"x\": {}, // keep\n  },\n}\n",
                format!(
                    "// mine\n{{\n  \"servers\": {{\n    \"x\": {{}},\n    {own}, // keep\n  }},\n}}\n"
                ),
            ),
            (
                "{\n  \"servers\": {\n    \"prowess\": { \"command\": \"old\" },\n    \"y\": 1\n  }\n}",
                format!("{{\n  \"servers\": {{\n    {own},\n    \"y\": 1\n  }}\n}}"),
            ),
        ] {
            assert_eq!(merged(before).unwrap(), after, "{before}");
            assert_eq!(
                merged(&after).unwrap(),
                after,
                "merging twice changes nothing"
            );
            assert!(has(&after, "servers"));
        }
    }

    #[test]
    fn single_line_object_is_expanded() {
        let after =
            merged(r#"{"servers": {"x": {"command": "y"}}, "z": [1, {"k": "}"}]}"#).unwrap();
        let value: Value = serde_json::from_str(&after).unwrap();
        assert_eq!(value["servers"]["x"]["command"], "y");
        assert_eq!(value["servers"]["prowess"]["args"], json!(["mcp"]));
        assert_eq!(value["z"], json!([1, { "k": "}" }]));
    }

    #[test]
    fn invalid_json_is_rejected() {
        for before in [
            "[]",
            "{",
            "{\"a\" 1}",
            "{\"a\": }",
            "{} x",
            "nonsense",
            "{\"a\": \"\n\"}",
        ] {
            assert!(merged(before).is_err(), "{before}");
        }
        assert_eq!(
            merged("{\"servers\": 1}"),
            Err(MergeError::NotATable { key: "servers" })
        );
    }
}
