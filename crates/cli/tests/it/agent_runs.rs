//! Agents and teams run: `agent run`, `agent chat`, `run --agent`, `chat --agent`. What is checked
//! is what the provider receives.

use prowess_test::server::{ServerStep, TestServer, sse};
use serde_json::{Value, json};

use crate::world::{Output, World};

/// A reply of the model: a text, or a call.
enum Reply {
    Says(&'static str),
    Calls(&'static str, Value),
}
use Reply::{Calls, Says};

/// Runs the program against a provider that sends these replies. Returns the output and the requests.
fn talk(world: &World, arguments: &[&str], replies: &[Reply]) -> (Output, Vec<Request>) {
    talk_with(world, arguments, replies, "")
}

fn talk_with(
    world: &World,
    arguments: &[&str],
    replies: &[Reply],
    stdin: &str,
) -> (Output, Vec<Request>) {
    let chunk = |delta: &Value, end: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        json!({ "id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice] })
    };
    let answers = replies.iter().enumerate().map(|(at, reply)| {
        let (delta, end) = match reply {
            Says(text) => (json!({ "role": "assistant", "content": text }), "stop"),
            Calls(name, input) => {
                let function = json!({ "name": name, "arguments": input.to_string() });
                let id = format!("call_{at}");
                let call =
                    json!({ "index": 0, "id": id, "type": "function", "function": function });
                (
                    json!({ "role": "assistant", "tool_calls": [call] }),
                    "tool_calls",
                )
            }
        };
        let first = chunk(&delta, Value::Null);
        let last = chunk(&json!({}), end.into());
        vec![ServerStep::Send(sse(&format!("{first}\n{last}\n[DONE]")))]
    });
    let server = TestServer::new(answers);
    let base = format!("http://127.0.0.1:{}/v1", server.port);
    let output = world
        .command(arguments)
        .env("OPENAI_API_KEY", "secret-key")
        .env("OPENAI_BASE_URL", base)
        .env("PROWESS_MODEL", "openai-chat/usual")
        .stdin(stdin)
        .patience(60)
        .run();
    let asked = server.asked();
    let requests = asked.iter().map(|request| Request(request.json()));
    (output, requests.collect())
}

/// A request that the provider received.
struct Request(Value);

impl Request {
    /// Returns the names of the tools.
    fn tools(&self) -> Vec<&str> {
        let tools = self.0["tools"].as_array();
        let names = tools.into_iter().flatten();
        names
            .map(|tool| tool["function"]["name"].as_str().unwrap())
            .collect()
    }

    fn has(&self, tool: &str) -> bool {
        self.tools().contains(&tool)
    }

    fn model(&self) -> &str {
        self.0["model"].as_str().unwrap()
    }

    /// Returns the system prompt.
    fn system(&self) -> String {
        let messages = self.0["messages"].as_array().unwrap().iter();
        let system = messages.filter(|message| message["role"] == "system");
        system.map(|message| text(&message["content"])).collect()
    }

    /// Returns the text of the last message.
    fn last(&self) -> String {
        text(&self.0["messages"].as_array().unwrap().last().unwrap()["content"])
    }

    /// Returns the text of the first user message.
    fn first(&self) -> String {
        let mut messages = self.0["messages"].as_array().unwrap().iter();
        text(&messages.find(|message| message["role"] == "user").unwrap()["content"])
    }

    fn description(&self, tool: &str) -> String {
        let mut tools = self.0["tools"].as_array().unwrap().iter();
        let found = tools.find(|one| one["function"]["name"] == tool).unwrap();
        found["function"]["description"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts
                .iter()
                .map(|part| part["text"].as_str().unwrap_or_default());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Tools that load skills. An agent has them if it has skills.
const LOADING: [&str; 4] = [
    "search_skills",
    "load_skill",
    "unload_skill",
    "load_skill_resource",
];

/// Returns a world with three skills in the home folder, which need no trust.
fn world() -> World {
    let world = World::new();
    for (name, body) in [
        ("rust", "RUST-BODY: write Rust."),
        ("docs", "DOCS-BODY: write documents."),
        ("secrets", "SECRETS-BODY: keep them."),
    ] {
        world.file(
            format!("~/.agents/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: About {name}. Use for {name}.\n---\n{body}\n"),
        );
    }
    world.file("AGENTS.md", "Project notes: be brief.\n");
    world
}

fn claude(world: &World, name: &str, keys: &str, prompt: &str) {
    world.file(
        format!("~/.claude/agents/{name}.md"),
        format!("---\nname: {name}\ndescription: The {name}.\n{keys}---\n{prompt}\n"),
    );
}

/// A Planck team: an orchestrator without tools, a builder with a skill and a tool, and a writer.
fn team(world: &World) {
    world.file(
        "~/.planck/teams/dev/TEAM.json",
        r#"{
  "name": "dev",
  "description": "Builds things.",
  "members": [
    {"type": "orchestrator", "provider": "openai-chat", "model_id": "lead-model", "system_prompt": "lead.md", "skills": []},
    {"type": "builder", "description": "Builds.", "provider": "openai-chat", "model_id": "builder-model", "system_prompt": "You build.", "tools": ["read"], "skills": ["rust"]},
    {"type": "writer", "description": "Writes.", "provider": "not-a-provider", "model_id": "x", "tools": ["read", "list_skills"], "skills": ["docs"]}
  ]
}"#,
    );
    world.file("~/.planck/teams/dev/lead.md", "You lead the team.\n");
}

/// Lines 15 of audit-seeds §8 and 26 of missions §5.
#[test]
fn agent_has_its_own_prompt_tools_skills_and_model() {
    let world = world();
    team(&world);
    let (output, requests) = talk(
        &world,
        &["run", "--agent", "dev/builder", "--task", "Build it."],
        &[Says("Built.")],
    );
    assert_eq!(output.expect(0).stdout, "Built.\n");
    let request = &requests[0];
    assert_eq!(request.model(), "builder-model");
    let system = request.system();
    assert!(system.starts_with("You build."), "{system}");
    assert!(system.contains("Project notes: be brief."), "{system}");
    assert!(system.contains("**rust**"), "{system}");
    assert!(
        !system.contains("docs") && !system.contains("secrets"),
        "{system}"
    );
    let mut expected = LOADING.to_vec();
    expected.push("read");
    assert_eq!(request.tools(), expected);
    assert_eq!(request.first(), "Build it.");

    // Another agent has another index, and an agent without skills has none.
    let (_, requests) = talk(
        &world,
        &["agent", "run", "dev/writer", "Write it."],
        &[Says("x")],
    );
    let system = requests[0].system();
    assert!(
        system.contains("**docs**") && !system.contains("rust"),
        "{system}"
    );
    assert!(requests[0].has("list_skills"));
    let (_, requests) = talk(&world, &["agent", "run", "dev", "Lead."], &[Says("x")]);
    let (tools, system) = (requests[0].tools(), requests[0].system());
    assert_eq!(tools, ["call_agent", "list_team", "spawn_agent"]);
    assert!(system.starts_with("You lead the team."), "{system}");
    for name in ["rust", "docs", "secrets"] {
        assert!(!system.contains(&format!("**{name}**")), "{system}");
    }
}

/// Line 15 of audit-seeds §8, in a chat.
#[test]
fn chat_runs_as_an_agent() {
    let world = world();
    claude(&world, "reviewer", "tools: Read, Grep\n", "You review.");
    for arguments in [
        &["agent", "chat", "reviewer", "--plain"][..],
        &["chat", "--agent", "reviewer", "--plain"],
    ] {
        let (output, requests) = talk_with(&world, arguments, &[Says("Fine.")], "Look at it.\n");
        let output = output.expect(0);
        assert!(output.stdout.contains("Fine."), "{}", output.stdout);
        assert!(requests[0].system().starts_with("You review."));
        let mut expected = LOADING.to_vec();
        expected.extend(["read", "grep"]);
        let mut tools = requests[0].tools();
        tools.sort_unstable();
        expected.sort_unstable();
        assert_eq!(tools, expected);
    }
}

/// Line 15 of audit-seeds §8.
#[test]
fn unknown_agent_exits_2_with_the_nearest_name() {
    let world = world();
    claude(&world, "reviewer", "", "You review.");
    for arguments in [
        &["agent", "run", "reviewr", "x"][..],
        &["run", "--agent", "reviewr", "--task", "x"],
        &["agent", "chat", "reviewr", "--plain"],
        &["chat", "--agent", "reviewr", "--plain"],
    ] {
        let output = world.run(arguments).expect(2);
        assert!(
            output.stderr.contains("no agent named `reviewr`"),
            "{}",
            output.stderr
        );
        assert!(
            output.stderr.contains("did you mean `reviewer`?"),
            "{}",
            output.stderr
        );
    }
}

/// Line 16 of audit-seeds §8.
#[test]
fn configured_worker_lists_skills_only_if_its_tools_say_so() {
    let world = world();
    world.file(
        "~/config.toml",
        "[agents.plain]\nskills = [\"rust\"]\n[agents.lister]\nskills = [\"rust\"]\ntools = [\"list_skills\"]\n[agents.empty]\nskills = []\n",
    );
    let tools = |agent: &str| {
        let arguments = ["run", "--agent", agent, "--task", "x"];
        let (output, requests) = talk(&world, &arguments, &[Says("y")]);
        output.expect(0);
        let tools = requests[0].tools();
        tools.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let has = |tools: &[String], tool: &str| tools.iter().any(|name| name == tool);
    let plain = tools("plain");
    assert!(
        has(&plain, "load_skill") && !has(&plain, "list_skills"),
        "{plain:?}"
    );
    assert!(has(&plain, "read"), "{plain:?}");
    let lister = tools("lister");
    assert!(
        has(&lister, "load_skill") && has(&lister, "list_skills"),
        "{lister:?}"
    );
    assert!(!has(&lister, "read") && !has(&lister, "bash"), "{lister:?}");
    let empty = tools("empty");
    assert!(
        !has(&empty, "load_skill") && !has(&empty, "list_skills"),
        "{empty:?}"
    );
}

/// Lines 17 and 18 of audit-seeds §8, 72 of missions §5.
#[test]
fn orchestrator_delegates_to_a_worker_that_loads_its_skill() {
    let world = world();
    team(&world);
    let (output, requests) = talk(
        &world,
        &["agent", "run", "dev", "Add a flag."],
        &[
            Calls(
                "call_agent",
                json!({"name": "builder", "task": "Use the skill rust."}),
            ),
            Calls("load_skill", json!({"name": "secrets"})),
            Calls("load_skill", json!({"name": "rust"})),
            Says("The flag is there."),
            Says("Done: the flag is there."),
        ],
    );
    let output = output.expect(0);
    assert_eq!(output.stdout, "Done: the flag is there.\n");
    let lead = &requests[0];
    assert_eq!(lead.model(), "lead-model");
    let about = lead.description("call_agent");
    assert!(
        about.contains("- builder: Builds.") && about.contains("- writer: Writes."),
        "{about}"
    );
    // The worker has its own conversation, prompt, model and skills.
    let worker = &requests[1];
    assert_eq!(worker.model(), "builder-model");
    assert!(worker.first().starts_with("Use the skill rust."));
    assert!(worker.system().starts_with("You build."));
    assert!(
        !worker.has("call_agent") && !worker.has("spawn_agent"),
        "{:?}",
        worker.tools()
    );
    assert!(
        requests[2].last().contains("Unknown skill: secrets"),
        "{}",
        requests[2].last()
    );
    assert!(!requests[2].last().contains("SECRETS-BODY"));
    assert!(
        requests[3].last().contains("RUST-BODY"),
        "{}",
        requests[3].last()
    );
    let report = requests[4].last();
    assert!(
        report.contains("Agent `builder` finished (session "),
        "{report}"
    );
    assert!(report.ends_with("The flag is there."), "{report}");
}

/// Line 72 of missions §5 and 18 of audit-seeds §8.
#[test]
fn spawned_worker_loads_only_the_skills_it_was_given() {
    let world = world();
    team(&world);
    let (output, requests) = talk(
        &world,
        &["agent", "run", "dev", "Go."],
        &[
            Calls(
                "spawn_agent",
                json!({"task": "x", "tools": ["bash"], "skills": ["secrets"]}),
            ),
            Calls(
                "spawn_agent",
                json!({"name": "helper", "task": "Help.", "tools": ["read"], "skills": ["docs"]}),
            ),
            Calls("load_skill", json!({"name": "docs"})),
            Says("Helped."),
            Says("Done."),
        ],
    );
    output.expect(0);
    let refused = requests[1].last();
    assert!(refused.contains("this team does not have"), "{refused}");
    assert!(
        refused.contains("`bash`") && refused.contains("`secrets`"),
        "{refused}"
    );
    let worker = &requests[2];
    assert_eq!(worker.first(), "Help.");
    let mut expected = LOADING.to_vec();
    expected.push("read");
    assert_eq!(worker.tools(), expected);
    let system = worker.system();
    assert!(
        system.contains("**docs**") && !system.contains("**rust**"),
        "{system}"
    );
    assert!(requests[3].last().contains("DOCS-BODY"));
    assert!(
        requests[4].last().contains("Agent `helper` finished"),
        "{}",
        requests[4].last()
    );
}

/// A worker asks for itself, for an agent that is not there, and gives an empty task.
#[test]
fn wrong_calls_of_agents_are_errors() {
    let world = world();
    team(&world);
    let (output, requests) = talk(
        &world,
        &["agent", "run", "dev", "Go."],
        &[
            Calls("call_agent", json!({"name": "orchestrator", "task": "x"})),
            Calls("call_agent", json!({"name": "bulder", "task": "x"})),
            Calls("call_agent", json!({"name": "builder", "task": " "})),
            Calls("call_agent", json!({"name": "builder"})),
            Calls("list_team", json!({})),
            Says("Done."),
        ],
    );
    output.expect(0);
    let last = |at: usize| requests[at].last();
    assert!(last(1).contains("cannot start itself"), "{}", last(1));
    assert!(last(2).contains("Did you mean `builder`?"), "{}", last(2));
    assert!(last(3).contains("The task is empty"), "{}", last(3));
    assert!(last(4).contains("`task`"), "{}", last(4));
    assert!(last(5).contains("- builder: Builds."), "{}", last(5));
}

/// Two agents that start each other end at the greatest depth.
#[test]
fn circle_of_agents_ends_with_an_error() {
    let world = world();
    claude(&world, "ping", "tools: Agent(pong)\n", "Ping.");
    claude(&world, "pong", "tools: Agent(ping)\n", "Pong.");
    let call = |name: &'static str| Calls("call_agent", json!({"name": name, "task": "go"}));
    let (output, requests) = talk(
        &world,
        &["agent", "run", "ping", "go"],
        &[
            call("pong"),
            call("ping"),
            call("pong"),
            call("ping"),
            Says("3"),
            Says("2"),
            Says("1"),
            Says("0"),
        ],
    );
    output.expect(0);
    let refused = requests[4].last();
    assert!(
        refused.contains("nested too deeply (4 levels)"),
        "{refused}"
    );
    assert_eq!(requests.len(), 8);
}

/// Line 70 of missions §5: preloaded skills are whole in the first request.
#[test]
fn preloaded_skills_are_in_the_first_request() {
    let world = world();
    claude(&world, "coder", "skills: rust, nothing-here\n", "You code.");
    let (output, requests) = talk(&world, &["agent", "run", "coder", "Code."], &[Says("x")]);
    let output = output.expect(0);
    let first = requests[0].first();
    assert!(first.contains("RUST-BODY: write Rust."), "{first}");
    assert!(first.ends_with("Code."), "{first}");
    assert!(
        output.stderr.contains("`nothing-here` was not loaded"),
        "{}",
        output.stderr
    );
}

/// Line 70 of missions §5: `agent:` of a skill finds agents of files.
#[test]
fn skill_runs_as_an_agent_of_a_file() {
    let world = world();
    team(&world);
    claude(
        &world,
        "reviewer",
        "tools: Read\nskills: docs\n",
        "You review as told.",
    );
    for (agent, prompt, tool) in [
        ("reviewer", "You review as told.", "grep"),
        ("dev/builder", "You build.", "grep"),
    ] {
        world.file(
            "~/.agents/skills/check/SKILL.md",
            format!("---\nname: check\ndescription: Checks. Use for checks.\ncontext: fork\nagent: {agent}\n---\nCheck it.\n"),
        );
        let (output, requests) = talk(
            &world,
            &["run", "--task", "go"],
            &[
                Calls("load_skill", json!({"name": "check"})),
                Says("Checked."),
                Says("Done."),
            ],
        );
        output.expect(0);
        let forked = &requests[1];
        assert!(forked.system().starts_with(prompt), "{}", forked.system());
        assert!(
            forked.has("read") && !forked.has(tool),
            "{:?}",
            forked.tools()
        );
        assert!(forked.first().contains("Check it."), "{}", forked.first());
    }
}

/// Line 70 of missions §5: `[agents.NAME]` restricts an agent of a file.
#[test]
fn settings_restrict_the_skills_of_an_agent_of_a_file() {
    let world = world();
    claude(&world, "coder", "", "You code.");
    world.file("~/config.toml", "[agents.coder]\nskills = [\"rust\"]\n");
    let (output, requests) = talk(&world, &["agent", "run", "coder", "x"], &[Says("y")]);
    output.expect(0);
    let system = requests[0].system();
    assert!(system.starts_with("You code."), "{system}");
    assert!(
        system.contains("**rust**") && !system.contains("**docs**"),
        "{system}"
    );
}

/// Models of files: Claude Code's words, a name, and one that is not available.
#[test]
fn model_of_an_agent_is_used_if_it_is_available() {
    let world = world();
    claude(&world, "named", "model: openai-chat/special\n", "x");
    claude(&world, "word", "model: opus\n", "x");
    claude(&world, "same", "model: inherit\n", "x");
    let model = |agent: &str, more: &[&str]| {
        let mut arguments = vec!["agent", "run", agent, "x"];
        arguments.extend(more);
        let (output, requests) = talk(&world, &arguments, &[Says("y")]);
        (requests[0].model().to_owned(), output.expect(0).stderr)
    };
    assert_eq!(model("named", &[]).0, "special");
    assert_eq!(model("same", &[]).0, "usual");
    let (name, told) = model("word", &[]);
    assert_eq!(name, "usual");
    assert!(
        told.contains("agent `word` requests another model"),
        "{told}"
    );
    // The user decides about the agent that is started.
    assert_eq!(model("named", &["--model", "openai-chat/mine"]).0, "mine");
}

/// A plain session may give tasks to the user's agents.
#[test]
fn session_gives_a_task_to_an_agent() {
    let world = world();
    claude(&world, "reviewer", "tools: Read\n", "You review.");
    let (output, requests) = talk(
        &world,
        &["run", "--task", "go"],
        &[
            Calls(
                "call_agent",
                json!({"name": "reviewer", "task": "Review a.rs"}),
            ),
            Says("All good."),
            Says("Done."),
        ],
    );
    output.expect(0);
    assert!(requests[0].has("call_agent") && requests[0].has("bash"));
    assert!(requests[1].system().starts_with("You review."));
    assert!(!requests[1].has("bash") && !requests[1].has("call_agent"));
    assert!(requests[2].last().contains("All good."));
    // Without agents, there is no such tool.
    let world = World::new();
    let (_, requests) = talk(&world, &["run", "--task", "go"], &[Says("x")]);
    assert!(!requests[0].has("call_agent") && !requests[0].has("list_team"));
}

/// Rules about agents: `Agent(NAME)` denies or asks, also for an agent as a tool.
#[test]
fn rules_about_agents_apply() {
    let world = world();
    team(&world);
    world.file(
        "~/config.toml",
        "[permissions]\ndeny = [\"Agent(builder)\"]\nask = [\"Agent(writer)\"]\n",
    );
    let (output, requests) = talk(
        &world,
        &["agent", "run", "dev", "go", "--no-wait"],
        &[
            Calls("call_agent", json!({"name": "builder", "task": "x"})),
            Calls("call_agent", json!({"name": "writer", "task": "x"})),
            Says("Done."),
        ],
    );
    output.expect(0);
    let denied = requests[1].last();
    assert!(denied.contains("Agent(builder)"), "{denied}");
    let asked = requests[2].last();
    assert!(asked.contains("Starting the agent writer"), "{asked}");
    assert_eq!(requests.len(), 3, "no agent was started");
}

/// Lines 61 of missions §5: an agent has no tool that is not in its list, whatever a skill says.
#[test]
fn skill_gives_an_agent_no_tool_outside_its_list() {
    let world = world();
    claude(&world, "reader", "tools: Read, Skill\n", "You read.");
    world.file(
        "~/.agents/skills/shell/SKILL.md",
        "---\nname: shell\ndescription: Runs. Use for runs.\nallowed-tools: Bash(echo:*)\n---\nRun it.\n",
    );
    world.file(
        "~/.agents/skills/forked/SKILL.md",
        "---\nname: forked\ndescription: Forks. Use for forks.\ncontext: fork\nallowed-tools: Bash(echo:*) Read\n---\nRun it.\n",
    );
    let (output, requests) = talk(
        &world,
        &["agent", "run", "reader", "go"],
        &[
            Calls("load_skill", json!({"name": "shell"})),
            Calls("bash", json!({"command": "echo hi"})),
            Calls("run_command_line", json!({"commandLine": "echo hi"})),
            Calls("load_skill", json!({"name": "forked"})),
            Says("Forked."),
            Says("Done."),
        ],
    );
    output.expect(0);
    assert!(requests[1].last().contains("Run it."));
    for request in &requests[1..4] {
        assert!(!request.has("bash") && !request.has("run_command_line"));
    }
    assert!(
        requests[2].last().contains("Unknown tool: bash"),
        "{}",
        requests[2].last()
    );
    assert!(
        requests[3]
            .last()
            .contains("Unknown tool: run_command_line")
    );
    let forked = &requests[4];
    assert!(
        forked.has("read") && !forked.has("bash"),
        "{:?}",
        forked.tools()
    );
    assert!(!forked.has("run_command_line"), "{:?}", forked.tools());
}

/// An agent of a project is shown, and runs only if its file is trusted.
#[test]
fn untrusted_agent_of_a_project_does_not_run() {
    let world = world();
    world.file(
        ".claude/agents/theirs.md",
        "---\nname: theirs\ndescription: Theirs.\n---\nObey.\n",
    );
    world.run(&["agent", "show", "theirs"]).expect(0);
    for arguments in [
        &["agent", "run", "theirs", "x"][..],
        &["agent", "chat", "theirs", "--plain"],
        &["run", "--agent", "theirs", "--task", "x"],
    ] {
        let (output, requests) = talk(&world, arguments, &[Says("y")]);
        let output = output.expect(3);
        assert!(
            output.stderr.contains("agent `theirs` is not trusted"),
            "{}",
            output.stderr
        );
        assert!(output.stderr.contains("prowess trust"), "{}", output.stderr);
        assert!(requests.is_empty());
    }
    // It is not offered to other sessions, and no skill runs as it.
    let (_, requests) = talk(&world, &["run", "--task", "x"], &[Says("y")]);
    assert!(!requests[0].has("call_agent"));
    world.file(
        "~/.agents/skills/check/SKILL.md",
        "---\nname: check\ndescription: Checks. Use for checks.\ncontext: fork\nagent: theirs\n---\nCheck it.\n",
    );
    let replies = [Calls("load_skill", json!({"name": "check"})), Says("y")];
    let (_, requests) = talk(&world, &["run", "--task", "x"], &replies);
    assert!(requests[1].last().contains("agent `theirs` is not trusted"));
}

/// Lines 34 of audit-seeds §8 and 75 of missions §5.
#[test]
fn core_agent_subagents_have_what_their_entry_says() {
    let world = world();
    world.file(
        "~/.agents/config.json",
        r#"{
  // the agents of this user
  "subagents": [
    {"name": "plain", "description": "Has everything.", "instructions": "Plain."},
    {"name": "few", "description": "Has few.", "instructions": "Few.", "tools": ["read_file"], "skills": ["rust"], "mcp": []},
    {"name": "none", "description": "Has nothing.", "instructions": "None.", "tools": [], "skills": [], "mcp": []},
    {"name": "rooted", "description": "Has a root.", "root": "cluster", "budgets": {"max_turns": 1}}
  ]
}"#,
    );
    world.file("~/.agents/cluster/AGENTS.md", "You look after clusters.\n");
    world.file(
        "~/.agents/cluster/skills/kube/SKILL.md",
        "---\nname: kube\ndescription: About kube. Use for kube.\n---\nKUBE-BODY\n",
    );
    let (output, requests) = talk(
        &world,
        &["run", "--task", "go"],
        &[
            Calls("plain", json!({"task": "p"})),
            Says("p"),
            Calls("few", json!({"task": "f"})),
            Says("f"),
            Calls("call_agent", json!({"name": "none", "task": "n"})),
            Says("n"),
            Calls("rooted", json!({"task": "r"})),
            Calls("load_skill", json!({"name": "kube"})),
            Says("Done."),
        ],
    );
    output.expect(0);
    let main = &requests[0];
    for tool in ["plain", "few", "none", "rooted", "call_agent", "list_team"] {
        assert!(main.has(tool), "{tool}: {:?}", main.tools());
    }
    assert!(main.description("few").starts_with("Has few."));
    let plain = &requests[1];
    assert!(plain.has("bash") && plain.has("load_skill") && !plain.has("few"));
    assert!(plain.system().starts_with("Plain.") && plain.system().contains("**docs**"));
    let few = &requests[3];
    let mut expected = LOADING.to_vec();
    expected.push("read");
    assert_eq!(few.tools(), expected);
    assert!(few.system().contains("**rust**") && !few.system().contains("**docs**"));
    let none = &requests[5];
    assert_eq!(none.tools(), Vec::<&str>::new());
    // Its own content, and nothing of the project.
    let rooted = &requests[7];
    let system = rooted.system();
    assert!(system.starts_with("You look after clusters."), "{system}");
    assert!(system.contains("**kube**"), "{system}");
    for other in ["Project notes", "**rust**", "**docs**"] {
        assert!(!system.contains(other), "{system}");
    }
    // Its budget is one turn.
    let ended = requests[8].last();
    assert!(
        ended.contains("Agent `rooted` finished") && ended.contains("was reached"),
        "{ended}"
    );
}

/// A resumed session has the same prompt, tools and skills although the file changed.
#[test]
fn resumed_agent_stays_as_it_was() {
    let world = world();
    claude(&world, "coder", "tools: Read, Skill\n", "You code in Rust.");
    let (output, requests) = talk(
        &world,
        &["agent", "run", "coder", "go", "--max-turns", "1", "--json"],
        &[Calls("load_skill", json!({"name": "rust"}))],
    );
    let output = output.expect(5);
    let last: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
    let id = last["session"].as_str().unwrap();
    claude(&world, "coder", "tools: Bash\n", "You do something else.");
    let (output, again) = talk(
        &world,
        &["session", "resume", id, "--max-turns", "9"],
        &[Says("Done.")],
    );
    let output = output.expect(0);
    assert!(
        output.stderr.contains("agent `coder` changed"),
        "{}",
        output.stderr
    );
    assert_eq!(again[0].system(), requests[0].system());
    assert_eq!(again[0].tools(), requests[0].tools());
    assert!(again[0].0.to_string().contains("RUST-BODY"));
}

/// Line 20 of audit-seeds §8.
#[test]
fn project_team_shadows_the_one_of_the_user() {
    let world = world();
    team(&world);
    let theirs = world
        .read("~/.planck/teams/dev/TEAM.json")
        .replace("lead.md", "Theirs.");
    world.file(".planck/teams/dev/TEAM.json", theirs);
    // The project's team comes first, and is not trusted.
    world.run(&["agent", "run", "dev", "x"]).expect(3);
    let (output, requests) = talk(&world, &["agent", "run", "user:dev", "x"], &[Says("y")]);
    output.expect(0);
    assert!(requests[0].system().starts_with("You lead the team."));
    // Its members are those of the user too.
    let (_, requests) = talk(
        &world,
        &["agent", "run", "user:dev", "x"],
        &[
            Calls("call_agent", json!({"name": "builder", "task": "b"})),
            Says("b"),
            Says("y"),
        ],
    );
    assert!(requests[1].system().starts_with("You build."));
}

/// A read-only agent, and what it starts, changes nothing.
#[test]
fn read_only_agent_starts_only_read_only_agents() {
    let world = world();
    claude(
        &world,
        "planner",
        "permissionMode: plan\ntools: Read, Write, Skill, Agent(worker)\n",
        "Plan.",
    );
    claude(&world, "worker", "tools: Read, Write, Bash\n", "Work.");
    let (output, requests) = talk(
        &world,
        &["agent", "run", "planner", "go"],
        &[
            Calls("call_agent", json!({"name": "worker", "task": "w"})),
            Says("w"),
            Says("done"),
        ],
    );
    output.expect(0);
    for request in &requests {
        assert!(request.has("read"), "{:?}", request.tools());
        assert!(
            !request.has("write") && !request.has("bash"),
            "{:?}",
            request.tools()
        );
    }
}

/// A typed result of a team.
#[test]
fn team_returns_a_value_that_matches_the_schema() {
    let world = world();
    team(&world);
    let schema =
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
    world.file("out.json", schema);
    let (output, requests) = talk(
        &world,
        &["agent", "run", "dev", "Count.", "--schema", "out.json"],
        &[
            Calls("call_agent", json!({"name": "builder", "task": "Count."})),
            Says("3"),
            Calls("submit", json!({"n": 3})),
        ],
    );
    assert_eq!(output.expect(0).json(), json!({"n": 3}));
    assert!(requests[0].has("submit") && !requests[1].has("submit"));
}

/// Lines 26 and 34 of audit-seeds §8: servers of a root are for its agent only.
#[test]
fn servers_of_a_root_are_for_its_agent_only() {
    let world = world();
    world.file(
        "~/shop/.agents/skills/refunds/SKILL.md",
        "---\nname: refunds\ndescription: Gives money back.\n---\nPay them.\n",
    );
    let server = json!({
        "command": env!("CARGO_BIN_EXE_prowess"), "args": ["mcp"],
        "cwd": world.path("~/shop"), "env": { "PROWESS_HOME": world.path("~/none") },
    });
    world.file(
        "~/.agents/cluster/mcp.json",
        json!({ "servers": { "shop": server } }).to_string(),
    );
    world.file(
        "~/.agents/config.json",
        r#"{"subagents": [
  {"name": "rooted", "description": "Has a root.", "instructions": "Rooted.", "root": "cluster"},
  {"name": "other", "description": "Has none.", "instructions": "Other."}
]}"#,
    );
    let (output, requests) = talk(
        &world,
        &["run", "--task", "go"],
        &[
            Calls("rooted", json!({"task": "r"})),
            Says("r"),
            Calls("other", json!({"task": "o"})),
            Says("o"),
            Says("Done."),
        ],
    );
    output.expect(0);
    let has_server = |at: usize| {
        let tools = requests[at].tools();
        tools.iter().any(|tool| tool.starts_with("mcp__shop__"))
    };
    assert!(!has_server(0) && !requests[0].system().contains("refunds"));
    assert!(has_server(1), "{:?}", requests[1].tools());
    assert!(!has_server(3), "{:?}", requests[3].tools());
    // The same if the user starts the agent.
    let (_, requests) = talk(&world, &["agent", "run", "rooted", "x"], &[Says("y")]);
    let tools = requests[0].tools();
    assert!(
        tools.iter().any(|tool| tool.starts_with("mcp__shop__")),
        "{tools:?}"
    );
}

/// Returns a server of one skill, in a folder of the home folder.
fn shop(world: &World, folder: &str, skill: &str) -> Value {
    world.file(
        format!("~/{folder}/.agents/skills/{skill}/SKILL.md"),
        format!("---\nname: {skill}\ndescription: Handles money.\n---\nBODY-OF-{skill}\n"),
    );
    json!({
        "command": env!("CARGO_BIN_EXE_prowess"), "args": ["mcp"],
        "cwd": world.path(format!("~/{folder}")), "env": { "PROWESS_HOME": world.path("~/none") },
    })
}

/// Servers of one name: that of the user, and those in the roots of two subagents.
fn three_shops(world: &World) {
    for (file, folder, skill) in [
        ("~/.agents/mcp.json", "a", "refunds"),
        ("~/.agents/cluster/mcp.json", "b", "invoices"),
        ("~/.agents/depot/mcp.json", "c", "parcels"),
    ] {
        let server = shop(world, folder, skill);
        world.file(file, json!({ "servers": { "shop": server } }).to_string());
    }
    world.file(
        "~/.agents/config.json",
        r#"{"subagents": [
  {"name": "rooted", "description": "Has a root.", "instructions": "Rooted.", "root": "cluster"},
  {"name": "keeper", "description": "Has another one.", "instructions": "Keeper.", "root": "depot"},
  {"name": "plain", "description": "Has none.", "instructions": "Plain."}
]}"#,
    );
}

fn find_money() -> Reply {
    Calls("mcp__shop__search_skills", json!({"query": "money"}))
}

/// Lines 26 and 34 of audit-seeds §8, 73 and 75 of missions §5.
#[test]
fn servers_of_one_name_stay_with_their_agents() {
    let world = world();
    three_shops(&world);
    let approved = [
        "mcp__shop",
        "mcp__rooted.shop",
        "mcp__keeper.shop__search_skills",
    ];
    let mut arguments = vec!["run", "--task", "go", "--no-wait"];
    arguments.extend(approved.iter().flat_map(|rule| ["--approve", rule]));
    let (output, requests) = talk(
        &world,
        &arguments,
        &[
            find_money(),
            Calls("rooted", json!({"task": "r"})),
            find_money(),
            Says("r"),
            Calls("keeper", json!({"task": "k"})),
            find_money(),
            Says("k"),
            Calls("plain", json!({"task": "p"})),
            find_money(),
            Says("p"),
            Says("Done."),
        ],
    );
    let output = output.expect(0);
    assert!(!output.stderr.contains("ignoring"), "{}", output.stderr);
    for (at, own) in [
        (1, "refunds"),
        (3, "invoices"),
        (6, "parcels"),
        (9, "refunds"),
    ] {
        let answer = requests[at].last();
        for skill in ["refunds", "invoices", "parcels"] {
            assert_eq!(answer.contains(skill), skill == own, "{at}: {answer}");
        }
    }
    // The skills of the user's server are no skills of an agent with a root.
    assert!(requests[0].system().contains("shop:refunds"));
    assert!(
        !requests[2].system().contains("refunds"),
        "{}",
        requests[2].system()
    );
    // The same if the user starts the agent.
    let run = [
        "agent",
        "run",
        "keeper",
        "x",
        "--approve",
        "mcp__keeper.shop",
    ];
    let (_, requests) = talk(&world, &run, &[find_money(), Says("y")]);
    assert!(
        requests[1].last().contains("parcels"),
        "{}",
        requests[1].last()
    );
}

/// A rule that allows the user's server allows no other server of that name. A rule that denies it
/// does.
#[test]
fn rules_for_a_server_do_not_allow_the_server_of_an_agent() {
    let world = world();
    three_shops(&world);
    let calls = [
        Calls("rooted", json!({"task": "r"})),
        find_money(),
        Says("r"),
        Says("Done."),
    ];
    let answer = |approve: &str, settings: &str| {
        world.file("~/config.toml", settings);
        let arguments = ["run", "--task", "go", "--no-wait", "--approve", approve];
        let (output, requests) = talk(&world, &arguments, &calls);
        output.expect(0);
        requests[2].last()
    };
    let refused = answer("mcp__shop", "[permissions]\nallow = [\"mcp__shop\"]\n");
    assert!(
        refused.contains("no rule allows the tool mcp__rooted.shop__search_skills"),
        "{refused}"
    );
    for name in ["mcp__shop", "shop_search_skills", "mcp__rooted.shop"] {
        let denied = answer(
            "mcp__rooted.shop",
            &format!("[permissions]\ndeny = [\"{name}\"]\n"),
        );
        assert!(!denied.contains("invoices"), "{name}: {denied}");
    }
    let allowed = answer("mcp__rooted.shop", "");
    assert!(allowed.contains("invoices"), "{allowed}");
}

/// Lines 26 of audit-seeds §8 and 73 of missions §5: each agent of a crew has the servers in its
/// block, and its skills keep them.
#[test]
fn servers_of_a_crew_are_for_their_agents_and_skills() {
    let world = world();
    for (file, folder, skill) in [
        ("servers/one.json", "a", "refunds"),
        ("servers/two.json", "b", "invoices"),
    ] {
        let mut server = shop(&world, folder, skill);
        server["name"] = json!("shop");
        server["type"] = json!("stdio");
        world.file(file, server.to_string());
    }
    world.file(
        "news.skilled_crew.yaml",
        "\
id: news
entryPointAgent: lead
agents:
  lead:
    instructionsPath: ./LEAD.md
    mcp_servers:
      - filePath: ./servers/one.json
    skills:
      - name: count
        folderPath: ./kit/count
  poster:
    instructionsPath: ./POSTER.md
    mcp_servers:
      - filePath: ./servers/two.json
  writer:
    instructionsPath: ./WRITER.md
",
    );
    for name in ["LEAD", "POSTER", "WRITER"] {
        let lower = name.to_lowercase();
        world.file(
            format!("{name}.md"),
            format!("---\nname: {lower}\ndescription: The {lower}.\n---\nYou are the {lower}.\n"),
        );
    }
    world.file(
        "kit/count/SKILL.md",
        "---\nname: count\ndescription: Counts. Use for numbers.\nallowed-tools: Bash(echo:*)\n---\nCount.\n",
    );
    for path in ["news.skilled_crew.yaml", "kit/count"] {
        let shown = world.run(&["trust", path, "--json"]).expect(0).json();
        let digest = shown["skills"][0]["digest"].as_str().unwrap().to_owned();
        world.run(&["trust", path, "--digest", &digest]).expect(0);
    }
    let hand_over = |name: &'static str| Calls("call_agent", json!({"name": name, "task": "go"}));
    let mut arguments = vec!["agent", "run", "news", "go", "--no-wait"];
    arguments.extend(["--approve", "mcp__shop", "--approve", "mcp__poster.shop"]);
    let (output, requests) = talk(
        &world,
        &arguments,
        &[
            find_money(),
            Calls("load_skill", json!({"name": "count"})),
            find_money(),
            Says("counted"),
            hand_over("poster"),
            find_money(),
            Says("posted"),
            hand_over("writer"),
            Says("written"),
            Says("Done."),
        ],
    );
    let output = output.expect(0);
    assert!(!output.stderr.contains("ignoring"), "{}", output.stderr);
    for (at, own) in [(1, "refunds"), (3, "refunds"), (6, "invoices")] {
        let answer = requests[at].last();
        for skill in ["refunds", "invoices"] {
            assert_eq!(answer.contains(skill), skill == own, "{at}: {answer}");
        }
    }
    let writer = requests[8].tools();
    assert!(
        !writer.iter().any(|tool| tool.starts_with("mcp__")),
        "{writer:?}"
    );
}

/// An agent whose file of instructions is missing runs, and says so.
#[test]
fn missing_instructions_are_told() {
    let world = world();
    team(&world);
    std::fs::remove_file(world.path("~/.planck/teams/dev/lead.md")).unwrap();
    let (output, _) = talk(&world, &["agent", "run", "dev", "Hi."], &[Says("Hello.")]);
    let output = output.expect(0);
    let said = &output.stderr;
    assert!(
        said.contains("has no instructions: `lead.md` cannot be read"),
        "{said}"
    );
    let (_, rest) = said.split_once("see `prowess validate ").unwrap();
    let path = rest.split('`').next().unwrap();
    let found = world.run(&["validate", path]).expect(1);
    let found = format!("{}{}", found.stdout, found.stderr);
    assert!(found.contains("lead.md` does not exist"), "{found}");
}
