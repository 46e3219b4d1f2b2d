//! Budgets: turns, tokens, money, time.

use std::sync::Arc;

use prowess_agent::{Ending, RunBudget, RunLimit};
use prowess_runtime::{Engine, Pause, Session};

use crate::script::{Act, Script, bash, load, says};
use crate::world::{World, mode, never, wait};

prowess_test::tests! {
    turn_limit_ends_session_and_can_be_raised
    token_limit_ends_session
    cost_limit_ends_session
    time_limit_ends_request
    limit_keeps_last_answer
    sub_runs_count_against_session_budget
    sub_runs_have_their_own_budget
}

fn endless() -> impl Fn(usize, &prowess_agent::Request) -> Act + Send + Sync {
    |at, _| bash(&format!("echo {at}"))
}

fn engine(world: &World, model: Arc<Script>, budget: RunBudget) -> Engine {
    let mut parts = world.parts(model);
    parts.settings.budget = budget;
    mode(&mut parts, prowess_policy::PermissionMode::Yolo);
    Engine::new(parts).unwrap()
}

fn run(engine: &Engine) -> (String, Pause) {
    wait(async {
        let mut session = Session::start(engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        (session.id().to_owned(), pause)
    })
}

fn exhausted(limit: RunLimit) -> Pause {
    Pause::Ended(Ending::Exhausted { limit })
}

fn turn_limit_ends_session_and_can_be_raised() {
    let world = World::new();
    let model = Script::by(endless());
    let engine = engine(&world, model.clone(), RunBudget::turns(3));
    let (id, pause) = run(&engine);
    assert_eq!(
        (pause, model.asked().len()),
        (exhausted(RunLimit::Turns), 3)
    );
    wait(async {
        // Without a higher limit the session does not continue.
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        assert_eq!(
            session.proceed(&never()).await.unwrap(),
            exhausted(RunLimit::Turns)
        );
        drop(session);
        assert_eq!(model.asked().len(), 3);
        let more = Some(RunBudget::turns(5));
        let mut session = Session::resume(&engine, &id, more).await.unwrap();
        assert_eq!(
            session.proceed(&never()).await.unwrap(),
            exhausted(RunLimit::Turns)
        );
        assert_eq!(model.asked().len(), 5);
    });
}

fn token_limit_ends_session() {
    let world = World::new();
    let model = Script::by(endless());
    let budget = RunBudget {
        tokens: Some(300),
        ..RunBudget::default()
    };
    let (_, pause) = run(&engine(&world, model.clone(), budget));
    assert_eq!(
        (pause, model.asked().len()),
        (exhausted(RunLimit::Tokens), 3)
    );
}

fn cost_limit_ends_session() {
    let world = World::new();
    let model = Arc::new(Script::new("script/one", endless()).price(10.0));
    let budget = RunBudget {
        micros: Some(2_000),
        ..RunBudget::default()
    };
    let (_, pause) = run(&engine(&world, model.clone(), budget));
    assert_eq!(
        (pause, model.asked().len()),
        (exhausted(RunLimit::Money), 2)
    );
}

fn time_limit_ends_request() {
    let world = World::new();
    let model = Script::of([Act::Hang]);
    let budget = RunBudget {
        milliseconds: Some(30),
        ..RunBudget::default()
    };
    let (_, pause) = run(&engine(&world, model, budget));
    assert_eq!(pause, exhausted(RunLimit::Time));
}

fn limit_keeps_last_answer() {
    let world = World::new();
    let model = Script::of([says("done")]);
    let (_, pause) = run(&engine(&world, model, RunBudget::turns(1)));
    assert_eq!(pause, Pause::Answered("done".into()));
}

fn sub_runs_count_against_session_budget() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::of([load("look"), says("seen")]);
    let budget = RunBudget {
        tokens: Some(200),
        ..RunBudget::default()
    };
    let (_, pause) = run(&engine(&world, model.clone(), budget));
    assert_eq!(
        (pause, model.asked().len()),
        (exhausted(RunLimit::Tokens), 2)
    );
}

fn sub_runs_have_their_own_budget() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::by(|_, request| {
        let said = crate::script::conversation(request);
        match () {
            () if said.starts_with("Run skill") => {
                bash(&format!("echo {}", request.messages.len()))
            }
            () if said.contains("ended without a result") => says("done"),
            () => load("look"),
        }
    });
    let mut parts = world.parts(model.clone());
    parts.settings.sub_budget = RunBudget {
        tokens: Some(220),
        ..RunBudget::default()
    };
    mode(&mut parts, prowess_policy::PermissionMode::Yolo);
    let (_, pause) = run(&Engine::new(parts).unwrap());
    assert_eq!(pause, Pause::Answered("done".into()));
    assert_eq!(model.asked().len(), 4, "two requests in the sub-run");
}
