//! Skills that run on their own.

use std::sync::Arc;

use prowess_agent::{Budget, Effort, EndingKind, Event, Limit, Part};
use prowess_catalog::Who;
use prowess_policy::{Effect, Mode};
use prowess_registry::NewSkill;
use prowess_render::Arguments;
use prowess_runtime::{Ending, Engine, MAX_TICKS, Pause, RuntimeError, Session, SkillRef, SubRun};
use serde_json::{Value, json};

use crate::harness::{Tests, tests};
use crate::keys::{Known, another};
use crate::script::{Act, Script, bash, call, conversation, load, results, says, tools};
use crate::talk::talk;
use crate::world::{Counter, World, children, events, mode, never, rule, wait};

pub(crate) const TESTS: Tests = tests! {
    a_skill_runs_on_its_own_and_gives_its_text_back
    a_forked_skill_sees_nothing_of_the_conversation
    a_person_calls_for_a_forked_skill
    allowed_tools_are_the_ceiling_of_a_sub_run
    a_caller_takes_tools_away_and_gives_none
    a_skill_cannot_start_itself
    case_125_sub_runs_are_nested_three_deep
    max_ticks_ends_a_sub_run
    a_caller_s_budget_counts_more_than_the_skill_s
    a_sub_run_has_the_model_and_effort_of_its_skill
    a_model_of_a_skill_that_is_not_there_is_no_obstacle
    a_definition_runs_without_a_registry
    an_unknown_skill_is_an_error_with_names
    a_skill_for_people_is_not_forked_by_models
    a_rule_against_a_skill_holds_for_a_fork
    work_in_the_background_is_told_when_it_is_done
    without_background_it_is_waited_for
    what_a_sub_run_costs_counts_above
    a_sub_run_that_fails_is_told_and_the_session_goes_on
    a_skill_that_cannot_be_rendered_does_not_run
    case_126_arguments_by_name_reach_a_fork
};

fn run(engine: &Engine, sub: SubRun) -> Result<prowess_runtime::Finished, RuntimeError> {
    wait(engine.run_skill(sub, &never()))
}

fn named(name: &str) -> SubRun {
    SubRun::new(SkillRef::Name(name.into()))
}

/// Agentick: free text where no schema is given.
fn a_skill_runs_on_its_own_and_gives_its_text_back() {
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

/// Agentick 4.3 #7: there a sub-execution is a message in the same conversation.
fn a_forked_skill_sees_nothing_of_the_conversation() {
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
    assert!(report.contains("It is red.") && report.contains("The skill look ran on its own"));
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

fn a_person_calls_for_a_forked_skill() {
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
        // What it cost is part of the bill.
        assert_eq!(session.spent().usage.tokens(), 220);
        assert_eq!(session.spent().turns, 1);
    });
    assert!(conversation(&model.last()).contains("It is red."));
}

/// Agentick 4.3 #8.
fn allowed_tools_are_the_ceiling_of_a_sub_run() {
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
    mode(&mut parts, Mode::Yolo);
    let engine = Engine::new(parts).unwrap();
    run(&engine, named("maker")).unwrap();
    let asked = model.asked();
    assert_eq!(
        tools(&asked[0]),
        ["load_skill_resource", "run_command_line", "read", "bash"],
        "no other tool is declared"
    );
    assert!(world.path("project/made").exists());
    assert!(
        results(&asked[2])[0].contains("was refused"),
        "{:?}",
        results(&asked[2])
    );
    assert!(results(&asked[3])[0].starts_with("Unknown tool: write."));
    assert!(!world.path("project/other").exists());
}

fn a_caller_takes_tools_away_and_gives_none() {
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
    // And it stays so when it is taken up again.
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

/// Reference §5.5: self re-invocation is no loop.
fn a_skill_cannot_start_itself() {
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
    assert!(last[0].contains("4 deep"), "{last:?}");
}

fn max_ticks_ends_a_sub_run() {
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
            limit: Limit::Turns
        }
    );
    assert_eq!(model.asked().len(), 2);
    let model = endless();
    run(&world.free(model.clone()), named("usual")).unwrap();
    assert_eq!(model.asked().len(), MAX_TICKS as usize);
}

fn a_caller_s_budget_counts_more_than_the_skill_s() {
    let world = World::new();
    world.skill("long", "maxTicks: 9\n", "Work.");
    let model = Script::by(|at, _| bash(&format!("echo {at}")));
    let sub = SubRun {
        budget: Budget::turns(3),
        ..named("long")
    };
    run(&world.free(model.clone()), sub).unwrap();
    assert_eq!(model.asked().len(), 3);
}

fn a_sub_run_has_the_model_and_effort_of_its_skill() {
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
    // A caller that asks for a model that is not there made a mistake, and hears of it.
    let sub = SubRun {
        model: Some("script/none".into()),
        ..named("deep")
    };
    assert!(matches!(
        run(&engine, sub),
        Err(RuntimeError::NoModel { .. })
    ));
}

fn a_model_of_a_skill_that_is_not_there_is_no_obstacle() {
    let world = World::new();
    world.skill("deep", "model: haiku\n", "Think.");
    let finished = run(&world.engine(Script::of([says("small")])), named("deep")).unwrap();
    assert_eq!(finished.text, "small");
}

fn a_definition_runs_without_a_registry() {
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

fn an_unknown_skill_is_an_error_with_names() {
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
        "no session was begun"
    );
}

fn a_skill_for_people_is_not_forked_by_models() {
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
        who: Who::Model,
        ..named("deploy")
    };
    assert!(run(&engine, sub).is_err());
}

fn a_rule_against_a_skill_holds_for_a_fork() {
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

fn work_in_the_background_is_told_when_it_is_done() {
    let world = World::new();
    world.skill("look", "context: fork\nbackground: true\n", "Look.");
    let model = Script::by(|_, request| {
        let said = conversation(request);
        match () {
            () if said.starts_with("Run skill") => says("It is red."),
            () if said.contains("It is red.") => says("I know."),
            () if said.contains("works in the background") => says("I wait."),
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
        // It may be done already; if not, it is waited for.
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

fn without_background_it_is_waited_for() {
    let world = World::new();
    world.skill("look", "context: fork\nbackground: true\n", "Look.");
    let model = Script::of([load("look"), says("It is red."), says("done")]);
    let engine = world.engine(model.clone());
    talk(&engine, "go");
    assert!(results(&model.last())[0].contains("It is red."));
}

fn what_a_sub_run_costs_counts_above() {
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

fn a_sub_run_that_fails_is_told_and_the_session_goes_on() {
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

fn a_skill_that_cannot_be_rendered_does_not_run() {
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
        "the record says so"
    );
}

/// Reference case 126.
fn case_126_arguments_by_name_reach_a_fork() {
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
        matches!(first, Part::Text { text, .. } if text.contains("From a to b.")),
        "{first:?}"
    );
}
