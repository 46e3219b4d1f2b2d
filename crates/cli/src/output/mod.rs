//! Terminal output: results go to standard output, everything else to standard error.
//!
//! This module only formats. It knows neither skills nor arguments nor environment variables.

mod exit;
mod failure;
pub(crate) mod help;
mod printer;
mod progress;
mod stderr;
mod table;
mod untrusted;

pub(crate) use exit::{Exit, leave};
pub(crate) use failure::Failure;
pub(crate) use printer::{Look, Printer, json_line, wrap};
pub(crate) use progress::Progress;
pub(crate) use stderr::Aside;
pub(crate) use table::{Cell, Table, cut};
pub(crate) use untrusted::{Foreign, JsonLines};
