//! MCP servers used by an agent: `prowess mcp list`, `prowess mcp trust`, and runs with their tools and
//! skills. The server is prowess itself, started in another folder.

use prowess_test::server::{ServerStep, TestServer, sse};
use serde_json::{Value, json};

use crate::world::World;

/// Returns a world with a second project, whose skills are served.
fn world() -> World {
    let world = World::new();
    world.file(
        "~/shop/.agents/skills/refunds/SKILL.md",
        "---\nname: refunds\ndescription: Gives money back.\nallowed-tools: Bash(*)\n---\nPay them. !`touch paid`\n",
    );
    world.file("~/shop/.agents/skills/refunds/terms.md", "Thirty days.\n");
    world
}

/// Returns the configuration of the server.
fn server(world: &World) -> Value {
    json!({
        "command": env!("CARGO_BIN_EXE_prowess"), "args": ["mcp"],
        "cwd": world.path("~/shop"), "env": { "PROWESS_HOME": "${HOME}/none${UNSET:-}" },
    })
}

fn settings(world: &World) {
    let text = format!(
        "[mcp.servers.shop]\ncommand = {:?}\nargs = ['mcp']\ncwd = '{}'\nenv = {{ PROWESS_HOME = '${{HOME}}/none' }}\n\
         [mcp.servers.gone]\ncommand = 'nothing-of-this-name'\n\
         [mcp.servers.unset]\nurl = 'https://${{NO_SUCH}}/mcp'\n",
        env!("CARGO_BIN_EXE_prowess"),
        world.path("~/shop").display(),
    );
    world.file("~/config.toml", text);
}

#[test]
fn servers_are_listed_with_tools_and_skills() {
    let world = world();
    let none = world.run(&["mcp", "list"]).expect(0);
    assert!(
        none.stderr.contains("[mcp.servers.NAME]"),
        "{}",
        none.stderr
    );
    let told = "` to `~/config.toml`\n";
    assert!(none.stderr.ends_with(told), "{}", none.stderr);
    settings(&world);
    let found = world.run(&["mcp", "list", "--json"]).expect(0).json();
    let by_name = |name: &str| {
        let servers = found["servers"].as_array().unwrap();
        servers
            .iter()
            .find(|server| server["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(by_name("shop")["state"], "ready");
    assert!(
        by_name("shop")["tools"]
            .as_array()
            .unwrap()
            .contains(&json!("mcp__shop__load_skill"))
    );
    assert!(
        by_name("shop")["skills"]
            .as_array()
            .unwrap()
            .contains(&json!("shop:refunds"))
    );
    assert_eq!(by_name("gone")["state"], "failed");
    assert!(
        found["notes"][0]
            .as_str()
            .unwrap()
            .contains("`NO_SUCH` is not set"),
        "{found}"
    );
    let shown = world.run(&["mcp", "list"]).expect(0);
    assert!(shown.stdout.contains("shop"), "{}", shown.stdout);
    assert!(
        shown.stderr.contains("`nothing-of-this-name` not found"),
        "{}",
        shown.stderr
    );
}

#[test]
fn run_uses_tools_and_skills_of_servers() {
    let world = world();
    settings(&world);
    let chunk = |choice: Value| {
        let chunk = json!({ "id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice] });
        format!("{chunk}\n[DONE]")
    };
    let call = |name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        let call = json!({ "index": 0, "id": name, "type": "function", "function": function });
        chunk(
            json!({ "index": 0, "finish_reason": "tool_calls", "delta": { "tool_calls": [call] } }),
        )
    };
    let done =
        chunk(json!({ "index": 0, "finish_reason": "stop", "delta": { "content": "Done." } }));
    let answers = [
        call("load_skill", r#"{"name":"shop:refunds"}"#),
        call(
            "load_skill_resource",
            r#"{"skill_name":"shop:refunds","resource_path":"terms.md"}"#,
        ),
        call("mcp__shop__search_skills", r#"{"query":"money"}"#),
        call("mcp__shop__load_skill", r#"{"name":"refunds"}"#),
        done,
    ];
    let model = TestServer::new(answers.map(|events| vec![ServerStep::Send(sse(&events))]));
    let arguments = [
        "run",
        "--task",
        "Pay Ada back.",
        "--no-wait",
        "--model",
        "local/m",
        "--approve",
        "mcp__shop__search_skills",
    ];
    let output = world
        .command(&arguments)
        .env(
            "PROWESS_BASE_URL",
            format!("http://127.0.0.1:{}/v1", model.port),
        )
        .run()
        .expect(0);
    assert_eq!(output.stdout, "Done.\n", "{}", output.stderr);
    let asked = model.asked();
    let body = |at: usize| -> Value { serde_json::from_str(&asked[at].body).unwrap() };
    // The first request contains each tool, and the skill with its qualified name.
    let first = body(0);
    let tools = first["tools"].to_string();
    assert!(tools.contains("\"mcp__shop__search_skills\""), "{tools}");
    assert!(
        first["messages"][0]
            .to_string()
            .contains("**shop:refunds**"),
        "{first}"
    );
    let result = |at: usize| {
        body(at)["messages"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .to_string()
    };
    assert!(
        result(1).contains("comes from the MCP server `shop`"),
        "{}",
        result(1)
    );
    assert!(result(2).contains("Thirty days."), "{}", result(2));
    assert!(result(3).contains("refunds"), "{}", result(3));
    // Without a terminal to ask on, the call is denied.
    assert!(
        result(4).contains("no rule allows the tool mcp__shop__load_skill"),
        "{}",
        result(4)
    );
    assert!(!world.path("~/shop/paid").exists() && !world.path("paid").exists());
}

#[test]
fn project_servers_need_trust() {
    let world = world();
    let file = json!({ "mcpServers": { "shop": server(&world) } });
    world.file(".mcp.json", file.to_string());
    let found = world.run(&["mcp", "list", "--json"]).expect(0).json();
    assert_eq!(found["servers"][0]["state"], "untrusted", "{found}");
    let run = ["run", "--task", "x", "--model", "echo"];
    let output = world.run(&run).expect(0);
    assert!(
        output.stderr.contains("prowess mcp trust"),
        "{}",
        output.stderr
    );
    // Without a terminal, the digest confirms trust in this exact version.
    let shown = world.run(&["mcp", "trust"]).expect(3);
    assert!(
        shown.stdout.contains("starts") && shown.stdout.contains(" mcp"),
        "{}",
        shown.stdout
    );
    let digest = shown
        .stderr
        .split("--digest ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap();
    world
        .run(&["mcp", "trust", "--digest", "sha256:0000000000000000"])
        .expect(2);
    world.run(&["mcp", "trust", "--digest", digest]).expect(0);
    let found = world.run(&["mcp", "list", "--json"]).expect(0).json();
    assert_eq!(found["servers"][0]["state"], "ready", "{found}");
    let output = world.run(&run).expect(0);
    assert!(!output.stderr.contains("trust"), "{}", output.stderr);
    // Any change revokes trust.
    world.file(".mcp.json", format!("{file} "));
    let found = world.run(&["mcp", "list", "--json"]).expect(0).json();
    assert_eq!(found["servers"][0]["state"], "untrusted", "{found}");
    world.run(&["mcp", "trust", "--revoke"]).expect(0);
}

#[test]
fn invalid_server_file_is_a_warning() {
    let world = world();
    world.file(
        "~/.mcp.json",
        "{ \"mcpServers\": { \"a__b\": { \"command\": \"x\" } } }",
    );
    let output = world
        .run(&["run", "--task", "x", "--model", "echo"])
        .expect(0);
    assert!(
        output
            .stderr
            .contains("the server `a__b` cannot be used: its name must have"),
        "{}",
        output.stderr
    );
    let none = world.run(&["mcp", "trust"]).expect(2);
    assert!(
        none.stderr.contains("this project has no `.mcp.json`"),
        "{}",
        none.stderr
    );
}

#[test]
fn project_cannot_reuse_the_name_of_a_user_server() {
    let world = world();
    // The name stays reserved even if the server is disabled, invalid or lacks a variable.
    world.file(
        "~/config.toml",
        "[mcp.servers.one]\ncommand = 'x'\nenabled = false\n[mcp.servers.two]\ncommand = 'x'\nargs = ['${UNSET}']\n",
    );
    world.file(
        "~/.mcp.json",
        json!({ "mcpServers": { "three": {} } }).to_string(),
    );
    let servers: serde_json::Map<String, Value> = ["one", "two", "three", "four"]
        .map(|name| (name.to_owned(), server(&world)))
        .into_iter()
        .collect();
    world.file(".mcp.json", json!({ "mcpServers": servers }).to_string());
    let shown = world.run(&["mcp", "trust"]).expect(3);
    let digest = shown
        .stderr
        .split("--digest ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap();
    world.run(&["mcp", "trust", "--digest", digest]).expect(0);
    let found = world.run(&["mcp", "list", "--json"]).expect(0).json();
    let names: Vec<&Value> = found["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| &server["name"])
        .collect();
    assert_eq!(names, [&json!("four")], "{found}");
}

#[test]
fn trust_summary_shows_commands_but_no_secrets() {
    let world = world();
    let file = json!({ "mcpServers": {
        "a": { "command": "sh", "args": ["-c", "exit 1", "${SECRET}"], "cwd": "../elsewhere", "env": { "NODE_OPTIONS": "--require ./evil.js" } },
        "b": { "url": "http://127.0.0.1:9/?key=${SECRET}", "headers": { "X-Trace": "${SECRET}" } },
    } });
    world.file(".mcp.json", file.to_string());
    let shown = world.run(&["mcp", "trust"]).expect(3);
    for part in [
        "in ../elsewhere",
        "NODE_OPTIONS = --require ./evil.js",
        "X-Trace = ${SECRET}",
        "replaced with the value of that environment variable",
    ] {
        assert!(shown.stdout.contains(part), "{part}\n{}", shown.stdout);
    }
    let digest = shown
        .stderr
        .split("--digest ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap();
    world.run(&["mcp", "trust", "--digest", digest]).expect(0);
    for arguments in [
        &["mcp", "list"][..],
        &["mcp", "list", "--json"],
        &["run", "--task", "x", "--model", "echo"],
    ] {
        let output = world.command(arguments).env("SECRET", "hush123").run();
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains("cannot connect to MCP server"), "{all}");
        assert!(!all.contains("hush123"), "{all}");
    }
}
