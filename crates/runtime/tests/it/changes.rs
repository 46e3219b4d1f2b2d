//! Skills that change during a session.

use std::sync::Arc;

use prowess_agent::Event;
use prowess_policy::ApprovalAnswer;
use prowess_runtime::{Engine, Session};

use crate::script::{Script, bash, call, conversation, load, results, says};
use crate::talk::{asking, talk};
use crate::world::{Person, World, decisions, events, never, wait};

prowess_test::tests! {
    new_changed_and_removed_skills_are_announced
    announced_changes_are_not_repeated_after_resume
    changed_skill_loses_its_grants
    resume_prompts_for_changed_skill
    declined_change_is_announced_after_resume
    removed_skill_is_announced_after_resume
    change_is_announced_despite_open_calls
    change_is_announced_after_interrupted_resume
    touched_files_survive_resume
    core_agent_16_skill_added_later_can_be_loaded
}

fn new_changed_and_removed_skills_are_announced() {
    let world = World::new();
    world
        .skill("stays", "", "S.")
        .skill("goes", "", "G.")
        .skill("changes", "", "C.");
    let model = Script::by(|_, _| says("fine"));
    let engine = world.engine(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("one", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        std::fs::remove_dir_all(world.path("~/.agents/skills/goes")).unwrap();
        let text = "---\nname: changes\ndescription: Does something else.\n---\nC.\n";
        world
            .file("~/.agents/skills/changes/SKILL.md", text)
            .skill("comes", "", "N.");
        session.context().services.registry.refresh();
        session.say("two", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.say("three", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let asked = model.asked();
    let second = conversation(&asked[1]);
    let note = &second[second.find("two").unwrap()..];
    let order = [
        "No longer available:",
        "goes",
        "Changed:",
        "Does something else.",
        "New:",
        "comes",
    ];
    let places: Vec<usize> = order.iter().map(|part| note.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{note}");
    assert!(!note.contains("stays"));
    assert_eq!(asked[1].system, asked[0].system, "the index is unchanged");
    let third = conversation(&asked[2]);
    assert_eq!(third.matches("No longer available:").count(), 1, "once");
}

fn announced_changes_are_not_repeated_after_resume() {
    let world = World::new();
    world.skill("one", "", "O.");
    let model = Script::by(|_, _| says("fine"));
    let engine = world.engine(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        world.skill("two", "", "T.");
        session.context().services.registry.refresh();
        session.say("hi", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        let id = session.id().to_owned();
        drop(session);
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.say("again", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let last = model.last();
    assert_eq!(conversation(&last).matches("Does two.").count(), 1);
    assert_eq!(
        last.system,
        model.asked()[0].system,
        "the index is the original one"
    );
}

fn changed_skill_loses_its_grants() {
    let world = World::new();
    world.skill("maker", "allowed-tools: Bash(mkdir:*)\n", "Make.");
    let path = world.path("~/.agents/skills/maker/SKILL.md");
    let model = Script::by(move |at, _| match at {
        0 => load("maker"),
        1 => bash("mkdir one"),
        2 => {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, format!("{text}\nAnd more.\n")).unwrap();
            bash("mkdir two")
        }
        _ => says("done"),
    });
    let engine = world.engine(model.clone());
    talk(&engine, "go");
    assert!(world.exists("one"));
    assert!(!world.exists("two"), "{:?}", results(&model.last()));
}

/// Loads a skill in a session, changes the skill, and resumes the session.
fn resumed(
    world: &World,
    answer: ApprovalAnswer,
    edit: impl Fn(&World),
) -> (Engine, Arc<Person>, Arc<Script>, String) {
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::by(|at, _| if at == 0 { load("pdf") } else { says("fine") });
    let (parts, person) = asking(world, model.clone(), answer);
    let engine = Engine::new(parts).unwrap();
    let id = talk(&engine, "go");
    edit(world);
    engine.context().services.registry.refresh();
    wait(async {
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.say("go on", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    (engine, person, model, id)
}

fn resume_prompts_for_changed_skill() {
    let world = World::new();
    let (engine, person, model, id) = resumed(&world, ApprovalAnswer::Once, |world| {
        world.skill("pdf", "", "Use qpdf.");
    });
    assert_eq!(person.asked(), ["Load the new version of skill `pdf`"]);
    let last = conversation(&model.last());
    assert!(last.find("Use pdftk.").unwrap() < last.find("Use qpdf.").unwrap());
    assert!(
        last.find("Use qpdf.").unwrap() < last.find("go on").unwrap(),
        "before the new message"
    );
    let decided = decisions(&engine, &id);
    let asked = decided
        .iter()
        .find(|one| one.what.contains("new version"))
        .unwrap();
    assert_eq!(asked.answer, Some(prowess_agent::RecordedAnswer::Once));
    wait(async {
        let session = Session::resume(&engine, &id, None).await.unwrap();
        assert_eq!(session.skills().len(), 1);
    });
    assert_eq!(person.asked().len(), 1, "and not again");
}

fn declined_change_is_announced_after_resume() {
    let world = World::new();
    let (engine, _, model, id) = resumed(&world, ApprovalAnswer::No, |world| {
        world.skill("pdf", "", "Use qpdf.");
    });
    let last = conversation(&model.last());
    assert!(!last.contains("Use qpdf.") && last.contains("Ignore its instructions above"));
    wait(async {
        let session = Session::resume(&engine, &id, None).await.unwrap();
        assert!(session.skills().is_empty());
    });
}

fn removed_skill_is_announced_after_resume() {
    let world = World::new();
    let (_, _, model, _) = resumed(&world, ApprovalAnswer::Once, |world| {
        std::fs::remove_dir_all(world.path("~/.agents/skills/pdf")).unwrap();
    });
    assert!(conversation(&model.last()).contains("Ignore its instructions above"));
}

/// Creates a session that was cancelled between a reply and its calls.
fn cut_off(world: &World) -> (Engine, Arc<Script>, String) {
    world.skill("pdf", "", "Use pdftk.");
    let cancel = never();
    let token = cancel.clone();
    let model = Script::by(move |at, _| match at {
        0 => load("pdf"),
        1 => {
            token.cancel();
            call("glob", serde_json::json!({ "pattern": "*" }))
        }
        _ => says("fine"),
    });
    let engine = world.engine(model.clone());
    let id = wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &cancel).await.unwrap();
        session.proceed(&cancel).await.unwrap();
        session.id().to_owned()
    });
    world.skill("pdf", "", "Use qpdf.");
    engine.context().services.registry.refresh();
    (engine, model, id)
}

fn change_is_announced_despite_open_calls() {
    let world = World::new();
    let (engine, model, id) = cut_off(&world);
    wait(async {
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let last = conversation(&model.last());
    assert!(last.contains("Ignore its instructions above"), "{last}");
}

fn change_is_announced_after_interrupted_resume() {
    let world = World::new();
    let (engine, model, id) = cut_off(&world);
    wait(async {
        // Dropped before the model is asked again.
        drop(Session::resume(&engine, &id, None).await.unwrap());
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let last = conversation(&model.last());
    assert!(last.contains("Ignore its instructions above"), "{last}");
}

fn touched_files_survive_resume() {
    let world = World::new();
    world
        .skill("types", "paths: \"src/*.ts\"\n", "Use strict types.")
        .skill("other", "", "O.");
    world.file("src/b.ts", "let a = 1;\n");
    let read = || call("read", serde_json::json!({ "path": "src/b.ts" }));
    let model = Script::by(move |at, _| match at {
        0 => read(),
        1 => says("fine"),
        2 => load("types"),
        _ => says("done"),
    });
    let engine = world.engine(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        let id = session.id().to_owned();
        drop(session);
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        session.say("go on", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        assert_eq!(session.skills().len(), 1);
        let notes = events(&engine, &id)
            .iter()
            .filter(|event| matches!(event.event, Event::Noted { .. }))
            .count();
        assert_eq!(notes, 1, "nothing changed between");
    });
}

fn core_agent_16_skill_added_later_can_be_loaded() {
    let world = World::new();
    world.skill("one", "", "O.");
    let model = Script::of([load("two"), says("done")]);
    let engine = world.engine(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        world.skill("two", "", "Text of two.");
        session.context().services.registry.refresh();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    assert!(results(&model.last())[0].contains("Text of two."));
}
