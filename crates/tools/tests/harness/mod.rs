//! A test program with its own `main`, because it is also the sandbox helper.

use std::sync::OnceLock;

use prowess_sandbox::{Helper, maybe_run_helper};

macro_rules! tests {
    ($($name:ident)*) => { &[$((stringify!($name), $name as fn())),*] };
}

pub(crate) use tests;

/// The sandbox helper: this program.
pub(crate) static HELPER: OnceLock<Helper> = OnceLock::new();

/// Becomes the sandbox helper if it was started as one. Otherwise runs the tests that match the
/// arguments.
pub(crate) fn run(tests: &[(&str, fn())]) {
    HELPER.get_or_init(maybe_run_helper);
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let chosen = tests
        .iter()
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| name.contains(&**word)));
    if std::env::args().any(|word| word == "--list") {
        return chosen.for_each(|(name, _)| println!("{name}: test"));
    }
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, test) in chosen {
        let fine = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if fine { "ok" } else { "FAILED" });
        if fine { passed += 1 } else { failed.push(name) }
    }
    println!(
        "test result: {passed} passed; {} failed {failed:?}",
        failed.len()
    );
    assert!(failed.is_empty(), "{failed:?}");
}
