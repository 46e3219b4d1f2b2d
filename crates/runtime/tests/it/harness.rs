//! A parallel test harness for a program with its own `main`.

use std::sync::{Mutex, OnceLock};

use prowess_sandbox::{Helper, maybe_run_helper};

/// Tests with their names.
pub(crate) type Tests = &'static [(&'static str, fn())];

macro_rules! tests {
    ($($name:ident)*) => { &[$((stringify!($name), $name as fn())),*] };
}

pub(crate) use tests;

/// This program, as its own sandbox helper.
pub(crate) static HELPER: OnceLock<Helper> = OnceLock::new();

/// Number of tests that run in parallel.
const AT_ONCE: usize = 4;

/// Runs as the sandbox helper or as the second process if started as one. Otherwise runs the tests
/// whose names match the arguments.
pub(crate) fn run(modules: &[(&str, Tests)]) {
    HELPER.get_or_init(maybe_run_helper);
    if crate::processes::is_other() {
        return crate::processes::other();
    }
    // `tracing` caches the interest of each callsite at its first use. A global subscriber keeps a
    // callsite from being cached as disabled by a test without one.
    tracing::subscriber::set_global_default(tracing_subscriber::registry()).unwrap();
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let mut chosen: Vec<(String, fn())> = modules
        .iter()
        .flat_map(|(module, tests)| {
            tests
                .iter()
                .map(move |(name, test)| (format!("{module}::{name}"), *test))
        })
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| name.contains(&**word)))
        .collect();
    if std::env::args().any(|word| word == "--list") {
        return chosen.iter().for_each(|(name, _)| println!("{name}: test"));
    }
    chosen.reverse();
    let queue = Mutex::new(chosen);
    let ended: Mutex<(usize, Vec<String>)> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((name, test)) = queue.lock().unwrap().pop() else {
                        return;
                    };
                    let fine = std::panic::catch_unwind(test).is_ok();
                    println!("test {name} ... {}", if fine { "ok" } else { "FAILED" });
                    let mut ended = ended.lock().unwrap();
                    if fine {
                        ended.0 += 1;
                    } else {
                        ended.1.push(name);
                    }
                }
            });
        }
    });
    let (passed, failed) = ended.into_inner().unwrap();
    println!(
        "test result: {passed} passed; {} failed {failed:?}",
        failed.len()
    );
    assert!(failed.is_empty(), "{failed:?}");
}
