//! `prowess tool`

use serde_json::{Value, json};

use crate::world::World;

fn world() -> World {
    let world = World::new();
    world.file("~/config.toml", "[sandbox]\nstrength = 'best-effort'\n");
    world.skill(
        "~/.agents/skills/forms",
        "name: forms\ndescription: Fills in forms. Use when a form is to be filled in.\nallowed-tools: Bash(./run.sh:*)\n",
    );
    world.file("~/.agents/skills/forms/references/fields.md", "# Fields\n");
    world.file_with_mode(
        "~/.agents/skills/forms/run.sh",
        "#!/bin/sh\necho \"ran $*\"\n",
        0o755,
    );
    world
}

fn value(world: &World, name: &str, input: &Value, code: i32) -> Value {
    world
        .run(&[
            "tool",
            "call",
            name,
            "--json",
            &input.to_string(),
            "--value",
        ])
        .expect(code)
        .json()
}

#[test]
fn available_tools() {
    let world = world();
    insta::assert_snapshot!(world.run(&["tool", "list"]).expect(0).snapshot());
    let document = world.run(&["tool", "list", "--json"]).expect(0).json();
    let names: Vec<&str> = document["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for name in [
        "list_skills",
        "search_skills",
        "load_skill",
        "unload_skill",
        "load_skill_resource",
        "run_command_line",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(
        document["tools"]
            .as_array()
            .unwrap()
            .iter()
            .all(|tool| tool["input_schema"]["type"] == "object")
    );
}

#[test]
fn model_receives_the_same_text_as_prompt_prints() {
    let world = world();
    let loaded = world
        .run(&[
            "tool",
            "call",
            "load_skill",
            "--json",
            "{\"name\":\"forms\"}",
        ])
        .expect(0)
        .stdout;
    let shown = world.run(&["prompt", "--skill", "forms"]).expect(0).stdout;
    assert_eq!(loaded, shown);
    assert!(loaded.contains("references/fields.md"), "{loaded}");
}

#[test]
fn library_call_returns_the_same_bytes() {
    use prowess::tools::{Loaded, ToolSelection, Toolset};
    use std::sync::Arc;

    let world = world();
    let place = prowess::Place {
        current: world.path(""),
        home: Some(world.path("~").components().collect()),
        ..prowess::Place::default()
    };
    let registry = prowess::Registry::open(
        place,
        prowess::FileOptions::default(),
        prowess::Precedence::default(),
    );
    let paths = prowess::HostPaths {
        workspace: world.path(""),
        ..prowess::HostPaths::default()
    };
    let clock = Arc::new(prowess_store::SystemClock);
    let context = paths.context(
        &prowess::config::Config::default(),
        prowess::Services::new(Arc::new(registry), clock),
        prowess::Settings::default(),
    );
    for (name, input) in [
        ("list_skills", json!({})),
        ("search_skills", json!({ "query": "forms" })),
        ("load_skill", json!({ "name": "forms", "arguments": "a b" })),
        (
            "load_skill_resource",
            json!({ "skill_name": "forms", "resource_path": "references/fields.md" }),
        ),
    ] {
        let library = Toolset::new(&ToolSelection::everything())
            .unwrap()
            .call(&context, &mut Loaded::default(), name, &input)
            .unwrap();
        let command = value(&world, name, &input, 0);
        assert_eq!(command["text"], json!(library.text), "{name}");
        assert_eq!(command["value"], library.value, "{name}");
    }
}

#[test]
fn commands_run_with_the_permissions_of_the_skill() {
    let world = world();
    let run = |line: &str, code: i32| {
        let input = json!({ "reason": "to see", "commandLine": line }).to_string();
        let args = [
            "tool",
            "call",
            "run_command_line",
            "--skill",
            "forms",
            "--json",
            &input,
            "--value",
        ];
        world.run(&args).expect(code).json()
    };
    let answer = run("./run.sh a", 0);
    assert_eq!(answer["value"]["stdout"], "ran a", "{answer}");
    let refused = run("touch pwned", 3);
    assert_eq!(refused["error"]["kind"], "denied", "{refused}");
    assert!(!world.path("~/.agents/skills/forms/pwned").exists());
}

#[test]
fn errors_are_printed_as_a_model_reads_them() {
    let world = world();
    let unknown = world
        .run(&[
            "tool",
            "call",
            "load_skill",
            "--json",
            "{\"name\":\"form\"}",
        ])
        .expect(1);
    insta::assert_snapshot!("unknown_skill", unknown.snapshot());
    assert_eq!(
        value(&world, "load_skill", &json!({}), 1)["error"]["kind"],
        "input"
    );
    assert_eq!(
        value(&world, "lod_skill", &json!({}), 1)["error"]["kind"],
        "no-tool"
    );
    let missing = json!({ "skill_name": "forms", "resource_path": "../../../config.toml" });
    assert_eq!(
        value(&world, "load_skill_resource", &missing, 1)["error"]["kind"],
        "no-file"
    );
    let output = world
        .run(&["tool", "call", "load_skill", "--json", "{"])
        .expect(2);
    assert!(
        output.stderr.contains("invalid JSON in"),
        "{}",
        output.stderr
    );
}

/// A call through the library, the command and a session returns the same bytes.
#[test]
fn library_command_and_session_return_the_same_bytes() {
    use std::sync::Arc;

    use prowess::tools::{Loaded, ToolSelection, Toolset};
    use prowess::{FileOptions, HostPaths, Place, Precedence, Registry, Services, Settings};

    let world = World::new();
    world.skill(
        "~/.agents/skills/greet",
        "name: greet\ndescription: Greets people. Use when a guest arrives.\narguments: who\n",
    );
    world.file("~/.agents/skills/greet/words.md", "Good morning\n");
    let project = world.path("x").parent().unwrap().to_owned();
    let home = world.path("~/x").parent().unwrap().to_owned();
    let calls = [
        (
            "load_skill",
            serde_json::json!({"name": "greet", "arguments": {"who": "Ada"}}),
        ),
        ("load_skill", serde_json::json!({"name": "great"})),
        ("load_skill", serde_json::json!({"nmae": "greet"})),
        ("list_skills", serde_json::json!({})),
        (
            "search_skills",
            serde_json::json!({"query": "a guest arrives"}),
        ),
        (
            "load_skill_resource",
            serde_json::json!({"skill_name": "greet", "resource_path": "words.md"}),
        ),
        (
            "load_skill_resource",
            serde_json::json!({"skill_name": "greet", "resource_path": "../../x"}),
        ),
    ];
    let place = Place {
        current: project.clone(),
        home: Some(home.clone()),
        ..Place::default()
    };
    let registry = Registry::open(place, FileOptions::default(), Precedence::default());
    let paths = HostPaths {
        workspace: project,
        home: Some(home),
        ..HostPaths::default()
    };
    let clock = Arc::new(prowess::store::SystemClock);
    let config = prowess::config::Config::default();
    let services = Services::new(Arc::new(registry), clock);
    let context = paths.context(&config, services, Settings::default());
    for (name, input) in calls {
        let library = Toolset::new(&ToolSelection::default()).unwrap();
        let library = match library.call(&context, &mut Loaded::default(), name, &input) {
            Ok(answer) => answer.text,
            Err(error) => error.to_string(),
        };
        let text = input.to_string();
        let command = world
            .run(&["tool", "call", name, "--json", &text, "--value"])
            .json();
        let command = command["text"]
            .as_str()
            .or(command["error"]["text"].as_str())
            .unwrap();
        let script = serde_json::json!({"calls": [{"name": name, "input": input}]});
        let script = format!("{script}\n{{\"text\": \"done\"}}\n");
        let model = format!("scripted:{}", world.file("script.jsonl", script).display());
        let run = world
            .run(&["run", "--task", "go", "--model", &model, "--json"])
            .expect(0);
        let lines: Vec<Value> = run
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let ended = lines
            .iter()
            .find(|line| line["event"]["event"] == "call_ended")
            .unwrap();
        let session = ended["event"]["result"]["text"].as_str().unwrap();
        assert_eq!(
            command, library,
            "{name} {input}: the command and the library"
        );
        assert_eq!(
            session, library,
            "{name} {input}: a session and the library"
        );
    }
}
