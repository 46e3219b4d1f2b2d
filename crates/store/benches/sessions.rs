//! Benchmarks of writing events, reading sessions and listing them, with the limit of the machine:
//! `cargo bench -p prowess-store`.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]

use std::fs::File;
use std::io::Write;

use divan::Bencher;
use prowess_agent::StampedEvent;
use prowess_store::{MemorySessions, SqliteSessions};
use prowess_test::conformance::sessions::{noted, started};
use prowess_traits::{SessionQuery, SessionStore};
use rusqlite::Connection;
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// The size of the text of an event in bytes.
const SIZE: usize = 2048;

fn event(number: i64) -> StampedEvent {
    noted("x".repeat(SIZE), number)
}

fn make() -> (SqliteSessions, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    (
        SqliteSessions::new(folder.path().join("prowess.db")),
        folder,
    )
}

/// The lower bound: appends the same bytes to a plain file and syncs it.
#[divan::bench]
fn append_limit_of_the_machine(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = File::create(folder.path().join("plain")).expect("a file");
    let text = serde_json::to_vec(&event(1)).expect("JSON");
    bencher.bench_local(|| {
        file.write_all(&text).expect("writes");
        file.sync_data().expect("is on the disk");
    });
}

#[divan::bench]
fn append(bencher: Bencher<'_, '_>) {
    let (store, _folder) = make();
    let lease = store.create(&started("p", None, 0)).expect("creates");
    let event = [event(1)];
    bencher.bench_local(|| store.append(&lease, &event).expect("appends"));
}

#[divan::bench]
fn append_in_memory(bencher: Bencher<'_, '_>) {
    let store = MemorySessions::new();
    let lease = store.create(&started("p", None, 0)).expect("creates");
    let event = [event(1)];
    bencher.bench_local(|| store.append(&lease, &event).expect("appends"));
}

#[divan::bench]
fn read_1000_events(bencher: Bencher<'_, '_>) {
    let (store, _folder) = make();
    let lease = store.create(&started("p", None, 0)).expect("creates");
    let events: Vec<_> = (1..1000).map(event).collect();
    store.append(&lease, &events).expect("appends");
    bencher.bench_local(|| store.events(&lease.session).expect("events"));
}

/// Creates a file with `count` sessions, half of them of the project `p`.
fn filled(count: i64) -> (SqliteSessions, TempDir) {
    let (store, folder) = make();
    store.release(store.create(&started("p", None, 0)).expect("creates"));
    let connection = Connection::open(store.path()).expect("opens");
    connection
        .execute(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1)
             INSERT INTO sessions (id, title, project, model, started, updated, events, turn)
             SELECT printf('%08d', n), title, iif(n % 2, 'p', 'q'), model, n, n, 1, n
             FROM sessions, n",
            [count],
        )
        .expect("fills");
    (store, folder)
}

/// Lists the latest fifty sessions of a project.
#[divan::bench(args = [100, 10_000, 100_000])]
fn list(bencher: Bencher<'_, '_>, count: i64) {
    let (store, _folder) = filled(count);
    let query = SessionQuery {
        project: Some("p".into()),
        parent: None,
        limit: 50,
    };
    assert_eq!(store.list(&query).expect("a list").len(), 50);
    bencher.bench_local(|| store.list(&query).expect("a list"));
}

#[divan::bench(args = [100, 10_000, 100_000])]
fn find(bencher: Bencher<'_, '_>, count: i64) {
    let (store, _folder) = filled(count);
    bencher.bench_local(|| store.find("00000042").expect("is found"));
}
