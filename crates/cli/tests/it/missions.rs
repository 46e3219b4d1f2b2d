//! Missions of Squadron: `mission plan`, `mission list`, `mission graph`, `validate`.

use std::collections::BTreeSet;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::world::World;

/// A mission with an input, without findings.
pub(crate) const RESEARCH: &str = r#"variable "api_key" { secret = true }

model "anthropic" {
  provider = "anthropic"
  api_key  = vars.api_key
}

agent "researcher" {
  model       = models.anthropic.claude_sonnet_4
  personality = "Thorough."
  tools       = [builtins.http.get]
}

mission "research" {
  commander { model = models.anthropic.claude_sonnet_4 }
  agents = [agents.researcher]

  input "topic" { type = "string" }

  task "gather" { objective = "Gather facts about ${inputs.topic}" }
  task "write" {
    objective  = "Write it down"
    depends_on = [tasks.gather]
  }
}
"#;

const MODELS: &str = "model \"anthropic\" {\n  provider = \"anthropic\"\n  api_key  = vars.key\n  aliases  = { sonnet = \"claude-sonnet-4\" }\n}\nvariable \"key\" { secret = true }\n";

/// Returns a project of a model, an agent and this mission.
fn project(items: &str) -> World {
    let world = World::new();
    world.file("models.hcl", MODELS);
    world.file(
        "agents.hcl",
        "agent \"worker\" {\n  model       = models.anthropic.sonnet\n  personality = \"Calm.\"\n}\n",
    );
    world.file(
        "mission.hcl",
        format!(
            "mission \"x\" {{\n  commander {{ model = models.anthropic.sonnet }}\n  agents = [agents.worker]\n{items}\n}}\n"
        ),
    );
    world
}

/// The five examples of Squadron's page on skills, as one project.
fn page_on_skills() -> World {
    let world = World::new();
    world.file("models.hcl", MODELS);
    world.file(
        "plugins.hcl",
        "plugin \"playwright\" { version = \"local\" }\nplugin \"translator\" { version = \"local\" }\n",
    );
    world.file(
        "skills.hcl",
        r#"skill "web_scraping" {
  description  = "Load when you need to extract data from web pages"
  instructions = load("./skills/web_scraping.md")
  tools        = [plugins.playwright.browser_navigate, plugins.playwright.browser_snapshot]
}
skill "data_analysis" {
  description  = "Load when you need to analyze datasets"
  instructions = "Use the dataset tools."
}
"#,
    );
    world.file(
        "researcher.hcl",
        r#"agent "researcher" {
  model       = models.anthropic.claude_sonnet_4
  personality = "Thorough"
  role        = "Research specialist"
  tools       = [builtins.http.get]
  skills      = [skills.web_scraping, skills.data_analysis]
}
"#,
    );
    world.file(
        "assistant.hcl",
        r#"agent "assistant" {
  model       = models.anthropic.claude_sonnet_4
  personality = "Helpful"
  role        = "General assistant"
  skill "summarizer" {
    description  = "Load when asked to summarize content"
    instructions = "Summarize in three points."
  }
  skill "translator" {
    description  = "Load when asked to translate text"
    instructions = load("./skills/translator.md")
    tools        = [plugins.translator.translate]
  }
}
"#,
    );
    world.file(
        "research.hcl",
        r#"mission "research" {
  commander { model = models.anthropic.claude_sonnet_4 }
  agent "worker" {
    model       = models.anthropic.claude_sonnet_4
    personality = "Efficient"
    role        = "Worker"
    skills      = [skills.web_scraping]
    skill "mission_helper" {
      description  = "Load for mission-specific analysis"
      instructions = load("./skills/mission_analysis.md")
    }
  }
  agents = [agents.worker]
  task "analyze" { objective = "Analyze the target" }
}
"#,
    );
    for name in ["web_scraping", "translator", "mission_analysis"] {
        world.file(format!("skills/{name}.md"), format!("How to do {name}.\n"));
    }
    world
}

fn plan(world: &World, arguments: &[&str], code: i32) -> Value {
    let all = [&["mission", "plan", "."], arguments, &["--json"]].concat();
    world.run(&all).expect(code).json()
}

/// Returns findings as `path:line rule severity message`.
fn findings(plan: &Value) -> Vec<String> {
    let findings = plan["findings"].as_array().unwrap().iter();
    findings
        .map(|one| {
            let word = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            let line = one["start"]["line"].as_u64().unwrap_or_default();
            format!(
                "{}:{line} {} {} {}",
                word("path"),
                word("rule"),
                word("severity"),
                word("message")
            )
        })
        .collect()
}

fn named<'p>(list: &'p Value, name: &str) -> &'p Value {
    let found = list.as_array().unwrap().iter();
    found
        .into_iter()
        .find(|one| one["name"] == name)
        .unwrap_or_else(|| panic!("{name} in {list}"))
}

#[test]
fn page_on_skills_plans_as_one_project() {
    let world = page_on_skills();
    let plan = plan(&world, &[], 1);
    assert_eq!(
        plan["counts"],
        json!({ "skills": 5, "agents": 3, "missions": 1 })
    );
    let rules: BTreeSet<String> = findings(&plan)
        .iter()
        .map(|one| one.split(' ').nth(1).unwrap().to_owned())
        .collect();
    // Plugins have no stand-in, and `role` is noted.
    let expected = ["mission-ignored", "mission-unsupported"];
    assert_eq!(rules, expected.map(str::to_owned).into());

    let researcher = named(&plan["agents"], "researcher");
    assert_eq!(
        researcher["skills"],
        json!(["web_scraping", "data_analysis"])
    );
    assert_eq!(researcher["description"], "Research specialist");
    assert_eq!(researcher["tools"], json!(["http.get"]));
    assert_eq!(researcher["has_load_skill"], true);
    assert_eq!(
        researcher["model"],
        json!({ "block": "anthropic", "name": "claude_sonnet_4" })
    );
    let assistant = named(&plan["agents"], "assistant");
    assert_eq!(assistant["skills"], json!(["summarizer", "translator"]));
    let worker = named(&plan["agents"], "worker");
    assert_eq!(worker["scope"], "mission research");
    assert_eq!(worker["skills"], json!(["web_scraping", "mission_helper"]));
    let helper = named(&plan["skills"], "mission_helper");
    assert_eq!(helper["scope"], "mission research agent worker");
    assert_eq!(helper["instructions"], "How to do mission_analysis.\n");
    assert_eq!(helper["at"], json!({ "file": "research.hcl", "line": 8 }));
    let mission = named(&plan["missions"], "research");
    assert_eq!(mission["commander"]["has_load_skill"], false);
    let tools = mission["commander"]["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("call_agent")) && !tools.contains(&json!("load_skill")));
}

/// A server that takes the place of a plugin, in the user's settings and nowhere else.
/// Settings in which servers replace two plugins.
const REPLACED: &str = "[missions.plugins]\nplaywright = \"browser\"\ntranslator = \"words\"\n[mcp.servers.browser]\ncommand = \"true\"\n[mcp.servers.words]\ncommand = \"true\"\n";

#[test]
fn server_can_replace_a_plugin() {
    let world = page_on_skills();
    let settings = REPLACED;
    world.file(".agents/prowess.toml", settings);
    assert_eq!(world.run(&["mission", "plan"]).code, 1);
    world.file("~/config.toml", settings);
    let plan = plan(&world, &[], 0);
    let skill = named(&plan["skills"], "web_scraping");
    assert_eq!(
        skill["tools"],
        json!([
            "mcp.browser.browser_navigate",
            "mcp.browser.browser_snapshot"
        ])
    );
}

#[test]
fn plan_document_has_all_fields() {
    let world = project(
        r#"  directive    = "Find out"
  max_parallel = 2
  input "topic" {
    type    = "string"
    default = "rust"
  }
  dataset "rows" {
    schema = { name = string("Name", true) }
    items  = [{ name = "a" }, { name = "b" }]
  }
  task "first" {
    objective = "Look at ${item.name}"
    iterator {
      dataset           = datasets.rows
      parallel          = true
      concurrency_limit = 7
    }
    budget { tokens = 500 }
  }
  task "second" {
    objective  = "About ${inputs.topic}"
    depends_on = [tasks.first]
    output     = { score = number("Score", true) }
    router {
      route {
        target    = tasks.third
        condition = "Again"
      }
      route {
        target    = missions.x
        condition = "From the start"
      }
    }
  }
  task "third" { objective = "End" }
  budget {
    tokens  = 200000
    dollars = 2.5
  }
  trigger { }
  schedule {
    at       = ["17:45", "09:15"]
    timezone = "Europe/Berlin"
  }"#,
    );
    let document = plan(&world, &["--at", "2026-03-28T10:00:00Z"], 0);
    assert_eq!(document["schema"], 1);
    assert_eq!(document["dialect"], "squadron");
    let mission = &document["missions"][0];
    assert_eq!(
        mission["budget"],
        json!({ "tokens": 200_000, "dollars": 2.5 })
    );
    assert_eq!(mission["trigger"], json!({ "path": "/x" }));
    assert_eq!(
        mission["schedules"][0]["fires"],
        json!([
            "2026-03-28T17:45:00+01:00",
            "2026-03-29T09:15:00+02:00",
            "2026-03-29T17:45:00+02:00",
            "2026-03-30T09:15:00+02:00"
        ])
    );
    assert_eq!(mission["schedules"][0]["at"], json!(["09:15", "17:45"]));
    assert_eq!(mission["schedules"][0]["zone"], "Europe/Berlin");
    let first = named(&mission["tasks"], "first");
    assert_eq!(first["objective"], Value::Null);
    assert_eq!(first["objectives"], json!(["Look at a", "Look at b"]));
    assert_eq!(first["needs"], json!(["item.name"]));
    assert_eq!(first["iterator"]["limit"], 7);
    assert_eq!(first["agents"], json!(["worker"]));
    let second = named(&mission["tasks"], "second");
    assert_eq!(second["needs"], json!(["inputs.topic"]));
    assert_eq!(
        second["routes"],
        json!([
            { "task": "third", "condition": "Again" },
            { "mission": "x", "condition": "From the start" }
        ])
    );
    assert_eq!(
        second["output"],
        json!({
            "type": "object",
            "properties": { "score": { "type": "number", "description": "Score" } },
            "required": ["score"]
        })
    );
    let plain = plan(&world, &[], 0);
    assert_eq!(plain["missions"][0]["schedules"][0]["fires"], json!([]));
}

#[test]
fn inputs_fill_in_objectives() {
    let world = World::new();
    world.file("m.hcl", RESEARCH);
    let objective = |plan: &Value| plan["missions"][0]["tasks"][0]["objective"].clone();
    assert_eq!(objective(&plan(&world, &[], 0)), Value::Null);
    let filled = plan(&world, &["research", "--input", "topic=${vars.api_key}"], 0);
    assert_eq!(objective(&filled), "Gather facts about ${vars.api_key}");
    world.file("in.json", "{\"topic\": \"bees\"}");
    let filled = plan(&world, &["--inputs", "in.json"], 0);
    assert_eq!(objective(&filled), "Gather facts about bees");
    for (arguments, message) in [
        (["--input", "topci=x"], "has no input `topci`"),
        (["--input", "topic"], "expected NAME=VALUE"),
        (["--inputs", "missing.json"], "cannot read `missing.json`"),
        (["--inputs", "m.hcl"], "is not JSON"),
        (["--at", "soon"], "invalid value `soon` for `--at`"),
    ] {
        let all = [&["mission", "plan", "."], &arguments[..]].concat();
        let output = world.run(&all).expect(2);
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
    let text = world.run(&["mission", "plan", "research"]).expect(0).stdout;
    assert!(text.contains("needs inputs.topic"), "{text}");
}

#[test]
fn exit_code_says_whether_there_are_errors() {
    let world = World::new();
    let empty = world.run(&["mission", "plan"]).expect(2);
    assert!(
        empty.stderr.contains("no mission files in"),
        "{}",
        empty.stderr
    );
    assert!(
        empty.stderr.contains("hint: create a file"),
        "{}",
        empty.stderr
    );
    world.run(&["mission", "list"]).expect(2);
    world.run(&["mission", "plan", "missing/folder"]).expect(2);
    world.file("m.hcl", RESEARCH);
    world.run(&["mission", "plan"]).expect(0);
    let unknown = world.run(&["mission", "plan", ".", "resaerch"]).expect(2);
    assert!(
        unknown.stderr.contains("did you mean `research`?"),
        "{}",
        unknown.stderr
    );
    world.file("bad.hcl", "agent \"x\" {\n  modle = 1\n}\n");
    let output = world.run(&["mission", "plan"]).expect(1);
    assert!(output.stderr.contains("bad.hcl:2:3"), "{}", output.stderr);
    assert!(
        output.stderr.contains("did you mean `model`?"),
        "{}",
        output.stderr
    );
}

#[test]
fn project_is_the_folder_around_the_current_one() {
    let world = World::new();
    world.file("project/models.hcl", MODELS);
    world.file(
        "project/missions/m.hcl",
        RESEARCH
            .split_once("agent ")
            .map_or(String::new(), |(_, rest)| format!("agent {rest}")),
    );
    world.folder("project/missions/deep");
    for folder in ["project", "project/missions", "project/missions/deep"] {
        let run = world.command(&["mission", "list", "--json"]).dir(folder);
        let list = run.run().expect(0).json();
        assert_eq!(list["missions"][0]["name"], "research", "{folder}");
        assert_eq!(list["findings"], json!([]), "{folder}");
    }
    // A file is a project of its own.
    let output = world.run(&["mission", "plan", "project/missions/m.hcl", "--json"]);
    let findings = findings(&output.expect(1).json());
    assert!(
        findings.iter().all(|one| one.contains("unknown model")),
        "{findings:?}"
    );
}

/// Ten processes print the same bytes, in whatever order files were created.
#[test]
fn plan_is_deterministic() {
    let mut seen = BTreeSet::new();
    for turn in 0..10 {
        let world = World::new();
        let mut files = vec![
            (
                "a.hcl",
                "skill \"s\" {\n description = \"d\"\n instructions = \"i\"\n}\n",
            ),
            ("b.hcl", RESEARCH),
            (
                "c/d.hcl",
                "skill \"s\" {\n description = \"e\"\n instructions = \"j\"\n}\n",
            ),
            ("e.hcl", "agent \"f\" {\n  skills = [skills.t]\n}\n"),
        ];
        files.rotate_left(turn % 4);
        if turn % 2 == 0 {
            files.reverse();
        }
        for (path, text) in files {
            world.file(path, text);
        }
        seen.insert(world.run(&["mission", "plan", "--json"]).expect(1).stdout);
    }
    assert_eq!(seen.len(), 1);
}

#[test]
fn value_of_a_secret_is_printed_nowhere() {
    let world = World::new();
    world.file(
        "m.hcl",
        format!(
            "{RESEARCH}\ntool \"post\" {{\n  implements = builtins.http.post\n  url = \"https://x\"\n  headers = {{ Authorization = \"Bearer ${{vars.api_key}}\" }}\n}}\nskill \"leak\" {{\n  description = \"Use ${{vars.api_key}}\"\n  instructions = \"i\"\n}}\n"
        ),
    );
    for arguments in [
        &["mission", "plan", "--json"][..],
        &["mission", "plan"],
        &["mission", "list", "--json"],
        &["mission", "graph", "research"],
        &["validate", "m.hcl"],
    ] {
        let run = world
            .command(arguments)
            .env("PROWESS_VAR_API_KEY", "canary-7391");
        let output = run.run();
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("canary-7391"), "{arguments:?}: {all}");
    }
    let plan = plan(&world, &[], 1);
    let found = findings(&plan);
    assert!(
        found.len() == 1 && found[0].contains("mission-secret") && found[0].starts_with("m.hcl:"),
        "{found:?}"
    );
}

#[test]
fn variables_of_the_environment_are_used() {
    let world = project("  task \"t\" { objective = \"For ${vars.team}\" }");
    world.file("vars.hcl", "variable \"team\" { default = \"ours\" }\n");
    let objective = |team: Option<&str>| {
        let mut run = world.command(&["mission", "plan", "--json"]);
        if let Some(team) = team {
            run = run.env("PROWESS_VAR_TEAM", team);
        }
        run.run().expect(0).json()["missions"][0]["tasks"][0]["objective"].clone()
    };
    assert_eq!(objective(None), "For ours");
    assert_eq!(objective(Some("theirs")), "For theirs");
}

/// A link to a file outside of the project is not read.
#[test]
fn load_does_not_leave_the_project() {
    let world = World::new();
    world.file("outside/secret.md", "canary-5512");
    world.file("project/text.md", "inside");
    world.link("project/link.md", "../outside/secret.md");
    world.link("project/folder", "../outside");
    for path in [
        "link.md",
        "folder/secret.md",
        "../outside/secret.md",
        "/etc/hostname.md",
        "missing.md",
        "text.json",
    ] {
        world.file(
            "project/a.hcl",
            format!(
                "skill \"s\" {{\n  description = \"d\"\n  instructions = load(\"{path}\")\n}}\n"
            ),
        );
        let output = world
            .run(&["mission", "plan", "project", "--json"])
            .expect(1);
        assert!(!output.stdout.contains("canary"), "{path}");
        let found = findings(&output.json());
        assert!(
            found.len() == 1 && found[0].starts_with("a.hcl:3 mission-path error"),
            "{path}: {found:?}"
        );
    }
}

/// Programs of servers are not started, and no server is contacted.
#[test]
fn planning_starts_no_process_and_opens_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let world = page_on_skills();
    let script = world.file_with_mode("start.sh", "#!/bin/sh\ntouch started\n", 0o755);
    world.file(
        "servers.hcl",
        format!(
            "mcp \"local\" {{ command = \"{}\" }}\nmcp \"remote\" {{ url = \"http://127.0.0.1:{port}/\" }}\nmcp \"npm\" {{\n  source = \"npm:x\"\n  version = \"1.0.0\"\n}}\nagent \"user\" {{\n  model = models.anthropic.sonnet\n  personality = \"p\"\n  tools = [mcp.local.all, mcp.remote.all]\n}}\n",
            script.display()
        ),
    );
    for arguments in [
        &["mission", "plan", "--json"][..],
        &["mission", "list"],
        &["mission", "graph", "research"],
        &["validate", "servers.hcl"],
    ] {
        let output = world.run(arguments);
        assert!(output.code < 2, "{arguments:?}: {}", output.stderr);
    }
    assert!(!script.parent().unwrap().join("started").exists());
    let error = listener.accept().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn graph_is_drawn_in_three_notations() {
    let world = World::new();
    world.file("m.hcl", RESEARCH);
    let graph = |format: &str| {
        let arguments = ["mission", "graph", "research", "--format", format];
        world.run(&arguments).expect(0).stdout
    };
    assert_eq!(graph("text"), "research\n  gather\n  write  after gather\n");
    assert_eq!(
        graph("mermaid"),
        "flowchart TD\n  t0[\"gather\"]\n  t1[\"write\"]\n  t0 --> t1\n"
    );
    assert_eq!(
        graph("dot"),
        "digraph \"research\" {\n  rankdir=TB;\n  t0 [shape=box, label=\"gather\"];\n  t1 [shape=box, label=\"write\"];\n  t0 -> t1;\n}\n"
    );
    world.run(&["mission", "graph", "nothing"]).expect(2);
}

#[test]
fn list_shows_missions_and_counts_findings() {
    let world = World::new();
    world.file("m.hcl", format!("{RESEARCH}\nmodle \"x\" {{\n}}\n"));
    let output = world.run(&["mission", "list"]).expect(0);
    assert!(output.stdout.contains("research"), "{}", output.stdout);
    assert!(output.stdout.contains("m.hcl:14"), "{}", output.stdout);
    assert!(
        output
            .stderr
            .contains("1 finding in the mission files; run `prowess mission plan`"),
        "{}",
        output.stderr
    );
}

#[test]
fn names_cannot_reach_the_terminal_unescaped() {
    let world = project(
        "  task \"a\\u001b[31mb\" { objective = \"x\\u001b]0;y\" }\n  task \"t\" { objective = \"\\u001b[2J\" }",
    );
    for arguments in [&["mission", "plan"][..], &["mission", "graph", "x"]] {
        let output = world.run(arguments);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains('\u{1b}'), "{all:?}");
    }
}

#[test]
fn validate_takes_mission_files_and_fixes_them() {
    let world = project(
        "  task \"a\" { objective = \"o\" }\n  task \"b\" {\n    objective  = \"o\"\n    depends_on = [tasks.a]\n  }\n  task \"c\" {\n    objective  = \"o\"\n    depends_on = [tasks.a, tasks.b]\n  }",
    );
    // Other files of the project are known, and their findings are not shown.
    world.file("other.hcl", "agent \"broken\" {\n}\n");
    let output = world
        .run(&["validate", "mission.hcl", "--format", "concise"])
        .expect(0);
    assert_eq!(
        output.stdout,
        "mission.hcl:11:19: warning[mission-graph] `c` need not depend on `a`: `b` does [fixable]\n"
    );
    let diff = world
        .run(&["validate", "mission.hcl", "--diff"])
        .expect(1)
        .stdout;
    assert!(diff.contains("+    depends_on = [tasks.b]"), "{diff}");
    world.run(&["validate", "mission.hcl", "--fix"]).expect(0);
    let left = world
        .run(&["validate", "mission.hcl", "--json"])
        .expect(0)
        .json();
    assert_eq!(left["findings"], json!([]));
    world.file(
        "bad.hcl",
        "mission \"m\" {\n  agents = [agents.wroker]\n}\n",
    );
    let output = world
        .run(&["validate", "bad.hcl", "--format", "github"])
        .expect(1);
    assert!(output.stdout.contains("did you mean"), "{}", output.stdout);
}

#[test]
fn validate_knows_replaced_plugins_and_the_library() {
    let world = page_on_skills();
    let settings = REPLACED;
    let validate = ["validate", "plugins.hcl", "--format", "concise"];
    // A project cannot replace a plugin.
    world.file(".agents/prowess.toml", settings);
    let refused = world.run(&validate).expect(1);
    let rule = "error[mission-unsupported]";
    assert!(refused.stdout.contains(rule), "{}", refused.stdout);
    world.file("~/config.toml", settings);
    assert_eq!(world.run(&validate).expect(0).stdout, "");
    let without = [&validate[..], &["--no-config"]].concat();
    world.run(&without).expect(1);

    let agent = "agent \"reader\" {\n  model       = models.anthropic.claude_sonnet_4\n  personality = \"Calm.\"\n  skills      = [skills[\"pdf-forms\"]]\n}\n";
    world.file("reader.hcl", agent);
    world.run(&["validate", "reader.hcl"]).expect(1);
    world.good(".agents/skills/pdf-forms");
    world.run(&["validate", "reader.hcl"]).expect(0);
}

#[test]
fn rules_about_missions_are_chosen_and_explained() {
    let world = project("  objectve = 1\n  task \"a\" { objective = \"\" }");
    let rules = |options: &[&str]| -> Vec<(String, String)> {
        let arguments = [&["validate", "mission.hcl", "--format", "json"], options].concat();
        let report = world.run(&arguments).json();
        let findings = report["findings"].as_array().unwrap().iter();
        let word = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
        findings
            .map(|one| (word(one, "rule"), word(one, "severity")))
            .collect()
    };
    let pair = |rule: &str, severity: &str| (rule.to_owned(), severity.to_owned());
    let (key, value) = (pair("mission-key", "error"), pair("mission-value", "error"));
    assert_eq!(rules(&[]), [key.clone(), value.clone()]);
    assert_eq!(rules(&["--select", "mission-key"]), [key]);
    assert_eq!(rules(&["--ignore", "mission-key"]), [value]);
    let weaker = [
        "--severity",
        "mission-key=warning",
        "--ignore",
        "mission-value",
    ];
    assert_eq!(rules(&weaker), [pair("mission-key", "warning")]);
    let shown = world.run(&["validate", "mission.hcl"]).expect(1).stdout;
    assert!(shown.contains("prowess explain mission-key"), "{shown}");
    let sarif = ["validate", "mission.hcl", "--format", "sarif"];
    let sarif = world.run(&sarif).expect(1).json();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "mission-key");
    let page = world.run(&["explain", "mission-key"]).expect(0).stdout;
    assert!(page.contains("instrutions  = \"Be brief.\""), "{page}");
}

/// Runs the command of its arguments, and prints the maximum of its memory in KiB on the last line.
const MEASURE: &str = "import resource, subprocess, sys\ncode = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\nprint(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";

/// Returns the exit code of `mission plan`, and the maximum of its memory in KiB.
fn measured_plan(world: &World) -> (i32, u64) {
    let output = std::process::Command::new("python3")
        .args(["-c", MEASURE, env!("CARGO_BIN_EXE_prowess")])
        .args(["mission", "plan", ".", "--json"])
        .env("PROWESS_HOME", world.path("~"))
        .env("HOME", world.path("~"))
        .current_dir(world.path(""))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (code, memory) = text.trim().split_once(' ').unwrap();
    (code.parse().unwrap(), memory.parse().unwrap())
}

/// Files that are made to cost time or memory have an answer in time, with bounded memory.
#[test]
fn hostile_files_are_answered_in_time() {
    let keys: String = (0..60_000).map(|at| format!("k{at} = 1\n")).collect();
    let loops = "[for a in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] : ".repeat(10);
    let text = "x".repeat(1_000);
    for source in [
        format!("skill \"s\" {{\n  description = {{\n{keys}}}\n}}\n"),
        format!("skill \"s\" {{\n  description = {}\n", "[".repeat(100_000)),
        format!(
            "skill \"s\" {{\n  instructions = \"i\"\n  description = \"${{{loops}\"{text}\"{}}}\"\n}}\n",
            "]".repeat(10)
        ),
        "agent {".repeat(50_000),
        // Each text is four of the one before: a gigabyte in all.
        {
            let more = "%{for x in [1, 2, 3, 4]}".repeat(10);
            let ends = "%{endfor}".repeat(10);
            format!(
                "skill \"s\" {{\n  instructions = \"i\"\n  description = \"{more}{text}{ends}\"\n}}\n"
            )
        },
    ] {
        let world = World::new();
        world.file("a.hcl", source);
        let run = world
            .command(&["mission", "plan", ".", "--json"])
            .patience(30);
        let plan = run.run().expect(1).json();
        assert!(!findings(&plan).is_empty());
        let (code, memory) = measured_plan(&world);
        assert_eq!(code, 1);
        assert!(memory < 100_000, "{memory} KiB");
    }
}
