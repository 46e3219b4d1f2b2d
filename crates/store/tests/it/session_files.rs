//! Session files that are damaged, of another program, or full of invalid data.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use prowess_agent::StampedEvent;
use prowess_store::SqliteSessions;
use prowess_test::conformance::sessions::{all, noted, started};
use prowess_traits::{Lease, SessionError, SessionStore};
use rusqlite::Connection;

use crate::session_children::impatient;

prowess_test::tests! {
    file_that_is_not_a_store
    newer_or_incomplete_file
    truncated_file
    flipped_bits_and_zeroed_pages
    invalid_rows
}

const FLIPS: u64 = 400;
const SEED: u64 = 0x00f1_1b5e_ed00_0001;

type Sessions = Vec<(Box<str>, Vec<StampedEvent>)>;

/// Creates a file with some sessions, closes it, and returns the events.
fn make(path: &Path) -> Sessions {
    let store = SqliteSessions::new(path);
    let sessions = (0..3).map(|session| {
        let lease = store.create(&started("p", None, session)).unwrap();
        let events: Vec<_> = (0..30)
            .map(|number| noted(format!("{session} {number} {}", "ü ".repeat(200)), number))
            .collect();
        store.append(&lease, &events).unwrap();
        let id = lease.session.clone();
        store.release(lease);
        (id.clone(), store.events(&id).unwrap())
    });
    sessions.collect()
}

fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Checks that each call fails with the expected reason and that the file stays unchanged.
#[track_caller]
fn check(name: &str, prepare: impl Fn(&Path), expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    prepare(&path);
    let before = fs::read(&path).ok();
    let store = impatient(&path);
    let unusable = |operation: &str, result: Result<(), SessionError>| match result {
        Err(SessionError::Unusable { store, reason }) => {
            assert!(store.ends_with("prowess.db"), "{store}");
            assert!(reason.contains(expected), "{name}: {operation}: {reason}");
        }
        other => panic!("{name}: {operation}: {other:?}"),
    };
    for _ in 0..2 {
        unusable("create", store.create(&started("p", None, 1)).map(drop));
        unusable("take", store.take("aaaaaaaa").map(drop));
        let lease = Lease::new("aaaaaaaa", 1, 1);
        unusable("append", store.append(&lease, &[noted("a", 1)]));
        store.release(lease);
        unusable("events", store.events("aaaaaaaa").map(drop));
        unusable("list", store.list(&all()).map(drop));
        unusable("find", store.find("a").map(drop));
        unusable("remove", store.remove("aaaaaaaa").map(drop));
    }
    drop(store);
    assert_eq!(
        fs::read(&path).ok(),
        before,
        "{name}: the file is unchanged"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "{name}: no other file is created"
    );
}

fn file_that_is_not_a_store() {
    let regular = "not a regular file";
    check("a folder", |path| fs::create_dir(path).unwrap(), regular);
    check(
        "a device",
        |path| symlink("/dev/null", path).unwrap(),
        regular,
    );
    for (name, bytes) in [
        ("one byte", b"x".to_vec()),
        ("a long text", b"hello\n".repeat(10_000)),
        ("zeros", vec![0; 8192]),
        ("half a header", b"SQLite format 3\0".to_vec()),
        (
            "a header and invalid data",
            [b"SQLite format 3\0".to_vec(), vec![0xff; 8192]].concat(),
        ),
    ] {
        check(
            name,
            |path| fs::write(path, &bytes).unwrap(),
            "it is damaged",
        );
    }
    for sql in [
        "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')",
        "CREATE TABLE sessions (id); INSERT INTO sessions VALUES ('mine')",
        "PRAGMA application_id = 7; CREATE TABLE notes (text)",
        "PRAGMA user_version = 2; CREATE TABLE notes (text)",
    ] {
        check(sql, |path| change(path, sql), "another program");
    }
}

fn newer_or_incomplete_file() {
    for (sql, reason) in [
        (
            "PRAGMA user_version = 99",
            "it uses format version 99, but this version supports at most 4",
        ),
        ("PRAGMA user_version = -1", "it is damaged"),
        ("DROP TABLE sessions", "it is damaged"),
    ] {
        let prepare = |path: &Path| {
            make(path);
            change(path, sql);
        };
        check(sql, prepare, reason);
    }
}

fn truncated_file() {
    for length in [100, 4096, 5000, 8192, 12288, 40_000] {
        let prepare = |path: &Path| {
            make(path);
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            assert!(file.metadata().unwrap().len() > length);
            file.set_len(length).unwrap();
        };
        check("truncated", prepare, "it is damaged");
    }
}

/// Reads and writes what it can. Every read returns what was written, or an error.
fn use_damaged_file(name: &str, path: &Path, sessions: &Sessions) -> u64 {
    let before = fs::read(path).unwrap();
    let store = impatient(path);
    let mut errors = 0;
    for (id, events) in sessions {
        match store.events(id) {
            Ok(found) => assert!(found == *events, "{name}: wrong events"),
            Err(_) => errors += 1,
        }
        let _ = store.find(&id[..3]);
    }
    let _ = store.list(&all());
    drop(store);
    assert!(
        fs::read(path).unwrap() == before,
        "{name}: reading does not write"
    );
    let store = impatient(path);
    for (id, events) in sessions {
        let Ok(lease) = store.take(id) else { continue };
        let event = noted("more", 1);
        if store.append(&lease, std::slice::from_ref(&event)).is_ok()
            && let Ok(found) = store.events(id)
        {
            assert!(
                found.starts_with(events) && found.ends_with(&[event]),
                "{name}"
            );
        }
        store.release(lease);
        let _ = store.remove(id);
    }
    let _ = store.create(&started("p", None, 1));
    errors
}

fn flipped_bits_and_zeroed_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let sessions = make(&path);
    let good = fs::read(&path).unwrap();
    let mut errors = 0;
    let mut try_with = |name: &str, bytes: &[u8]| {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", path.display()));
        }
        fs::write(&path, bytes).unwrap();
        errors += use_damaged_file(name, &path, &sessions);
    };
    for page in 0..good.len() / 4096 {
        let mut bytes = good.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        try_with(&format!("page {page} is zero"), &bytes);
    }
    println!("seed {SEED:#x}");
    let mut random = SEED;
    for flip in 0..FLIPS {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // Half of them in the header and the schema, where they do the most damage.
        let within = if flip % 2 == 0 { good.len() } else { 4096 };
        let bit = usize::try_from(random >> 20).unwrap() % (within * 8);
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        try_with(&format!("bit {bit} is flipped"), &bytes);
    }
    println!("{errors} sessions could not be read");
    assert!(errors > 0);
}

fn invalid_rows() {
    for (sql, expected) in [
        ("DELETE FROM events WHERE number = 7", "event 7"),
        ("DELETE FROM events WHERE number = 30", "event 30"),
        ("DELETE FROM events", "event 0"),
        ("UPDATE events SET number = 99 WHERE number = 9", "event 9"),
        ("UPDATE sessions SET events = 12", "event 31"),
        ("UPDATE sessions SET events = -1", "event 31"),
        (
            "UPDATE events SET event = replace(event, 'ü', 'u') WHERE number = 3",
            "event 3",
        ),
        ("UPDATE events SET event = '{' WHERE number = 4", "event 4"),
        (
            "UPDATE events SET event = CAST(x'ff' AS TEXT) WHERE number = 5",
            "event 5",
        ),
        // With the right checksum.
        (
            "UPDATE events SET event = '', sum = 0 WHERE number = 6",
            "event 6",
        ),
        (
            "UPDATE events SET event = '{}', sum = 2745614147 WHERE number = 6",
            "event 6",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prowess.db");
        let sessions = make(&path);
        change(&path, sql);
        let store = impatient(&path);
        let error = store.events(&sessions[0].0).expect_err(sql);
        assert!(
            matches!(error, SessionError::Unreadable { .. }),
            "{sql}: {error:?}"
        );
        assert!(
            error.to_string().contains(&format!("{expected} of ")),
            "{sql}: {error}"
        );
        assert_eq!(store.list(&all()).unwrap().len(), 3);
    }
    // Rows that a STRICT table would reject.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    make(&path);
    change(
        &path,
        "CREATE TABLE odd AS SELECT * FROM sessions; DROP TABLE sessions;
         ALTER TABLE odd RENAME TO sessions;
         UPDATE sessions SET title = x'ff', project = NULL, events = 'many', started = 'once',
           process = 'p', token = 1.5, turn = 9223372036854775807;
         INSERT INTO sessions (id, title) VALUES (x'00', 1), (NULL, 2), (7, 3)",
    );
    let store = impatient(&path);
    let sessions = store.list(&all()).unwrap();
    assert_eq!(sessions.len(), 4, "all with a text id");
    assert!(
        sessions
            .iter()
            .all(|session| (session.events, session.live) == (0, false))
    );
    let result = store.events(&sessions[0].id);
    assert!(result.is_err(), "{result:?}");
    let lease = store.take(&sessions[0].id).unwrap();
    let result = store.append(&lease, &[noted("a", 1)]);
    assert!(result.is_err(), "{result:?}");
    let _ = (
        store.find("a"),
        store.find(""),
        store.remove(&sessions[1].id),
    );
}
