//! `--watch` of `list` and `validate`, with real edits.

use serde_json::{Value, json};

use crate::world::{DESCRIPTION, World};

const WATCHING: &str = "Watching for changes; press Ctrl-C to stop";

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn list_prints_changes_as_json() {
    let world = World::new();
    world.good(".agents/skills/pdf");
    let running = world.command(&["list", "--watch", "--json"]).start();
    let first = parse(&running.line(|line| line.starts_with('{')));
    assert_eq!(first["schema"], "prowess.list/1");
    assert_eq!(first["skills"].as_array().unwrap().len(), 2);
    let change = |kind: &str, name: &str| {
        let line = running.line(|line| line.contains(&format!("\"{kind}\"")));
        let document = parse(&line);
        assert_eq!(document["schema"], "prowess.changes/1");
        let changes = document["changes"].as_array().unwrap();
        let found = changes
            .iter()
            .find(|change| change["kind"] == kind)
            .unwrap();
        assert_eq!(
            (&found["name"], &found["scope"]),
            (&json!(name), &json!("project"))
        );
    };
    world.skill(
        ".agents/skills/pdf",
        "name: pdf\ndescription: Another. Use when needed.\n",
    );
    change("changed", "pdf");
    world.good(".agents/skills/csv-report");
    change("added", "csv-report");
    std::fs::remove_dir_all(world.path(".agents/skills/pdf")).unwrap();
    change("removed", "pdf");
}

#[test]
fn list_prints_changes() {
    let world = World::new();
    world.good(".agents/skills/pdf");
    let running = world.command(&["list", "--watch"]).start();
    running.line(|line| line == WATCHING);
    world.good(".agents/skills/csv-report");
    let line = running.line(|line| line.contains("csv-report"));
    assert_eq!(line, "added     csv-report (project)");
}

/// The folder does not exist when the watch starts.
#[test]
fn list_sees_the_first_skill() {
    let world = World::new();
    let running = world.command(&["list", "--watch"]).start();
    running.line(|line| line == WATCHING);
    world.good(".claude/skills/first");
    running.line(|line| line == "added     first (project)");
}

#[test]
fn validate_checks_again() {
    for path in [
        "skills",
        "skills/release-notes",
        "skills/release-notes/SKILL.md",
    ] {
        let world = World::with_a_good_skill();
        let flags = ["validate", path, "--watch", "--format", "concise"];
        let running = world.command(&flags).start();
        running.line(|line| line.starts_with("Validated 1 skill in "));
        world.named("skills/release-notes", "wrong");
        let line = running.line(|line| line.contains("error["));
        assert!(
            line.contains("error[name-folder-mismatch]"),
            "{path}: {line}"
        );
        world.good("skills/release-notes");
        running.line(|line| line.starts_with("Validated 1 skill in "));
    }
}

/// Changes of the body are checked, although it is not part of the listing.
#[test]
fn validate_checks_a_changed_body() {
    let world = World::with_a_good_skill();
    let running = world
        .command(&["validate", "skills", "--watch", "--format", "concise"])
        .start();
    running.line(|line| line == WATCHING);
    let head = format!("---\nname: release-notes\ndescription: {DESCRIPTION}\n---\n");
    world.file(
        "skills/release-notes/SKILL.md",
        format!("{head}\nSee [this](gone.md).\n"),
    );
    running.line(|line| line.contains("[broken-link]"));
}

#[test]
fn validate_continues_after_everything_is_deleted() {
    let world = World::with_a_good_skill();
    let running = world
        .command(&["validate", "skills/release-notes", "--watch"])
        .start();
    running.line(|line| line == WATCHING);
    std::fs::remove_dir_all(world.path("skills/release-notes")).unwrap();
    running.line(|line| line.starts_with("error"));
    world.good("skills/release-notes");
    running.line(|line| line.starts_with("Validated 1 skill in "));
}

#[test]
fn standard_input_cannot_be_watched() {
    let output = World::new().run(&["validate", "-", "--watch"]).expect(2);
    assert_eq!(
        output.errors(),
        "error: `--watch` cannot be used with standard input; pass a folder\n"
    );
}
