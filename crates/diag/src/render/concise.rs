//! One line for each finding: `path:line:column: severity[rule] message`.

use crate::render::positions;
use crate::{Diagnostic, FileReport, LineIndex, sanitize};

/// Returns the line for one finding, without a line break.
pub fn line(report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic) -> String {
    let path = sanitize::line(&report.path);
    let at = positions(report, lines, diagnostic)
        .map_or_else(String::new, |(start, _)| format!(":{}:{}", start.line, start.column));
    let fixable =
        if diagnostic.fix.as_ref().is_some_and(crate::Fix::is_safe) { " [fixable]" } else { "" };
    format!(
        "{path}{at}: {}[{}] {}{fixable}",
        diagnostic.severity.as_str(),
        diagnostic.rule,
        sanitize::line(&diagnostic.message),
    )
}
