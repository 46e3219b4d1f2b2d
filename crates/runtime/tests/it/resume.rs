//! Resuming sessions and sub-runs, after every event.

use std::sync::Arc;

use prowess_agent::{Ending, Event, FailureKind, Message, RunBudget, StampedEvent, VERSION};
use prowess_policy::PermissionMode;
use prowess_runtime::{Engine, Pause, RuntimeError, Session, SkillRef, SubRun, Task};
use prowess_store::MemorySessions;
use prowess_test::wait_until;
use prowess_traits::SessionStore;
use serde_json::json;

use crate::script::{Script, bash, call, calls, conversation, load, results, says, tools};
use crate::talk::talk;
use crate::world::{Counter, World, events, mode, never, wait};

prowess_test::tests! {
    resume_at_every_event_neither_repeats_nor_loses_commands
    squadron_2_loaded_skills_and_tools_survive_resume
    squadron_3_resumed_sub_run_keeps_its_permissions
    sub_run_with_missing_skill_cannot_be_resumed
    session_of_newer_version_is_rejected
    invalid_events_are_an_error
    resume_uses_original_model
    resume_keeps_or_replaces_budget
    interrupted_read_is_repeated
    submitted_result_does_not_end_later_messages
    sqlite_session_survives_new_engine
    session_start_hooks_run_on_resume
    lost_background_run_is_reported_once
    every_prefix_of_a_typed_run_ends_with_its_value
    task_interrupted_before_its_message_fails
    every_prefix_of_a_compacted_session_can_be_resumed
}

/// Copies events into a new store and releases the session.
fn copy(events: &[StampedEvent]) -> (Arc<dyn SessionStore>, Box<str>) {
    let store = MemorySessions::new();
    let lease = store.create(&events[0]).unwrap();
    let id = lease.session.clone();
    store.append(&lease, &events[1..]).unwrap();
    store.release(lease);
    (Arc::new(store), id)
}

/// The next step depends only on the request.
fn worker() -> Arc<Script> {
    Script::by(|_, request| {
        let done = |what: &str| conversation(request).contains(what);
        match () {
            () if !done("Use the log.") => load("notes"),
            () if !done("echo one") => calls([
                ("bash", json!({ "command": "echo one >> log" })),
                ("bash", json!({ "command": "echo two >> log" })),
                ("glob", json!({ "pattern": "*" })),
            ]),
            () if !done("echo three") => bash("echo three >> log"),
            () => says("done"),
        }
    })
}

fn engine(world: &World, model: Arc<Script>, store: Arc<dyn SessionStore>) -> Engine {
    let mut parts = world.parts(model);
    mode(&mut parts, PermissionMode::Yolo);
    parts.services.sessions = Some(store);
    Engine::new(parts).unwrap()
}

/// The log shows which commands ran. A command that had started at the interruption is not repeated;
/// the model is told, and only in that case may a line be missing.
fn resume_at_every_event_neither_repeats_nor_loses_commands() {
    let world = World::new();
    world.skill("notes", "", "Use the log.");
    let whole = engine(&world, worker(), Arc::new(MemorySessions::new()));
    let id = wait(async {
        let mut session = Session::start(&whole, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.id().to_owned()
    });
    let all = events(&whole, &id);
    assert_eq!(world.read("log"), "one\ntwo\nthree\n");
    let mut interrupted = 0;
    for cut in 1..=all.len() {
        let before = &all[..cut];
        // The log at that moment: every command that had started has written its line.
        let started: Vec<&str> = before
            .iter()
            .filter_map(|event| match &event.event {
                Event::CallStarted { call, .. } => Some(&**call),
                _ => None,
            })
            .collect();
        let lines: Vec<&str> = commands(before)
            .into_iter()
            .filter(|(call, _)| started.contains(&&**call))
            .map(|(_, line)| line)
            .collect();
        let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
        world.file("log", &log);
        let (store, id) = copy(before);
        let model = worker();
        let engine = engine(&world, model.clone(), store);
        wait(async {
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            if session.run().messages().is_empty() {
                session.say("go", &never()).await.unwrap();
            }
            let pause = session.proceed(&never()).await.unwrap();
            assert_eq!(pause, Pause::Answered("done".into()), "cut at {cut}");
            let told = session
                .run()
                .messages()
                .iter()
                .flat_map(Message::results)
                .filter(|result| {
                    result
                        .text
                        .contains("it is unknown whether it had an effect")
                })
                .count();
            let open = started.len()
                - before
                    .iter()
                    .filter(|event| matches!(event.event, Event::CallEnded { .. }))
                    .count();
            // `glob` is read-only, so it is repeated without a message.
            assert!(
                told == open || told + 1 == open,
                "cut at {cut}: told {told}, open {open}"
            );
            interrupted += told;
            assert_eq!(session.skills().len(), 1, "cut at {cut}");
        });
        let mut found: Vec<String> = world.read("log").lines().map(str::to_owned).collect();
        found.sort();
        assert_eq!(
            found,
            ["one", "three", "two"],
            "cut at {cut}: each line once"
        );
        // The session answered, and its record is valid.
        assert!(prowess_agent::Run::replay(&events(&engine, &id)).is_ok());
    }
    assert!(interrupted >= 3, "{interrupted} commands were cut off");
}

/// Returns each call with the word that its command writes.
fn commands(events: &[StampedEvent]) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for event in events {
        let Event::Replied { reply, .. } = &event.event else {
            continue;
        };
        for call in reply.calls() {
            if let Some(word) = call.input["command"]
                .as_str()
                .and_then(|line| line.split(' ').nth(1))
            {
                found.push((call.id.to_string(), word));
            }
        }
    }
    found
}

fn squadron_2_loaded_skills_and_tools_survive_resume() {
    let world = World::new();
    world.skill(
        "stamps",
        "allowed-tools: stamp Bash(mkdir:*)\nmodel: inherit\n",
        "Use stamp.",
    );
    let stamp = Counter::new("stamp");
    let model = Script::by(|at, _| match at {
        0 => load("stamps"),
        1 => says("loaded"),
        2 => calls([
            ("stamp", json!({})),
            ("bash", json!({ "command": "mkdir made" })),
            ("load_skill", json!({ "name": "stamps" })),
        ]),
        _ => says("done"),
    });
    let mut parts = world.parts(model.clone());
    parts.services.sessions = Some(world.sqlite());
    parts.services.skill_tools.push(stamp.clone());
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        let id = session.id().to_owned();
        drop(session);
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        assert_eq!(&*session.skills()[0].name, "stamps");
        session.say("go on", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let asked = model.asked();
    assert!(tools(&asked[2]).contains(&"stamp"), "declared as tools");
    assert_eq!(asked[2].system, asked[0].system);
    assert!(conversation(&asked[2]).contains("Use stamp."));
    assert_eq!(stamp.inputs().len(), 1);
    assert!(world.exists("made"), "and what it grants");
    assert!(results(&asked[3])[2].contains("already loaded"));
}

fn squadron_3_resumed_sub_run_keeps_its_permissions() {
    let world = World::new();
    world.skill("maker", "allowed-tools: Bash(mkdir:*)\n", "Make folders.");
    let model = Script::by(|at, _| match at {
        0 => says("made"),
        1 => bash("touch other"),
        _ => says("done"),
    });
    let mut parts = world.parts(model.clone());
    mode(&mut parts, PermissionMode::Yolo);
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let sub = SubRun::new(SkillRef::Name("maker".into()));
        let finished = engine.run_skill(sub, &never()).await.unwrap();
        let mut session = Session::resume(&engine, &finished.session, None)
            .await
            .unwrap();
        session.say_plainly("more").await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let asked = model.asked();
    assert_eq!(tools(&asked[1]), tools(&asked[0]));
    assert!(!world.exists("other"), "{:?}", results(&asked[2]));
}

/// The skill determines the permissions of a sub-run. Resuming without it would grant all tools.
fn sub_run_with_missing_skill_cannot_be_resumed() {
    let world = World::new();
    world
        .skill("maker", "allowed-tools: Read\n", "Make folders.")
        .skill("other", "", "O.");
    let engine = world.engine(Script::of([says("done")]));
    let finished =
        wait(engine.run_skill(SubRun::new(SkillRef::Name("maker".into())), &never())).unwrap();
    std::fs::remove_dir_all(world.path("~/.agents/skills/maker")).unwrap();
    engine.context().services.registry.refresh();
    let error = wait(Session::resume(&engine, &finished.session, None)).unwrap_err();
    assert!(matches!(error, RuntimeError::Skill(_)), "{error}");
    let live = crate::world::roots(&engine)
        .iter()
        .any(|session| session.live);
    assert!(!live, "it was given back");
}

fn session_of_newer_version_is_rejected() {
    let world = World::new();
    let engine = world.engine(Script::of([]));
    let id = wait(async { Session::start(&engine, "t").await.unwrap().id().to_owned() });
    let mut all = events(&engine, &id);
    let Event::Started(started) = &mut all[0].event else {
        panic!()
    };
    started.version = VERSION + 1;
    let (store, id) = copy(&all);
    let engine = self::engine(&world, Script::of([]), store);
    let error = wait(Session::resume(&engine, &id, None)).unwrap_err();
    assert!(matches!(error, RuntimeError::Fold { .. }), "{error}");
    assert_eq!(events(&engine, &id), all, "nothing was written to it");
}

fn invalid_events_are_an_error() {
    let world = World::new();
    let engine = world.engine(Script::of([says("fine")]));
    let id = talk(&engine, "go");
    let mut all = events(&engine, &id);
    let twice = all[0].clone();
    all.push(twice);
    let (store, id) = copy(&all);
    let engine = self::engine(&world, Script::of([]), store);
    for _ in 0..2 {
        let error = wait(Session::resume(&engine, &id, None)).unwrap_err();
        assert!(
            matches!(error, RuntimeError::Fold { .. }),
            "the lease is released each time: {error}"
        );
    }
}

fn resume_uses_original_model() {
    let world = World::new();
    let engine = world.engine(crate::keys::another("script/old", "old"));
    let id = talk(&engine, "go");
    let (old, new) = (
        crate::keys::another("script/old", "o"),
        crate::keys::another("script/new", "n"),
    );
    for (known, chosen, answer) in [(true, false, "o"), (false, false, "n"), (true, true, "n")] {
        let (store, id) = copy(&events(&engine, &id));
        let mut parts = world.parts(new.clone());
        parts.services.sessions = Some(store);
        parts.settings.is_model_chosen = chosen;
        if known {
            parts.services.models = Some(Arc::new(crate::keys::Known(vec![old.clone()])));
        }
        let engine = Engine::new(parts).unwrap();
        wait(async {
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            session.say("again", &never()).await.unwrap();
            let pause = session.proceed(&never()).await.unwrap();
            assert_eq!(pause, Pause::Answered(answer.into()));
        });
    }
}

fn resume_keeps_or_replaces_budget() {
    let world = World::new();
    let engine = world.engine(Script::of([says("fine")]));
    let id = talk(&engine, "go");
    let budget = |more: Option<RunBudget>| {
        wait(async {
            let session = Session::resume(&engine, &id, more).await.unwrap();
            (
                session.run().started().unwrap().limits.budget.turns,
                session.spent().turns,
            )
        })
    };
    assert_eq!(budget(None), (Some(50), 1));
    assert_eq!(budget(Some(RunBudget::turns(2))), (Some(2), 1));
    assert_eq!(budget(None), (Some(2), 1), "it stays so");
}

fn interrupted_read_is_repeated() {
    let world = World::new();
    world.file("a.txt", "the text");
    let model = Script::of([call("read", json!({ "path": "a.txt" })), says("done")]);
    let whole = world.free(model);
    let id = wait(async {
        let mut session = Session::start(&whole, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.id().to_owned()
    });
    let all = events(&whole, &id);
    let cut = all
        .iter()
        .position(|event| matches!(event.event, Event::CallStarted { .. }))
        .unwrap();
    let (store, id) = copy(&all[..=cut]);
    let model = Script::of([says("done")]);
    let engine = engine(&world, model.clone(), store);
    wait(async {
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    assert!(results(&model.last())[0].contains("the text"));
}

fn submitted_result_does_not_end_later_messages() {
    let world = World::new();
    world.skill("sum", "", "Add.");
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let model = Script::by(|at, _| call("submit", json!({ "n": at })));
    let engine = world.engine(model.clone());
    wait(async {
        let sub = SubRun {
            result: Some(schema),
            ..SubRun::new(SkillRef::Name("sum".into()))
        };
        let finished = engine.run_skill(sub, &never()).await.unwrap();
        let mut session = Session::resume(&engine, &finished.session, None)
            .await
            .unwrap();
        session.say_plainly("Once more.").await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        let value = json!({ "n": 1 });
        assert_eq!(pause, Pause::Ended(Ending::Submitted { value }));
    });
}

/// Skilled Crew N11.
fn sqlite_session_survives_new_engine() {
    let world = World::new();
    let model = Script::by(|at, _| says(&format!("answer {at}")));
    let one = engine(&world, model.clone(), world.sqlite());
    let id = wait(async {
        let mut session = Session::start(&one, "t").await.unwrap();
        session.say("first ü", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.id().to_owned()
    });
    drop(one);
    let two = engine(&world, model.clone(), world.sqlite());
    wait(async {
        let mut session = Session::resume(&two, &id, None).await.unwrap();
        session.say("second", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let text = conversation(&model.last());
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["first ü", "answer 0", "second"]
    );
}

fn session_start_hooks_run_on_resume() {
    let world = World::new();
    world.skill("guard", "allowed-tools: Bash\nhooks:\n  SessionStart:\n    - hooks: [{type: command, command: \"cat >> $CLAUDE_PROJECT_DIR/started\"}]\n", "Guard.");
    let model = Script::by(|at, _| if at == 0 { load("guard") } else { says("done") });
    let engine = engine(&world, model, Arc::new(MemorySessions::new()));
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        let id = session.id().to_owned();
        drop(session);
        assert!(!world.exists("started"));
        Session::resume(&engine, &id, None).await.unwrap();
    });
    let heard = world.read("started");
    assert!(
        heard.contains("\"source\":\"resume\"") || heard.contains("\"source\": \"resume\""),
        "{heard}"
    );
}

fn lost_background_run_is_reported_once() {
    let world = World::new();
    world.skill("look", "context: fork\nbackground: true\n", "Look.");
    let model = Script::by(|_, request| {
        let said = conversation(request);
        match () {
            () if said.starts_with("Run skill") => crate::script::Act::Hang,
            () if said.contains("is running in the background") => says("fine"),
            () => load("look"),
        }
    });
    let mut parts = world.parts(model.clone());
    parts.settings.background = true;
    let engine = Engine::new(parts).unwrap();
    let id = wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        // The sub-run has started once its model is asked.
        wait_until("the sub-run asks its model", || {
            let asked = model.asked();
            asked
                .iter()
                .any(|one| conversation(one).starts_with("Run skill"))
        });
        session.id().to_owned()
    });
    for _ in 0..2 {
        wait(async {
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            session.say("And?", &never()).await.unwrap();
            session.proceed(&never()).await.unwrap();
        });
        let said = conversation(&model.last());
        assert_eq!(said.matches("and did not finish").count(), 1, "{said}");
        assert!(said.contains("Skill `look` was running in the background (session "));
    }
}

fn every_prefix_of_a_typed_run_ends_with_its_value() {
    let world = World::new();
    world.skill("sum", "", "Add.").file("a.txt", "2");
    let schema = json!({
        "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"],
    });
    let worker = || {
        Script::by(|_, request| match request.messages.len() {
            1 => call("read", json!({ "path": "a.txt" })),
            3 => call("submit", json!({ "n": "two" })),
            _ => call("submit", json!({ "n": 2 })),
        })
    };
    let whole = world.engine(worker());
    let sub = SubRun {
        result: Some(schema),
        ..SubRun::new(SkillRef::Name("sum".into()))
    };
    let finished = wait(whole.run_skill(sub, &never())).unwrap();
    let all = events(&whole, &finished.session);
    let said = all
        .iter()
        .position(|event| matches!(event.event, Event::Said { .. }))
        .unwrap();
    for cut in 1..=all.len() {
        let (store, id) = copy(&all[..cut]);
        let model = worker();
        let mut parts = world.parts(model.clone());
        parts.services.sessions = Some(store);
        let engine = Engine::new(parts).unwrap();
        let pause = wait(async {
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            session.proceed(&never()).await.unwrap()
        });
        if cut <= said {
            // The task is not in the record, so the run cannot continue.
            let Pause::Ended(Ending::Failed { kind, message }) = pause else {
                panic!("cut at {cut}: {pause:?}");
            };
            assert_eq!(kind, FailureKind::Skill, "cut at {cut}");
            let loading = "stopped while skill `sum` was being loaded; its commands may have run";
            assert_eq!(message.contains(loading), cut == said, "{cut}: {message}");
            assert!(model.asked().is_empty(), "cut at {cut}");
            continue;
        }
        let value = json!({ "n": 2 });
        assert_eq!(
            pause,
            Pause::Ended(Ending::Submitted { value }),
            "cut at {cut}"
        );
        assert!(
            model
                .asked()
                .iter()
                .all(|one| tools(one).contains(&"submit")),
            "cut at {cut}"
        );
    }
}

/// A task that needs a value fails; a conversation without messages waits for one.
fn task_interrupted_before_its_message_fails() {
    let world = World::new();
    for result in [Some(json!({ "type": "object" })), None] {
        let model = Script::by(|_, _| call("submit", json!({})));
        let whole = world.engine(if result.is_some() {
            model
        } else {
            Script::of([says("done")])
        });
        let task = Task {
            result: result.clone(),
            ..Task::new("go")
        };
        let finished = wait(whole.run_task(task, &never())).unwrap();
        let all = events(&whole, &finished.session);
        let (store, id) = copy(&all[..2]);
        let model = Script::of([]);
        let mut parts = world.parts(model.clone());
        parts.services.sessions = Some(store);
        let engine = Engine::new(parts).unwrap();
        let pause = wait(async {
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            session.proceed(&never()).await.unwrap()
        });
        let failed = Pause::Ended(Ending::Failed {
            kind: FailureKind::Other,
            message: "the run stopped before its task was stored".to_owned(),
        });
        let waits = Pause::Answered(String::new());
        assert_eq!(pause, if result.is_some() { failed } else { waits });
    }
}

/// The scripted model checks each request. An interrupted summary is requested again.
fn every_prefix_of_a_compacted_session_can_be_resumed() {
    let world = World::new();
    world
        .skill("pdf", "", "Use pdftk.")
        .file("a.txt", format!("{}\n", "x".repeat(1_400)).repeat(60));
    let worker = || {
        let model = Script::new("script/one", |_, request| {
            let said = conversation(request);
            match () {
                () if said.starts_with("Below is the start") => says("Much was read."),
                () if !said.contains("Use pdftk.") => load("pdf"),
                () if said.contains("Much was read.") => says("done"),
                () => {
                    let line = request.messages.len() / 2;
                    call(
                        "read",
                        json!({ "path": "a.txt", "offset": line, "limit": 1 }),
                    )
                }
            }
        });
        Arc::new(model.window(4_000).counting())
    };
    let whole = world.engine(worker());
    let id = wait(async {
        let mut session = Session::start(&whole, "t").await.unwrap();
        session.say("Read it.", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.id().to_owned()
    });
    let all = events(&whole, &id);
    assert!(
        all.iter()
            .any(|event| matches!(event.event, Event::Compacted { .. })),
        "{}",
        all.len()
    );
    for cut in 3..=all.len() {
        let (store, id) = copy(&all[..cut]);
        let model = worker();
        let mut parts = world.parts(model.clone());
        parts.services.sessions = Some(store);
        let engine = Engine::new(parts).unwrap();
        wait(async {
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            let pause = session.proceed(&never()).await.unwrap();
            assert_eq!(pause, Pause::Answered("done".into()), "cut at {cut}");
            assert_eq!(session.skills().len(), 1, "cut at {cut}");
            let text: String = session.run().messages().iter().map(Message::text).collect();
            assert!(text.contains("Read it."), "cut at {cut}");
        });
    }
}
