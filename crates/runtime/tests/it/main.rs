//! Sessions and sub-runs with real files, skills, rules, processes and stores. Only the model is
//! scripted.
//!
//! This program has its own `main` because it also runs as the sandbox helper, and as the second
//! process in tests that need two.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod agents;
mod approvals;
mod bad_models;
mod budgets;
mod cancel;
mod changes;
mod compaction;
mod crews;
mod hints;
mod hooks;
mod isolation;
mod keys;
mod missions;
mod processes;
mod questions;
mod resume;
mod rights;
mod script;
mod sessions;
mod skills;
mod stores;
mod subruns;
mod talk;
mod telemetry;
mod typed;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    world::HELPER.get_or_init(prowess_sandbox::maybe_run_helper);
    if processes::is_other() {
        processes::other();
        return ExitCode::SUCCESS;
    }
    // `tracing` caches the interest of each callsite at its first use. A global subscriber keeps a
    // callsite from being cached as disabled by a test without one.
    tracing::subscriber::set_global_default(tracing_subscriber::registry()).unwrap();
    prowess_test::harness::run(
        [
            agents::tests(),
            approvals::tests(),
            bad_models::tests(),
            budgets::tests(),
            cancel::tests(),
            changes::tests(),
            compaction::tests(),
            crews::tests(),
            hints::tests(),
            hooks::tests(),
            isolation::tests(),
            keys::tests(),
            missions::tests(),
            processes::tests(),
            questions::tests(),
            resume::tests(),
            rights::tests(),
            sessions::tests(),
            skills::tests(),
            stores::tests(),
            subruns::tests(),
            telemetry::tests(),
            typed::tests(),
        ]
        .concat(),
    )
}
