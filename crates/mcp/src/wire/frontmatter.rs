//! Converts frontmatter to JSON, with every key as written.

use prowess_spec::Manifest;
use prowess_spec::json::{ScalarTypes, object};
use serde_json::{Map, Value};

/// Converts all of the frontmatter, in the order of the file.
pub(crate) fn to_json(manifest: &Manifest) -> Map<String, Value> {
    object(&manifest.entries, ScalarTypes::CoreSchema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_keys_are_kept_as_written() {
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
