//! Skills in folders: where they are, how they are found, how they are read.

mod entries;
pub mod package;
pub mod read;
pub mod scopes;
pub mod walk;
