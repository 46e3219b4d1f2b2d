use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::event::{ConversationLimits, RunLimits, Started};
use crate::usage::{RunBudget, TokenUsage};

fn started(limits: RunLimits, result: Option<Value>) -> Event {
    Event::Started(Box::new(Started {
        version: VERSION,
        title: "test".to_owned(),
        project: "/project".into(),
        model: "scripted/test".into(),
        system: vec![
            "Work.".to_owned(),
            "## Skills\n\n- **pdf** — Reads PDF files.".to_owned(),
        ],
        limits,
        effort: None,
        parent: None,
        skill: None,
        arguments: None,
        result,
        tools: None,
        agents: Vec::new(),
        agent: None,
        mission: None,
    }))
}

fn begun(limits: RunLimits, result: Option<Value>) -> Run {
    let mut run = Run::default();
    run.apply(&started(limits, result)).unwrap();
    run
}

fn say(run: &mut Run, text: &str) {
    let event = Event::Said {
        parts: vec![MessagePart::text(text)],
        typed: None,
        loaded: Vec::new(),
        usage: None,
    };
    run.apply(&event).unwrap();
}

fn reply(run: &mut Run, parts: Vec<MessagePart>) {
    let reply = run.admit(Reply {
        parts,
        ..Reply::default()
    });
    run.apply(&Event::Replied {
        reply,
        milliseconds: 10,
    })
    .unwrap();
}

fn call(id: &str, name: &str, input: Value) -> MessagePart {
    MessagePart::Call(ToolCall::new(id, name, input))
}

fn answer(run: &mut Run, id: &str, text: &str) {
    let open = run
        .open_calls()
        .into_iter()
        .find(|open| *open.call.id == *id)
        .unwrap();
    run.apply(&Event::answer(ToolResult::of(&open.call, text)))
        .unwrap();
}

fn loaded(run: &mut Run, id: &str, name: &str, text: &str) {
    let open = run
        .open_calls()
        .into_iter()
        .find(|open| *open.call.id == *id)
        .unwrap();
    let result = ToolResult {
        keep: Some(name.into()),
        ..ToolResult::of(&open.call, text)
    };
    let skill = ActiveSkill {
        name: name.into(),
        version: None,
        digest: "d".into(),
        rendering: "r".into(),
        by_user: false,
    };
    run.apply(&Event::CallEnded {
        result,
        loaded: vec![skill],
        unloaded: Vec::new(),
        submitted: None,
        usage: None,
        milliseconds: 1,
    })
    .unwrap();
}

fn question(run: &mut Run, id: &str, call: Option<&str>, digest: &str) {
    let question = Question {
        id: id.into(),
        call: call.map(Into::into),
        digest: digest.into(),
        what: "mkdir made".into(),
        reason: "no rule allows it".into(),
        skill: None,
        agent: None,
        kind: crate::QuestionKind::Approval,
    };
    run.apply(&Event::Questioned(Box::new(question))).unwrap();
}

fn begin_call(run: &mut Run, call: &str) {
    let event = Event::CallStarted {
        call: call.into(),
        read_only: false,
        child: None,
    };
    run.apply(&event).unwrap();
}

fn answer_question(run: &mut Run, id: &str, answer: RecordedAnswer, who: &str) {
    let event = Event::Answered {
        question: id.into(),
        answer,
        because: None,
        who: who.into(),
    };
    run.apply(&event).unwrap();
}

fn states(run: &Run) -> Vec<CallState> {
    run.open_calls().iter().map(|open| open.state).collect()
}

#[test]
fn question_makes_a_started_call_new_again() {
    let mut run = begun(RunLimits::default(), None);
    say(&mut run, "go");
    reply(
        &mut run,
        vec![call("c1", "bash", json!({})), call("c2", "bash", json!({}))],
    );
    begin_call(&mut run, "c1");
    begin_call(&mut run, "c2");
    let interrupted = CallState::Interrupted { read_only: false };
    question(&mut run, "q1", Some("c1"), "d1");
    assert_eq!(states(&run), [CallState::New, interrupted]);
    assert_eq!(run.questions().len(), 1);
    answer_question(&mut run, "q1", RecordedAnswer::Once, "ada");
    answer_question(&mut run, "q1", RecordedAnswer::No, "bob");
    assert_eq!(states(&run)[0], CallState::New, "it is judged again");
    let first = run.questions()[0].answer.clone().unwrap();
    assert_eq!((first.answer, &*first.who), (RecordedAnswer::Once, "ada"));
    begin_call(&mut run, "c1");
    assert_eq!(states(&run)[0], interrupted);
    answer(&mut run, "c1", "done");
    assert!(run.questions().is_empty(), "the call ended");
    let unknown = Question {
        call: Some("c1".into()),
        ..first_question()
    };
    let refused = run.check(&Event::Questioned(Box::new(unknown)));
    assert_eq!(refused, Err(FoldError::NoSuchCall { call: "c1".into() }));
}

fn first_question() -> Question {
    let mut run = begun(RunLimits::default(), None);
    question(&mut run, "q0", None, "d0");
    run.questions()[0].question.clone()
}

#[test]
fn changed_question_replaces_the_open_one() {
    let mut run = begun(RunLimits::default(), None);
    say(&mut run, "go");
    reply(&mut run, vec![call("c1", "bash", json!({}))]);
    question(&mut run, "q1", Some("c1"), "d1");
    answer_question(&mut run, "q1", RecordedAnswer::Once, "ada");
    question(&mut run, "q2", Some("c1"), "d2");
    question(&mut run, "q3", Some("c1"), "d3");
    let ids: Vec<&str> = run
        .questions()
        .iter()
        .map(|asked| &*asked.question.id)
        .collect();
    assert_eq!(
        (ids, run.asked()),
        (vec!["q1", "q3"], 3),
        "answered questions are kept"
    );
}

#[test]
fn waiting_run_continues_with_its_open_calls() {
    let mut run = begun(RunLimits::default(), None);
    say(&mut run, "go");
    reply(&mut run, vec![call("c1", "bash", json!({}))]);
    question(&mut run, "q1", Some("c1"), "d1");
    let ending = Ending::Waiting {
        questions: vec!["q1".into()],
    };
    run.apply(&Event::Ended {
        ending: ending.clone(),
    })
    .unwrap();
    assert_eq!(run.next(), RunStep::Done(ending));
    let resumed = Event::Resumed {
        budget: None,
        unloaded: Vec::new(),
    };
    run.apply(&resumed).unwrap();
    assert!(matches!(run.next(), RunStep::CallTools(calls) if calls.len() == 1));
    assert_eq!(run.questions().len(), 1, "it is still open");
    // It is judged again, finds the same open question, and waits again.
    begin_call(&mut run, "c1");
    let ending = Ending::Waiting {
        questions: vec!["q1".into()],
    };
    run.apply(&Event::Ended { ending }).unwrap();
    assert_eq!(states(&run), [CallState::New]);
    run.apply(&Event::Ended {
        ending: Ending::Cancelled,
    })
    .unwrap();
    assert!(run.questions().is_empty(), "no answer is expected any more");
}

#[test]
fn question_during_activation_lets_it_start_again() {
    let Event::Started(mut first) = started(RunLimits::default(), None) else {
        unreachable!()
    };
    first.skill = Some("deploy".into());
    let mut run = Run::default();
    run.apply(&Event::Started(first)).unwrap();
    let activation = Event::ActivationStarted {
        skill: "deploy".into(),
        digest: "d".into(),
        arguments: None,
    };
    run.apply(&activation).unwrap();
    question(&mut run, "q1", None, "d1");
    assert_eq!(run.next(), RunStep::Activate);
    answer_question(&mut run, "q1", RecordedAnswer::Once, "ada");
    assert_eq!(run.next(), RunStep::Activate);
    run.apply(&activation).unwrap();
    assert!(matches!(run.next(), RunStep::End(Ending::Failed { .. })));
}

/// Checks that each call has its result in the next message and that roles alternate.
fn check_valid(run: &Run) {
    let request = run.request(Vec::new(), RequestOptions::default());
    let messages = &request.messages;
    assert_eq!(
        messages.first().map(|first| first.role),
        Some(MessageRole::User)
    );
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            assert_ne!(message.role, messages[at - 1].role, "roles alternate");
        }
        assert!(!message.parts.is_empty(), "providers reject empty messages");
        let calls: Vec<&str> = message.calls().map(|call| &*call.id).collect();
        if !calls.is_empty() {
            let answered: Vec<&str> = messages[at + 1]
                .results()
                .map(|result| &*result.call)
                .collect();
            assert_eq!(calls, answered, "in the order of the calls");
        }
        let results = message.results().count();
        assert!(results == 0 || messages[at - 1].calls().count() == results);
        let first_other = message
            .parts
            .iter()
            .position(|part| !matches!(part, MessagePart::Result(_)))
            .unwrap_or(results);
        assert!(first_other >= results, "results come before other parts");
    }
}

/// A call that fills the window by itself cannot be removed, since it belongs to its result.
/// Compacting what precedes it repeatedly would never end and cost a request each time.
#[test]
fn oversized_call_is_compacted_once() {
    let mut run = Run::default();
    let input = json!({ "content": "x".repeat(100_000) });
    let call = ToolCall {
        id: "c".into(),
        name: "write".into(),
        input,
        fault: None,
        opaque: None,
    };
    let result = ToolResult::of(&call, "written");
    let reply = Reply {
        parts: vec![MessagePart::Call(call)],
        ..Reply::default()
    };
    for event in [
        started(
            RunLimits {
                window: 8_000,
                ..RunLimits::default()
            },
            None,
        ),
        Event::Said {
            parts: vec![MessagePart::text("go")],
            typed: None,
            loaded: vec![],
            usage: None,
        },
        Event::Replied {
            reply,
            milliseconds: 0,
        },
        Event::answer(result),
    ] {
        run.apply(&event).unwrap();
    }
    let mut asked = 0;
    while let RunStep::Compact(plan) = run.next() {
        asked += 1;
        assert!(asked < 3, "compaction repeats");
        run.apply(&plan.event(Some(&"long ".repeat(100_000)), TokenUsage::default()))
            .unwrap();
    }
    assert_eq!(run.next(), RunStep::AskModel);
    assert!(
        run.messages()[0].text().len() < 30_000,
        "the summary is bounded"
    );
}

#[test]
fn excess_calls_are_dropped() {
    let call = |at: usize| {
        MessagePart::Call(ToolCall {
            id: format!("c{at}").into(),
            name: "look".into(),
            input: Value::Null,
            fault: None,
            opaque: None,
        })
    };
    let parts = std::iter::once(MessagePart::text("I look."))
        .chain((0..100_000).map(call))
        .collect();
    let reply = Run::default().admit(Reply {
        parts,
        ..Reply::default()
    });
    assert_eq!(
        (reply.parts.len(), reply.calls().count()),
        (MAX_CALLS + 1, MAX_CALLS)
    );
}

#[test]
fn conversation_alternates_roles() {
    let mut run = begun(RunLimits::default(), None);
    assert_eq!(run.next(), RunStep::Wait);
    say(&mut run, "hello");
    assert_eq!(run.next(), RunStep::AskModel);
    reply(
        &mut run,
        vec![
            call("a", "read", json!({"path": "x"})),
            call("b", "read", json!({"path": "y"})),
        ],
    );
    let RunStep::CallTools(calls) = run.next() else {
        panic!("{:?}", run.next())
    };
    assert_eq!(calls.len(), 2);
    // The second call ends first; results are sent in the order of the calls.
    answer(&mut run, "b", "two");
    assert!(matches!(run.next(), RunStep::CallTools(calls) if calls.len() == 1));
    answer(&mut run, "a", "one");
    assert_eq!(run.next(), RunStep::AskModel);
    check_valid(&run);
    let texts: Vec<&str> = run.messages()[2]
        .results()
        .map(|result| &*result.text)
        .collect();
    assert_eq!(texts, ["one", "two"]);
    reply(&mut run, vec![MessagePart::text("done")]);
    assert_eq!(run.next(), RunStep::Wait);
    assert_eq!(run.answer(), "done");
    assert_eq!((run.spent().turns, run.spent().milliseconds), (2, 20));
}

#[test]
fn session_equals_fold_of_its_events_at_every_point() {
    let mut events = vec![started(RunLimits::default(), None)];
    events.push(Event::Said {
        parts: vec![MessagePart::text("go")],
        typed: None,
        loaded: Vec::new(),
        usage: None,
    });
    events.push(Event::Replied {
        reply: Reply {
            parts: vec![call("a", "bash", json!({"command": "make"}))],
            ..Reply::default()
        },
        milliseconds: 5,
    });
    events.push(Event::CallStarted {
        call: "a".into(),
        read_only: false,
        child: None,
    });
    let stamped: Vec<StampedEvent> = events
        .iter()
        .cloned()
        .map(|event| StampedEvent { at: 7, event })
        .collect();
    // Stored events read back to the same run.
    for until in 1..=stamped.len() {
        let text: Vec<String> = stamped[..until]
            .iter()
            .map(|event| serde_json::to_string(event).unwrap())
            .collect();
        let read: Vec<StampedEvent> = text
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(read, stamped[..until]);
        let run = Run::replay(&read).unwrap();
        match until {
            1 => assert_eq!(run.next(), RunStep::Wait),
            2 => assert_eq!(run.next(), RunStep::AskModel),
            3 => assert!(
                matches!(&run.next(), RunStep::CallTools(calls) if calls[0].state == CallState::New)
            ),
            _ => assert!(matches!(
                &run.next(),
                RunStep::CallTools(calls) if calls[0].state == CallState::Interrupted { read_only: false }
            )),
        }
    }
}

#[test]
fn rejected_event_changes_nothing() {
    let mut run = begun(RunLimits::default(), None);
    say(&mut run, "go");
    reply(
        &mut run,
        vec![call("a", "read", json!({})), call("b", "read", json!({}))],
    );
    answer(&mut run, "a", "done");
    let before = format!("{run:?}");
    let twice = ToolResult::of(&ToolCall::new("a", "read", json!({})), "again");
    for event in [
        Event::note("in between"),
        Event::answer(twice),
        Event::CallStarted {
            call: "c".into(),
            read_only: true,
            child: None,
        },
        Event::Replied {
            reply: Reply::text("early"),
            milliseconds: 5,
        },
        Event::Pruned { before: 7 },
    ] {
        let fault = run.check(&event).unwrap_err();
        assert_eq!(run.apply(&event), Err(fault), "{event:?}");
        assert_eq!(format!("{run:?}"), before, "{event:?}");
    }
}

#[test]
fn new_message_resets_loop_detection() {
    let limits = RunLimits {
        repeats: 2,
        ..RunLimits::default()
    };
    let mut run = begun(limits, None);
    say(&mut run, "go");
    for id in ["a", "b"] {
        reply(&mut run, vec![call(id, "read", json!({}))]);
        answer(&mut run, id, "same");
    }
    assert_eq!(
        run.next(),
        RunStep::End(Ending::Exhausted {
            limit: RunLimit::Loop
        })
    );
    say(&mut run, "something else");
    assert_eq!(run.next(), RunStep::AskModel);
}

#[test]
fn invalid_event_sequences_are_rejected() {
    assert_eq!(Run::replay(&[]).unwrap_err(), FoldError::Beginning);
    let mut run = Run::default();
    assert_eq!(run.apply(&Event::note("x")), Err(FoldError::Beginning));
    run.apply(&started(RunLimits::default(), None)).unwrap();
    assert_eq!(
        run.apply(&started(RunLimits::default(), None)),
        Err(FoldError::Beginning)
    );
    let unknown = ToolCall::new("ghost", "read", json!({}));
    let fault = run.apply(&Event::answer(ToolResult::of(&unknown, "x")));
    assert_eq!(
        fault,
        Err(FoldError::NoSuchCall {
            call: "ghost".into()
        })
    );
    say(&mut run, "go");
    reply(&mut run, vec![call("a", "read", json!({}))]);
    let said = Event::Said {
        parts: vec![MessagePart::text("stop")],
        typed: None,
        loaded: Vec::new(),
        usage: None,
    };
    assert_eq!(
        run.apply(&said),
        Err(FoldError::OpenCall { call: "a".into() })
    );
    let gone = Event::Pruned { before: 99 };
    assert_eq!(run.apply(&gone), Err(FoldError::NoSuchMessage { at: 99 }));
    let Event::Started(mut newer) = started(RunLimits::default(), None) else {
        unreachable!()
    };
    newer.version = 99;
    assert_eq!(
        Run::default().apply(&Event::Started(newer)),
        Err(FoldError::Newer { found: 99 })
    );
}

#[test]
fn repeated_and_missing_call_ids_become_unique() {
    let mut run = begun(RunLimits::default(), None);
    say(&mut run, "go");
    reply(
        &mut run,
        vec![
            call("x", "a", json!({})),
            call("x", "b", json!({})),
            call("", "c", json!({})),
        ],
    );
    let ids: Vec<Box<str>> = run
        .open_calls()
        .into_iter()
        .map(|open| open.call.id)
        .collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(&*ids[0], "x");
    assert!(
        ids[1] != ids[0] && ids[2] != ids[1] && !ids[2].is_empty(),
        "{ids:?}"
    );
    for id in &ids {
        answer(&mut run, id, "ok");
    }
    // The next turn uses `x` again.
    reply(&mut run, vec![call("x", "a", json!({}))]);
    assert_ne!(run.open_calls()[0].call.id, ids[0]);
    let id = run.open_calls()[0].call.id.clone();
    answer(&mut run, &id, "ok");
    check_valid(&run);
}

#[test]
fn calls_beyond_the_limit_are_rejected() {
    let mut run = begun(
        RunLimits {
            calls: 2,
            ..RunLimits::default()
        },
        None,
    );
    say(&mut run, "go");
    let many = (0..100)
        .map(|at| call(&format!("c{at}"), "read", json!({"at": at})))
        .collect();
    reply(&mut run, many);
    let RunStep::CallTools(calls) = run.next() else {
        panic!()
    };
    let states: Vec<CallState> = calls.iter().map(|open| open.state).collect();
    assert_eq!(states[..2], [CallState::New, CallState::New]);
    assert!(states[2..].iter().all(|state| *state == CallState::TooMany));
}

#[test]
fn budget_ends_run_before_next_request() {
    let check = |budget: RunBudget, expected: RunLimit| {
        let mut run = begun(
            RunLimits {
                budget,
                ..RunLimits::default()
            },
            None,
        );
        say(&mut run, "go");
        assert_eq!(run.next(), RunStep::AskModel);
        let usage = TokenUsage {
            input: 900,
            output: 100,
            micros: Some(500),
            ..TokenUsage::default()
        };
        let parts = vec![call("a", "read", json!({}))];
        run.apply(&Event::Replied {
            reply: Reply {
                parts,
                usage,
                ..Reply::default()
            },
            milliseconds: 3_000,
        })
        .unwrap();
        // The open call still gets its result before the run ends.
        answer(&mut run, "a", "ok");
        assert_eq!(
            run.next(),
            RunStep::End(Ending::Exhausted { limit: expected })
        );
    };
    check(RunBudget::turns(1), RunLimit::Turns);
    check(
        RunBudget {
            tokens: Some(1_000),
            ..RunBudget::default()
        },
        RunLimit::Tokens,
    );
    check(
        RunBudget {
            micros: Some(500),
            ..RunBudget::default()
        },
        RunLimit::Money,
    );
    check(
        RunBudget {
            milliseconds: Some(3_000),
            ..RunBudget::default()
        },
        RunLimit::Time,
    );
}

#[test]
fn larger_budget_continues_exhausted_run() {
    let mut run = begun(
        RunLimits {
            budget: RunBudget::turns(1),
            ..RunLimits::default()
        },
        None,
    );
    say(&mut run, "go");
    reply(&mut run, vec![call("a", "read", json!({}))]);
    answer(&mut run, "a", "ok");
    let ending = Ending::Exhausted {
        limit: RunLimit::Turns,
    };
    run.apply(&Event::Ended {
        ending: ending.clone(),
    })
    .unwrap();
    assert_eq!(run.next(), RunStep::Done(ending));
    run.apply(&Event::Resumed {
        budget: Some(RunBudget::turns(5)),
        unloaded: Vec::new(),
    })
    .unwrap();
    assert_eq!(run.next(), RunStep::AskModel);
}

#[test]
fn repeated_call_is_noted_then_ends_run() {
    let mut run = begun(
        RunLimits {
            repeats: 5,
            ..RunLimits::default()
        },
        None,
    );
    say(&mut run, "go");
    for turn in 1..=5 {
        assert_eq!(run.next(), RunStep::AskModel, "turn {turn}");
        reply(&mut run, vec![call("", "read", json!({"path": "x"}))]);
        let id = run.open_calls()[0].call.id.clone();
        answer(&mut run, &id, "no such file");
        let told = run
            .messages()
            .last()
            .unwrap()
            .results()
            .last()
            .unwrap()
            .text
            .contains("in a row");
        assert_eq!(told, turn >= 3, "turn {turn}");
    }
    assert_eq!(
        run.next(),
        RunStep::End(Ending::Exhausted {
            limit: RunLimit::Loop
        })
    );

    // Another result, or another call, resets the count.
    let mut run = begun(
        RunLimits {
            repeats: 3,
            ..RunLimits::default()
        },
        None,
    );
    say(&mut run, "go");
    for turn in 0..10 {
        reply(&mut run, vec![call("", "read", json!({"path": "x"}))]);
        let id = run.open_calls()[0].call.id.clone();
        answer(&mut run, &id, &format!("line {turn}"));
    }
    assert_eq!(run.next(), RunStep::AskModel);
}

fn submit(run: &mut Run, value: Value, fits: bool) {
    reply(run, vec![call("", "submit", value.clone())]);
    let open = run.open_calls()[0].clone();
    let result = if fits {
        ToolResult::of(&open.call, "Submitted.")
    } else {
        ToolResult::error(&open.call, "Wrong input for submit: `total` is missing.")
    };
    run.apply(&Event::CallEnded {
        result,
        loaded: Vec::new(),
        unloaded: Vec::new(),
        submitted: fits.then_some(value),
        usage: None,
        milliseconds: 0,
    })
    .unwrap();
}

#[test]
fn valid_result_ends_run() {
    let mut run = begun(RunLimits::default(), Some(json!({"type": "object"})));
    say(&mut run, "go");
    submit(&mut run, json!({"total": 5}), true);
    assert_eq!(
        run.next(),
        RunStep::End(Ending::Submitted {
            value: json!({"total": 5})
        })
    );
}

#[test]
fn invalid_results_are_limited() {
    let mut run = begun(
        RunLimits {
            submissions: 3,
            ..RunLimits::default()
        },
        Some(json!({})),
    );
    say(&mut run, "go");
    for at in 0..3 {
        assert_eq!(run.next(), RunStep::AskModel, "{at}");
        submit(&mut run, json!({"at": at}), false);
    }
    assert_eq!(
        run.next(),
        RunStep::End(Ending::Exhausted {
            limit: RunLimit::Submissions
        })
    );

    // A valid result after an invalid one is accepted.
    let mut run = begun(
        RunLimits {
            submissions: 3,
            ..RunLimits::default()
        },
        Some(json!({})),
    );
    say(&mut run, "go");
    submit(&mut run, json!({}), false);
    submit(&mut run, json!({"total": 1}), true);
    assert_eq!(
        run.next(),
        RunStep::End(Ending::Submitted {
            value: json!({"total": 1})
        })
    );
}

#[test]
fn model_is_reminded_once_to_submit() {
    let mut run = begun(RunLimits::default(), Some(json!({})));
    say(&mut run, "go");
    reply(&mut run, vec![MessagePart::text("I am done.")]);
    let RunStep::Remind(text) = run.next() else {
        panic!("{:?}", run.next())
    };
    assert!(text.contains("submit"));
    run.apply(&Event::note(text)).unwrap();
    assert_eq!(run.next(), RunStep::AskModel);
    reply(
        &mut run,
        vec![MessagePart::text("I cannot: there is no invoice.")],
    );
    let why = "I cannot: there is no invoice.".to_owned();
    assert_eq!(run.next(), RunStep::End(Ending::Declined { why }));
}

#[test]
fn truncated_reply_is_continued_twice() {
    let mut run = begun(RunLimits::default(), None);
    say(&mut run, "go");
    for turn in 0..3 {
        let cut = Reply {
            parts: vec![MessagePart::text("and")],
            stop: StopReason::MaxTokens,
            ..Reply::default()
        };
        run.apply(&Event::Replied {
            reply: cut,
            milliseconds: 0,
        })
        .unwrap();
        match run.next() {
            RunStep::Remind(text) if turn < 2 => run.apply(&Event::note(text)).unwrap(),
            RunStep::Wait if turn == 2 => {}
            step => panic!("turn {turn}: {step:?}"),
        }
    }
}

#[test]
fn refusal_is_not_retried() {
    let mut run = begun(RunLimits::default(), Some(json!({})));
    say(&mut run, "go");
    let refused = Reply {
        stop: StopReason::Refused,
        ..Reply::default()
    };
    run.apply(&Event::Replied {
        reply: refused,
        milliseconds: 0,
    })
    .unwrap();
    assert!(matches!(run.next(), RunStep::End(Ending::Declined { .. })));
    check_valid(&run);
}

/// Creates a run that loads a skill early and then works for many turns.
fn long(turns: usize, bytes: usize, window: u64) -> Run {
    let mut run = begun(
        RunLimits {
            window,
            ..RunLimits::default()
        },
        None,
    );
    say(&mut run, "Fill in the forms in inbox/.");
    reply(
        &mut run,
        vec![call("l", "load_skill", json!({"name": "pdf"}))],
    );
    loaded(
        &mut run,
        "l",
        "pdf",
        "Base directory for this skill: /skills/pdf\n\nUse pdftk.",
    );
    for turn in 0..turns {
        let id = format!("c{turn}");
        reply(
            &mut run,
            vec![
                MessagePart::text("next"),
                call(&id, "bash", json!({"at": turn})),
            ],
        );
        answer(&mut run, &id, &"x".repeat(bytes));
    }
    run
}

#[test]
fn pruning_removes_old_results_and_keeps_skills() {
    let mut run = long(10, 20_000, 60_000);
    let RunStep::Prune { before } = run.next() else {
        panic!("{:?}", run.next())
    };
    let tokens = run.tokens();
    run.apply(&Event::Pruned { before }).unwrap();
    assert!(run.tokens() < tokens / 2, "{} of {tokens}", run.tokens());
    check_valid(&run);
    let all = format!("{:?}", run.messages());
    assert!(all.contains("Use pdftk."), "the skill is kept");
    assert!(all.contains("bytes removed to save space; call bash again"));
    let last = run
        .messages()
        .last()
        .unwrap()
        .results()
        .last()
        .unwrap()
        .text
        .len();
    assert_eq!(last, 20_000, "the last results are kept");
    assert_eq!(run.next(), RunStep::AskModel);
}

#[test]
fn compaction_keeps_task_skills_and_call_pairs() {
    // Short results: nothing to prune.
    let mut run = long(200, 1_500, 60_000);
    let RunStep::Compact(plan) = run.next() else {
        panic!("{:?}", run.next())
    };
    run.apply(&plan.event(Some("Ten forms are done."), TokenUsage::default()))
        .unwrap();
    check_valid(&run);
    assert!(run.tokens() < 30_000, "{}", run.tokens());
    let first = run.messages()[0].text();
    for part in [
        "Fill in the forms in inbox/.",
        "Ten forms are done.",
        "Use pdftk.",
        "not a new request",
    ] {
        assert!(first.contains(part), "{part} in {first}");
    }
    assert_eq!(run.active().len(), 1);
    assert_eq!(run.next(), RunStep::AskModel);
    // Repeated compaction keeps the skill exactly once.
    for turn in 0..200 {
        let id = format!("d{turn}");
        reply(&mut run, vec![call(&id, "bash", json!({"again": turn}))]);
        answer(&mut run, &id, &"y".repeat(1_500));
        if let RunStep::Compact(plan) = run.next() {
            run.apply(&plan.event(None, TokenUsage::default())).unwrap();
        }
        check_valid(&run);
    }
    let all: String = run.messages().iter().map(Message::text).collect();
    assert_eq!(all.matches("Use pdftk.").count(), 1);
    assert!(
        all.contains("Fill in the forms in inbox/."),
        "the task is kept"
    );
    assert!(
        all.contains("tools called: bash"),
        "facts replace the missing summary"
    );
}

#[test]
fn skills_that_do_not_fit_are_named() {
    let window = 20_000;
    let mut run = begun(
        RunLimits {
            window,
            ..RunLimits::default()
        },
        None,
    );
    say(&mut run, "go");
    for name in ["old", "mid", "new"] {
        reply(
            &mut run,
            vec![call(name, "load_skill", json!({"name": name}))],
        );
        loaded(
            &mut run,
            name,
            name,
            &format!("{name} {}", "s".repeat(9_000)),
        );
    }
    for turn in 0..40 {
        let id = format!("c{turn}");
        reply(&mut run, vec![call(&id, "bash", json!({"at": turn}))]);
        answer(&mut run, &id, &"x".repeat(1_900));
    }
    let plan = run.compaction().unwrap();
    assert_eq!(plan.unloaded, ["old".into()], "the newest are kept");
    let text = plan.message(None).text();
    assert!(
        text.contains("load them again if you need them: old"),
        "{text}"
    );
    run.apply(&plan.event(None, TokenUsage::default())).unwrap();
    let names: Vec<&str> = run.active().iter().map(|skill| &*skill.name).collect();
    assert_eq!(names, ["mid", "new"]);
}

/// Creates a run that loads skills with texts of the given sizes in bytes, oldest first, and then works.
fn loaded_with(window: u64, runs: Option<&str>, skills: &[(&str, usize)]) -> Run {
    let mut begin = started(
        RunLimits {
            window,
            ..RunLimits::default()
        },
        None,
    );
    if let Event::Started(started) = &mut begin {
        started.skill = runs.map(Into::into);
    }
    let mut run = Run::default();
    run.apply(&begin).unwrap();
    say(&mut run, "go");
    for (name, bytes) in skills {
        reply(
            &mut run,
            vec![call(name, "load_skill", json!({"name": name}))],
        );
        loaded(
            &mut run,
            name,
            name,
            &format!("<{name}>{}", "é".repeat(bytes / 2)),
        );
    }
    work(&mut run, 120);
    run
}

/// Adds turns with short results, so that loaded skills move into the compacted part.
fn work(run: &mut Run, turns: usize) {
    for turn in 0..turns {
        let id = format!("c{turn}-{}", run.messages().len());
        reply(run, vec![call(&id, "bash", json!({"at": id}))]);
        answer(run, &id, &"x".repeat(1_900));
    }
}

/// Returns the size in bytes of each kept skill text.
fn left(run: &Run) -> Vec<(String, usize)> {
    let parts = run.messages().iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            MessagePart::Text {
                text,
                keep: Some(name),
            } => Some((name.to_string(), text.len())),
            _ => None,
        })
        .collect()
}

#[test]
fn case_128_newest_skills_are_kept_and_others_named() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let mut run = loaded_with(100_000, None, &names.map(|name| (name, 24_000)));
    let plan = run.compaction().unwrap();
    let boxed = |names: &[&str]| {
        names
            .iter()
            .map(|&name| Box::from(name))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        plan.unloaded,
        boxed(&["a", "b"]),
        "25,000 tokens are five of 5,000"
    );
    assert_eq!(plan.cut, boxed(&["c", "d", "e", "f", "g"]));
    run.apply(&plan.event(None, TokenUsage::default())).unwrap();
    let first = run.messages()[0].text();
    assert!(
        first.contains("load them again if you need them: a, b"),
        "{first}"
    );
    let kept = left(&run);
    assert_eq!(
        kept.iter().map(|(name, _)| &**name).collect::<Vec<_>>(),
        names[2..]
    );
    for (name, bytes) in &kept {
        assert!((19_900..=20_000).contains(bytes), "{name}: {bytes}");
        let rest = format!("The rest of the instructions of skill {name} was removed");
        assert!(
            first.contains(&format!("<{name}>é")) && first.contains(&rest),
            "{name}"
        );
    }
    // The truncated texts differ from the loaded ones, so the skills can be loaded again.
    assert!(run.active().iter().all(|skill| skill.rendering.is_empty()));
    assert_eq!(run.active().len(), 5);
    // The next compaction removes nothing more.
    work(&mut run, 120);
    let plan = run.compaction().unwrap();
    assert!(plan.unloaded.is_empty() && plan.cut.is_empty(), "{plan:?}");
    run.apply(&plan.event(None, TokenUsage::default())).unwrap();
    assert_eq!(left(&run), kept);
}

#[test]
fn case_128_newest_text_of_each_skill_is_kept() {
    let skills = [("a", 1_000), ("b", 19_000), ("a", 2_000)];
    let mut run = begun(
        RunLimits {
            window: 60_000,
            ..RunLimits::default()
        },
        None,
    );
    say(&mut run, "go");
    for (at, (name, bytes)) in skills.into_iter().enumerate() {
        let id = format!("l{at}");
        reply(
            &mut run,
            vec![call(&id, "load_skill", json!({"name": name}))],
        );
        loaded(&mut run, &id, name, &"s".repeat(bytes));
    }
    work(&mut run, 120);
    let plan = run.compaction().unwrap();
    assert!(plan.unloaded.is_empty() && plan.cut.is_empty());
    run.apply(&plan.event(None, TokenUsage::default())).unwrap();
    assert_eq!(
        left(&run),
        [("b".to_owned(), 19_000), ("a".to_owned(), 2_000)]
    );
}

#[test]
fn case_128_run_keeps_its_own_skill_whole() {
    let mut run = loaded_with(60_000, Some("own"), &[("own", 24_000), ("other", 24_000)]);
    let plan = run.compaction().unwrap();
    assert_eq!(
        plan.cut,
        ["other".into()],
        "a run cannot reload its own skill"
    );
    run.apply(&plan.event(None, TokenUsage::default())).unwrap();
    assert_eq!(left(&run)[0], ("own".to_owned(), 24_005));
}

#[test]
fn unloaded_skill_is_not_kept() {
    let mut run = long(200, 1_500, 60_000);
    reply(
        &mut run,
        vec![call("u", "unload_skill", json!({"name": "pdf"}))],
    );
    let open = run.open_calls()[0].clone();
    run.apply(&Event::CallEnded {
        result: ToolResult::of(&open.call, "Unloaded."),
        loaded: Vec::new(),
        unloaded: vec!["pdf".into()],
        submitted: None,
        usage: None,
        milliseconds: 0,
    })
    .unwrap();
    assert!(run.active().is_empty());
    let plan = run.compaction().unwrap();
    assert!(!plan.message(None).text().contains("Use pdftk."));
}

#[test]
fn compaction_keeps_huge_call_with_its_result() {
    let mut run = begun(
        RunLimits {
            window: 1_000,
            ..RunLimits::default()
        },
        None,
    );
    say(&mut run, &"t".repeat(50_000));
    assert!(run.compaction().is_none(), "nothing precedes it");
    assert_eq!(run.next(), RunStep::AskModel, "the provider decides");
    reply(&mut run, vec![call("a", "read", json!({}))]);
    answer(&mut run, "a", &"r".repeat(50_000));
    let plan = run.compaction().unwrap();
    assert_eq!(plan.before, 1, "the call stays with its result");
}

/// An action of the model, a tool or the user.
#[derive(Clone, Debug)]
enum Act {
    Say,
    Text,
    Calls(Vec<u8>),
    Load(u8),
    Compact,
    Prune,
    Note,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        Just(Act::Say),
        Just(Act::Text),
        prop::collection::vec(0u8..4, 1..5).prop_map(Act::Calls),
        (0u8..3).prop_map(Act::Load),
        Just(Act::Compact),
        Just(Act::Prune),
        Just(Act::Note),
    ];
    prop::collection::vec(act, 1..80)
}

proptest! {
    /// After any sequence of events the request is valid and contains all loaded skills.
    #[test]
    fn every_request_is_valid(acts in acts(), sizes in prop::collection::vec(1usize..6_000, 80)) {
        let mut run = begun(RunLimits { window: 12_000, repeats: u32::MAX, ..RunLimits::default() }, None);
        let mut events = vec![started(RunLimits { window: 12_000, repeats: u32::MAX, ..RunLimits::default() }, None)];
        let mut take = |run: &mut Run, event: Event| {
            run.apply(&event).unwrap();
            events.push(event);
        };
        take(&mut run, Event::Said { parts: vec![MessagePart::text("task")], typed: None, loaded: vec![], usage: None });
        for (at, act) in acts.iter().enumerate() {
            let size = sizes[at % sizes.len()];
            match act {
                Act::Say => take(&mut run, Event::Said { parts: vec![MessagePart::text("m".repeat(size))], typed: None, loaded: vec![], usage: None }),
                Act::Note => take(&mut run, Event::note("n")),
                Act::Text => {
                    let reply = run.admit(Reply::text("t".repeat(size)));
                    take(&mut run, Event::Replied { reply, milliseconds: 0 });
                }
                Act::Calls(_) | Act::Load(_) => {
                    let names: Vec<String> = match act {
                        Act::Calls(which) => which.iter().map(|one| format!("tool{one}")).collect(),
                        _ => vec!["load_skill".to_owned()],
                    };
                    let parts = names.iter().map(|name| call("same", name, json!({"at": at}))).collect();
                    let reply = run.admit(Reply { parts, ..Reply::default() });
                    take(&mut run, Event::Replied { reply, milliseconds: 0 });
                    let mut open = run.open_calls();
                    open.reverse();
                    for one in open {
                        let text = "r".repeat(size);
                        let mut event = Event::answer(ToolResult::of(&one.call, text));
                        if let (Act::Load(which), Event::CallEnded { result, loaded, .. }) = (act, &mut event) {
                            let name: Box<str> = format!("skill{which}").into();
                            result.text = format!("instructions of {name}");
                            result.keep = Some(name.clone());
                            loaded.push(ActiveSkill { name, version: None, digest: "d".into(), rendering: "r".into(), by_user: false });
                        }
                        take(&mut run, event);
                    }
                }
                Act::Compact => if let Some(plan) = run.compaction() {
                    take(&mut run, plan.event(None, TokenUsage::default()));
                },
                Act::Prune => {
                    let before = run.messages().len();
                    take(&mut run, Event::Pruned { before });
                }
            }
            check_valid(&run);
            let all = format!("{:?}", run.messages());
            for skill in run.active() {
                let text = format!("instructions of {}", skill.name);
                prop_assert!(all.contains(&text));
            }
        }
        // Replaying the stored events gives the same run.
        let stamped: Vec<StampedEvent> = events.into_iter().map(|event| StampedEvent { at: 0, event }).collect();
        let text = serde_json::to_string(&stamped).unwrap();
        let read: Vec<StampedEvent> = serde_json::from_str(&text).unwrap();
        let again = Run::replay(&read).unwrap();
        prop_assert_eq!(again.messages(), run.messages());
        prop_assert_eq!(again.active(), run.active());
        prop_assert_eq!(again.next(), run.next());
    }
}

/// Makes a run with these limits of its agent, and some turns with long results.
fn long_run(conversation: ConversationLimits, turns: usize) -> Run {
    let limits = RunLimits {
        conversation,
        ..RunLimits::default()
    };
    let mut run = begun(limits, None);
    say(&mut run, "the objective");
    for at in 0..turns {
        let id = format!("c{at}");
        reply(&mut run, vec![call(&id, "read", json!({"at": at}))]);
        answer(&mut run, &id, &format!("{at} {}", "x".repeat(4_000)));
    }
    run
}

#[test]
fn agent_sets_when_results_are_removed() {
    assert_eq!(
        long_run(ConversationLimits::default(), 6).next(),
        RunStep::AskModel
    );
    let prune = ConversationLimits {
        prune: Some((8, 4)),
        ..ConversationLimits::default()
    };
    assert_eq!(long_run(prune, 3).next(), RunStep::AskModel);
    let mut run = long_run(prune, 6);
    assert_eq!(run.next(), RunStep::Prune { before: 9 });
    run.apply(&Event::Pruned { before: 9 }).unwrap();
    // The last four messages keep their results, and no call loses its result.
    assert_eq!(run.next(), RunStep::AskModel);
    let kept = run.messages().iter().flat_map(Message::results);
    let kept = kept.filter(|result| result.text.len() > 1_000).count();
    assert_eq!(kept, 2);
    check_valid(&run);
}

#[test]
fn agent_sets_when_the_conversation_is_summarized() {
    let compact = |keep| ConversationLimits {
        compact_at: Some(5_000),
        keep_turns: keep,
        ..ConversationLimits::default()
    };
    assert_eq!(long_run(compact(None), 3).next(), RunStep::AskModel);
    for keep in [2, 4] {
        let mut run = long_run(compact(Some(keep)), 6);
        let RunStep::Compact(plan) = run.next() else {
            panic!("{:?}", run.next())
        };
        let replies = run.messages()[plan.before..].iter();
        let replies = replies.filter(|message| message.role == MessageRole::Assistant);
        assert!(replies.count() >= keep as usize);
        run.apply(&plan.event(Some("s"), TokenUsage::default()))
            .unwrap();
        assert!(run.messages()[0].text().contains("the objective"));
        check_valid(&run);
    }
}
