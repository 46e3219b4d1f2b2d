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
}
