//! Tests of the file, shell and web tools with real files and folders.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod edit;
mod glob;
mod grep;
mod http_get;
mod http_send;
mod paths;
mod race;
mod read;
mod specs;
mod support;
mod write;
