//! Concurrent processes and threads.

use std::thread;
use std::time::Duration;

use prowess_store::SqliteUsage;
use prowess_traits::{SkillUse, UsageError, UsageQuery, UsageRow, UsageStore};
use rusqlite::Connection;

use crate::children::{self, SKILLS, USES};

prowess_test::tests! {
    concurrent_processes_lose_no_use
    concurrent_threads_lose_no_use
    write_lock_of_another_process_times_out
    threads_wait_for_a_lock_together
    exclusive_lock_times_out
    killed_process_leaves_an_intact_file
}

const WRITERS: i64 = 4;

fn check_all_uses(store: &SqliteUsage) {
    let rows = store.rows(&UsageQuery::project("p")).unwrap();
    assert_eq!(
        rows.len(),
        usize::try_from(SKILLS).unwrap(),
        "one row per skill: {rows:?}"
    );
    let uses: u64 = rows.iter().map(|row| row.usage.count).sum();
    assert_eq!(uses, u64::try_from(WRITERS * USES).unwrap());
}

fn concurrent_processes_lose_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/usage.db");
    // There is no file yet, so they also create it concurrently.
    let mut writers: Vec<_> = (0..WRITERS)
        .map(|_| children::start("record", &path))
        .collect();
    for writer in &mut writers {
        drop(writer.stdin.take());
    }
    writers.into_iter().for_each(children::finish);
    check_all_uses(&SqliteUsage::new(&path));
}

fn concurrent_threads_lose_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    let shared = children::patient(&path);
    thread::scope(|scope| {
        // Two with their own connections, two with a shared one.
        for _ in 0..2 {
            scope.spawn(|| children::record_many(&children::patient(&path)));
            scope.spawn(|| children::record_many(&shared));
        }
    });
    check_all_uses(&shared);
}

fn write_lock_of_another_process_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    let used = SkillUse::new("p", "a", 1);
    SqliteUsage::new(&path).record(&used).unwrap();
    // Once with the file already open, once not.
    for open_before in [true, false] {
        let store = SqliteUsage::new(&path).with_busy_timeout(Duration::from_millis(20));
        if open_before {
            store.record(&used).unwrap();
        }
        let other = children::start("lock for writers", &path);
        for _ in 0..2 {
            let result = store.record(&used);
            assert!(matches!(result, Err(UsageError::Busy { .. })), "{result:?}");
        }
        assert_eq!(
            store.rows(&UsageQuery::project("p")).unwrap().len(),
            1,
            "readers continue"
        );
        children::finish(other);
        store.record(&used).unwrap();
    }
}

fn threads_wait_for_a_lock_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    let used = SkillUse::new("p", "a", 1);
    let store = SqliteUsage::new(&path).with_busy_timeout(Duration::from_millis(20));
    store.record(&used).unwrap();
    let other = children::start("lock for writers", &path);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let result = store.record(&used);
                assert!(matches!(result, Err(UsageError::Busy { .. })), "{result:?}");
            });
        }
    });
    children::finish(other);
    store.record(&used).unwrap();
}

fn exclusive_lock_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    let used = SkillUse::new("p", "a", 1);
    SqliteUsage::new(&path).record(&used).unwrap();
    let other = children::start("lock for all", &path);
    let store = SqliteUsage::new(&path).with_busy_timeout(Duration::from_millis(20));
    let result = store.record(&used);
    assert!(matches!(result, Err(UsageError::Busy { .. })), "{result:?}");
    let result = store.rows(&UsageQuery::project("p"));
    assert!(matches!(result, Err(UsageError::Busy { .. })), "{result:?}");
    children::finish(other);
    store.record(&used).unwrap();
    assert_eq!(
        store.rows(&UsageQuery::project("p")).unwrap()[0]
            .usage
            .count,
        2
    );
}

fn killed_process_leaves_an_intact_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    for round in 1..=3 {
        let mut writer = children::start("record forever", &path);
        writer.kill().unwrap();
        writer.wait().unwrap();
        let rows: Vec<UsageRow> = children::patient(&path)
            .rows(&UsageQuery::project("p"))
            .unwrap();
        assert_eq!(rows.len(), 1);
        assert!(rows[0].usage.count > 200 * round, "{rows:?}");
    }
    let sound: String = Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
}
