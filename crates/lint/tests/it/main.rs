//! Integration tests of the format: one binary, one file for each subject.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may stop a test"
)]

mod advice;
mod conformance;
mod hostile;
mod pages;
mod properties;
mod seeds;
