//! Ends a tree of processes, whatever its members did to hide.
//!
//! The helper is the reaper of its descendants: whoever loses its parent becomes our child. So the
//! tree is gone when we have no child left.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process};

use super::supervise::{Group, end_of};
use crate::outcome::End;

/// How long ending may take. Only a process inside the kernel can outlast it.
const LONGEST: Duration = Duration::from_secs(10);

/// Asks every descendant to end, except those closer than `skip` generations.
pub(super) fn ask_to_end(skip: usize) {
    for (pid, depth) in descendants() {
        if depth >= skip {
            let _ = kill_process(pid, Signal::TERM);
            // A stopped process would not hear it.
            let _ = kill_process(pid, Signal::CONT);
        }
    }
}

/// Ends every descendant. Returns how many are left after [`LONGEST`], and how the leader ended if
/// that was seen on the way.
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

/// Takes one ended child, if there is one.
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

/// Every descendant, with the number of generations between.
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

/// Without `/proc` only the groups of processes we started are known.
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
