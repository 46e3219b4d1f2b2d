//! Tests of the server in its own process, with scripted clients. Real clients are in
//! `tests/clients`; `cargo xtask mcp-clients` runs them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking"
)]

mod bad_input;
mod client;
mod http;
mod install;
mod skills;
mod support;
