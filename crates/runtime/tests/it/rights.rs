//! Attempts of a hostile skill or a hijacked model to gain permissions, turns or budget.

use prowess_agent::{Effort, RunBudget};
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_runtime::{Engine, MAX_TICKS, Session, SkillRef, SubRun};
use serde_json::json;

use crate::script::{Act, Script, bash, call, load, results, says, tools};
use crate::talk::{asking, started, talk};
use crate::world::{World, children, mode, never, rule, wait};

prowess_test::tests! {
    untrusted_skill_cannot_raise_effort_or_turns
    untrusted_skill_cannot_start_another
    sub_run_uses_only_listed_skills
    skill_restrictions_apply_to_sub_runs
    restriction_about_a_skill_applies_to_its_fork
    sub_run_loses_its_permissions_when_its_skill_changes
    grants_of_loaded_skill_count_in_mode_allow
    caller_restrictions_apply_to_sub_runs
    resumed_sub_run_gains_no_permissions
    resumed_sub_run_keeps_restrictions_of_any_skill
    sub_runs_share_remaining_budget
    approval_shows_input_changed_by_hook
    bash_ban_covers_all_shell_tools
}

fn untrusted_skill_cannot_raise_effort_or_turns() {
    let world = World::new();
    world.project_skill(
        "evil",
        "context: fork\nmaxTicks: 5000\neffort: max\n",
        "Spend.",
    );
    world.skill(
        "mine",
        "context: fork\nmaxTicks: 50\neffort: max\n",
        "Spend.",
    );
    for (name, turns, effort) in [("evil", MAX_TICKS, None), ("mine", 50, Some(Effort::Max))] {
        let engine = world.engine(Script::of([load(name), says("spent"), says("done")]));
        let id = talk(&engine, "go");
        let started = started(&engine, &children(&engine, &id)[0].id);
        assert_eq!(
            (started.limits.budget.turns, started.effort),
            (Some(turns), effort),
            "{name}"
        );
    }
}

fn untrusted_skill_cannot_start_another() {
    let world = World::new();
    world.project_skill("evil", "context: fork\n", "Start the other.");
    world.skill(
        "maker",
        "context: fork\nallowed-tools: Bash(mkdir:*)\n",
        "Make.",
    );
    let model = Script::of([load("evil"), load("maker"), says("sub"), says("done")]);
    let engine = world.engine(model.clone());
    talk(&engine, "go");
    let told = &results(&model.asked()[2])[0];
    assert!(
        told.contains("skill `evil` is not trusted, so it cannot start"),
        "{told}"
    );
}

fn sub_run_uses_only_listed_skills() {
    let world = World::new();
    world.skill(
        "narrow",
        "context: fork\nallowed-tools: Read Skill(other)\n",
        "Look.",
    );
    world.skill("other", "", "Other.");
    world.skill("inline", "", "Inline.");
    world.skill(
        "maker",
        "context: fork\nallowed-tools: Bash(mkdir:*)\n",
        "Make.",
    );
    let model = Script::of([
        load("narrow"),
        load("maker"),
        load("inline"),
        load("other"),
        says("sub"),
        says("done"),
    ]);
    talk(&world.engine(model.clone()), "go");
    for (at, part) in [
        (2, "may use only its allowed-tools"),
        (3, "may use only its allowed-tools"),
        (4, "Other."),
    ] {
        let told = &results(&model.asked()[at])[0];
        assert!(told.contains(part), "{told}");
    }
}

fn restriction_about_a_skill_applies_to_its_fork() {
    let world = World::new();
    world.skill("careful", "disallowed-tools: Skill(deploy)\n", "Look.");
    world.skill("deploy", "context: fork\n", "Deploy.");
    let model = Script::of([load("careful"), load("deploy"), says("done")]);
    let engine = world.free(model.clone());
    let id = talk(&engine, "go");
    assert_eq!(children(&engine, &id).len(), 0);
    let told = &results(&model.last())[0];
    assert!(told.contains("Skill(deploy)"), "{told}");
}

/// Trust covers exactly the files that were trusted, also while a skill runs.
fn sub_run_loses_its_permissions_when_its_skill_changes() {
    for changes in [false, true] {
        let world = World::new();
        world.skill(
            "maker",
            "context: fork\nallowed-tools: Bash(mkdir:*)\n",
            "Make.",
        );
        let file = world.path("~/.agents/skills/maker/notes.md");
        let model = Script::by(move |at, _| match at {
            0 => load("maker"),
            1 => {
                if changes {
                    std::fs::write(&file, "changed").unwrap();
                }
                bash("mkdir made")
            }
            _ => says("done"),
        });
        talk(&world.engine(model.clone()), "go");
        assert_eq!(world.exists("made"), !changes);
        let told = &results(&model.asked()[2])[0];
        let lapsed = "changed since the run started";
        assert_eq!(told.contains(lapsed), changes, "{told}");
    }
}

fn grants_of_loaded_skill_count_in_mode_allow() {
    let world = World::new();
    world.skill("maker", "allowed-tools: Bash(mkdir:*)\n", "Make.");
    let model = Script::of([
        bash("mkdir early"),
        load("maker"),
        bash("mkdir made"),
        bash("touch other"),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    mode(&mut parts, PermissionMode::Allow);
    talk(&Engine::new(parts).unwrap(), "go");
    let made = ["early", "made", "other"].map(|name| world.exists(name));
    assert_eq!(made, [false, true, false]);
}

fn skill_restrictions_apply_to_sub_runs() {
    // The restriction applies whether the skill is loaded or runs in a sub-run.
    for more in ["", "context: fork\n"] {
        let world = World::new();
        world.skill(
            "careful",
            &format!("{more}disallowed-tools: Bash(mkdir:*)\n"),
            "Look.",
        );
        world.skill(
            "maker",
            "context: fork\nallowed-tools: Bash(mkdir:*)\n",
            "Make.",
        );
        let model = Script::by(|at, _| match at {
            0 => load("careful"),
            1 => load("maker"),
            2 => bash("mkdir made"),
            _ => says("done"),
        });
        talk(&world.engine(model.clone()), "go");
        let told = &results(&model.asked()[3])[0];
        assert!(
            told.contains("Bash(mkdir:*)") && told.contains("careful"),
            "{told}"
        );
        assert!(!world.exists("made"), "{more}");
    }
}

fn caller_restrictions_apply_to_sub_runs() {
    let world = World::new();
    world.skill("outer", "", "Look.");
    world.skill("maker", "context: fork\n", "Make.");
    let model = Script::of([load("maker"), bash("mkdir made"), says("sub"), says("done")]);
    let engine = world.free(model.clone());
    let sub = SubRun {
        tools: Some(vec!["read".into(), "load_skill".into()]),
        ..SubRun::new(SkillRef::Name("outer".into()))
    };
    wait(engine.run_skill(sub, &never())).unwrap();
    assert!(!tools(&model.asked()[1]).contains(&"bash"));
    assert!(!world.exists("made"));
}

fn resumed_sub_run_gains_no_permissions() {
    let world = World::new();
    world.skill("careful", "disallowed-tools: Bash(mkdir:*)\n", "Look.");
    world.skill("maker", "context: fork\n", "Make.");
    let model = Script::by(|at, _| match at {
        0 => load("careful"),
        1 => load("maker"),
        4 => bash("mkdir made"),
        _ => says("done"),
    });
    let engine = world.free(model.clone());
    let id = talk(&engine, "go");
    let child = children(&engine, &id)[0].id.clone();
    wait(async {
        let mut session = Session::resume(&engine, &child, None).await.unwrap();
        session.say("go on", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    let told = results(&model.last());
    assert!(told.last().unwrap().contains("careful"), "{told:?}");
    assert!(!world.exists("made"));
}

/// Skills that only models may load keep their restrictions, and a run does not continue without
/// those of a skill that is gone.
fn resumed_sub_run_keeps_restrictions_of_any_skill() {
    for (more, change, resumes) in [("user-invocable: false\n", false, true), ("", true, false)] {
        let world = World::new();
        let restricted = format!("{more}disallowed-tools: Bash(mkdir:*)\n");
        world.skill("careful", &restricted, "Look.");
        world.skill("maker", &format!("{more}context: fork\n"), "Make.");
        let model = Script::by(|at, _| match at {
            0 => load("careful"),
            1 => load("maker"),
            4 => bash("mkdir made"),
            _ => says("done"),
        });
        let engine = world.free(model.clone());
        let id = talk(&engine, "go");
        let child = children(&engine, &id)[0].id.clone();
        if change {
            world.file(
                "~/.agents/skills/careful/SKILL.md",
                "---\nname: careful\ndescription: Looks.\n---\nLook.\n",
            );
            engine.context().services.registry.refresh();
        }
        wait(async {
            let session = Session::resume(&engine, &child, None).await;
            assert_eq!(session.is_ok(), resumes, "{more}");
            if let Ok(mut session) = session {
                session.say("go on", &never()).await.unwrap();
                session.proceed(&never()).await.unwrap();
            }
        });
        assert!(!world.exists("made"), "{more}");
    }
}

fn sub_runs_share_remaining_budget() {
    let world = World::new();
    world.skill("greedy", "context: fork\n", "Spend.");
    // Each reply costs 110 tokens.
    let model = Script::by(|at, _| match at {
        0 => load("greedy"),
        _ => call("glob", json!({ "pattern": format!("{at}*") })),
    });
    let mut parts = world.parts(model.clone());
    parts.settings.budget = RunBudget {
        tokens: Some(500),
        ..RunBudget::default()
    };
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    assert!(model.asked().len() <= 5, "{} answers", model.asked().len());
}

fn approval_shows_input_changed_by_hook() {
    let world = World::new();
    let hook = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ${CLAUDE_SKILL_DIR}/other.sh\n";
    world.skill("guard", hook, "Guard.");
    world.script(
        "~/.agents/skills/guard/other.sh",
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","updatedInput":{"command":"mkdir other"}}}'"#,
    );
    let (mut parts, person) = asking(
        &world,
        Script::of([load("guard"), bash("mkdir made"), says("done")]),
        ApprovalAnswer::No,
    );
    mode(&mut parts, PermissionMode::Yolo);
    talk(&Engine::new(parts).unwrap(), "go");
    let asked = person.asked();
    assert!(
        asked[0].contains("mkdir other") && !asked[0].contains("mkdir made"),
        "{asked:?}"
    );
}

fn bash_ban_covers_all_shell_tools() {
    let line = |text: &str| {
        call(
            "run_command_line",
            json!({ "reason": "r", "commandLine": text }),
        )
    };
    for ban in ["bash", "Bash", "bash:*"] {
        for act in [bash("mkdir made"), line("mkdir made")] {
            let act: Act = act;
            let world = World::new();
            world.skill("maker", "allowed-tools: Bash(mkdir:*)\n", "Make.");
            let mut parts = world.parts(Script::of([load("maker"), act, says("done")]));
            rule(&mut parts, Effect::Deny, ban);
            talk(&Engine::new(parts).unwrap(), "go");
            let made = ["made", "~/.agents/skills/maker/made"];
            assert!(made.iter().all(|made| !world.exists(made)), "{ban}");
        }
    }
}
