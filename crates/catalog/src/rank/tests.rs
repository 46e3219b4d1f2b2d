use std::collections::BTreeSet;

use super::*;
use crate::location::Location;
use crate::scope::{Scope, SkillOrigin};
use crate::skill::{FileStamp, SkillForm, SkillId};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;
const NOW: i64 = 20_000 * DAY;

fn skill(name: &str, modified: i64) -> Skill {
    Skill {
        id: SkillId {
            origin: Arc::new(SkillOrigin::new(Scope::Project, 0, "/p/.agents/skills")),
            path: name.into(),
        },
        name: name.into(),
        alias: None,
        description: "".into(),
        described: false,
        when_to_use: None,
        argument_hint: None,
        version: None,
        creator: None,
        by_agent: false,
        tags: Vec::new(),
        metadata: Vec::new(),
        paths: Vec::new(),
        model_invocable: true,
        user_invocable: true,
        pinned: false,
        form: SkillForm::Folder,
        location: Location::default(),
        stamp: FileStamp {
            modified,
            ..FileStamp::default()
        },
        sidecar: None,
        problems: 0,
        seal: None,
        fingerprint: 0,
    }
}

/// Creates skills from names; each was modified after the one before.
fn skills(names: &str) -> Vec<Arc<Skill>> {
    let names = names.split_whitespace().zip(1..);
    names
        .map(|(name, at)| Arc::new(skill(name, at * SECOND)))
        .collect()
}

fn pinned(name: &str) -> Arc<Skill> {
    Arc::new(Skill {
        pinned: true,
        ..skill(name, NOW)
    })
}

/// Creates a usage record with all uses at the same time.
fn used(skill: &str, count: u64, last_used: i64) -> SkillUsage {
    #[expect(
        clippy::cast_precision_loss,
        reason = "small numbers, or wrong on purpose"
    )]
    let score = count as f64;
    SkillUsage {
        skill: skill.into(),
        count,
        last_used,
        score,
        outcomes: UseOutcomes::default(),
    }
}

fn names(ranked: &[RankedSkill]) -> String {
    let names: Vec<&str> = ranked.iter().map(|one| &*one.skill.name).collect();
    names.join(" ")
}

#[track_caller]
fn check(skills: &[Arc<Skill>], usage: &[SkillUsage], options: RankOptions, expected: &str) {
    assert_eq!(names(&rank(skills, usage, &options)), expected);
}

fn frecency(limit: usize) -> RankOptions {
    RankOptions {
        period: None,
        ..RankOptions::new(NOW, limit)
    }
}

// Planck's conformance cases. Those of the store are in crates/test/src/conformance/usage.rs.

#[test]
fn r05_recency_beats_count() {
    let usage = [used("a", 100, NOW - 2 * DAY), used("b", 1, NOW - DAY)];
    check(&skills("a b"), &usage, RankOptions::planck(NOW, 5), "b a");
    // For uses at the same time, the count decides, then the name.
    let usage = [used("c", 1, NOW), used("a", 1, NOW), used("b", 2, NOW)];
    check(
        &skills("a b c"),
        &usage,
        RankOptions::planck(NOW, 5),
        "b a c",
    );
}

#[test]
fn r06_limit_is_respected() {
    let usage = [
        used("a", 1, 3 * DAY),
        used("b", 1, 2 * DAY),
        used("c", 1, DAY),
    ];
    for (limit, expected) in [(0, ""), (1, "a"), (2, "a b"), (3, "a b c"), (9, "a b c")] {
        check(
            &skills("a b c"),
            &usage,
            RankOptions::planck(NOW, limit),
            expected,
        );
    }
    check(
        &skills("a b c"),
        &usage,
        RankOptions::planck(NOW, usize::MAX),
        "a b c",
    );
}

#[test]
fn r07_history_determines_the_order() {
    let usage = [used("a", 1, 3 * DAY), used("c", 1, DAY)];
    // By modification time the order is c b a.
    check(&skills("a b c"), &usage, RankOptions::planck(NOW, 2), "a c");
}

#[test]
fn r08_without_history_recently_modified_come_first() {
    check(
        &skills("a b c d"),
        &[],
        RankOptions::planck(NOW, 3),
        "d c b",
    );
    check(&skills("a b c d"), &[], frecency(3), "d c b");
}

#[test]
fn r09_no_skills_give_an_empty_list() {
    check(&[], &[], RankOptions::planck(NOW, 5), "");
    check(&[], &[], RankOptions::new(NOW, 5), "");
    check(&[], &[used("a", 1, NOW)], RankOptions::new(NOW, 5), "");
}

#[test]
fn r10_union_of_nothing_is_empty() {
    assert_eq!(union(&[]), []);
}

#[test]
fn r15_union_has_the_latest_use_and_the_sum_of_counts() {
    let mut one = used("a", 2, NOW - 7 * DAY);
    one.outcomes.add(UseOutcome::Done);
    let mut other = used("a", 3, NOW);
    other.outcomes.add(UseOutcome::Failed);
    let expected = SkillUsage {
        skill: "a".into(),
        count: 5,
        last_used: NOW,
        // The two older uses have half their weight by now.
        score: 4.0,
        outcomes: UseOutcomes {
            done: 1,
            failed: 1,
            refused: 0,
        },
    };
    assert_eq!(union([&one, &other]), std::slice::from_ref(&expected));
    assert_eq!(union([&other, &one]), [expected]);
}

#[test]
fn r16_union_is_limited() {
    // One record per orchestrator; `a` twice.
    let usage = [
        used("a", 1, DAY),
        used("b", 1, 2 * DAY),
        used("c", 1, 3 * DAY),
        used("a", 1, 4 * DAY),
    ];
    check(&skills("a b c"), &usage, RankOptions::planck(NOW, 2), "a c");
}

#[test]
fn r17_deleted_skill_takes_no_slot() {
    let usage = [
        used("gone", 9, NOW),
        used("a", 1, DAY),
        used("b", 1, 2 * DAY),
    ];
    check(&skills("a b"), &usage, RankOptions::planck(NOW, 2), "b a");
    check(&skills("a b"), &usage, frecency(2), "b a");
    // A history of deleted skills only equals no history.
    check(
        &skills("a b"),
        &[used("gone", 9, NOW)],
        RankOptions::planck(NOW, 2),
        "b a",
    );
}

#[test]
fn r18_pinned_skill_takes_no_slot() {
    let mut all = skills("a b");
    all.push(pinned("always"));
    let usage = [used("always", 9, NOW), used("a", 1, DAY)];
    check(&all, &usage, RankOptions::planck(NOW, 2), "a b");
    check(&all, &usage, frecency(2), "a b");
    check(&all, &usage, RankOptions::new(NOW, 1), "a");
}

#[test]
fn r19_remaining_slots_go_to_recently_modified() {
    let all = skills("a b c d");
    let usage = [used("a", 1, NOW - DAY)];
    let ranked = rank(&all, &usage, &RankOptions::planck(NOW, 3));
    assert_eq!(names(&ranked), "a d c");
    let reasons: Vec<RankReason> = ranked.iter().map(|one| one.reason).collect();
    assert_eq!(
        reasons,
        [
            RankReason::Used {
                count: 1,
                last_used: NOW - DAY
            },
            RankReason::Recent {
                modified: 4 * SECOND
            },
            RankReason::Recent {
                modified: 3 * SECOND
            },
        ]
    );
}

#[test]
fn frecency_weighs_count_against_age() {
    // Eight uses three weeks ago weigh as much as one use now.
    let usage = [
        used("a", 9, NOW - 21 * DAY),
        used("b", 1, NOW),
        used("c", 7, NOW - 21 * DAY),
    ];
    let ranked = rank(&skills("a b c"), &usage, &frecency(3));
    assert_eq!(names(&ranked), "a b c");
    let scores: Vec<f64> = ranked.iter().map(|one| one.score).collect();
    assert_eq!(scores, [1.125, 1.0, 0.875]);
    // With a shorter half-life, the latest use wins.
    let short = RankMode::Frecency {
        half_life: Duration::from_hours(24),
    };
    check(
        &skills("a b c"),
        &usage,
        RankOptions {
            mode: short,
            ..frecency(3)
        },
        "b a c",
    );
}

#[test]
fn stored_score_is_the_sum_over_all_uses() {
    let times = [
        NOW - 30 * DAY,
        NOW - 20 * DAY,
        NOW - 3 * DAY,
        NOW - 3 * DAY,
        NOW,
    ];
    let mut usage = SkillUsage::first("a", times[0], None);
    for at in &times[1..] {
        usage.add(*at, None);
    }
    let at = NOW + 2 * DAY;
    let sum: f64 = times
        .iter()
        .map(|time| frecency::decay(1.0, at, *time, HALF_LIFE))
        .sum();
    assert!((frecency::weight(&usage, at, HALF_LIFE) - sum).abs() < 1e-9);
    // Slightly out of order gives the same result.
    let mut early = SkillUsage::first("a", 5 * SECOND, None);
    early.add(3 * SECOND, None);
    let mut late = SkillUsage::first("a", 3 * SECOND, None);
    late.add(5 * SECOND, None);
    assert_eq!(early, late);
}

#[test]
fn failures_halve_the_weight() {
    let failing = |count: u64, failed: u64| SkillUsage {
        outcomes: UseOutcomes {
            failed,
            ..UseOutcomes::default()
        },
        ..used("a", count, NOW)
    };
    let weight = |usage: &SkillUsage| frecency::weight(usage, NOW, HALF_LIFE);
    for (count, failed, expected) in [(4, 0, 4.0), (4, 2, 3.0), (4, 4, 2.0), (4, u64::MAX, 2.0)] {
        let found = weight(&failing(count, failed));
        assert!((found - expected).abs() < 1e-9, "{count} {failed}: {found}");
    }
}

#[test]
fn clock_skew_is_corrected_at_the_next_use() {
    let mut usage = used("a", 3, i64::MAX);
    usage.add(NOW, None);
    assert_eq!((usage.count, usage.last_used), (4, NOW));
    // Until then it counts as used just now.
    let usage = [used("a", 1, i64::MAX), used("b", 2, NOW)];
    check(&skills("a b"), &usage, RankOptions::planck(NOW, 2), "b a");
    // A file from the future does not rank first for ever either.
    let all = [Arc::new(skill("z", i64::MAX)), Arc::new(skill("a", NOW))];
    check(&all, &[], RankOptions::planck(NOW, 1), "a");
}

#[test]
fn hostile_numbers_are_handled() {
    let all = skills("a b c d");
    let times = [
        i64::MIN,
        i64::MIN + 1,
        -1,
        0,
        1,
        NOW,
        i64::MAX - 1,
        i64::MAX,
    ];
    let scores = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -1.0,
        0.0,
        f64::MIN_POSITIVE,
        f64::MAX,
    ];
    for now in times {
        for last_used in times {
            for score in scores {
                for count in [0, 1, u64::MAX] {
                    let hostile = SkillUsage {
                        score,
                        outcomes: UseOutcomes {
                            done: 0,
                            failed: u64::MAX,
                            refused: u64::MAX,
                        },
                        ..used("a", count, last_used)
                    };
                    let mut again = hostile.clone();
                    again.add(now, Some(UseOutcome::Refused));
                    again.merge(&hostile);
                    assert!(again.score.is_finite() && again.score >= 1.0, "{again:?}");
                    for mode in [
                        RankMode::Recency,
                        RankMode::Frecency {
                            half_life: Duration::ZERO,
                        },
                    ] {
                        for half in [mode, RankMode::default()] {
                            let options = RankOptions {
                                mode: half,
                                ..RankOptions::new(now, 3)
                            };
                            let usage = [hostile.clone(), again.clone(), used("b", 1, 0)];
                            let ranked = rank(&all, &usage, &options);
                            assert_eq!(ranked.len(), 3);
                            assert!(ranked.iter().all(|one| one.score.is_finite()));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn argument_order_does_not_matter() {
    let mut all = skills("a b c d e f g h i j");
    let mut usage = vec![
        used("a", 1, NOW),
        used("b", 1, NOW),
        used("c", 2, NOW - DAY),
    ];
    for options in [RankOptions::new(NOW, 6), RankOptions::planck(NOW, 6)] {
        let first = rank(&all, &usage, &options);
        for _ in 0..all.len() {
            all.rotate_left(1);
            usage.rotate_left(1);
            assert_eq!(rank(&all, &usage, &options), first);
        }
    }
}

#[test]
fn share_of_slots_is_for_exploration() {
    let all: Vec<Arc<Skill>> = (0..100)
        .map(|n| Arc::new(skill(&format!("s{n}"), n)))
        .collect();
    let explored = |limit: usize, period: i64| {
        let options = RankOptions {
            period: Some(period),
            ..RankOptions::new(NOW, limit)
        };
        let ranked = rank(&all, &[], &options);
        assert_eq!(ranked.len(), limit);
        // Explored skills come last.
        let is = |one: &RankedSkill| matches!(one.reason, RankReason::Explored { .. });
        assert!(ranked.is_sorted_by_key(is));
        ranked.iter().filter(|one| is(one)).count()
    };
    for (limit, places) in [
        (3, 1),
        (5, 1),
        (9, 1),
        (10, 2),
        (50, 10),
        (99, 19),
        (100, 0),
    ] {
        assert_eq!(explored(limit, 7), places, "{limit}");
    }
    for limit in [1, 2] {
        let turns: Vec<usize> = (-5..5).map(|period| explored(limit, period)).collect();
        assert_eq!(turns, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0], "{limit}");
    }
}

/// Ranks `limit` skills in each of the periods and returns the names never shown.
fn never_seen(
    all: &[Arc<Skill>],
    limit: usize,
    periods: std::ops::Range<i64>,
    mut usage: impl FnMut(i64) -> Vec<SkillUsage>,
) -> usize {
    let mut seen = BTreeSet::new();
    for period in periods {
        let options = RankOptions {
            period: Some(period),
            ..RankOptions::new(NOW, limit)
        };
        let ranked = rank(all, &usage(period), &options);
        assert_eq!(ranked.len(), limit);
        let shown: BTreeSet<_> = ranked.iter().map(|one| one.skill.name.clone()).collect();
        assert_eq!(shown.len(), limit, "no skill twice");
        seen.extend(shown);
    }
    all.len() - seen.len()
}

#[test]
fn all_1000_skills_are_shown_in_999_periods() {
    let all: Vec<Arc<Skill>> = (0..1000)
        .map(|n| Arc::new(skill(&format!("s{n}"), n)))
        .collect();
    let favourites: Vec<SkillUsage> = (0..8_i64)
        .map(|n| used(&format!("s{n}"), 1000, NOW - n))
        .collect();
    // A whole round: 1,000 skills, 2 slots, 500 periods.
    assert_eq!(never_seen(&all, 10, 0..500, |_| favourites.clone()), 0);
    // From any start: two rounds less one period.
    assert_eq!(never_seen(&all, 10, -301..698, |_| favourites.clone()), 0);
}

#[test]
fn usage_does_not_change_the_rotation() {
    let all: Vec<Arc<Skill>> = (0..97)
        .map(|n| Arc::new(skill(&format!("s{n}"), n)))
        .collect();
    // Other favourites in each period. 97 skills and 1 slot: a round of 97 periods.
    let usage = |period: i64| {
        (0..6)
            .map(|n| used(&format!("s{}", (period * 7 + n * 5).rem_euclid(97)), 9, NOW))
            .collect()
    };
    assert_eq!(never_seen(&all, 7, 0..97, usage), 0);
    // One or two slots: every fifth period counts.
    assert_eq!(never_seen(&all, 1, 0..97 * 5, |_| Vec::new()), 0);
    assert_eq!(never_seen(&all, 2, 0..97 * 5, usage), 0);
}

#[test]
fn rounds_are_shuffled() {
    let all: Vec<Arc<Skill>> = (0..48)
        .map(|n| Arc::new(skill(&format!("s{n}"), n)))
        .collect();
    // A user who looks once a day, at nine: with the same order in each round of 48 hours, only two
    // skills would ever be explored.
    let mut seen = BTreeSet::new();
    for day in 0..365 {
        let options = RankOptions {
            period: Some(day * 24 + 9),
            ..RankOptions::new(NOW, 3)
        };
        seen.extend(
            rank(&all, &[], &options)
                .into_iter()
                .map(|one| one.skill.name.clone()),
        );
    }
    assert_eq!(seen.len(), 48);
}

#[test]
fn ranks_a_hundred_thousand_skills() {
    let all: Vec<Arc<Skill>> = (0..100_000)
        .map(|n| Arc::new(skill(&format!("s{n}"), n % 1000)))
        .collect();
    let usage: Vec<SkillUsage> = (0..100_000_u32)
        .map(|n| {
            used(
                &format!("s{n}"),
                u64::from(n % 17) + 1,
                NOW - i64::from(n) * SECOND,
            )
        })
        .collect();
    for (limit, mode) in [
        (10, RankMode::Recency),
        (10, RankMode::default()),
        (usize::MAX, RankMode::Recency),
    ] {
        let ranked = rank(
            &all,
            &usage,
            &RankOptions {
                mode,
                ..RankOptions::new(NOW, limit)
            },
        );
        assert_eq!(ranked.len(), limit.min(all.len()));
    }
}
