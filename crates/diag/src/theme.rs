//! The colours and styles of everything that is printed. The chat maps the same colours to its own
//! styles in `crates/tui/src/theme.rs`; no other file names a colour.

// The renderer of findings brings its own styles for these.
pub(crate) use annotate_snippets::renderer::{
    DEFAULT_ADDITION_STYLE as ADDED, DEFAULT_HELP_STYLE as HELP,
    DEFAULT_LINE_NUM_STYLE as LINE_NUMBER, DEFAULT_REMOVAL_STYLE as REMOVED,
};
use annotate_snippets::renderer::{DEFAULT_ERROR_STYLE, DEFAULT_NOTE_STYLE, DEFAULT_WARNING_STYLE};
use anstyle::{AnsiColor, Style};

use crate::diagnostic::Severity;

/// Names, hints and work in progress.
pub const ACCENT: AnsiColor = AnsiColor::Cyan;
/// Success, permission and trust.
pub const GOOD: AnsiColor = AnsiColor::Green;
/// Warnings, prompts and results that are neither good nor bad.
pub const WARNING: AnsiColor = AnsiColor::Yellow;
/// Failure and refusal.
pub const BAD: AnsiColor = AnsiColor::Red;

/// Titles.
pub const STRONG: Style = Style::new().bold();
/// Secondary text.
pub const DIM: Style = Style::new().dimmed();

/// Returns a bold style in this colour.
pub const fn bold(color: AnsiColor) -> Style {
    color.on_default().bold()
}

/// Returns the style of a severity in coloured output.
pub const fn severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => DEFAULT_ERROR_STYLE,
        Severity::Warning => DEFAULT_WARNING_STYLE,
        Severity::Note => DEFAULT_NOTE_STYLE,
    }
}
