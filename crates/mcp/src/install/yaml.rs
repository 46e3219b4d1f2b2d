//! Edits YAML without touching the rest.
//!
//! The lines are edited as text; the result is then checked with a parser, to make sure that
//! everything else has the same meaning.

use prowess_spec::yaml::{YamlNode, full, write};
use serde_json::Value;

use super::{MergeError, NAME};

/// Adds our entry under a top-level key.
pub(super) fn merge(
    before: &str,
    section: &'static str,
    entry: &Value,
) -> Result<String, MergeError> {
    let old = read(before)?;
    let servers = old.as_ref().and_then(|top| top.get(section));
    if servers.is_some_and(|servers| servers.entries().is_none() && !servers.is_null()) {
        return Err(MergeError::NotATable { key: section });
    }
    let lines: Vec<&str> = before.lines().collect();
    let head = lines.iter().position(|line| key(line, "") == Some(section));
    let after = match head {
        None => {
            let mut text = before.to_owned();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("{section}:\n{}", block(entry, "  ")));
            text
        }
        Some(head) => {
            let inside = lines[head + 1..]
                .iter()
                .take_while(|line| belongs(line))
                .count();
            let body = &lines[head + 1..head + 1 + inside];
            let first = body.iter().find(|line| !is_blank(line));
            let indent = first.map_or("  ", |line| blanks(line));
            let own = body.iter().position(|line| key(line, indent) == Some(NAME));
            let (from, to) = match own {
                Some(from) => {
                    let deeper = |line: &&&str| is_blank(line) || blanks(line).len() > indent.len();
                    let length = body[from + 1..].iter().take_while(deeper).count();
                    // Trailing blank lines and comments belong to the next entry.
                    let rest = &body[from + 1..from + 1 + length];
                    let kept = rest
                        .iter()
                        .rposition(|line| !is_blank(line))
                        .map_or(0, |at| at + 1);
                    (head + 1 + from, head + 2 + from + kept)
                }
                None => (head + 1, head + 1),
            };
            let head_line = if servers.is_some_and(|servers| {
                servers.is_null() || servers.entries().is_some_and(<[_]>::is_empty)
            }) {
                format!("{section}:")
            } else {
                lines[head].to_owned()
            };
            let mut text = String::new();
            for line in &lines[..head] {
                text.push_str(&format!("{line}\n"));
            }
            text.push_str(&format!("{head_line}\n"));
            for line in &lines[head + 1..from] {
                text.push_str(&format!("{line}\n"));
            }
            text.push_str(&block(entry, indent));
            for line in &lines[to..] {
                text.push_str(&format!("{line}\n"));
            }
            text
        }
    };
    // The old content must be unchanged, and our entry must be there.
    let new = read(&after)?.ok_or(syntax(0))?;
    let is_same = |old: &YamlNode| says_the_same(old, &new, section);
    if old.as_ref().is_none_or(is_same) && own_entry(&new, section).is_some() {
        Ok(after)
    } else {
        Err(MergeError::Syntax {
            format: "YAML with one key per line",
            at: 0,
        })
    }
}

/// Returns `true` if the text contains our entry.
pub(super) fn has(text: &str, section: &str) -> bool {
    read(text)
        .ok()
        .flatten()
        .is_some_and(|top| own_entry(&top, section).is_some())
}

fn own_entry<'n>(top: &'n YamlNode<'n>, section: &str) -> Option<&'n YamlNode<'n>> {
    top.get(section)?.get(NAME)
}

fn says_the_same(old: &YamlNode, new: &YamlNode, section: &str) -> bool {
    let old_entries = old.entries().unwrap_or_default();
    old_entries.iter().all(|entry| {
        let now = new.get(&entry.key);
        if &*entry.key != section {
            return now.is_some_and(|now| now.same(&entry.value));
        }
        entry
            .value
            .entries()
            .unwrap_or_default()
            .iter()
            .filter(|server| &*server.key != NAME)
            .all(|server| {
                now.and_then(|now| now.get(&server.key))
                    .is_some_and(|now| now.same(&server.value))
            })
    })
}

fn read(text: &str) -> Result<Option<YamlNode<'_>>, MergeError> {
    let is_empty = text.lines().all(|line| is_blank(line) || line == "---");
    if is_empty {
        return Ok(None);
    }
    let document = full::read(text, 0).map_err(|_| syntax(0))?;
    match document.root {
        Some(root) if root.entries().is_some() => Ok(Some(root)),
        Some(_) => Err(syntax(0)),
        None => Ok(None),
    }
}

/// Formats our entry as lines.
fn block(entry: &Value, indent: &str) -> String {
    let mut text = format!("{indent}{NAME}:\n");
    for (name, value) in entry.as_object().into_iter().flatten() {
        let line = match value {
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(scalar).collect();
                format!("[{}]", items.join(", "))
            }
            value => scalar(value),
        };
        text.push_str(&format!("{indent}  {name}: {line}\n"));
    }
    text
}

fn scalar(value: &Value) -> String {
    match value {
        // Flow sequences need more quoting.
        Value::String(text) if text.contains([',', '[', ']', '{', '}']) => write::quoted(text),
        Value::String(text) => write::scalar(text),
        other => other.to_string(),
    }
}

/// Returns the key of a line with exactly this indentation.
fn key<'l>(line: &'l str, indent: &str) -> Option<&'l str> {
    let rest = line
        .strip_prefix(indent)
        .filter(|rest| !rest.starts_with([' ', '\t', '#', '-']))?;
    let (key, rest_of_line) = rest.split_once(':')?;
    let ends = rest_of_line.is_empty() || rest_of_line.starts_with([' ', '\t']);
    ends.then(|| key.trim_end().trim_matches(['"', '\'']))
}

/// Returns `true` if a line belongs to a block that started at the left margin.
fn belongs(line: &str) -> bool {
    is_blank(line) || line.starts_with([' ', '\t'])
}

/// Returns `true` for an empty line or a comment.
fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

fn blanks(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn syntax(at: usize) -> MergeError {
    MergeError::Syntax {
        format: "plain YAML",
        at,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(before: &str) -> Result<String, MergeError> {
        merge(
            before,
            "extensions",
            &json!({ "cmd": "prowess", "args": ["mcp"], "enabled": true }),
        )
    }

    const OWN: &str = "prowess:\n    cmd: prowess\n    args: [mcp]\n    enabled: true\n";

    #[test]
    fn other_content_is_unchanged() {
        for (before, after) in [
            ("", format!("extensions:\n  {OWN}")),
            (
                "# mine\nGOOSE_MODEL: x\n",
                format!("# mine\nGOOSE_MODEL: x\nextensions:\n  {OWN}"),
            ),
            (
                "a: 1\nextensions:\n  developer:\n    enabled: true # yes\n\nz: 2\n",
                format!(
                    "a: 1\nextensions:\n  {OWN}  developer:\n    enabled: true # yes\n\nz: 2\n"
                ),
            ),
            (
                "extensions: {}\nz: 2\n",
                format!("extensions:\n  {OWN}z: 2\n"),
            ),
            (
                "extensions:\n  a:\n    x: 1\n  prowess:\n    cmd: old\n    envs: {}\n  # next\n  b:\n    y: 2\n",
                format!("extensions:\n  a:\n    x: 1\n  {OWN}  # next\n  b:\n    y: 2\n"),
            ),
        ] {
            assert_eq!(merged(before).unwrap(), after, "{before}");
            assert_eq!(
                merged(&after).unwrap(),
                after,
                "merging twice changes nothing"
            );
        }
    }

    #[test]
    fn unsupported_yaml_is_rejected() {
        for before in [
            "- a\n",
            "extensions: [a]\n",
            "extensions: {a: {b: 1}}\n",
            "a: [\n",
        ] {
            assert!(merged(before).is_err(), "{before}");
        }
    }
}
