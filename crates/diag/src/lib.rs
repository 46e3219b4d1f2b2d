//! Diagnostics: findings about a text, and their output formats.
//!
//! A [`Diagnostic`] is plain data: a rule, a severity, a message, a span and a fix. This crate does
//! not depend on skills or on the file system, so every file format of the workspace can report
//! through it. A [`FileReport`] holds the diagnostics of one file; each module in [`render`] writes
//! reports in one output format.

#![warn(clippy::disallowed_methods)]

pub mod diagnostic;
pub mod fix;
mod hex;
pub mod line_changes;
pub mod path;
pub mod render;
pub mod review;
pub mod sanitize;
pub mod source;
pub mod span;
pub mod suggest;
pub mod theme;
pub mod toml_size;
pub mod wording;

pub use diagnostic::{Diagnostic, FileReport, FindingCounts, Severity};
pub use fix::{Applicability, Fix, TextEdit};
pub use hex::hex;
pub use source::{LineIndex, Position};
pub use span::Span;
pub use wording::io_reason;
