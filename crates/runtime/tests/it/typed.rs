//! Typed results: `submit`, validation, and the schemas of different callers.

use prowess_agent::{Event, Reply, RunLimit, StopReason};
use prowess_runtime::{Ending, Engine, FinishedRun, RuntimeError, SkillRef, SubRun, Task};
use serde_json::{Value, json};

use crate::script::{Act, Script, bash, call, calls, conversation, results, says, tools};
use crate::world::{Counter, World, events, never, wait};

prowess_test::tests! {
    submit_returns_a_value
    invalid_result_is_reported_and_can_be_corrected
    three_invalid_results_end_run
    missing_submit_is_reminded_once
    refusal_has_a_reason
    real_cause_is_reported
    two_callers_have_two_schemas
    host_tool_cannot_replace_submit
    invalid_schema_is_rejected_before_start
    calls_next_to_submit_are_answered
    task_has_a_typed_result
    mismatched_result_type_is_an_error
    submit_is_always_available
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "sum": { "type": "integer" } },
        "required": ["sum"],
        "additionalProperties": false,
    })
}

fn world() -> World {
    let world = World::new();
    world.skill("sum", "", "Add up.");
    world
}

fn run(engine: &Engine, schema: Value) -> Result<FinishedRun, RuntimeError> {
    let sub = SubRun {
        result: Some(schema),
        ..SubRun::new(SkillRef::Name("sum".into()))
    };
    wait(engine.run_skill(sub, &never()))
}

fn submit(value: Value) -> Act {
    call("submit", value)
}

fn submit_returns_a_value() {
    let world = world();
    let model = Script::of([bash("echo 2"), submit(json!({ "sum": 5 }))]);
    let engine = world.free(model.clone());
    let finished = run(&engine, schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Submitted {
            value: json!({ "sum": 5 })
        }
    );
    let declared = model.asked()[0].clone();
    let tool = declared
        .tools
        .iter()
        .find(|tool| &*tool.name == "submit")
        .unwrap();
    assert_eq!(tool.schema, schema());
    assert!(conversation(&declared).contains("call `submit` with the result"));
    assert_eq!(model.asked().len(), 2, "it ends with the value");
}

/// Agentick 4.3 #10: it treats an invalid value as fatal.
fn invalid_result_is_reported_and_can_be_corrected() {
    let world = world();
    let model = Script::of([
        submit(json!({ "sum": "5", "more": 1 })),
        submit(json!({ "sum": 5 })),
    ]);
    let engine = world.engine(model.clone());
    let finished = run(&engine, schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Submitted {
            value: json!({ "sum": 5 })
        }
    );
    let told = &results(&model.last())[0];
    assert!(
        told.contains("`sum` must be") && told.contains("unknown field `more`"),
        "every violation is listed: {told}"
    );
}

fn three_invalid_results_end_run() {
    let world = world();
    let model = Script::by(|at, _| submit(json!({ "rubbish": at })));
    let finished = run(&world.engine(model.clone()), schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Exhausted {
            limit: RunLimit::Submissions
        }
    );
    assert_eq!(model.asked().len(), 3);
}

fn missing_submit_is_reminded_once() {
    let world = world();
    let model = Script::of([says("It is 5."), submit(json!({ "sum": 5 }))]);
    let finished = run(&world.engine(model.clone()), schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Submitted {
            value: json!({ "sum": 5 })
        }
    );
    assert!(conversation(&model.last()).contains("You have not submitted a result."));
    let model = Script::of([says("It is 5."), says("I said 5.")]);
    let finished = run(&world.engine(model), schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Declined {
            why: "I said 5.".into()
        }
    );
}

fn refusal_has_a_reason() {
    let world = world();
    let refused = Reply {
        stop: StopReason::Refused,
        ..Reply::text("I must not.")
    };
    let model = Script::of([Act::Reply(refused)]);
    let finished = run(&world.engine(model), schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Declined {
            why: "I must not.".into()
        }
    );
}

/// Agentick 4.3 #12: it reports every failure as "did not call submit within max ticks".
fn real_cause_is_reported() {
    use prowess_traits::ModelErrorKind as Kind;
    let world = world();
    for (act, kind) in [
        (Act::Fail(Kind::Auth), "auth"),
        (Act::Fail(Kind::Transport), "transport"),
        (Act::Fail(Kind::Refused), "refused"),
    ] {
        let finished = run(&world.engine(Script::of([act])), schema()).unwrap();
        assert!(
            matches!(&finished.ending, Ending::Failed { kind: found, .. } if *found.as_str() == *kind)
        );
    }
    let endless = Script::by(|at, _| bash(&format!("echo {at}")));
    let finished = run(&world.free(endless), schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Exhausted {
            limit: RunLimit::Turns
        }
    );
}

/// Agentick 4.3 #11: it drops the schema of the second caller.
fn two_callers_have_two_schemas() {
    let world = world();
    let model = Script::by(|_, request| {
        let tool = request
            .tools
            .iter()
            .find(|tool| &*tool.name == "submit")
            .unwrap();
        let wants_text = tool.schema["properties"]["text"].is_object();
        if results(request).is_empty() {
            return bash("echo both are under way");
        }
        submit(if wants_text {
            json!({ "text": "five" })
        } else {
            json!({ "sum": 5 })
        })
    });
    let engine = world.free(model);
    let text = json!({
        "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
    });
    let sub = |schema: Value| SubRun {
        result: Some(schema),
        ..SubRun::new(SkillRef::Name("sum".into()))
    };
    let cancel = never();
    let (one, two) = wait(async {
        tokio::join!(
            engine.run_skill(sub(schema()), &cancel),
            engine.run_skill(sub(text), &cancel)
        )
    });
    assert_eq!(
        one.unwrap().ending,
        Ending::Submitted {
            value: json!({ "sum": 5 })
        }
    );
    assert_eq!(
        two.unwrap().ending,
        Ending::Submitted {
            value: json!({ "text": "five" })
        }
    );
}

/// Agentick 4.3 #9: a tool called `submit` makes every run fail.
fn host_tool_cannot_replace_submit() {
    let world = world();
    let shadow = Counter::new("submit");
    let model = Script::of([submit(json!({ "sum": 5 }))]);
    let mut parts = world.parts(model);
    parts.services.tools.push(shadow.clone());
    let finished = run(&Engine::new(parts).unwrap(), schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Submitted {
            value: json!({ "sum": 5 })
        }
    );
    assert!(shadow.inputs().is_empty());
}

fn invalid_schema_is_rejected_before_start() {
    let world = world();
    let model = Script::of([]);
    let engine = world.engine(model.clone());
    let error = run(&engine, json!({ "type": "nonsense" })).unwrap_err();
    assert!(matches!(error, RuntimeError::Schema(_)), "{error}");
    assert!(crate::world::roots(&engine).is_empty());
}

fn calls_next_to_submit_are_answered() {
    let world = world();
    let count = Counter::new("count");
    let model = Script::of([calls([
        ("submit", json!({ "sum": 5 })),
        ("count", json!({})),
    ])]);
    let mut parts = world.parts(model);
    parts.services.tools.push(count.clone());
    let engine = Engine::new(parts).unwrap();
    let finished = run(&engine, schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Submitted {
            value: json!({ "sum": 5 })
        }
    );
    let answers = events(&engine, &finished.session)
        .into_iter()
        .filter(|event| matches!(event.event, Event::CallEnded { .. }))
        .count();
    assert_eq!(answers, 2, "the record is complete");
}

fn task_has_a_typed_result() {
    let world = world();
    let model = Script::of([
        call("load_skill", json!({ "name": "sum" })),
        submit(json!({ "sum": 5 })),
    ]);
    let engine = world.engine(model.clone());
    let task = Task {
        result: Some(schema()),
        ..Task::new("What is 2 and 3?")
    };
    let finished = wait(engine.run_task(task, &never())).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Submitted {
            value: json!({ "sum": 5 })
        }
    );
    assert!(
        tools(&model.last()).contains(&"list_skills"),
        "a task can find skills by itself"
    );
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Sum {
    sum: i64,
}

fn mismatched_result_type_is_an_error() {
    let world = world();
    let model = Script::of([submit(json!({ "sum": 5 }))]);
    let finished = run(&world.engine(model), schema()).unwrap();
    let outcome = finished
        .ending
        .clone()
        .try_map(serde_json::from_value::<Sum>)
        .unwrap();
    assert_eq!(
        outcome,
        Ending::Submitted {
            value: Sum { sum: 5 }
        }
    );
    assert!(
        finished
            .ending
            .try_map(serde_json::from_value::<Vec<String>>)
            .is_err()
    );
}

fn submit_is_always_available() {
    let world = World::new();
    world.skill(
        "sum",
        "allowed-tools: Read\ndisallowed-tools: submit\n",
        "Add up.",
    );
    let model = Script::of([submit(json!({ "sum": 5 }))]);
    let finished = run(&world.engine(model), schema()).unwrap();
    assert_eq!(
        finished.ending,
        Ending::Submitted {
            value: json!({ "sum": 5 })
        }
    );
}
