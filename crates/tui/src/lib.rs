//! Sessions in a terminal: the chat screen, live lines, transcripts.
//!
//! The only crate that names ratatui.

pub mod chat;
pub mod live;
pub mod transcript;

/// Discards what was typed on the terminal and not read yet.
pub fn discard_input() {
    use rustix::termios::{QueueSelector, tcflush};
    // Without a terminal there is nothing to discard.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}
