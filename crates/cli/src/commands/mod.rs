//! One file for each command.

pub(crate) mod explain;
pub(crate) mod help;
pub(crate) mod new;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod show_file;
pub(crate) mod targets;
pub(crate) mod validate;
