//! The helper as a program of its own, for tests and for hosts that cannot be their own helper.

fn main() {
    prowess_sandbox::maybe_run_helper();
}
