//! `prowess doctor`

use std::process::Command;

use crate::world::{Output, World};

/// The states of an area.
fn states(output: &Output, area: &str) -> Vec<String> {
    let document = output.json();
    assert_eq!(document["schema"], "prowess.doctor/1");
    let checks = document["checks"].as_array().unwrap().iter();
    let of_area = checks.filter(|check| check["area"] == area);
    of_area
        .map(|check| check["state"].as_str().unwrap().to_owned())
        .collect()
}

fn library() -> World {
    let world = World::new();
    world.good(".agents/skills/pdf");
    world.good("~/.claude/skills/csv-report");
    world
}

/// The output without the size of the cache.
fn snapshot(output: &Output) -> String {
    let line = |line: &str| match line.split_once("~/cache: ") {
        Some((before, size)) if size.ends_with('B') => format!("{before}~/cache: [SIZE]\n"),
        _ => format!("{line}\n"),
    };
    without_sandbox(&output.snapshot())
        .lines()
        .map(line)
        .collect()
}

/// Returns the output of `doctor` without the sandbox layers, which depend on the machine.
fn without_sandbox(text: &str) -> String {
    let mut kept = Vec::new();
    let (mut inside, mut odd) = (false, 0);
    for line in text.lines() {
        inside = line
            .get(6..)
            .is_some_and(|rest| rest.starts_with("sandbox "))
            || inside && line.starts_with("          ");
        odd += usize::from(inside && line.starts_with("note"));
        if !inside {
            kept.push(line.to_owned());
        }
    }
    let known = |count: usize| match count {
        0 => "No problems".to_owned(),
        1 => "No problems; 1 note".to_owned(),
        count => format!("No problems; {count} notes"),
    };
    for line in &mut kept {
        let count = line
            .strip_prefix("No problems; ")
            .and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
        if let Some(count) = count {
            *line = known(count - odd);
        }
    }
    kept.join("\n")
}

#[test]
fn every_layer_of_the_sandbox_is_tried() {
    let document = library().run(&["doctor", "--json"]).json();
    let checks = document["checks"].as_array().unwrap().iter();
    let layers: Vec<&str> = checks
        .filter(|check| check["area"] == "sandbox")
        .map(|check| check["text"].as_str().unwrap())
        .collect();
    for layer in [
        "supervision",
        "capabilities",
        "landlock",
        "seccomp",
        "namespaces",
    ] {
        assert!(
            layers.iter().any(|text| text.starts_with(layer)),
            "{layer}: {layers:?}"
        );
    }
    for work in [
        "commands can write to a project",
        "`git status` works in a project",
        "project scripts can run",
    ] {
        assert!(layers.contains(&work), "{work}: {layers:?}");
    }
    if std::env::var_os("PROWESS_TEST_REQUIRE_SANDBOX").is_some() {
        assert!(
            !layers.iter().any(|text| text.contains("is missing")),
            "{layers:?}"
        );
    }
}

#[test]
fn all_good() {
    insta::assert_snapshot!(snapshot(&library().run(&["doctor"]).expect(0)));
}

#[test]
fn shadowed_and_mended_skills_are_noted() {
    let world = library();
    world.good("~/.claude/skills/pdf");
    world.skill(
        ".agents/skills/odd",
        "name: odd\ndescription: Uses: a colon\n",
    );
    insta::assert_snapshot!(snapshot(&world.run(&["doctor"]).expect(0)));
}

#[test]
fn fifo_in_place_of_a_skill() {
    let world = library();
    let folder = world.folder(".agents/skills/pipe");
    let made = Command::new("mkfifo").arg(folder.join("SKILL.md")).status();
    if !made.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: there is no mkfifo");
    }
    insta::assert_snapshot!(snapshot(&world.run(&["doctor"]).expect(1)));
    assert_eq!(
        states(&world.run(&["doctor", "--json"]).expect(1), "skill"),
        ["bad"]
    );
    for command in [&["list"][..], &["prompt"], &["find", "form"]] {
        world.run(command).expect(0);
    }
}

#[test]
fn database_that_is_a_folder() {
    let world = library();
    world.folder("~/data/prowess.db");
    let output = world.run(&["doctor", "--json"]).expect(1);
    assert_eq!(states(&output, "store"), ["bad"]);
    let document = output.json();
    let checks = document["checks"].as_array().unwrap();
    let bad = checks
        .iter()
        .find(|check| check["area"] == "store")
        .unwrap();
    assert_eq!(
        bad["text"],
        "the usage database `~/data/prowess.db` is not a regular file"
    );
    assert_eq!(
        bad["hint"],
        "move the file elsewhere; a new one is created on next use"
    );
    for command in [&["list"][..], &["prompt"], &["why", "pdf"], &[]] {
        let output = world.run(command).expect(0);
        assert!(!output.stderr.contains("error"), "{}", output.snapshot());
    }
    world.run(&["stats"]).expect(2);
}

#[test]
fn cache_that_is_a_file() {
    let world = library();
    world.file("~/cache", "");
    insta::assert_snapshot!(snapshot(&world.run(&["doctor"]).expect(1)));
    world.run(&["list"]).expect(0);
    let output = world.run(&["doctor", "--json", "--no-cache"]).expect(0);
    assert_eq!(states(&output, "cache"), ["note"]);
}

#[test]
fn folder_that_is_a_file() {
    let world = library();
    world.file(".claude/skills", "");
    let output = world.run(&["doctor"]);
    assert!(output.code < 2, "{}", output.snapshot());
    world.run(&["list"]).expect(0);
}

#[test]
fn broken_configuration_is_one_of_the_answers() {
    let world = library();
    world.file(
        ".agents/prowess.toml",
        "[validate]\nprofil = 'spec'\nfail-on = 'worst'\n",
    );
    insta::assert_snapshot!(snapshot(&world.run(&["doctor"]).expect(1)));
    let output = world.run(&["doctor", "--json"]).expect(1);
    assert_eq!(states(&output, "config"), ["note", "bad"]);
    // All else is looked at as well.
    assert!(
        states(&output, "folder").len() >= 2,
        "{}",
        output.snapshot()
    );
    assert_eq!(states(&output, "store"), ["ok"]);
}

#[test]
fn configuration_that_is_used_is_named_with_its_mistakes() {
    let world = library();
    world.file(".agents/prowess.toml", "[validat]\nprofile = 'spec'\n");
    assert_eq!(
        states(&world.run(&["doctor", "--json"]).expect(0), "config"),
        ["ok", "note"]
    );
}

#[test]
fn configuration_that_cannot_be_read_stops_nothing() {
    let world = library();
    let missing = world.path("gone.toml");
    let output = world
        .command(&["doctor", "--json"])
        .env("PROWESS_CONFIG_FILE", missing)
        .run();
    assert_eq!(states(&output.expect(1), "config"), ["bad"]);
}

#[test]
fn other_commands_stop_at_a_broken_configuration() {
    let world = library();
    world.file(".agents/prowess.toml", "[skills]\ndirs = 'a'\n");
    for command in [&["list"][..], &["prompt"], &[]] {
        let output = world.run(command).expect(2);
        assert!(
            output.stderr.contains("`dirs` must be a list of strings"),
            "{}",
            output.snapshot()
        );
    }
}

/// Without skills on disk, no cache is written.
#[test]
fn cache_without_skills_is_no_problem() {
    let world = World::new();
    let output = world.run(&["doctor", "--json"]).json();
    let checks = output["checks"].as_array().unwrap();
    let cache = checks
        .iter()
        .find(|check| check["area"] == "cache")
        .unwrap();
    assert_eq!(cache["state"], "ok", "{cache}");
    assert!(
        cache["text"].as_str().unwrap().ends_with("not created yet"),
        "{cache}"
    );
}
