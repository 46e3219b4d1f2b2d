//! Files that are missing, damaged, of another program, or full of invalid data.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prowess_store::{SqliteUsage, SystemClock, TolerantUsage};
use prowess_traits::{SkillUse, UsageError, UsageFilter, UsageQuery, UsageStore};
use rusqlite::Connection;

use crate::children;

prowess_test::tests! {
    r01_database_is_created_on_first_use
    database_is_readable_by_owner_only
    read_only_folder
    path_that_is_not_a_file
    file_that_is_not_a_database
    truncated_database
    database_of_another_program
    newer_database
    database_without_its_table
    missing_folder
    link_to_a_database_is_followed
    empty_file_becomes_a_database
    file_removed_or_replaced_while_open
    invalid_rows
    stored_triggers_do_not_run
    busy_timeout_is_bounded
}

fn all() -> UsageQuery {
    UsageQuery {
        project: None,
        ..UsageQuery::project("")
    }
}

/// Creates a database with many rows, and closes it.
fn make(path: &Path) {
    let store = SqliteUsage::new(path);
    for number in 0..300 {
        store
            .record(&SkillUse::new("p", format!("skill-{number}"), number))
            .unwrap();
    }
}

fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn r01_database_is_created_on_first_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/usage.db");
    let store = SqliteUsage::new(&path);
    assert_eq!(store.rows(&all()).unwrap(), []);
    assert_eq!(store.summary(None, 5).unwrap().total, 0);
    assert_eq!(store.forget(&UsageFilter::default()).unwrap(), 0);
    let outcome = Some(prowess_catalog::rank::UseOutcome::Done);
    store
        .settle(&SkillUse {
            outcome,
            ..SkillUse::new("p", "a", 1)
        })
        .unwrap();
    store.record(&SkillUse::new("p", "", 1)).unwrap_err();
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "no file is created"
    );
    store.record(&SkillUse::new("p", "a", 1)).unwrap();
    assert!(path.is_file());
    drop(store);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(SqliteUsage::new(&path).rows(&all()).unwrap().len(), 1);
}

fn database_is_readable_by_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/usage.db");
    children::finish(children::command("modes", &path).spawn().unwrap());
}

fn read_only_folder() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["usage.db", "usage%20?x=1#.db", "secret.db"] {
        let path = folder.path().join(name);
        SqliteUsage::new(&path)
            .record(&SkillUse::new("p", "a", 1))
            .unwrap();
        let mode = if name == "secret.db" { 0o000 } else { 0o444 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let before = fs::read(folder.path().join("usage.db")).unwrap();
    children::as_ordinary_user("read only", folder.path());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fs::read(folder.path().join("usage.db")).unwrap(), before);
}

/// Checks that each call fails with the expected error and that the file stays unchanged.
#[track_caller]
fn check(name: &str, prepare: impl Fn(&Path), expected: impl Fn(&UsageError) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    prepare(&path);
    let before = fs::read(&path).ok();
    let listing = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let names = listing();
    let store = Arc::new(SqliteUsage::new(&path).with_busy_timeout(Duration::from_millis(20)));
    for _ in 0..2 {
        let error = store
            .record(&SkillUse::new("p", "skill-0", 1))
            .expect_err(name);
        assert!(expected(&error), "{name}: record: {error:?}");
        assert!(error.to_string().contains("usage.db"), "{error}");
        let error = store.rows(&all()).expect_err(name);
        assert!(expected(&error), "{name}: rows: {error:?}");
        let error = store.forget(&UsageFilter::default()).expect_err(name);
        assert!(expected(&error), "{name}: forget: {error:?}");
        let error = store.summary(None, 5).expect_err(name);
        assert!(expected(&error), "{name}: summary: {error:?}");
    }
    let tolerant = TolerantUsage::new(Arc::clone(&store) as _, Arc::new(SystemClock));
    tolerant.record(&SkillUse::new("p", "skill-0", 1)).unwrap();
    assert_eq!(tolerant.rows(&all()).unwrap(), []);
    assert!(expected(&tolerant.trouble().unwrap().error), "{name}");
    drop((tolerant, store));
    assert_eq!(
        fs::read(&path).ok(),
        before,
        "{name}: the file is unchanged"
    );
    assert_eq!(listing(), names, "{name}: no other file is created");
}

fn path_that_is_not_a_file() {
    let not_a_file = |error: &UsageError| matches!(error, UsageError::NotAFile { .. });
    check("a folder", |path| fs::create_dir(path).unwrap(), not_a_file);
    check(
        "a device",
        |path| symlink("/dev/null", path).unwrap(),
        not_a_file,
    );
    let socket = |path: &Path| drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    check("a socket", socket, not_a_file);
}

fn file_that_is_not_a_database() {
    let damaged = |error: &UsageError| matches!(error, UsageError::Damaged { .. });
    for (name, bytes) in [
        ("one byte", b"x".to_vec()),
        ("a line", b"hello\n".to_vec()),
        ("a long text", b"hello\n".repeat(10_000)),
        ("zeros", vec![0; 8192]),
        ("half a header", b"SQLite format 3\0".to_vec()),
        (
            "a header and invalid data",
            [b"SQLite format 3\0".to_vec(), vec![0xff; 8192]].concat(),
        ),
    ] {
        check(name, |path| fs::write(path, &bytes).unwrap(), damaged);
    }
}

fn truncated_database() {
    let damaged = |error: &UsageError| matches!(error, UsageError::Damaged { .. });
    let truncated = |length: u64| {
        move |path: &Path| {
            make(path);
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            assert!(file.metadata().unwrap().len() > length);
            file.set_len(length).unwrap();
        }
    };
    for length in [4096, 5000, 8192, 12288] {
        check("truncated", truncated(length), damaged);
    }
}

fn database_of_another_program() {
    let foreign = |error: &UsageError| matches!(error, UsageError::Foreign { .. });
    for sql in [
        "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')",
        "CREATE TABLE usage (skill); INSERT INTO usage VALUES ('mine')",
        "PRAGMA application_id = 7; CREATE TABLE notes (text)",
        "PRAGMA user_version = 1; CREATE TABLE notes (text)",
    ] {
        check(sql, |path| change(path, sql), foreign);
    }
}

fn newer_database() {
    let newer = |error: &UsageError| {
        matches!(
            error,
            UsageError::Newer {
                found: 99,
                known: 4,
                ..
            }
        )
    };
    let prepare = |path: &Path| {
        make(path);
        change(
            path,
            "ALTER TABLE usage ADD COLUMN cost INTEGER; PRAGMA user_version = 99",
        );
    };
    check("newer", prepare, newer);
}

fn database_without_its_table() {
    let damaged = |error: &UsageError| matches!(error, UsageError::Damaged { .. });
    for sql in [
        "DROP TABLE usage",
        "ALTER TABLE usage DROP COLUMN last_used",
        "PRAGMA user_version = -1",
        // A view in its place is not used.
        "ALTER TABLE usage RENAME TO old; CREATE VIEW usage AS SELECT * FROM old",
    ] {
        let prepare = |path: &Path| {
            make(path);
            change(path, sql);
        };
        check(sql, prepare, damaged);
    }
}

fn missing_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "text").unwrap();
    let store = SqliteUsage::new(folder.path().join("file/usage.db"));
    let result = store.record(&SkillUse::new("p", "a", 1));
    assert!(
        matches!(result, Err(UsageError::Unavailable { .. })),
        "{result:?}"
    );
    for path in ["", "/", "/proc/nothing/usage.db"] {
        assert!(
            SqliteUsage::new(path)
                .record(&SkillUse::new("p", "a", 1))
                .is_err(),
            "{path:?}"
        );
    }
    // A dangling link is not followed to create a file.
    let link = folder.path().join("link");
    symlink(folder.path().join("elsewhere"), &link).unwrap();
    let store = SqliteUsage::new(&link);
    assert_eq!(store.rows(&all()).unwrap(), []);
    assert!(store.record(&SkillUse::new("p", "a", 1)).is_err());
    assert!(!folder.path().join("elsewhere").exists());
}

fn link_to_a_database_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("usage.db"), folder.path().join("link"));
    SqliteUsage::new(&path)
        .record(&SkillUse::new("p", "a", 1))
        .unwrap();
    symlink(&path, &link).unwrap();
    SqliteUsage::new(&link)
        .record(&SkillUse::new("p", "a", 2))
        .unwrap();
    assert_eq!(
        SqliteUsage::new(&path).rows(&all()).unwrap()[0].usage.count,
        2
    );
}

fn empty_file_becomes_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    fs::write(&path, "").unwrap();
    let store = SqliteUsage::new(&path);
    assert_eq!(store.rows(&all()).unwrap(), []);
    assert_eq!(fs::read(&path).unwrap(), b"", "reading does not write");
    // Another store fills it.
    SqliteUsage::new(&path)
        .record(&SkillUse::new("p", "a", 1))
        .unwrap();
    assert_eq!(store.rows(&all()).unwrap().len(), 1);
    store.record(&SkillUse::new("p", "a", 1)).unwrap();
}

fn file_removed_or_replaced_while_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    let store = SqliteUsage::new(&path);
    store.record(&SkillUse::new("p", "a", 1)).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(store.rows(&all()).unwrap(), []);
    store.record(&SkillUse::new("p", "b", 1)).unwrap();
    assert_eq!(store.rows(&all()).unwrap().len(), 1);
    let other = folder.path().join("other.db");
    make(&other);
    fs::rename(&other, &path).unwrap();
    // A log of the old file must not be used for the new one.
    let _ = fs::remove_file(folder.path().join("usage.db-wal"));
    let _ = fs::remove_file(folder.path().join("usage.db-shm"));
    store.record(&SkillUse::new("p", "c", 1)).unwrap();
    assert_eq!(store.rows(&all()).unwrap().len(), 301);
}

fn invalid_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    SqliteUsage::new(&path)
        .record(&SkillUse::new("p", "good", 5))
        .unwrap();
    let insert = "INSERT INTO usage
        (project, team, agent, agent_type, skill, count, last_used, score, done, failed, refused)
        VALUES ('p', 'default', 'orchestrator',";
    for (number, values) in [
        "'t', CAST(x'ff61' AS TEXT), 1, 1, 1.0, 0, 0, 0",
        "CAST(x'ff61' AS TEXT), 'odd type', 1, 1, 1.0, 0, 0, 0",
        "'t', 'negative', -5, -5, -5.0, -1, -9223372036854775808, -1",
        "'t', 'huge', 9223372036854775807, 9223372036854775807, 9e999, 9223372036854775807, 1, 1",
        "'t', 'tiny', 0, -9223372036854775808, -9e999, 0, 0, 0",
        "'t', 'nul' || char(0) || 'x', 1, 1, 1.0, 0, 0, 0",
        "'t', '', 1, 1, 1.0, 0, 0, 0",
    ]
    .into_iter()
    .enumerate()
    {
        change(&path, &format!("{insert} {values})"));
        let store = SqliteUsage::new(&path);
        // All but the first are valid rows.
        assert_eq!(store.rows(&all()).unwrap().len(), number + 1);
        store.summary(None, 5).unwrap();
    }
    change(
        &path,
        &format!("{insert} 't', CAST(zeroblob(1000000) AS TEXT), 1, 1, 1.0, 0, 0, 0)"),
    );
    let store = SqliteUsage::new(&path);
    assert_eq!(store.rows(&all()).unwrap().len(), 7);
    for skill in ["good", "odd type", "negative", "huge", "tiny"] {
        store.record(&SkillUse::new("p", skill, 9)).unwrap();
    }
    let rows = store.rows(&all()).unwrap();
    let count = |skill: &str| {
        rows.iter()
            .find(|row| &*row.usage.skill == skill)
            .map(|row| row.usage.count)
    };
    assert_eq!(count("good"), Some(2));
    assert_eq!(count("negative"), Some(1));
    assert_eq!(count("huge"), Some(i64::MAX.unsigned_abs()));
    assert_eq!(count("odd type"), Some(2));
    assert_eq!(store.forget(&UsageFilter::default()).unwrap(), 9);

    // A table with the right names but without the right types.
    drop(store);
    change(
        &path,
        "DROP TABLE usage; CREATE TABLE usage (project, team, agent, skill, agent_type, count,
         last_used, score, done, failed, refused, PRIMARY KEY (project, team, agent, skill));
         INSERT INTO usage VALUES ('p', 't', 'w', 'a', x'00', 'many', x'ff', 'much', NULL, 1.5, '');
         INSERT INTO usage VALUES (NULL, 7, 1.5, x'61', NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    );
    let store = SqliteUsage::new(&path);
    assert_eq!(store.rows(&all()).unwrap().len(), 1);
    let used = SkillUse {
        team: "t".into(),
        agent: "w".into(),
        ..SkillUse::new("p", "a", 9)
    };
    store.record(&used).unwrap();
    assert_eq!(store.rows(&all()).unwrap()[0].usage.count, 1);
}

fn stored_triggers_do_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.db");
    make(&path);
    change(
        &path,
        "CREATE TRIGGER t AFTER UPDATE ON usage BEGIN DELETE FROM usage; END",
    );
    let store = SqliteUsage::new(&path);
    store.record(&SkillUse::new("p", "skill-1", 1)).unwrap();
    assert_eq!(store.rows(&all()).unwrap().len(), 300);
}

fn busy_timeout_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteUsage::new(folder.path().join("usage.db")).with_busy_timeout(Duration::MAX);
    store.record(&SkillUse::new("p", "a", 1)).unwrap();
    let store = SqliteUsage::new(folder.path().join("usage.db")).with_busy_timeout(Duration::ZERO);
    store.record(&SkillUse::new("p", "a", 1)).unwrap();
}
