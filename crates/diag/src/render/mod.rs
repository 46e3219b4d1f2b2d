//! Output formats, one per module.
//!
//! `full` is for terminals, `concise` for editors and grep, `json` for programs, `github` for
//! annotations on a pull request, `sarif` for code-scanning services. `diff` shows what fixes
//! change, and `wrap` breaks lines that are too wide.

pub mod concise;
pub mod diff;
mod fit;
pub mod full;
pub mod github;
pub mod json;
mod preview;
pub mod sarif;
pub mod wrap;

use crate::{Diagnostic, FileReport, LineIndex, Position};

/// Returns the start and end of a diagnostic; `None` if it has no span or the text is unknown.
pub fn positions(
    report: &FileReport,
    lines: &LineIndex,
    diagnostic: &Diagnostic,
) -> Option<(Position, Position)> {
    let span = diagnostic.span?;
    report.text.as_ref()?;
    let text = report.text();
    Some((
        lines.position(text, span.start as usize),
        lines.position(text, span.end as usize),
    ))
}
