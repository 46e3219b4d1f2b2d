//! The conformance suite of [`UsageStore`]. The names r01 to r19 refer to the cases of Planck's
//! ranking; those about the order are in `crates/catalog/src/rank/tests.rs`.
//!
//! An implementation adds one line to its tests: `prowess_test::usage_conformance!(make());`
//! where `make` returns a store and a value that must outlive it.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use prowess_catalog::rank::{UseOutcome, UseOutcomes, union};
use prowess_traits::usage::{MAX_AGENTS, MAX_NAME, MAX_PROJECT, UsageField};
use prowess_traits::{
    AgentFilter, SkillUse, UsageError, UsageFilter, UsageQuery, UsageRow, UsageStore, UsageSummary,
};

/// Defines a test for each case. The expression returns a new, empty store and a value that must
/// outlive it.
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

/// Like `usage_conformance`, for a store that does not return errors.
#[macro_export]
macro_rules! usage_conformance_valid {
    ($make:expr) => {
        $crate::usage_conformance!(@cases $make,
            r02_uses_accumulate_in_a_row,
            r03_skills_agents_teams_and_projects_are_separate,
            r04_unknown_is_empty,
            r05_latest_comes_first,
            r06_limit_is_respected,
            r10_union_of_an_empty_store_is_empty,
            r11_no_orchestrator_rows,
            r12_union_has_all_orchestrators,
            r13_other_roles_are_left_out,
            r14_other_teams_are_left_out,
            r15_union_has_a_row_per_agent,
            r16_union_is_limited,
            outcomes_are_counted,
            latest_role_is_kept,
            summary_adds_up,
            forget_removes_matching_rows,
            extremes_are_kept,
        );
    };
}

fn by(team: &str, agent: &str, agent_type: &str, skill: &str, at: i64) -> SkillUse {
    SkillUse {
        team: team.into(),
        agent: agent.into(),
        agent_type: agent_type.into(),
        ..SkillUse::new("p", skill, at)
    }
}

fn record(store: &dyn UsageStore, uses: &[SkillUse]) {
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

pub fn r02_uses_accumulate_in_a_row(store: &dyn UsageStore) {
    record(
        store,
        &[
            SkillUse::new("p", "a", 10),
            SkillUse::new("p", "a", 30),
            SkillUse::new("p", "a", 20),
        ],
    );
    let rows = rows(store, &UsageQuery::agent("p", "default", "orchestrator"));
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0].usage.count, rows[0].usage.last_used), (3, 30));
    assert!((rows[0].usage.score - 3.0).abs() < 1e-9, "{rows:?}");
}

pub fn r03_skills_agents_teams_and_projects_are_separate(store: &dyn UsageStore) {
    let worker = by("t", "w", "worker", "a", 1);
    record(
        store,
        &[
            worker.clone(),
            SkillUse {
                skill: "b".into(),
                ..worker.clone()
            },
            SkillUse {
                agent: "v".into(),
                ..worker.clone()
            },
            SkillUse {
                team: "u".into(),
                ..worker.clone()
            },
            SkillUse {
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
        UsageSummary::default()
    );
    assert_eq!(
        store
            .forget(&UsageFilter::default())
            .expect("nothing to forget"),
        0
    );
    store
        .settle(&SkillUse::new("p", "a", 1))
        .expect("nothing to settle");
    record(store, &[SkillUse::new("p", "a", 1)]);
    assert_eq!(
        rows(store, &UsageQuery::agent("p", "default", "nobody")),
        []
    );
    assert_eq!(
        rows(store, &UsageQuery::agent("p", "no-team", "orchestrator")),
        []
    );
    assert_eq!(rows(store, &UsageQuery::project("nowhere")), []);
    // Names are case-sensitive.
    assert_eq!(rows(store, &UsageQuery::project("P")), []);
}

pub fn r05_latest_comes_first(store: &dyn UsageStore) {
    record(
        store,
        &[
            SkillUse::new("p", "often", 1),
            SkillUse::new("p", "often", 2),
            SkillUse::new("p", "late", 9),
            SkillUse::new("p", "c", 5),
            SkillUse::new("p", "b", 5),
            SkillUse::new("p", "d", 5),
            SkillUse::new("p", "d", 5),
        ],
    );
    assert_eq!(
        skills(store, &UsageQuery::project("p")),
        ["late", "d", "b", "c", "often"]
    );
}

pub fn r06_limit_is_respected(store: &dyn UsageStore) {
    record(
        store,
        &[
            SkillUse::new("p", "a", 1),
            SkillUse::new("p", "b", 2),
            SkillUse::new("p", "c", 3),
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

pub fn r10_union_of_an_empty_store_is_empty(store: &dyn UsageStore) {
    assert_eq!(rows(store, &UsageQuery::orchestrators("p", "t")), []);
}

pub fn r11_no_orchestrator_rows(store: &dyn UsageStore) {
    record(store, &[by("t", "w", "worker", "a", 1)]);
    assert_eq!(rows(store, &UsageQuery::orchestrators("p", "t")), []);
}

pub fn r12_union_has_all_orchestrators(store: &dyn UsageStore) {
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
        whose: AgentFilter::Type("worker".into()),
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

pub fn r15_union_has_a_row_per_agent(store: &dyn UsageStore) {
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

pub fn r16_union_is_limited(store: &dyn UsageStore) {
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
    let ended = |outcome: Option<UseOutcome>| SkillUse {
        outcome,
        ..SkillUse::new("p", "a", 5)
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
    // The outcome of the last use is added later, without another use or time.
    store
        .settle(&SkillUse {
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

pub fn latest_role_is_kept(store: &dyn UsageStore) {
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

pub fn summary_adds_up(store: &dyn UsageStore) {
    let used =
        |project: &str, agent: &str, skill: &str, at: i64, outcome: Option<UseOutcome>| SkillUse {
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
    assert_eq!(names, ["a", "b"], "most used first, then latest");
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

pub fn forget_removes_matching_rows(store: &dyn UsageStore) {
    let uses = [
        by("t", "w", "worker", "a", 1),
        by("t", "v", "worker", "a", 5),
        by("u", "w", "worker", "b", 9),
        SkillUse {
            project: "q".into(),
            ..by("t", "w", "worker", "a", 9)
        },
    ];
    record(store, &uses);
    let forget = |which: UsageFilter| store.forget(&which).expect("forgets");
    let skill = |name: &str| Some(name.into());
    assert_eq!(
        forget(UsageFilter {
            skill: skill("none"),
            ..UsageFilter::default()
        }),
        0
    );
    assert_eq!(
        forget(UsageFilter {
            before: Some(5),
            ..UsageFilter::default()
        }),
        1
    );
    let both = UsageFilter {
        project: skill("p"),
        skill: skill("a"),
        ..UsageFilter::default()
    };
    assert_eq!(forget(both), 1);
    let whose = UsageFilter {
        team: skill("u"),
        agent: skill("w"),
        ..UsageFilter::default()
    };
    assert_eq!(forget(whose), 1);
    assert_eq!(rows(store, &all()).len(), 1);
    assert_eq!(forget(UsageFilter::default()), 1);
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
            record(store, &[SkillUse::new("p".repeat(MAX_PROJECT), skill, at)]);
            record(store, &[SkillUse::new("", skill, at)]);
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
    let good = SkillUse::new("p", "a", 1);
    let long: Box<str> = "x".repeat(MAX_NAME + 1).into();
    let huge: Box<str> = "x".repeat(MAX_PROJECT + 1).into();
    let cases = [
        (
            SkillUse {
                skill: "".into(),
                ..good.clone()
            },
            UsageField::Skill,
            false,
        ),
        (
            SkillUse {
                team: "".into(),
                ..good.clone()
            },
            UsageField::Team,
            false,
        ),
        (
            SkillUse {
                agent: "".into(),
                ..good.clone()
            },
            UsageField::Agent,
            false,
        ),
        (
            SkillUse {
                skill: long.clone(),
                ..good.clone()
            },
            UsageField::Skill,
            true,
        ),
        (
            SkillUse {
                team: long.clone(),
                ..good.clone()
            },
            UsageField::Team,
            true,
        ),
        (
            SkillUse {
                agent: long.clone(),
                ..good.clone()
            },
            UsageField::Agent,
            true,
        ),
        (
            SkillUse {
                agent_type: long,
                ..good.clone()
            },
            UsageField::AgentType,
            true,
        ),
        (
            SkillUse {
                project: huge,
                ..good
            },
            UsageField::Project,
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

/// For a store with space for two rows.
pub fn oldest_of_two_is_evicted(store: &dyn UsageStore) {
    record(
        store,
        &[
            SkillUse::new("p", "a", 5),
            SkillUse::new("p", "b", 1),
            SkillUse::new("p", "c", 3),
        ],
    );
    assert_eq!(skills(store, &all()), ["a", "c"]);
    // Existing rows need no space.
    record(
        store,
        &[SkillUse::new("p", "c", 4), SkillUse::new("p", "a", 6)],
    );
    assert_eq!(skills(store, &all()), ["a", "c"]);
    record(store, &[SkillUse::new("p", "d", 2)]);
    assert_eq!(skills(store, &all()), ["a", "d"]);
}
