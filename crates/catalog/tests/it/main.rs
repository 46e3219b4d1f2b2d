//! Integration tests of the catalogue: one binary, one file for each subject.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may stop a test"
)]

mod index;
mod index_properties;
mod names;
mod sample;
mod visibility;
