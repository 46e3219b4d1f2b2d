//! Missions over MCP: a client over standard input and output, with a scripted model.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mission_runs::{calls, done, mission, script, trust};
use crate::world::{Running, World};

/// A client of `prowess mcp` over standard input and output.
struct Client {
    server: Running,
    next: u64,
    /// The answer that its user gives to each form.
    user: Option<&'static str>,
    /// The messages of the forms.
    forms: Vec<String>,
}

impl Client {
    fn new(world: &World, arguments: &[&str], user: Option<&'static str>) -> Self {
        let arguments = [&["mcp"], arguments].concat();
        let mut client = Self {
            server: world.command(&arguments).talk(),
            next: 0,
            user,
            forms: Vec::new(),
        };
        let capabilities = if user.is_some() {
            json!({ "elicitation": {} })
        } else {
            json!({})
        };
        let about = json!({ "name": "t", "version": "1" });
        client.request("initialize", &json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": about }));
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        client.server.send(&ready.to_string());
        client
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.server.send(&request.to_string());
        loop {
            let line = self.server.line(|line| line.starts_with('{'));
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "elicitation/create" {
                let text = message["params"]["message"].as_str().unwrap();
                self.forms.push(text.to_owned());
                let content = json!({ "answer": self.user });
                let result = json!({ "action": "accept", "content": content });
                let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
                self.server.send(&reply.to_string());
            } else if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool that succeeds.
    #[track_caller]
    fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let answer = self.request(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        );
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// Calls a tool that fails, and returns the text.
    #[track_caller]
    fn refused(&mut self, name: &str, arguments: &Value) -> String {
        let answer = self.request(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        );
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap().to_owned()
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Reads the events of a run after a position until it has this state. Returns them with the next
    /// position.
    fn watch(&mut self, run: &str, mut after: u64, until: &str) -> (Vec<Value>, u64) {
        let mut seen = Vec::new();
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let wait = json!({ "run": run, "after": after, "wait_seconds": 10 });
            let part = self.call("mission_events", &wait);
            seen.extend(part["events"].as_array().unwrap().clone());
            after = part["next"].as_u64().unwrap();
            if part["state"] == until && part["more"] == false {
                return (seen, after);
            }
            assert!(Instant::now() < deadline, "{part} {seen:?}");
        }
    }
}

/// A mission whose agent has a tool, and its model.
fn with_tool(tool: &str) -> World {
    let world = mission("task \"a\" { objective = \"a\" }\ntask \"beside\" { objective = \"b\" }");
    let text = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    let tools = format!("\"Calm.\"\n  tools = [{tool}]");
    world.file("mission.hcl", text.replace("\"Calm.\"", &tools));
    world
}

const WORKER: &str = "You are agent `worker`";

fn painting(world: &World) -> String {
    let question = json!({ "question": "Which colour?", "choices": ["red", "blue"] });
    let call = json!({ "name": "worker", "task": "Paint." });
    script(
        world,
        "a.jsonl",
        &[
            json!({ "when": [WORKER, "The user chose"], "text": "PAINTED", "repeat": true }),
            calls(&[WORKER], &[], &[("ask_human", question)]),
            calls(
                &["You direct task `a`"],
                &["PAINTED"],
                &[("call_agent", call)],
            ),
            done("a"),
            done("beside"),
        ],
    )
}

#[test]
fn client_lists_starts_watches_and_answers_a_mission() {
    let world = with_tool("builtins.human.ask");
    let model = painting(&world);
    let mut client = Client::new(&world, &["--allow-run", "--model", &model], None);
    // The files changed after they were trusted.
    let listed = client.call("list_missions", &json!({}));
    assert_eq!(listed["trusted"], false);
    assert_eq!(listed["missions"][0]["tasks"], json!(["a", "beside"]));
    assert_eq!(listed["missions"][1]["inputs"][0]["name"], "count");
    let refused = client.refused("start_mission", &json!({ "name": "x" }));
    assert!(refused.contains("with `prowess trust /"), "{refused}");
    assert_eq!(listed["runs"], json!([]));
    trust(&world);
    assert_eq!(client.call("list_missions", &json!({}))["trusted"], true);
    // Inputs are checked before anything runs.
    let wrong = client.refused("start_mission", &json!({ "name": "next" }));
    assert!(wrong.contains("count"), "{wrong}");
    let near = client.refused("start_mission", &json!({ "name": "nxt" }));
    assert!(near.contains("did you mean `next`?"), "{near}");

    let started = client.call("start_mission", &json!({ "name": "x" }));
    let run = started["run"].as_str().unwrap().to_owned();
    let (mut events, next) = client.watch(&run, 0, "waiting");
    let status = client.call("mission_status", &json!({ "run": run }));
    assert_eq!(status["tasks"][0]["state"], "waiting");
    assert_eq!(status["tasks"][1]["state"], "done");
    let question = &status["questions"][0];
    assert_eq!(question["choices"], json!(["red", "blue"]));
    let id = question["id"].as_str().unwrap();
    let green = json!({ "question": id, "answer": "green" });
    let wrong = client.refused("answer_mission", &green);
    assert!(wrong.contains("`red` or `blue`"), "{wrong}");
    let answered = client.call(
        "answer_mission",
        &json!({ "question": id, "answer": "blue" }),
    );
    assert_eq!(answered["run"], *run);
    let (more, _) = client.watch(&run, next, "submitted");
    events.extend(more);

    // Every fact of the record came exactly once, in order.
    let kinds: Vec<&Value> = events.iter().map(|event| &event["kind"]).collect();
    let exported = world.run(&["session", "show", &run, "--json"]).expect(0);
    let exported = exported.json();
    let facts = exported["events"].as_array().unwrap().iter();
    let facts = facts.filter(|event| event["event"] == "mission");
    let facts: Vec<&Value> = facts.map(|event| &event["fact"]["kind"]).collect();
    assert_eq!(kinds, facts);
    assert_eq!(kinds[0], "started");
    assert_eq!(events[0]["plan"], Value::Null);

    let shown = world.run(&["mission", "show", &run, "--json"]).expect(0);
    let status = client.call("mission_status", &json!({ "run": run }));
    assert_eq!(shown.json()["tasks"], status["tasks"]);
    assert_eq!(status["state"], "submitted");
    let late = json!({ "question": id, "answer": "red" });
    let late = client.refused("answer_mission", &late);
    assert!(late.contains("was answered already"), "{late}");
    client.server.close();
}

/// A client cannot allow an action by itself: its user is asked, or a terminal must be used.
#[test]
fn permission_is_given_by_a_person_only() {
    let world = with_tool("builtins.http.get");
    trust(&world);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let model = script(
        &world,
        "a.jsonl",
        &[
            json!({ "when": [WORKER, "denied"], "text": "DENIED", "repeat": true }),
            calls(&[WORKER], &[], &[("http_get", json!({ "url": url }))]),
            calls(
                &["You direct task `a`"],
                &["DENIED"],
                &[("call_agent", json!({ "name": "worker", "task": "Look." }))],
            ),
            done("a"),
            done("beside"),
        ],
    );
    let arguments = ["--allow-run", "--model", &*model];
    let mut client = Client::new(&world, &arguments, None);
    let started = client.call("start_mission", &json!({ "name": "x" }));
    let run = started["run"].as_str().unwrap().to_owned();
    client.watch(&run, 0, "waiting");
    let status = client.call("mission_status", &json!({ "run": run }));
    let question = status["questions"][0]["id"].as_str().unwrap().to_owned();
    let yes = json!({ "question": question, "answer": "yes" });
    let refused = client.refused("answer_mission", &yes);
    let typed = format!("`prowess answer {question} yes`");
    assert!(refused.contains(&typed), "{refused}");
    client.server.close();

    // The user of another client is shown what would happen, and does not allow it.
    let mut client = Client::new(&world, &arguments, Some("no"));
    let refused = client.refused("answer_mission", &yes);
    assert!(refused.contains("no person has allowed"), "{refused}");
    assert!(client.forms[0].contains(&url), "{:?}", client.forms);
    // A denial needs no person.
    client.call(
        "answer_mission",
        &json!({ "question": question, "answer": "no" }),
    );
    client.watch(&run, 0, "submitted");
    client.server.close();
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "the page was fetched");

    // A user who allows it.
    let mut client = Client::new(&world, &arguments, Some("once"));
    let started = client.call("start_mission", &json!({ "name": "x" }));
    let run = started["run"].as_str().unwrap().to_owned();
    client.watch(&run, 0, "waiting");
    let status = client.call("mission_status", &json!({ "run": run }));
    let question = status["questions"][0]["id"].as_str().unwrap();
    listener.set_nonblocking(false).unwrap();
    client.call("answer_mission", &json!({ "question": question }));
    assert_eq!(client.forms.len(), 1);
    let connection = listener.accept().unwrap();
    // The client leaves while the page is being fetched.
    let rest = client.server.close();
    assert!(rest.iter().all(|line| !line.contains("panic")), "{rest:?}");
    drop(connection);
    let shown = world.run(&["mission", "show", &run, "--json"]).expect(0);
    assert_eq!(shown.json()["ending"]["outcome"], "cancelled");

    // Another client resumes and cancels it.
    let mut client = Client::new(&world, &arguments, None);
    client.call("resume_mission", &json!({ "run": run }));
    client.call("cancel_mission", &json!({ "run": run }));
    client.watch(&run, 0, "cancelled");
    client.server.close();
}

#[test]
fn missions_need_the_flag_files_and_their_own_project() {
    let world = mission("task \"a\" { objective = \"a\" }");
    let model = script(&world, "a.jsonl", &[done("a")]);
    let is_mission = |name: &String| name.contains("mission");
    let mut reader = Client::new(&world, &[], None);
    assert!(!reader.tools().iter().any(is_mission));
    let arguments = ["--allow-run", "--model", &*model];
    let empty = World::new();
    let other = script(&empty, "a.jsonl", &[done("a")]);
    let mut elsewhere = Client::new(&empty, &["--allow-run", "--model", &other], None);
    let tools = elsewhere.tools();
    assert!(tools.contains(&"run_skill".to_owned()), "{tools:?}");
    assert!(!tools.iter().any(is_mission), "{tools:?}");

    let mut client = Client::new(&world, &arguments, None);
    assert_eq!(client.tools().into_iter().filter(is_mission).count(), 7);
    let started = client.call("start_mission", &json!({ "name": "x", "tokens": 5 }));
    let run = started["run"].as_str().unwrap().to_owned();
    client.watch(&run, 0, "submitted");
    let retried = client.call("resume_mission", &json!({ "run": run }));
    assert_eq!(retried["state"], "submitted");
    // A run of another project of the same user is not shown.
    world.file(
        "../other/mission.hcl",
        std::fs::read(world.path("mission.hcl")).unwrap(),
    );
    let server = world.command(&["mcp", "--allow-run", "--model", &model]);
    let mut beside = Client {
        server: server.dir("../other").talk(),
        next: 0,
        user: None,
        forms: Vec::new(),
    };
    beside.request("initialize", &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }));
    let hidden = beside.refused("mission_status", &json!({ "run": run }));
    assert!(hidden.contains("no run"), "{hidden}");
}

/// S3: an answer of the client was recorded as one that was typed on a terminal.
#[test]
fn answers_of_a_client_are_recorded_as_such() {
    let world = World::new();
    world.file("~/config.toml", "[sandbox]\nstrength = 'best-effort'\n");
    world.file(
        "~/.agents/skills/y/SKILL.md",
        "---\nname: y\ndescription: Does it. Use when asked.\n---\nRun it.\n",
    );
    let command = json!({ "reason": "r", "commandLine": "echo hi" });
    let run = json!({ "calls": [{ "name": "run_command_line", "input": command }] });
    let model = script(&world, "~/m.jsonl", &[run, json!({ "text": "end" })]);
    let arguments = ["--allow-run", "--allow-commands", "--model", &model];
    let mut client = Client::new(&world, &arguments, Some("once"));
    let name = json!({ "name": "y" });
    client.request(
        "tools/call",
        &json!({ "name": "run_skill", "arguments": name }),
    );
    assert_eq!(client.forms.len(), 1, "{:?}", client.forms);
    client.server.close();
    let sessions = world.run(&["session", "list", "--json"]).expect(0).json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    let shown = world
        .run(&["session", "show", &id, "--json"])
        .expect(0)
        .json();
    let events = shown["events"].as_array().unwrap().iter();
    let who: Vec<&Value> = events
        .map(|event| &event["who"])
        .filter(|who| !who.is_null())
        .collect();
    assert_eq!(who, ["MCP client", "MCP client"], "{shown}");
}

/// S13: the budget of the server did not limit a run of the user that a client continues.
#[test]
fn budget_of_the_server_limits_runs_that_a_client_continues() {
    let world = with_tool("builtins.human.ask");
    trust(&world);
    let lines: Vec<Value> =
        std::fs::read_to_string(painting(&world).trim_start_matches("scripted:"))
            .unwrap()
            .lines()
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).unwrap();
                line["usage"] = json!({ "input": 5_000, "output": 10 });
                line
            })
            .collect();
    let model = script(&world, "b.jsonl", &lines);
    let run = ["mission", "run", "x", "--model", &model, "--json"];
    world.run(&run).expect(6);
    let arguments = ["--allow-run", "--model", &model, "--budget", "tokens=1000"];
    let mut client = Client::new(&world, &arguments, None);
    let listed = client.call("list_missions", &json!({}));
    let run = listed["runs"][0]["run"].as_str().unwrap().to_owned();
    let status = client.call("mission_status", &json!({ "run": run }));
    let question = status["questions"][0]["id"].clone();
    client.call(
        "answer_mission",
        &json!({ "question": question, "answer": "red" }),
    );
    let deadline = Instant::now() + Duration::from_mins(1);
    let state = loop {
        let status = client.call("mission_status", &json!({ "run": run }));
        let state = status["state"].as_str().unwrap().to_owned();
        if state != "running" {
            break state;
        }
        assert!(Instant::now() < deadline, "{status}");
        client.call("mission_events", &json!({ "run": run, "wait_seconds": 1 }));
    };
    assert_ne!(state, "submitted");
}
