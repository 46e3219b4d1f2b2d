//! A test harness for binaries with their own `main`, such as those that are also the helper of the
//! sandbox.
//!
//! It is built on `libtest-mimic`, so `--list`, filters, `--exact`, `--nocapture`, `--test-threads`
//! and nextest work as usual. Each test has a deadline. In `Cargo.toml`:
//!
//! ```toml
//! [[test]]
//! name = "it"
//! harness = false
//! ```
//!
//! In `main.rs`, with a list of its tests in each module:
//!
//! ```ignore
//! mod files; // contains `prowess_test::tests! { reads_a_file writes_a_file }`
//!
//! static HELPER: OnceLock<Helper> = OnceLock::new();
//!
//! fn main() -> ExitCode {
//!     HELPER.get_or_init(prowess_sandbox::maybe_run_helper);
//!     prowess_test::harness::run([files::tests()].concat())
//! }
//! ```
//!
//! A test that is not listed is reported as dead code by the compiler.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError, RwLock, mpsc};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// The default deadline of a test.
pub const DEADLINE: Duration = Duration::from_mins(2);

/// Held for reading by parallel tests and for writing by serial ones.
static TURN: RwLock<()> = RwLock::new(());

/// One test.
#[derive(Clone, Copy, Debug)]
pub struct TestCase {
    name: &'static str,
    run: fn(),
    deadline: Duration,
    serial: bool,
}

impl TestCase {
    /// Creates a test. `path` is its full path; the name of the crate is dropped.
    pub fn new(path: &'static str, run: fn()) -> Self {
        Self {
            name: path.split_once("::").map_or(path, |(_, name)| name),
            run,
            deadline: DEADLINE,
            serial: false,
        }
    }

    /// Sets the deadline.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Runs the test while no other test of the binary runs.
    #[must_use]
    pub fn serial(self) -> Self {
        Self {
            serial: true,
            ..self
        }
    }
}

/// Lists the tests of a module: defines `tests()`, which returns them.
///
/// Tests after `serial:` run while no other test of the binary runs.
#[macro_export]
macro_rules! tests {
    ($($name:ident)* $(; serial: $($serial:ident)*)?) => {
        pub(crate) fn tests() -> Vec<$crate::harness::TestCase> {
            vec![
                $($crate::harness::TestCase::new(
                    concat!(module_path!(), "::", stringify!($name)),
                    $name,
                ),)*
                $($($crate::harness::TestCase::new(
                    concat!(module_path!(), "::", stringify!($serial)),
                    $serial,
                ).serial(),)*)?
            ]
        }
    };
}

/// Runs the tests that the command line selects.
pub fn run(tests: impl IntoIterator<Item = TestCase>) -> ExitCode {
    let trials = tests
        .into_iter()
        .map(|test| Trial::ignorable_test(test.name, move || execute(test)))
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The payload of a panic that skips a test.
struct Skip(String);

/// Ends the current test, which is reported as ignored with the reason. Outside of this harness the
/// test fails.
pub fn skip(reason: impl Into<String>) -> ! {
    // Unlike `panic!`, this does not print a message.
    resume_unwind(Box::new(Skip(reason.into())))
}

/// Skips the current test like [`skip`]. Fails it instead if the variable `required_by` is `1`.
pub fn skip_unless_required(reason: &str, required_by: &str) -> ! {
    assert_not_required(reason, required_by);
    skip(reason)
}

/// Prints, once per process, that a part of the tests does not run. Fails the test if the variable
/// `required_by` is `1`.
#[expect(clippy::print_stderr, reason = "no skip is silent")]
pub fn not_run(what: &str, required_by: &str) {
    static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    assert_not_required(what, required_by);
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.insert(what.to_owned()) {
        eprintln!("NOT RUN: {what}");
    }
}

fn assert_not_required(what: &str, required_by: &str) {
    let is_required = std::env::var_os(required_by).is_some_and(|value| value == "1");
    assert!(!is_required, "not run: {what}, and {required_by}=1");
}

fn execute(test: TestCase) -> Result<Completion, Failed> {
    let (_alone, _together) = if test.serial {
        (
            Some(TURN.write().unwrap_or_else(PoisonError::into_inner)),
            None,
        )
    } else {
        (
            None,
            Some(TURN.read().unwrap_or_else(PoisonError::into_inner)),
        )
    };
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let result = catch_unwind(AssertUnwindSafe(test.run));
        // The receiver is gone after the deadline.
        let _ = sender.send(result);
    };
    thread::Builder::new()
        .name(test.name.to_owned())
        .spawn(work)
        .map_err(|error| Failed::from(format!("cannot start a thread: {error}")))?;
    match receiver.recv_timeout(test.deadline) {
        Ok(Ok(())) => Ok(Completion::Completed),
        Ok(Err(payload)) => match payload.downcast::<Skip>() {
            Ok(skip) => Ok(Completion::ignored_with(skip.0)),
            Err(payload) => Err(message(&*payload).into()),
        },
        // The thread is left behind; it ends with the process.
        Err(_) => Err(format!("did not finish within {:?}", test.deadline).into()),
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the test panicked".to_owned())
}
