//! Integration tests of rendering: one binary, one module for each subject.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests may panic, and the attacks run a shell"
)]

mod attacks;
mod properties;
mod random;
mod substitution;
mod unquoted;
