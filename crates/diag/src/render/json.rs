//! Findings as JSON values. The caller provides the document around them.

use serde_json::{Value, json};

use crate::render::positions;
use crate::{Diagnostic, FileReport, LineIndex, Position, TextEdit};

/// Converts one finding to an object.
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
        let mut cursor = Cursor {
            text: report.text(),
            lines,
            last: (0, Position { line: 1, column: 1 }),
        };
        let edits: Vec<Value> = fix
            .edits
            .iter()
            .map(|edit| edit_value(&mut cursor, edit))
            .collect();
        object["fix"] = json!({
            "title": fix.title,
            "applicability": fix.applicability.as_str(),
            "edits": edits,
        });
    }
    object
}

fn edit_value(cursor: &mut Cursor<'_>, edit: &TextEdit) -> Value {
    let start = position(cursor.at(edit.span.start), edit.span.start);
    let end = position(cursor.at(edit.span.end), edit.span.end);
    json!({ "start": start, "end": end, "replacement": edit.replacement })
}

/// Converts offsets to positions. Consecutive offsets on one line do not recount the line.
struct Cursor<'t> {
    text: &'t str,
    lines: &'t LineIndex,
    last: (u32, Position),
}

impl Cursor<'_> {
    fn at(&mut self, offset: u32) -> Position {
        let (from, known) = self.last;
        let between = if from <= offset {
            self.text.get(from as usize..offset as usize)
        } else {
            None
        };
        let position = match between.filter(|between| !between.contains(['\n', '\r'])) {
            Some(between) => Position {
                column: known.column + between.chars().count(),
                ..known
            },
            None => self.lines.position(self.text, offset as usize),
        };
        self.last = (offset, position);
        position
    }
}

fn position(position: Position, offset: u32) -> Value {
    json!({ "line": position.line, "column": position.column, "offset": offset })
}
