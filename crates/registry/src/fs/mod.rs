//! Skills in folders: locations, discovery, reading and watching.

mod broken_edit;
pub(crate) mod entries;
mod location;
pub mod nested;
pub mod package;
pub mod read;
pub mod skill_folders;
pub mod slash_commands;
pub mod source;
pub mod walk;
pub mod watch;
