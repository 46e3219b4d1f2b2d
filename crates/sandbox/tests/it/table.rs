//! Measures what each set of layers stops, for the tables in `docs/concepts/sandbox.md`.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use prowess_policy::profile::Strength;
use prowess_sandbox::{CommandOptions, Layer};

use prowess_test::harness::not_run;

use crate::support::{
    Place, REQUIRE_SANDBOX, Runtime, approved, as_ordinary_user, mode, probe, root,
};

prowess_test::tests! {
    every_set_of_layers_stops_what_the_document_says
}

/// A row: its title and its attacks.
const ROWS: &[(&str, &[&str])] = &[
    (
        "write, make, cut, rename, remove, hard-link outside",
        &[
            "write",
            "create",
            "truncate",
            "rename",
            "remove",
            "hard-link",
        ],
    ),
    ("change mode or time outside", &["chmod", "utime"]),
    (
        "change the mode of a device",
        &["device-mode", "input-mode"],
    ),
    ("change owner outside", &["chown"]),
    (
        "read the runtime's environment through `/proc`",
        &["read-environment"],
    ),
    ("see the runtime's variables", &["see-variables"]),
    ("read `/etc/shadow`", &["read-shadow"]),
    ("TCP to a listener on this machine", &["tcp"]),
    ("UDP to a listener on this machine", &["udp"]),
    ("abstract Unix socket", &["abstract-socket"]),
    ("Unix socket with a path", &["path-socket"]),
    (
        "Unix socket with a path, from a pair of datagram sockets",
        &["datagram-pair"],
    ),
    (
        "System V shared memory of another process",
        &["shared-memory"],
    ),
    (
        "change what git executes: `config`, `commondir`, `HEAD`, hooks",
        &["git-config", "git-commondir", "git-head", "git-hook"],
    ),
    ("see that a file outside exists", &["look"]),
    ("signal the runtime", &["signal"]),
    ("trace the runtime", &["ptrace"]),
    (
        "change limits or priority of the runtime",
        &["limits", "priority", "affinity"],
    ),
    ("set the host's name", &["host-name"]),
    ("set the clock", &["clock"]),
    ("mount", &["mount"]),
    ("`io_uring`", &["io-uring"]),
    ("keys of the session", &["keyctl"]),
    ("make a device", &["device"]),
    ("make a file that runs as its owner", &["set-user-bit"]),
    ("new user namespace", &["user-namespace"]),
];

const ROOT: &[Column] = &[
    Column {
        title: "no sandbox",
        sandbox: None,
    },
    Column {
        title: "layer 0",
        sandbox: Some((Strength::Off, &[])),
    },
    Column {
        title: "Landlock only",
        sandbox: Some((
            Strength::BestEffort,
            &[
                Layer::Capabilities,
                Layer::Seccomp,
                Layer::Namespaces,
                Layer::Identity,
            ],
        )),
    },
    Column {
        title: "Landlock, no capabilities",
        sandbox: Some((
            Strength::BestEffort,
            &[Layer::Seccomp, Layer::Namespaces, Layer::Identity],
        )),
    },
    Column {
        title: "layer 1",
        sandbox: Some((Strength::BestEffort, &[Layer::Namespaces, Layer::Identity])),
    },
    Column {
        title: "Landlock, another user",
        sandbox: Some((
            Strength::BestEffort,
            &[Layer::Capabilities, Layer::Seccomp, Layer::Namespaces],
        )),
    },
    Column {
        title: "layers 1 and 3",
        sandbox: Some((Strength::Required, &[Layer::Namespaces])),
    },
    Column {
        title: "layers 1 and 2",
        sandbox: Some((Strength::Required, &[])),
    },
];

const USER: &[Column] = &[
    Column {
        title: "no sandbox",
        sandbox: None,
    },
    Column {
        title: "layer 0",
        sandbox: Some((Strength::Off, &[])),
    },
    Column {
        title: "Landlock only",
        sandbox: Some((
            Strength::BestEffort,
            &[Layer::Capabilities, Layer::Seccomp, Layer::Namespaces],
        )),
    },
    Column {
        title: "layer 1",
        sandbox: Some((Strength::BestEffort, &[Layer::Namespaces])),
    },
    Column {
        title: "layers 1 and 2",
        sandbox: Some((Strength::Required, &[])),
    },
];

struct Column {
    title: &'static str,
    sandbox: Option<(Strength, &'static [Layer])>,
}

/// Returns the attacks that worked in one column.
fn measure(column: &Column) -> BTreeMap<String, bool> {
    let strength = column
        .sandbox
        .map_or(Strength::Off, |(strength, _)| strength);
    let mut place = Place::new(strength);
    let outside = place.outside();
    let target = outside.join("file");
    std::fs::write(&target, "x").unwrap();
    mode(&target, 0o644);
    std::fs::create_dir(outside.join("empty")).unwrap();
    let runtime = Runtime::start();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = format!("prowess-{}-{}", std::process::id(), runtime.pid());
    let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let socket = outside.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();

    let datagram = outside.join("datagram");
    let datagrams = std::os::unix::net::UnixDatagram::bind(&datagram).unwrap();
    // Beside a repository: without namespaces, nothing can be created in the folder that has one.
    let free = place.work().join("free");
    std::fs::create_dir(&free).unwrap();
    mode(&free, 0o777);
    let git = place.work().join(".git");
    for folder in ["hooks", "objects", "refs"] {
        std::fs::create_dir_all(git.join(folder)).unwrap();
        mode(&git.join(folder), 0o777);
    }
    mode(&git, 0o777);
    for name in ["config", "HEAD", "commondir", "hooks/post-commit"] {
        std::fs::write(git.join(name), "").unwrap();
        mode(&git.join(name), 0o666);
    }
    let memory = SharedMemory::new(runtime.pid());

    let file = |path: &Path| path.to_str().unwrap().to_owned();
    let pid = runtime.pid().to_string();
    let argument = |attack: &str| match attack {
        "read-environment" | "signal" | "ptrace" | "limits" | "priority" | "affinity" => {
            pid.clone()
        }
        "read-shadow" => "/etc/shadow".to_owned(),
        "tcp" => tcp.local_addr().unwrap().to_string(),
        "udp" => udp.local_addr().unwrap().to_string(),
        "abstract-socket" => name.clone(),
        "path-socket" => file(&socket),
        "datagram-pair" => file(&datagram),
        "shared-memory" => memory.key.clone(),
        "git-config" => file(&git.join("config")),
        "git-commondir" => file(&git.join("commondir")),
        "git-head" => file(&git.join("HEAD")),
        "git-hook" => file(&git.join("hooks/post-commit")),
        "mount" => file(&outside.join("empty")),
        "device" => file(&free.join("device")),
        "set-user-bit" => file(&free.join("set-user")),
        _ => file(&target),
    };
    let attacks = ROWS.iter().flat_map(|(_, attacks)| attacks.iter());
    let words: Vec<String> = attacks
        .map(|attack| format!("{attack}={}", argument(attack)))
        .collect();
    let text = if let Some((_, without)) = column.sandbox {
        // The runtime offers its whole environment; the list decides.
        place.runner = place
            .runner
            .inherit([("PROWESS_TEST_KEY".into(), "x".into())]);
        place.runner = place.runner.without(without.iter().copied());
        let line = format!("{} {}", probe().display(), words.join(" "));
        let outcome = place
            .runner
            .run(&approved(&line), &place.profile, CommandOptions::default());
        let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", column.title));
        assert!(outcome.success(), "{}: {outcome:?}", column.title);
        outcome.stdout.text().into_owned()
    } else {
        let output = std::process::Command::new(probe())
            .args(&words)
            .env("PROWESS_TEST_KEY", "x")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    drop((listener, hidden, datagrams, memory));
    let found: BTreeMap<String, bool> = text
        .lines()
        .map(|line| {
            let (name, result) = line.split_once(' ').unwrap();
            (name.to_owned(), result == "works")
        })
        .collect();
    assert_eq!(found.len(), words.len(), "{}: {text}", column.title);
    found
}

/// A segment of memory that belongs to no process, with a number that no other test has.
struct SharedMemory {
    key: String,
}

impl SharedMemory {
    fn new(number: u32) -> Self {
        let key = (0x5eed_0000 + number).to_string();
        let memory = Self { key };
        memory.ask("shared-memory-make");
        memory
    }

    fn ask(&self, what: &str) {
        let output = std::process::Command::new(probe())
            .arg(format!("{what}={}", self.key))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text, format!("{what} works\n"));
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        self.ask("shared-memory-remove");
    }
}

/// The table as Markdown. Rows that do not work without a sandbox are not shown as stopped by one.
fn table(columns: &[Column]) -> String {
    let measured: Vec<_> = columns.iter().map(measure).collect();
    let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
    let mut text = format!(
        "| attack | {} |\n|---|{}\n",
        titles.join(" | "),
        "---|".repeat(titles.len())
    );
    for (title, attacks) in ROWS {
        let worked: Vec<&str> = attacks
            .iter()
            .copied()
            .filter(|attack| measured[0][*attack])
            .collect();
        let cells: Vec<String> = measured
            .iter()
            .map(|column| {
                let through = worked.iter().filter(|attack| column[**attack]).count();
                match through {
                    _ if worked.is_empty() => "–".to_owned(),
                    0 => "blocked".to_owned(),
                    all if all == worked.len() => "**works**".to_owned(),
                    some => format!("**{some} of {} work**", worked.len()),
                }
            })
            .collect();
        text.push_str(&format!("| {title} | {} |\n", cells.join(" | ")));
    }
    text
}

/// Compares with the document, which shows what this test measured.
fn compare(name: &str, measured: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/sandbox.md");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let (begin, end) = (
        format!("<!-- begin {name} -->\n"),
        format!("<!-- end {name} -->"),
    );
    let shown = text
        .split_once(&begin)
        .and_then(|(_, rest)| rest.split_once(&end));
    let shown = shown.map_or("", |(shown, _)| shown).trim();
    assert!(
        shown == measured.trim(),
        "docs/concepts/sandbox.md shows something else for {name}; measured here:\n\n{measured}"
    );
}

/// The last column is what we promise: nothing gets through.
fn nothing_gets_through(table: &str) {
    for line in table.lines().skip(2) {
        let last = line
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap()
            .trim();
        assert!(matches!(last, "blocked" | "–"), "{line}");
    }
}

fn every_set_of_layers_stops_what_the_document_says() {
    if root() {
        let measured = table(ROOT);
        nothing_gets_through(&measured);
        compare("root", &measured);
        as_ordinary_user("table::as_a_user");
    } else {
        not_run(
            "the columns of root; this is an ordinary user",
            REQUIRE_SANDBOX,
        );
        let measured = table(USER);
        nothing_gets_through(&measured);
    }
}

pub(crate) fn as_a_user() {
    let measured = table(USER);
    nothing_gets_through(&measured);
    compare("user", &measured);
}
