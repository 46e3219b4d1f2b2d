//! `convert`: skills, agents and missions in the form of another system.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::world::World;

/// A project of Squadron without findings, with skills of all scopes.
const PROJECT: &str = r#"variable "api_key" { secret = true }

model "anthropic" {
  provider = "anthropic"
  api_key  = vars.api_key
}

skill "web_scraping" {
  description  = "Load when you need data from web pages"
  instructions = load("./texts/web.md")
  tools        = [builtins.http.get]
}

agent "researcher" {
  model       = models.anthropic.claude_sonnet_4
  personality = "Thorough. Cites $${everything}."
  tools       = [builtins.http.get]
  skills      = [skills.web_scraping]
  skill "summarizer" {
    description  = "Load to summarise"
    instructions = "Three points.\n\"Quoted\"."
  }
}

mission "research" {
  commander { model = models.anthropic.claude_sonnet_4 }
  agents = [agents.researcher, agents.worker]
  agent "worker" {
    model       = models.anthropic.claude_sonnet_4
    personality = "Works."
    skill "mission_helper" {
      description  = "Load for the mission"
      instructions = "Help."
    }
  }
  input "topic" { type = "string" }
  task "gather" {
    objective = <<T
Gather facts about ${inputs.topic}.
Cite them.
T
  }
  task "write" {
    objective  = "Write it down"
    depends_on = [tasks.gather]
  }
}
"#;

fn squadron() -> World {
    let world = World::new();
    world.file("proj/missions.hcl", PROJECT);
    world.file(
        "proj/texts/web.md",
        "Fetch ${pages} politely.\n\nOne by one.\n",
    );
    world
}

/// Returns the plan of a folder without places, files and findings.
fn plan(world: &World, folder: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(entries) => {
                entries.remove("at");
                entries.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut plan = world
        .run(&["mission", "plan", folder, "--json"])
        .expect(0)
        .json();
    let entries = plan.as_object_mut().unwrap();
    entries.remove("files");
    entries.remove("findings");
    strip(&mut plan);
    plan
}

/// Returns all files below a folder, with their texts.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                walk(root, &entry.path(), found);
            } else {
                let path = entry.path();
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    found
}

/// missions.md line 82.
#[test]
fn squadron_to_squadron_gives_an_equal_plan() {
    let world = squadron();
    let before = tree(&world.folder("proj"));
    let output = world
        .run(&["convert", "proj", "--to", "squadron", "--out", "back"])
        .expect(0);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.starts_with("Wrote "), "{}", output.stderr);
    assert!(
        output.stderr.contains("nothing is lost"),
        "{}",
        output.stderr
    );
    assert_eq!(plan(&world, "proj"), plan(&world, "back"));
    assert_eq!(
        tree(&world.folder("proj")),
        before,
        "the source is not changed"
    );
    let check = ["convert", "proj", "--to", "squadron", "--check"];
    assert!(world.run(&check).expect(0).stderr.contains("Would write"));
}

/// missions.md line 82.
#[test]
fn squadron_to_skills_and_agents_and_back_gives_an_equal_plan() {
    let world = squadron();
    let skills = [
        "convert",
        "proj",
        "--to",
        "skills",
        "--out",
        "lib/.claude/skills",
    ];
    world.run(&skills).expect(0);
    let agents = [
        "convert",
        "proj",
        "--to",
        "agents-md",
        "--out",
        "lib/.claude/new",
    ];
    world.run(&agents).expect(0);
    let lib = world.folder("lib");
    std::fs::rename(lib.join(".claude/new/agents"), lib.join(".claude/agents")).unwrap();
    world.run(&["validate", "lib/.claude/skills"]).expect(0);
    // Agents of plugins are in a folder `agents`.
    std::fs::rename(lib.join(".claude"), lib.join("plugin")).unwrap();
    world
        .run(&["convert", "lib", "--to", "squadron", "--out", "back"])
        .expect(0);
    let (first, back) = (plan(&world, "proj"), plan(&world, "back"));
    let by_name = |plan: &Value, kind: &str| {
        let mut found: Vec<Value> = plan[kind].as_array().unwrap().clone();
        // Agents of missions belong to the project: Markdown has no missions.
        for one in &mut found {
            let scope = one["scope"].as_str().unwrap().to_owned();
            let scope = match scope.split_once("mission research") {
                Some((_, "")) => "global",
                Some((_, agent)) => agent.trim(),
                None => &scope,
            };
            one["scope"] = scope.into();
        }
        found.sort_by_key(|one| one["name"].as_str().unwrap().to_owned());
        found
    };
    assert_eq!(by_name(&first, "skills"), by_name(&back, "skills"));
    assert_eq!(by_name(&first, "agents"), by_name(&back, "agents"));
}

#[test]
fn losses_are_shown_with_their_places() {
    let world = squadron();
    let output = world
        .run(&["convert", "proj", "--to", "skills", "--check"])
        .expect(1);
    insta::assert_snapshot!(output.snapshot());
    assert!(!world.folder(".").join("new").exists());
    let output = world
        .run(&[
            "convert",
            "proj",
            "--to",
            "agents-md",
            "--out",
            "md",
            "--json",
        ])
        .expect(0);
    let document = output.json();
    assert_eq!(document["schema"], "prowess.convert/1");
    assert_eq!(document["to"], "agents-md");
    assert_eq!(document["written"], true);
    assert_eq!(document["files"][0]["path"], "agents/researcher.md");
    assert_eq!(document["counts"]["files"], 2);
    let findings = document["findings"].as_array().unwrap();
    assert_eq!(document["counts"]["lost"], findings.len());
    let model = findings.iter().find(|one| {
        one["message"]
            .as_str()
            .unwrap()
            .contains("models.anthropic")
    });
    assert_eq!(
        model.unwrap()["code"]
            .as_str()
            .or(model.unwrap()["rule"].as_str()),
        Some("convert-lost")
    );
    insta::assert_snapshot!(
        std::fs::read_to_string(world.folder("md/agents").join("researcher.md")).unwrap()
    );
}

#[test]
fn only_an_empty_folder_is_written() {
    let world = squadron();
    world.file("full/notes.txt", "mine");
    world.folder("empty");
    world.file("file", "mine");
    world.folder("real");
    world.link("link", "real");
    let convert = |out: &str| world.run(&["convert", "proj", "--to", "skills", "--out", out]);
    for (out, why) in [
        ("full", "is not empty"),
        ("file", "is not a folder"),
        ("link", "is a link"),
        ("proj", "is not empty"),
    ] {
        let output = convert(out).expect(2);
        assert!(output.stderr.contains(why), "{}", output.stderr);
        assert!(
            output
                .stderr
                .contains("hint: choose a folder that is empty"),
            "{}",
            output.stderr
        );
    }
    assert_eq!(tree(&world.folder("full")).len(), 1);
    assert!(tree(&world.folder("real")).is_empty());
    let output = convert("link/").expect(2);
    assert!(output.stderr.contains("is a link"), "{}", output.stderr);
    convert("empty").expect(0);
    // The current folder stays the same folder.
    let here = world.folder("here");
    let arguments = ["convert", "../proj", "--to", "skills", "--out", "."];
    let before = std::fs::metadata(&here).unwrap();
    world.command(&arguments).dir("here").run().expect(0);
    let after = std::fs::metadata(&here).unwrap();
    assert_eq!(
        std::os::unix::fs::MetadataExt::ino(&before),
        std::os::unix::fs::MetadataExt::ino(&after)
    );
    assert_eq!(tree(&here).len(), 3);
    assert_eq!(tree(&world.folder("empty")).len(), 3);
    convert("deep/er/new").expect(0);
    assert_eq!(tree(&world.folder("deep/er/new")).len(), 3);
    // Nothing is left beside it.
    assert_eq!(
        std::fs::read_dir(world.folder("deep/er")).unwrap().count(),
        1
    );
}

#[test]
fn errors_in_the_source_prevent_writing() {
    let world = World::new();
    world.file(
        "proj/a.hcl",
        "agent \"a\" {\n  model = models.none.x\n  personality = \"P\"\n}\n",
    );
    let output = world
        .run(&["convert", "proj", "--to", "squadron", "--out", "new"])
        .expect(1);
    assert!(output.stderr.contains("proj/a.hcl:2"), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("1 error in the source: nothing was written"),
        "{}",
        output.stderr
    );
    assert!(!world.folder(".").join("new").exists());
    for (source, why) in [
        ("nowhere", "it does not exist"),
        ("empty", "nothing to convert in `empty`"),
    ] {
        world.folder("empty");
        let output = world
            .run(&["convert", source, "--to", "skills", "--check"])
            .expect(2);
        assert!(output.stderr.contains(why), "{}", output.stderr);
    }
    world.file(
        "md/.claude/agents/a.md",
        "---\nname: a\ndescription: D\n---\nP\n",
    );
    let output = world
        .run(&["convert", "md", "--to", "skills", "--check"])
        .expect(2);
    assert!(
        output.stderr.contains("no skills in `md`"),
        "{}",
        output.stderr
    );
    let output = world.run(&["convert", "md", "--to", "skills"]).expect(2);
    assert!(output.stderr.contains("--out"), "{}", output.stderr);
}

/// Names from files reach neither paths nor the terminal.
#[test]
fn hostile_names_stay_inside() {
    let world = World::new();
    let names = [
        "../up",
        "/abs",
        "a\\u001b[31mb",
        "con",
        "CON",
        "..",
        "a\\u0000b",
        "x\\\\y",
    ];
    let mut text = "model \"m\" {\n  provider = \"anthropic\"\n  api_key  = \"k\"\n}\n".to_owned();
    for name in names {
        text.push_str(&format!(
            "skill \"{name}\" {{\n  description  = \"D\"\n  instructions = \"I\"\n}}\n"
        ));
    }
    world.file("proj/a.hcl", text);
    let output = world.run(&["convert", "proj", "--to", "skills", "--out", "in/out"]);
    assert!(!output.stderr.contains('\u{1b}'), "{:?}", output.stderr);
    // Names with control characters are errors of the source.
    assert_eq!(output.code, 1, "{}", output.stderr);
    let mut text = "model \"m\" {\n  provider = \"anthropic\"\n  api_key  = \"k\"\n}\n".to_owned();
    for name in names.iter().filter(|name| !name.contains("\\u")) {
        text.push_str(&format!(
            "skill \"{name}\" {{\n  description  = \"D\"\n  instructions = \"I\"\n}}\n"
        ));
    }
    world.file("proj/a.hcl", text);
    world
        .run(&["convert", "proj", "--to", "skills", "--out", "in/out"])
        .expect(0);
    let files: Vec<String> = tree(&world.folder("in")).into_keys().collect();
    assert_eq!(
        files,
        [
            "out/abs/SKILL.md",
            "out/con-1-2/SKILL.md",
            "out/con-1/SKILL.md",
            "out/unnamed/SKILL.md",
            "out/up/SKILL.md",
            "out/x-y/SKILL.md",
        ]
    );
}

#[test]
fn values_of_the_environment_are_not_written() {
    let world = squadron();
    for target in ["squadron", "agents-md", "skills"] {
        let out = format!("out-{target}");
        world
            .command(&["convert", "proj", "--to", target, "--out", &out])
            .env("PROWESS_VAR_API_KEY", "s3cret")
            .run()
            .expect(0);
        for (path, text) in tree(&world.folder(&out)) {
            assert!(!text.contains("s3cret"), "{path}");
        }
    }
}

#[test]
fn servers_of_a_crew_become_blocks() {
    let world = World::new();
    world.file(
        "crew/a.skilled_crew.yaml",
        "agents:\n  one:\n    mcp_servers:\n      - filePath: server.json\n",
    );
    world.file(
        "crew/server.json",
        r#"{"name": "docs", "command": "npx", "args": ["-y", "docs@1"], "env": {"TOKEN": "s3cret", "KEY": "${DOCS_KEY}"}}"#,
    );
    let run = ["convert", "crew", "--to", "squadron", "--out", "new"];
    let output = world.run(&run).expect(0);
    let told = "values of the server `docs` become secret variables: `docs_token`";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    let files = tree(&world.path("new"));
    assert!(
        files.values().all(|text| !text.contains("s3cret")),
        "{files:?}"
    );
    let text = &files["tools.hcl"];
    assert!(text.contains("mcp \"docs\" {"), "{text}");
    assert!(text.contains("vars.docs_token"), "{text}");
    // The plan is valid, and the agent has the tools of its server.
    let plan = world.run(&["mission", "plan", "new", "--json"]).expect(0);
    assert_eq!(
        plan.json()["agents"][0]["tools"],
        serde_json::json!(["mcp.docs.all"])
    );
    // What the hint says works.
    let set = world.command(&["mission", "set", "docs_token"]).dir("new");
    set.stdin("s3cret\n").run().expect(0);
}
