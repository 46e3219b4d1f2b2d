//! Sessions in a terminal: the chat screen, live output and transcripts.
//!
//! This is the only crate that depends on ratatui.

pub mod chat;
pub mod hints;
pub mod run_output;
mod theme;
pub mod transcript;

/// Discards typed input that has not been read.
pub fn discard_input() {
    use rustix::termios::{QueueSelector, tcflush};
    // Fails only without a terminal, where there is nothing to discard.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}
