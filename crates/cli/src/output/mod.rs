//! Terminal output: results go to standard output, everything else to standard error.
//!
//! This module only formats. It knows neither skills nor arguments nor environment variables.

mod aside;
mod exit;
mod failure;
mod foreign;
pub(crate) mod help;
mod printer;
mod progress;
mod table;

pub(crate) use aside::Aside;
pub(crate) use exit::{Exit, leave};
pub(crate) use failure::Failure;
pub(crate) use foreign::Foreign;
pub(crate) use printer::{Look, Printer, bold, json_line, wrap};
pub(crate) use progress::Progress;
pub(crate) use table::{Cell, Table, cut};
