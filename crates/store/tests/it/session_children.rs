//! Roles of other processes that use sessions.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use prowess_agent::StampedEvent;
use prowess_store::SqliteSessions;
use prowess_test::conformance::sessions::{all, noted, started};
use prowess_traits::{Lease, SessionError, SessionStore};
use rusqlite::Connection;

/// The number of appends by one process.
pub(crate) const APPENDS: i64 = 60;

/// The maximum number of batches that a process appends before it is killed.
pub(crate) const BATCHES: u64 = 16;

pub(crate) fn patient(path: &Path) -> SqliteSessions {
    SqliteSessions::new(path).with_busy_timeout(Duration::from_mins(5))
}

pub(crate) fn impatient(path: &Path) -> SqliteSessions {
    SqliteSessions::new(path).with_busy_timeout(Duration::from_millis(20))
}

/// Returns a long, unique event for this number.
pub(crate) fn numbered(number: i64) -> StampedEvent {
    let length = usize::try_from(number * 7919 % 8_000).unwrap();
    let text = format!("{number} ").repeat(length / 5);
    noted(format!("{number}: {text}"), number)
}

/// Returns the size of the batch that starts with this number: one to four.
pub(crate) fn batch(number: i64) -> i64 {
    1 + number / 3 % 4
}

fn take_the_only_one(store: &SqliteSessions) -> Result<Lease, SessionError> {
    let sessions = store.list(&all())?;
    assert_eq!(sessions.len(), 1);
    store.take(&sessions[0].id)
}

pub(crate) fn run(role: &str, path: &Path) {
    let (role, argument) = role.split_once(": ").unwrap_or((role, ""));
    match role {
        "take" => {
            println!("\nstarted");
            let mut line = String::new();
            io::stdin().read_line(&mut line).unwrap();
            let taken = take_the_only_one(&patient(path));
            match &taken {
                Ok(_) => println!("\ntaken"),
                Err(SessionError::InUse { .. }) => println!("\nin use"),
                Err(other) => panic!("{other:?}"),
            }
            crate::children::say_ready_and_wait();
        }
        "take and lock" => {
            let lease = take_the_only_one(&patient(path)).unwrap();
            let connection = Connection::open(path).unwrap();
            let insert = "BEGIN IMMEDIATE; UPDATE sessions SET events = 100;
                INSERT INTO events (session, number, at, event, sum) VALUES (";
            connection
                .execute_batch(&format!("{insert}'{}', 99, 1, '', 1)", lease.session))
                .unwrap();
            crate::children::say_ready_and_wait();
        }
        "append to its own" => {
            crate::children::say_ready_and_wait();
            let store = patient(path);
            let lease = store.create(&started(argument, None, 0)).unwrap();
            for number in 0..APPENDS {
                store
                    .append(&lease, &[noted(format!("{argument} {number}"), number)])
                    .unwrap();
            }
        }
        "append until killed" => append_until_killed(path, argument),
        "full" => fill(path),
        "limited" => {
            let store = patient(path);
            let lease = store.create(&started("p", None, 0)).unwrap();
            let mut written = 1;
            while store
                .append(&lease, &[noted("x".repeat(8000), written)])
                .is_ok()
            {
                written += 1;
            }
            let count = i64::try_from(store.events(&lease.session).unwrap().len()).unwrap();
            assert_eq!(count, written);
            assert!((2..1000).contains(&written), "{written}");
        }
        "read sessions" => {
            let store = SqliteSessions::new(path);
            let id = store.find("").unwrap_err();
            assert!(matches!(id, SessionError::NotFound { .. }), "{id:?}");
            let id = store.list(&all()).unwrap().remove(0).id;
            assert_eq!(store.find(&id).unwrap(), id);
            assert_eq!(store.events(&id).unwrap().len(), 1);
            let unwritable = |error: &SessionError| is_unwritable(error, "it is read-only");
            let error = store.create(&started("p", None, 0)).unwrap_err();
            assert!(unwritable(&error), "{error:?}");
            let error = store.take(&id).unwrap_err();
            assert!(unwritable(&error), "{error:?}");
            let error = store.remove(&id).unwrap_err();
            assert!(unwritable(&error), "{error:?}");
            let lease = Lease::new(id.clone(), 0, 1);
            let error = store.append(&lease, &[noted("a", 1)]).unwrap_err();
            assert!(unwritable(&error), "{error:?}");
            store.release(lease);
            assert_eq!(store.events(&id).unwrap().len(), 1);
        }
        other => panic!("{other}"),
    }
}

/// Appends numbered events to a session until it is killed, and prints the number of the last one
/// after each batch. Starts when it reads a line, and waits at the end.
fn append_until_killed(path: &Path, id: &str) {
    let store = patient(path);
    let lease = store.take(id).unwrap();
    let mut next = i64::try_from(store.events(id).unwrap().len()).unwrap();
    println!("\nstarted");
    io::stdin().read_line(&mut String::new()).unwrap();
    for _ in 0..BATCHES {
        let events: Vec<_> = (next..next + batch(next)).map(numbered).collect();
        store.append(&lease, &events).unwrap();
        next += batch(next);
        println!("{}", next - 1);
        io::stdout().flush().unwrap();
    }
    io::stdin().read_line(&mut String::new()).unwrap();
}

/// Writes until the disk is full, and continues when there is space.
fn fill(path: &Path) {
    let ballast = path.parent().unwrap().join("ballast");
    fs::write(&ballast, vec![1; 200_000]).unwrap();
    let store = patient(path);
    let lease = store.create(&started("p", None, 0)).unwrap();
    let full = |error: &SessionError| is_unwritable(error, "no space left on the disk");
    let mut written = 1;
    let event = |number| noted(format!("{number}{}", "x".repeat(8000)), number);
    let error = loop {
        match store.append(&lease, &[event(written)]) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(full(&error), "{error:?}");
    assert!(written > 5, "{written}");
    let check = |written: i64| {
        let events = store.events(&lease.session).unwrap();
        assert_eq!(events[1..], (1..written).map(event).collect::<Vec<_>>());
        assert_eq!(
            store.list(&all()).unwrap()[0].events,
            written.unsigned_abs()
        );
    };
    check(written);
    for _ in 0..3 {
        let error = store.append(&lease, &[event(written)]).unwrap_err();
        assert!(full(&error), "{error:?}");
        check(written);
    }
    fs::remove_file(ballast).unwrap();
    store.append(&lease, &[event(written)]).unwrap();
    check(written + 1);
    let sound = sound(path);
    assert_eq!(sound, "ok");
}

fn is_unwritable(error: &SessionError, expected: &str) -> bool {
    matches!(error, SessionError::Unwritable { reason, .. } if **reason == *expected)
}

pub(crate) fn sound(path: &Path) -> String {
    let connection = Connection::open(path).unwrap();
    connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap()
}
