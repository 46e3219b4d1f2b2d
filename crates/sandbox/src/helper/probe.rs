//! Looks at the sandbox from inside: each layer shows by what it stops.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::UdpSocket;
use std::path::Path;

/// What was found, by name.
pub(crate) type Probed = BTreeMap<Box<str>, bool>;

/// What is looked at. Every one is true without a sandbox, if the host program is root.
pub(crate) const NAMES: [&str; 6] = ["write", "socket", "privileges", "calls", "parents", "root"];

/// Tries everything, and prints what worked. The argument is a file outside of every grant.
pub(super) fn run(arguments: &[&str]) -> i32 {
    let outside = arguments.first().copied().unwrap_or("/nonexistent");
    let mut lines = String::new();
    for (name, works) in NAMES.iter().zip(look(Path::new(outside))) {
        lines.push_str(&format!("{name}={works}\n"));
    }
    i32::from(std::io::stdout().write_all(lines.as_bytes()).is_err())
}

fn look(outside: &Path) -> [bool; 6] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        line.split_ascii_whitespace()
            .nth(1)
            .unwrap_or_default()
            .to_owned()
    };
    let none = |name| field(name).bytes().all(|byte| byte == b'0');
    [
        std::fs::OpenOptions::new()
            .append(true)
            .open(outside)
            .is_ok(),
        UdpSocket::bind("127.0.0.1:0").is_ok(),
        !(field("NoNewPrivs:") == "1" && none("CapEff:") && none("CapPrm:")),
        field("Seccomp:") != "2",
        // In a namespace of its own, the first process is ours and no other program's.
        field("NSpid:") == field("Pid:") && rustix::process::getpid().as_raw_nonzero().get() > 8,
        rustix::process::getuid().is_root(),
    ]
}

/// Reads what was printed.
pub(crate) fn parse(text: &str) -> Probed {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, works)| (name.into(), works == "true"))
        .collect()
}
