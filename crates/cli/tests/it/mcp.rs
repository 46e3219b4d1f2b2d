//! `prowess mcp`: configuration of clients, and a client over standard input and output.

use serde_json::{Value, json};

use crate::world::World;

#[test]
fn client_configuration_is_printed_or_installed() {
    let world = World::new();
    let printed = world.run(&["mcp", "config", "claude-code"]).expect(0);
    let lines: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(lines["mcpServers"]["prowess"]["args"], json!(["mcp"]));
    world.file(
        "~/.cursor/mcp.json",
        "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}}\n",
    );
    world
        .run(&["mcp", "config", "cursor", "--install"])
        .expect(0);
    let text = std::fs::read_to_string(world.path("~/.cursor/mcp.json")).unwrap();
    let installed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(installed["mcpServers"]["other"]["command"], "x");
    assert_eq!(installed["mcpServers"]["prowess"]["command"], "prowess");
    let near = world.run(&["mcp", "config", "curser"]).expect(2);
    assert!(
        near.stderr.contains("did you mean `cursor`?"),
        "{}",
        near.stderr
    );
}

#[test]
fn stdio_client_loads_a_skill() {
    let world = World::new();
    world.good("~/.agents/skills/pdf-forms");
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "load_skill", "arguments": {"name": "pdf-forms"}}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "run_command_line", "arguments": {"reason": "x", "commandLine": "true"}}}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = world.command(&["mcp"]).stdin(input).run().expect(0);
    let answers: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    let instructions = answer(1)["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("pdf-forms"), "{instructions}");
    let tools = answer(2)["result"]["tools"].to_string();
    assert!(
        tools.contains("\"load_skill\"") && !tools.contains("run_command_line"),
        "{tools}"
    );
    let text = answer(3)["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Fill it in."), "{text}");
    // Loading a skill is recorded as usage.
    let stats = world.run(&["stats", "--json"]).expect(0);
    let stats: Value = serde_json::from_str(&stats.stdout).unwrap();
    assert!(stats.to_string().contains("pdf-forms"), "{stats}");
    // Commands need the flag.
    let refused = answer(4);
    assert!(
        refused["error"].is_object() || refused["result"]["isError"] == true,
        "{refused}"
    );
}

/// A client sees skills with `paths` as a session does: not listed, but found when a file is named.
/// Clients with the skills extension get every skill, with its `paths`.
#[test]
fn client_finds_path_skills_by_the_files_it_names() {
    let world = World::new();
    world.good("~/.agents/skills/pdf-forms");
    world.file(
        "~/.agents/skills/house-types/SKILL.md",
        "---\nname: house-types\ndescription: Conventions for strict types.\npaths: \"src/**/*.ts\"\n---\nUse strict types.\n",
    );
    let call = |id: u64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(2, "list_skills", json!({})),
        call(
            3,
            "search_skills",
            json!({"query": "refactor src/web/login.ts"}),
        ),
        call(
            4,
            "search_skills",
            json!({"query": "conventions for strict types"}),
        ),
        call(5, "load_skill", json!({"name": "house-types"})),
        json!({"jsonrpc": "2.0", "id": 6, "method": "skills/list", "params": {}}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = world.command(&["mcp"]).stdin(input).run().expect(0);
    let answers: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let result = |id: u64| {
        let answer = answers.iter().find(|answer| answer["id"] == id);
        answer.unwrap()["result"].clone()
    };
    let instructions = result(1)["instructions"].to_string();
    assert!(instructions.contains("pdf-forms"), "{instructions}");
    assert!(!instructions.contains("house-types"), "{instructions}");
    assert!(
        instructions.contains("paths of the files"),
        "{instructions}"
    );
    let listed = result(2).to_string();
    assert!(
        listed.contains("pdf-forms") && !listed.contains("house-types"),
        "{listed}"
    );
    let by_path = result(3)["structuredContent"]["skills"].clone();
    assert_eq!(by_path[0]["name"], "house-types", "{by_path}");
    assert_eq!(by_path[0]["fits"], true);
    let by_words = result(4)["structuredContent"]["skills"].clone();
    assert_eq!(by_words[0]["paths"], json!(["src/**/*.ts"]), "{by_words}");
    assert_eq!(by_words[0]["fits"], false);
    assert!(result(5).to_string().contains("Use strict types."));
    let extension = result(6).to_string();
    assert!(extension.contains("src/**/*.ts"), "{extension}");
}

/// A client that disconnects before `initialize` still receives the error.
#[test]
fn invalid_input_is_answered_after_end_of_input() {
    let input = "garbage\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}\n";
    let output = World::new()
        .command(&["mcp"])
        .stdin(input.to_owned())
        .run()
        .expect(0);
    let answers: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let codes: Vec<&Value> = answers
        .iter()
        .map(|answer| &answer["error"]["code"])
        .collect();
    assert_eq!(codes, [-32700, -32602], "{}", output.stdout);
}
