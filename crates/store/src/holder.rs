//! Which process has a session, and whether it still lives.

use std::fs;

use rustix::process::{Pid, test_kill_process};

/// A process, told from another one that has its number later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Its number.
    pub(crate) process: u32,
    /// When it began, in the system's own measure; zero where that cannot be known.
    pub(crate) start: i64,
    /// Where its number counts: which start of which machine, and which group of processes that see
    /// each other. Empty where that cannot be known.
    pub(crate) place: Box<str>,
}

/// What can be seen of a process.
enum Seen {
    /// It began then.
    Alive(i64),
    /// It is not there, or it has ended and only its parent does not know yet.
    Gone,
    /// Nothing: there is no `/proc`.
    Unknown,
}

impl Holder {
    /// Returns this process.
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

    /// Returns whether it still lives.
    ///
    /// A process in another place cannot be seen from here and counts as gone: after a restart of a
    /// container nobody could take the session otherwise. If it does live, it cannot write any
    /// more, because its lease is lost.
    pub(crate) fn lives(&self) -> bool {
        if self.place != place() {
            return false;
        }
        match see(self.process) {
            Seen::Alive(start) => self.start == 0 || start == self.start,
            Seen::Gone => false,
            Seen::Unknown => {
                let pid = i32::try_from(self.process).ok().and_then(Pid::from_raw);
                // Whoever may not be signalled lives.
                pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
            }
        }
    }
}

fn see(process: u32) -> Seen {
    match fs::read(format!("/proc/{process}/stat")) {
        Ok(line) => read_stat(&line).unwrap_or(Seen::Gone),
        Err(_) if fs::metadata("/proc/self/stat").is_ok() => Seen::Gone,
        Err(_) => Seen::Unknown,
    }
}

/// Reads a line such as `42 (name) S 1 …`. The name may have brackets and spaces in it.
fn read_stat(line: &[u8]) -> Option<Seen> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(line.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return Some(Seen::Gone);
    }
    // The state is the third field, the start the twenty-second.
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

    #[test]
    fn a_process_lives_until_it_ends() {
        let here = Holder::here();
        assert!(here.lives());
        assert_eq!(here, Holder::here());
        if here.start == 0 {
            return;
        }
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let Seen::Alive(start) = see(child.id()) else {
            panic!("it lives")
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
        assert!(
            !recycled.lives(),
            "the number is that of another process now"
        );
        let elsewhere = Holder {
            place: "elsewhere".into(),
            ..other.clone()
        };
        assert!(!elsewhere.lives());
        child.kill().unwrap();
        // Its parent has not asked yet: until then its number stays.
        while !matches!(see(child.id()), Seen::Gone) {
            std::thread::yield_now();
        }
        assert!(!other.lives());
        child.wait().unwrap();
        assert!(!other.lives());
    }

    #[test]
    fn names_of_processes_may_be_odd() {
        let line = b"7 (a) Z (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n";
        assert!(matches!(read_stat(line), Some(Seen::Alive(4711))));
        assert!(matches!(read_stat(b"7 (a) Z 1"), Some(Seen::Gone)));
        for line in [&b""[..], b"7", b"7 (a)", b"7 (a) S 1 2", b"7 (\xff) S \xff"] {
            assert!(read_stat(line).is_none());
        }
    }
}
