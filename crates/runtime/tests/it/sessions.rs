//! Sessions: the prompt, the order of messages, and the record.

use prowess_agent::{Event, MessagePart, StopReason};
use prowess_catalog::Visibility;
use prowess_runtime::{Engine, Pause, RuntimeError, Session};
use prowess_traits::SessionError;
use serde_json::json;

use crate::script::{Act, Script, bash, call, calls, conversation, load, results, says, tools};
use crate::talk::talk;
use crate::world::{Counter, World, events, never, roots, wait};

prowess_test::tests! {
    index_is_in_system_prompt_once_and_never_changes
    no_skills_means_no_index_and_no_tools
    skill_and_tool_order_is_deterministic
    conversation_spans_several_messages
    every_event_is_stored_in_order
    project_notes_come_before_index
    title_is_one_short_line
    sessions_are_listed_found_and_removed
    two_sessions_of_one_engine_share_nothing
    say_plainly_ignores_commands
    tool_errors_are_marked_as_errors
    truncated_reply_is_continued
    empty_reply_ends_turn
    host_tool_receives_its_input
}

fn index_is_in_system_prompt_once_and_never_changes() {
    let world = World::new();
    world
        .skill("pdf", "", "Use pdftk.")
        .skill("git-notes", "", "Write notes.");
    let model = Script::of([load("pdf"), bash("true"), says("done"), says("again")]);
    let engine = world.free(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "forms").await.unwrap();
        session.say("Fill in the form.", &never()).await.unwrap();
        assert_eq!(
            session.proceed(&never()).await.unwrap(),
            Pause::Answered("done".into())
        );
        // A new skill must not change the index.
        world.skill("later", "", "Later.");
        session.context().services.registry.refresh();
        session.say("And again.", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let asked = model.asked();
    assert_eq!(asked.len(), 4);
    let index = asked[0].system.last().unwrap();
    for part in ["pdf", "Does pdf.", "git-notes", "Does git-notes."] {
        assert!(index.contains(part), "{part} in {index}");
    }
    assert!(!index.contains("SKILL.md"), "no paths: {index}");
    for request in &asked {
        assert_eq!(
            request.system, asked[0].system,
            "the system prompt is byte-identical"
        );
        let all = request.system.join("\n");
        assert_eq!(all.matches("Does pdf.").count(), 1);
        assert!(
            !conversation(request).contains("Does pdf."),
            "not in the conversation"
        );
    }
    assert!(
        conversation(&asked[3]).contains("later"),
        "new skills are announced at the end"
    );
}

fn no_skills_means_no_index_and_no_tools() {
    let world = World::new();
    let model = Script::of([says("hello")]);
    let engine = world.free(model.clone());
    talk(&engine, "hi");
    let request = model.last();
    assert_eq!(request.system.len(), 1, "{:?}", request.system);
    assert_eq!(
        tools(&request),
        ["read", "write", "edit", "bash", "glob", "grep"]
    );
}

/// Squadron 4.1 #7: its order of skills and tools differs between runs.
fn skill_and_tool_order_is_deterministic() {
    let world = World::new();
    for name in ["zeta", "alpha", "mid", "beta"] {
        world.skill(name, "", "Body.");
    }
    let first = |engine: Engine| {
        wait(async move {
            let mut session = Session::start(&engine, "t").await.unwrap();
            session.say("hi", &never()).await.unwrap();
            session.proceed(&never()).await.unwrap();
        });
    };
    let seen: Vec<_> = (0..4)
        .map(|_| {
            let model = Script::of([says("hello")]);
            first(world.free(model.clone()));
            model.last()
        })
        .collect();
    assert!(seen.iter().all(|request| *request == seen[0]));
}

fn conversation_spans_several_messages() {
    let world = World::new();
    let model = Script::by(|at, _| says(&format!("answer {at}")));
    let engine = world.free(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        for at in 0..3 {
            session
                .say(&format!("question {at}"), &never())
                .await
                .unwrap();
            let pause = session.proceed(&never()).await.unwrap();
            assert_eq!(pause, Pause::Answered(format!("answer {at}")));
        }
        assert_eq!(session.spent().turns, 3);
        assert_eq!(session.spent().usage.tokens(), 330);
        // Without a new message the model is not asked again.
        session.proceed(&never()).await.unwrap();
    });
    assert_eq!(model.asked().len(), 3);
    assert_eq!(model.last().messages.len(), 5);
}

fn every_event_is_stored_in_order() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::of([load("pdf"), says("done")]);
    let engine = world.free(model);
    let id = talk(&engine, "hi");
    let kinds: Vec<String> = events(&engine, &id)
        .iter()
        .map(|event| {
            serde_json::to_value(event).unwrap()["event"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "started",
            "listed",
            "said",
            "asked",
            "replied",
            "call_started",
            "decided",
            "call_ended",
            "asked",
            "replied"
        ]
    );
}

fn project_notes_come_before_index() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::of([says("done")]);
    let mut parts = world.parts(model.clone());
    parts.settings.project_notes = Some("Tabs, not spaces.".to_owned());
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "hi");
    let system = model.last().system;
    assert_eq!(system.len(), 3);
    assert!(system[1].contains("Tabs, not spaces.") && system[2].contains("pdf"));
}

fn title_is_one_short_line() {
    let world = World::new();
    let engine = world.free(Script::of([]));
    wait(async {
        let long = format!("first\n  line {}", "ü".repeat(500));
        Session::start(&engine, &long).await.unwrap();
    });
    let title = roots(&engine)[0].title.to_string();
    assert!(
        title.starts_with("first line ü") && title.ends_with('…'),
        "{title}"
    );
    assert_eq!(title.chars().count(), 81);
}

/// Skilled Crew N1 to N11.
fn sessions_are_listed_found_and_removed() {
    let world = World::new();
    let model = Script::by(|_, _| says("yes"));
    let mut parts = world.parts(model);
    parts.services.sessions = Some(world.sqlite());
    let engine = Engine::new(parts).unwrap();
    let store = engine.sessions();
    let ids = wait(async {
        let mut ids = Vec::new();
        for title in ["one", "two"] {
            let mut session = Session::start(&engine, title).await.unwrap();
            session.say(title, &never()).await.unwrap();
            session.proceed(&never()).await.unwrap();
            ids.push(session.id().to_owned());
        }
        ids
    });
    let titles: Vec<String> = roots(&engine)
        .iter()
        .map(|one| one.title.to_string())
        .collect();
    assert_eq!(titles, ["two", "one"]);
    assert!(
        roots(&engine).iter().all(|one| !one.live),
        "dropping a session releases it"
    );
    assert_eq!(*store.find(&ids[0]).unwrap(), *ids[0]);
    assert_eq!(store.remove(&ids[0]).unwrap(), 1);
    wait(async {
        let gone = Session::resume(&engine, &ids[0], None).await.unwrap_err();
        assert!(
            matches!(gone, RuntimeError::Store(SessionError::NotFound { .. })),
            "{gone}"
        );
        let other = Session::resume(&engine, &ids[1], None).await.unwrap();
        assert_eq!(
            other.run().messages()[0].text(),
            "two",
            "the other session is intact"
        );
    });
}

/// Skilled Crew N4, Planck 4.2 (ids work across sessions). An approval applies to one session only.
fn two_sessions_of_one_engine_share_nothing() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::of([load("pdf"), says("one"), says("two")]);
    let engine = world.free(model.clone());
    wait(async {
        let mut one = Session::start(&engine, "one").await.unwrap();
        let mut two = Session::start(&engine, "two").await.unwrap();
        assert_ne!(one.id(), two.id());
        one.say("secret of one", &never()).await.unwrap();
        one.proceed(&never()).await.unwrap();
        two.say("hi", &never()).await.unwrap();
        two.proceed(&never()).await.unwrap();
        assert_eq!((one.skills().len(), two.skills().len()), (1, 0));
    });
    let seen = conversation(&model.last());
    assert_eq!(seen.trim(), "hi");
}

fn say_plainly_ignores_commands() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::of([says("fine")]);
    let engine = world.free(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        let spoken = session.say_plainly("/pdf and $pdf").await.unwrap();
        assert!(spoken.loaded.is_empty());
        session.proceed(&never()).await.unwrap();
    });
    assert_eq!(conversation(&model.last()).trim(), "/pdf and $pdf");
}

/// Squadron 4.1 #9: its errors look like ordinary text.
fn tool_errors_are_marked_as_errors() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::of([
        calls([
            ("load_skill", json!({ "name": "pfd" })),
            ("load_skill", json!({ "nome": "pdf" })),
            ("read", json!({ "path": "nothing.txt" })),
            ("load_skill", json!({ "name": "pdf" })),
        ]),
        says("done"),
    ]);
    let engine = world.free(model.clone());
    talk(&engine, "hi");
    let request = model.last();
    let errors: Vec<bool> = request
        .messages
        .last()
        .unwrap()
        .results()
        .map(|result| result.is_error)
        .collect();
    assert_eq!(errors, [true, true, true, false]);
    assert!(
        results(&request)[0].contains("Did you mean `pdf`?"),
        "{:?}",
        results(&request)[0]
    );
}

fn truncated_reply_is_continued() {
    let world = World::new();
    let cut = || match says("the first half") {
        Act::Reply(reply) => Act::Reply(prowess_agent::Reply {
            stop: StopReason::MaxTokens,
            ..reply
        }),
        other => other,
    };
    let model = Script::of([cut(), says("the second half")]);
    let engine = world.free(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("tell", &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("the second half".into()));
    });
    assert!(conversation(&model.last()).contains("was truncated"));
}

fn empty_reply_ends_turn() {
    let world = World::new();
    let empty = Act::Reply(prowess_agent::Reply::default());
    let model = Script::of([empty, says("now")]);
    let engine = world.free(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("hi", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.say("well?", &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("now".into()));
    });
}

fn host_tool_receives_its_input() {
    let world = World::new();
    let tool = Counter::new("count");
    let model = Script::of([call("count", json!({ "n": [1, "ü", null] })), says("done")]);
    let mut parts = world.parts(model.clone());
    parts.services.tools.push(tool.clone());
    parts.settings.visibility = Visibility::default();
    let engine = Engine::new(parts).unwrap();
    let id = talk(&engine, "hi");
    assert_eq!(tool.inputs(), [json!({ "n": [1, "ü", null] })]);
    let replied = events(&engine, &id)
        .into_iter()
        .find_map(|event| match event.event {
            Event::Replied { reply, .. } => Some(reply),
            _ => None,
        });
    let parts = replied.unwrap().parts;
    assert!(matches!(&parts[0], MessagePart::Call(call) if call.input["n"][1] == "ü"));
}
