//! The conformance suite of [`SessionStore`].
//!
//! An implementation adds one line to its tests: `prowess_test::session_conformance!(make());`
//! where `make` returns a store and a value that must outlive it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test speaks by panicking"
)]

use prowess_agent::{
    DecisionRecord, Ending, EndingKind, Event, HintResult, HintedSkill, Message, MessagePart,
    MessageRole, ParentSession, Question, QuestionKind, RecordedAnswer, RecordedVerdict, RunLimits,
    SkillHint, SkillListing, StampedEvent, Started, TextQuestion, TokenUsage, ToolCall, ToolResult,
    VERSION,
};
use prowess_traits::{
    Answer, AnswerOutcome, Lease, MAX_EVENT, OpenQuestion, QuestionQuery, QuestionState,
    SessionError, SessionQuery, SessionStore, SessionSummary,
};

/// Defines a test for each case. The expression returns a new, empty store and a value that must
/// outlive it.
#[macro_export]
macro_rules! session_conformance {
    ($make:expr) => {
        $crate::session_conformance!(@cases $make,
            empty_store_has_no_sessions,
            session_returns_its_events,
            every_kind_of_event_round_trips,
            append_is_atomic,
            session_has_one_lease_at_a_time,
            released_lease_is_lost,
            lease_token_cannot_be_guessed,
            latest_session_comes_first,
            clock_set_back_does_not_reorder,
            lists_filter_by_project_and_parent,
            ending_lasts_until_session_continues,
            list_marks_live_sessions,
            ids_are_short_and_unique,
            prefix_finds_a_session,
            ambiguous_prefix_finds_none,
            sub_runs_are_removed_with_their_session,
            session_in_use_is_not_removed,
            threads_write_their_own_sessions,
            one_of_many_threads_gets_the_lease,
            repeated_append_writes_once,
            append_at_another_position_is_refused,
            append_after_the_lease_was_lost_is_refused,
            questions_are_listed_oldest_first,
            first_answer_counts,
            one_of_many_threads_answers,
            question_is_gone_when_its_call_ends,
            question_is_gone_when_its_session_ends,
            waiting_session_keeps_its_question,
            changed_question_replaces_the_open_one,
            answer_in_the_record_counts_in_the_inbox,
            first_text_answer_counts,
            answer_after_the_deadline_does_not_count,
            question_of_older_version_is_read,
            question_is_found_by_prefix,
            questions_are_removed_with_their_session,
            question_of_sub_run_names_the_root,
        );
    };
    (@cases $make:expr, $($case:ident,)*) => {
        $(
            #[test]
            fn $case() {
                let (store, _guard) = $make;
                $crate::conformance::sessions::$case(&store);
            }
        )*
    };
}

/// Returns the first event of a session.
pub fn started(project: &str, parent: Option<&str>, at: i64) -> StampedEvent {
    let parent = parent.map(|session| ParentSession {
        session: session.into(),
        call: None,
        depth: 1,
    });
    let event = Event::Started(Box::new(Started {
        version: VERSION,
        title: format!("title of {at}"),
        project: project.into(),
        model: "provider/name".into(),
        system: vec!["You help.".into(), "Skills: „none“".into()],
        limits: RunLimits::default(),
        effort: None,
        parent,
        skill: None,
        arguments: None,
        result: None,
        tools: None,
        agents: Vec::new(),
        agent: None,
        mission: None,
    }));
    StampedEvent { at, event }
}

/// Returns a note.
pub fn noted(text: impl Into<String>, at: i64) -> StampedEvent {
    StampedEvent {
        at,
        event: Event::note(text),
    }
}

fn ended(ending: Ending, at: i64) -> StampedEvent {
    StampedEvent {
        at,
        event: Event::Ended { ending },
    }
}

fn create(store: &dyn SessionStore, project: &str, parent: Option<&str>, at: i64) -> Lease {
    store
        .create(&started(project, parent, at))
        .expect("creates")
}

/// Returns the query for all top-level sessions.
pub fn all() -> SessionQuery {
    SessionQuery {
        project: None,
        parent: None,
        limit: 1000,
    }
}

fn list(store: &dyn SessionStore, query: &SessionQuery) -> Vec<SessionSummary> {
    store.list(query).expect("a list")
}

fn ids(store: &dyn SessionStore, query: &SessionQuery) -> Vec<Box<str>> {
    list(store, query)
        .into_iter()
        .map(|summary| summary.id)
        .collect()
}

/// Returns a question with this id about a call.
pub fn question(id: &str, call: Option<&str>) -> Question {
    Question {
        id: id.into(),
        call: call.map(Into::into),
        digest: "d".into(),
        what: "mkdir „made“".into(),
        reason: "no rule allows it".into(),
        skill: None,
        agent: None,
        kind: QuestionKind::Approval,
    }
}

/// Returns a question that needs a choice.
fn text_question(id: &str, call: Option<&str>, deadline_seconds: Option<u64>) -> Question {
    let details = TextQuestion {
        summary: Some("the colour".into()),
        context: Some("for the „page“".into()),
        choices: vec!["red".into(), "blue\u{1b}".into()],
        several: true,
        deadline_seconds,
    };
    Question {
        kind: QuestionKind::Text(Box::new(details)),
        ..question(id, call)
    }
}

fn text(texts: &[&str], who: &str, at: i64) -> Answer {
    Answer {
        answer: RecordedAnswer::Text(texts.iter().map(ToString::to_string).collect()),
        ..yes(who, at)
    }
}

fn questioned(id: &str, call: Option<&str>, at: i64) -> StampedEvent {
    StampedEvent {
        at,
        event: Event::Questioned(Box::new(question(id, call))),
    }
}

fn call_ended(call: &str, at: i64) -> StampedEvent {
    let call = ToolCall::new(call, "bash", serde_json::json!({}));
    StampedEvent {
        at,
        event: Event::answer(ToolResult::of(&call, "done")),
    }
}

/// Returns an answer that allows the action once.
pub fn yes(who: &str, at: i64) -> Answer {
    Answer {
        answer: RecordedAnswer::Once,
        because: None,
        who: who.into(),
        at,
    }
}

/// Returns the open questions of a project, or of all.
fn asked(store: &dyn SessionStore, project: Option<&str>) -> Vec<OpenQuestion> {
    let query = QuestionQuery {
        project: project.map(Into::into),
        limit: 1000,
    };
    store.questions(&query).expect("a list")
}

fn asked_ids(store: &dyn SessionStore, project: Option<&str>) -> Vec<Box<str>> {
    let asked = asked(store, project).into_iter();
    asked.map(|asked| asked.question.id).collect()
}

fn state(store: &dyn SessionStore, id: &str) -> QuestionState {
    store.question(id).expect("is found").state
}

fn is_no_question(result: Result<(), SessionError>, name: &str) -> bool {
    matches!(result, Err(SessionError::NoQuestion { asked, .. }) if *asked == *name)
}

#[track_caller]
fn assert_gone(store: &dyn SessionStore, id: &str, reason: &str) {
    let outcome = store.answer(id, &yes("late", 99)).expect("is found");
    let AnswerOutcome::Gone { why } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(why.contains(reason), "{why}");
    assert_eq!(state(store, id), QuestionState::Gone { why });
    assert!(!asked_ids(store, None).contains(&id.into()));
}

#[track_caller]
fn assert_not_found<T: std::fmt::Debug>(result: Result<T, SessionError>, name: &str) {
    match result {
        Err(SessionError::NotFound { asked, .. }) => assert_eq!(&*asked, name),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_in_use<T: std::fmt::Debug>(result: Result<T, SessionError>, id: &str) {
    match result {
        Err(SessionError::InUse { session, holder }) => {
            assert_eq!(&*session, id);
            let process = std::process::id().to_string();
            assert!(holder.contains(&process), "{holder}");
        }
        other => panic!("{other:?}"),
    }
}

pub fn empty_store_has_no_sessions(store: &dyn SessionStore) {
    assert_eq!(list(store, &all()), []);
    for round in 0..2 {
        for name in ["", "x", "zzzzzzzz", "'; DROP TABLE sessions", "\0", "é"] {
            assert_not_found(store.take(name), name);
            assert_not_found(store.events(name), name);
            assert_not_found(store.find(name), name);
            assert_not_found(store.remove(name), name);
            assert!(is_no_question(store.question(name).map(|_| ()), name));
            assert!(is_no_question(
                store.answer(name, &yes("ada", 1)).map(|_| ()),
                name
            ));
            assert_eq!(asked(store, None), []);
            let lease = Lease::new(name, 7, 1);
            assert_not_found(store.append(&lease, &[noted("a", 1)]), name);
            assert_not_found(store.append(&lease, &[]), name);
            store.release(lease);
        }
        if round == 0 {
            let lease = create(store, "p", None, 1);
            let id = lease.session.clone();
            store.release(lease);
            assert_eq!(store.remove(&id).expect("removes"), 1);
        }
    }
}

pub fn session_returns_its_events(store: &dyn SessionStore) {
    let mut expected = vec![started("p", None, 5)];
    let lease = store.create(&expected[0]).expect("creates");
    assert_eq!(store.events(&lease.session).expect("events"), expected);
    for batch in [1, 3, 0, 2] {
        let events: Vec<_> = (0..batch)
            .map(|n| noted(format!("{batch} {n} \u{0} ü \"\n"), 10 + n))
            .collect();
        store.append(&lease, &events).expect("appends");
        expected.extend(events);
        assert_eq!(store.events(&lease.session).expect("events"), expected);
    }
    let listed = list(store, &all());
    let summary = SessionSummary {
        id: lease.session.clone(),
        title: "title of 5".into(),
        project: "p".into(),
        model: "provider/name".into(),
        parent: None,
        started: 5,
        updated: 11,
        events: 7,
        ending: None,
        live: true,
    };
    assert_eq!(listed, [summary]);
    let other = create(store, "p", None, 6);
    store.append(&other, &[noted("other", 7)]).expect("appends");
    assert_eq!(store.events(&lease.session).expect("events"), expected);
    assert_eq!(store.events(&other.session).expect("events").len(), 2);
}

pub fn every_kind_of_event_round_trips(store: &dyn SessionStore) {
    let lease = create(store, "p", None, i64::MIN);
    let value =
        serde_json::json!({"a": [1, -1.5, u64::MAX, i64::MIN, null, "ü"], "b": {"c": true}});
    let text = |text: &str| MessagePart::Text {
        text: text.into(),
        keep: Some("skill".into()),
    };
    let summary = Message {
        role: MessageRole::User,
        parts: vec![text("so far")],
    };
    let events: Vec<StampedEvent> = [
        Event::ActivationStarted {
            skill: "do".into(),
            digest: "d".into(),
            arguments: Some("\u{0}ü".into()),
        },
        Event::Said {
            parts: vec![text("do")],
            typed: Some("/do".into()),
            loaded: vec![],
            usage: None,
        },
        Event::Asked {
            turn: 1,
            model: "m".into(),
            tools: vec!["read".into()],
        },
        Event::CallStarted {
            call: "c1".into(),
            read_only: true,
            child: Some("x".into()),
        },
        Event::Decided(DecisionRecord {
            call: None,
            what: "w".into(),
            verdict: RecordedVerdict::Allow,
            reason: "r".into(),
            rule: None,
            answer: None,
            by: None,
            who: Some("ada".into()),
        }),
        Event::Questioned(Box::new(Question {
            skill: Some("deploy".into()),
            agent: Some("dev".into()),
            ..question("q1", None)
        })),
        Event::Answered {
            question: "q1".into(),
            answer: RecordedAnswer::No,
            because: Some("not on a Friday".into()),
            who: "ada".into(),
        },
        Event::Questioned(Box::new(text_question("q2", None, Some(60)))),
        Event::Answered {
            question: "q2".into(),
            answer: RecordedAnswer::Text(vec!["rot\u{1b}\n„ü“".into(), String::new()]),
            because: None,
            who: "ada".into(),
        },
        Event::Ended {
            ending: Ending::Waiting {
                questions: vec!["q1".into()],
            },
        },
        Event::Listed(SkillListing {
            hidden: vec![("a".into(), "b".into())],
            ..SkillListing::default()
        }),
        Event::Hinted(SkillHint {
            text: "[ü]".into(),
            skills: vec![HintedSkill {
                name: "pdf".into(),
                fit: 0.82,
                by_path: true,
                outcome: HintResult::Hidden,
                hidden: Some("waiting".into()),
            }],
            least_fit: 0.3,
            cut: true,
        }),
        Event::Hinted(SkillHint::default()),
        Event::Pruned { before: 3 },
        Event::Mission {
            fact: serde_json::json!({ "kind": "task_started", "task": "ü" }),
        },
        Event::HookFired {
            skill: "guard".into(),
            digest: "d".into(),
            hook: 2,
        },
        Event::Compacted {
            before: 2,
            summary,
            unloaded: vec![],
            cut: vec![],
            usage: TokenUsage::default(),
        },
        Event::Resumed {
            budget: None,
            unloaded: vec!["s".into()],
        },
        Event::Ended {
            ending: Ending::Submitted { value },
        },
    ]
    .into_iter()
    .zip([0, i64::MAX, -1, i64::MIN].into_iter().cycle())
    .map(|(event, at)| StampedEvent { at, event })
    .collect();
    store.append(&lease, &events).expect("appends");
    assert_eq!(store.events(&lease.session).expect("events")[1..], events);
}

pub fn append_is_atomic(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let huge = noted("x".repeat(MAX_EVENT), 2);
    let result = store.append(&lease, &[noted("small", 2), huge.clone()]);
    let Err(SessionError::TooLarge { session, bytes }) = result else {
        panic!("{result:?}")
    };
    assert_eq!(session, lease.session);
    assert!(bytes > MAX_EVENT);
    assert_eq!(store.events(&lease.session).expect("events").len(), 1);
    assert!(matches!(
        store.create(&huge),
        Err(SessionError::TooLarge { .. })
    ));
    assert_eq!(list(store, &all()).len(), 1);
    // The largest event that fits.
    let frame = serde_json::to_string(&noted("", 2)).expect("JSON").len();
    let largest = noted("x".repeat(MAX_EVENT - frame), 2);
    store
        .append(&lease, std::slice::from_ref(&largest))
        .expect("appends");
    assert_eq!(store.events(&lease.session).expect("events")[1], largest);
}

pub fn session_has_one_lease_at_a_time(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let id = lease.session.clone();
    assert_in_use(store.take(&id), &id);
    store.release(lease);
    let lease = store.take(&id).expect("takes");
    assert_eq!(lease.session, id);
    assert_in_use(store.take(&id), &id);
    store.append(&lease, &[noted("a", 2)]).expect("appends");
    store.release(lease);
    store.release(store.take(&id).expect("takes"));
    assert_eq!(store.events(&id).expect("events").len(), 2);
}

pub fn released_lease_is_lost(store: &dyn SessionStore) {
    let old = create(store, "p", None, 1);
    let id = old.session.clone();
    let copy = || Lease::new(id.clone(), old.token, old.position());
    store.release(copy());
    let is_lost = |result| matches!(result, Err(SessionError::Lost { session }) if session == id);
    assert!(is_lost(store.append(&old, &[noted("late", 2)])));
    let new = store.take(&id).expect("takes");
    assert_ne!(new.token, old.token);
    assert!(is_lost(store.append(&old, &[noted("late", 2)])));
    assert!(is_lost(store.append(&old, &[])));
    // It cannot release the lease of another.
    store.release(copy());
    store.append(&new, &[noted("mine", 3)]).expect("appends");
    assert_in_use(store.take(&id), &id);
    assert_eq!(store.events(&id).expect("events")[1..], [noted("mine", 3)]);
}

pub fn lease_token_cannot_be_guessed(store: &dyn SessionStore) {
    let (one, other) = (create(store, "p", None, 1), create(store, "p", None, 1));
    assert_ne!(one.token, other.token);
    for token in [0, 1, u64::MAX, other.token] {
        let wrong = Lease::new(one.session.clone(), token, 1);
        let result = store.append(&wrong, &[noted("a", 2)]);
        assert!(
            matches!(result, Err(SessionError::Lost { .. })),
            "{result:?}"
        );
    }
    assert_eq!(store.events(&one.session).expect("events").len(), 1);
}

pub fn latest_session_comes_first(store: &dyn SessionStore) {
    let [a, b, c] = [1, 2, 3].map(|at| create(store, "p", None, at));
    let order = |leases: [&Lease; 3]| leases.map(|lease| lease.session.clone());
    assert_eq!(ids(store, &all()), order([&c, &b, &a]));
    store.append(&a, &[noted("a", 4)]).expect("appends");
    assert_eq!(ids(store, &all()), order([&a, &c, &b]));
    // An empty append changes nothing.
    store.append(&b, &[]).expect("appends");
    store.release(Lease::new(c.session.clone(), c.token, c.position()));
    assert_eq!(ids(store, &all()), order([&a, &c, &b]));
    let limited = |limit| ids(store, &SessionQuery { limit, ..all() });
    assert_eq!(limited(2), order([&a, &c, &b])[..2]);
    assert_eq!(limited(0).len(), 0);
    assert_eq!(limited(usize::MAX).len(), 3);
}

pub fn clock_set_back_does_not_reorder(store: &dyn SessionStore) {
    let first = create(store, "p", None, 1_000);
    let events: Vec<_> = [900, 1_100, i64::MIN, 0, i64::MAX, 5]
        .map(|at| noted(format!("{at}"), at))
        .into();
    for event in &events {
        store
            .append(&first, std::slice::from_ref(event))
            .expect("appends");
    }
    assert_eq!(store.events(&first.session).expect("events")[1..], events);
    let second = create(store, "p", None, -7);
    assert_eq!(
        ids(store, &all()),
        [second.session.clone(), first.session.clone()]
    );
    let summary = &list(store, &all())[1];
    assert_eq!(
        (summary.started, summary.updated, summary.events),
        (1_000, 5, 7)
    );
}

pub fn lists_filter_by_project_and_parent(store: &dyn SessionStore) {
    let a = create(store, "p", None, 1);
    let b = create(store, "q", None, 2);
    let of_a = create(store, "p", Some(&a.session), 3);
    let of_that = create(store, "p", Some(&of_a.session), 4);
    let elsewhere = create(store, "q", Some(&a.session), 5);
    let query = |project: Option<&str>, parent: Option<&Lease>| SessionQuery {
        project: project.map(Box::from),
        parent: parent.map(|lease| lease.session.clone()),
        limit: 10,
    };
    let sessions = |leases: &[&Lease]| -> Vec<_> {
        leases.iter().map(|lease| lease.session.clone()).collect()
    };
    assert_eq!(ids(store, &query(None, None)), sessions(&[&b, &a]));
    assert_eq!(ids(store, &query(Some("p"), None)), sessions(&[&a]));
    assert_eq!(ids(store, &query(Some("r"), None)), sessions(&[]));
    let count = |project: &str| store.count(project).expect("counts");
    assert_eq!((count("p"), count("q"), count("r")), (1, 1, 0));
    assert_eq!(
        ids(store, &query(None, Some(&a))),
        sessions(&[&elsewhere, &of_a])
    );
    assert_eq!(ids(store, &query(Some("p"), Some(&a))), sessions(&[&of_a]));
    assert_eq!(ids(store, &query(None, Some(&of_a))), sessions(&[&of_that]));
    assert_eq!(ids(store, &query(None, Some(&b))), sessions(&[]));
    let parent = list(store, &query(None, Some(&of_a)))[0].parent.clone();
    assert_eq!(parent, Some(of_a.session.clone()));
}

pub fn ending_lasts_until_session_continues(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let ending = || list(store, &all())[0].ending;
    assert_eq!(ending(), None);
    store
        .append(&lease, &[noted("a", 2), ended(Ending::Answered, 3)])
        .expect("appends");
    assert_eq!(ending(), Some(EndingKind::Answered));
    // This event has no effect.
    let listed = StampedEvent {
        at: 4,
        event: Event::Listed(SkillListing::default()),
    };
    store.append(&lease, &[listed]).expect("appends");
    assert_eq!(ending(), Some(EndingKind::Answered));
    store.append(&lease, &[noted("b", 5)]).expect("appends");
    assert_eq!(ending(), None);
    let last = [
        ended(Ending::Answered, 6),
        noted("c", 7),
        ended(Ending::Cancelled, 8),
    ];
    store.append(&lease, &last).expect("appends");
    assert_eq!(ending(), Some(EndingKind::Cancelled));
}

pub fn list_marks_live_sessions(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let id = lease.session.clone();
    let live = || list(store, &all())[0].live;
    assert!(live());
    store.release(lease);
    assert!(!live());
    let lease = store.take(&id).expect("takes");
    assert!(live());
    store.release(lease);
    assert!(!live());
}

pub fn ids_are_short_and_unique(store: &dyn SessionStore) {
    let leases: Vec<_> = (0..100).map(|at| create(store, "p", None, at)).collect();
    let mut ids: Vec<_> = leases.iter().map(|lease| lease.session.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 100);
    for id in ids {
        assert!((8..=12).contains(&id.len()), "{id}");
        assert!(
            id.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()),
            "{id}"
        );
    }
}

pub fn prefix_finds_a_session(store: &dyn SessionStore) {
    let id = create(store, "p", None, 1).session;
    let found = |beginning: &str| store.find(beginning).expect("is found");
    for length in 1..=id.len() {
        assert_eq!(found(&id[..length]), id);
    }
    assert_eq!(found(&id.to_ascii_uppercase()), id);
    assert_not_found(store.find(""), "");
    assert_not_found(store.find("%"), "%");
    assert_not_found(store.find(&format!("{id}0")), &format!("{id}0"));
    // A prefix is enough to find it, not to take it.
    let beginning = &id[..4];
    assert_not_found(store.take(beginning), beginning);
    let Err(SessionError::NotFound { near, .. }) = store.events(beginning) else {
        panic!("it is not the whole id");
    };
    assert_eq!(near, [id]);
}

pub fn ambiguous_prefix_finds_none(store: &dyn SessionStore) {
    // More than there are characters, so that two share a prefix.
    let mut ids: Vec<_> = (0..40)
        .map(|at| create(store, "p", None, at).session)
        .collect();
    ids.sort();
    let first = |id: &str| id.as_bytes()[0];
    let pair = ids
        .windows(2)
        .find(|pair| first(&pair[0]) == first(&pair[1]))
        .expect("a pair");
    let beginning = &pair[0][..1];
    let Err(SessionError::NotFound { asked, near }) = store.find(beginning) else {
        panic!("it is not clear");
    };
    assert_eq!(&*asked, beginning);
    let expected: Vec<_> = ids
        .iter()
        .filter(|id| id.starts_with(beginning))
        .take(10)
        .cloned()
        .collect();
    assert_eq!(near, expected);
    for id in &ids {
        assert_eq!(store.find(id).expect("is found"), *id);
    }
}

pub fn sub_runs_are_removed_with_their_session(store: &dyn SessionStore) {
    let stay = create(store, "p", None, 1);
    let parent = create(store, "p", None, 2);
    let child = create(store, "p", Some(&parent.session), 3);
    let grandchild = create(store, "p", Some(&child.session), 4);
    let sibling = create(store, "p", Some(&parent.session), 5);
    let gone = [&parent, &child, &grandchild, &sibling].map(|lease| lease.session.clone());
    for lease in [parent, child, grandchild, sibling] {
        store.release(lease);
    }
    assert_eq!(store.remove(&gone[0]).expect("removes"), 4);
    for id in &gone {
        assert_not_found(store.events(id), id);
        assert_not_found(store.take(id), id);
    }
    assert_not_found(store.remove(&gone[0]), &gone[0]);
    assert_eq!(ids(store, &all()), std::slice::from_ref(&stay.session));
    assert_eq!(store.events(&stay.session).expect("events").len(), 1);
}

pub fn session_in_use_is_not_removed(store: &dyn SessionStore) {
    let parent = create(store, "p", None, 1);
    let id = parent.session.clone();
    let child = create(store, "p", Some(&id), 2);
    let child_id = child.session.clone();
    store.release(parent);
    assert_in_use(store.remove(&id), &child_id);
    assert_in_use(store.remove(&child_id), &child_id);
    assert_eq!(
        store.events(&id).expect("events").len(),
        1,
        "nothing is removed"
    );
    store.append(&child, &[noted("a", 3)]).expect("appends");
    store.release(child);
    assert_eq!(store.remove(&child_id).expect("removes"), 1);
    assert_eq!(store.remove(&id).expect("removes"), 1);
    assert_eq!(list(store, &all()), []);
}

pub fn threads_write_their_own_sessions(store: &dyn SessionStore) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let lease = create(store, "p", None, thread);
                let events: Vec<_> = (0..20)
                    .map(|number| noted(format!("{thread} {number}"), number))
                    .collect();
                for pair in events.chunks(2) {
                    store.append(&lease, pair).expect("appends");
                }
                assert_eq!(store.events(&lease.session).expect("events")[1..], events);
            });
        }
    });
    let counts: Vec<_> = list(store, &all())
        .iter()
        .map(|summary| summary.events)
        .collect();
    assert_eq!(counts, [21; 4]);
}

pub fn one_of_many_threads_gets_the_lease(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let id = lease.session.clone();
    store.release(lease);
    let taken = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| store.take(&id))).collect();
        let results = tries.into_iter().map(|thread| thread.join().expect("ends"));
        results.flatten().count()
    });
    assert_eq!(taken, 1);
}

pub fn repeated_append_writes_once(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    assert_eq!(lease.position(), 1);
    let events = [noted("a", 2), questioned("q1", None, 3), noted("b", 4)];
    store.append(&lease, &events).expect("appends");
    assert_eq!(lease.position(), 4);
    // The writer has not seen the answer of the store, so it repeats the write.
    let again = Lease::new(lease.session.clone(), lease.token, 1);
    store.append(&again, &events).expect("repeats");
    assert_eq!(again.position(), 4);
    assert_eq!(store.events(&lease.session).expect("events")[1..], events);
    assert_eq!(list(store, &all())[0].events, 4);
    assert_eq!(asked_ids(store, None), ["q1".into()]);
    store.append(&again, &[noted("c", 5)]).expect("appends");
    assert_eq!(store.events(&lease.session).expect("events").len(), 5);
    let id = lease.session.clone();
    store.release(lease);
    assert_eq!(store.take(&id).expect("takes").position(), 5);
}

pub fn append_at_another_position_is_refused(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let events = [noted("a", 2), noted("b", 3)];
    store.append(&lease, &events).expect("appends");
    for (position, events) in [
        (1, vec![noted("a", 2), noted("other", 3)]),
        (1, vec![noted("a", 2), noted("b", 3), noted("c", 4)]),
        (2, vec![noted("a", 2)]),
        (0, vec![noted("a", 2)]),
        (4, vec![noted("c", 4)]),
        (u64::MAX, vec![noted("c", 4)]),
    ] {
        let wrong = Lease::new(lease.session.clone(), lease.token, position);
        let result = store.append(&wrong, &events);
        let Err(SessionError::Position {
            session,
            expected,
            found,
        }) = result
        else {
            panic!("{position}: {result:?}")
        };
        assert_eq!(
            (session, expected, found),
            (lease.session.clone(), position, 3)
        );
        assert_eq!(wrong.position(), position);
    }
    assert_eq!(store.events(&lease.session).expect("events")[1..], events);
    store.append(&lease, &[noted("c", 4)]).expect("appends");
}

pub fn append_after_the_lease_was_lost_is_refused(store: &dyn SessionStore) {
    let old = create(store, "p", None, 1);
    let (id, token) = (old.session.clone(), old.token);
    store.append(&old, &[noted("a", 2)]).expect("appends");
    store.release(old);
    let new = store.take(&id).expect("takes");
    assert_eq!(new.position(), 2);
    // A repetition of a write that is stored is refused as well: the lease is another's.
    for (position, event) in [(1, noted("a", 2)), (2, noted("b", 3))] {
        let lost = store.append(&Lease::new(id.clone(), token, position), &[event]);
        assert!(matches!(lost, Err(SessionError::Lost { .. })), "{lost:?}");
    }
    store.append(&new, &[noted("c", 4)]).expect("appends");
    assert_eq!(store.events(&id).expect("events").len(), 3);
}

pub fn questions_are_listed_oldest_first(store: &dyn SessionStore) {
    let (one, two) = (create(store, "p", None, 1), create(store, "q", None, 2));
    // The order is that of asking, even if the clock is set back.
    for (lease, id, call, at) in [
        (&one, "b-1", "c1", 9),
        (&two, "a-1", "c1", 5),
        (&one, "b-2", "c2", 1),
    ] {
        store
            .append(lease, &[questioned(id, Some(call), at)])
            .expect("appends");
    }
    let ids = |ids: &[&str]| ids.iter().map(|id| Box::from(*id)).collect::<Vec<_>>();
    assert_eq!(asked_ids(store, None), ids(&["b-1", "a-1", "b-2"]));
    assert_eq!(asked_ids(store, Some("p")), ids(&["b-1", "b-2"]));
    assert_eq!(asked_ids(store, Some("r")), ids(&[]));
    let first = OpenQuestion {
        question: question("b-1", Some("c1")),
        session: one.session.clone(),
        root: one.session.clone(),
        project: "p".into(),
        at: 9,
    };
    assert_eq!(asked(store, None)[0], first);
    let limited = QuestionQuery {
        project: None,
        limit: 2,
    };
    assert_eq!(store.questions(&limited).expect("a list").len(), 2);
}

pub fn first_answer_counts(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    store
        .append(&lease, &[questioned("q1", Some("c1"), 2)])
        .expect("appends");
    let no = Answer {
        answer: RecordedAnswer::No,
        because: Some("not „today“".into()),
        ..yes("ada", 7)
    };
    // Another process holds the session; answering needs no lease.
    assert_eq!(
        store.answer("q1", &no).expect("stores"),
        AnswerOutcome::Stored
    );
    assert_eq!(state(store, "q1"), QuestionState::Answered(no.clone()));
    assert_eq!(asked(store, None), []);
    for who in ["bob", "ada"] {
        let second = store.answer("q1", &yes(who, 8)).expect("is told");
        assert_eq!(second, AnswerOutcome::AlreadyAnswered(no.clone()));
    }
    // The answer is not an event: only the holder of the session writes those.
    assert_eq!(store.events(&lease.session).expect("events").len(), 2);
    store
        .append(&lease, &[call_ended("c1", 9)])
        .expect("appends");
    let late = store.answer("q1", &yes("bob", 10)).expect("is told");
    assert_eq!(late, AnswerOutcome::AlreadyAnswered(no));
}

pub fn one_of_many_threads_answers(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    store
        .append(&lease, &[questioned("q1", Some("c1"), 2)])
        .expect("appends");
    let answer = |at: i64| {
        let who = format!("person {at}");
        let outcome = store.answer("q1", &yes(&who, at)).expect("answers");
        (who, outcome)
    };
    let answer = &answer;
    let outcomes: Vec<(String, AnswerOutcome)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || answer(at))).collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().expect("ends"));
        ended.collect()
    });
    let stored = |(_, outcome): &&(String, AnswerOutcome)| *outcome == AnswerOutcome::Stored;
    let first: Vec<_> = outcomes.iter().filter(stored).collect();
    assert_eq!(first.len(), 1, "{outcomes:?}");
    let QuestionState::Answered(answer) = state(store, "q1") else {
        panic!("it has an answer")
    };
    assert_eq!(*answer.who, *first[0].0);
    for (who, outcome) in outcomes.iter().filter(|(who, _)| **who != *answer.who) {
        assert_eq!(
            *outcome,
            AnswerOutcome::AlreadyAnswered(answer.clone()),
            "{who}"
        );
    }
}

pub fn question_is_gone_when_its_call_ends(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let events = [
        questioned("q1", Some("c1"), 2),
        questioned("q2", Some("c2"), 3),
        call_ended("c1", 4),
    ];
    store.append(&lease, &events).expect("appends");
    assert_gone(store, "q1", "call ended");
    assert_eq!(asked_ids(store, None), ["q2".into()]);
}

pub fn question_is_gone_when_its_session_ends(store: &dyn SessionStore) {
    let (lease, other) = (create(store, "p", None, 1), create(store, "p", None, 1));
    for (lease, id) in [(&lease, "q1"), (&other, "q2")] {
        store
            .append(lease, &[questioned(id, Some("c1"), 2)])
            .expect("appends");
    }
    store
        .append(&lease, &[ended(Ending::Cancelled, 3)])
        .expect("appends");
    assert_gone(store, "q1", "cancelled");
    assert_eq!(asked_ids(store, None), ["q2".into()]);
}

pub fn waiting_session_keeps_its_question(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let id = lease.session.clone();
    let waiting = Ending::Waiting {
        questions: vec!["q1".into()],
    };
    let events = [questioned("q1", Some("c1"), 2), ended(waiting, 3)];
    store.append(&lease, &events).expect("appends");
    store.release(lease);
    assert_eq!(asked_ids(store, None), ["q1".into()]);
    assert_eq!(list(store, &all())[0].ending, Some(EndingKind::Waiting));
    let answered = store.answer("q1", &yes("ada", 4)).expect("answers");
    assert_eq!(answered, AnswerOutcome::Stored);
    assert_eq!(list(store, &all())[0].ending, Some(EndingKind::Waiting));
    store
        .take(&id)
        .expect("an answer does not lease the session");
}

pub fn changed_question_replaces_the_open_one(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let events = [
        questioned("q1", Some("c1"), 2),
        questioned("q2", Some("c1"), 3),
        questioned("q3", Some("c2"), 4),
        questioned("q4", None, 5),
        questioned("q5", None, 6),
    ];
    store.append(&lease, &events).expect("appends");
    assert_gone(store, "q1", "q2");
    assert_gone(store, "q4", "q5");
    let open = ["q2", "q3", "q5"].map(Box::from);
    assert_eq!(asked_ids(store, None), open);
}

pub fn answer_in_the_record_counts_in_the_inbox(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let answered = |who: &str, at| StampedEvent {
        at,
        event: Event::Answered {
            question: "q1".into(),
            answer: RecordedAnswer::Once,
            because: None,
            who: who.into(),
        },
    };
    let events = [questioned("q1", Some("c1"), 2), answered("terminal", 3)];
    store.append(&lease, &events).expect("appends");
    let first = yes("terminal", 3);
    let second = store.answer("q1", &yes("bob", 4)).expect("is told");
    assert_eq!(second, AnswerOutcome::AlreadyAnswered(first.clone()));
    store
        .append(&lease, &[answered("bob", 5)])
        .expect("appends");
    assert_eq!(state(store, "q1"), QuestionState::Answered(first));
    // A session cannot answer the question of another.
    let other = create(store, "p", None, 1);
    store
        .append(&lease, &[questioned("q2", Some("c1"), 6)])
        .expect("appends");
    let foreign = StampedEvent {
        at: 7,
        event: Event::Answered {
            question: "q2".into(),
            answer: RecordedAnswer::Once,
            because: None,
            who: "other".into(),
        },
    };
    store.append(&other, &[foreign]).expect("appends");
    assert_eq!(state(store, "q2"), QuestionState::Open);
}

pub fn first_text_answer_counts(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let asks = |id: &str, call: &str| StampedEvent {
        at: 2,
        event: Event::Questioned(Box::new(text_question(id, Some(call), None))),
    };
    store
        .append(
            &lease,
            &[asks("q1", "c1"), asks("q2", "c2"), asks("q3", "c3")],
        )
        .expect("appends");
    assert_eq!(
        asked(store, None)[0].question,
        text_question("q1", Some("c1"), None)
    );
    let first = text(&["blue\u{1b}", "no", "\"red\", 'x'\n"], "ada", 3);
    assert_eq!(
        store.answer("q1", &first).expect("stores"),
        AnswerOutcome::Stored
    );
    for later in [text(&["red"], "bob", 4), first.clone(), yes("bob", 5)] {
        let second = store.answer("q1", &later).expect("is told");
        assert_eq!(second, AnswerOutcome::AlreadyAnswered(first.clone()));
    }
    assert_eq!(state(store, "q1"), QuestionState::Answered(first.clone()));
    // Texts that look like the words of an approval stay texts.
    for (id, words) in [("q2", &["no"][..]), ("q3", &["once", "\"no\""])] {
        let answer = text(words, "ada", 6);
        let stored = store.answer(id, &answer).expect("stores");
        assert_eq!(stored, AnswerOutcome::Stored);
        assert_eq!(state(store, id), QuestionState::Answered(answer));
    }
    // The answer is reported after its call ended, too.
    store
        .append(&lease, &[call_ended("c1", 9)])
        .expect("appends");
    let late = store
        .answer("q1", &text(&["red"], "bob", 10))
        .expect("is told");
    assert_eq!(late, AnswerOutcome::AlreadyAnswered(first));
}

pub fn answer_after_the_deadline_does_not_count(store: &dyn SessionStore) {
    const SECOND: i64 = 1_000_000_000;
    let lease = create(store, "p", None, 1);
    let asked_at = 5 * SECOND;
    for (id, call, seconds) in [
        ("q1", "c1", Some(60)),
        ("q2", "c2", Some(60)),
        ("q3", "c3", None),
        ("q4", "c4", Some(u64::MAX)),
    ] {
        let event = Event::Questioned(Box::new(text_question(id, Some(call), seconds)));
        let event = StampedEvent {
            at: asked_at,
            event,
        };
        store.append(&lease, &[event]).expect("appends");
    }
    let (last, late) = (asked_at + 60 * SECOND, asked_at + 60 * SECOND + 1);
    let gone = store.answer("q1", &text(&["red"], "ada", late));
    let AnswerOutcome::Gone { why } = gone.expect("is told") else {
        panic!("it is too late")
    };
    assert!(why.contains("deadline"), "{why}");
    // Nothing was stored: the session decides what it does without an answer.
    assert_eq!(state(store, "q1"), QuestionState::Open);
    assert!(asked(store, None)[0].is_expired(late));
    let in_time = text(&["red"], "ada", last);
    for id in ["q2", "q1"] {
        let stored = store.answer(id, &in_time).expect("stores");
        assert_eq!(stored, AnswerOutcome::Stored);
    }
    let second = store.answer("q2", &text(&["red"], "bob", late));
    assert_eq!(
        second.expect("is told"),
        AnswerOutcome::AlreadyAnswered(in_time)
    );
    for id in ["q3", "q4"] {
        let stored = store.answer(id, &text(&["red"], "ada", i64::MAX - 1));
        assert_eq!(stored.expect("stores"), AnswerOutcome::Stored, "{id}");
    }
}

/// Records of the versions before questions had kinds.
pub fn question_of_older_version_is_read(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let old = [
        r#"{"at":2,"event":"questioned","id":"q1","call":"c1","digest":"d","what":"mkdir a","reason":"r"}"#,
        r#"{"at":3,"event":"questioned","id":"q2","call":"c2","digest":"d","what":"mkdir b","reason":"r","kind":"approval"}"#,
        r#"{"at":4,"event":"answered","question":"q2","answer":"once","who":"ada"}"#,
    ];
    let old = old.map(|text| serde_json::from_str::<StampedEvent>(text).expect("an event"));
    store.append(&lease, &old).expect("appends");
    assert_eq!(store.events(&lease.session).expect("events")[1..], old);
    let open = asked(store, None);
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].question.kind, QuestionKind::Approval);
    assert!(!open[0].is_expired(i64::MAX) && open[0].text().is_none());
    assert_eq!(state(store, "q2"), QuestionState::Answered(yes("ada", 4)));
    // What this version writes about an approval is what the older ones wrote.
    let written = serde_json::to_value(&old[1]).expect("JSON");
    assert_eq!(written["kind"], "approval");
    let written = serde_json::to_value(&old[2]).expect("JSON");
    assert_eq!(written["answer"], "once");
}

pub fn question_is_found_by_prefix(store: &dyn SessionStore) {
    let lease = create(store, "p", None, 1);
    let events = [
        questioned("abc-1", Some("c1"), 2),
        call_ended("c1", 3),
        questioned("abc-2", Some("c2"), 4),
        questioned("xyz-1", Some("c3"), 5),
        questioned("abc-10", Some("c4"), 6),
        call_ended("c4", 7),
    ];
    store.append(&lease, &events).expect("appends");
    let found = |prefix: &str| store.question(prefix).expect("is found").asked.question.id;
    assert_eq!(&*found("abc-1"), "abc-1", "an exact id");
    assert_eq!(&*found("abc"), "abc-2", "the only open one");
    assert_eq!(&*found("X"), "xyz-1");
    for (prefix, near) in [("abc-1x", "abc-1"), ("xyz-2", "xyz-1")] {
        match store.question(prefix) {
            Err(SessionError::NoQuestion { asked, near: found }) => {
                assert_eq!((&*asked, found), (prefix, vec![near.into()]));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(is_no_question(store.question("").map(|_| ()), ""));
    // A prefix is enough to find it, not to answer it.
    assert!(is_no_question(
        store.answer("abc", &yes("a", 1)).map(|_| ()),
        "abc"
    ));
}

pub fn questions_are_removed_with_their_session(store: &dyn SessionStore) {
    let parent = create(store, "p", None, 1);
    let child = create(store, "p", Some(&parent.session), 2);
    let id = parent.session.clone();
    for (lease, question) in [(&parent, "q1"), (&child, "q2")] {
        store
            .append(lease, &[questioned(question, None, 3)])
            .expect("appends");
    }
    store.release(parent);
    store.release(child);
    assert_eq!(store.remove(&id).expect("removes"), 2);
    assert_eq!(asked(store, None), []);
    for question in ["q1", "q2"] {
        let answered = store.answer(question, &yes("ada", 4)).map(|_| ());
        assert!(is_no_question(answered, question));
    }
}

pub fn question_of_sub_run_names_the_root(store: &dyn SessionStore) {
    let root = create(store, "p", None, 1);
    let child = create(store, "p", Some(&root.session), 2);
    let grandchild = create(store, "p", Some(&child.session), 3);
    store
        .append(&grandchild, &[questioned("q1", None, 4)])
        .expect("appends");
    let asked = &asked(store, None)[0];
    assert_eq!(
        (&asked.session, &asked.root),
        (&grandchild.session, &root.session)
    );
}
