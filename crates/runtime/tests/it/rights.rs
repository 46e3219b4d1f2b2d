//! What a hostile skill or a hijacked model tries: more rights, more turns, more money.

use prowess_agent::{Budget, Effort};
use prowess_policy::{Answer, Effect, Mode};
use prowess_runtime::{Engine, MAX_TICKS, Session, SkillRef, SubRun};
use serde_json::json;

use crate::harness::{Tests, tests};
use crate::script::{Act, Script, bash, call, load, results, says, tools};
use crate::talk::{asking, started, talk};
use crate::world::{World, children, mode, never, rule, wait};

pub(crate) const TESTS: Tests = tests! {
    an_untrusted_skill_asks_for_neither_effort_nor_turns
    an_untrusted_skill_starts_no_other
    a_skill_on_its_own_uses_only_the_skills_it_lists
    what_a_skill_takes_away_is_not_there_below_it
    what_a_caller_takes_away_is_not_there_below_it
    a_sub_run_that_is_taken_up_again_has_no_more_than_before
    sub_runs_spend_what_is_left
    a_person_is_asked_about_what_a_hook_made_of_a_call
    a_ban_on_bash_has_no_other_name
};

fn an_untrusted_skill_asks_for_neither_effort_nor_turns() {
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

fn an_untrusted_skill_starts_no_other() {
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
        told.contains("evil is not trusted, so it cannot start"),
        "{told}"
    );
}

fn a_skill_on_its_own_uses_only_the_skills_it_lists() {
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

fn what_a_skill_takes_away_is_not_there_below_it() {
    // Loaded, or itself on its own: both have said no.
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
        assert!(!world.path("project/made").exists(), "{more}");
    }
}

fn what_a_caller_takes_away_is_not_there_below_it() {
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
    assert!(!world.path("project/made").exists());
}

fn a_sub_run_that_is_taken_up_again_has_no_more_than_before() {
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
    assert!(!world.path("project/made").exists());
}

fn sub_runs_spend_what_is_left() {
    let world = World::new();
    world.skill("greedy", "context: fork\n", "Spend.");
    // Each answer costs 110 tokens.
    let model = Script::by(|at, _| match at {
        0 => load("greedy"),
        _ => call("glob", json!({ "pattern": format!("{at}*") })),
    });
    let mut parts = world.parts(model.clone());
    parts.settings.budget = Budget {
        tokens: Some(500),
        ..Budget::default()
    };
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    assert!(model.asked().len() <= 5, "{} answers", model.asked().len());
}

fn a_person_is_asked_about_what_a_hook_made_of_a_call() {
    let world = World::new();
    let hook = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ${CLAUDE_SKILL_DIR}/other.sh\n";
    world.skill("guard", hook, "Guard.");
    world.script(
        "guard/other.sh",
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","updatedInput":{"command":"mkdir other"}}}'"#,
    );
    let (mut parts, person) = asking(
        &world,
        Script::of([load("guard"), bash("mkdir made"), says("done")]),
        Answer::No,
    );
    mode(&mut parts, Mode::Yolo);
    talk(&Engine::new(parts).unwrap(), "go");
    let asked = person.asked();
    assert!(
        asked[0].contains("mkdir other") && !asked[0].contains("mkdir made"),
        "{asked:?}"
    );
}

fn a_ban_on_bash_has_no_other_name() {
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
            let made = ["project/made", "person/.agents/skills/maker/made"];
            assert!(made.iter().all(|made| !world.path(made).exists()), "{ban}");
        }
    }
}
