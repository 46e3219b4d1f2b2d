//! The only way to a terminal: answers go to standard output, everything else to standard error.
//!
//! Knows how things look, not what they mean: no skill, no command line, no environment variable.

mod aside;
mod exit;
mod failure;
mod foreign;
pub mod help;
mod path;
mod printer;
mod progress;
mod table;

pub use aside::Aside;
pub use exit::{Exit, leave};
pub use failure::Failure;
pub use foreign::Foreign;
pub use path::{display_path, plain_path};
pub use printer::{Look, Printer, bold, forget_typed, json_line, wrap};
pub use progress::{Progress, into_inner};
pub use table::{Cell, Table, cut};
