//! Isolation between sub-runs and sessions.

use prowess_policy::{ApprovalAnswer, PermissionMode};
use prowess_render::Arguments;
use prowess_runtime::{Engine, Session, SkillRef, SubRun};
use serde_json::json;

use crate::script::{Script, bash, call, conversation, load, results, says, tools};
use crate::talk::{asking, talk};
use crate::world::{World, children, events, mode, never, wait};

prowess_test::tests! {
    concurrent_sub_runs_are_independent
    skill_loaded_in_sub_run_is_not_loaded_in_parent
    approval_in_sub_run_does_not_apply_to_parent
    approval_in_parent_does_not_apply_to_sub_run
    skill_tools_of_parent_are_not_inherited
    sub_run_permissions_never_exceed_parent
    each_sub_run_has_its_own_record
}

fn sub(name: &str, with: &str) -> SubRun {
    SubRun {
        arguments: Arguments::from_text(with),
        ..SubRun::new(SkillRef::Name(name.into()))
    }
}

/// Agentick 4.3 #11, and its request for a parallel map.
fn concurrent_sub_runs_are_independent() {
    let world = World::new();
    world.skill("square", "", "Square $0.");
    let model = Script::by(|_, request| {
        let said = conversation(request);
        let number = said
            .split("Square ")
            .nth(1)
            .unwrap()
            .split('.')
            .next()
            .unwrap()
            .to_owned();
        match results(request).first() {
            None => bash(&format!("mkdir n{number}")),
            Some(result) if !result.starts_with("Exit code 0.") => says(result),
            Some(_) => says(&format!("{number} is done")),
        }
    });
    let engine = world.free(model);
    wait(async {
        let mut all = tokio::task::JoinSet::new();
        for number in 0..12 {
            let engine = engine.clone();
            all.spawn(async move {
                let finished = engine
                    .run_skill(sub("square", &number.to_string()), &never())
                    .await
                    .unwrap();
                assert_eq!(finished.text, format!("{number} is done"));
                assert_eq!(finished.spent.turns, 2);
            });
        }
        while let Some(ended) = all.join_next().await {
            ended.unwrap();
        }
    });
    assert!((0..12).all(|number| world.exists(format!("n{number}"))));
}

fn skill_loaded_in_sub_run_is_not_loaded_in_parent() {
    let world = World::new();
    world
        .skill("outer", "context: fork\n", "Work.")
        .skill("inner", "", "Inner text.");
    let model = Script::of([load("outer"), load("inner"), says("did it"), says("done")]);
    let engine = world.engine(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        assert!(session.skills().is_empty());
    });
    assert!(!conversation(&model.last()).contains("Inner text."));
}

fn approval_in_sub_run_does_not_apply_to_parent() {
    let world = World::new();
    world.skill("outer", "context: fork\n", "Work.");
    let model = Script::of([
        load("outer"),
        bash("mkdir below"),
        bash("mkdir below2"),
        says("did it"),
        bash("mkdir above"),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model, ApprovalAnswer::Session);
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    let asked = person.asked();
    assert!(asked.contains(&"mkdir above".to_owned()), "{asked:?}");
}

/// The user approved the call for the agent, not for the skill.
fn approval_in_parent_does_not_apply_to_sub_run() {
    let world = World::new();
    world.skill("outer", "context: fork\n", "Work.");
    let model = Script::of([
        bash("mkdir -p one"),
        load("outer"),
        bash("mkdir -p one"),
        says("did it"),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model, ApprovalAnswer::Session);
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    let asked = person.asked();
    assert_eq!(
        asked.iter().filter(|what| what.contains("mkdir")).count(),
        2,
        "{asked:?}"
    );
}

fn skill_tools_of_parent_are_not_inherited() {
    let world = World::new();
    world.skill("stamps", "allowed-tools: stamp\n", "Use stamp.");
    world.skill("outer", "context: fork\nallowed-tools: Read\n", "Work.");
    let model = Script::of([
        load("stamps"),
        load("outer"),
        call("stamp", json!({})),
        says("did it"),
        says("done"),
    ]);
    let stamp = crate::world::Counter::new("stamp");
    let mut parts = world.parts(model.clone());
    parts.services.skill_tools.push(stamp.clone());
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    let asked = model.asked();
    assert!(tools(&asked[1]).contains(&"stamp") && !tools(&asked[2]).contains(&"stamp"));
    assert!(stamp.inputs().is_empty());
}

fn sub_run_permissions_never_exceed_parent() {
    let world = World::new();
    // The skill lists tools that the mode forbids.
    world.skill(
        "outer",
        "context: fork\nallowed-tools: Bash Write\n",
        "Work.",
    );
    let model = Script::of([
        load("outer"),
        bash("mkdir below"),
        says("cannot"),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    mode(&mut parts, PermissionMode::Plan);
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    assert!(!world.exists("below"), "{:?}", results(&model.asked()[2]));
}

fn each_sub_run_has_its_own_record() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look at $0.");
    let model = Script::by(|_, request| {
        let said = conversation(request);
        if said.starts_with("Run skill") {
            return says("seen");
        }
        match request.messages.len() {
            1 => crate::script::calls([
                ("load_skill", json!({ "name": "look", "arguments": "a" })),
                ("load_skill", json!({ "name": "look", "arguments": "b" })),
            ]),
            _ => says("done"),
        }
    });
    let engine = world.engine(model);
    let id = talk(&engine, "go");
    let below = children(&engine, &id);
    assert_eq!(below.len(), 2);
    for child in &below {
        let text = serde_json::to_string(&events(&engine, &child.id)).unwrap();
        assert!(
            text.contains("Look at a") != text.contains("Look at b"),
            "{text}"
        );
    }
    // Removing the session removes its sub-runs.
    assert_eq!(engine.sessions().remove(&id).unwrap(), 3);
}
