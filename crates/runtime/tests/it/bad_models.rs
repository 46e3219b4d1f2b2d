//! Models that fail, loop, call unknown tools or send invalid input.

use prowess_agent::{Ending, MessagePart, Reply, RunLimit, ToolCall};
use prowess_runtime::{Engine, Pause, Session};
use prowess_traits::ModelErrorKind as Kind;
use serde_json::json;

use crate::script::{Act, Script, bash, call, calls, load, results, says};
use crate::talk::talk;
use crate::world::{Counter, World, never, wait};

prowess_test::tests! {
    model_errors_end_turn_but_not_session
    repeated_identical_calls_end_run
    session_continues_after_loop
    hundred_calls_in_one_reply
    invalid_json_input_is_not_run
    unknown_tool_error_suggests_similar_names
    schema_violations_are_reported_to_model
    duplicate_call_ids_are_made_unique
    same_skill_loaded_ten_times
    reasoning_is_returned_unchanged
}

fn ending(pause: Pause) -> Ending {
    match pause {
        Pause::Ended(ending) => ending,
        Pause::Answered(text) => panic!("answered: {text}"),
    }
}

fn model_errors_end_turn_but_not_session() {
    let world = World::new();
    for (kind, word) in [
        (Kind::Auth, "auth"),
        (Kind::RateLimit { after: None }, "rate-limit"),
        (Kind::ContextTooLong, "context-too-long"),
        (Kind::Refused, "refused"),
        (Kind::BadRequest, "bad-request"),
        (Kind::Transport, "transport"),
        (Kind::Timeout, "timeout"),
        (Kind::BadReply, "bad-reply"),
    ] {
        let model = Script::of([Act::Fail(kind), says("now it works")]);
        let engine = world.engine(model.clone());
        wait(async {
            let mut session = Session::start(&engine, "t").await.unwrap();
            session.say("go", &never()).await.unwrap();
            let ended = ending(session.proceed(&never()).await.unwrap());
            assert!(
                matches!(&ended, Ending::Failed { kind, message } if *kind.as_str() == *word && !message.is_empty()),
                "{ended:?}"
            );
            // No message was added to the conversation.
            let id = session.id().to_owned();
            drop(session);
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            let pause = session.proceed(&never()).await.unwrap();
            assert_eq!(pause, Pause::Answered("now it works".into()));
        });
        let asked = model.asked();
        assert_eq!(asked[0].messages, asked[1].messages);
    }
}

fn repeated_identical_calls_end_run() {
    let world = World::new();
    let model = Script::by(|_, _| bash("echo same"));
    let engine = world.free(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        let ended = ending(session.proceed(&never()).await.unwrap());
        assert_eq!(
            ended,
            Ending::Exhausted {
                limit: RunLimit::Loop
            }
        );
    });
    assert_eq!(model.asked().len(), 6);
    assert!(results(&model.asked()[3])[0].contains("the same result 3 times in a row"));
}

fn session_continues_after_loop() {
    let world = World::new();
    let model = Script::by(|at, _| {
        if at < 6 {
            bash("echo same")
        } else {
            says("sorry")
        }
    });
    let engine = world.free(model);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        ending(session.proceed(&never()).await.unwrap());
        session.say("Do something else.", &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("sorry".into()));
    });
}

fn hundred_calls_in_one_reply() {
    let world = World::new();
    let count = Counter::new("count");
    let model = Script::of([
        calls((0..100).map(|at| ("count", json!({ "at": at })))),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    parts.services.tools.push(count.clone());
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    assert_eq!(count.inputs().len(), 32);
    assert!(
        count
            .inputs()
            .iter()
            .enumerate()
            .all(|(at, input)| input["at"] == at),
        "in order"
    );
    let told = results(&model.last());
    assert_eq!(told.len(), 100, "every call has an answer");
    assert!(
        told[32..]
            .iter()
            .all(|text| text.starts_with("Too many calls in one reply"))
    );
}

fn invalid_json_input_is_not_run() {
    let world = World::new();
    let count = Counter::new("count");
    let bad = ToolCall {
        fault: Some("expected `,` at column 7".into()),
        ..ToolCall::new("c", "count", json!({}))
    };
    let reply = Reply {
        parts: vec![MessagePart::Call(bad)],
        ..Reply::default()
    };
    let model = Script::of([Act::Reply(reply), says("done")]);
    let mut parts = world.parts(model.clone());
    parts.services.tools.push(count.clone());
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    assert!(count.inputs().is_empty());
    let told = &results(&model.last())[0];
    assert!(
        told.contains("not valid JSON: expected `,` at column 7")
            && told.contains("The tool was not run")
    );
}

fn unknown_tool_error_suggests_similar_names() {
    let world = World::new();
    let model = Script::of([call("bahs", json!({ "command": "ls" })), says("done")]);
    let engine = world.free(model.clone());
    talk(&engine, "go");
    let told = &results(&model.last())[0];
    assert!(
        told.contains("Unknown tool: bahs. Did you mean `bash`?"),
        "{told}"
    );
    assert!(told.contains("Available: read, write"), "{told}");
}

fn schema_violations_are_reported_to_model() {
    let world = World::new();
    let model = Script::of([
        calls([
            ("bash", json!({})),
            ("bash", json!("ls")),
            ("bash", json!({ "command": 7, "x": 1 })),
            ("read", json!({ "path": null })),
        ]),
        says("done"),
    ]);
    let engine = world.free(model.clone());
    talk(&engine, "go");
    let told = results(&model.last());
    assert!(
        told.iter()
            .all(|text| text.starts_with("Invalid input for")),
        "{told:?}"
    );
}

/// Some providers give every call the same id, or none. `script::check` checks every request.
fn duplicate_call_ids_are_made_unique() {
    let world = World::new();
    let count = Counter::new("count");
    let part =
        |id: &str, at: u32| MessagePart::Call(ToolCall::new(id, "count", json!({ "at": at })));
    let reply = |parts: Vec<MessagePart>| {
        Act::Reply(Reply {
            parts,
            ..Reply::default()
        })
    };
    let model = Script::of([
        reply(vec![part("same", 0), part("same", 1), part("", 2)]),
        reply(vec![part("same", 3), part("", 4)]),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    parts.services.tools.push(count.clone());
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    let order: Vec<u64> = count
        .inputs()
        .iter()
        .map(|input| input["at"].as_u64().unwrap())
        .collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

/// Core-agent 4.2 #13: it does not prevent this.
fn same_skill_loaded_ten_times() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::by(|_, _| load("pdf"));
    let engine = world.engine(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        let ended = ending(session.proceed(&never()).await.unwrap());
        assert_eq!(
            ended,
            Ending::Exhausted {
                limit: RunLimit::Loop
            }
        );
    });
    let all = crate::script::conversation(&model.last());
    assert_eq!(all.matches("Use pdftk.").count(), 1);
}

fn reasoning_is_returned_unchanged() {
    let world = World::new();
    let opaque = prowess_agent::ProviderData {
        provider: "x".into(),
        value: json!({ "sign": "abc" }),
    };
    let thought = MessagePart::Reasoning {
        text: "hm".into(),
        opaque: Some(opaque),
    };
    let act = MessagePart::Call(ToolCall::new("c", "glob", json!({ "pattern": "*" })));
    let reply = Reply {
        parts: vec![thought.clone(), act],
        ..Reply::default()
    };
    let model = Script::of([Act::Reply(reply), says("done")]);
    let engine = world.free(model.clone());
    talk(&engine, "go");
    assert_eq!(model.last().messages[1].parts[0], thought);
}
