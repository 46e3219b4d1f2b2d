//! Tests with real repositories, archives, servers and processes.
//!
//! The binary has its own `main`, because the kill tests start it again as the process that is killed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and a child says why it failed"
)]

use std::process::ExitCode;

mod archive;
mod git;
mod index;
mod operations;
mod project;
mod registry;
mod shop;
mod signed;
mod ssh;
mod support;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some(support::CHILD) {
        let args: Vec<String> = args.collect();
        return project::child(&args);
    }
    prowess_test::harness::run(
        [
            archive::tests(),
            git::tests(),
            index::tests(),
            operations::tests(),
            project::tests(),
            registry::tests(),
            signed::tests(),
            ssh::tests(),
        ]
        .concat(),
    )
}
