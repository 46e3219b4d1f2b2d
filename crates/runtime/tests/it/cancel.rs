//! Stopping: a question, a command, a sub-run; and that it can go on afterwards.

use std::sync::Arc;

use prowess_agent::{Ending, EndingKind, Event};
use prowess_policy::Mode;
use prowess_runtime::{CancellationToken, Engine, Pause, Session, SkillRef, SubRun, Update};

use crate::harness::{Tests, tests};
use crate::script::{Act, Script, bash, calls, load, results, says};
use crate::world::{Seeing, World, children, events, mode, never, wait};

pub(crate) const TESTS: Tests = tests! {
    a_question_is_dropped_and_can_be_asked_again
    a_command_and_its_children_are_gone
    calls_that_were_not_begun_are_not_begun
    a_sub_run_is_stopped_with_its_session
    what_is_cancelled_before_it_begins_asks_nobody
    saying_something_else_gives_up_what_is_open
    a_session_that_is_dropped_ends_its_commands
    skilled_crew_a_turn_can_be_taken_up_in_the_middle
};

/// An engine that cancels when a file appears that a command makes.
fn engine(world: &World, model: Arc<Script>) -> Engine {
    let mut parts = world.parts(model);
    mode(&mut parts, Mode::Yolo);
    Engine::new(parts).unwrap()
}

/// Cancels as soon as a file is there. No clock: it looks until it is.
fn when_there(
    world: &World,
    file: &str,
    cancel: &CancellationToken,
) -> std::thread::JoinHandle<()> {
    let (path, cancel) = (world.path(file), cancel.clone());
    std::thread::spawn(move || {
        while !path.exists() {
            std::thread::yield_now();
        }
        cancel.cancel();
    })
}

/// Seconds that no other process of this machine sleeps for.
fn long() -> String {
    format!("9{}", std::process::id())
}

/// Whether any process of this machine sleeps for that long.
fn is_sleeping() -> bool {
    let wanted = format!("sleep\0{}\0", long());
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line == wanted.as_bytes()
    })
}

fn a_question_is_dropped_and_can_be_asked_again() {
    let world = World::new();
    let cancel = never();
    let token = cancel.clone();
    let model = Script::by(move |at, _| {
        if at == 0 {
            token.cancel();
            return Act::Hang;
        }
        says("now")
    });
    let engine = engine(&world, model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        let pause = session.proceed(&cancel).await.unwrap();
        assert_eq!(pause, Pause::Ended(Ending::Cancelled));
        let id = session.id().to_owned();
        drop(session);
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("now".into()));
    });
    assert_eq!(model.asked()[0].messages, model.asked()[1].messages);
}

/// Planck 4.2, Skilled Crew 4.1 #3: there the children live on.
fn a_command_and_its_children_are_gone() {
    let world = World::new();
    let slow = format!("sleep {0} & touch begun; sleep {0}; touch never", long());
    let model = Script::of([bash(&slow), says("what now?")]);
    let engine = engine(&world, model.clone());
    let cancel = never();
    let eye = when_there(&world, "project/begun", &cancel);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        let pause = session.proceed(&cancel).await.unwrap();
        assert_eq!(pause, Pause::Ended(Ending::Cancelled));
        assert!(!is_sleeping(), "nothing of it is left");
        let id = session.id().to_owned();
        drop(session);
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    eye.join().unwrap();
    assert!(!world.path("project/never").exists());
    assert!(
        results(&model.last())[0].contains("cancelled"),
        "{:?}",
        results(&model.last())
    );
}

fn calls_that_were_not_begun_are_not_begun() {
    let world = World::new();
    let model = Script::by(|at, _| match at {
        0 => calls([
            (
                "bash",
                serde_json::json!({ "command": "touch begun2; sleep 615" }),
            ),
            ("bash", serde_json::json!({ "command": "echo x >> second" })),
        ]),
        _ => says("done"),
    });
    let engine = engine(&world, model.clone());
    let cancel = never();
    let eye = when_there(&world, "project/begun2", &cancel);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        session.proceed(&cancel).await.unwrap();
        assert!(!world.path("project/second").exists());
        // Taken up again, what was not begun is done, once.
        let id = session.id().to_owned();
        drop(session);
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    eye.join().unwrap();
    assert_eq!(world.read("project/second"), "x\n");
}

fn a_sub_run_is_stopped_with_its_session() {
    let world = World::new();
    world.skill("slow", "context: fork\n", "Be slow.");
    let model = Script::of([load("slow"), bash("touch begun3; sleep 616")]);
    let engine = engine(&world, model);
    let cancel = never();
    let eye = when_there(&world, "project/begun3", &cancel);
    let id = wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        let pause = session.proceed(&cancel).await.unwrap();
        assert_eq!(pause, Pause::Ended(Ending::Cancelled));
        session.id().to_owned()
    });
    eye.join().unwrap();
    assert_eq!(
        children(&engine, &id)[0].ending,
        Some(EndingKind::Cancelled)
    );
}

fn what_is_cancelled_before_it_begins_asks_nobody() {
    let world = World::new();
    world.skill("sum", "", "Add.");
    let model = Script::of([]);
    let engine = engine(&world, model.clone());
    let cancel = never();
    cancel.cancel();
    let sub = SubRun::new(SkillRef::Name("sum".into()));
    let finished = wait(engine.run_skill(sub, &cancel)).unwrap();
    assert_eq!(finished.ending, Ending::Cancelled);
    assert!(model.asked().is_empty());
}

fn saying_something_else_gives_up_what_is_open() {
    let world = World::new();
    let cancel = never();
    let token = cancel.clone();
    // Cancelled between the answer of the model and its calls.
    let watch = move |_: &str, update: Update<'_>| {
        if let Update::Event(event) = update
            && matches!(event.event, Event::Replied { .. })
        {
            token.cancel();
        }
    };
    let model = Script::of([bash("touch never"), says("fine")]);
    let mut parts = world.parts(model.clone());
    mode(&mut parts, Mode::Yolo);
    parts.services.watchers.push(Arc::new(Seeing(watch)));
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        session.proceed(&cancel).await.unwrap();
        // Nothing may be noted between a call and its answer: the record would be spoilt.
        assert!(!session.wait_for_background().await.unwrap());
        session.say("Leave that.", &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("fine".into()));
    });
    assert!(!world.path("project/never").exists());
    let told = results(&model.last());
    assert!(
        told[0].contains("The person wants something else now. Nothing was done."),
        "{told:?}"
    );
}

fn a_session_that_is_dropped_ends_its_commands() {
    let world = World::new();
    let model = Script::of([bash("touch begun4; sleep 617; touch never")]);
    let engine = engine(&world, model);
    let seen = never();
    let eye = when_there(&world, "project/begun4", &seen);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        {
            let (nobody, seen) = (never(), seen.clone());
            tokio::select! {
                pause = session.proceed(&nobody) => panic!("{pause:?}"),
                () = seen.cancelled() => {}
            }
        }
        let id = session.id().to_owned();
        drop(session);
        // The runtime waits for its threads when it ends: a command that slept on would show.
        assert!(
            events(&engine, &id)
                .iter()
                .all(|event| !matches!(event.event, Event::CallEnded { .. }))
        );
    });
    eye.join().unwrap();
    assert!(!world.path("project/never").exists());
}

fn skilled_crew_a_turn_can_be_taken_up_in_the_middle() {
    let world = World::new();
    let cancel = never();
    let token = cancel.clone();
    let model = Script::by(move |at, _| match at {
        0 => bash("echo one >> log"),
        1 => {
            token.cancel();
            Act::Hang
        }
        2 => bash("echo two >> log"),
        _ => says("done"),
    });
    let engine = engine(&world, model);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        session.proceed(&cancel).await.unwrap();
        let id = session.id().to_owned();
        drop(session);
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("done".into()));
    });
    assert_eq!(world.read("project/log"), "one\ntwo\n");
}
