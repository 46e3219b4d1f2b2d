//! Says what is wrong with text, and prints it.
//!
//! A [`Diagnostic`] is plain data: which rule, how severe, where, why, and what to do about it.
//! It knows nothing of skills or of the file system; skills, missions, lock files and evals all
//! report through it. A [`FileReport`] gathers the diagnostics of one file, and each file in
//! [`render`] turns reports into one output format.

#![warn(clippy::disallowed_methods)]

pub mod diagnostic;
pub mod fix;
pub mod path;
pub mod render;
pub mod sanitize;
pub mod source;
pub mod span;
pub mod suggest;
pub mod wording;

pub use diagnostic::{Counts, Diagnostic, FileReport, Severity};
pub use fix::{Applicability, Edit, Fix};
pub use source::{LineIndex, Position};
pub use span::Span;
