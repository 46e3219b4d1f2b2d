//! Tests of the harness, run by the harness itself. With a variable set, this program runs other
//! tests instead, which fail, hang or are skipped on purpose.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prowess_test::harness;

const FIXTURE: &str = "PROWESS_TEST_FIXTURE";
const REQUIRED: &str = "PROWESS_TEST_FIXTURE_REQUIRES";

prowess_test::tests! {
    results_are_reported
    filters_select_tests
    required_skip_fails
    tests_are_listed
}

fn main() -> ExitCode {
    if std::env::var_os(FIXTURE).is_some() {
        return harness::run(
            fixture::tests()
                .into_iter()
                .map(|test| test.deadline(Duration::from_millis(500))),
        );
    }
    harness::run(tests())
}

mod fixture {
    use super::{AtomicUsize, Ordering, harness};

    prowess_test::tests! {
        passes
        fails
        hangs
        is_skipped
        is_skipped_in_part
        is_skipped_unless_required
        runs_together
        ; serial: runs_alone runs_alone_too
    }

    static RUNNING: AtomicUsize = AtomicUsize::new(0);

    fn passes() {}

    fn fails() {
        assert_eq!(1 + 1, 3, "arithmetic");
    }

    fn hangs() {
        loop {
            std::thread::park();
        }
    }

    fn is_skipped() {
        harness::skip("not on this machine");
    }

    fn is_skipped_in_part() {
        harness::not_run("the second half", super::REQUIRED);
    }

    fn is_skipped_unless_required() {
        harness::skip_unless_required("no sandbox here", super::REQUIRED);
    }

    fn count() -> usize {
        let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
        for _ in 0..1_000 {
            std::thread::yield_now();
        }
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        running
    }

    fn runs_together() {
        count();
    }

    fn runs_alone() {
        assert_eq!(count(), 1);
    }

    fn runs_alone_too() {
        assert_eq!(count(), 1);
    }
}

/// Runs the fixture, and returns its exit code and what it printed.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    run_requiring("0", arguments)
}

fn run_requiring(required: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(arguments)
        .env(FIXTURE, "1")
        .env(REQUIRED, required)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), format!("{text}{errors}"))
}

fn results_are_reported() {
    let (code, text) = run(&[]);
    assert_eq!(code, Some(101), "{text}");
    for line in [
        "passes ",
        "did not finish within 500ms",
        "arithmetic",
        "not on this machine",
        "no sandbox here",
        "NOT RUN: the second half",
        "5 passed; 2 failed; 2 ignored",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

fn required_skip_fails() {
    let (code, text) = run_requiring("1", &["is_skipped"]);
    assert_eq!(code, Some(101), "{text}");
    assert!(
        text.contains("0 passed; 2 failed; 1 ignored"),
        "only a plain skip is left: {text}"
    );
}

fn filters_select_tests() {
    let (code, text) = run(&["alone"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("2 passed; 0 failed"), "{text}");
    let (code, text) = run(&["--exact", "fixture::passes"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("1 passed; 0 failed"), "{text}");
}

fn tests_are_listed() {
    let (code, text) = run(&["--list", "--format", "terse"]);
    assert_eq!(code, Some(0));
    let mut names: Vec<&str> = text.lines().collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "fixture::fails: test",
            "fixture::hangs: test",
            "fixture::is_skipped: test",
            "fixture::is_skipped_in_part: test",
            "fixture::is_skipped_unless_required: test",
            "fixture::passes: test",
            "fixture::runs_alone: test",
            "fixture::runs_alone_too: test",
            "fixture::runs_together: test",
        ]
    );
}
