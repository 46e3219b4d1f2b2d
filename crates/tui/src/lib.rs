//! Sessions in a terminal: the chat screen, live output and transcripts.
//!
//! This is the only crate that depends on ratatui.

pub mod chat;
pub mod hints;
pub mod mission_output;
pub mod run_output;
pub mod text_prompt;
mod theme;
pub mod transcript;

/// Returns the size of the terminal at standard error, or the usual size if there is none.
pub fn screen_size() -> prowess_diag::review::ScreenSize {
    let usual = prowess_diag::review::ScreenSize::default();
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => prowess_diag::review::ScreenSize {
            columns: size.ws_col.into(),
            lines: size.ws_row.into(),
        },
        _ => usual,
    }
}

/// Discards typed input that has not been read.
pub fn discard_input() {
    use rustix::termios::{QueueSelector, tcflush};
    // Fails only without a terminal, where there is nothing to discard.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}
