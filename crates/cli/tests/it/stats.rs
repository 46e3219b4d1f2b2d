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
        json!({ "schema": "prowess.stats/1", "total": 0, "skills": [], "missions": [] })
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

/// The sums over tasks, agents and skills agree with what the scripted model reports.
#[test]
fn costs_of_missions_add_up() {
    let world = crate::mission_runs::mission(
        "task \"a\" { objective = \"a\" }\ntask \"b\" {\n objective = \"b\"\n depends_on = [tasks.a]\n}",
    );
    let text = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    let skill = "\"Calm.\"\n  skills = [skills.paint]";
    let block =
        "skill \"paint\" {\n  description = \"Paints.\"\n  instructions = \"PAINT-TEXT\"\n}\n";
    world.file(
        "mission.hcl",
        format!("{block}{}", text.replace("\"Calm.\"", skill)),
    );
    crate::mission_runs::trust(&world);
    let (worker, a, b) = (
        "You are agent `worker`",
        "You direct task `a`",
        "You direct task `b`",
    );
    let reply = |when: &[&str], reply: serde_json::Value, input: u64, micros: u64| {
        let mut reply = reply;
        reply["when"] = json!(when);
        reply["repeat"] = json!(true);
        reply["usage"] = json!({ "input": input, "output": 1, "micros": micros });
        reply
    };
    let call = |name: &str, input: serde_json::Value| json!({ "calls": [{ "name": name, "input": input }] });
    let model = crate::mission_runs::script(
        &world,
        "a.jsonl",
        &[
            reply(
                &[worker, "PAINT-TEXT"],
                json!({ "text": "PAINTED" }),
                99,
                700,
            ),
            reply(
                &[worker],
                call("load_skill", json!({ "name": "paint" })),
                49,
                300,
            ),
            reply(
                &[a, "PAINTED"],
                call("task_complete", json!({ "summary": "done" })),
                19,
                50,
            ),
            reply(
                &[a],
                call("call_agent", json!({ "name": "worker", "task": "Paint." })),
                9,
                20,
            ),
            reply(
                &[b],
                call("task_complete", json!({ "summary": "done" })),
                4,
                5,
            ),
        ],
    );
    let run = ["mission", "run", "x", "--model", &model, "--json"];
    for _ in 0..2 {
        world.run(&run).expect(0);
    }
    let used = |tokens: u64, micros: u64, requests: u64| json!({ "tokens": tokens, "micros": micros, "requests": requests });
    let row = |name: &str, used: serde_json::Value| json!({ "name": name, "used": used });
    let listed = world.run(&["mission", "show", "--json"]).expect(0).json();
    let id = listed["runs"][0]["run"].as_str().unwrap();
    let shown = world.run(&["mission", "show", id, "--json"]).expect(0);
    let shown = shown.json();
    let costs = &shown["costs"];
    assert_eq!(costs["total"], used(185, 1_075, 5));
    assert_eq!(
        costs["tasks"],
        json!([row("a", used(180, 1_070, 4)), row("b", used(5, 5, 1))])
    );
    assert_eq!(
        costs["agents"],
        json!([
            row("commander", used(35, 75, 3)),
            row("worker", used(150, 1_000, 2))
        ])
    );
    assert_eq!(costs["skills"], json!([row("paint", used(100, 700, 1))]));
    // What the run itself records agrees.
    assert_eq!(shown["spent"]["tokens"], 185);
    assert_eq!(shown["spent"]["micros"], 1_075);
    for (task, cost) in shown["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .zip(costs["tasks"].as_array().unwrap())
    {
        assert_eq!(task["spent"]["tokens"], cost["used"]["tokens"]);
        assert_eq!(task["spent"]["micros"], cost["used"]["micros"]);
    }
    let text = world.run(&["mission", "show", id]).expect(0).stdout;
    assert!(text.contains("worker") && text.contains("paint"), "{text}");

    // `stats` adds up the two runs.
    let stats = world.run(&["stats", "--json"]).expect(0).json();
    let mission = &stats["missions"][0];
    assert_eq!(
        (&mission["mission"], &mission["runs"]),
        (&json!("x"), &json!(2))
    );
    assert_eq!(mission["total"], used(370, 2_150, 10));
    assert_eq!(mission["tasks"][0], row("a", used(360, 2_140, 8)));
    assert_eq!(mission["agents"][1], row("worker", used(300, 2_000, 4)));
    assert_eq!(
        mission["skills"],
        json!([row("paint", used(200, 1_400, 2))])
    );
    let text = world.run(&["stats"]).expect(0).stdout;
    assert!(text.contains("mission x: 2 runs, 370 tokens"), "{text}");
}
