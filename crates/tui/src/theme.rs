//! The colours and styles of the chat, from the colours of all output (`prowess_diag::theme`).

use anstyle::AnsiColor;
use prowess_diag::theme;
use ratatui::style::{Color, Modifier, Style};

/// Names, spinners, code and hints.
pub(crate) const ACCENT: Style = colored(theme::ACCENT);
/// Success.
pub(crate) const GOOD: Style = colored(theme::GOOD);
/// Questions and warnings.
pub(crate) const WARNING: Style = colored(theme::WARNING);
/// Failure and refusal.
pub(crate) const BAD: Style = colored(theme::BAD);

/// Text without a style of its own.
pub(crate) const PLAIN: Style = Style::new();
/// Titles.
pub(crate) const BOLD: Style = PLAIN.add_modifier(Modifier::BOLD);
/// Secondary text, borders and rules.
pub(crate) const DIM: Style = PLAIN.add_modifier(Modifier::DIM);
/// Emphasis.
pub(crate) const ITALIC: Style = PLAIN.add_modifier(Modifier::ITALIC);
/// The selected row of a list.
pub(crate) const SELECTED: Style = PLAIN.add_modifier(Modifier::REVERSED);

/// The messages of the user.
pub(crate) const USER: Style = ACCENT.add_modifier(Modifier::BOLD);
/// The sender of a question, and the keys that answer it.
pub(crate) const QUESTION: Style = WARNING.add_modifier(Modifier::BOLD);

const fn colored(color: AnsiColor) -> Style {
    Style::new().fg(match color {
        AnsiColor::Black => Color::Black,
        AnsiColor::Red => Color::Red,
        AnsiColor::Green => Color::Green,
        AnsiColor::Yellow => Color::Yellow,
        AnsiColor::Blue => Color::Blue,
        AnsiColor::Magenta => Color::Magenta,
        AnsiColor::Cyan => Color::Cyan,
        AnsiColor::White => Color::Gray,
        AnsiColor::BrightBlack => Color::DarkGray,
        AnsiColor::BrightRed => Color::LightRed,
        AnsiColor::BrightGreen => Color::LightGreen,
        AnsiColor::BrightYellow => Color::LightYellow,
        AnsiColor::BrightBlue => Color::LightBlue,
        AnsiColor::BrightMagenta => Color::LightMagenta,
        AnsiColor::BrightCyan => Color::LightCyan,
        AnsiColor::BrightWhite => Color::White,
    })
}
