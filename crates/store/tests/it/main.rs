//! Tests with real files and real processes.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test")]

mod children;
mod files;
mod processes;
