//! Skills in folders: where they are, how they are found, how they are read.

pub mod commands;
mod entries;
mod location;
pub mod nested;
pub mod package;
pub mod read;
pub mod scopes;
pub mod source;
pub mod walk;
pub mod watch;
