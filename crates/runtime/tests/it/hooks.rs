//! Hooks of loaded skills in a session: real processes in the real sandbox.

use prowess_policy::{ApprovalAnswer, PermissionMode};
use prowess_runtime::{Engine, Pause, RuntimeError, Session, SkillRef, SubRun};
use prowess_tools::ToolContext;
use serde_json::json;

use crate::script::{Script, bash, call, conversation, load, results, says, tools};
use crate::talk::{go_on, talk_until};
use crate::world::{Person, World, decisions, mode, never, wait};

prowess_test::tests! {
    hooks_run_only_while_skill_is_loaded
    hook_blocks_call
    hook_prompt_is_recorded
    hook_changes_input_and_rules_still_apply
    hook_changes_skill_and_rules_apply_to_the_new_one
    hook_context_is_appended_to_result
    hook_blocks_message
    stop_hook_cannot_block_forever
    hook_stops_run
    hook_applies_to_forked_skill
    untrusted_skill_hooks_do_not_run
    case_126_hooks_of_a_fork_run_in_the_fork
    calls_with_hooks_are_never_repeated
    post_hooks_see_result_of_forked_skill
    post_hook_of_forked_skill_stops_run
    tool_aliases_share_restrictions_and_hooks
    case_129_once_hook_runs_once_across_resume
}

/// Frontmatter with one hook that runs a script of the skill.
fn hook(event: &str, matcher: &str, script: &str) -> String {
    format!(
        "allowed-tools: Bash(${{CLAUDE_SKILL_DIR}}/{script}:*) Bash\nhooks:\n  {event}:\n    - matcher: \"{matcher}\"\n      hooks: [{{type: command, command: \"${{CLAUDE_SKILL_DIR}}/{script}\"}}]\n"
    )
}

fn free(world: &World, model: std::sync::Arc<Script>) -> ToolContext {
    let mut parts = world.parts(model);
    mode(&mut parts, PermissionMode::Yolo);
    parts
}

fn talk(parts: ToolContext) -> (Engine, String, Pause) {
    let engine = Engine::new(parts).unwrap();
    let (id, pause) = talk_until(&engine, "go");
    (engine, id, pause)
}

fn hooks_run_only_while_skill_is_loaded() {
    let world = World::new();
    world.skill("guard", &hook("PreToolUse", "Bash", "log.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/log.sh",
        "echo x >> $CLAUDE_PROJECT_DIR/seen",
    );
    let model = Script::of([
        bash("mkdir one"),
        load("guard"),
        bash("mkdir two"),
        call("glob", json!({ "pattern": "*" })),
        call("unload_skill", json!({ "name": "guard" })),
        bash("mkdir three"),
        says("done"),
    ]);
    talk(free(&world, model));
    assert_eq!(world.read("seen"), "x\n", "only for the matching call");
    assert!(world.exists("three"));
}

fn hook_blocks_call() {
    let world = World::new();
    world.skill("guard", &hook("PreToolUse", "Bash", "no.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/no.sh",
        "echo 'not on Mondays' >&2; exit 2",
    );
    let model = Script::of([load("guard"), bash("mkdir made"), says("done")]);
    talk(free(&world, model.clone()));
    assert!(!world.exists("made"));
    let told = &results(&model.last())[0];
    assert!(
        told.contains("A hook of skill `guard` refused this call: not on Mondays"),
        "{told}"
    );
}

fn hook_prompt_is_recorded() {
    for (answer, made) in [(ApprovalAnswer::No, false), (ApprovalAnswer::Once, true)] {
        let world = World::new();
        world.skill("guard", &hook("PreToolUse", "Bash", "ask.sh"), "Guard.");
        world.script(
            "~/.agents/skills/guard/ask.sh",
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"it is Monday"}}'"#,
        );
        let model = Script::of([load("guard"), bash("mkdir made"), says("done")]);
        let person = Person::says(answer);
        let mut parts = free(&world, model);
        parts.services.approver = person.clone();
        let (engine, id, _) = talk(parts);
        assert_eq!(person.asked().len(), 1, "{:?}", person.asked());
        assert_eq!(world.exists("made"), made);
        let decided = decisions(&engine, &id);
        let asked = decided
            .iter()
            .find(|one| one.answer.is_some())
            .expect("a recorded decision");
        assert!(asked.reason.contains("it is Monday") && asked.what.contains("mkdir made"));
    }
}

fn hook_changes_input_and_rules_still_apply() {
    let world = World::new();
    world.skill("guard", &hook("PreToolUse", "Bash", "other.sh"), "Guard.");
    let other = |command: &str| {
        format!(
            r#"echo '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{{"command":"{command}"}}}}}}'"#
        )
    };
    world.script("~/.agents/skills/guard/other.sh", &other("mkdir other"));
    let model = Script::of([load("guard"), bash("mkdir made"), says("done")]);
    talk(free(&world, model));
    assert!(world.exists("other") && !world.exists("made"));
    world.script("~/.agents/skills/guard/other.sh", &other("rm -rf other"));
    let model = Script::of([load("guard"), bash("mkdir made"), says("done")]);
    let mut parts = free(&world, model.clone());
    crate::world::rule(&mut parts, prowess_policy::Effect::Deny, "Bash(rm:*)");
    talk(parts);
    assert!(world.exists("other"), "{:?}", results(&model.last()));
}

/// What the gate checks is what runs, also if a hook changes the skill that a call loads.
fn hook_changes_skill_and_rules_apply_to_the_new_one() {
    // (frontmatter of `a`, of `b`, the rule, text of `b` is used)
    for (a, b, deny, used) in [
        ("context: fork\n", "", "skill:a/load:prod*", true),
        ("", "context: fork\n", "skill:a/load:prod*", true),
        ("context: fork\n", "context: fork\n", "skill:b", false),
        ("context: fork\n", "", "skill:b", false),
    ] {
        let world = World::new();
        world.skill("guard", &hook("PreToolUse", "load_skill", "other.sh"), "G.");
        world.skill("a", a, "Text of A: $ARGUMENTS.");
        world.skill("b", b, "Text of B: $ARGUMENTS.");
        world.script(
            "~/.agents/skills/guard/other.sh",
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"name":"b","arguments":"prod"}}}'"#,
        );
        let model = Script::by(|at, _| match at {
            0 => load("guard"),
            1 => call("load_skill", json!({ "name": "a", "arguments": "test" })),
            _ => says("done"),
        });
        let mut parts = free(&world, model.clone());
        crate::world::rule(&mut parts, prowess_policy::Effect::Deny, deny);
        talk(parts);
        let all: String = model.asked().iter().map(conversation).collect();
        let case = format!("{a:?} {b:?} {deny}");
        assert!(!all.contains("Text of A"), "{case}");
        assert_eq!(all.contains("Text of B: prod"), used, "{case}");
    }
}

fn hook_context_is_appended_to_result() {
    let world = World::new();
    world.skill("guard", &hook("PostToolUse", "Glob", "add.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/add.sh",
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"mind the gap"}}'"#,
    );
    let model = Script::of([
        load("guard"),
        call("glob", json!({ "pattern": "*" })),
        says("done"),
    ]);
    talk(free(&world, model.clone()));
    let told = &results(&model.last())[0];
    assert!(
        told.ends_with("[hook of skill `guard`: mind the gap]"),
        "{told}"
    );
}

fn hook_blocks_message() {
    let world = World::new();
    world.skill("guard", &hook("UserPromptSubmit", "", "no.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/no.sh",
        "if grep -q secret; then echo 'no secrets' >&2; exit 2; fi",
    );
    let model = Script::by(|_, _| says("fine"));
    let engine = Engine::new(free(&world, model.clone())).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("/guard", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        let error = session.say("my secret is 7", &never()).await.unwrap_err();
        assert!(
            matches!(&error, RuntimeError::Refused { reason } if reason.contains("no secrets")),
            "{error:?}"
        );
        session.say("hello", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    assert!(!conversation(&model.last()).contains("secret is 7"));
}

fn stop_hook_cannot_block_forever() {
    let world = World::new();
    world.skill("guard", &hook("Stop", "", "go.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/go.sh",
        "echo 'the tests do not pass' >&2; exit 2",
    );
    let model = Script::by(|at, _| if at == 0 { load("guard") } else { says("done") });
    let (_, _, pause) = talk(free(&world, model.clone()));
    assert_eq!(pause, Pause::Answered("done".into()));
    let questions = model.asked().len();
    assert!((3..=12).contains(&questions), "{questions}");
    assert!(conversation(&model.last()).contains("the tests do not pass"));
}

fn hook_stops_run() {
    for (event, first) in [("PreToolUse", false), ("PostToolUse", true)] {
        let world = World::new();
        world.skill("guard", &hook(event, "Bash", "stop.sh"), "Guard.");
        world.script(
            "~/.agents/skills/guard/stop.sh",
            r#"echo '{"continue": false, "stopReason": "enough"}'"#,
        );
        let model = Script::of([
            load("guard"),
            crate::script::calls([
                ("bash", json!({ "command": "mkdir one" })),
                ("bash", json!({ "command": "mkdir two" })),
            ]),
        ]);
        let (_, _, pause) = talk(free(&world, model));
        let Pause::Ended(prowess_agent::Ending::Declined { why }) = pause else {
            panic!("{pause:?}")
        };
        assert_eq!(why, "A hook of skill `guard` stopped the run: enough");
        assert_eq!(world.exists("one"), first, "{event}");
        assert!(!world.exists("two"), "{event}");
    }
}

fn hook_applies_to_forked_skill() {
    let world = World::new();
    world.skill("guard", &hook("PreToolUse", "Skill", "no.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/no.sh",
        "grep -q '\"look\"' || exit 0; echo 'not that one' >&2; exit 2",
    );
    world
        .skill("look", "context: fork\n", "Look.")
        .skill("see", "context: fork\n", "See.");
    let model = Script::of([
        load("guard"),
        load("look"),
        load("see"),
        says("seen"),
        says("done"),
    ]);
    let (engine, id, _) = talk(free(&world, model.clone()));
    let told = &results(&model.asked()[2])[0];
    assert!(
        told.contains("A hook of skill `guard` refused this call: not that one"),
        "{told}"
    );
    assert_eq!(
        crate::world::children(&engine, &id).len(),
        1,
        "the other one ran"
    );
}

fn untrusted_skill_hooks_do_not_run() {
    let world = World::new();
    world.project_skill("guard", &hook("PreToolUse", "Bash", "no.sh"), "Guard.");
    world.file(
        ".agents/skills/guard/no.sh",
        "#!/bin/bash\ntouch pwned; exit 2\n",
    );
    let model = Script::of([load("guard"), bash("mkdir made"), says("done")]);
    talk(free(&world, model));
    assert!(world.exists("made") && !world.exists("pwned"));
}

fn case_126_hooks_of_a_fork_run_in_the_fork() {
    let world = World::new();
    world.skill("guard", &hook("PreToolUse", "Bash", "no.sh"), "Guard.");
    world.script("~/.agents/skills/guard/no.sh", "echo no >&2; exit 2");
    let model = Script::of([bash("mkdir made"), says("done")]);
    let engine = Engine::new(free(&world, model.clone())).unwrap();
    wait(engine.run_skill(SubRun::new(SkillRef::Name("guard".into())), &never())).unwrap();
    assert!(!world.exists("made"));
    assert!(results(&model.last())[0].contains("A hook of skill `guard` refused"));
}

/// A read-only call may be repeated after an interruption, but not if it has hooks.
fn calls_with_hooks_are_never_repeated() {
    let world = World::new();
    world.skill("guard", &hook("PreToolUse", "Glob", "log.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/log.sh",
        "echo x >> $CLAUDE_PROJECT_DIR/seen",
    );
    let model = Script::of([
        load("guard"),
        call("glob", json!({ "pattern": "*" })),
        says("done"),
    ]);
    let (engine, id, _) = talk(free(&world, model));
    let marks: Vec<bool> = crate::world::events(&engine, &id)
        .into_iter()
        .filter_map(|event| match event.event {
            prowess_agent::Event::CallStarted { read_only, .. } => Some(read_only),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [false, false]);
}

fn post_hooks_see_result_of_forked_skill() {
    let world = World::new();
    world.skill("guard", &hook("PostToolUse", "Skill", "hear.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/hear.sh",
        "grep -q 'It is red' || exit 0; echo 'red is wrong' >&2; exit 2",
    );
    world
        .skill("look", "context: fork\n", "Look.")
        .skill("see", "context: fork\n", "See.");
    let model = Script::of([
        load("guard"),
        load("look"),
        says("It is red."),
        load("see"),
        says("It is blue."),
        says("done"),
    ]);
    talk(free(&world, model.clone()));
    let asked = model.asked();
    let (red, blue) = (&results(&asked[3])[0], &results(&asked[5])[0]);
    assert!(red.contains("It is red."), "{red}");
    assert!(
        red.ends_with("[hook of skill `guard`: red is wrong]"),
        "{red}"
    );
    assert!(
        blue.contains("It is blue.") && !blue.contains("[hook"),
        "{blue}"
    );
}

fn post_hook_of_forked_skill_stops_run() {
    let world = World::new();
    world.skill("guard", &hook("PostToolUse", "Skill", "end.sh"), "Guard.");
    world.script(
        "~/.agents/skills/guard/end.sh",
        "grep -q 'It is red' && echo '{\"continue\": false, \"stopReason\": \"enough\"}'; exit 0",
    );
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::of([load("guard"), load("look"), says("It is red.")]);
    let (_, _, pause) = talk(free(&world, model));
    let Pause::Ended(prowess_agent::Ending::Declined { why }) = pause else {
        panic!("{pause:?}")
    };
    assert!(why.contains("guard") && why.contains("enough"), "{why}");
}

fn tool_aliases_share_restrictions_and_hooks() {
    let names = ["load_skill_resource", "load_skill_resources"];
    let input = json!({ "skill_name": "guard", "resource_path": "SKILL.md" });
    for (said, called) in [(names[0], names[1]), (names[1], names[0])] {
        let world = World::new();
        world.skill("guard", &format!("disallowed-tools: {said}\n"), "Guard.");
        let model = Script::of([load("guard"), call(called, input.clone()), says("done")]);
        talk(free(&world, model.clone()));
        let last = model.last();
        assert!(
            !tools(&last).iter().any(|tool| names.contains(tool)),
            "{said}: {:?}",
            tools(&last)
        );
        assert!(
            results(&last)[0].contains("`disallowed-tools` lists it"),
            "{said}: {called}"
        );
        let world = World::new();
        world.skill("guard", &hook("PreToolUse", said, "no.sh"), "Guard.");
        world.script("~/.agents/skills/guard/no.sh", "echo no >&2; exit 2");
        let model = Script::of([load("guard"), call(called, input.clone()), says("done")]);
        talk(free(&world, model.clone()));
        let told = &results(&model.last())[0];
        assert!(
            told.contains("A hook of skill `guard` refused"),
            "{said}: {called}: {told}"
        );
    }
}

fn case_129_once_hook_runs_once_across_resume() {
    let world = World::new();
    let log = |name: &str, once: &str| {
        format!("{{type: command, command: \"${{CLAUDE_SKILL_DIR}}/log.sh {name}\"{once}}}")
    };
    let hooks = format!(
        "allowed-tools: Bash(${{CLAUDE_SKILL_DIR}}/log.sh:*) Bash\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks: [{}, {}]\n  UserPromptSubmit:\n    - hooks: [{}]\n",
        log("each", ""),
        log("call", ", once: true"),
        log("said", ", once: true"),
    );
    world.skill("guard", &hooks, "Guard.");
    world.script(
        "~/.agents/skills/guard/log.sh",
        "echo $1 >> $CLAUDE_PROJECT_DIR/seen",
    );
    let model = Script::by(|at, request| match at {
        0 => load("guard"),
        _ if results(request).len() == 1 && at % 2 == 0 => says("done"),
        _ => bash(&format!("mkdir -p d{at}")),
    });
    let (engine, id, _) = talk(free(&world, model));
    assert_eq!(world.read("seen"), "each\ncall\n");
    for _ in 0..2 {
        go_on(&engine, &id);
    }
    let seen = world.read("seen");
    let count = |name: &str| seen.lines().filter(|line| *line == name).count();
    assert_eq!(
        (count("each"), count("call"), count("said")),
        (3, 1, 1),
        "{seen}"
    );
}
