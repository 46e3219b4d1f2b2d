//! Tests with real files and real processes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test"
)]

mod children;
mod files;
mod kill;
mod processes;
mod session_children;
mod session_files;
mod sessions;
