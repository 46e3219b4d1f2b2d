//! Failing stores: a step that cannot be recorded is not carried out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess_agent::{Event, RecordedVerdict, StampedEvent};
use prowess_policy::PermissionMode;
use prowess_runtime::{Engine, RuntimeError, Session, SkillRef, SubRun, Task};
use prowess_store::MemorySessions;
use prowess_traits::{
    Answer, AnswerOutcome, Lease, OpenQuestion, QuestionQuery, SessionError, SessionQuery,
    SessionStore, SessionSummary, StoredQuestion,
};

use crate::script::{Script, bash, conversation, load, says};
use crate::world::{World, mode, never, wait};

prowess_test::tests! {
    no_step_runs_without_being_recorded
    no_command_of_invoked_skill_runs_without_being_recorded
    failed_record_of_a_decision_refuses_the_command
    unrecorded_load_does_not_count
    failed_session_creation_is_a_store_error
    oversized_event_is_an_error
    store_failure_in_sub_run_ends_session
    abandoned_write_releases_session
    session_does_not_continue_after_an_interrupted_write
}

/// A store that is full after a number of writes.
#[derive(Debug)]
pub(crate) struct Full {
    inner: MemorySessions,
    left: AtomicUsize,
}

impl Full {
    pub(crate) fn after(writes: usize) -> Arc<Self> {
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

    pub(crate) fn fill_up(&self, writes: usize) {
        self.left.store(writes, Ordering::SeqCst);
    }
}

impl SessionStore for Full {
    fn create(&self, first: &StampedEvent) -> Result<Lease, SessionError> {
        self.take_one()?;
        self.inner.create(first)
    }

    fn take(&self, id: &str) -> Result<Lease, SessionError> {
        self.inner.take(id)
    }

    fn append(&self, lease: &Lease, events: &[StampedEvent]) -> Result<(), SessionError> {
        self.take_one()?;
        self.inner.append(lease, events)
    }

    fn release(&self, lease: Lease) {
        self.inner.release(lease);
    }

    fn events(&self, id: &str) -> Result<Vec<StampedEvent>, SessionError> {
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

    fn request_stop(&self, id: &str) -> Result<(), SessionError> {
        self.inner.request_stop(id)
    }

    fn is_stop_requested(&self, lease: &Lease) -> Result<bool, SessionError> {
        self.inner.is_stop_requested(lease)
    }

    fn questions(&self, query: &QuestionQuery) -> Result<Vec<OpenQuestion>, SessionError> {
        self.inner.questions(query)
    }

    fn question(&self, id: &str) -> Result<StoredQuestion, SessionError> {
        self.inner.question(id)
    }

    fn answer(&self, id: &str, answer: &Answer) -> Result<AnswerOutcome, SessionError> {
        self.take_one()?;
        self.inner.answer(id, answer)
    }
}

fn engine(world: &World, model: Arc<Script>, store: Arc<dyn SessionStore>) -> Engine {
    let mut parts = world.parts(model);
    mode(&mut parts, PermissionMode::Yolo);
    parts.services.sessions = Some(store);
    Engine::new(parts).unwrap()
}

/// Runs two commands that each write a line. The next step depends only on the request.
fn worker() -> Arc<Script> {
    Script::by(|_, request| match request.messages.len() {
        1 => bash("echo one >> log"),
        3 => bash("echo two >> log"),
        _ => says("done"),
    })
}

/// Runs the work in a new session.
async fn work(engine: &Engine) -> Result<(), RuntimeError> {
    let mut session = Session::start(engine, "t").await?;
    session.say("go", &never()).await?;
    session.proceed(&never()).await?;
    Ok(())
}

/// Fails at each write in turn. Afterwards the store has room again, and the session is resumed.
fn no_step_runs_without_being_recorded() {
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
        let started = |events: &[StampedEvent]| {
            let text = serde_json::to_string(events).unwrap();
            text.matches("call_started").count()
        };
        let log = || std::fs::read_to_string(world.path("log")).unwrap_or_default();
        let lines = log().lines().count();
        let events = store.events(&session.id).unwrap();
        assert!(
            lines <= started(&events) && lines <= allowed(&events),
            "{writes}: a command ran that is not in the record"
        );
        assert!(!session.live, "{writes}: the lease was not released");
        // The store has room again.
        store.fill_up(1_000);
        wait(async {
            let mut session = Session::resume(&engine, &session.id, None).await.unwrap();
            if session.run().messages().is_empty() {
                session.say("go", &never()).await.unwrap();
            }
            session.proceed(&never()).await.unwrap();
        });
        let log = log();
        let told = conversation(&model.last()).contains("it is unknown whether it had an effect");
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

/// Returns the number of decisions that allow a command.
fn allowed(events: &[StampedEvent]) -> usize {
    let is_allowed = |stamped: &&StampedEvent| match &stamped.event {
        Event::Decided(decided) => {
            decided.verdict == RecordedVerdict::Allow && decided.what.starts_with("echo ")
        }
        _ => false,
    };
    events.iter().filter(is_allowed).count()
}

/// The ways in which a user invokes a skill.
#[derive(Clone, Copy, Debug)]
enum Way {
    Run,
    Task,
    Message,
}

impl Way {
    const ALL: [Self; 3] = [Self::Run, Self::Task, Self::Message];

    async fn invoke(self, engine: &Engine, skill: &str) -> Result<(), RuntimeError> {
        let typed = format!("/{skill}");
        match self {
            Self::Run => {
                let sub = SubRun::new(SkillRef::Name(skill.into()));
                engine.run_skill(sub, &never()).await.map(drop)
            }
            Self::Task => engine.run_task(Task::new(typed), &never()).await.map(drop),
            Self::Message => {
                let mut session = Session::start(engine, "t").await?;
                session.say(&typed, &never()).await?;
                session.proceed(&never()).await.map(drop)
            }
        }
    }
}

/// Fails at each write in turn. A command of the skill runs only if the activation and the decision
/// about the command are in the store.
fn no_command_of_invoked_skill_runs_without_being_recorded() {
    for way in Way::ALL {
        let mut failures = 0;
        for writes in 0.. {
            let world = World::new();
            world.skill("two", "", "Lines: !`echo one >> log` !`echo two >> log`");
            let store = Full::after(writes);
            let engine = engine(&world, Script::of([says("done")]), store.clone());
            let Err(error) = wait(way.invoke(&engine, "two")) else {
                break;
            };
            failures += 1;
            assert!(
                matches!(error, RuntimeError::Store(SessionError::Unwritable { .. })),
                "{way:?} {writes}: {error:?}"
            );
            let lines = std::fs::read_to_string(world.path("log")).unwrap_or_default();
            let lines = lines.lines().count();
            let Some(session) = crate::world::roots(&engine).pop() else {
                assert_eq!(lines, 0, "{way:?} {writes}");
                continue;
            };
            let events = store.events(&session.id).unwrap();
            let is_start =
                |stamped: &StampedEvent| matches!(stamped.event, Event::ActivationStarted { .. });
            assert!(
                lines <= allowed(&events),
                "{way:?} {writes}: a command ran that is not in the record"
            );
            assert!(
                lines == 0 || events.iter().any(is_start),
                "{way:?} {writes}: the activation is not in the record"
            );
            assert!(
                !session.live,
                "{way:?} {writes}: the lease was not released"
            );
        }
        // Two decisions, the activation, and at least the start, the listing and the message.
        assert!(failures >= 6, "{way:?}: {failures} writes");
    }
}

/// The write of one decision fails, and then the store has room again.
fn failed_record_of_a_decision_refuses_the_command() {
    let world = World::new();
    let model = worker();
    // Started, listed, said, asked, replied; the sixth write is the decision with the start.
    let store = Full::after(5);
    let engine = engine(&world, model.clone(), store.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        let error = session.proceed(&never()).await.unwrap_err();
        assert!(
            matches!(error, RuntimeError::Store(SessionError::Unwritable { .. })),
            "{error:?}"
        );
        assert!(!world.exists("log"), "the command did not run");
        assert_eq!(model.asked().len(), 1, "the session did not continue");
        store.fill_up(1_000);
        session.proceed(&never()).await.unwrap();
    });
    // The call had not started, so it was made again.
    assert_eq!(world.read("log"), "one\ntwo\n");
    let told = conversation(&model.last());
    assert!(!told.contains("it is unknown whether it had an effect"));
}

/// The result with the text of a skill is lost, and then the store has room again.
fn unrecorded_load_does_not_count() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::by(|_, request| {
        if conversation(request).contains("Use pdftk.") {
            says("done")
        } else {
            load("pdf")
        }
    });
    // Started, listed, said, asked, replied, decided with the start; the seventh write is the result.
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

fn failed_session_creation_is_a_store_error() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::of([]);
    let engine = engine(&world, model.clone(), Full::after(0));
    let error = wait(Session::start(&engine, "t")).unwrap_err();
    assert!(matches!(error, RuntimeError::Store(_)));
    assert!(model.asked().is_empty());
}

fn oversized_event_is_an_error() {
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
        // A smaller message works.
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    assert_eq!(world.read("log"), "one\ntwo\n");
}

fn store_failure_in_sub_run_ends_session() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::by(|_, request| {
        if conversation(request).starts_with("Run skill") {
            says("seen")
        } else {
            load("look")
        }
    });
    // The session needs seven writes before the sub-run starts, which begins with four.
    for writes in 7..11 {
        let engine = engine(&world, model.clone(), Full::after(writes));
        let error = wait(work(&engine)).unwrap_err();
        assert!(
            matches!(error, RuntimeError::Store(SessionError::Unwritable { .. })),
            "{writes}: {error:?}"
        );
    }
}

/// A store whose writes block until a lock is released.
#[derive(Debug)]
struct Slow {
    inner: MemorySessions,
    gate: std::sync::Mutex<()>,
    waiting: tokio::sync::Notify,
    is_blocked: std::sync::atomic::AtomicBool,
}

impl SessionStore for Slow {
    fn create(&self, first: &StampedEvent) -> Result<Lease, SessionError> {
        self.inner.create(first)
    }

    fn take(&self, id: &str) -> Result<Lease, SessionError> {
        self.inner.take(id)
    }

    fn append(&self, lease: &Lease, events: &[StampedEvent]) -> Result<(), SessionError> {
        if self.is_blocked.load(Ordering::SeqCst) {
            self.waiting.notify_one();
            drop(self.gate.lock().unwrap());
        }
        self.inner.append(lease, events)
    }

    fn release(&self, lease: Lease) {
        self.inner.release(lease);
        self.waiting.notify_one();
    }

    fn events(&self, id: &str) -> Result<Vec<StampedEvent>, SessionError> {
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

    fn request_stop(&self, id: &str) -> Result<(), SessionError> {
        self.inner.request_stop(id)
    }

    fn is_stop_requested(&self, lease: &Lease) -> Result<bool, SessionError> {
        self.inner.is_stop_requested(lease)
    }

    fn questions(&self, query: &QuestionQuery) -> Result<Vec<OpenQuestion>, SessionError> {
        self.inner.questions(query)
    }

    fn question(&self, id: &str) -> Result<StoredQuestion, SessionError> {
        self.inner.question(id)
    }

    fn answer(&self, id: &str, answer: &Answer) -> Result<AnswerOutcome, SessionError> {
        self.inner.answer(id, answer)
    }
}

impl Slow {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: MemorySessions::new(),
            gate: std::sync::Mutex::default(),
            waiting: tokio::sync::Notify::new(),
            is_blocked: false.into(),
        })
    }
}

fn abandoned_write_releases_session() {
    let world = World::new();
    let store = Slow::new();
    let engine = engine(&world, worker(), store.clone());
    let guard = store.gate.lock().unwrap();
    let id = abandon_write(&engine, &store, guard);
    assert!(store.take(&id).is_ok(), "the lease is free");
}

/// The event of an abandoned write may be stored although the session did not see it. Writing on
/// could make the record invalid.
fn session_does_not_continue_after_an_interrupted_write() {
    let world = World::new();
    let store = Slow::new();
    let engine = engine(&world, worker(), store.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let guard = store.gate.lock().unwrap();
    let mut session = runtime.block_on(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        store.is_blocked.store(true, Ordering::SeqCst);
        tokio::select! {
            said = session.say_plainly("one") => panic!("{said:?}"),
            () = store.waiting.notified() => {}
        }
        session
    });
    store.is_blocked.store(false, Ordering::SeqCst);
    drop(guard);
    let error = runtime.block_on(session.say_plainly("two")).unwrap_err();
    assert!(matches!(error, RuntimeError::Interrupted { .. }), "{error}");
    let id = session.id().to_owned();
    drop(session);
    // The write that was abandoned ends before the lease is free.
    prowess_test::wait_until("the lease is free", || {
        store.take(&id).map(|lease| store.release(lease)).is_ok()
    });
    let said = |event: &StampedEvent| matches!(event.event, Event::Said { .. });
    let events = store.events(&id).unwrap();
    assert_eq!(events.iter().filter(|event| said(event)).count(), 1);
    let mut resumed = runtime
        .block_on(Session::resume(&engine, &id, None))
        .unwrap();
    runtime.block_on(resumed.say_plainly("two")).unwrap();
}

/// Starts a write, drops its future, and releases the lock only then.
fn abandon_write(engine: &Engine, store: &Slow, guard: std::sync::MutexGuard<'_, ()>) -> String {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let id = runtime.block_on(async {
        let mut session = Session::start(engine, "t").await.unwrap();
        store.is_blocked.store(true, Ordering::SeqCst);
        tokio::select! {
            said = session.say_plainly("hi") => panic!("{said:?}"),
            () = store.waiting.notified() => {}
        }
        session.id().to_owned()
    });
    drop(guard);
    runtime.block_on(store.waiting.notified());
    id
}
