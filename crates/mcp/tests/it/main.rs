//! The server in a process of its own, with clients that say exactly what a test wants. Real
//! clients are in `tests/clients`; `cargo xtask mcp-clients` runs them.

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
