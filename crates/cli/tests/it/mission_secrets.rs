//! Secrets and bound tools in runs of missions.

use std::path::Path;

use serde_json::{Value, json};

use crate::mission_runs::{calls, done, lines, says, trust};
use crate::mission_server::{MissionServer, ServerAnswer, reply};
use crate::world::World;

const CANARY: &str = "canary-8f41-never-printed";

/// Returns the files below a folder that contain a text.
pub(crate) fn files_with(folder: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files_with(&path, text, found);
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let mut windows = bytes.windows(text.len());
            if windows.any(|window| window == text.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
}

/// A project whose secret is in a header, in an address and in a protected input.
fn project(server: &MissionServer) -> World {
    let world = World::new();
    let text = format!(
        r#"variable "token" {{}}
variable "team" {{ default = "red" }}

{}
tool "create_todo" {{
  implements  = builtins.http.post
  description = "Creates a todo."
  inputs {{
    field "title" {{
      type     = "string"
      required = true
    }}
  }}
  url     = "{}/${{vars.team}}?q=${{inputs.title}}"
  headers = {{ Authorization = "Bearer ${{vars.token}}", X-Fixed = "fixed" }}
  body    = {{ title = "${{inputs.title}}!", kind = "todo" }}
}}

tool "fails" {{
  implements = builtins.http.get
  url        = "{}/fails?key=${{vars.token}}"
}}

tool "unreachable" {{
  implements = builtins.http.get
  url        = "http://127.0.0.1:9/${{vars.token}}"
}}

agent "worker" {{
  model       = models.m.small
  personality = "Calm."
  tools       = [tools.create_todo, tools.fails, tools.unreachable, builtins.http.get]
}}

mission "x" {{
  commander {{ model = models.m.small }}
  agents = [agents.worker]
  input "pin" {{
    type      = "string"
    protected = true
    value     = vars.token
  }}
  task "a" {{ objective = "For ${{vars.team}}" }}
}}
"#,
        server.model("  api_key  = vars.token\n"),
        server.url("todos"),
        server.url("pages"),
    );
    world.file("mission.hcl", text);
    world
        .command(&["mission", "set", "token", "--secret"])
        .stdin(CANARY)
        .run()
        .expect(0);
    world
        .command(&["mission", "set", "team"])
        .stdin("blue")
        .run()
        .expect(0);
    trust(&world);
    world
}

/// Lines 33, 35, 36, 37 and 62 of missions §5.
#[test]
fn secrets_reach_servers_and_nothing_else() {
    let worker = "You are agent `worker`";
    let title = json!({ "title": "Buy milk" });
    let page = json!({ "url": "URL", "headers": { "X-Pin": "${secrets.pin}" } });
    let script = [
        calls(&[worker], &["todo ["], &[("create_todo", title)]),
        calls(&[worker], &["page ["], &[("http_get", page)]),
        calls(
            &[worker],
            &["OUT-OF-ORDER"],
            &[("fails", json!({})), ("unreachable", json!({}))],
        ),
        says(&[worker], &[], "WORKER-DONE"),
        calls(
            &["You direct task `a`", "For blue"],
            &["WORKER-DONE"],
            &[("call_agent", json!({ "name": "worker", "task": "Work." }))],
        ),
        calls(
            &["You direct task `a`"],
            &[],
            &[(
                "task_complete",
                json!({ "summary": "no", "succeed": false, "reason": "it cannot be done" }),
            )],
        ),
    ];
    let server = MissionServer::new(move |request| {
        // Pages repeat what they were sent.
        let first = request.head.lines().next().unwrap_or_default();
        if first.contains("/todos/") {
            return ServerAnswer::Page("200 OK", format!("todo [{}]", request.head));
        }
        if first.contains("/pages/fails") {
            let text = format!("OUT-OF-ORDER [{first}]");
            return ServerAnswer::Page("500 Internal Server Error", text);
        }
        if first.contains("/pages/pin") {
            return ServerAnswer::Page("200 OK", format!("page [{}]", request.head));
        }
        let port = request.head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_host = name.eq_ignore_ascii_case("host");
            is_host.then(|| value.rsplit(':').next().unwrap().trim().to_owned())
        });
        let url = format!("http://127.0.0.1:{}/pages/pin", port.unwrap());
        match reply(&script, request) {
            ServerAnswer::Reply(line) => {
                let line = line.to_string().replace("\"URL\"", &format!("{url:?}"));
                ServerAnswer::Reply(serde_json::from_str(&line).unwrap())
            }
            other => other,
        }
    });
    let world = project(&server);
    let plan = world.run(&["mission", "plan", "--json"]).expect(0);
    let run = [
        "mission",
        "run",
        "x",
        "--json",
        "-vv",
        "--approve",
        "WebFetch(domain:127.0.0.1)",
        "--approve",
        "http_post(domain:127.0.0.1)",
    ];
    let output = world.run(&run).expect(1);
    let events = lines(&output.stdout);
    let id = events.last().unwrap()["run"].as_str().unwrap().to_owned();
    let again = [
        "mission",
        "resume",
        &id,
        "--retry",
        "a",
        "--approve",
        "WebFetch(domain:127.0.0.1)",
        "--approve",
        "http_post(domain:127.0.0.1)",
    ];
    let outputs = [
        plan,
        output,
        world.run(&again).expect(1),
        world.run(&["mission", "show", &id]).expect(0),
        world.run(&["mission", "show", &id, "a"]).expect(0),
        world.run(&["mission", "set"]).expect(0),
    ];
    for output in &outputs {
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(!text.contains(CANARY), "{text}");
    }
    // The server has it: as a key, in a header, in an address, in a protected input.
    let received = server.requests();
    let sent = |path: &str, text: &str| {
        let mut found = received.iter().filter(|one| one.head.contains(path));
        found.any(|one| one.head.contains(text))
    };
    assert!(sent("/chat/completions", CANARY));
    assert!(sent(
        "POST /todos/blue?q=Buy%20milk",
        &format!("Bearer {CANARY}")
    ));
    assert!(sent("/pages/pin", CANARY));
    assert!(sent("/pages/fails", CANARY));
    let todo = received.iter().find(|one| one.head.contains("/todos/"));
    let todo = todo.unwrap();
    let head = todo.head.to_lowercase();
    assert!(head.contains("x-fixed: fixed"), "{head}");
    assert_eq!(todo.json(), json!({ "title": "Buy milk!", "kind": "todo" }));
    // No model has it, and what the servers repeated is a name.
    for request in received.iter().filter(|one| one.is_chat()) {
        assert!(!request.body.contains(CANARY), "{}", request.body);
    }
    let last = received.iter().rfind(|one| one.text().contains("todo ["));
    let text = last.unwrap().text();
    assert!(text.contains("Bearer ${vars.token}"), "{text}");
    // A model sees the inputs of a bound tool only.
    let asked = received.iter().find(|one| one.text().contains(worker));
    let asked = asked.unwrap().json();
    let tools = asked["tools"].as_array().unwrap().iter();
    let tool = |name: &str| {
        let mut tools = tools.clone();
        tools.find(|tool| tool["function"]["name"] == name).unwrap()["function"].clone()
    };
    let todo = tool("create_todo");
    assert_eq!(todo["description"], "Creates a todo.");
    let properties = todo["parameters"]["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["title"]);
    let none = json!({});
    let fails = tool("fails");
    assert_eq!(
        fails["parameters"].get("properties").unwrap_or(&none),
        &none
    );
    // Events have names in place of values.
    let stored = serde_json::to_string(&events).unwrap();
    for placeholder in ["${secrets.pin}", "${vars.token}"] {
        assert!(stored.contains(placeholder), "{placeholder}");
    }
    // The only file with the value is that of `mission set`.
    let mut found = Vec::new();
    files_with(world.root(), CANARY, &mut found);
    assert_eq!(found, [world.text("~/state/variables.json")]);
}

/// Line 37 of missions §5: a project cannot set a variable.
#[test]
fn project_cannot_set_a_variable() {
    let server = MissionServer::new(|request| reply(&[done("a")], request));
    let world = project(&server);
    let text = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    world.file("mission.hcl", text.replace("{ default = \"red\" }", "{}"));
    world
        .command(&["mission", "set", "team", "--remove"])
        .run()
        .expect(0);
    trust(&world);
    world.file(
        ".agents/prowess.toml",
        "[missions.variables]\nteam = \"green\"\n",
    );
    for file in [".env", "variables.json", ".agents/variables.json"] {
        world.file(file, "PROWESS_VAR_TEAM=green\n");
    }
    let plan = world.run(&["mission", "plan", "--json"]).json();
    let task = &plan["missions"][0]["tasks"][0];
    assert_eq!(task["objective"], Value::Null, "{task}");
    let run = world.run(&["mission", "run", "x"]);
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("mission set team"), "{}", run.stderr);
    assert!(server.requests().is_empty());
    // The environment of the user can.
    let run = world.command(&["mission", "run", "x", "--json"]);
    run.env("PROWESS_VAR_TEAM", "mauve").run().expect(0);
    let text = server.requests()[0].text();
    assert!(text.contains("For mauve"), "{text}");
}
