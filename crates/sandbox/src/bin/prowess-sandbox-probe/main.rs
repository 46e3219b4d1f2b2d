//! Tries to do harm, for the tests: one attack for each name, and says which ones worked.
//!
//! `prowess-sandbox-probe NAME=ARGUMENT…` prints `NAME works` or `NAME blocked (why)` for each.
//! Everything is undone or harmless where it works, because it works in the control runs.

#[cfg(target_os = "linux")]
mod attacks;

fn main() {
    #[cfg(target_os = "linux")]
    attacks::main();
}
