//! The gate in a session: who is asked, how often, and what is written down.

use prowess_agent::{RecordedAnswer, RecordedVerdict};
use prowess_policy::{Answer, Effect, Mode};
use prowess_runtime::{Engine, Session};
use prowess_tools::ToolContext;
use serde_json::json;

use crate::harness::{Tests, tests};
use crate::script::{Script, bash, call, calls, load, results, says};
use crate::talk::{self, asking};
use crate::world::{Person, World, decisions, mode, never, rule, wait};

pub(crate) const TESTS: Tests = tests! {
    a_person_is_asked_once_and_the_answer_is_written_down
    nobody_to_ask_means_no_and_says_why
    a_no_is_an_answer_and_the_session_goes_on
    a_yes_for_the_session_is_asked_for_once
    what_a_rule_forbids_is_not_asked_about_and_written_down
    core_agent_18_plan_mode_runs_nothing
    nobody_is_asked_about_an_input_that_is_wrong
    a_question_about_loading_a_skill
    files_are_asked_about_like_commands
    the_mode_that_allows_still_obeys_rules
    a_tool_that_a_rule_forbids_is_not_declared
};

fn talk(parts: ToolContext) -> (Engine, String) {
    let engine = Engine::new(parts).unwrap();
    let id = talk::talk(&engine, "go");
    (engine, id)
}

fn a_person_is_asked_once_and_the_answer_is_written_down() {
    let world = World::new();
    let model = Script::of([bash("mkdir made"), says("done")]);
    let (parts, person) = asking(&world, model, Answer::Once);
    let (engine, id) = talk(parts);
    assert_eq!(person.asked(), ["mkdir made"]);
    assert!(world.path("project/made").exists());
    let decided = decisions(&engine, &id);
    assert_eq!(decided.len(), 1, "{decided:?}");
    assert_eq!(
        (decided[0].verdict, decided[0].answer),
        (RecordedVerdict::Ask, Some(RecordedAnswer::Once))
    );
    assert_eq!(decided[0].what, "mkdir made");
    assert!(decided[0].call.is_some() && !decided[0].reason.is_empty());
}

fn nobody_to_ask_means_no_and_says_why() {
    let world = World::new();
    let model = Script::of([bash("mkdir made"), says("done")]);
    let (engine, id) = talk(world.parts(model.clone()));
    assert!(!world.path("project/made").exists());
    let text = &results(&model.last())[0];
    assert!(text.starts_with("The command was refused:"), "{text}");
    assert!(text.contains("A person can change that:"), "{text}");
    let decided = decisions(&engine, &id);
    assert_eq!(
        (decided[0].verdict, decided[0].answer),
        (RecordedVerdict::Ask, Some(RecordedAnswer::No))
    );
}

fn a_no_is_an_answer_and_the_session_goes_on() {
    let world = World::new();
    world.file("project/a.txt", "text");
    let model = Script::of([
        calls([
            ("bash", json!({ "command": "mkdir one" })),
            ("bash", json!({ "command": "mkdir two" })),
            ("read", json!({ "path": "a.txt" })),
        ]),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model.clone(), Answer::No);
    talk(parts);
    assert_eq!(person.asked(), ["mkdir one", "mkdir two"]);
    let request = model.last();
    let errors: Vec<bool> = request
        .messages
        .last()
        .unwrap()
        .results()
        .map(|result| result.is_error)
        .collect();
    assert_eq!(errors, [true, true, false], "{:?}", results(&request));
}

fn a_yes_for_the_session_is_asked_for_once() {
    let world = World::new();
    let model = Script::of([
        bash("mkdir -p one"),
        bash("mkdir -p one"),
        says("done"),
        bash("mkdir -p one"),
        says("d"),
    ]);
    let (parts, person) = asking(&world, model, Answer::Session);
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        assert_eq!(person.asked().len(), 1);
        // Another session is asked for itself.
        let mut other = Session::start(&engine, "u").await.unwrap();
        other.say("go", &never()).await.unwrap();
        other.proceed(&never()).await.unwrap();
        assert_eq!(person.asked().len(), 2);
    });
}

fn what_a_rule_forbids_is_not_asked_about_and_written_down() {
    let world = World::new();
    let model = Script::of([bash("mkdir made"), says("done")]);
    let (mut parts, person) = asking(&world, model.clone(), Answer::Always);
    rule(&mut parts, Effect::Deny, "Bash(mkdir:*)");
    let (engine, id) = talk(parts);
    assert!(person.asked().is_empty() && !world.path("project/made").exists());
    assert!(results(&model.last())[0].contains("Bash(mkdir:*)"));
    let decided = decisions(&engine, &id);
    assert_eq!(decided.len(), 1, "a refusal is a decision: {decided:?}");
    assert_eq!(
        (decided[0].verdict, decided[0].answer),
        (RecordedVerdict::Deny, None)
    );
    assert!(
        decided[0]
            .rule
            .as_deref()
            .unwrap()
            .contains("Bash(mkdir:*)")
    );
}

/// There allow rules and answers are looked at before the mode.
fn core_agent_18_plan_mode_runs_nothing() {
    let world = World::new();
    world.skill("maker", "allowed-tools: Bash(mkdir:*) Write\n", "Make.");
    let model = Script::of([
        load("maker"),
        calls([
            ("bash", json!({ "command": "mkdir made" })),
            ("write", json!({ "path": "made", "content": "x" })),
            (
                "run_command_line",
                json!({ "reason": "r", "commandLine": "mkdir made" }),
            ),
        ]),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    parts.services.approver = Person::says(Answer::Always);
    rule(&mut parts, Effect::Allow, "Bash(mkdir:*)");
    mode(&mut parts, Mode::Plan);
    talk(parts);
    assert!(
        !world.path("project/made").exists(),
        "{:?}",
        results(&model.last())
    );
}

fn nobody_is_asked_about_an_input_that_is_wrong() {
    let world = World::new();
    let model = Script::of([
        call("bash", json!({ "comand": "mkdir made" })),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model, Answer::Once);
    talk(parts);
    assert!(person.asked().is_empty());
}

fn a_question_about_loading_a_skill() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    for (answer, loads) in [(Answer::No, false), (Answer::Once, true)] {
        let model = Script::of([load("pdf"), says("done")]);
        let (mut parts, person) = asking(&world, model.clone(), answer);
        rule(&mut parts, Effect::Ask, "Skill(pdf)");
        let (engine, id) = talk(parts);
        assert_eq!(person.asked().len(), 1, "{:?}", person.asked());
        assert_eq!(results(&model.last())[0].contains("Use pdftk."), loads);
        assert!(
            decisions(&engine, &id)
                .iter()
                .any(|decided| decided.answer.is_some())
        );
    }
}

fn files_are_asked_about_like_commands() {
    let world = World::new();
    let model = Script::of([
        call("write", json!({ "path": "a.txt", "content": "x" })),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model, Answer::Once);
    let (engine, id) = talk(parts);
    assert_eq!(person.asked().len(), 1, "{:?}", person.asked());
    assert_eq!(world.read("project/a.txt"), "x");
    assert_eq!(
        decisions(&engine, &id)[0].answer,
        Some(RecordedAnswer::Once)
    );
}

fn the_mode_that_allows_still_obeys_rules() {
    let world = World::new();
    let model = Script::of([
        calls([
            ("bash", json!({ "command": "mkdir made" })),
            ("bash", json!({ "command": "mkdir fine && rm -rf made" })),
        ]),
        says("done"),
    ]);
    let mut parts = world.parts(model);
    mode(&mut parts, Mode::Yolo);
    rule(&mut parts, Effect::Deny, "Bash(rm:*)");
    talk(parts);
    assert!(world.path("project/made").exists() && !world.path("project/fine").exists());
}

fn a_tool_that_a_rule_forbids_is_not_declared() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::of([load("pdf"), says("done")]);
    let mut parts = world.parts(model.clone());
    rule(&mut parts, Effect::Deny, "Skill");
    talk(parts);
    let asked = model.asked();
    assert!(!crate::script::tools(&asked[0]).contains(&"load_skill"));
    assert!(
        !asked[0].system.join("\n").contains("What pdf is for."),
        "no list that only teases"
    );
    assert!(!results(&asked[1])[0].contains("Use pdftk."));
}
