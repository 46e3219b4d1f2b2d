//! Two processes and one session. The second process is this program again.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use prowess_runtime::{Engine, RuntimeError, Session};
use prowess_store::SqliteSessions;
use prowess_traits::SessionError;

use crate::script::{Script, conversation, says};
use crate::talk::talk;
use crate::world::{World, never, wait};

prowess_test::tests! {
    session_is_leased_to_one_process
}

const STORE: &str = "PROWESS_TEST_STORE";
const SESSION: &str = "PROWESS_TEST_SESSION";

pub(crate) fn is_other() -> bool {
    std::env::var_os(STORE).is_some()
}

fn engine(world: &World, store: &std::path::Path) -> (Engine, Arc<Script>) {
    let model = Script::by(|_, _| says("here"));
    let mut parts = world.parts(model.clone());
    parts.services.sessions = Some(Arc::new(SqliteSessions::new(store)));
    (Engine::new(parts).unwrap(), model)
}

/// Runs as the second process: resumes the session, sends a message, signals that it holds the
/// lease, and exits when its input ends.
pub(crate) fn other() {
    let store = std::path::PathBuf::from(std::env::var_os(STORE).unwrap());
    let id = std::env::var(SESSION).unwrap();
    let world = World::new();
    let (engine, _) = engine(&world, &store);
    wait(async {
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.say("from the other", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        std::io::stdout().write_all(b"!").unwrap();
        std::io::stdout().flush().unwrap();
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    });
}

fn session_is_leased_to_one_process() {
    let world = World::new();
    let store = world.path("../state/sessions.db");
    let (engine, model) = engine(&world, &store);
    let id = talk(&engine, "from here");
    let mut other = Command::new(std::env::current_exe().unwrap())
        .env(STORE, &store)
        .env(SESSION, &id)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut byte = [0];
    other
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut byte)
        .unwrap();
    let error = wait(Session::resume(&engine, &id, None)).unwrap_err();
    assert!(
        matches!(&error, RuntimeError::Store(SessionError::InUse { holder, .. }) if holder.contains(&other.id().to_string())),
        "{error}"
    );
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    wait(async {
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.say("back here", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let text = conversation(&model.last());
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["from here", "here", "from the other", "here", "back here"]
    );
}
