//! Long conversations: what goes, what stays, and that every request is still one.
//!
//! Each request is checked by the model itself (`script::check`): no answer without its call.

use std::sync::{Arc, Mutex};

use prowess_agent::{Budget, Event, Request};
use prowess_runtime::{Engine, Pause, Session, Update};
use prowess_tools::ToolContext;
use prowess_traits::ModelErrorKind;
use serde_json::json;

use crate::harness::{Tests, tests};
use crate::script::{Act, Script, call, calls, conversation, load, says, tools};
use crate::talk::talk_until;
use crate::world::{Counter, Seeing, World, events, never, wait};

pub(crate) const TESTS: Tests = tests! {
    squadron_4_the_task_the_skills_and_whole_pairs_survive
    core_agent_13_a_loaded_skill_survives_and_its_tools_too
    planck_the_index_is_the_same_before_and_after
    long_answers_are_left_out_first
    a_provider_that_counts_otherwise_is_asked_again_twice
    facts_stand_where_the_summary_fails
    a_summary_is_no_new_request
    what_a_summary_costs_counts
    skills_without_room_are_named_and_unloaded
    a_compacted_session_is_taken_up_again_as_it_was
    case_128_a_skill_that_was_cut_can_be_read_whole_again
};

fn is_summary(request: &Request) -> bool {
    conversation(request).starts_with("Below is the beginning of a conversation")
}

/// Works `turns` times with answers of `bytes`, and then says so.
fn worker(window: u64, turns: usize, bytes: usize, first: Act) -> Arc<Script> {
    let model = Script::new("script/one", move |at, request| {
        if is_summary(request) {
            return says("Forms one to nine are done.");
        }
        match at {
            0 => first.clone(),
            at if at < turns => call("flood", json!({ "bytes": bytes, "at": at })),
            _ => says("done"),
        }
    });
    Arc::new(model.window(window).counting())
}

/// Answers with as many bytes as it is asked for.
#[derive(Debug)]
struct Flood;

impl prowess_tools::Tool for Flood {
    fn name(&self) -> &'static str {
        "flood"
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Floods.".to_owned()
    }

    fn input_schema(&self) -> serde_json::Value {
        json!({ "type": "object" })
    }

    fn output_schema(&self) -> serde_json::Value {
        json!({ "type": "object" })
    }

    fn answer(
        &self,
        _context: &ToolContext,
        _loaded: &mut prowess_tools::Loaded,
        input: &serde_json::Value,
    ) -> Result<prowess_tools::ToolAnswer, prowess_tools::ToolError> {
        let bytes = usize::try_from(input["bytes"].as_u64().unwrap()).unwrap();
        let text = format!("flood {} {}", input["at"], "x".repeat(bytes));
        Ok(prowess_tools::ToolAnswer::new(text, json!({})))
    }
}

fn engine(world: &World, model: Arc<Script>) -> Engine {
    Engine::new(parts(world, model)).unwrap()
}

fn parts(world: &World, model: Arc<Script>) -> ToolContext {
    let mut parts = world.parts(model);
    parts.services.tools.push(Arc::new(Flood));
    parts.services.skill_tools.push(Counter::new("stamp"));
    parts
}

fn talk(engine: &Engine) -> String {
    let (id, pause) = talk_until(engine, "Fill in the forms in inbox/.");
    assert_eq!(pause, Pause::Answered("done".into()));
    id
}

fn compactions(engine: &Engine, id: &str) -> usize {
    let all = events(engine, id);
    all.iter()
        .filter(|event| matches!(event.event, Event::Compacted { .. }))
        .count()
}

fn squadron_4_the_task_the_skills_and_whole_pairs_survive() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = worker(12_000, 40, 1_500, load("pdf"));
    let engine = engine(&world, model.clone());
    let id = talk(&engine);
    assert!(
        compactions(&engine, &id) >= 1,
        "the conversation was too long"
    );
    let last = conversation(&model.last());
    for part in [
        "Fill in the forms in inbox/.",
        "Forms one to nine are done.",
        "Use pdftk.",
    ] {
        assert_eq!(last.matches(part).count(), 1, "{part} in {last}");
    }
    assert!(last.contains("flood 39"), "the end is as it was");
}

fn core_agent_13_a_loaded_skill_survives_and_its_tools_too() {
    let world = World::new();
    world.skill("stamps", "allowed-tools: stamp\n", "Use stamp.");
    let model = worker(12_000, 40, 1_500, load("stamps"));
    let engine = engine(&world, model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        assert_eq!(session.skills().len(), 1);
    });
    let last = model.last();
    assert!(tools(&last).contains(&"stamp") && conversation(&last).contains("Use stamp."));
    assert!(conversation(&last).contains("The skill stamps is still loaded."));
}

/// Planck I8: there the index is written again after compaction; here it never left the prompt.
fn planck_the_index_is_the_same_before_and_after() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = worker(12_000, 40, 1_500, load("pdf"));
    let engine = engine(&world, model.clone());
    talk(&engine);
    let asked = model.asked();
    let work: Vec<&Request> = asked
        .iter()
        .filter(|request| !is_summary(request))
        .collect();
    assert!(work.len() < asked.len());
    assert!(work.iter().all(|request| request.system == work[0].system));
    assert!(
        asked
            .iter()
            .filter(|one| is_summary(one))
            .all(|one| one.tools.is_empty())
    );
}

fn long_answers_are_left_out_first() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = worker(40_000, 12, 15_000, load("pdf"));
    let engine = engine(&world, model.clone());
    let id = talk(&engine);
    let all = events(&engine, &id);
    assert!(
        all.iter()
            .any(|event| matches!(event.event, Event::Pruned { .. }))
    );
    let last = conversation(&model.last());
    assert!(last.contains("bytes left out to save room; call flood again"));
    assert!(last.contains("Use pdftk.") && last.contains("Fill in the forms"));
}

fn a_provider_that_counts_otherwise_is_asked_again_twice() {
    let world = World::new();
    let model = Script::by(|at, request| {
        if is_summary(request) {
            return says("Summed up.");
        }
        match at {
            0..4 => call("flood", json!({ "bytes": 100, "at": at })),
            _ => Act::Fail(ModelErrorKind::ContextTooLong),
        }
    });
    let engine = engine(&world, model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        let Pause::Ended(ending) = session.proceed(&never()).await.unwrap() else {
            panic!()
        };
        assert!(
            matches!(
                &ending,
                prowess_agent::Ending::Failed {
                    kind: prowess_agent::FailureKind::ContextTooLong,
                    ..
                }
            ),
            "{ending:?}"
        );
        assert!((1..=2).contains(&compactions(&engine, session.id())));
    });
    assert!(model.asked().len() < 12, "it does not go on for ever");
}

fn facts_stand_where_the_summary_fails() {
    let world = World::new();
    for bad in [
        Act::Fail(ModelErrorKind::Transport),
        // A model that works on instead of summing up.
        call("flood", json!({ "bytes": 1, "at": 0 })),
    ] {
        let model = Script::new("script/one", move |at, request| match at {
            _ if is_summary(request) => bad.clone(),
            0..40 => call("flood", json!({ "bytes": 1_500, "at": at })),
            _ => says("done"),
        });
        let model = Arc::new(model.window(12_000).counting());
        let engine = engine(&world, model.clone());
        let id = talk(&engine);
        assert!(compactions(&engine, &id) >= 1);
        let last = conversation(&model.last());
        assert!(last.contains("tools called: flood"), "{last}");
        assert!(last.contains("Fill in the forms in inbox/."));
    }
}

/// Reference §5.6: arguments of a skill that comes back must not look like a new request.
fn a_summary_is_no_new_request() {
    let world = World::new();
    let model = worker(
        12_000,
        40,
        1_500,
        call("flood", json!({ "bytes": 10, "at": 0 })),
    );
    let engine = engine(&world, model.clone());
    talk(&engine);
    let first = model.last().messages[0].text();
    assert!(
        first.starts_with("[The beginning of this conversation was left out"),
        "{first}"
    );
    assert!(first.contains("This is not a new request."));
}

fn what_a_summary_costs_counts() {
    let world = World::new();
    let model = Script::new("script/one", |at, request| match at {
        _ if is_summary(request) => says("Summed up."),
        0..40 => call("flood", json!({ "bytes": 1_500, "at": at })),
        _ => says("done"),
    });
    let model = Arc::new(model.window(12_000).price(2.0).counting());
    let engine = engine(&world, model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        assert!(compactions(&engine, session.id()) >= 1);
        let read: u64 = model
            .asked()
            .iter()
            .map(|request| {
                let system: usize = request.system.iter().map(String::len).sum();
                (system / 4) as u64 + prowess_agent::estimate(&request.messages)
            })
            .sum();
        let usage = session.spent().usage;
        assert_eq!(
            usage.input, read,
            "every question counts, also the one for a summary"
        );
        assert_eq!(usage.micros, Some(2 * usage.tokens()), "in money as well");
    });
}

/// Squadron 4.5: there a few large skills fill the window for good.
fn skills_without_room_are_named_and_unloaded() {
    let world = World::new();
    for name in ["one", "two", "three"] {
        world.skill(
            name,
            "allowed-tools: stamp\n",
            &format!("{name} {}", "s".repeat(9_000)),
        );
    }
    let load = |name: &str| ("load_skill", json!({ "name": name }));
    let model = worker(
        20_000,
        40,
        1_500,
        calls([load("one"), load("two"), load("three")]),
    );
    let engine = engine(&world, model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        let skills = session.skills();
        let left: Vec<&str> = skills.iter().map(|skill| &*skill.name).collect();
        assert_eq!(left, ["two", "three"], "the newest have the room");
        let last = conversation(&model.last());
        assert!(
            last.contains("load them again if they are needed: one"),
            "{last}"
        );
        // And it can be: it is not "already loaded".
        session.say("/one", &never()).await.unwrap();
        assert_eq!(session.skills().len(), 3);
    });
}

fn a_compacted_session_is_taken_up_again_as_it_was() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = worker(12_000, 40, 1_500, load("pdf"));
    let engine = engine(&world, model.clone());
    let id = talk(&engine);
    assert!(compactions(&engine, &id) >= 1);
    let before = model.last();
    wait(async {
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.say("And now?", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let after = model.last();
    assert_eq!(after.messages[..before.messages.len()], before.messages[..]);
    assert_eq!((after.system, after.tools), (before.system, before.tools));
}

fn case_128_a_skill_that_was_cut_can_be_read_whole_again() {
    let world = World::new();
    let long = format!("First line.\n\n{}\n\nLast line.", "s".repeat(30_000));
    world.skill("long", "allowed-tools: stamp\n", &long);
    for name in ["one", "two", "three", "four", "five"] {
        world.skill(name, "", &format!("Text of {name}. {}", "s".repeat(19_000)));
    }
    let load = |name: &str| ("load_skill", json!({ "name": name }));
    let first = ["one", "two", "three", "four", "five", "long"].map(load);
    let model = worker(100_000, 150, 1_500, calls(first));
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut parts = parts(&world, model.clone());
    parts.settings.budget = Budget::turns(1_000);
    let heard = Arc::clone(&told);
    parts
        .services
        .watchers
        .push(Arc::new(Seeing(move |_: &str, update: Update<'_>| {
            if let Update::Message(text) = update {
                heard.lock().unwrap().push(text.to_owned());
            }
        })));
    let engine = Engine::new(parts).unwrap();
    let id = talk(&engine);
    assert_eq!(compactions(&engine, &id), 1);
    let last = conversation(&model.last());
    assert!(last.contains("First line.") && !last.contains("Last line."));
    assert!(
        last.contains("load them again if they are needed: one"),
        "the oldest goes"
    );
    for part in [
        "Text of two.",
        "Text of five.",
        "rest of the instructions of the skill long",
    ] {
        assert_eq!(last.matches(part).count(), 1, "{part}");
    }
    assert!(
        tools(&model.last()).contains(&"stamp"),
        "it is still loaded"
    );
    let told = told.lock().unwrap().join("\n");
    assert!(
        told.contains("There was no room for these skills: one"),
        "{told}"
    );
    assert!(
        told.contains("Of these skills only the beginning stays: long"),
        "{told}"
    );
    // Also when it is taken up again: it is not "already loaded", and one that is whole is.
    wait(async {
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        let spoken = session.say("/long", &never()).await.unwrap();
        assert_eq!(spoken.loaded, ["long".into()]);
        let spoken = session.say("/five", &never()).await.unwrap();
        assert!(spoken.loaded.is_empty());
        session.proceed(&never()).await.unwrap();
    });
    assert!(conversation(&model.last()).contains("Last line."));
}
