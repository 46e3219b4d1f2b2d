//! Waiting for an event with a deadline.
//!
//! A test waits for the event itself if it can: a line on a pipe, a message on a channel, the end of
//! a thread. These functions are for the rest, such as a file that another process creates. No other
//! code of a test polls.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support fails by panicking"
)]

use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The deadline of one wait: longer than anything takes, and shorter than the deadline of a test.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The time between two looks. The thread waits, because a busy loop would slow down the process
/// that it waits for.
const INTERVAL: Duration = Duration::from_millis(1);

/// Waits until `probe` returns a value, and returns it. After [`PATIENCE`] it panics with `what`,
/// which names the event.
#[track_caller]
pub fn wait_for<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    poll(PATIENCE, &mut probe)
        .unwrap_or_else(|| panic!("{what}: did not happen within {PATIENCE:?}"))
}

/// Waits until `condition` is true. After [`PATIENCE`] it panics with `what`, which names the event.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Waits until a process exits. After [`PATIENCE`] it kills the process and panics.
#[track_caller]
pub fn wait_for_exit(child: &mut Child) -> ExitStatus {
    if let Some(status) = poll(PATIENCE, || child.try_wait().unwrap()) {
        return status;
    }
    let id = child.id();
    let _ = child.kill();
    let _ = child.wait();
    panic!("process {id} did not exit within {PATIENCE:?}");
}

/// Returns `true` as soon as `condition` is true, and `false` if that takes longer than `limit`. For
/// a test whose subject is the time; other tests use [`wait_until`].
pub fn happens_within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    poll(limit, || condition().then_some(())).is_some()
}

/// Ends a loop on another thread, also if the test fails before: its thread would be joined for ever.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicBool);

impl StopFlag {
    /// Returns `true` once the guard is dropped.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns a guard that sets the flag when it is dropped.
    pub fn set_on_drop(&self) -> StopGuard<'_> {
        StopGuard(self)
    }
}

/// Sets a [`StopFlag`] when it is dropped.
#[derive(Debug)]
pub struct StopGuard<'a>(&'a StopFlag);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

fn poll<T>(limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        let value = probe();
        if value.is_some() || Instant::now() >= deadline {
            return value;
        }
        thread::park_timeout(INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn waits_return_the_value_and_the_status() {
        let mut looks = 0;
        let value = wait_for("a third look", || {
            looks += 1;
            (looks == 3).then_some("x")
        });
        assert_eq!((value, looks), ("x", 3));
        assert!(!happens_within(Duration::ZERO, || false));
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || sender.send(()).unwrap());
        wait_until("a message", || receiver.try_recv().is_ok());
        other.join().unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        drop(child.stdin.take());
        assert!(wait_for_exit(&mut child).success());
    }

    #[test]
    fn failing_test_sets_the_flag() {
        let flag = StopFlag::default();
        assert!(!flag.is_set());
        let failed = catch_unwind(AssertUnwindSafe(|| {
            let _stop = flag.set_on_drop();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(failed.is_err() && flag.is_set());
    }
}
