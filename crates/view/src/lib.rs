//! What a person sees of a session in a terminal: live lines, transcripts, the chat.

pub mod chat;
pub mod live;
pub mod transcript;
