//! Long conversations: what compaction removes, what it keeps, and that requests stay valid.
//!
//! The scripted model checks each request (`script::check`): every result has its call.

use std::sync::{Arc, Mutex};

use prowess_agent::{Ending, Event, Request, RunBudget};
use prowess_runtime::{Engine, Pause, Session, Update};
use prowess_tools::ToolContext;
use prowess_traits::ModelErrorKind;
use serde_json::json;

use crate::script::{Act, Script, call, calls, conversation, load, says, tools};
use crate::talk::talk_until;
use crate::world::{Counter, Seeing, World, events, never, wait};

prowess_test::tests! {
    squadron_4_task_skills_and_call_pairs_survive
    core_agent_13_loaded_skill_and_its_tools_survive
    planck_index_is_unchanged_by_compaction
    long_results_are_pruned_first
    context_too_long_is_retried_twice
    failed_summary_falls_back_to_facts
    cancelled_summary_keeps_the_conversation
    summary_without_time_keeps_the_conversation
    summary_does_not_look_like_new_request
    summary_cost_counts
    skills_that_do_not_fit_are_reported_and_unloaded
    compacted_session_resumes_unchanged
    case_128_truncated_skill_can_be_loaded_again
}

fn is_summary(request: &Request) -> bool {
    conversation(request).starts_with("Below is the start of a conversation")
}

/// Calls `flood` `turns` times for results of `bytes` bytes, and then answers.
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

/// Returns as many bytes as requested.
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

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        true
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

fn squadron_4_task_skills_and_call_pairs_survive() {
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

fn core_agent_13_loaded_skill_and_its_tools_survive() {
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

/// Planck I8: it writes the index again after compaction; here the index never leaves the prompt.
fn planck_index_is_unchanged_by_compaction() {
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

fn long_results_are_pruned_first() {
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
    assert!(last.contains("bytes removed to save space; call flood again"));
    assert!(last.contains("Use pdftk.") && last.contains("Fill in the forms"));
}

fn context_too_long_is_retried_twice() {
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
                Ending::Failed {
                    kind: prowess_agent::FailureKind::ContextTooLong,
                    ..
                }
            ),
            "{ending:?}"
        );
        assert!((1..=2).contains(&compactions(&engine, session.id())));
    });
    assert!(model.asked().len() < 12, "retries are bounded");
}

fn failed_summary_falls_back_to_facts() {
    let world = World::new();
    for bad in [
        Act::Fail(ModelErrorKind::Transport),
        // A model that continues to work instead of summarizing.
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

/// The summary is cancelled while the model works on it, in a run and by `shorten`.
fn cancelled_summary_keeps_the_conversation() {
    let world = World::new();
    let cancel = never();
    let token = cancel.clone();
    let model = Script::new("script/one", move |at, request| {
        if is_summary(request) {
            token.cancel();
            return Act::Hang;
        }
        call("flood", json!({ "bytes": 1_500, "at": at }))
    });
    let model = Arc::new(model.window(12_000).counting());
    let engine = engine(&world, model);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        let pause = session.proceed(&cancel).await.unwrap();
        assert_eq!(pause, Pause::Ended(Ending::Cancelled));
        let before = session.run().messages().to_vec();
        assert!(before.len() > 10, "{}", before.len());
        assert!(!session.shorten(&cancel).await.unwrap());
        assert_eq!(session.run().messages(), before);
        assert_eq!(compactions(&engine, session.id()), 0);
    });
}

/// No time is left for the summary.
fn summary_without_time_keeps_the_conversation() {
    let world = World::new();
    let model = Script::new("script/one", |at, request| match at {
        _ if is_summary(request) => Act::Hang,
        at if at < 12 => call("flood", json!({ "bytes": 100, "at": at })),
        _ => says("done"),
    });
    let engine = engine(&world, Arc::new(model));
    let id = talk(&engine);
    let budget = RunBudget {
        milliseconds: Some(0),
        ..RunBudget::default()
    };
    wait(async {
        let mut session = Session::resume(&engine, &id, Some(budget)).await.unwrap();
        let before = session.run().messages().to_vec();
        assert!(session.run().compaction().is_some());
        assert!(!session.shorten(&never()).await.unwrap());
        assert_eq!(session.run().messages(), before);
    });
    assert_eq!(compactions(&engine, &id), 0);
}

/// Reference §5.6: the arguments of a restored skill must not look like a new request.
fn summary_does_not_look_like_new_request() {
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
        first.starts_with("[The start of this conversation was removed to save space"),
        "{first}"
    );
    assert!(first.contains("This is not a new request."));
}

fn summary_cost_counts() {
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
            "every request counts, including the one for the summary"
        );
        assert_eq!(usage.micros, Some(2 * usage.tokens()), "in money as well");
    });
}

/// Squadron 4.5: a few large skills fill its context permanently.
fn skills_that_do_not_fit_are_reported_and_unloaded() {
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
        assert_eq!(left, ["two", "three"], "the newest skills are kept");
        let last = conversation(&model.last());
        assert!(
            last.contains("load them again if you need them: one"),
            "{last}"
        );
        // It can be loaded again: it does not count as already loaded.
        session.say("/one", &never()).await.unwrap();
        assert_eq!(session.skills().len(), 3);
    });
}

fn compacted_session_resumes_unchanged() {
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

fn case_128_truncated_skill_can_be_loaded_again() {
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
    parts.settings.budget = RunBudget::turns(1_000);
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
        last.contains("load them again if you need them: one"),
        "the oldest is unloaded"
    );
    for part in [
        "Text of two.",
        "Text of five.",
        "rest of the instructions of skill long",
    ] {
        assert_eq!(last.matches(part).count(), 1, "{part}");
    }
    assert!(
        tools(&model.last()).contains(&"stamp"),
        "it is still loaded"
    );
    let told = told.lock().unwrap().join("\n");
    assert!(
        told.contains("Unloaded skills that no longer fit: one"),
        "{told}"
    );
    assert!(
        told.contains("Shortened skills to make room: long"),
        "{told}"
    );
    // After a resume, the shortened skill still does not count as loaded; a complete one does.
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
