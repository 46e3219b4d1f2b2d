//! Detects whether the process that holds a session is still running.

use std::fmt;
use std::fs;

use rustix::process::{Pid, test_kill_process};

/// A process, distinguishable from a later one with the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The process id.
    pub(crate) process: u32,
    /// The start time in clock ticks; 0 if unknown.
    pub(crate) start: i64,
    /// The scope of the process id: the boot id and the PID namespace. Empty if unknown.
    pub(crate) place: Box<str>,
}

/// The state of a process.
enum Seen {
    /// Running, with its start time.
    Alive(i64),
    /// Not running, or a zombie.
    Gone,
    /// Unknown, because there is no `/proc`.
    Unknown,
}

impl Holder {
    /// Returns the current process.
    pub(crate) fn here() -> Self {
        let process = std::process::id();
        let start = match see(process) {
            Seen::Alive(start) => start,
            Seen::Gone | Seen::Unknown => 0,
        };
        Self {
            process,
            start,
            place: place(),
        }
    }

    /// Returns `true` if the process is still running.
    ///
    /// A process in another scope cannot be seen from here and counts as gone; otherwise a session
    /// could not be resumed after a container restarts. If it does run, it cannot write any more,
    /// because its lease is lost.
    pub(crate) fn lives(&self) -> bool {
        if self.place != place() {
            return false;
        }
        match see(self.process) {
            Seen::Alive(start) => self.start == 0 || start == self.start,
            Seen::Gone => false,
            Seen::Unknown => {
                let pid = i32::try_from(self.process).ok().and_then(Pid::from_raw);
                // A process that may not be signalled exists.
                pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
            }
        }
    }
}

/// The process as text for a person.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on this machine", self.process)
    }
}

fn see(process: u32) -> Seen {
    match fs::read(format!("/proc/{process}/stat")) {
        Ok(line) => read_stat(&line).unwrap_or(Seen::Gone),
        Err(_) if fs::metadata("/proc/self/stat").is_ok() => Seen::Gone,
        Err(_) => Seen::Unknown,
    }
}

/// Parses a line such as `42 (name) S 1 …`. The name may contain brackets and spaces.
fn read_stat(line: &[u8]) -> Option<Seen> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(line.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return Some(Seen::Gone);
    }
    // The state is field 3, the start time is field 22.
    fields.nth(18)?.parse().ok().map(Seen::Alive)
}

fn place() -> Box<str> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    match (boot.trim(), namespace.to_string_lossy()) {
        ("", namespace) if namespace.is_empty() => Box::default(),
        (boot, namespace) => format!("{boot} {namespace}").into(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn process_lives_until_it_exits() {
        let here = Holder::here();
        assert!(here.lives());
        assert_eq!(here, Holder::here());
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let Seen::Alive(start) = see(child.id()) else {
            panic!("it is running")
        };
        let other = Holder {
            process: child.id(),
            start,
            ..here.clone()
        };
        assert!(other.lives());
        let recycled = Holder {
            start: start - 1,
            ..other.clone()
        };
        assert!(!recycled.lives(), "the id belongs to another process now");
        let elsewhere = Holder {
            place: "elsewhere".into(),
            ..other.clone()
        };
        assert!(!elsewhere.lives());
        child.kill().unwrap();
        // Until it is waited for, it is a zombie with the same id.
        prowess_test::wait_until("the process ends", || matches!(see(child.id()), Seen::Gone));
        assert!(!other.lives());
        child.wait().unwrap();
        assert!(!other.lives());
    }

    #[test]
    fn stat_line_with_odd_process_name_is_parsed() {
        let line = b"7 (a) Z (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n";
        assert!(matches!(read_stat(line), Some(Seen::Alive(4711))));
        assert!(matches!(read_stat(b"7 (a) Z 1"), Some(Seen::Gone)));
        for line in [&b""[..], b"7", b"7 (a)", b"7 (a) S 1 2", b"7 (\xff) S \xff"] {
            assert!(read_stat(line).is_none());
        }
    }
}
