//! Workflow commands that annotate a pull request.

use crate::render::positions;
use crate::{Diagnostic, FileReport, LineIndex, Severity, sanitize};

/// Returns the workflow command for one finding, without a line break.
pub fn line(report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let at = positions(report, lines, diagnostic).map_or_else(String::new, |(start, end)| {
        let mut at = format!(",line={},endLine={}", start.line, end.line);
        // GitHub rejects columns on a range of several lines.
        if start.line == end.line {
            at.push_str(&format!(
                ",col={},endColumn={}",
                start.column,
                end.column.max(start.column)
            ));
        }
        at
    });
    let mut message = diagnostic.message.to_string();
    for more in [&diagnostic.label, &diagnostic.help].into_iter().flatten() {
        message.push_str("; ");
        message.push_str(more);
    }
    format!(
        "::{level} file={}{at},title={}::{}",
        property(&report.path),
        property(diagnostic.rule),
        data(&message)
    )
}

/// Escapes the message part of a workflow command.
fn data(text: &str) -> String {
    let encoded = text
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    // Logs are also read in a terminal.
    sanitize::line(&encoded).into_owned()
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
