//! Budgets: turns, tokens, money, time.

use std::sync::Arc;

use prowess_agent::{Budget, Ending, Limit};
use prowess_runtime::{Engine, Pause, Session};

use crate::harness::{Tests, tests};
use crate::script::{Act, Script, bash, load, says};
use crate::world::{World, mode, never, wait};

pub(crate) const TESTS: Tests = tests! {
    turns_end_a_session_and_more_can_be_given
    tokens_end_a_session
    money_ends_a_session
    time_ends_a_question
    a_limit_does_not_take_the_last_answer_away
    sub_runs_count_in_the_budget_of_the_session
    sub_runs_have_a_budget_of_their_own
};

fn endless() -> impl Fn(usize, &prowess_agent::Request) -> Act + Send + Sync {
    |at, _| bash(&format!("echo {at}"))
}

fn engine(world: &World, model: Arc<Script>, budget: Budget) -> Engine {
    let mut parts = world.parts(model);
    parts.settings.budget = budget;
    mode(&mut parts, prowess_policy::Mode::Yolo);
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

fn exhausted(limit: Limit) -> Pause {
    Pause::Ended(Ending::Exhausted { limit })
}

fn turns_end_a_session_and_more_can_be_given() {
    let world = World::new();
    let model = Script::by(endless());
    let engine = engine(&world, model.clone(), Budget::turns(3));
    let (id, pause) = run(&engine);
    assert_eq!((pause, model.asked().len()), (exhausted(Limit::Turns), 3));
    wait(async {
        // Without more nothing happens.
        let mut session = Session::resume(&engine, &id, None).await.unwrap();
        assert_eq!(
            session.proceed(&never()).await.unwrap(),
            exhausted(Limit::Turns)
        );
        drop(session);
        assert_eq!(model.asked().len(), 3);
        let more = Some(Budget::turns(5));
        let mut session = Session::resume(&engine, &id, more).await.unwrap();
        assert_eq!(
            session.proceed(&never()).await.unwrap(),
            exhausted(Limit::Turns)
        );
        assert_eq!(model.asked().len(), 5);
    });
}

fn tokens_end_a_session() {
    let world = World::new();
    let model = Script::by(endless());
    let budget = Budget {
        tokens: Some(300),
        ..Budget::default()
    };
    let (_, pause) = run(&engine(&world, model.clone(), budget));
    assert_eq!((pause, model.asked().len()), (exhausted(Limit::Tokens), 3));
}

fn money_ends_a_session() {
    let world = World::new();
    let model = Arc::new(Script::new("script/one", endless()).price(10.0));
    let budget = Budget {
        micros: Some(2_000),
        ..Budget::default()
    };
    let (_, pause) = run(&engine(&world, model.clone(), budget));
    assert_eq!((pause, model.asked().len()), (exhausted(Limit::Money), 2));
}

fn time_ends_a_question() {
    let world = World::new();
    let model = Script::of([Act::Hang]);
    let budget = Budget {
        milliseconds: Some(30),
        ..Budget::default()
    };
    let (_, pause) = run(&engine(&world, model, budget));
    assert_eq!(pause, exhausted(Limit::Time));
}

fn a_limit_does_not_take_the_last_answer_away() {
    let world = World::new();
    let model = Script::of([says("done")]);
    let (_, pause) = run(&engine(&world, model, Budget::turns(1)));
    assert_eq!(pause, Pause::Answered("done".into()));
}

fn sub_runs_count_in_the_budget_of_the_session() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look.");
    let model = Script::of([load("look"), says("seen")]);
    let budget = Budget {
        tokens: Some(200),
        ..Budget::default()
    };
    let (_, pause) = run(&engine(&world, model.clone(), budget));
    assert_eq!((pause, model.asked().len()), (exhausted(Limit::Tokens), 2));
}

fn sub_runs_have_a_budget_of_their_own() {
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
    parts.settings.sub_budget = Budget {
        tokens: Some(220),
        ..Budget::default()
    };
    mode(&mut parts, prowess_policy::Mode::Yolo);
    let (_, pause) = run(&Engine::new(parts).unwrap());
    assert_eq!(pause, Pause::Answered("done".into()));
    assert_eq!(model.asked().len(), 4, "two of its own");
}
