//! The runner and the sandbox, on this machine.
//!
//! This program has its own `main` because tests start it again as another user or process.
#![cfg_attr(
    target_os = "linux",
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::print_stderr,
        reason = "a test fails by panicking, and says on the terminal what it could not run"
    )
)]

#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod environment;
#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod input;
#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(target_os = "linux")]
mod support;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod ways_out;
#[cfg(target_os = "linux")]
mod ways_out_fifth;
#[cfg(target_os = "linux")]
mod ways_out_fourth;
#[cfg(target_os = "linux")]
mod ways_out_seventh;
#[cfg(target_os = "linux")]
mod ways_out_sixth;

use std::process::ExitCode;

/// The parts that this program plays for a test, as another user or in a process of its own.
#[cfg(target_os = "linux")]
const ROLES: &[(&str, fn())] = &[
    ("attacks::as_a_user", attacks::as_a_user),
    ("git::committing_as_a_user", git::committing_as_a_user),
    ("git::home_as_a_user", git::home_as_a_user),
    ("git::ordinary_work_as_a_user", git::ordinary_work_as_a_user),
    ("git::plants_as_a_user", git::plants_as_a_user),
    ("input::as_a_user", input::as_a_user),
    ("input::thousand_runs", input::thousand_runs),
    ("layers::as_a_user", layers::as_a_user),
    ("orphans::host", orphans::host),
    ("orphans::writing_host", orphans::writing_host),
    ("table::as_a_user", table::as_a_user),
    (
        "ways_out_fifth::closed_as_a_user",
        ways_out_fifth::closed_as_a_user,
    ),
    (
        "ways_out_fifth::limits_as_a_user",
        ways_out_fifth::limits_as_a_user,
    ),
    ("ways_out_fourth::host", ways_out_fourth::host),
    (
        "ways_out_sixth::closed_scratch",
        ways_out_sixth::closed_scratch,
    ),
    (
        "ways_out_sixth::following_links_of_the_system",
        ways_out_sixth::following_links_of_the_system,
    ),
    (
        "ways_out_sixth::in_loose_case",
        ways_out_sixth::in_loose_case,
    ),
    (
        "ways_out_sixth::mounted_in_itself",
        ways_out_sixth::mounted_in_itself,
    ),
    (
        "ways_out_sixth::reading_secrets",
        ways_out_sixth::reading_secrets,
    ),
    (
        "ways_out_sixth::scratch_that_stays",
        ways_out_sixth::scratch_that_stays,
    ),
    (
        "ways_out_seventh::in_search_path",
        ways_out_seventh::in_search_path,
    ),
    ("ways_out_seventh::locking", ways_out_seventh::locking),
    (
        "ways_out_seventh::mounted_parts",
        ways_out_seventh::mounted_parts,
    ),
    (
        "ways_out_seventh::named_files",
        ways_out_seventh::named_files,
    ),
    ("ways_out::two_runs_as_a_user", ways_out::two_runs_as_a_user),
    ("ways_out::home_as_a_user", ways_out::home_as_a_user),
    (
        "ways_out::unsearchable_as_a_user",
        ways_out::unsearchable_as_a_user,
    ),
    ("ways_out::ways_as_a_user", ways_out::ways_as_a_user),
];

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use std::time::Duration;

    if let Some(role) = support::role() {
        let known = ROLES.iter().find(|(name, _)| *name == role);
        known.expect("a known role").1();
        println!("{}", support::role_finished(&role));
        return ExitCode::SUCCESS;
    }
    let tests = [
        attacks::tests(),
        environment::tests(),
        git::tests(),
        input::tests(),
        layers::tests(),
        orphans::tests(),
        runs::tests(),
        table::tests(),
        ways_out::tests(),
        ways_out_fourth::tests(),
        ways_out_fifth::tests(),
        ways_out_sixth::tests(),
        ways_out_seventh::tests(),
    ];
    // Some try hundreds of commands in every set of layers.
    let patient = |test: prowess_test::harness::TestCase| test.deadline(Duration::from_mins(5));
    prowess_test::harness::run(tests.concat().into_iter().map(patient))
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::SUCCESS
}
