//! Findings as JSON values; the surface that prints them owns the document around them.

use serde_json::{Value, json};

use crate::render::positions;
use crate::{Diagnostic, Edit, FileReport, LineIndex, Position};

/// Returns one finding as an object.
pub fn finding(report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic) -> Value {
    let place = positions(report, lines, diagnostic);
    let span = diagnostic.span.filter(|_| place.is_some());
    let mut object = json!({
        "rule": diagnostic.rule,
        "severity": diagnostic.severity.as_str(),
        "message": diagnostic.message,
        "path": report.path,
    });
    if let (Some((start, end)), Some(span)) = (place, span) {
        object["start"] = position(start, span.start);
        object["end"] = position(end, span.end);
    }
    if let Some(label) = &diagnostic.label {
        object["label"] = json!(label);
    }
    if let Some(help) = &diagnostic.help {
        object["help"] = json!(help);
    }
    if let Some(fix) = &diagnostic.fix {
        let edits: Vec<Value> =
            fix.edits.iter().map(|edit| edit_value(report, lines, edit)).collect();
        object["fix"] = json!({
            "title": fix.title,
            "applicability": fix.applicability.as_str(),
            "edits": edits,
        });
    }
    object
}

fn edit_value(report: &FileReport, lines: &LineIndex, edit: &Edit) -> Value {
    let at = |offset: u32| position(lines.position(report.text(), offset as usize), offset);
    json!({ "start": at(edit.span.start), "end": at(edit.span.end), "replacement": edit.replacement })
}

fn position(position: Position, offset: u32) -> Value {
    json!({ "line": position.line, "column": position.column, "offset": offset })
}
