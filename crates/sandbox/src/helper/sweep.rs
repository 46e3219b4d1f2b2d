//! Ends a tree of processes, even if its members detach from it.
//!
//! The helper is the reaper of its descendants: a process that loses its parent becomes a child of
//! the helper. So the tree is gone when the helper has no child left.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process};

use super::supervise::{Group, end_of};
use crate::outcome::End;

/// Time in which every process must end. Only one that is blocked in the kernel can take longer.
const LONGEST: Duration = Duration::from_secs(10);

/// Asks every descendant to end, except those closer than `skip` generations.
pub(super) fn ask_to_end(skip: usize) {
    for (pid, depth) in descendants() {
        if depth >= skip {
            let _ = kill_process(pid, Signal::TERM);
            // A stopped process would not handle it.
            let _ = kill_process(pid, Signal::CONT);
        }
    }
}

/// Ends every descendant. Returns how many are left after [`LONGEST`], and how the leader ended if
/// it was among them.
pub(super) fn end_all(group: &Group, leader: Pid) -> (u32, Option<End>) {
    let start = Instant::now();
    let mut end = None;
    loop {
        group.kill();
        let found = descendants();
        for (pid, _) in &found {
            let _ = kill_process(*pid, Signal::KILL);
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == leader => end = end_of(status),
                Ok(None) => break,
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                // No child is left, and so no descendant.
                Err(_) => return (0, end),
            }
        }
        if start.elapsed() > LONGEST {
            return (u32::try_from(found.len().max(1)).unwrap_or(u32::MAX), end);
        }
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// Reaps one child, if one has ended.
pub(super) fn reap() -> Option<(Pid, WaitStatus)> {
    rustix::process::wait(WaitOptions::NOHANG).ok().flatten()
}

/// A descriptor that becomes readable when the leader ends.
#[cfg(target_os = "linux")]
pub(super) fn watch(leader: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(leader, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn watch(_: Pid) -> Option<OwnedFd> {
    None
}

/// Returns every descendant with the number of generations in between.
#[cfg(target_os = "linux")]
fn descendants() -> Vec<(Pid, usize)> {
    let mut found = Vec::new();
    let mut todo = vec![(rustix::process::getpid(), 0)];
    while let Some((parent, depth)) = todo.pop() {
        let tasks = format!("/proc/{}/task", parent.as_raw_nonzero());
        for task in std::fs::read_dir(tasks).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            for child in children.unwrap_or_default().split_ascii_whitespace() {
                if let Some(pid) = child.parse().ok().and_then(Pid::from_raw) {
                    found.push((pid, depth));
                    todo.push((pid, depth + 1));
                }
            }
        }
    }
    found
}

/// Asks `ps`, as there is no `/proc`.
#[cfg(not(target_os = "linux"))]
fn descendants() -> Vec<(Pid, usize)> {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    let listed = std::process::Command::new("/bin/ps")
        .args(["-axo", "pid=,ppid="])
        .output();
    let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let pairs: Vec<(String, String)> = text
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.trim().split_once(char::is_whitespace))
        .map(|(pid, parent)| (pid.trim().to_owned(), parent.trim().to_owned()))
        .collect();
    let mut found = Vec::new();
    let mut todo = vec![(own, 0)];
    while let Some((parent, depth)) = todo.pop() {
        for (child, _) in pairs.iter().filter(|(_, of)| *of == parent) {
            if let Some(pid) = child.parse().ok().and_then(Pid::from_raw) {
                found.push((pid, depth));
                todo.push((child.clone(), depth + 1));
            }
        }
    }
    found
}
