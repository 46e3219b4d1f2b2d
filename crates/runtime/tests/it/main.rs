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
mod harness;
mod hooks;
mod isolation;
mod keys;
mod processes;
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

fn main() {
    harness::run(&[
        ("agents", agents::TESTS),
        ("approvals", approvals::TESTS),
        ("bad_models", bad_models::TESTS),
        ("budgets", budgets::TESTS),
        ("cancel", cancel::TESTS),
        ("changes", changes::TESTS),
        ("compaction", compaction::TESTS),
        ("hooks", hooks::TESTS),
        ("isolation", isolation::TESTS),
        ("keys", keys::TESTS),
        ("processes", processes::TESTS),
        ("resume", resume::TESTS),
        ("rights", rights::TESTS),
        ("sessions", sessions::TESTS),
        ("skills", skills::TESTS),
        ("stores", stores::TESTS),
        ("subruns", subruns::TESTS),
        ("telemetry", telemetry::TESTS),
        ("typed", typed::TESTS),
    ]);
}
