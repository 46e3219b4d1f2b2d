//! `prowess stats`, and the effect of usage on the order of skills.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prowess_catalog::rank::UseOutcome;
use prowess_store::SqliteUsage;
use prowess_traits::{SkillUse, UsageStore};
use serde_json::json;

use crate::world::World;

/// Returns the time just over `hours` ago, in nanoseconds since 1970.
fn hours_ago(hours: u64) -> i64 {
    let then = SystemTime::now() - Duration::from_secs(hours * 3600 + 5);
    i64::try_from(then.duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// Returns a world with recorded usage.
fn used() -> World {
    let world = World::new();
    for name in ["pdf", "release-notes", "csv-report"] {
        world.good(&format!(".agents/skills/{name}"));
    }
    let store = SqliteUsage::new(world.path("~/data/prowess.db"));
    let project = world
        .path(".git")
        .parent()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let record = |skill: &str, agent: &str, outcome, hours| {
        let used = SkillUse::new(project.as_str(), skill, hours_ago(hours));
        store
            .record(&SkillUse {
                agent: agent.into(),
                outcome,
                ..used
            })
            .unwrap();
    };
    for hours in (1..=12).rev() {
        record("pdf", "writer", Some(UseOutcome::Done), hours);
    }
    record("pdf", "reviewer", Some(UseOutcome::Failed), 50);
    record("release-notes", "writer", Some(UseOutcome::Refused), 30);
    record("csv-report", "writer", None, 1000);
    world
}

#[test]
fn no_usage() {
    let world = World::new();
    assert_eq!(
        world.run(&["stats"]).expect(0).snapshot(),
        "exit: 0\n----- stdout -----\n\n----- stderr -----\nNo skill usage recorded yet\n"
    );
    let document = world.run(&["stats", "--json"]).expect(0).json();
    assert_eq!(
        document,
        json!({ "schema": "prowess.stats/1", "total": 0, "skills": [] })
    );
    // `stats` does not create the store.
    assert!(!world.path("~/data").exists());
}

#[test]
fn recorded_usage() {
    let world = used();
    insta::assert_snapshot!(world.run(&["stats"]).expect(0).snapshot());
    let document = world.run(&["stats", "--json"]).expect(0).json();
    assert_eq!(document["total"], 3);
    let first = &document["skills"][0];
    assert_eq!(
        (&first["name"], &first["uses"]),
        (&json!("pdf"), &json!(13))
    );
    assert_eq!(
        first["outcomes"],
        json!({ "done": 12, "failed": 1, "refused": 0 })
    );
    assert_eq!(first["agents"].as_array().unwrap().len(), 2);
}

#[test]
fn limits() {
    let world = used();
    let errors = |flags: &[&str]| world.run(&[&["stats"], flags].concat()).expect(0).errors();
    assert_eq!(errors(&["-n", "1"]), "1 skill; 2 more with `--limit 0`\n");
    assert_eq!(errors(&["--limit", "0"]), "3 skills\n");
}

#[test]
fn store_named_by_the_environment() {
    let world = used();
    let store = world.path("~/data/prowess.db");
    for url in [
        format!("sqlite:{}", store.display()),
        store.display().to_string(),
    ] {
        let run = world
            .command(&["stats", "--json"])
            .env("PROWESS_HOME", world.path("~/other"));
        assert_eq!(
            run.env("PROWESS_STORE_URL", &url).run().json()["total"],
            3,
            "{url}"
        );
    }
}

#[test]
fn usage_determines_the_order() {
    let world = used();
    let output = world.run(&["why", "pdf"]).expect(0);
    assert!(
        output
            .stdout
            .contains("use         used 13 times; rank 1 if not all"),
        "{}",
        output.snapshot()
    );
    let recent = world.run(&["prompt", "--recent", "-q"]).expect(0).stdout;
    assert!(
        recent.starts_with("## Last used skills\n\n- **pdf**"),
        "{recent}"
    );
}

#[test]
fn broken_store_is_reported_and_does_not_stop_commands() {
    let world = used();
    let text = "this is not a database, whatever it is called";
    world.file("~/data/prowess.db", text);
    for command in [
        &["list"][..],
        &["prompt"],
        &["why", "pdf"],
        &["find", "form"],
        &[],
    ] {
        let output = world.run(command).expect(0);
        assert!(!output.stdout.is_empty(), "{command:?}");
    }
    insta::assert_snapshot!(world.run(&["stats"]).expect(2).snapshot());
    let doctor = world.run(&["doctor"]).expect(1).stdout;
    let store: Vec<&str> = doctor
        .lines()
        .skip_while(|line| !line.contains("  store  "))
        .take_while(|line| !line.contains("  sandbox  "))
        .collect();
    insta::assert_snapshot!("doctor_of_a_broken_store", store.join("\n"));
    // The file may belong to another program and is not changed.
    assert_eq!(world.read("~/data/prowess.db"), text);
}
