//! Tests with real files and processes.
//!
//! This program has its own `main` because it is also the other process.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod children;
mod files;
mod kill;
mod processes;
mod session_children;
mod session_files;
mod sessions;

use std::process::ExitCode;

fn main() -> ExitCode {
    if children::run_as_child() {
        return ExitCode::SUCCESS;
    }
    prowess_test::harness::run(
        [
            files::tests(),
            kill::tests(),
            processes::tests(),
            session_files::tests(),
            sessions::tests(),
        ]
        .concat(),
    )
}
