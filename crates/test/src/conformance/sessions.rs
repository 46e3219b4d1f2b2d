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
    MessageRole, ParentSession, RecordedVerdict, RunLimits, SkillHint, SkillListing, StampedEvent,
    Started, TokenUsage, VERSION,
};
use prowess_traits::{Lease, MAX_EVENT, SessionError, SessionQuery, SessionStore, SessionSummary};

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
        result: None,
        tools: None,
        agents: Vec::new(),
        agent: None,
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
        Err(SessionError::InUse { session, process }) => {
            assert_eq!((&*session, process), (id, std::process::id()));
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
            let lease = Lease {
                session: name.into(),
                token: 7,
            };
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
        }),
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
    let copy = || Lease {
        session: id.clone(),
        token: old.token,
    };
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
        let wrong = Lease {
            session: one.session.clone(),
            token,
        };
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
    store.release(Lease {
        session: c.session.clone(),
        token: c.token,
    });
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
