//! What a person types and sees about sessions in a terminal: `run`, `demo`, `session`, the chat.

pub mod chat;
pub mod demo;
pub mod health;
pub mod kit;
pub mod live;
pub mod run;
pub mod session;
pub mod talk;
pub mod transcript;
pub mod wait;
