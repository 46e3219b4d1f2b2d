//! One line for each finding: `path:line:column: severity[rule] message`.

use crate::render::positions;
use crate::{Applicability, Diagnostic, FileReport, LineIndex, sanitize};

/// Returns the line for one finding, without a line break.
pub fn line(report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic) -> String {
    let fixable = match diagnostic.fix.as_ref().map(|fix| fix.applicability) {
        Some(Applicability::Safe) => " [fixable]",
        Some(Applicability::Suggested) => " [suggestion]",
        None => "",
    };
    format!(
        "{}: {}[{}] {}{fixable}",
        place(report, lines, diagnostic),
        diagnostic.severity.as_str(),
        diagnostic.rule,
        sanitize::line(&diagnostic.message),
    )
}

/// Returns `path:line:column`, or `path` if the position is unknown.
pub fn place(report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic) -> String {
    let at = positions(report, lines, diagnostic).map_or_else(String::new, |(start, _)| {
        format!(":{}:{}", start.line, start.column)
    });
    format!("{}{at}", sanitize::line(&report.path))
}
