//! Sub-runs: skills in a separate conversation.

use std::sync::Arc;

use prowess_agent::{Effort, EndingKind, Event, MessagePart, RunBudget, RunLimit};
use prowess_catalog::Audience;
use prowess_catalog::index::IndexBudget;
use prowess_policy::{Effect, PermissionMode};
use prowess_registry::NewSkill;
use prowess_render::Arguments;
use prowess_runtime::{Ending, Engine, MAX_TICKS, Pause, RuntimeError, Session, SkillRef, SubRun};
use serde_json::{Value, json};

use crate::keys::{Known, another};
use crate::script::{Act, Script, bash, call, calls, conversation, load, results, says, tools};
use crate::talk::talk;
use crate::world::{Counter, World, children, events, mode, never, rule, wait};

prowess_test::tests! {
    sub_run_without_schema_returns_text
    forked_skill_does_not_see_conversation
    user_invokes_forked_skill
    allowed_tools_limit_sub_run
    caller_can_only_remove_tools
    host_tool_is_preferred_to_a_similar_one
    worker_keeps_list_skills_when_resumed
    skill_cannot_start_itself
    case_125_sub_runs_are_nested_three_deep
    max_ticks_ends_sub_run
    caller_budget_overrides_skill_budget
    sub_run_uses_model_and_effort_of_skill
    index_of_sub_run_follows_the_window_of_its_model
    missing_skill_model_falls_back_to_default
    definition_runs_without_registry
    unknown_skill_error_suggests_names
    user_only_skill_is_not_forked_by_model
    deny_rule_applies_to_forked_skill
    deny_rule_about_arguments_applies_to_forked_skill
    background_result_is_reported_when_done
    background_skill_is_awaited_if_disabled
    background_skills_do_not_exceed_a_shared_budget
    sub_run_cost_counts_in_parent
    failed_sub_run_is_reported_and_session_continues
    unrenderable_skill_does_not_run
    case_126_named_arguments_reach_forked_skill
}

fn run(engine: &Engine, sub: SubRun) -> Result<prowess_runtime::FinishedRun, RuntimeError> {
    wait(engine.run_skill(sub, &never()))
}

fn named(name: &str) -> SubRun {
    SubRun::new(SkillRef::Name(name.into()))
}

/// Agentick: free text if no schema is given.
fn sub_run_without_schema_returns_text() {
    let world = World::new();
    world.skill("sum", "", "Add up $ARGUMENTS.");
    let model = Script::of([says("It is 5.")]);
    let engine = world.engine(model.clone());
    let sub = SubRun {
        arguments: Arguments::from_text("2 and 3"),
        ..named("sum")
    };
    let finished = run(&engine, sub).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Submitted {
            value: Value::String("It is 5.".into())
        }
    );
    assert_eq!(
        (finished.text.as_str(), finished.spent.turns),
        ("It is 5.", 1)
    );
    let said = conversation(&model.last());
    assert!(
        said.starts_with("Run skill: sum\n") && said.contains("Add up 2 and 3."),
        "{said}"
    );
    assert!(!tools(&model.last()).contains(&"submit"));
    let last = events(&engine, &finished.session).pop().unwrap();
    assert!(matches!(last.event, Event::Ended { .. }), "{last:?}");
}

/// Agentick 4.3 #7: its sub-executions are messages in the same conversation.
fn forked_skill_does_not_see_conversation() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look at $ARGUMENTS.");
    let model = Script::by(|_, request| {
        let said = conversation(request);
        if said.starts_with("Run skill: look") {
            assert!(
                !said.contains("secret") && said.contains("Look at the house."),
                "{said}"
            );
            return if results(request).is_empty() {
                bash("true")
            } else {
                says("It is red.")
            };
        }
        match results(request).first() {
            None => call(
                "load_skill",
                json!({ "name": "look", "arguments": "the house" }),
            ),
            Some(_) => says("done"),
        }
    });
    let engine = world.free(model.clone());
    let id = talk(&engine, "the secret is 7");
    let report = &results(&model.last())[0];
    assert!(report.contains("It is red.") && report.contains("Skill `look` finished"));
    let above = conversation(&model.last());
    assert!(
        !above.contains("Look at the house.") && !above.contains("Exit code"),
        "{above}"
    );
    let children = children(&engine, &id);
    assert_eq!(children.len(), 1);
    assert_eq!(children[0].ending, Some(EndingKind::Answered));
    let first = events(&engine, &children[0].id).remove(0);
    let Event::Started(started) = first.event else {
        panic!("{first:?}")
    };
    let parent = started.parent.unwrap();
    assert_eq!((&*parent.session, parent.depth), (&*id, 1));
    assert!(parent.call.is_some());
}

fn user_invokes_forked_skill() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look at $ARGUMENTS.");
    let model = Script::of([says("It is red."), says("So it is red.")]);
    let engine = world.engine(model.clone());
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        let spoken = session.say("/look the house", &never()).await.unwrap();
        assert_eq!((spoken.ran, spoken.loaded.len()), (vec!["look".into()], 0));
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("So it is red.".into()));
        // The cost of the sub-run is included.
        assert_eq!(session.spent().usage.tokens(), 220);
        assert_eq!(session.spent().turns, 1);
    });
    assert!(conversation(&model.last()).contains("It is red."));
}

/// Agentick 4.3 #8.
fn allowed_tools_limit_sub_run() {
    let world = World::new();
    world.skill(
        "maker",
        "allowed-tools: Bash(mkdir:*) Read\n",
        "Make folders.",
    );
    let model = Script::of([
        bash("mkdir made"),
        bash("touch other"),
        call("write", json!({ "path": "other", "content": "x" })),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    parts.services.tools.push(Counter::new("count"));
    mode(&mut parts, PermissionMode::Yolo);
    let engine = Engine::new(parts).unwrap();
    run(&engine, named("maker")).unwrap();
    let asked = model.asked();
    assert_eq!(
        tools(&asked[0]),
        ["load_skill_resource", "run_command_line", "read", "bash"],
        "no other tool is declared"
    );
    assert!(world.exists("made"));
    assert!(
        results(&asked[2])[0].contains("was refused"),
        "{:?}",
        results(&asked[2])
    );
    assert!(results(&asked[3])[0].starts_with("Unknown tool: write."));
    assert!(!world.exists("other"));
}

/// A name that a tool of the host has stands for that tool alone.
fn host_tool_is_preferred_to_a_similar_one() {
    let world = World::new();
    world.skill("reader", "allowed-tools: read_file\n", "Read.");
    let declared = |host: Option<&'static str>| {
        let model = Script::of([says("done")]);
        let mut parts = world.parts(model.clone());
        parts
            .services
            .tools
            .extend(host.map(|name| Counter::new(name) as _));
        let engine = Engine::new(parts).unwrap();
        run(&engine, named("reader")).unwrap();
        tools(&model.last())
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<String>>()
    };
    assert_eq!(
        declared(Some("read_file")),
        ["load_skill_resource", "read_file"]
    );
    assert_eq!(declared(None), ["load_skill_resource", "read"]);
}

fn worker_keeps_list_skills_when_resumed() {
    let world = World::new();
    world.skill("lister", "allowed-tools: list_skills\n", "List.");
    let model = Script::by(|_, _| says("done"));
    let engine = world.free(model.clone());
    let finished = run(&engine, named("lister")).unwrap();
    let expected = ["list_skills", "load_skill_resource"];
    assert_eq!(tools(&model.last()), expected);
    wait(async {
        let session = Session::resume(&engine, &finished.session, None).await;
        let mut session = session.unwrap();
        session.say_plainly("again").await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    assert_eq!(tools(&model.last()), expected);
}

fn caller_can_only_remove_tools() {
    let world = World::new();
    world.skill(
        "maker",
        "allowed-tools: Read Bash(mkdir:*)\n",
        "Make folders.",
    );
    let model = Script::by(|_, _| says("done"));
    let engine = world.free(model.clone());
    let sub = SubRun {
        tools: Some(vec!["read".into(), "write".into()]),
        ..named("maker")
    };
    let finished = run(&engine, sub).unwrap();
    assert_eq!(tools(&model.last()), ["load_skill_resource", "read"]);
    // The restriction survives a resume.
    wait(async {
        let mut session = Session::resume(&engine, &finished.session, None)
            .await
            .unwrap();
        session.say_plainly("more").await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
    assert_eq!(model.asked().len(), 2);
    assert_eq!(tools(&model.last()), ["load_skill_resource", "read"]);
}

/// Reference §5.5: a skill that invokes itself does not loop.
fn skill_cannot_start_itself() {
    let world = World::new();
    world.skill("echo", "context: fork\n", "Call yourself.");
    let model = Script::of([load("echo"), says("I cannot")]);
    let engine = world.engine(model.clone());
    let finished = run(&engine, named("echo")).unwrap();
    assert_eq!(finished.text, "I cannot");
    assert!(
        results(&model.last())[0].contains("cannot start itself"),
        "{:?}",
        results(&model.last())
    );
    assert!(children(&engine, &finished.session).is_empty());
}

fn case_125_sub_runs_are_nested_three_deep() {
    let world = World::new();
    for name in ["a", "b", "c", "d"] {
        world.skill(name, "context: fork\n", &format!("I am {name}."));
    }
    let model = Script::by(|_, request| {
        let said = conversation(request);
        if let Some(result) = results(request).first() {
            let end = result.trim_end().chars().rev().take(60).collect::<String>();
            return says(&end.chars().rev().collect::<String>());
        }
        match said.split_whitespace().nth(2) {
            Some("a") => load("b"),
            Some("b") => load("c"),
            Some("c") => load("d"),
            _ => load("a"),
        }
    });
    let engine = world.engine(model.clone());
    let id = talk(&engine, "go deep now");
    let mut depth = 0;
    let mut at = id;
    while let Some(child) = children(&engine, &at).first() {
        depth += 1;
        at = child.id.to_string();
    }
    assert_eq!(depth, 3);
    let last = results(&model.asked()[4]);
    assert!(last[0].contains("4 levels"), "{last:?}");
}

fn max_ticks_ends_sub_run() {
    let world = World::new();
    world
        .skill("long", "maxTicks: 2\n", "Work.")
        .skill("usual", "", "Work.");
    let endless = || Script::by(|at, _| bash(&format!("echo {at}")));
    let model = endless();
    let finished = run(&world.free(model.clone()), named("long")).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Exhausted {
            limit: RunLimit::Turns
        }
    );
    assert_eq!(model.asked().len(), 2);
    let model = endless();
    run(&world.free(model.clone()), named("usual")).unwrap();
    assert_eq!(model.asked().len(), MAX_TICKS as usize);
}

fn caller_budget_overrides_skill_budget() {
    let world = World::new();
    world.skill("long", "maxTicks: 9\n", "Work.");
    let model = Script::by(|at, _| bash(&format!("echo {at}")));
    let sub = SubRun {
        budget: RunBudget::turns(3),
        ..named("long")
    };
    run(&world.free(model.clone()), sub).unwrap();
    assert_eq!(model.asked().len(), 3);
}

fn sub_run_uses_model_and_effort_of_skill() {
    let world = World::new();
    world.skill("deep", "model: script/big\neffort: max\n", "Think.");
    let (small, big) = (Script::of([says("small")]), another("script/big", "big"));
    let mut parts = world.parts(small.clone());
    parts.services.models = Some(Arc::new(Known(vec![big.clone()])));
    let engine = Engine::new(parts).unwrap();
    assert_eq!(run(&engine, named("deep")).unwrap().text, "big");
    assert_eq!(big.last().options.effort, Some(Effort::Max));
    let sub = SubRun {
        model: Some("script/one".into()),
        effort: Some(Effort::Low),
        ..named("deep")
    };
    assert_eq!(run(&engine, sub).unwrap().text, "small");
    assert_eq!(small.last().options.effort, Some(Effort::Low));
    // A model that the caller names must exist.
    let sub = SubRun {
        model: Some("script/none".into()),
        ..named("deep")
    };
    assert!(matches!(
        run(&engine, sub),
        Err(RuntimeError::NoModel { .. })
    ));
}

/// A budget that is a share of the window depends on the model of the run; a fixed one does not.
fn index_of_sub_run_follows_the_window_of_its_model() {
    let world = World::new();
    world.skill("deep", "model: script/big\n", "Think.");
    for number in 0..200 {
        world.skill(&format!("other-{number:03}"), "", "O.");
    }
    let described = |follows: bool| {
        let big = Script::new("script/big", |_, _| says("big")).window(1_000_000);
        let (small, big) = (Script::of([says("small")]), Arc::new(big));
        let mut parts = world.parts(small.clone());
        parts.settings.index = IndexBudget::of_window(128_000, 0.01);
        parts.settings.index_follows_model = follows;
        parts.services.models = Some(Arc::new(Known(vec![big.clone()])));
        let engine = Engine::new(parts).unwrap();
        run(&engine, named("deep")).unwrap();
        let sub = SubRun {
            model: Some("script/one".into()),
            ..named("deep")
        };
        run(&engine, sub).unwrap();
        let count = |model: &Script| {
            let index = model.last().system.join("\n");
            index.matches("Use when asked for other-").count()
        };
        (count(&small), count(&big))
    };
    let (small, big) = described(true);
    assert!(small < 200, "{small}");
    assert_eq!(big, 200);
    let (small, big) = described(false);
    assert!(small < 200, "{small}");
    assert_eq!(big, small);
}

fn missing_skill_model_falls_back_to_default() {
    let world = World::new();
    world.skill("deep", "model: haiku\n", "Think.");
    let finished = run(&world.engine(Script::of([says("small")])), named("deep")).unwrap();
    assert_eq!(finished.text, "small");
}

fn definition_runs_without_registry() {
    let world = World::new();
    world.skill("other", "", "O.");
    let model = Script::of([says("Bonjour")]);
    let skill =
        NewSkill::from_text("---\nname: greet\ndescription: Greets.\n---\nSay hello in $0.");
    let sub = SubRun {
        arguments: Arguments::from_text("French"),
        ..SubRun::new(SkillRef::Definition(Box::new(skill.unwrap())))
    };
    let finished = run(&world.engine(model.clone()), sub).unwrap();
    assert_eq!(finished.text, "Bonjour");
    assert!(conversation(&model.last()).contains("Say hello in French."));
}

fn unknown_skill_error_suggests_names() {
    let world = World::new();
    world.skill("greet", "", "G.");
    let engine = world.engine(Script::of([]));
    let error = run(&engine, named("great")).unwrap_err();
    assert!(
        matches!(error, RuntimeError::Skill(_)) && error.to_string().contains("great"),
        "{error}"
    );
    assert!(
        crate::world::roots(&engine).is_empty(),
        "no session was started"
    );
}

fn user_only_skill_is_not_forked_by_model() {
    let world = World::new();
    world
        .skill(
            "deploy",
            "context: fork\ndisable-model-invocation: true\n",
            "D.",
        )
        .skill("o", "", "O.");
    let model = Script::of([load("deploy"), says("no")]);
    let engine = world.engine(model.clone());
    let id = talk(&engine, "go");
    assert!(results(&model.last())[0].contains("disable-model-invocation"));
    assert!(children(&engine, &id).is_empty());
    let sub = SubRun {
        who: Audience::Model,
        ..named("deploy")
    };
    assert!(run(&engine, sub).is_err());
}

fn deny_rule_applies_to_forked_skill() {
    let world = World::new();
    world
        .skill("look", "context: fork\n", "Look.")
        .skill("o", "", "O.");
    let model = Script::of([load("look"), says("no")]);
    let mut parts = world.parts(model.clone());
    rule(&mut parts, Effect::Deny, "Skill(look)");
    let engine = Engine::new(parts).unwrap();
    let id = talk(&engine, "go");
    assert!(
        results(&model.last())[0].contains("was refused"),
        "{:?}",
        results(&model.last())
    );
    assert!(children(&engine, &id).is_empty());
    let decided = crate::world::decisions(&engine, &id);
    assert!(
        decided
            .iter()
            .any(|one| one.verdict == prowess_agent::RecordedVerdict::Deny && one.call.is_some()),
        "{decided:?}"
    );
}

/// A rule about arguments applies to a fork as it does to a skill that is loaded.
fn deny_rule_about_arguments_applies_to_forked_skill() {
    for (arguments, allowed) in [("prod now", false), ("staging", true)] {
        let world = World::new();
        world.skill("ship", "context: fork\n", "Ship $ARGUMENTS.");
        let input = json!({ "name": "ship", "arguments": arguments });
        let model = Script::of([call("load_skill", input), says("sub"), says("end")]);
        let mut parts = world.parts(model.clone());
        rule(&mut parts, Effect::Deny, "skill:ship/load:prod*");
        let engine = Engine::new(parts).unwrap();
        let id = talk(&engine, "go");
        assert_eq!(
            children(&engine, &id).len(),
            usize::from(allowed),
            "{arguments}"
        );
    }
}

fn background_result_is_reported_when_done() {
    let world = World::new();
    world.skill("look", "context: fork\nbackground: true\n", "Look.");
    let model = Script::by(|_, request| {
        let said = conversation(request);
        match () {
            () if said.starts_with("Run skill") => says("It is red."),
            () if said.contains("It is red.") => says("I know."),
            () if said.contains("is running in the background") => says("I wait."),
            () => load("look"),
        }
    });
    let mut parts = world.parts(model.clone());
    parts.settings.background = true;
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        // It may have finished already; if not, wait for it.
        session.wait_for_background().await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("I know.".into()));
        assert_eq!(session.background(), 0);
        assert!(!session.wait_for_background().await.unwrap());
        let told = events(&engine, session.id())
            .into_iter()
            .find_map(|event| match event.event {
                Event::Noted { usage, .. } => usage,
                _ => None,
            });
        assert_eq!(told.unwrap().tokens(), 110);
    });
}

fn background_skill_is_awaited_if_disabled() {
    let world = World::new();
    world.skill("look", "context: fork\nbackground: true\n", "Look.");
    let model = Script::of([load("look"), says("It is red."), says("done")]);
    let engine = world.engine(model.clone());
    talk(&engine, "go");
    assert!(results(&model.last())[0].contains("It is red."));
}

/// Two background skills are started at once and never finish on their own. Each request costs 110
/// tokens or 110 millionths of a dollar.
fn background_skills_do_not_exceed_a_shared_budget() {
    let limit = Some(1_000);
    let tokens = RunBudget {
        tokens: limit,
        ..RunBudget::default()
    };
    let micros = RunBudget {
        micros: limit,
        ..RunBudget::default()
    };
    for budget in [tokens, micros] {
        let world = World::new();
        for name in ["one", "two"] {
            world.skill(name, "context: fork\nbackground: true\n", "Look.");
        }
        let model = Script::new("script/one", |at, request| {
            if conversation(request).starts_with("Run skill") {
                return call("glob", json!({ "pattern": format!("{at}*") }));
            }
            let load = |name| ("load_skill", json!({ "name": name }));
            calls([load("one"), load("two")])
        });
        let mut parts = world.parts(Arc::new(model.price(1.0)));
        parts.settings.background = true;
        parts.settings.budget = budget;
        let engine = Engine::new(parts).unwrap();
        wait(async {
            let mut session = Session::start(&engine, "t").await.unwrap();
            session.say("go", &never()).await.unwrap();
            let pause = session.proceed(&never()).await.unwrap();
            assert!(
                matches!(pause, Pause::Ended(Ending::Exhausted { .. })),
                "{pause:?}"
            );
            assert_eq!(session.background(), 0);
            // A run ends with the request that reaches the limit.
            let spent = session.spent().usage;
            assert!(spent.tokens() <= 1_000 + 110, "{}", spent.tokens());
            assert_eq!(children(&engine, session.id()).len(), 2);
        });
    }
}

fn sub_run_cost_counts_in_parent() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::of([load("look"), says("It is red."), says("done")]);
    let engine = world.engine(model);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        assert_eq!(session.spent().usage.tokens(), 330);
        assert_eq!(session.spent().turns, 2, "turns are its own");
    });
}

fn failed_sub_run_is_reported_and_session_continues() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::of([
        load("look"),
        Act::Fail(prowess_traits::ModelErrorKind::Refused),
        says("done"),
    ]);
    let engine = world.engine(model.clone());
    let id = talk(&engine, "go");
    let request = model.last();
    let result = request.messages.last().unwrap().results().next().unwrap();
    assert!(
        result.is_error && result.text.contains("It failed:"),
        "{}",
        result.text
    );
    assert_eq!(children(&engine, &id)[0].ending, Some(EndingKind::Failed));
}

fn unrenderable_skill_does_not_run() {
    let world = World::new();
    world.skill("bad", "", "Secret !`exit 7`");
    let model = Script::of([]);
    let engine = world.free(model.clone());
    let error = run(&engine, named("bad")).unwrap_err();
    assert!(matches!(error, RuntimeError::Skill(_)), "{error}");
    assert!(model.asked().is_empty());
    let sessions = crate::world::roots(&engine);
    assert_eq!(
        sessions[0].ending,
        Some(EndingKind::Failed),
        "the record has the ending"
    );
}

/// Reference case 126.
fn case_126_named_arguments_reach_forked_skill() {
    let world = World::new();
    world.skill(
        "mv",
        "context: fork\narguments: [from, to]\n",
        "From $from to $to.",
    );
    let model = Script::of([
        call(
            "load_skill",
            json!({ "name": "mv", "arguments": { "to": "b", "from": "a" } }),
        ),
        says("moved"),
        says("done"),
    ]);
    let engine = world.engine(model.clone());
    talk(&engine, "go");
    let asked = model.asked();
    let first = &asked[1].messages[0].parts[0];
    assert!(
        matches!(first, MessagePart::Text { text, .. } if text.contains("From a to b.")),
        "{first:?}"
    );
}
