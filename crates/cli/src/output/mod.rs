//! Everything that reaches a terminal or a pipe goes through here.

pub(crate) mod printer;
pub(crate) mod progress;
pub(crate) mod table;
