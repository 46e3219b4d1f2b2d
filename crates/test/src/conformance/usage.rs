//! What every [`UsageStore`] must do. The names r01 to r19 are the cases of Planck's ranking; those
//! of the order alone are in `crates/catalog/src/rank/tests.rs`.
//!
//! A new implementation is one line in its tests: `prowess_test::usage_conformance!(make());`
//! where `make` gives a store and whatever must live as long as it.

#![expect(clippy::expect_used, reason = "a test speaks by panicking")]

use prowess_catalog::rank::{UseOutcome, UseOutcomes, union};
use prowess_traits::usage::{Field, MAX_AGENTS, MAX_NAME, MAX_PROJECT};
use prowess_traits::{Forget, Summary, UsageError, UsageQuery, UsageRow, UsageStore, Use, Whose};

/// Makes one test of each case. The expression gives a new, empty store each time, and what it
/// needs to live.
#[macro_export]
macro_rules! usage_conformance {
    ($make:expr) => {
        $crate::usage_conformance_valid!($make);

        $crate::usage_conformance!(@cases $make,
            names_are_bounded,
        );
    };
    (@cases $make:expr, $($case:ident,)*) => {
        $(
            #[test]
            fn $case() {
                let (store, _guard) = $make;
                $crate::conformance::usage::$case(&store);
            }
        )*
    };
}

/// Like `usage_conformance`, for a store that keeps its errors to itself.
#[macro_export]
macro_rules! usage_conformance_valid {
    ($make:expr) => {
        $crate::usage_conformance!(@cases $make,
            r02_a_row_grows,
            r03_skills_agents_teams_and_projects_are_apart,
            r04_unknown_is_empty,
            r05_the_latest_comes_first,
            r06_the_limit_is_respected,
            r10_the_union_of_an_empty_store_is_empty,
            r11_no_orchestrator_rows,
            r12_the_union_has_all_orchestrators,
            r13_other_roles_are_left_out,
            r14_other_teams_are_left_out,
            r15_the_union_adds_up,
            r16_the_union_is_limited,
            outcomes_are_counted,
            the_role_is_the_latest,
            a_summary_adds_up,
            forgetting,
            extremes_are_kept,
        );
    };
}

fn by(team: &str, agent: &str, agent_type: &str, skill: &str, at: i64) -> Use {
    Use {
        team: team.into(),
        agent: agent.into(),
        agent_type: agent_type.into(),
        ..Use::new("p", skill, at)
    }
}

fn record(store: &dyn UsageStore, uses: &[Use]) {
    for used in uses {
        store.record(used).expect("records");
    }
}

fn rows(store: &dyn UsageStore, query: &UsageQuery) -> Vec<UsageRow> {
    store.rows(query).expect("rows")
}

fn skills(store: &dyn UsageStore, query: &UsageQuery) -> Vec<String> {
    rows(store, query)
        .into_iter()
        .map(|row| row.usage.skill.into())
        .collect()
}

fn all() -> UsageQuery {
    UsageQuery {
        project: None,
        ..UsageQuery::project("")
    }
}

pub fn r02_a_row_grows(store: &dyn UsageStore) {
    record(
        store,
        &[
            Use::new("p", "a", 10),
            Use::new("p", "a", 30),
            Use::new("p", "a", 20),
        ],
    );
    let rows = rows(store, &UsageQuery::agent("p", "default", "orchestrator"));
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0].usage.count, rows[0].usage.last_used), (3, 30));
    assert!((rows[0].usage.score - 3.0).abs() < 1e-9, "{rows:?}");
}

pub fn r03_skills_agents_teams_and_projects_are_apart(store: &dyn UsageStore) {
    let worker = by("t", "w", "worker", "a", 1);
    record(
        store,
        &[
            worker.clone(),
            Use {
                skill: "b".into(),
                ..worker.clone()
            },
            Use {
                agent: "v".into(),
                ..worker.clone()
            },
            Use {
                team: "u".into(),
                ..worker.clone()
            },
            Use {
                project: "q".into(),
                ..worker
            },
        ],
    );
    assert_eq!(skills(store, &UsageQuery::agent("p", "t", "w")), ["a", "b"]);
    assert_eq!(skills(store, &UsageQuery::agent("p", "t", "v")), ["a"]);
    assert_eq!(skills(store, &UsageQuery::agent("p", "u", "w")), ["a"]);
    assert_eq!(skills(store, &UsageQuery::agent("q", "t", "w")), ["a"]);
    assert_eq!(rows(store, &UsageQuery::project("p")).len(), 4);
    let everywhere = rows(store, &all());
    assert_eq!(everywhere.len(), 5);
    assert!(everywhere.iter().all(|row| row.usage.count == 1));
}

pub fn r04_unknown_is_empty(store: &dyn UsageStore) {
    assert_eq!(rows(store, &all()), []);
    assert_eq!(
        store.summary(None, 10).expect("a summary"),
        Summary::default()
    );
    assert_eq!(
        store.forget(&Forget::default()).expect("nothing to forget"),
        0
    );
    store
        .settle(&Use::new("p", "a", 1))
        .expect("nothing to settle");
    record(store, &[Use::new("p", "a", 1)]);
    assert_eq!(
        rows(store, &UsageQuery::agent("p", "default", "nobody")),
        []
    );
    assert_eq!(
        rows(store, &UsageQuery::agent("p", "no-team", "orchestrator")),
        []
    );
    assert_eq!(rows(store, &UsageQuery::project("nowhere")), []);
    // Names are compared as they are, case and all.
    assert_eq!(rows(store, &UsageQuery::project("P")), []);
}

pub fn r05_the_latest_comes_first(store: &dyn UsageStore) {
    record(
        store,
        &[
            Use::new("p", "often", 1),
            Use::new("p", "often", 2),
            Use::new("p", "late", 9),
            Use::new("p", "c", 5),
            Use::new("p", "b", 5),
            Use::new("p", "d", 5),
            Use::new("p", "d", 5),
        ],
    );
    assert_eq!(
        skills(store, &UsageQuery::project("p")),
        ["late", "d", "b", "c", "often"]
    );
}

pub fn r06_the_limit_is_respected(store: &dyn UsageStore) {
    record(
        store,
        &[
            Use::new("p", "a", 1),
            Use::new("p", "b", 2),
            Use::new("p", "c", 3),
        ],
    );
    let limited = |limit: usize| UsageQuery {
        limit,
        ..UsageQuery::project("p")
    };
    assert_eq!(skills(store, &limited(0)), [""; 0]);
    assert_eq!(skills(store, &limited(2)), ["c", "b"]);
    assert_eq!(skills(store, &limited(usize::MAX)), ["c", "b", "a"]);
}

pub fn r10_the_union_of_an_empty_store_is_empty(store: &dyn UsageStore) {
    assert_eq!(rows(store, &UsageQuery::orchestrators("p", "t")), []);
}

pub fn r11_no_orchestrator_rows(store: &dyn UsageStore) {
    record(store, &[by("t", "w", "worker", "a", 1)]);
    assert_eq!(rows(store, &UsageQuery::orchestrators("p", "t")), []);
}

pub fn r12_the_union_has_all_orchestrators(store: &dyn UsageStore) {
    record(
        store,
        &[
            by("t", "o1", "orchestrator", "a", 1),
            by("t", "o2", "orchestrator", "b", 2),
        ],
    );
    assert_eq!(
        skills(store, &UsageQuery::orchestrators("p", "t")),
        ["b", "a"]
    );
}

pub fn r13_other_roles_are_left_out(store: &dyn UsageStore) {
    record(
        store,
        &[
            by("t", "o", "orchestrator", "a", 1),
            by("t", "w", "worker", "b", 2),
        ],
    );
    assert_eq!(skills(store, &UsageQuery::orchestrators("p", "t")), ["a"]);
    let workers = UsageQuery {
        whose: Whose::Type("worker".into()),
        ..UsageQuery::project("p")
    };
    assert_eq!(skills(store, &workers), ["b"]);
}

pub fn r14_other_teams_are_left_out(store: &dyn UsageStore) {
    record(
        store,
        &[
            by("t", "o", "orchestrator", "a", 1),
            by("u", "o", "orchestrator", "b", 2),
        ],
    );
    assert_eq!(skills(store, &UsageQuery::orchestrators("p", "t")), ["a"]);
}

pub fn r15_the_union_adds_up(store: &dyn UsageStore) {
    record(
        store,
        &[
            by("t", "o1", "orchestrator", "a", 1),
            by("t", "o1", "orchestrator", "a", 2),
            by("t", "o2", "orchestrator", "a", 9),
        ],
    );
    let rows = rows(store, &UsageQuery::orchestrators("p", "t"));
    let sum = union(rows.iter().map(|row| &row.usage));
    assert_eq!(sum.len(), 1);
    assert_eq!((sum[0].count, sum[0].last_used), (3, 9));
}

pub fn r16_the_union_is_limited(store: &dyn UsageStore) {
    for (skill, at) in [("a", 1), ("b", 2), ("c", 3)] {
        record(store, &[by("t", "o", "orchestrator", skill, at)]);
    }
    let query = UsageQuery {
        limit: 2,
        ..UsageQuery::orchestrators("p", "t")
    };
    assert_eq!(skills(store, &query), ["c", "b"]);
}

pub fn outcomes_are_counted(store: &dyn UsageStore) {
    let ended = |outcome: Option<UseOutcome>| Use {
        outcome,
        ..Use::new("p", "a", 5)
    };
    for outcome in [
        UseOutcome::Done,
        UseOutcome::Done,
        UseOutcome::Failed,
        UseOutcome::Refused,
    ] {
        record(store, &[ended(Some(outcome))]);
    }
    record(store, &[ended(None)]);
    // The end of the last one becomes known later: no further use, no later time.
    store
        .settle(&Use {
            at: 99,
            ..ended(Some(UseOutcome::Failed))
        })
        .expect("settles");
    store.settle(&ended(None)).expect("settles nothing");
    let rows = rows(store, &UsageQuery::project("p"));
    assert_eq!((rows[0].usage.count, rows[0].usage.last_used), (5, 5));
    assert_eq!(
        rows[0].usage.outcomes,
        UseOutcomes {
            done: 2,
            failed: 2,
            refused: 1
        }
    );
}

pub fn the_role_is_the_latest(store: &dyn UsageStore) {
    record(
        store,
        &[
            by("t", "x", "worker", "a", 1),
            by("t", "x", "orchestrator", "a", 2),
        ],
    );
    let rows = rows(store, &UsageQuery::orchestrators("p", "t"));
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].usage.count, 2);
}

pub fn a_summary_adds_up(store: &dyn UsageStore) {
    let used =
        |project: &str, agent: &str, skill: &str, at: i64, outcome: Option<UseOutcome>| Use {
            project: project.into(),
            outcome,
            ..by("t", agent, "worker", skill, at)
        };
    record(
        store,
        &[
            used("p", "w", "a", 1, Some(UseOutcome::Done)),
            used("p", "w", "a", 3, Some(UseOutcome::Failed)),
            used("q", "w", "a", 2, Some(UseOutcome::Done)),
            used("p", "v", "a", 4, None),
            used("p", "v", "b", 9, Some(UseOutcome::Refused)),
            used("p", "v", "c", 8, None),
        ],
    );
    let summary = store.summary(None, 2).expect("a summary");
    assert_eq!(summary.total, 3);
    let names: Vec<&str> = summary.skills.iter().map(|skill| &*skill.skill).collect();
    assert_eq!(names, ["a", "b"], "the most used first, then the latest");
    let first = &summary.skills[0];
    assert_eq!((first.uses, first.last_used), (4, 4));
    assert_eq!(
        first.outcomes,
        UseOutcomes {
            done: 2,
            failed: 1,
            refused: 0
        }
    );
    let agents: Vec<(&str, &str, u64)> = first
        .agents
        .iter()
        .map(|(team, agent, uses)| (&**team, &**agent, *uses))
        .collect();
    assert_eq!(agents, [("t", "w", 3), ("t", "v", 1)]);
    assert_eq!(
        store.summary(Some("q"), 9).expect("a summary").skills[0].uses,
        1
    );

    for agent in 0..MAX_AGENTS + 3 {
        record(store, &[used("many", &format!("w{agent}"), "a", 1, None)]);
    }
    let summary = store.summary(Some("many"), 9).expect("a summary");
    assert_eq!(summary.skills[0].agents.len(), MAX_AGENTS);
    assert_eq!(summary.skills[0].agent_count, MAX_AGENTS + 3);
}

pub fn forgetting(store: &dyn UsageStore) {
    let uses = [
        by("t", "w", "worker", "a", 1),
        by("t", "v", "worker", "a", 5),
        by("u", "w", "worker", "b", 9),
        Use {
            project: "q".into(),
            ..by("t", "w", "worker", "a", 9)
        },
    ];
    record(store, &uses);
    let forget = |which: Forget| store.forget(&which).expect("forgets");
    let skill = |name: &str| Some(name.into());
    assert_eq!(
        forget(Forget {
            skill: skill("none"),
            ..Forget::default()
        }),
        0
    );
    assert_eq!(
        forget(Forget {
            before: Some(5),
            ..Forget::default()
        }),
        1
    );
    let both = Forget {
        project: skill("p"),
        skill: skill("a"),
        ..Forget::default()
    };
    assert_eq!(forget(both), 1);
    let whose = Forget {
        team: skill("u"),
        agent: skill("w"),
        ..Forget::default()
    };
    assert_eq!(forget(whose), 1);
    assert_eq!(rows(store, &all()).len(), 1);
    assert_eq!(forget(Forget::default()), 1);
    assert_eq!(rows(store, &all()), []);
    record(store, &uses);
    assert_eq!(rows(store, &all()).len(), 4);
}

pub fn extremes_are_kept(store: &dyn UsageStore) {
    let name = "ü".repeat(MAX_NAME);
    let odd = [
        "'; DROP TABLE usage; --",
        "a\0b",
        "\u{202e}x\n",
        "%_",
        &name,
    ];
    for skill in odd {
        for at in [i64::MIN, i64::MAX] {
            record(store, &[Use::new("p".repeat(MAX_PROJECT), skill, at)]);
            record(store, &[Use::new("", skill, at)]);
        }
    }
    let rows = rows(store, &UsageQuery::project(""));
    let mut found: Vec<&str> = rows.iter().map(|row| &*row.usage.skill).collect();
    found.sort_unstable();
    let mut expected = odd;
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(
        rows.iter()
            .all(|row| row.usage.count == 2 && row.usage.last_used == i64::MAX)
    );
}

pub fn names_are_bounded(store: &dyn UsageStore) {
    let good = Use::new("p", "a", 1);
    let long: Box<str> = "x".repeat(MAX_NAME + 1).into();
    let huge: Box<str> = "x".repeat(MAX_PROJECT + 1).into();
    let cases = [
        (
            Use {
                skill: "".into(),
                ..good.clone()
            },
            Field::Skill,
            false,
        ),
        (
            Use {
                team: "".into(),
                ..good.clone()
            },
            Field::Team,
            false,
        ),
        (
            Use {
                agent: "".into(),
                ..good.clone()
            },
            Field::Agent,
            false,
        ),
        (
            Use {
                skill: long.clone(),
                ..good.clone()
            },
            Field::Skill,
            true,
        ),
        (
            Use {
                team: long.clone(),
                ..good.clone()
            },
            Field::Team,
            true,
        ),
        (
            Use {
                agent: long.clone(),
                ..good.clone()
            },
            Field::Agent,
            true,
        ),
        (
            Use {
                agent_type: long,
                ..good.clone()
            },
            Field::AgentType,
            true,
        ),
        (
            Use {
                project: huge,
                ..good
            },
            Field::Project,
            true,
        ),
    ];
    for (used, expected, is_long) in cases {
        for result in [store.record(&used), store.settle(&used)] {
            let as_expected = match result {
                Err(UsageError::Empty { field }) => !is_long && field == expected,
                Err(UsageError::TooLong { field, .. }) => is_long && field == expected,
                _ => false,
            };
            assert!(as_expected, "{expected}");
        }
    }
    assert_eq!(rows(store, &all()), []);
}

/// For a store that has room for two rows.
pub fn the_oldest_of_two_makes_room(store: &dyn UsageStore) {
    record(
        store,
        &[
            Use::new("p", "a", 5),
            Use::new("p", "b", 1),
            Use::new("p", "c", 3),
        ],
    );
    assert_eq!(skills(store, &all()), ["a", "c"]);
    // Those that are there need no room.
    record(store, &[Use::new("p", "c", 4), Use::new("p", "a", 6)]);
    assert_eq!(skills(store, &all()), ["a", "c"]);
    record(store, &[Use::new("p", "d", 2)]);
    assert_eq!(skills(store, &all()), ["a", "d"]);
}
