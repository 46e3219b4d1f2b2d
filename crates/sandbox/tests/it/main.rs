//! The runner and the sandbox, on this machine.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says on the terminal what it could not run"
)]

mod attacks;
mod environment;
mod git;
mod input;
mod layers;
mod orphans;
mod runs;
mod support;
mod table;
