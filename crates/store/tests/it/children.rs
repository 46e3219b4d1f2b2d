//! Other processes: this program, with its role in a variable.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use prowess_store::SqliteUsage;
use prowess_test::harness::skip;
use prowess_traits::{SkillUse, UsageError, UsageQuery, UsageStore};
use rusqlite::Connection;

use crate::session_children;

const ROLE: &str = "PROWESS_TEST_ROLE";
const PATH: &str = "PROWESS_TEST_PATH";
/// The number of uses that one process records.
pub(crate) const USES: i64 = 1000;
/// The number of skills they are spread over.
pub(crate) const SKILLS: i64 = 3;

pub(crate) fn command(role: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).env(PATH, path);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Starts a child and waits until it prints `ready`. It continues when its input is closed.
pub(crate) fn start(role: &str, path: &Path) -> Child {
    let mut child = command(role, path).spawn().unwrap();
    wait_for(&mut child, "ready\n");
    child
}

/// Reads the output of a child up to `text`.
pub(crate) fn wait_for(child: &mut Child, text: &str) {
    let output = child.stdout.as_mut().unwrap();
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(text.as_bytes()) {
        assert_eq!(
            output.read(&mut byte).unwrap(),
            1,
            "{}",
            String::from_utf8_lossy(&seen)
        );
        seen.push(byte[0]);
    }
}

pub(crate) fn finish(mut child: Child) {
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Runs a child as a user who is subject to permissions.
pub(crate) fn as_ordinary_user(role: &str, path: &Path) {
    let mut command = command(role, path);
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    match command.spawn() {
        Ok(child) => finish(child),
        Err(error) => skip(format!(
            "cannot start a process as an ordinary user: {error}"
        )),
    }
}

pub(crate) fn say_ready_and_wait() {
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

pub(crate) fn patient(path: &Path) -> SqliteUsage {
    SqliteUsage::new(path).with_busy_timeout(Duration::from_mins(5))
}

pub(crate) fn record_many(store: &SqliteUsage) {
    for number in 0..USES {
        store
            .record(&SkillUse::new("p", format!("s{}", number % SKILLS), number))
            .unwrap();
    }
}

/// Acts as the other process if this program was started as one, and returns `true`.
pub(crate) fn run_as_child() -> bool {
    let Ok(role) = std::env::var(ROLE) else {
        return false;
    };
    let path = PathBuf::from(std::env::var_os(PATH).unwrap());
    match role.as_str() {
        "record" => {
            say_ready_and_wait();
            record_many(&patient(&path));
        }
        "record forever" => {
            let store = patient(&path);
            for number in 0.. {
                store.record(&SkillUse::new("p", "a", number)).unwrap();
                if number == 200 {
                    println!("ready");
                }
            }
        }
        "lock for writers" => {
            let connection = Connection::open(path).unwrap();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            say_ready_and_wait();
        }
        "lock for all" => {
            let connection = Connection::open(path).unwrap();
            connection
                .pragma_update(None, "locking_mode", "EXCLUSIVE")
                .unwrap();
            connection
                .execute_batch("BEGIN EXCLUSIVE; DELETE FROM usage WHERE 0; COMMIT")
                .unwrap();
            connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
            say_ready_and_wait();
        }
        "modes" => {
            rustix::process::umask(rustix::fs::Mode::empty());
            let store = SqliteUsage::new(&path);
            store.record(&SkillUse::new("p", "a", 1)).unwrap();
            let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(path.parent().unwrap().into()), 0o700);
            assert_eq!(mode(path.parent().unwrap().parent().unwrap().into()), 0o700);
            for ending in ["", "-wal", "-shm"] {
                assert_eq!(
                    mode(format!("{}{ending}", path.display()).into()),
                    0o600,
                    "{ending}"
                );
            }
        }
        "read only" => {
            for name in ["usage.db", "usage%20?x=1#.db"] {
                let store = SqliteUsage::new(path.join(name));
                for _ in 0..2 {
                    assert_eq!(
                        store.rows(&UsageQuery::project("p")).unwrap().len(),
                        1,
                        "{name}"
                    );
                    let result = store.record(&SkillUse::new("p", "b", 2));
                    assert!(
                        matches!(result, Err(UsageError::ReadOnly { .. })),
                        "{result:?}"
                    );
                }
            }
            let store = SqliteUsage::new(path.join("new/usage.db"));
            assert_eq!(store.rows(&UsageQuery::project("p")).unwrap(), []);
            let result = store.record(&SkillUse::new("p", "b", 2));
            assert!(
                matches!(result, Err(UsageError::ReadOnly { .. })),
                "{result:?}"
            );
            let store = SqliteUsage::new(path.join("secret.db"));
            let result = store.rows(&UsageQuery::project("p"));
            assert!(
                matches!(result, Err(UsageError::Unavailable { .. })),
                "{result:?}"
            );
            let result = store.record(&SkillUse::new("p", "b", 2));
            assert!(
                matches!(result, Err(UsageError::ReadOnly { .. })),
                "{result:?}"
            );
        }
        role => session_children::run(role, &path),
    }
    true
}
