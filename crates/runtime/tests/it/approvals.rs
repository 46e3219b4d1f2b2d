//! Approvals in a session: when the user is asked, how often, and what is recorded.

use prowess_agent::{DecidedBy, RecordedAnswer, RecordedVerdict};
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_runtime::{Engine, Session};
use prowess_tools::ToolContext;
use serde_json::json;

use crate::script::{Script, bash, call, calls, load, results, says};
use crate::talk::{self, asking};
use crate::world::{Person, World, decisions, mode, never, rule, wait};

prowess_test::tests! {
    user_is_asked_once_and_answer_is_recorded
    missing_approver_denies_with_reason
    denied_call_does_not_end_session
    session_approval_is_asked_once
    earlier_answers_are_recorded_with_their_source
    denied_by_rule_is_recorded_without_prompt
    core_agent_18_plan_mode_runs_nothing
    invalid_input_does_not_prompt
    loading_a_skill_can_prompt
    file_changes_prompt_like_commands
    yolo_mode_obeys_deny_rules
    denied_tool_is_not_declared
}

fn talk(parts: ToolContext) -> (Engine, String) {
    let engine = Engine::new(parts).unwrap();
    let id = talk::talk(&engine, "go");
    (engine, id)
}

fn user_is_asked_once_and_answer_is_recorded() {
    let world = World::new();
    let model = Script::of([bash("mkdir made"), says("done")]);
    let (parts, person) = asking(&world, model, ApprovalAnswer::Once);
    let (engine, id) = talk(parts);
    assert_eq!(person.asked(), ["mkdir made"]);
    assert!(world.exists("made"));
    let decided = decisions(&engine, &id);
    assert_eq!(decided.len(), 1, "{decided:?}");
    assert_eq!(
        (decided[0].verdict, decided[0].answer.clone()),
        (RecordedVerdict::Ask, Some(RecordedAnswer::Once))
    );
    assert_eq!(decided[0].what, "mkdir made");
    assert!(decided[0].call.is_some() && !decided[0].reason.is_empty());
}

fn missing_approver_denies_with_reason() {
    let world = World::new();
    let model = Script::of([bash("mkdir made"), says("done")]);
    let (engine, id) = talk(world.parts(model.clone()));
    assert!(!world.exists("made"));
    let text = &results(&model.last())[0];
    assert!(text.starts_with("The command was refused:"), "{text}");
    assert!(text.contains("The user can change this:"), "{text}");
    let decided = decisions(&engine, &id);
    assert_eq!(
        (decided[0].verdict, decided[0].answer.clone()),
        (RecordedVerdict::Ask, Some(RecordedAnswer::Unavailable))
    );
}

fn denied_call_does_not_end_session() {
    let world = World::new();
    world.file("a.txt", "text");
    let model = Script::of([
        calls([
            ("bash", json!({ "command": "mkdir one" })),
            ("bash", json!({ "command": "mkdir two" })),
            ("read", json!({ "path": "a.txt" })),
        ]),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model.clone(), ApprovalAnswer::No);
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

fn session_approval_is_asked_once() {
    let world = World::new();
    let model = Script::of([
        bash("mkdir -p one"),
        bash("mkdir -p one"),
        says("done"),
        bash("mkdir -p one"),
        says("d"),
    ]);
    let (parts, person) = asking(&world, model, ApprovalAnswer::Session);
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        assert_eq!(person.asked().len(), 1);
        // Another session asks again.
        let mut other = Session::start(&engine, "u").await.unwrap();
        other.say("go", &never()).await.unwrap();
        other.proceed(&never()).await.unwrap();
        assert_eq!(person.asked().len(), 2);
    });
}

/// S3: the approver names itself. S4: what an earlier answer allows is a decision of a person.
fn earlier_answers_are_recorded_with_their_source() {
    let world = World::new();
    let model = Script::of([bash("mkdir -p one"), bash("mkdir -p one"), says("done")]);
    let (parts, person) = asking(&world, model, ApprovalAnswer::Session);
    let (engine, id) = talk(parts);
    assert_eq!(person.asked().len(), 1);
    let decided = decisions(&engine, &id);
    assert_eq!(decided.len(), 2, "{decided:?}");
    for decision in &decided {
        assert_eq!(decision.by, Some(DecidedBy::Person), "{decision:?}");
        assert_eq!(decision.who.as_deref(), Some("program"), "{decision:?}");
    }
    assert_eq!(decided[1].verdict, RecordedVerdict::Allow);
}

fn denied_by_rule_is_recorded_without_prompt() {
    let world = World::new();
    let model = Script::of([bash("mkdir made"), says("done")]);
    let (mut parts, person) = asking(&world, model.clone(), ApprovalAnswer::Always);
    rule(&mut parts, Effect::Deny, "Bash(mkdir:*)");
    let (engine, id) = talk(parts);
    assert!(person.asked().is_empty() && !world.exists("made"));
    assert!(results(&model.last())[0].contains("Bash(mkdir:*)"));
    let decided = decisions(&engine, &id);
    assert_eq!(decided.len(), 1, "a refusal is a decision: {decided:?}");
    assert_eq!(
        (decided[0].verdict, decided[0].answer.clone()),
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

/// Core-agent: allow rules and answers take precedence over the mode.
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
    parts.services.approver = Person::says(ApprovalAnswer::Always);
    rule(&mut parts, Effect::Allow, "Bash(mkdir:*)");
    mode(&mut parts, PermissionMode::Plan);
    talk(parts);
    assert!(!world.exists("made"), "{:?}", results(&model.last()));
}

fn invalid_input_does_not_prompt() {
    let world = World::new();
    let model = Script::of([
        call("bash", json!({ "comand": "mkdir made" })),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model, ApprovalAnswer::Once);
    talk(parts);
    assert!(person.asked().is_empty());
}

fn loading_a_skill_can_prompt() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    for (answer, loads) in [(ApprovalAnswer::No, false), (ApprovalAnswer::Once, true)] {
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

fn file_changes_prompt_like_commands() {
    let world = World::new();
    let model = Script::of([
        call("write", json!({ "path": "a.txt", "content": "x" })),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model, ApprovalAnswer::Once);
    let (engine, id) = talk(parts);
    assert_eq!(person.asked().len(), 1, "{:?}", person.asked());
    assert_eq!(world.read("a.txt"), "x");
    assert_eq!(
        decisions(&engine, &id)[0].answer,
        Some(RecordedAnswer::Once)
    );
}

fn yolo_mode_obeys_deny_rules() {
    let world = World::new();
    let model = Script::of([
        calls([
            ("bash", json!({ "command": "mkdir made" })),
            ("bash", json!({ "command": "mkdir fine && rm -rf made" })),
        ]),
        says("done"),
    ]);
    let mut parts = world.parts(model);
    mode(&mut parts, PermissionMode::Yolo);
    rule(&mut parts, Effect::Deny, "Bash(rm:*)");
    talk(parts);
    assert!(world.exists("made") && !world.exists("fine"));
}

fn denied_tool_is_not_declared() {
    let world = World::new();
    world.skill("pdf", "", "Use pdftk.");
    let model = Script::of([load("pdf"), says("done")]);
    let mut parts = world.parts(model.clone());
    rule(&mut parts, Effect::Deny, "Skill");
    talk(parts);
    let asked = model.asked();
    assert!(!crate::script::tools(&asked[0]).contains(&"load_skill"));
    assert!(
        !asked[0].system.join("\n").contains("Does pdf."),
        "no list of skills that cannot be loaded"
    );
    assert!(!results(&asked[1])[0].contains("Use pdftk."));
}
