//! The skills, tools and questions of agents in runs of missions.

use serde_json::{Value, json};

use crate::mission_runs::{calls, done, lines, mission, requests, run, says, script, trust};
use crate::mission_server::{MissionServer, ServerAnswer, ServerRequest, reply};
use crate::world::World;

const A: &str = "You direct task `a`";
const WORKER: &str = "You are agent `worker`";

fn call_agent(name: &str, task: &str) -> Value {
    let call = json!({ "name": name, "task": task });
    calls(&[A], &["AGENT-DONE"], &[("call_agent", call)])
}

fn load(when: &[&str], unless: &[&str], name: &str) -> Value {
    calls(when, unless, &[("load_skill", json!({ "name": name }))])
}

/// Uses a line of a script once.
fn once(mut line: Value) -> Value {
    line["repeat"] = false.into();
    line
}

/// Adds attributes to the agent of [`mission`].
fn add_to_agent(world: &World, text: &str) {
    let file = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    let text = file.replace("\"Calm.\"", &format!("\"Calm.\"\n{text}"));
    world.file("mission.hcl", text);
    trust(world);
}

/// Returns the results of the calls of a tool, each with whether it is an error.
fn results(lines: &[Value], tool: &str) -> Vec<(bool, String)> {
    let ended = lines.iter().map(|line| &line["event"]);
    let ended = ended.filter(|event| event["event"] == "call_ended");
    let results = ended.map(|event| &event["result"]);
    let results = results.filter(|result| result["name"] == tool);
    let result = |result: &Value| {
        let is_error = result["is_error"] == true;
        (is_error, result["text"].as_str().unwrap().to_owned())
    };
    results.map(result).collect()
}

/// Line 26 of missions §5: each index has the skills of its agent, by name.
#[test]
fn index_lists_the_skills_of_its_agent() {
    let script = [
        says(&["You are agent"], &[], "AGENT-DONE"),
        calls(
            &[A],
            &["AGENT-DONE"],
            &[
                ("call_agent", json!({ "name": "worker", "task": "x" })),
                ("call_agent", json!({ "name": "other", "task": "x" })),
                ("call_agent", json!({ "name": "plain", "task": "x" })),
            ],
        ),
        done("a"),
    ];
    let server = MissionServer::new(move |request| reply(&script, request));
    let world = mission("task \"a\" { objective = \"a\" }");
    let text = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    let text = text.replacen(
        "agents = [agents.worker]",
        "agents = [agents.worker, agents.other, agents.plain]",
        1,
    );
    let skill = |name: &str| {
        format!(
            "skill \"{name}\" {{\n  description  = \"Load for {name}\"\n  instructions = \"TEXT-OF-{name}\"\n}}\n"
        )
    };
    let agent = |name: &str, more: &str| {
        format!(
            "agent \"{name}\" {{\n  model       = models.m.small\n  personality = \"P\"\n{more}}}\n"
        )
    };
    let other = agent(
        "other",
        &format!("skills = [skills.third]\n{}", skill("own")),
    );
    let all = [
        text,
        skill("first"),
        skill("second"),
        skill("third"),
        other,
        agent("plain", ""),
    ];
    world.file("mission.hcl", all.concat());
    world.file("models.hcl", server.model(""));
    // A skill of the user is not one of theirs.
    world.good("~/.agents/skills/of-the-user");
    add_to_agent(
        &world,
        &format!("skills = [skills.second, skills.first]\n{}", skill("mine")),
    );
    world.run(&["mission", "run", "x", "--json"]).expect(0);
    let requests = server.requests();
    let names = ["first", "second", "third", "mine", "own", "of-the-user"];
    for (agent, expected) in [
        ("worker", &["first", "mine", "second"][..]),
        ("other", &["own", "third"]),
        ("plain", &[]),
    ] {
        let is_it = |one: &&ServerRequest| one.text().contains(&format!("agent `{agent}`"));
        let request = requests.iter().find(is_it).unwrap();
        let text = request.text();
        let mut found: Vec<(usize, &str)> = names
            .iter()
            .filter_map(|name| Some((text.find(&format!("Load for {name}"))?, *name)))
            .collect();
        found.sort_unstable();
        let found: Vec<&str> = found.into_iter().map(|(_, name)| name).collect();
        assert_eq!(found, expected, "{agent}: {text}");
        assert!(!text.contains("of-the-user"), "{agent}: {text}");
        assert!(!text.contains("TEXT-OF-"), "{agent}: {text}");
        let has_load = request.tools().contains(&"load_skill".to_owned());
        assert_eq!(has_load, !expected.is_empty(), "{agent}");
    }
}

/// Line 31 of missions §5: a skill of the library, and a block with a folder.
#[test]
fn skills_of_the_library_and_of_folders_are_activated() {
    let world = mission("task \"a\" { objective = \"a\" }");
    world.file(
        "~/.agents/skills/from-library/SKILL.md",
        "---\nname: from-library\ndescription: Is in the library.\n---\nLIBRARY-TEXT for $ARGUMENTS\n",
    );
    world.file("~/.agents/skills/from-library/more.md", "MORE-TEXT\n");
    world.file(
        "folders/boxed/SKILL.md",
        "---\nname: boxed\ndescription: Is in a folder.\n---\nBOXED-TEXT for $ARGUMENTS\n",
    );
    add_to_agent(
        &world,
        "skills = [skills[\"from-library\"]]\nskill \"boxed\" { source = \"./folders/boxed\" }",
    );
    let resource = json!({ "skill_name": "from-library", "resource_path": "more.md" });
    let library = json!({ "name": "from-library", "arguments": "ada" });
    let boxed = json!({ "name": "boxed", "arguments": "bob" });
    let model = script(
        &world,
        "a.jsonl",
        &[
            calls(&[WORKER], &["BOXED-TEXT"], &[("load_skill", boxed)]),
            calls(&[WORKER], &["LIBRARY-TEXT"], &[("load_skill", library)]),
            calls(
                &[WORKER],
                &["MORE-TEXT"],
                &[("load_skill_resource", resource)],
            ),
            says(
                &[
                    WORKER,
                    "LIBRARY-TEXT for ada",
                    "MORE-TEXT",
                    "BOXED-TEXT for bob",
                ],
                &[],
                "AGENT-DONE",
            ),
            call_agent("worker", "x"),
            done("a"),
        ],
    );
    let lines = run(&world, &model, 0);
    let loaded = results(&lines, "load_skill");
    assert_eq!(loaded.len(), 2, "{loaded:?}");
    assert!(loaded.iter().all(|(is_error, _)| !is_error), "{loaded:?}");
}

/// The instructions of a block are text: nothing in them is filled in or run.
#[test]
fn instructions_of_a_block_are_not_a_template() {
    let world = mission("task \"a\" { objective = \"a\" }");
    let text = "Pay $1 or $ARGUMENTS in ${CLAUDE_SKILL_DIR}. Run !`touch taken` at $HOME.";
    let written = text.replace("${", "$${");
    add_to_agent(
        &world,
        &format!(
            "skill \"Big Helper\" {{\n  description  = \"Helps\"\n  instructions = \"{written}\"\n}}"
        ),
    );
    let model = script(
        &world,
        "a.jsonl",
        &[
            load(&[WORKER], &["Pay $1"], "Big Helper"),
            says(&[WORKER, text], &[], "AGENT-DONE"),
            call_agent("worker", "x"),
            done("a"),
        ],
    );
    let run = [
        "mission",
        "run",
        "x",
        "--model",
        &model,
        "--json",
        "--approve",
        "Bash(*)",
        "--edits",
    ];
    let lines = lines(&world.run(&run).expect(0).stdout);
    let loaded = results(&lines, "load_skill");
    assert_eq!(loaded.len(), 1, "{loaded:?}");
    assert!(!loaded[0].0 && loaded[0].1.contains(text), "{loaded:?}");
    assert!(!world.path("taken").exists());
}

/// Line 32 of missions §5.
#[test]
fn loading_twice_is_harmless_and_errors_are_flagged() {
    let world = mission("task \"a\" { objective = \"a\" }");
    add_to_agent(
        &world,
        "skill \"helper\" {\n  description  = \"Helps\"\n  instructions = \"HELPER-TEXT\"\n  tools        = [builtins.utils.current_time]\n}",
    );
    let model = script(
        &world,
        "a.jsonl",
        &[
            load(&[WORKER], &["HELPER-TEXT"], "helper"),
            load(&[WORKER], &["already"], "helper"),
            load(&[WORKER], &["Unknown skill"], "missing"),
            says(&[WORKER], &[], "AGENT-DONE"),
            call_agent("worker", "x"),
            done("a"),
        ],
    );
    let lines = run(&world, &model, 0);
    let loaded = results(&lines, "load_skill");
    let errors: Vec<bool> = loaded.iter().map(|(is_error, _)| *is_error).collect();
    assert_eq!(errors, [false, false, true], "{loaded:?}");
    // The text is in the conversation once.
    let copies = loaded
        .iter()
        .filter(|(_, text)| text.contains("HELPER-TEXT"));
    assert_eq!(copies.count(), 1, "{loaded:?}");
    let activations = lines.iter().map(|line| &line["event"]);
    let activations = activations.filter(|event| {
        let loaded = event["loaded"].as_array();
        loaded.is_some_and(|loaded| !loaded.is_empty())
    });
    assert_eq!(activations.count(), 1);
    // Its tool is in all later requests, once.
    let tools = requests(&lines, "worker:");
    let count = |tools: &Vec<String>| tools.iter().filter(|one| *one == "current_time").count();
    let counts: Vec<usize> = tools.iter().map(count).collect();
    assert_eq!(counts, [0, 1, 1, 1], "{tools:?}");
    // `why` and `stats` know it.
    let agent = lines.iter().find(|line| {
        let title = line["event"]["title"].as_str().unwrap_or_default();
        line["event"]["event"] == "started" && title.starts_with("worker:")
    });
    let session = agent.unwrap()["session"].as_str().unwrap();
    let why = world.run(&["why", "--session", session, "--turn", "1"]);
    let why = why.expect(0).stdout;
    assert!(why.contains("helper"), "{why}");
    let why = world.run(&["why", "--session", session, "--turn", "3"]);
    let why = why.expect(0).stdout;
    assert!(why.contains("missing"), "{why}");
    let stats = world.run(&["stats", "--json"]).expect(0);
    assert!(stats.stdout.contains("helper"), "{}", stats.stdout);
}

/// Line 30 of missions §5: pruning keeps the skill and its tools.
#[test]
fn loaded_skill_survives_pruning() {
    let server = MissionServer::new(|_| ServerAnswer::Page("200 OK", "PAGE ".repeat(1_000)));
    let world = mission("task \"a\" { objective = \"a\" }");
    add_to_agent(
        &world,
        "pruning {\n  prune_on = 8\n  prune_to = 4\n}\nskill \"helper\" {\n  description  = \"Helps\"\n  instructions = \"HELPER-TEXT\"\n  tools        = [builtins.http.get]\n}",
    );
    let mut script_lines = vec![load(&[WORKER], &["HELPER-TEXT"], "helper")];
    for turn in 0..8 {
        let page = json!({ "url": server.url(&format!("page{turn}")) });
        let line = calls(&[WORKER, "HELPER-TEXT"], &[], &[("http_get", page)]);
        script_lines.push(once(line));
    }
    script_lines.extend([
        says(&[WORKER, "HELPER-TEXT"], &[], "AGENT-DONE"),
        call_agent("worker", "x"),
        done("a"),
    ]);
    let model = script(&world, "a.jsonl", &script_lines);
    let approve = "WebFetch(domain:127.0.0.1)";
    let run = [
        "mission",
        "run",
        "x",
        "--model",
        &model,
        "--json",
        "--approve",
        approve,
    ];
    let lines = lines(&world.run(&run).expect(0).stdout);
    let pruned = lines
        .iter()
        .filter(|line| line["event"]["event"] == "pruned");
    assert!(pruned.count() > 0, "nothing was pruned");
    let tools = requests(&lines, "worker:");
    assert_eq!(tools.len(), 10, "{tools:?}");
    for tools in &tools[1..] {
        let count = tools.iter().filter(|tool| *tool == "http_get").count();
        assert_eq!(count, 1, "{tools:?}");
    }
    let pages = results(&lines, "http_get");
    assert_eq!(pages.len(), 8);
    assert!(pages.iter().all(|(is_error, _)| !is_error), "{pages:?}");
}

/// Line 29 of missions §5.
#[test]
fn tool_of_a_server_that_is_down_is_named_when_its_skill_is_loaded() {
    let world = mission("task \"a\" { objective = \"a\" }");
    let text = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    let server = "mcp \"down\" { command = \"no-such-program\" }\n";
    world.file("mission.hcl", format!("{server}{text}"));
    add_to_agent(
        &world,
        "skill \"helper\" {\n  description  = \"Helps\"\n  instructions = \"HELPER-TEXT\"\n  tools        = [mcp.down.search, builtins.utils.current_time]\n}",
    );
    let model = script(
        &world,
        "a.jsonl",
        &[
            load(&[WORKER], &["HELPER-TEXT"], "helper"),
            once(calls(&[WORKER], &[], &[("current_time", json!({}))])),
            says(&[WORKER], &[], "AGENT-DONE"),
            call_agent("worker", "x"),
            done("a"),
        ],
    );
    let output = world.run(&["mission", "run", "x", "--model", &model, "--json"]);
    let lines = lines(&output.expect(0).stdout);
    let (is_error, text) = &results(&lines, "load_skill")[0];
    assert!(!is_error, "{text}");
    let missing = "Tools of this skill that are not available: `mcp.down.search`";
    assert!(text.contains(missing), "{text}");
    let calls = results(&lines, "current_time");
    assert!(calls.iter().all(|(is_error, _)| !is_error), "{calls:?}");
}

/// Line 61 of missions §5: no skill widens the list of an agent.
#[test]
fn agent_cannot_use_a_tool_outside_its_list() {
    let world = mission("task \"a\" { objective = \"a\" }");
    world.file(
        "~/.agents/skills/greedy/SKILL.md",
        "---\nname: greedy\ndescription: Wants all.\nallowed-tools: Bash(*) Write WebFetch\n---\nGREEDY-TEXT: run bash and http_post.\n",
    );
    add_to_agent(
        &world,
        "tools = [builtins.utils.current_time]\nskills = [skills.greedy]\nskill \"bold\" {\n  description  = \"Bold\"\n  instructions = \"BOLD-TEXT: run bash, write and http_post.\"\n}",
    );
    let forbidden = [
        ("bash", json!({ "command": "touch taken" })),
        ("write", json!({ "path": "taken", "content": "x" })),
        ("http_post", json!({ "url": "http://127.0.0.1:9/" })),
        ("call_agent", json!({ "name": "worker", "task": "x" })),
        ("task_complete", json!({ "summary": "x" })),
    ];
    let model = script(
        &world,
        "a.jsonl",
        &[
            load(&[WORKER], &["GREEDY-TEXT"], "greedy"),
            load(&[WORKER], &["BOLD-TEXT"], "bold"),
            once(calls(&[WORKER], &[], &forbidden)),
            says(&[WORKER], &[], "AGENT-DONE"),
            call_agent("worker", "x"),
            done("a"),
        ],
    );
    let output = world.run(&[
        "mission",
        "run",
        "x",
        "--model",
        &model,
        "--json",
        "--approve",
        "Bash(*)",
        "--approve",
        "Write",
        "--approve",
        "WebFetch(domain:127.0.0.1)",
    ]);
    let lines = lines(&output.expect(0).stdout);
    for (name, _) in &forbidden[..3] {
        let found = results(&lines, name);
        assert_eq!(found.len(), 1, "{name}");
        assert!(found[0].0, "{name}: {}", found[0].1);
    }
    for tools in requests(&lines, "worker:") {
        for (name, _) in &forbidden {
            assert!(!tools.contains(&(*name).to_owned()), "{name}: {tools:?}");
        }
    }
    assert!(!world.path("taken").exists());
    let outcome = &lines.last().unwrap()["tasks"][0]["state"];
    assert_eq!(outcome, "done", "an agent does not end the task");
}

/// Line 63 of missions §5.
#[test]
fn server_in_place_of_a_plugin_is_called() {
    for more in ["", "on-demand = true\n"] {
        let world = mission("task \"a\" { objective = \"a\" }");
        world.file(
            "~/shop/.agents/skills/refunds/SKILL.md",
            "---\nname: refunds\ndescription: Gives money back.\n---\nPay them.\n",
        );
        world.file(
            "~/config.toml",
            format!(
                "[missions.plugins]\ndevin = 'shop'\n[mcp.servers.shop]\ncommand = {:?}\nargs = ['mcp']\ncwd = '{}'\nenv = {{ PROWESS_HOME = '${{HOME}}/none' }}\n{more}",
                env!("CARGO_BIN_EXE_prowess"),
                world.path("~/shop").display(),
            ),
        );
        add_to_agent(&world, "tools = [plugins.devin.search_skills]");
        let query = json!({ "query": "money" });
        let model = script(
            &world,
            "a.jsonl",
            &[
                calls(
                    &[WORKER],
                    &["refunds"],
                    &[("mcp__shop__search_skills", query)],
                ),
                says(&[WORKER], &[], "AGENT-DONE"),
                call_agent("worker", "x"),
                done("a"),
            ],
        );
        let run = [
            "mission",
            "run",
            "x",
            "--model",
            &model,
            "--json",
            "--approve",
            "mcp__shop__search_skills",
        ];
        let lines = lines(&world.run(&run).expect(0).stdout);
        let found = results(&lines, "mcp__shop__search_skills");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(!found[0].0 && found[0].1.contains("refunds"), "{found:?}");
        // The agent has that tool of the server only.
        let tools = requests(&lines, "worker:");
        assert_eq!(tools[0], ["mcp__shop__search_skills"]);
    }
}

/// A mission whose agent asks a question. Returns the script, too.
fn asking(question: &Value, answered: &str) -> (World, String) {
    let world = mission("task \"a\" { objective = \"a\" }");
    add_to_agent(&world, "tools = [builtins.human.ask]");
    let model = script(
        &world,
        "a.jsonl",
        &[
            says(&[WORKER, answered], &[], "AGENT-DONE"),
            calls(&[WORKER], &[], &[("ask_human", question.clone())]),
            call_agent("worker", "x"),
            done("a"),
        ],
    );
    (world, model)
}

/// Line 55 of missions §5.
#[test]
fn question_with_several_choices_continues_after_the_answer() {
    let question =
        json!({ "question": "Which?", "choices": ["red", "blue", "green"], "several": true });
    let (world, model) = asking(&question, "The user chose:\n- red\n- green");
    let waiting = run(&world, &model, 6);
    let result = waiting.last().unwrap();
    assert_eq!(result["outcome"], "waiting");
    let id = result["questions"][0]["id"].as_str().unwrap();
    let answered = world.run(&["answer", id, "1,3", "--model", &model, "--json"]);
    let answered = lines(&answered.expect(0).stdout);
    assert_eq!(answered.last().unwrap()["outcome"], "submitted");
}

/// Line 55 of missions §5.
#[test]
fn question_without_an_answer_is_told_to_the_agent() {
    let question = json!({ "question": "Which?", "deadline_seconds": 1 });
    let (world, model) = asking(&question, "[no answer within 1 s]");
    let waiting = run(&world, &model, 6);
    let id = waiting.last().unwrap()["run"].as_str().unwrap().to_owned();
    prowess_test::wait_until("the deadline", || {
        let listed = world.run(&["questions"]).expect(0).stdout;
        listed.contains("no answer came within 1 s")
    });
    let resumed = world.run(&["mission", "resume", &id, "--model", &model, "--json"]);
    let resumed = lines(&resumed.expect(0).stdout);
    assert_eq!(resumed.last().unwrap()["outcome"], "submitted");

    let (world, model) = asking(&question, "[no person is available to answer.");
    let run = [
        "mission",
        "run",
        "x",
        "--model",
        &model,
        "--json",
        "--no-wait",
    ];
    let result = lines(&world.run(&run).expect(0).stdout);
    assert_eq!(result.last().unwrap()["outcome"], "submitted");
}

/// Line 55 of missions §5: at a terminal.
#[test]
fn question_is_asked_at_the_terminal() {
    let question = json!({ "question": "Which colour\u{1b}[2J?" });
    let (world, model) = asking(&question, "The user answered:\ndeep blue");
    let run = ["mission", "run", "x", "--model", &model];
    let typed = [("Which colour", "deep blue\n")];
    let environment = [("NO_COLOR", "1")];
    let shown = crate::terminal::on_terminal_env(&world, 100, &run, &typed, &environment, |_| {});
    assert!(shown.contains("task `a` is done"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
}

/// Line 55 of missions §5: a question on a terminal that another process answers.
#[test]
fn question_at_the_terminal_is_answered_elsewhere() {
    let question = json!({ "question": "Which colour?" });
    let (world, model) = asking(&question, "The user answered:\ndeep blue");
    let run = ["mission", "run", "x", "--model", &model];
    let answer = |_: &str| {
        let open = world.run(&["questions", "--json"]).expect(0).json();
        let id = open["questions"][0]["id"].as_str().unwrap();
        world.run(&["answer", id, "deep blue"]).expect(0);
    };
    let typed = [("Your answer:", "")];
    let shown = crate::terminal::on_terminal_with(&world, 100, &run, &typed, answer);
    assert!(shown.contains("answered by another process"), "{shown:?}");
    assert!(shown.contains("task `a` is done"), "{shown:?}");
}

/// A hanging model that is asked a second time after a resume of two processes.
#[test]
fn second_process_cannot_resume_a_run() {
    let server = MissionServer::new(|_| ServerAnswer::Hold);
    let world = mission("task \"a\" { objective = \"a\" }");
    world.file("models.hcl", server.model(""));
    trust(&world);
    let running = world.command(&["mission", "run", "x", "--json"]).start();
    let first = running.line(|line| line.contains("\"kind\":\"started\""));
    let first: Value = serde_json::from_str(&first).unwrap();
    let id = first["session"].as_str().unwrap().to_owned();
    prowess_test::wait_until("a request", || server.held() == 1);
    let second = world.run(&["mission", "resume", &id]).expect(2);
    assert!(second.stderr.contains("in use"), "{}", second.stderr);
    assert_eq!(server.requests().len(), 1);
    world.run(&["mission", "cancel", &id]).expect(0);
    running.close();
}

/// Line 31 of missions §5: a folder that a block takes brings its arguments, its other files, its commands
/// and its `allowed-tools`, as far as it is trusted.
#[test]
fn folder_of_a_block_is_a_skill_with_its_files_and_permissions() {
    let world = mission("task \"a\" { objective = \"a\" }");
    let tool = "mcp__mission-shop__search_skills";
    // The server is Prowess itself, which offers the skills of this folder.
    world.file(
        ".agents/skills/refunds/SKILL.md",
        "---\nname: refunds\ndescription: Gives money back.\n---\nPay them.\n",
    );
    let text = format!(
        "---\nname: something-else\ndescription: Is in a folder.\narguments: [who]\nallowed-tools: {tool} Bash(git --version)\n---\nBOXED-TEXT for $who\n!`git --version`\n"
    );
    world.file("folders/boxed/SKILL.md", text);
    world.file(
        "servers.hcl",
        format!(
            "mcp \"shop\" {{\n  command = {:?}\n  args    = [\"mcp\"]\n  env     = {{ PROWESS_HOME = {:?} }}\n}}\n",
            env!("CARGO_BIN_EXE_prowess"),
            world.path("../shop"),
        ),
    );
    world.file("folders/boxed/references/more.md", "MORE-TEXT\n");
    add_to_agent(
        &world,
        "tools = [mcp.shop.search_skills]\nskill \"Boxed Skill\" {\n source = \"./folders/boxed\"\n tools = [builtins.utils.current_time]\n}",
    );
    let resource = json!({ "skill_name": "Boxed Skill", "resource_path": "references/more.md" });
    let boxed = json!({ "name": "Boxed Skill", "arguments": "bob" });
    let query = json!({ "query": "money" });
    let model = script(
        &world,
        "a.jsonl",
        &[
            calls(&[WORKER], &["BOXED-TEXT"], &[("load_skill", boxed)]),
            calls(
                &[WORKER],
                &["MORE-TEXT"],
                &[("load_skill_resource", resource)],
            ),
            calls(&[WORKER], &["refunds"], &[(tool, query)]),
            says(&[WORKER], &[], "AGENT-DONE"),
            call_agent("worker", "x"),
            done("a"),
        ],
    );
    let run = |code: i32| {
        let run = ["mission", "run", "x", "--model", &model, "--json"];
        let output = world.run(&run).expect(code);
        (lines(&output.stdout), output.stderr)
    };
    let loaded = |lines: &[Value]| {
        let loaded = results(lines, "load_skill");
        assert_eq!(loaded.len(), 1, "{loaded:?}");
        let (is_error, text) = loaded[0].clone();
        assert!(!is_error && text.contains("BOXED-TEXT for bob"), "{text}");
        assert!(text.contains("references/more.md"), "{text}");
        assert!(
            text.contains("Tools that this skill adds: `current_time`"),
            "{text}"
        );
        text
    };

    // The mission is trusted, the skill is not: text and files only.
    let (untrusted, told) = run(6);
    let text = loaded(&untrusted);
    assert!(text.contains("This skill is not trusted"), "{text}");
    assert!(!text.contains("git version"), "{text}");
    let read = results(&untrusted, "load_skill_resource");
    assert!(!read[0].0 && read[0].1.contains("MORE-TEXT"), "{read:?}");
    assert!(
        told.contains("skill `Boxed Skill` is not trusted"),
        "{told}"
    );
    assert!(told.contains("`prowess trust folders/boxed`"), "{told}");
    let tools = requests(&untrusted, "worker:");
    let has_time = |tools: &Vec<String>| tools.contains(&"current_time".to_owned());
    assert!(!has_time(&tools[0]) && has_time(&tools[1]), "{tools:?}");
    assert_eq!(results(&untrusted, tool), []);

    // One command shows both; each has its summary and its digest.
    let shown = world.run(&["trust", ".", "--json"]).expect(0).json();
    let shown = shown["skills"].as_array().unwrap();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert_eq!(shown[0]["state"], "trusted");
    assert!(shown[1].to_string().contains(tool));
    assert!(shown[1].to_string().contains("git --version"));
    let digest = shown[1]["digest"].as_str().unwrap();
    world.run(&["trust", ".", "--digest", digest]).expect(0);
    let (trusted, told) = run(0);
    let text = loaded(&trusted);
    assert!(text.contains("git version"), "{text}");
    assert!(!told.contains("not trusted"), "{told}");
    let called = results(&trusted, tool);
    assert!(called.len() == 1 && !called[0].0, "{called:?}");

    // Another byte in another file: what was granted is gone.
    world.file("folders/boxed/references/more.md", "MORE-TEXT.\n");
    let (changed, told) = run(6);
    let text = loaded(&changed);
    assert!(text.contains("changed after the user trusted it"), "{text}");
    assert!(
        told.contains("skill `Boxed Skill` is not trusted"),
        "{told}"
    );
    assert_eq!(results(&changed, tool), []);

    // The text belongs to the mission: another one needs trust, and a run keeps its own.
    let id = changed.last().unwrap()["questions"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    world.file(
        "folders/boxed/SKILL.md",
        text_of_folder("OTHER-TEXT\n!`git --version`\n"),
    );
    let (_, told) = run(3);
    assert!(told.contains("folders/boxed/SKILL.md"), "{told}");
    let answered = world.run(&["answer", &id, "yes", "--model", &model, "--json"]);
    let answered = answered.expect(0);
    assert!(!answered.stdout.contains("OTHER-TEXT"));
    let called = results(&lines(&answered.stdout), tool);
    assert!(called.len() == 1 && !called[0].0, "{called:?}");

    // Revoking the trust in the project revokes both.
    world.run(&["trust", ".", "--revoke"]).expect(0);
    let shown = world.run(&["trust", ".", "--json"]).expect(0).json();
    for one in shown["skills"].as_array().unwrap() {
        assert_ne!(one["state"], "trusted", "{one}");
    }
}

fn text_of_folder(body: &str) -> String {
    format!("---\nname: something-else\ndescription: Is in a folder.\n---\n{body}")
}

/// Servers of the user that stand in for no plugin of the mission are not started.
#[test]
fn servers_that_no_agent_uses_are_not_started() {
    let world = mission("task \"a\" { objective = \"a\" }");
    let server = |name: &str| {
        let started = world.path(format!("~/{name}.started"));
        format!(
            "[mcp.servers.{name}]\ncommand = 'sh'\nargs = ['-c', 'touch {}']\n",
            started.display()
        )
    };
    let plugins = "[missions.plugins]\ndevin = 'used'\n";
    world.file(
        "~/config.toml",
        format!("{plugins}{}{}", server("used"), server("unused")),
    );
    let model = script(&world, "a.jsonl", &[done("a")]);
    let is_started = |name: &str| world.path(format!("~/{name}.started")).exists();
    run(&world, &model, 0);
    assert!(!is_started("used") && !is_started("unused"));
    add_to_agent(&world, "tools = [plugins.devin.search]");
    let run = ["mission", "run", "x", "--model", &model];
    let output = world.run(&run).expect(0);
    assert!(
        output.stderr.contains("Starting MCP servers: used\n"),
        "{}",
        output.stderr
    );
    assert!(is_started("used") && !is_started("unused"));
}

/// Line 50 of missions §5: the routes are the values that a provider allows.
#[test]
fn routes_are_declared_to_the_model() {
    let complete = json!({ "summary": "s", "route": "left" });
    let script = [
        calls(&[A], &[], &[("task_complete", complete)]),
        done("left"),
    ];
    let server = MissionServer::new(move |request| reply(&script, request));
    let world = mission(
        "task \"a\" {\n objective = \"o\"\n router {\n route {\n target = tasks.left\n condition = \"l\"\n }\n route {\n target = missions.next\n condition = \"n\"\n }\n }\n}\ntask \"left\" { objective = \"l\" }",
    );
    world.file("models.hcl", server.model(""));
    trust(&world);
    world.run(&["mission", "run", "x"]).expect(0);
    let declared = |request: &ServerRequest| {
        let tools = request.json()["tools"].as_array().unwrap().clone();
        let is_it = |tool: &&Value| tool["function"]["name"] == "task_complete";
        tools.iter().find(is_it).unwrap()["function"]["parameters"].clone()
    };
    let requests = server.requests();
    let router = declared(&requests[0]);
    let routes = &router["properties"]["route"]["enum"];
    assert_eq!(routes, &json!(["left", "missions.next", "none"]));
    assert_eq!(router["required"], json!(["summary", "route"]));
    let plain = declared(&requests[1]);
    assert_eq!(plain["properties"]["route"], Value::Null);
}
