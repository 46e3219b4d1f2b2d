//! `prowess find`

use serde_json::{Value, json};

use crate::world::{Output, World};

fn library() -> World {
    let world = World::new();
    world.skill(
        ".agents/skills/pdf-forms",
        "name: pdf-forms\ndescription: Fills in PDF forms. Use when a form is to be filled in.\nmetadata:\n  team: docs\n  level: expert\n",
    );
    world.skill(
        ".agents/skills/release-notes",
        "name: release-notes\ndescription: Says what changed. Use when a version is released.\nmetadata:\n  team: docs\n",
    );
    world.skill(
        "~/.claude/skills/csv-report",
        "name: csv-report\ndescription: Sums up tables. Use when a CSV file is too long, or a PDF has tables.\n",
    );
    world
}

fn names(output: &Output) -> Vec<String> {
    let document = output.json();
    let skills = document["skills"].as_array().unwrap();
    skills
        .iter()
        .map(|skill| skill["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn best_match_comes_first() {
    let world = library();
    insta::assert_snapshot!(world.run(&["find", "pdf", "form"]).expect(0).snapshot());
    let found = world.run(&["find", "pdf", "--json"]).expect(0);
    assert_eq!(names(&found), ["pdf-forms", "csv-report"]);
}

#[test]
fn single_argument_equals_several_words() {
    let world = library();
    let several = world.run(&["find", "what", "changed"]).expect(0);
    assert_eq!(
        world.run(&["find", "what changed"]).snapshot(),
        several.snapshot()
    );
}

#[test]
fn typos_and_prefixes() {
    let world = library();
    for (typed, meant) in [
        ("releas", "release-notes"),
        ("relaese", "release-notes"),
        ("pdf frms", "pdf-forms"),
    ] {
        let found = names(&world.run(&["find", typed, "--json"]).expect(0));
        assert_eq!(found[0], meant, "{typed}");
    }
}

#[test]
fn explained_scores_add_up() {
    let world = library();
    let output = world.run(&["find", "pdf", "--explain"]).expect(0);
    assert!(
        output.stdout.starts_with("SCORE  NAME        WHY\n"),
        "{}",
        output.snapshot()
    );
    assert!(
        output.stdout.contains("`pdf` in name "),
        "{}",
        output.snapshot()
    );
    let document = world.run(&["find", "pdf", "--json"]).expect(0).json();
    assert_eq!(
        (&document["schema"], &document["query"]),
        (&json!("prowess.find/1"), &json!("pdf"))
    );
    for skill in document["skills"].as_array().unwrap() {
        let points = |reason: &Value| reason["points"].as_f64().unwrap();
        let sum: f64 = skill["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(points)
            .sum();
        assert!(
            (sum - skill["score"].as_f64().unwrap()).abs() < 0.01,
            "{skill}"
        );
    }
}

#[test]
fn substring() {
    let world = library();
    let found = world
        .run(&["find", "--substring", "ease-", "--json"])
        .expect(0);
    assert_eq!(names(&found), ["release-notes"]);
    // As one substring, not as two words.
    world
        .run(&["find", "--substring", "notes", "release"])
        .expect(1);
}

#[test]
fn metadata() {
    let world = library();
    let of = |flags: &[&str]| world.run(&[&["find", "--json"], flags].concat());
    assert_eq!(
        names(&of(&["--meta", "team=docs"]).expect(0)),
        ["pdf-forms", "release-notes"]
    );
    let both = ["--meta", "team=docs", "--meta", "level=expert"];
    assert_eq!(names(&of(&both).expect(0)), ["pdf-forms"]);
    assert_eq!(
        names(&of(&["pdf", "--meta", "team=docs"]).expect(0)),
        ["pdf-forms"]
    );
    assert_eq!(names(&of(&["--meta", "team=ops"]).expect(1)), [""; 0]);
    assert_eq!(
        world.run(&["find", "--meta", "team"]).expect(2).errors(),
        "error: invalid value `team` for `--meta`: expected KEY=VALUE\nhint: e.g. `--meta team=docs`\n"
    );
    assert_eq!(
        world
            .run(&["find", "--meta", "team=ops"])
            .expect(1)
            .errors(),
        "No skill matches `--meta team=ops` (4 skills searched)\nhint: try other or fewer words, or list all skills with `prowess list`\n"
    );
}

#[test]
fn limit_reports_further_results() {
    let world = World::new();
    for number in 0..15 {
        world.good(&format!(".agents/skills/form-{number:02}"));
    }
    let of = |flags: &[&str]| world.run(&[&["find", "form"], flags].concat()).expect(0);
    assert_eq!(of(&[]).stdout.lines().count(), 1 + 10);
    assert_eq!(of(&[]).errors(), "10 skills; more with `--limit 0`\n");
    assert_eq!(of(&["-n", "15"]).errors(), "15 skills\n");
    assert_eq!(of(&["--limit", "0"]).errors(), "15 skills\n");
    let document = |flags: &[&str]| of(&[&["--json"], flags].concat()).json();
    assert_eq!(document(&["-n", "3"])["more"], true);
    assert_eq!(
        document(&["-n", "3"])["skills"].as_array().unwrap().len(),
        3
    );
    assert_eq!(document(&["-n", "0"])["more"], false);
}

#[test]
fn scope() {
    let world = library();
    let found = world
        .run(&["find", "pdf", "--scope", "user", "--json"])
        .expect(0);
    assert_eq!(names(&found), ["csv-report"]);
    world.run(&["find", "pdf", "--scope", "home"]).expect(2);
}

#[test]
fn nothing_found() {
    let world = library();
    insta::assert_snapshot!(world.run(&["find", "zzyzx"]).expect(1).snapshot());
    let output = world.run(&["find", "zzyzx", "--json"]).expect(1);
    assert_eq!(output.json()["skills"], json!([]));
    assert_eq!(output.stderr, "");
    // An empty query is an error.
    world.run(&["find"]).expect(2);
}

#[test]
fn disabled_skills_are_not_found() {
    let world = library();
    world.file("~/config.toml", "[skills.visibility]\npdf-forms = 'off'\n");
    assert_eq!(
        names(&world.run(&["find", "pdf", "--json"]).expect(0)),
        ["csv-report"]
    );
    let one = world.run(&["find", "pdf", "--json", "-n", "1"]).expect(0);
    assert_eq!(names(&one), ["csv-report"]);
    assert_eq!(one.json()["more"], false);
}
