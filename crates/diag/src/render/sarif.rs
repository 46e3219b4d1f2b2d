//! SARIF 2.1.0, the exchange format of code-scanning services.

use serde_json::{Value, json};

use crate::render::positions;
use crate::{Diagnostic, FileReport, LineIndex, Severity};

/// Metadata of a rule for the log.
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo<'a> {
    /// Stable name.
    pub id: &'a str,
    /// Summary in one sentence.
    pub summary: &'a str,
    /// Documentation page in Markdown.
    pub page: &'a str,
}

/// Returns a complete log with one run of one tool.
pub fn log(version: &str, rules: &[RuleInfo<'_>], results: &[Value]) -> Value {
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.summary },
                "help": { "text": rule.summary, "markdown": rule.page },
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "prowess", "semanticVersion": version, "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// Converts one finding to a result object.
pub fn result(report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic) -> Value {
    let mut text = diagnostic.message.to_string();
    for more in [&diagnostic.label, &diagnostic.help].into_iter().flatten() {
        text.push_str("; ");
        text.push_str(more);
    }
    let mut location = json!({ "artifactLocation": { "uri": uri(&report.path) } });
    if let Some((start, end)) = positions(report, lines, diagnostic) {
        location["region"] = json!({
            "startLine": start.line, "startColumn": start.column,
            "endLine": end.line, "endColumn": end.column,
        });
    }
    json!({
        "ruleId": diagnostic.rule,
        "level": match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        "message": { "text": text },
        "locations": [{ "physicalLocation": location }],
    })
}

/// Percent-encodes a path as a relative URI.
fn uri(path: &str) -> String {
    let mut result = String::with_capacity(path.len());
    for &byte in path.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            result.push(char::from(byte));
        } else {
            result.push_str(&format!("%{byte:02X}"));
        }
    }
    result
}
