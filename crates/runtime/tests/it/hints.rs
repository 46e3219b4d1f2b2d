//! Hints: a note about fitting skills next to a user message.

use std::sync::Arc;

use prowess_agent::{Event, HintResult, MessagePart, Request, SkillHint};
use prowess_runtime::{Engine, Session, SubRun, Task};
use serde_json::json;

use crate::script::{Script, conversation, says};
use crate::talk::go_on;
use crate::world::{World, events, never, wait};

prowess_test::tests! {
    earlier_requests_are_a_prefix_of_later_ones
    resumed_session_sends_the_same_bytes
    skill_is_described_once
    loaded_skill_is_not_hinted
    sub_run_gets_no_hint
    disabled_hints_store_no_event
    compaction_removes_hints
}

/// Returns a world with more skills than the index can describe.
fn world() -> World {
    let world = World::new();
    for (name, description) in [
        ("pdf-forms", "Fills in PDF forms and reads their fields."),
        ("sonnets", "Writes sonnets about the sea and its harbours."),
        ("invoices", "Checks invoices for missing tax numbers."),
    ] {
        write(&world, name, description);
    }
    for number in 0..200 {
        let name = format!("chapter-{number}-of-the-handbook-about-company-cars");
        write(&world, &name, "Explains a chapter.");
    }
    world
}

fn write(world: &World, name: &str, description: &str) {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n");
    world.file(format!("~/.agents/skills/{name}/SKILL.md"), text);
}

const FORM: &str = "please fill in the fields of this PDF form";
const POEM: &str = "write a sonnet about the sea";
const DESCRIPTION: &str = "Fills in PDF forms and reads their fields.";

fn hints(engine: &Engine, id: &str) -> Vec<SkillHint> {
    let events = events(engine, id).into_iter();
    let hints = events.filter_map(|stamped| match stamped.event {
        Event::Hinted(hint) => Some(hint),
        _ => None,
    });
    hints.collect()
}

fn outcome(hint: &SkillHint, name: &str) -> Option<HintResult> {
    let row = hint.skills.iter().find(|skill| &*skill.name == name);
    row.map(|skill| skill.outcome)
}

fn answers(count: usize) -> Arc<Script> {
    Script::of((0..count).map(|_| says("Done.")))
}

/// Starts a session and sends messages. Returns its id.
fn chat(engine: &Engine, messages: &[&str]) -> String {
    wait(async {
        let mut session = Session::start(engine, "t").await.unwrap();
        for message in messages {
            session.say(message, &never()).await.unwrap();
            session.proceed(&never()).await.unwrap();
        }
        session.id().to_owned()
    })
}

fn bytes(request: &Request) -> (String, Vec<String>) {
    let messages = request.messages.iter();
    let messages = messages.map(|message| serde_json::to_string(message).unwrap());
    (
        serde_json::to_string(&request.system).unwrap(),
        messages.collect(),
    )
}

fn earlier_requests_are_a_prefix_of_later_ones() {
    let world = world();
    let model = answers(2);
    let engine = world.engine(Arc::clone(&model) as _);
    chat(&engine, &[FORM, POEM]);
    let asked = model.asked();
    let [(system, first), (later_system, second)] = [bytes(&asked[0]), bytes(&asked[1])];
    assert_eq!(system, later_system);
    assert_eq!(first.len(), 1);
    assert_eq!(first[..], second[..1]);
    assert_eq!(second.len(), 3);
    // The note is a part of its own, after the text of the user.
    for (request, at, typed, skill) in [(0, 0, FORM, "pdf-forms"), (1, 2, POEM, "sonnets")] {
        let [
            MessagePart::Text { text, .. },
            MessagePart::Hint { text: hint, skills },
        ] = asked[request].messages[at].parts.as_slice()
        else {
            panic!("{:?}", asked[request].messages[at])
        };
        assert_eq!(text, typed);
        assert_eq!(skills[0].as_ref(), skill);
        assert!(hint.contains(&format!("- **{skill}** — ")), "{hint}");
    }
}

fn resumed_session_sends_the_same_bytes() {
    let world = world();
    let model = answers(2);
    let mut parts = world.parts(Arc::clone(&model) as _);
    parts.services.sessions = Some(world.sqlite());
    let engine = Engine::new(parts).unwrap();
    let id = chat(&engine, &[FORM]);
    // The skills are gone; the conversation is as it was.
    std::fs::remove_dir_all(world.path("~/.agents/skills/pdf-forms")).unwrap();
    go_on(&engine, &id);
    let asked = model.asked();
    let [(system, first), (later_system, second)] = [bytes(&asked[0]), bytes(&asked[1])];
    assert_eq!((system, &first[..]), (later_system, &second[..1]));
    assert!(first[0].contains(DESCRIPTION));
}

fn skill_is_described_once() {
    let world = world();
    let engine = world.engine(answers(2));
    let id = chat(
        &engine,
        &[FORM, "and fill in the fields of the other PDF form"],
    );
    let [first, second] = hints(&engine, &id).try_into().unwrap();
    assert_eq!(outcome(&first, "pdf-forms"), Some(HintResult::Described));
    assert_eq!(outcome(&second, "pdf-forms"), Some(HintResult::Repeated));
    assert!(!second.text.contains("pdf-forms"), "{}", second.text);
}

fn loaded_skill_is_not_hinted() {
    let world = world();
    let engine = world.engine(answers(2));
    let id = chat(&engine, &["/pdf-forms", FORM]);
    let [hint] = hints(&engine, &id).try_into().unwrap();
    assert_eq!(outcome(&hint, "pdf-forms"), Some(HintResult::Loaded));
}

fn sub_run_gets_no_hint() {
    let world = world();
    let model = answers(2);
    let engine = world.engine(Arc::clone(&model) as _);
    let sub = SubRun {
        arguments: prowess_render::Arguments::from_text(FORM),
        ..SubRun::new("invoices".into())
    };
    let run = wait(engine.run_skill(sub, &never())).unwrap();
    assert!(hints(&engine, &run.session).is_empty());
    let task = wait(engine.run_task(Task::new(FORM), &never())).unwrap();
    assert!(hints(&engine, &task.session)[0].text.contains(DESCRIPTION));
    assert!(conversation(&model.asked()[1]).contains(DESCRIPTION));
}

fn disabled_hints_store_no_event() {
    let world = world();
    let mut parts = world.parts(answers(1));
    parts.settings.hint = None;
    let engine = Engine::new(parts).unwrap();
    let id = chat(&engine, &[FORM]);
    assert!(hints(&engine, &id).is_empty());
}

fn compaction_removes_hints() {
    let world = world();
    let model = Script::by(|_, _| says("Done."));
    let engine = world.engine(Arc::clone(&model) as _);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        for message in [FORM, POEM, "thanks", "thanks again"] {
            session.say(message, &never()).await.unwrap();
            session.proceed(&never()).await.unwrap();
        }
        assert!(session.shorten(&never()).await.unwrap());
        session.say(FORM, &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        let id = session.id().to_owned();
        let last = hints(&engine, &id).pop().unwrap();
        // Its description was removed with the beginning, so it is shown again.
        assert_eq!(outcome(&last, "pdf-forms"), Some(HintResult::Described));
        let asked = model.asked();
        let question = asked
            .iter()
            .find(|request| request.tools.is_empty())
            .unwrap();
        assert!(
            !json!(question.messages.as_slice())
                .to_string()
                .contains("skill_hints")
        );
    });
}
