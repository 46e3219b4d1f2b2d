//! Sessions of several processes in one file.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use prowess_agent::{Event, StampedEvent};
use prowess_store::{SqliteSessions, SqliteUsage};
use prowess_test::conformance::sessions::{all, noted, question, started, yes};
use prowess_test::harness::skip_unless_required;
use prowess_traits::{
    AnswerOutcome, Lease, QuestionQuery, SessionError, SessionStore, SkillUse, UsageQuery,
    UsageStore,
};
use rusqlite::Connection;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::children;
use crate::session_children::{APPENDS, impatient, patient, sound};

prowess_test::tests! {
    one_of_many_processes_gets_the_lease
    stores_of_one_process_exclude_each_other
    removed_sessions_are_overwritten
    killed_holder_does_not_block_others
    reused_process_id_does_not_hold_the_session
    concurrent_processes_lose_no_event
    write_lock_times_out_without_writing
    exclusive_lock_times_out
    usage_and_sessions_share_a_file
    file_without_sessions_is_migrated
    file_without_questions_is_migrated
    file_is_created_with_the_first_session
    file_removed_while_open
    read_only_folder
    full_disk
    file_size_limit
}

/// Creates a session and releases it.
fn make(path: &Path) -> Box<str> {
    let store = SqliteSessions::new(path);
    let lease = store.create(&started("p", None, 1)).unwrap();
    let id = lease.session.clone();
    store.release(lease);
    id
}

fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn one_of_many_processes_gets_the_lease() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let id = make(&path);
    let mut others: Vec<_> = (0..6)
        .map(|_| children::command("take", &path).spawn().unwrap())
        .collect();
    for other in &mut others {
        children::wait_for(other, "\nstarted\n");
    }
    for other in &mut others {
        other.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }
    for other in &mut others {
        children::wait_for(other, "ready\n");
    }
    let store = SqliteSessions::new(&path);
    let Err(SessionError::InUse { session, holder }) = store.take(&id) else {
        panic!("it is in use");
    };
    assert_eq!(session, id);
    let is_holder = |process: u32| *holder == *format!("process {process} on this machine");
    assert!(others.iter().any(|other| is_holder(other.id())), "{holder}");
    assert!(store.list(&all()).unwrap()[0].live);
    assert!(matches!(store.remove(&id), Err(SessionError::InUse { .. })));
    // The holder exits without releasing the session.
    let mut holder = None;
    for other in others {
        if is_holder(other.id()) {
            holder = Some(other);
        } else {
            children::finish(other);
        }
    }
    assert!(matches!(store.take(&id), Err(SessionError::InUse { .. })));
    children::finish(holder.unwrap());
    assert!(!store.list(&all()).unwrap()[0].live);
    store.take(&id).unwrap();
}

fn stores_of_one_process_exclude_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let id = make(&path);
    let (one, other) = (SqliteSessions::new(&path), SqliteSessions::new(&path));
    let lease = one.take(&id).unwrap();
    assert!(matches!(other.take(&id), Err(SessionError::InUse { .. })));
    // A lease is valid for the session in any store.
    other.append(&lease, &[noted("a", 1)]).unwrap();
    one.append(&lease, &[noted("b", 2)]).unwrap();
    drop(one);
    assert!(matches!(other.take(&id), Err(SessionError::InUse { .. })));
    other.release(lease);
    other.take(&id).unwrap();
    assert_eq!(
        other.events(&id).unwrap()[1..],
        [noted("a", 1), noted("b", 2)]
    );
}

fn removed_sessions_are_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let store = SqliteSessions::new(&path);
    let secret = "a secret of some length";
    for size in [1, 100, 10_000] {
        let lease = store.create(&started("p", None, 1)).unwrap();
        store
            .append(&lease, &[noted(secret.repeat(size), 1)])
            .unwrap();
        store.release(lease);
    }
    let there = || {
        let bytes = fs::read(&path).unwrap();
        bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes())
    };
    drop(store);
    assert!(there());
    let store = SqliteSessions::new(&path);
    for session in store.list(&all()).unwrap() {
        store.remove(&session.id).unwrap();
    }
    drop(store);
    assert!(!there());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

fn killed_holder_does_not_block_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let id = make(&path);
    for round in 1..=5 {
        let mut other = children::start("take and lock", &path);
        let store = impatient(&path);
        let result = store.take(&id);
        assert!(
            matches!(result, Err(SessionError::Busy { .. })),
            "{result:?}"
        );
        assert_eq!(store.events(&id).unwrap().len(), round, "readers continue");
        other.kill().unwrap();
        // It is a zombie, so its id is still taken.
        let pid = Pid::from_child(&other);
        waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        )
        .unwrap();
        let lease = store.take(&id).unwrap();
        store.append(&lease, &[noted("after", 1)]).unwrap();
        assert_eq!(store.events(&id).unwrap().len(), round + 1);
        store.release(lease);
        other.wait().unwrap();
    }
    assert_eq!(sound(&path), "ok");
}

fn reused_process_id_does_not_hold_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let store = SqliteSessions::new(&path);
    for sql in [
        "UPDATE sessions SET process_start = process_start - 1",
        "UPDATE sessions SET process_place = 'before the machine was started'",
        "UPDATE sessions SET process = 4194305",
        "UPDATE sessions SET process = -1",
        "UPDATE sessions SET process_place = NULL",
    ] {
        let old = store.create(&started("p", None, 1)).unwrap();
        assert!(matches!(
            store.take(&old.session),
            Err(SessionError::InUse { .. })
        ));
        change(&path, sql);
        assert!(!store.list(&all()).unwrap()[0].live, "{sql}");
        let new = store.take(&old.session).expect(sql);
        let result = store.append(&old, &[noted("late", 1)]);
        assert!(
            matches!(result, Err(SessionError::Lost { .. })),
            "{result:?}"
        );
        store.release(old);
        store.append(&new, &[noted("mine", 1)]).unwrap();
    }
}

fn concurrent_processes_lose_no_event() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/prowess.db");
    // There is no file yet, so they also create it concurrently.
    let role = |number| format!("append to its own: project-{number}");
    let mut writers: Vec<_> = (0..8)
        .map(|number| children::start(&role(number), &path))
        .collect();
    for writer in &mut writers {
        drop(writer.stdin.take());
    }
    writers.into_iter().for_each(children::finish);
    let store = SqliteSessions::new(&path);
    let sessions = store.list(&all()).unwrap();
    assert_eq!(sessions.len(), 8);
    for session in sessions {
        assert!(!session.live);
        let project = &session.project;
        let expected: Vec<_> = (0..APPENDS)
            .map(|number| noted(format!("{project} {number}"), number))
            .collect();
        assert_eq!(store.events(&session.id).unwrap()[1..], expected);
    }
    assert_eq!(sound(&path), "ok");
}

fn write_lock_times_out_without_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let id = make(&path);
    let store = impatient(&path);
    let lease = store.take(&id).unwrap();
    let other = children::start("lock for writers", &path);
    let is_busy =
        |result: Result<(), SessionError>| matches!(result, Err(SessionError::Busy { .. }));
    for _ in 0..2 {
        assert!(is_busy(store.append(&lease, &[noted("a", 1)])));
        assert!(is_busy(store.create(&started("p", None, 1)).map(drop)));
        assert!(is_busy(store.take(&id).map(drop)));
        assert!(is_busy(store.remove(&id).map(drop)));
    }
    assert_eq!(store.events(&id).unwrap().len(), 1, "readers continue");
    // It counts as released, although the file is locked.
    store.release(lease);
    assert!(!store.list(&all()).unwrap()[0].live);
    children::finish(other);
    let lease = store.take(&id).unwrap();
    store.append(&lease, &[noted("a", 1)]).unwrap();
    assert_eq!(store.events(&id).unwrap().len(), 2);
}

fn exclusive_lock_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let id = make(&path);
    let other = children::start("lock for all", &path);
    let store = impatient(&path);
    assert!(matches!(store.events(&id), Err(SessionError::Busy { .. })));
    assert!(matches!(store.list(&all()), Err(SessionError::Busy { .. })));
    assert!(matches!(store.find(&id), Err(SessionError::Busy { .. })));
    assert!(matches!(store.take(&id), Err(SessionError::Busy { .. })));
    children::finish(other);
    store.take(&id).unwrap();
}

fn usage_and_sessions_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let (sessions, usage) = (patient(&path), children::patient(&path));
    std::thread::scope(|scope| {
        scope.spawn(|| children::record_many(&usage));
        scope.spawn(|| {
            let lease = sessions.create(&started("p", None, 1)).unwrap();
            for number in 0..50 {
                sessions.append(&lease, &[noted("a", number)]).unwrap();
            }
        });
    });
    assert_eq!(sessions.list(&all()).unwrap()[0].events, 51);
    let uses: u64 = usage
        .rows(&UsageQuery::project("p"))
        .unwrap()
        .iter()
        .map(|row| row.usage.count)
        .sum();
    assert_eq!(uses, children::USES.unsigned_abs());
}

fn file_without_sessions_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    SqliteUsage::new(&path)
        .record(&SkillUse::new("p", "a", 1))
        .unwrap();
    change(
        &path,
        "DROP TABLE stops; DROP TABLE questions; DROP TABLE sessions; DROP TABLE events; PRAGMA user_version = 1",
    );
    let before = fs::read(&path).unwrap();
    let store = SqliteSessions::new(&path);
    assert_eq!(store.list(&all()).unwrap(), []);
    assert!(matches!(
        store.take("a"),
        Err(SessionError::NotFound { .. })
    ));
    assert!(matches!(
        store.events("a"),
        Err(SessionError::NotFound { .. })
    ));
    assert!(matches!(
        store.remove("a"),
        Err(SessionError::NotFound { .. })
    ));
    let usage = SqliteUsage::new(&path);
    assert_eq!(usage.rows(&UsageQuery::project("p")).unwrap().len(), 1);
    assert_eq!(fs::read(&path).unwrap(), before, "reading does not write");
    let lease = store.create(&started("p", None, 1)).unwrap();
    store.append(&lease, &[noted("a", 1)]).unwrap();
    usage.record(&SkillUse::new("p", "a", 1)).unwrap();
    assert_eq!(
        usage.rows(&UsageQuery::project("p")).unwrap()[0]
            .usage
            .count,
        2
    );
    assert_eq!(store.events(&lease.session).unwrap().len(), 2);
}

/// A file of the version before the inbox of questions.
fn file_without_questions_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let id = make(&path);
    change(
        &path,
        "DROP TABLE stops; DROP TABLE questions; PRAGMA user_version = 2",
    );
    let before = fs::read(&path).unwrap();
    let store = SqliteSessions::new(&path);
    let all_questions = QuestionQuery {
        project: None,
        limit: 10,
    };
    assert_eq!(store.questions(&all_questions).unwrap(), []);
    let is_missing = |result| matches!(result, Err(SessionError::NoQuestion { .. }));
    assert!(is_missing(store.question("q1").map(|_| ())));
    assert!(is_missing(store.answer("q1", &yes("ada", 1)).map(|_| ())));
    assert_eq!(store.list(&all()).unwrap().len(), 1);
    assert_eq!(fs::read(&path).unwrap(), before, "reading does not write");
    let lease = store.take(&id).unwrap();
    let asked = StampedEvent {
        at: 2,
        event: Event::Questioned(Box::new(question("q1", None))),
    };
    store.append(&lease, &[asked]).unwrap();
    assert_eq!(store.questions(&all_questions).unwrap().len(), 1);
    let answered = store.answer("q1", &yes("ada", 3)).unwrap();
    assert_eq!(answered, AnswerOutcome::Stored);
}

fn file_is_created_with_the_first_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/prowess.db");
    let store = SqliteSessions::new(&path);
    let lease = || Lease::new("a", 1, 1);
    assert_eq!(store.list(&all()).unwrap(), []);
    assert!(store.take("a").is_err());
    assert!(store.append(&lease(), &[noted("a", 1)]).is_err());
    assert!(store.remove("a").is_err());
    store.release(lease());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    store.create(&started("p", None, 1)).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

fn file_removed_while_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let store = SqliteSessions::new(&path);
    let lease = store.create(&started("p", None, 1)).unwrap();
    fs::remove_file(&path).unwrap();
    let result = store.append(&lease, &[noted("a", 1)]);
    assert!(
        matches!(result, Err(SessionError::NotFound { .. })),
        "{result:?}"
    );
    assert!(!path.exists());
    let other = store.create(&started("p", None, 1)).unwrap();
    let result = store.append(&lease, &[noted("a", 1)]);
    assert!(
        matches!(result, Err(SessionError::NotFound { .. })),
        "{result:?}"
    );
    store.append(&other, &[noted("a", 1)]).unwrap();
}

fn read_only_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    make(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let before = fs::read(&path).unwrap();
    children::as_ordinary_user("read sessions", &path);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Runs a child from a shell script that prepares its environment. `"$@"` is the child.
fn in_shell(mut shell: Command, script: &str, role: &str, path: &Path) -> std::process::Output {
    let child = children::command(role, path);
    shell
        .args(["sh", "-c", script, "sh"])
        .arg(child.get_program())
        .args(child.get_args());
    for (name, value) in child.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell
        .env("FOLDER", path.parent().unwrap())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let alone = || {
        let mut command = Command::new("unshare");
        command.args(
            if rustix::process::geteuid().is_root() {
                "-m"
            } else {
                "-rm"
            }
            .split(' '),
        );
        command
    };
    let mount = "mount -t tmpfs -o size=600k none \"$FOLDER\"";
    if !in_shell(alone(), mount, "full", &path).status.success() {
        skip_unless_required("cannot mount a small disk", "PROWESS_TEST_REQUIRE_SANDBOX");
    }
    let output = in_shell(alone(), &format!("{mount} && \"$@\""), "full", &path);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(!path.exists(), "the file was on the small disk");
}

fn file_size_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.db");
    let script = "trap '' XFSZ; ulimit -f 400; exec \"$@\"";
    let output = in_shell(Command::new("env"), script, "limited", &path);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let store = SqliteSessions::new(&path);
    let session = store.list(&all()).unwrap().remove(0);
    let lease = store.take(&session.id).unwrap();
    store.append(&lease, &[noted("a", 1)]).unwrap();
    assert_eq!(
        store.events(&session.id).unwrap().len(),
        usize::try_from(session.events).unwrap() + 1
    );
    assert_eq!(sound(&path), "ok");
}
