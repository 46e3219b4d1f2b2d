//! Questions that wait: a session without a user stores its question, ends, and continues after the
//! answer, which may come from another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess_agent::{DecidedBy, Ending, EndingKind, Event, Question, RecordedAnswer, StampedEvent};
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode, Unattended};
use prowess_runtime::{Engine, Pause, RuntimeError, Session, SkillRef, SubRun};
use prowess_store::MemorySessions;
use prowess_tools::ToolContext;
use prowess_traits::{
    Answer, AnswerOutcome, ApprovalRequest, Approver, QuestionQuery, SessionError, SessionStore,
};
use serde_json::json;

use crate::script::{Script, bash, calls, conversation, load, results, says};
use crate::stores::Full;
use crate::talk::talk_until;
use crate::world::{Person, World, children, decisions, events, mode, never, roots, rule, wait};

prowess_test::tests! {
    session_waits_and_continues_after_the_answer
    denial_tells_the_model_the_reason
    unanswered_question_is_asked_once
    terminal_answers_a_stored_question
    first_answer_counts_while_the_terminal_asks
    changed_rules_ask_another_question
    changed_input_asks_another_question
    other_calls_wait_with_the_question
    question_of_forked_skill_makes_its_caller_wait
    nested_sub_runs_wait_and_continue
    finished_child_of_interrupted_call_gives_its_result
    activation_waits_before_any_command_runs
    loaded_skill_waits_before_any_command_runs
    no_command_runs_if_a_later_one_is_denied
    background_skill_is_denied_at_once
    invoked_skill_in_a_message_is_denied_at_once
    kill_while_a_person_thinks_loses_nothing
    full_store_between_question_and_answer
    session_of_older_version_can_wait
    hook_after_a_call_does_not_repeat_it
    hook_that_asks_waits_before_the_call
    too_long_request_is_denied_at_once
    withdrawn_question_is_gone
    repeated_append_is_stored_once
}

/// Returns the parts of a program without a user, whose sessions wait.
fn waiting(world: &World, model: Arc<Script>, store: &Arc<dyn SessionStore>) -> ToolContext {
    let mut parts = world.parts(model);
    parts.settings.unattended = Unattended::Wait;
    parts.services.sessions = Some(Arc::clone(store));
    parts
}

fn engine(world: &World, model: Arc<Script>, store: &Arc<dyn SessionStore>) -> Engine {
    Engine::new(waiting(world, model, store)).unwrap()
}

fn memory() -> Arc<dyn SessionStore> {
    Arc::new(MemorySessions::new())
}

/// Makes a folder, once. The next step depends only on the request.
fn maker() -> Arc<Script> {
    Script::by(|_, request| match request.messages.len() {
        1 => bash("mkdir made"),
        _ => says("done"),
    })
}

/// Returns the only question that a pause waits for.
#[track_caller]
fn question(pause: &Pause) -> Box<str> {
    match pause {
        Pause::Ended(Ending::Waiting { questions }) => match &**questions {
            [one] => one.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn say(store: &Arc<dyn SessionStore>, id: &str, answer: RecordedAnswer, because: Option<&str>) {
    let answer = Answer {
        answer,
        because: because.map(Into::into),
        who: "ada".into(),
        at: 5,
    };
    assert_eq!(store.answer(id, &answer).unwrap(), AnswerOutcome::Stored);
}

fn yes(store: &Arc<dyn SessionStore>, id: &str) {
    say(store, id, RecordedAnswer::Once, None);
}

fn resume(engine: &Engine, id: &str) -> Pause {
    wait(async {
        let mut session = Session::resume(engine, id, None).await.unwrap();
        session.proceed(&never()).await.unwrap()
    })
}

fn asked(engine: &Engine, id: &str) -> Vec<Question> {
    let found = events(engine, id).into_iter();
    let asked = found.filter_map(|stamped| match stamped.event {
        Event::Questioned(question) => Some(*question),
        _ => None,
    });
    asked.collect()
}

fn open(store: &Arc<dyn SessionStore>) -> Vec<Box<str>> {
    let query = QuestionQuery {
        project: None,
        limit: 100,
    };
    let open = store.questions(&query).unwrap().into_iter();
    open.map(|asked| asked.question.id).collect()
}

fn names(events: &[StampedEvent]) -> Vec<&'static str> {
    let name = |stamped: &StampedEvent| match &stamped.event {
        Event::Questioned(_) => Some("questioned"),
        Event::Answered { .. } => Some("answered"),
        Event::CallStarted { .. } => Some("started"),
        Event::Decided(_) => Some("decided"),
        Event::CallEnded { .. } => Some("ended"),
        Event::Ended { .. } => Some("stopped"),
        Event::Resumed { .. } => Some("resumed"),
        _ => None,
    };
    events.iter().filter_map(name).collect()
}

fn session_waits_and_continues_after_the_answer() {
    let world = World::new();
    let (first, store) = (maker(), world.sqlite());
    let (id, pause) = talk_until(&engine(&world, first.clone(), &store), "go");
    let question = question(&pause);
    assert!(!world.exists("made"));
    assert_eq!(first.asked().len(), 1, "the model is not asked again");
    let session = &store
        .list(&prowess_test::conformance::sessions::all())
        .unwrap()[0];
    assert_eq!(session.ending, Some(EndingKind::Waiting));
    assert!(!session.live, "it holds no lease");
    // Another process, days later.
    let store = world.sqlite();
    let asked = store.question(&question).unwrap().asked;
    assert_eq!(asked.question.what, "mkdir made");
    assert_eq!((&*asked.session, &*asked.root), (&*id, &*id));
    yes(&store, &question);
    let second = maker();
    let engine = engine(&world, second.clone(), &store);
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    assert!(world.exists("made"));
    assert_eq!(second.asked().len(), 1, "only the result was missing");
    let events = events(&engine, &id);
    assert_eq!(
        names(&events),
        [
            "questioned",
            "stopped",
            "resumed",
            "answered",
            "started",
            "decided",
            "ended",
        ],
    );
    let decided = &decisions(&engine, &id)[0];
    assert_eq!(decided.by, Some(DecidedBy::Person));
    assert_eq!(decided.answer, Some(RecordedAnswer::Once));
    assert_eq!(decided.who.as_deref(), Some("ada"));
}

fn denial_tells_the_model_the_reason() {
    let world = World::new();
    let (model, store) = (maker(), memory());
    let engine = engine(&world, model.clone(), &store);
    let (id, pause) = talk_until(&engine, "go");
    let reason = Some("use the folder `build`");
    say(&store, &question(&pause), RecordedAnswer::No, reason);
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    assert!(!world.exists("made"));
    let told = &results(&model.last())[0];
    assert!(
        told.contains("the user denied it: use the folder `build`"),
        "{told}"
    );
}

fn unanswered_question_is_asked_once() {
    let world = World::new();
    let store = memory();
    let engine = engine(&world, maker(), &store);
    let (id, pause) = talk_until(&engine, "go");
    for _ in 0..2 {
        assert_eq!(resume(&engine, &id), pause);
    }
    assert_eq!(asked(&engine, &id).len(), 1);
    assert_eq!(open(&store), [question(&pause)]);
    yes(&store, &question(&pause));
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
}

fn terminal_answers_a_stored_question() {
    let world = World::new();
    let store = memory();
    let (id, pause) = talk_until(&engine(&world, maker(), &store), "go");
    let mut parts = waiting(&world, maker(), &store);
    let person = Person::says(ApprovalAnswer::Once);
    parts.services.approver = person.clone();
    let engine = Engine::new(parts).unwrap();
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    assert_eq!(person.asked(), ["mkdir made"]);
    assert!(world.exists("made"));
    assert_eq!(asked(&engine, &id).len(), 1, "the same question");
    assert_eq!(decisions(&engine, &id)[0].who.as_deref(), Some("program"));
    let late = store.answer(
        &question(&pause),
        &Answer {
            answer: RecordedAnswer::No,
            because: None,
            who: "bob".into(),
            at: 9,
        },
    );
    let AnswerOutcome::AlreadyAnswered(first) = late.unwrap() else {
        panic!("it has an answer")
    };
    assert_eq!(
        (first.answer, &*first.who),
        (RecordedAnswer::Once, "program")
    );
}

/// An approver that allows, while another process has already denied.
#[derive(Debug)]
struct Slow(Arc<dyn SessionStore>);

impl Approver for Slow {
    fn ask(&self, _question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        let open = open(&self.0);
        say(&self.0, &open[0], RecordedAnswer::No, Some("too risky"));
        ApprovalAnswer::Once
    }
}

fn first_answer_counts_while_the_terminal_asks() {
    let world = World::new();
    let (model, store) = (maker(), memory());
    let mut parts = waiting(&world, model.clone(), &store);
    parts.services.approver = Arc::new(Slow(Arc::clone(&store)));
    let engine = Engine::new(parts).unwrap();
    let (id, pause) = talk_until(&engine, "go");
    assert_eq!(pause, Pause::Answered("done".into()));
    assert!(!world.exists("made"));
    assert!(results(&model.last())[0].contains("too risky"));
    assert_eq!(decisions(&engine, &id)[0].who.as_deref(), Some("ada"));
}

fn changed_rules_ask_another_question() {
    let world = World::new();
    let store = memory();
    let (id, pause) = talk_until(&engine(&world, maker(), &store), "go");
    let first = question(&pause);
    yes(&store, &first);
    let mut parts = waiting(&world, maker(), &store);
    rule(&mut parts, Effect::Ask, "Bash(mkdir:*)");
    let engine = Engine::new(parts).unwrap();
    let second = question(&resume(&engine, &id));
    assert_ne!(first, second);
    assert!(!world.exists("made"), "the answer was to another question");
    assert_eq!(open(&store), std::slice::from_ref(&second));
    yes(&store, &second);
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    assert!(world.exists("made"));
}

fn changed_input_asks_another_question() {
    let world = World::new();
    let hook = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ./change.sh\n";
    world.skill("guard", hook, "Guard.");
    let change = |folder: &str| {
        let input = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": { "command": format!("mkdir {folder}") } } });
        world.script(
            "~/.agents/skills/guard/change.sh",
            &format!("echo '{input}'"),
        );
    };
    change("one");
    let store = memory();
    let model = || {
        Script::by(|_, request| match request.messages.len() {
            1 => load("guard"),
            3 => bash("mkdir made"),
            _ => says("done"),
        })
    };
    let mut parts = waiting(&world, model(), &store);
    rule(&mut parts, Effect::Allow, "Bash(./change.sh)");
    let engine = Engine::new(parts).unwrap();
    let (id, pause) = talk_until(&engine, "go");
    let mut answered = 0;
    let mut pause = pause;
    // The hook itself may need approval first; what counts is the question about the command.
    while let Pause::Ended(Ending::Waiting { .. }) = &pause {
        let id_of = question(&pause);
        let what = store.question(&id_of).unwrap().asked.question.what;
        if what == "mkdir one" {
            break;
        }
        answered += 1;
        assert!(answered < 5, "{what}");
        yes(&store, &id_of);
        pause = resume(&engine, &id);
    }
    let first = question(&pause);
    let untouched = |world: &World| !world.exists("one") && !world.exists("two");
    assert!(untouched(&world));
    yes(&store, &first);
    // The skill that was loaded changes, so it is unloaded, and the model's own input is judged.
    change("two");
    let pause = resume(&engine, &id);
    let second = question(&pause);
    assert_ne!(first, second);
    assert!(untouched(&world), "the answer was about another command");
}

fn other_calls_wait_with_the_question() {
    let world = World::new();
    let store = memory();
    let model = Script::by(|_, request| match request.messages.len() {
        1 => calls([
            ("bash", json!({ "command": "mkdir one" })),
            ("bash", json!({ "command": "mkdir two" })),
        ]),
        _ => says("done"),
    });
    let engine = engine(&world, model, &store);
    let (id, pause) = talk_until(&engine, "go");
    yes(&store, &question(&pause));
    let pause = resume(&engine, &id);
    assert!(world.exists("one") && !world.exists("two"));
    yes(&store, &question(&pause));
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    assert!(world.exists("two"));
    let whats: Vec<String> = asked(&engine, &id).into_iter().map(|it| it.what).collect();
    assert_eq!(whats, ["mkdir one", "mkdir two"]);
}

/// Forks `below`, which appends a line. The next step depends only on the request.
fn forker() -> Arc<Script> {
    Script::by(|_, request| {
        let all = conversation(request);
        if all.starts_with("Run skill: below") {
            return match request.messages.len() {
                1 => bash("echo below >> log"),
                _ => says("written below"),
            };
        }
        if all.starts_with("Run skill: middle") {
            return match request.messages.len() {
                1 => load("below"),
                _ => says("written in the middle"),
            };
        }
        match request.messages.len() {
            1 if all.contains("middle") => load("middle"),
            1 => load("below"),
            _ => says("done"),
        }
    })
}

fn question_of_forked_skill_makes_its_caller_wait() {
    let world = World::new();
    world.skill("below", "context: fork\n", "Write the line below.");
    let (model, store) = (forker(), memory());
    let engine = engine(&world, model.clone(), &store);
    let (id, pause) = talk_until(&engine, "go");
    let question = question(&pause);
    let child = children(&engine, &id).remove(0);
    assert_eq!(child.ending, Some(EndingKind::Waiting));
    assert!(question.starts_with(&*child.id), "{question}");
    let found = store.question(&question).unwrap().asked;
    assert_eq!((&*found.session, &*found.root), (&*child.id, &*id));
    assert_eq!(found.question.skill.as_deref(), Some("below"));
    yes(&store, &question);
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    assert_eq!(world.read("log"), "below\n");
    assert_eq!(
        children(&engine, &id).len(),
        1,
        "the same sub-run continued"
    );
    let told = &results(&model.last())[0];
    assert!(told.contains("written below"), "{told}");
}

fn nested_sub_runs_wait_and_continue() {
    let world = World::new();
    world.skill("below", "context: fork\n", "Write the line below.");
    world.skill("middle", "context: fork\n", "Use below.");
    let store = world.sqlite();
    let (id, pause) = talk_until(&engine(&world, forker(), &store), "use middle");
    yes(&store, &question(&pause));
    let model = forker();
    let engine = engine(&world, model.clone(), &world.sqlite());
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    assert_eq!(world.read("log"), "below\n");
    assert!(results(&model.last())[0].contains("written in the middle"));
    let middle = children(&engine, &id);
    assert_eq!(middle.len(), 1);
    assert_eq!(children(&engine, &middle[0].id).len(), 1);
}

/// The program stopped after the child had ended, before the result of the call was stored.
fn finished_child_of_interrupted_call_gives_its_result() {
    let world = World::new();
    world.skill("below", "context: fork\n", "Write the line below.");
    let (model, store) = (forker(), memory());
    let mut parts = waiting(&world, model.clone(), &store);
    mode(&mut parts, PermissionMode::Yolo);
    let free = Engine::new(parts).unwrap();
    let (id, _) = talk_until(&free, "go");
    // A copy of the session that ends before the result.
    let child = children(&free, &id).remove(0);
    let (whole, below) = (events(&free, &id), events(&free, &child.id));
    let end = whole
        .iter()
        .position(|stamped| matches!(stamped.event, Event::CallEnded { .. }))
        .unwrap();
    let other = memory();
    let lease = other.create(&whole[0]).unwrap();
    other.append(&lease, &whole[1..end]).unwrap();
    let copy = lease.session.clone();
    other.release(lease);
    let mut first = below[0].clone();
    let Event::Started(started) = &mut first.event else {
        panic!("{first:?}")
    };
    started.parent.as_mut().unwrap().session = copy.clone();
    let lease = other.create(&first).unwrap();
    other.append(&lease, &below[1..]).unwrap();
    other.release(lease);
    let engine = engine(&world, model.clone(), &other);
    assert_eq!(resume(&engine, &copy), Pause::Answered("done".into()));
    assert_eq!(world.read("log"), "below\n", "it did not run again");
    assert!(results(&model.last())[0].contains("written below"));
}

fn activation_waits_before_any_command_runs() {
    let world = World::new();
    world.skill(
        "report",
        "context: fork\nallowed-tools: Bash(mkdir one)\narguments: name\n",
        "For $name: !`mkdir one` !`touch made`",
    );
    let store = memory();
    let model = || {
        Script::by(|_, request| {
            assert!(conversation(request).contains("For Ada:"));
            says("reported")
        })
    };
    let first = engine(&world, model(), &store);
    let sub = SubRun {
        arguments: prowess_render::Arguments::from_json(json!({ "name": "Ada" })),
        ..SubRun::new(SkillRef::Name("report".into()))
    };
    let finished = wait(first.run_skill(sub, &never())).unwrap();
    let question = question(&Pause::Ended(finished.ending));
    assert!(!world.exists("one") && !world.exists("made"));
    let what = store.question(&question).unwrap().asked.question.what;
    assert_eq!(what, "touch made");
    // Without an answer it waits on.
    let again = resume(&first, &finished.session);
    assert_eq!(self::question(&again), question);
    yes(&store, &question);
    let second = engine(&world, model(), &store);
    let pause = resume(&second, &finished.session);
    assert_eq!(pause, Pause::Answered("reported".into()));
    // A second `mkdir one` would have failed.
    assert!(world.exists("one") && world.exists("made"));
}

fn loaded_skill_waits_before_any_command_runs() {
    let world = World::new();
    world.skill(
        "report",
        "allowed-tools: Bash(mkdir one)\n",
        "Lines: !`mkdir one` !`touch made`",
    );
    let store = memory();
    let model = Script::by(|_, request| match request.messages.len() {
        1 => load("report"),
        _ => says("done"),
    });
    let engine = engine(&world, model.clone(), &store);
    let (id, pause) = talk_until(&engine, "go");
    assert!(!world.exists("one") && !world.exists("made"));
    yes(&store, &question(&pause));
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    // A second `mkdir one` would have failed.
    assert!(world.exists("one") && world.exists("made"));
    let told = &results(&model.last())[0];
    assert!(told.contains("Lines:"), "{told}");
}

fn no_command_runs_if_a_later_one_is_denied() {
    let world = World::new();
    world.skill(
        "report",
        "allowed-tools: Bash(mkdir one)\n",
        "Lines: !`mkdir one` !`touch made`",
    );
    let model = Script::of([load("report"), says("done")]);
    let mut parts = world.parts(model.clone());
    rule(&mut parts, Effect::Deny, "Bash(touch:*)");
    let (_, pause) = talk_until(&Engine::new(parts).unwrap(), "go");
    assert_eq!(pause, Pause::Answered("done".into()));
    assert!(!world.exists("one") && !world.exists("made"));
}

fn background_skill_is_denied_at_once() {
    let world = World::new();
    world.skill(
        "below",
        "context: fork\nbackground: true\n",
        "Write the line below.",
    );
    let store = memory();
    let mut parts = waiting(&world, forker(), &store);
    parts.settings.background = true;
    let engine = Engine::new(parts).unwrap();
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        session.say("go", &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        assert_eq!(pause, Pause::Answered("done".into()));
        while session.background() > 0 {
            assert!(session.wait_for_background().await.unwrap());
        }
        let child = children(&engine, session.id()).remove(0);
        assert_eq!(child.ending, Some(EndingKind::Answered));
        let decided = decisions(&engine, &child.id);
        assert!(
            decided
                .iter()
                .any(|it| it.by == Some(DecidedBy::Unattended)),
            "{decided:?}"
        );
    });
    assert!(!world.exists("log") && open(&store).is_empty());
}

fn invoked_skill_in_a_message_is_denied_at_once() {
    let world = World::new();
    world.skill("report", "", "Made: !`mkdir made`");
    let store = memory();
    let engine = engine(&world, Script::of([]), &store);
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        let refused = session.say("/report", &never()).await;
        assert!(
            matches!(refused, Err(RuntimeError::Skill(_))),
            "{refused:?}"
        );
    });
    assert!(!world.exists("made") && open(&store).is_empty());
}

/// The record ends with the question, as after a kill during a prompt.
fn kill_while_a_person_thinks_loses_nothing() {
    let world = World::new();
    let store = memory();
    let whole = engine(&world, maker(), &store);
    let (id, pause) = talk_until(&whole, "go");
    let all = events(&whole, &id);
    let at = all
        .iter()
        .position(|stamped| matches!(stamped.event, Event::Questioned(_)))
        .unwrap();
    assert_eq!(
        names(&all[..=at]),
        ["questioned"],
        "the call has not started"
    );
    let other = memory();
    let lease = other.create(&all[0]).unwrap();
    other.append(&lease, &all[1..=at]).unwrap();
    let copy = lease.session.clone();
    other.release(lease);
    yes(&other, &question(&pause));
    let model = maker();
    let engine = engine(&world, model.clone(), &other);
    assert_eq!(resume(&engine, &copy), Pause::Answered("done".into()));
    assert!(world.exists("made"));
    assert!(!conversation(&model.last()).contains("unknown"));
}

/// The terminal answers, but the answer cannot be stored.
fn full_store_between_question_and_answer() {
    let world = World::new();
    // Started, listed, said, asked, replied, questioned; the seventh write is the answer.
    for writes in [6, 7] {
        let store = Full::after(writes);
        let shared: Arc<dyn SessionStore> = store.clone();
        let mut parts = waiting(&world, maker(), &shared);
        let person = Person::says(ApprovalAnswer::Once);
        parts.services.approver = person.clone();
        let engine = Engine::new(parts).unwrap();
        let id = wait(async {
            let mut session = Session::start(&engine, "t").await.unwrap();
            session.say("go", &never()).await.unwrap();
            let error = session.proceed(&never()).await.unwrap_err();
            assert!(
                matches!(error, RuntimeError::Store(SessionError::Unwritable { .. })),
                "{writes}: {error:?}"
            );
            session.id().to_owned()
        });
        assert!(!world.exists("made"), "{writes}: not without its record");
        store.fill_up(1_000);
        assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
        assert!(world.exists("made"), "{writes}");
        // The answer that was stored is not asked for again.
        assert_eq!(person.asked().len(), if writes == 6 { 2 } else { 1 });
        assert_eq!(asked(&engine, &id).len(), 1);
        std::fs::remove_dir(world.path("made")).unwrap();
    }
}

fn session_of_older_version_can_wait() {
    let world = World::new();
    let store = memory();
    let whole = engine(&world, maker(), &store);
    let (id, _) = talk_until(&whole, "go");
    let all = events(&whole, &id);
    let replied = all
        .iter()
        .position(|stamped| matches!(stamped.event, Event::Replied { .. }))
        .unwrap();
    let mut first = all[0].clone();
    let Event::Started(started) = &mut first.event else {
        panic!("{first:?}")
    };
    started.version = 1;
    let other = memory();
    let lease = other.create(&first).unwrap();
    other.append(&lease, &all[1..=replied]).unwrap();
    let copy = lease.session.clone();
    other.release(lease);
    let engine = engine(&world, maker(), &other);
    let pause = resume(&engine, &copy);
    yes(&other, &question(&pause));
    assert_eq!(resume(&engine, &copy), Pause::Answered("done".into()));
    assert!(world.exists("made"));
}

/// A hook after the call needs approval. The call had its effect, so it must not be made again.
fn hook_after_a_call_does_not_repeat_it() {
    let world = World::new();
    let hook = "hooks:\n  PostToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: mkdir hooked\n";
    world.skill("guard", hook, "Guard.");
    let store = memory();
    let model = Script::by(|_, request| match request.messages.len() {
        1 => load("guard"),
        3 => bash("mkdir line"),
        _ => says("done"),
    });
    let mut parts = waiting(&world, model.clone(), &store);
    rule(&mut parts, Effect::Allow, "Bash(mkdir line)");
    let (_, pause) = talk_until(&Engine::new(parts).unwrap(), "go");
    assert_eq!(pause, Pause::Answered("done".into()));
    assert!(world.exists("line"));
    assert!(!results(&model.last())[0].contains("exists"), "it ran once");
    assert!(!world.exists("hooked") && open(&store).is_empty());
}

fn hook_that_asks_waits_before_the_call() {
    let world = World::new();
    let hook = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: mkdir -p hooked\n";
    world.skill("guard", hook, "Guard.");
    let store = memory();
    let model = Script::by(|_, request| match request.messages.len() {
        1 => load("guard"),
        3 => bash("mkdir line"),
        _ => says("done"),
    });
    let mut parts = waiting(&world, model, &store);
    rule(&mut parts, Effect::Allow, "Bash(mkdir line)");
    let engine = Engine::new(parts).unwrap();
    let (id, pause) = talk_until(&engine, "go");
    assert!(!world.exists("hooked") && !world.exists("line"));
    yes(&store, &question(&pause));
    assert_eq!(resume(&engine, &id), Pause::Answered("done".into()));
    assert!(world.exists("hooked") && world.exists("line"));
}

fn too_long_request_is_denied_at_once() {
    let world = World::new();
    let store = memory();
    let long = format!("mkdir {}", "x".repeat(ApprovalRequest::MAX_BYTES));
    let model = Script::by(move |_, request| match request.messages.len() {
        1 => bash(&long),
        _ => says("done"),
    });
    let (_, pause) = talk_until(&engine(&world, model, &store), "go");
    assert_eq!(pause, Pause::Answered("done".into()));
    assert!(open(&store).is_empty());
}

/// The user sends another message instead of an answer.
fn withdrawn_question_is_gone() {
    let world = World::new();
    world.skill("below", "context: fork\n", "Write the line below.");
    for forks in [false, true] {
        let store = memory();
        let rounds = AtomicUsize::new(0);
        let model = Script::by(move |_, request| {
            let all = conversation(request);
            if all.starts_with("Run skill: below") {
                return bash("echo below >> log");
            }
            match (rounds.fetch_add(1, Ordering::SeqCst), forks) {
                (0, false) => bash("mkdir made"),
                (0, true) => load("below"),
                _ => says("done"),
            }
        });
        let engine = engine(&world, model, &store);
        let (id, pause) = talk_until(&engine, "go");
        let question = question(&pause);
        wait(async {
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            session.say("something else", &never()).await.unwrap();
            let pause = session.proceed(&never()).await.unwrap();
            assert_eq!(pause, Pause::Answered("done".into()));
        });
        assert!(open(&store).is_empty(), "{forks}");
        let answer = Answer {
            answer: RecordedAnswer::Once,
            because: None,
            who: "ada".into(),
            at: 5,
        };
        let outcome = store.answer(&question, &answer).unwrap();
        assert!(matches!(outcome, AnswerOutcome::Gone { .. }), "{outcome:?}");
        assert!(!world.exists("made") && !world.exists("log"));
        assert_eq!(roots(&engine).len(), 1);
    }
}

/// A store that loses the connection after every second write.
#[derive(Debug)]
struct Broken {
    inner: MemorySessions,
    writes: AtomicUsize,
}

impl SessionStore for Broken {
    fn create(&self, first: &StampedEvent) -> Result<prowess_traits::Lease, SessionError> {
        self.inner.create(first)
    }

    fn take(&self, id: &str) -> Result<prowess_traits::Lease, SessionError> {
        self.inner.take(id)
    }

    fn append(
        &self,
        lease: &prowess_traits::Lease,
        events: &[StampedEvent],
    ) -> Result<(), SessionError> {
        let position = lease.position();
        self.inner.append(lease, events)?;
        if self.writes.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            // The events are stored, but the caller does not learn it.
            lease.set_position(position);
            return Err(SessionError::Failed {
                store: "broken".into(),
                source: "connection reset".into(),
            });
        }
        Ok(())
    }

    fn release(&self, lease: prowess_traits::Lease) {
        self.inner.release(lease);
    }

    fn events(&self, id: &str) -> Result<Vec<StampedEvent>, SessionError> {
        self.inner.events(id)
    }

    fn list(
        &self,
        query: &prowess_traits::SessionQuery,
    ) -> Result<Vec<prowess_traits::SessionSummary>, SessionError> {
        self.inner.list(query)
    }

    fn find(&self, prefix: &str) -> Result<Box<str>, SessionError> {
        self.inner.find(prefix)
    }

    fn remove(&self, id: &str) -> Result<u64, SessionError> {
        self.inner.remove(id)
    }

    fn request_stop(&self, id: &str) -> Result<(), SessionError> {
        self.inner.request_stop(id)
    }

    fn is_stop_requested(&self, lease: &prowess_traits::Lease) -> Result<bool, SessionError> {
        self.inner.is_stop_requested(lease)
    }

    fn questions(
        &self,
        query: &QuestionQuery,
    ) -> Result<Vec<prowess_traits::OpenQuestion>, SessionError> {
        self.inner.questions(query)
    }

    fn question(&self, id: &str) -> Result<prowess_traits::StoredQuestion, SessionError> {
        self.inner.question(id)
    }

    fn answer(&self, id: &str, answer: &Answer) -> Result<AnswerOutcome, SessionError> {
        self.inner.answer(id, answer)
    }
}

fn repeated_append_is_stored_once() {
    let world = World::new();
    let store: Arc<dyn SessionStore> = Arc::new(Broken {
        inner: MemorySessions::new(),
        writes: AtomicUsize::new(0),
    });
    let mut parts = waiting(&world, maker(), &store);
    parts.services.approver = Person::says(ApprovalAnswer::Once);
    let engine = Engine::new(parts).unwrap();
    let (id, pause) = talk_until(&engine, "go");
    assert_eq!(pause, Pause::Answered("done".into()));
    assert_eq!(
        names(&events(&engine, &id)),
        ["questioned", "answered", "started", "decided", "ended"]
    );
}
