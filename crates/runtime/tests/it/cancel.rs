//! Cancelling a request, a command or a sub-run, and resuming afterwards.

use std::sync::Arc;

use prowess_agent::{Ending, EndingKind, Event};
use prowess_policy::PermissionMode;
use prowess_runtime::{
    CancellationToken, Engine, Pause, RuntimeError, Session, SkillRef, SubRun, Task, Update,
};
use prowess_test::wait_until;

use crate::script::{Act, Script, bash, calls, conversation, load, results, says};
use crate::world::{Seeing, World, children, events, mode, never, roots, wait};

prowess_test::tests! {
    cancelled_request_can_be_repeated
    cancelling_kills_command_and_children
    cancelling_stops_commands_of_invoked_skill
    pending_calls_are_not_started_after_cancel
    cancelling_session_stops_sub_run
    cancelled_before_start_makes_no_request
    new_message_abandons_open_calls
    background_result_survives_open_calls
    dropping_session_stops_commands
    skilled_crew_turn_can_be_resumed_midway
}

/// Creates an engine without prompts.
fn engine(world: &World, model: Arc<Script>) -> Engine {
    let mut parts = world.parts(model);
    mode(&mut parts, PermissionMode::Yolo);
    Engine::new(parts).unwrap()
}

/// Cancels as soon as a file exists. Panics if it never appears, because the command did not run.
fn cancel_when_created(
    world: &World,
    file: &str,
    cancel: &CancellationToken,
) -> std::thread::JoinHandle<()> {
    let (path, cancel) = (world.path(file), cancel.clone());
    std::thread::spawn(move || {
        // Cancel in either case, so that the test can end and fail.
        let _cancel = cancel.drop_guard();
        wait_until("the command creates its file", || path.exists());
    })
}

/// A number of seconds that no other process on this machine sleeps for.
fn long() -> String {
    format!("9{}", std::process::id())
}

/// Returns `true` if any process on this machine sleeps for that long.
fn is_sleeping() -> bool {
    let wanted = format!("sleep\0{}\0", long());
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line == wanted.as_bytes()
    })
}

fn cancelled_request_can_be_repeated() {
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

/// Planck 4.2, Skilled Crew 4.1 #3: their child processes survive.
fn cancelling_kills_command_and_children() {
    let world = World::new();
    let slow = format!("sleep {0} & touch begun; sleep {0}; touch never", long());
    let model = Script::of([bash(&slow), says("what now?")]);
    let engine = engine(&world, model.clone());
    let cancel = never();
    let watcher = cancel_when_created(&world, "begun", &cancel);
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
    watcher.join().unwrap();
    assert!(!world.exists("never"));
    assert!(
        results(&model.last())[0].contains("cancelled"),
        "{:?}",
        results(&model.last())
    );
}

/// A skill that a user runs or types is stopped while its first command runs.
fn cancelling_stops_commands_of_invoked_skill() {
    for way in ["run", "task", "message"] {
        let world = World::new();
        world.skill(
            "slow",
            "",
            "!`touch begun; sleep 618; touch never` !`touch second`",
        );
        let model = Script::of([says("hello")]);
        let engine = engine(&world, model.clone());
        let cancel = never();
        let watcher = cancel_when_created(&world, "begun", &cancel);
        wait(async {
            match way {
                "run" => {
                    let sub = SubRun::new(SkillRef::Name("slow".into()));
                    let finished = engine.run_skill(sub, &cancel).await.unwrap();
                    assert_eq!(finished.ending, Ending::Cancelled, "{way}");
                }
                "task" => {
                    let task = Task::new("/slow");
                    let finished = engine.run_task(task, &cancel).await.unwrap();
                    assert_eq!(finished.ending, Ending::Cancelled, "{way}");
                }
                _ => {
                    let mut session = Session::start(&engine, "t").await.unwrap();
                    let error = session.say("/slow", &cancel).await.unwrap_err();
                    assert!(matches!(error, RuntimeError::Cancelled { .. }), "{error}");
                    assert!(session.skills().is_empty());
                }
            }
        });
        watcher.join().unwrap();
        assert!(!world.exists("never") && !world.exists("second"), "{way}");
        assert!(model.asked().is_empty(), "{way}");
        let session = roots(&engine).pop().unwrap();
        assert_eq!(session.ending, Some(EndingKind::Cancelled), "{way}");
        let events = events(&engine, &session.id);
        let at = |wanted: fn(&Event) -> bool| {
            events
                .iter()
                .position(|stamped| wanted(&stamped.event))
                .unwrap()
        };
        let started = at(|event| matches!(event, Event::ActivationStarted { .. }));
        let decided = at(|event| matches!(event, Event::Decided(_)));
        assert!(started < decided, "{way}");
        // A conversation can continue.
        if way == "message" {
            wait(async {
                let mut session = Session::resume(&engine, &session.id, None).await.unwrap();
                session.say("hi", &never()).await.unwrap();
                let pause = session.proceed(&never()).await.unwrap();
                assert_eq!(pause, Pause::Answered("hello".into()));
            });
        }
    }
}

fn pending_calls_are_not_started_after_cancel() {
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
    let watcher = cancel_when_created(&world, "begun2", &cancel);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        session.proceed(&cancel).await.unwrap();
        assert!(!world.exists("second"));
        // After a resume, calls that had not started run once.
        let id = session.id().to_owned();
        drop(session);
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    watcher.join().unwrap();
    assert_eq!(world.read("second"), "x\n");
}

fn cancelling_session_stops_sub_run() {
    let world = World::new();
    world.skill("slow", "context: fork\n", "Be slow.");
    let model = Script::of([load("slow"), bash("touch begun3; sleep 616")]);
    let engine = engine(&world, model);
    let cancel = never();
    let watcher = cancel_when_created(&world, "begun3", &cancel);
    let id = wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        let pause = session.proceed(&cancel).await.unwrap();
        assert_eq!(pause, Pause::Ended(Ending::Cancelled));
        session.id().to_owned()
    });
    watcher.join().unwrap();
    assert_eq!(
        children(&engine, &id)[0].ending,
        Some(EndingKind::Cancelled)
    );
}

fn cancelled_before_start_makes_no_request() {
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

fn new_message_abandons_open_calls() {
    let world = World::new();
    let cancel = never();
    let token = cancel.clone();
    // Cancelled between the reply of the model and its calls.
    let watch = move |_: &str, update: Update<'_>| {
        if let Update::Event(event) = update
            && matches!(event.event, Event::Replied { .. })
        {
            token.cancel();
        }
    };
    let model = Script::of([bash("touch never"), says("fine")]);
    let mut parts = world.parts(model.clone());
    mode(&mut parts, PermissionMode::Yolo);
    parts.services.watchers.push(Arc::new(Seeing(watch)));
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        session.proceed(&cancel).await.unwrap();
        // A note between a call and its result would corrupt the record.
        assert!(!session.wait_for_background().await.unwrap());
        session.say("Leave that.", &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("fine".into()));
    });
    assert!(!world.exists("never"));
    let told = results(&model.last());
    assert!(
        told[0].contains("The user asked for something else. The tool was not run."),
        "{told:?}"
    );
}

fn background_result_survives_open_calls() {
    let world = World::new();
    world.skill("look", "context: fork\nbackground: true\n", "Look.");
    let cancel = never();
    let token = cancel.clone();
    let skill_ended = never();
    let ended = skill_ended.clone();
    // Cancelled between the reply of the model and its calls, while the skill is running.
    let watch = move |_: &str, update: Update<'_>| {
        if let Update::Event(event) = update {
            match &event.event {
                Event::Replied { reply, .. } if format!("{reply:?}").contains("touch never") => {
                    token.cancel();
                }
                Event::Ended { ending } if *ending != Ending::Cancelled => ended.cancel(),
                _ => {}
            }
        }
    };
    let model = Script::by(|_, request| {
        let said = conversation(request);
        match () {
            () if said.starts_with("Run skill") && said.contains("waited") => says("It is red."),
            () if said.starts_with("Run skill") => {
                bash("until test -e finish; do sleep 0.05; done; echo waited")
            }
            () if said.contains("It is red.") => says("I know."),
            () if said.contains("Second.") => bash("touch never"),
            () if said.contains("is running in the background") => says("I wait."),
            () => load("look"),
        }
    });
    let mut parts = world.parts(model.clone());
    parts.settings.background = true;
    mode(&mut parts, PermissionMode::Yolo);
    parts.services.watchers.push(Arc::new(Seeing(watch)));
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.say("Second.", &cancel).await.unwrap();
        let pause = session.proceed(&cancel).await.unwrap();
        assert_eq!(pause, Pause::Ended(Ending::Cancelled));
        std::fs::write(world.path("finish"), "").unwrap();
        skill_ended.cancelled().await;
        // The task of the skill ends shortly after its last event.
        for _ in 0..100_000 {
            session.note_background().await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(session.background(), 1);
        session.say("Leave that.", &never()).await.unwrap();
        while session.wait_for_background().await.unwrap() {}
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("I know.".into()));
        assert_eq!(session.background(), 0);
    });
    assert!(!world.exists("never"));
}

fn dropping_session_stops_commands() {
    let world = World::new();
    let model = Script::of([bash("touch begun4; sleep 617; touch never")]);
    let engine = engine(&world, model);
    let seen = never();
    let watcher = cancel_when_created(&world, "begun4", &seen);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        {
            let (uncancelled, seen) = (never(), seen.clone());
            tokio::select! {
                pause = session.proceed(&uncancelled) => panic!("{pause:?}"),
                () = seen.cancelled() => {}
            }
        }
        let id = session.id().to_owned();
        drop(session);
        // The runtime waits for its threads when it is dropped, so a command that is still sleeping
        // would delay it.
        assert!(
            events(&engine, &id)
                .iter()
                .all(|event| !matches!(event.event, Event::CallEnded { .. }))
        );
    });
    watcher.join().unwrap();
    assert!(!world.exists("never"));
}

fn skilled_crew_turn_can_be_resumed_midway() {
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
    assert_eq!(world.read("log"), "one\ntwo\n");
}
