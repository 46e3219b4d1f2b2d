//! Stores that fail: what could not be written down is not done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess_agent::Stamped;
use prowess_policy::Mode;
use prowess_runtime::{Engine, RuntimeError, Session};
use prowess_store::MemorySessions;
use prowess_traits::{Lease, SessionError, SessionQuery, SessionStore, SessionSummary};

use crate::harness::{Tests, tests};
use crate::script::{Script, bash, conversation, load, says};
use crate::world::{World, mode, never, wait};

pub(crate) const TESTS: Tests = tests! {
    nothing_is_done_that_could_not_be_written_down
    a_load_that_was_not_written_down_is_no_load
    a_session_that_cannot_begin_is_none
    an_event_that_is_too_large_is_an_error_and_not_lost_silently
    a_sub_run_whose_store_fails_ends_the_session_too
    a_write_that_nobody_waits_for_gives_the_session_back
};

/// A store that is full from the n-th write on.
#[derive(Debug)]
struct Full {
    inner: MemorySessions,
    left: AtomicUsize,
}

impl Full {
    fn after(writes: usize) -> Arc<Self> {
        Arc::new(Self {
            inner: MemorySessions::new(),
            left: AtomicUsize::new(writes),
        })
    }

    fn take_one(&self) -> Result<(), SessionError> {
        let less = |left: usize| left.checked_sub(1);
        match self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        {
            Ok(_) => Ok(()),
            Err(_) => Err(SessionError::Unwritable {
                store: "full".into(),
                reason: "no space left".into(),
            }),
        }
    }

    fn fill_up(&self, writes: usize) {
        self.left.store(writes, Ordering::SeqCst);
    }
}

impl SessionStore for Full {
    fn create(&self, first: &Stamped) -> Result<Lease, SessionError> {
        self.take_one()?;
        self.inner.create(first)
    }

    fn take(&self, id: &str) -> Result<Lease, SessionError> {
        self.inner.take(id)
    }

    fn append(&self, lease: &Lease, events: &[Stamped]) -> Result<(), SessionError> {
        self.take_one()?;
        self.inner.append(lease, events)
    }

    fn release(&self, lease: Lease) {
        self.inner.release(lease);
    }

    fn events(&self, id: &str) -> Result<Vec<Stamped>, SessionError> {
        self.inner.events(id)
    }

    fn list(&self, query: &SessionQuery) -> Result<Vec<SessionSummary>, SessionError> {
        self.inner.list(query)
    }

    fn find(&self, beginning: &str) -> Result<Box<str>, SessionError> {
        self.inner.find(beginning)
    }

    fn remove(&self, id: &str) -> Result<u64, SessionError> {
        self.inner.remove(id)
    }
}

fn engine(world: &World, model: Arc<Script>, store: Arc<dyn SessionStore>) -> Engine {
    let mut parts = world.parts(model);
    mode(&mut parts, Mode::Yolo);
    parts.services.sessions = Some(store);
    Engine::new(parts).unwrap()
}

/// Two commands, each of which leaves a line. What is next hangs on what the model reads only.
fn worker() -> Arc<Script> {
    Script::by(|_, request| match request.messages.len() {
        1 => bash("echo one >> log"),
        3 => bash("echo two >> log"),
        _ => says("done"),
    })
}

/// Whether the work is done; else why not.
async fn work(engine: &Engine) -> Result<(), RuntimeError> {
    let mut session = Session::start(engine, "t").await?;
    session.say("go", &never()).await?;
    session.proceed(&never()).await?;
    Ok(())
}

/// Fails at every write in turn; afterwards there is room again, and it is taken up.
fn nothing_is_done_that_could_not_be_written_down() {
    let mut failures = 0;
    for writes in 0.. {
        let world = World::new();
        let store = Full::after(writes);
        let model = worker();
        let engine = engine(&world, model.clone(), store.clone());
        let ended = wait(work(&engine));
        let Err(error) = ended else { break };
        failures += 1;
        assert!(
            matches!(error, RuntimeError::Store(SessionError::Unwritable { .. })),
            "{writes}: {error:?}"
        );
        let query = SessionQuery {
            project: None,
            parent: None,
            limit: 9,
        };
        let Some(session) = store.list(&query).unwrap().pop() else {
            continue;
        };
        let begun = |events: &[Stamped]| {
            let text = serde_json::to_string(events).unwrap();
            text.matches("call_started").count()
        };
        let lines = world.read("project/log").lines().count();
        let events = store.events(&session.id).unwrap();
        assert!(
            lines <= begun(&events),
            "{writes}: a command ran that is not in the record"
        );
        assert!(!session.live, "{writes}: it was given back");
        // There is room again.
        store.fill_up(1_000);
        wait(async {
            let mut session = Session::resume(&engine, &session.id, None).await.unwrap();
            if session.run().messages().is_empty() {
                session.say("go", &never()).await.unwrap();
            }
            session.proceed(&never()).await.unwrap();
        });
        let log = world.read("project/log");
        let told = conversation(&model.last()).contains("nobody knows whether it had an effect");
        for line in ["one", "two"] {
            let times = log.lines().filter(|known| *known == line).count();
            assert!(
                times == 1 || told && times == 0,
                "{writes}: {line} {times} times, told: {told}"
            );
        }
    }
    assert!(failures >= 10, "{failures} writes");
}

/// The answer with the text of a skill is lost, and there is room again at once.
fn a_load_that_was_not_written_down_is_no_load() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::by(|_, request| {
        if conversation(request).contains("Use pdftk.") {
            says("done")
        } else {
            load("pdf")
        }
    });
    // Started, listed, said, asked, replied, the call began: the seventh is its answer.
    let store = Full::after(6);
    let engine = engine(&world, model, store.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap_err();
        assert!(session.skills().is_empty());
        store.fill_up(1_000);
        session.proceed(&never()).await.unwrap();
        assert_eq!(session.skills().len(), 1);
    });
}

fn a_session_that_cannot_begin_is_none() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::of([]);
    let engine = engine(&world, model.clone(), Full::after(0));
    let error = wait(Session::start(&engine, "t")).unwrap_err();
    assert!(matches!(error, RuntimeError::Store(_)));
    assert!(model.asked().is_empty());
}

fn an_event_that_is_too_large_is_an_error_and_not_lost_silently() {
    let world = World::new();
    let model = worker();
    let engine = engine(&world, model.clone(), world.sqlite());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        let huge = "x".repeat(prowess_traits::MAX_EVENT);
        let error = session.say_plainly(&huge).await.unwrap_err();
        assert!(
            matches!(error, RuntimeError::Store(SessionError::TooLarge { .. })),
            "{error}"
        );
        // And it goes on with something smaller.
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    assert_eq!(world.read("project/log"), "one\ntwo\n");
}

fn a_sub_run_whose_store_fails_ends_the_session_too() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::by(|_, request| {
        if conversation(request).starts_with("Run skill") {
            says("seen")
        } else {
            load("look")
        }
    });
    // As many writes as the session needs until its skill begins to run.
    let engine = engine(&world, model.clone(), Full::after(8));
    let error = wait(work(&engine)).unwrap_err();
    assert!(
        matches!(error, RuntimeError::Store(SessionError::Unwritable { .. })),
        "{error:?}"
    );
}

/// Writes wait until they are let through.
#[derive(Debug)]
struct Slow {
    inner: MemorySessions,
    door: std::sync::Mutex<()>,
    waiting: tokio::sync::Notify,
    is_shut: std::sync::atomic::AtomicBool,
}

impl SessionStore for Slow {
    fn create(&self, first: &Stamped) -> Result<Lease, SessionError> {
        self.inner.create(first)
    }

    fn take(&self, id: &str) -> Result<Lease, SessionError> {
        self.inner.take(id)
    }

    fn append(&self, lease: &Lease, events: &[Stamped]) -> Result<(), SessionError> {
        if self.is_shut.load(Ordering::SeqCst) {
            self.waiting.notify_one();
            drop(self.door.lock().unwrap());
        }
        self.inner.append(lease, events)
    }

    fn release(&self, lease: Lease) {
        self.inner.release(lease);
        self.waiting.notify_one();
    }

    fn events(&self, id: &str) -> Result<Vec<Stamped>, SessionError> {
        self.inner.events(id)
    }

    fn list(&self, query: &SessionQuery) -> Result<Vec<SessionSummary>, SessionError> {
        self.inner.list(query)
    }

    fn find(&self, beginning: &str) -> Result<Box<str>, SessionError> {
        self.inner.find(beginning)
    }

    fn remove(&self, id: &str) -> Result<u64, SessionError> {
        self.inner.remove(id)
    }
}

fn a_write_that_nobody_waits_for_gives_the_session_back() {
    let world = World::new();
    let store = Arc::new(Slow {
        inner: MemorySessions::new(),
        door: std::sync::Mutex::default(),
        waiting: tokio::sync::Notify::new(),
        is_shut: false.into(),
    });
    let engine = engine(&world, worker(), store.clone());
    let door = store.door.lock().unwrap();
    let id = wait_with(&engine, &store, door);
    assert!(store.take(&id).is_ok(), "nobody has it any more");
}

/// Begins a write, walks away from it, and lets it through only then.
fn wait_with(engine: &Engine, store: &Slow, door: std::sync::MutexGuard<'_, ()>) -> String {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let id = runtime.block_on(async {
        let mut session = Session::start(engine, "t").await.unwrap();
        store.is_shut.store(true, Ordering::SeqCst);
        tokio::select! {
            said = session.say_plainly("hi") => panic!("{said:?}"),
            () = store.waiting.notified() => {}
        }
        session.id().to_owned()
    });
    drop(door);
    runtime.block_on(store.waiting.notified());
    id
}
