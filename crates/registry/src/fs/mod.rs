//! Skills in folders: locations, discovery, reading and watching.

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
