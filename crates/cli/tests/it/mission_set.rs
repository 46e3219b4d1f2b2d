//! `mission set`: variables that are kept outside of a project.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::missions::RESEARCH;
use crate::terminal::on_terminal_with;
use crate::world::{Output, World};

/// A project with variables of every kind.
const VARIABLES: &str = r#"variable "team" { default = "red" }
variable "plain" {}
variable "token" { secret = true }

model "local" {
  provider = "ollama"
  base_url = "http://localhost:1/v1"
  aliases  = { m = "m" }
}

tool "post" {
  implements = builtins.http.post
  url        = "https://example.com/"
  headers    = { Authorization = "Bearer ${vars.token}" }
}

agent "worker" {
  model       = models.local.m
  personality = "Calm."
  tools       = [tools.post]
}

mission "x" {
  commander { model = models.local.m }
  agents = [agents.worker]
  task "t" { objective = "For ${vars.team}: ${vars.plain}" }
}
"#;

fn world() -> World {
    let world = World::new();
    world.file("mission.hcl", VARIABLES);
    world
}

fn set(world: &World, arguments: &[&str], value: &str) -> Output {
    let arguments = [&["mission", "set"], arguments].concat();
    world.command(&arguments).stdin(value).run()
}

fn objective(world: &World, environment: &[(&str, &str)]) -> String {
    let mut command = world.command(&["mission", "plan", "--json"]);
    for (name, value) in environment {
        command = command.env(name, value);
    }
    let plan = command.run().json();
    let objective = &plan["missions"][0]["tasks"][0]["objective"];
    objective.as_str().unwrap_or_default().to_owned()
}

#[test]
fn stored_value_is_used_before_the_environment_and_the_default() {
    let world = world();
    let from_environment = [("PROWESS_VAR_TEAM", "green"), ("PROWESS_VAR_PLAIN", "env")];
    assert_eq!(objective(&world, &[]), "");
    assert_eq!(objective(&world, &from_environment), "For green: env");
    assert_eq!(objective(&world, &from_environment[1..]), "For red: env");
    let output = set(&world, &["plain"], "stored ${vars.token}\n").expect(0);
    insta::assert_snapshot!("set", output.snapshot());
    set(&world, &["team"], "blue").expect(0);
    // A value is text, not a template.
    let expected = "For blue: stored ${vars.token}";
    assert_eq!(objective(&world, &from_environment), expected);
    set(&world, &["team", "--remove"], "").expect(0);
    let expected = "For green: stored ${vars.token}";
    assert_eq!(objective(&world, &from_environment), expected);
    let output = set(&world, &["team", "--remove"], "");
    insta::assert_snapshot!("not_set", output.snapshot());
    // Another project has other variables, and a link to this one the same.
    world.file("../other/mission.hcl", VARIABLES);
    world.link_to("../link", "");
    for (path, expected) in [
        ("../other", None),
        ("../link", Some("stored ${vars.token}")),
    ] {
        let path = world.text(path);
        let arguments = ["mission", "plan", &path, "--json"];
        let plan = world.run(&arguments).json();
        let objective = plan["missions"][0]["tasks"][0]["objective"].as_str();
        let found = objective.map(|text| text.trim_start_matches("For red: "));
        assert_eq!(found, expected, "{path}");
    }
}

#[test]
fn secrets_are_in_no_output() {
    let world = world();
    let canary = "canary-4711";
    let outputs = [
        set(&world, &["token"], canary).expect(0),
        set(&world, &["plain", "--secret"], canary).expect(0),
        set(&world, &[], "").expect(0),
        set(&world, &["--json"], "").expect(0),
        world.run(&["mission", "plan"]).expect(1),
        world.run(&["mission", "plan", "--json"]).expect(1),
    ];
    for output in &outputs {
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("canary"), "{all}");
    }
    insta::assert_snapshot!("list", outputs[2].snapshot());
    let document = json!({
        "schema": "prowess.mission-set/1",
        "variables": [
            { "name": "plain", "secret": true, "declared": true, "from": "mission set", "value": null },
            { "name": "team", "secret": false, "declared": true, "from": "default", "value": null },
            { "name": "token", "secret": true, "declared": true, "from": "mission set", "value": null },
        ],
    });
    assert_eq!(outputs[3].json(), document);
    // Set as a secret, it may be in no text for a model, whatever its block says.
    let errors = outputs[4].errors();
    assert!(
        errors.contains("the secret `vars.plain` is in a text for a model"),
        "{errors}"
    );
    let file = world.path("~/state/variables.json");
    assert!(std::fs::read_to_string(&file).unwrap().contains(canary));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // Nothing is kept in the project.
    assert!(
        !std::fs::read_to_string(world.path("mission.hcl"))
            .unwrap()
            .contains(canary)
    );
}

#[test]
fn wrong_values_and_files_are_errors() {
    let world = world();
    for (arguments, value, why) in [
        (&["plain"][..], "", "no value on standard input"),
        (&["plain"], "\n", "no value on standard input"),
        (&["plain"], "a\0b", "the value cannot be used"),
        (&[""], "x", "invalid variable name"),
        (&["a\u{202e}b"], "x", "invalid variable name"),
        (&["plain", "value"], "x", "cannot read"),
        (&["--secret"], "x", "required"),
        (
            &["plain", "--secret", "--remove"],
            "x",
            "cannot be used with",
        ),
    ] {
        let output = set(&world, arguments, value).expect(2);
        assert!(
            output.stderr.contains(why),
            "{arguments:?}: {}",
            output.stderr
        );
    }
    let long = "x".repeat(64 * 1024 + 1);
    let output = set(&world, &["plain"], &long).expect(2);
    assert!(
        output.stderr.contains("the value cannot be used"),
        "{}",
        output.stderr
    );
    let output = set(&world, &["plan"], "x").expect(0);
    assert!(
        output.stderr.contains("did you mean `plain`?"),
        "{}",
        output.stderr
    );
    let file = "~/state/variables.json";
    world.mode(file, 0o644);
    let output = world.run(&["mission", "plan"]).expect(2);
    assert!(
        output
            .stderr
            .contains("is readable by other users; run `chmod 600"),
        "{}",
        output.stderr
    );
    for text in ["{\"canary", "[]", "{\"version\":2,\"projects\":{}}"] {
        world.file_with_mode(file, text, 0o600);
        let output = set(&world, &["plain"], "x").expect(2);
        assert!(
            output.stderr.contains("cannot be used"),
            "{}",
            output.stderr
        );
        assert!(!output.stderr.contains("canary"), "{}", output.stderr);
        assert_eq!(std::fs::read_to_string(world.path(file)).unwrap(), text);
    }
}

#[test]
fn typed_value_is_not_shown() {
    let world = World::new();
    world.file("mission.hcl", RESEARCH);
    let typed = [("Value of `api_key`:", "canary-4711\n")];
    let shown = on_terminal_with(&world, 100, &["mission", "set", "api_key"], &typed, |_| {});
    assert!(!shown.contains("canary"), "{shown}");
    assert!(shown.contains("Set the secret `api_key`"), "{shown}");
    let file = std::fs::read_to_string(world.path("~/state/variables.json")).unwrap();
    assert!(file.contains("\"canary-4711\""), "{file}");
}

/// Programs that set variables at once lose none.
#[test]
fn variables_set_at_once_are_all_kept() {
    let world = world();
    std::thread::scope(|scope| {
        for at in 0..8 {
            let world = &world;
            scope.spawn(move || set(world, &[&format!("v{at}")], "x").expect(0));
        }
    });
    let document = set(&world, &["--json"], "").json();
    let names = document["variables"].as_array().unwrap().iter();
    let stored = names.filter(|one| one["from"] == "mission set").count();
    assert_eq!(stored, 8, "{document}");
}
