//! Integration tests of the gate: one binary, one module for each subject.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests may panic"
)]

mod attacks_fourth;
mod attacks_git;
mod attacks_input;
mod attacks_options;
mod attacks_patterns;
mod attacks_programs;
mod attacks_seventh;
mod attacks_shell;
mod attacks_wrappers;
mod differential;
mod properties;
mod rules;
mod tables;
mod useful;
