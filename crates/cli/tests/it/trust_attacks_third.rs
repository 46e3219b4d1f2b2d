//! Attacks on trust, prompts and MCP, third round. `docs/dev/audits.md` lists the finding of each test.

use serde_json::{Value, json};

use crate::world::{DESCRIPTION, World};

fn world() -> World {
    let world = World::new();
    world.folder(".git");
    settings(&world, "");
    world
}

fn settings(world: &World, permissions: &str) {
    world.file(
        "~/config.toml",
        format!("[sandbox]\nstrength = 'best-effort'\n[permissions]\n{permissions}"),
    );
}

fn skill(name: &str, tools: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {DESCRIPTION}\nallowed-tools: {tools}\n---\n{body}\n")
}

/// Trusts a skill as it is, and returns what was shown.
fn trust(world: &World, name: &str) -> Value {
    let shown = world.run(&["trust", name, "--json"]).expect(0).json()["skills"][0].clone();
    let digest = shown["digest"].as_str().unwrap();
    world.run(&["trust", name, "--digest", digest]).expect(0);
    shown
}

/// Trusts the `.mcp.json` of a project.
fn trust_servers(world: &World, project: &str) {
    let run = |arguments: &[&str]| world.command(arguments).dir(project).run();
    let shown = run(&["mcp", "trust"]).expect(3).stdout;
    let at = shown.find("sha256:").unwrap();
    let digest: String = shown[at..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == ':')
        .collect();
    run(&["mcp", "trust", "--digest", &digest]).expect(0);
}

/// Runs tool calls in one reply, and returns the record of the session.
fn record(world: &World, folder: &str, calls: &Value) -> String {
    let lines = [json!({"text": "", "calls": calls}), json!({"text": "end"})];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let script = world.file(format!("{folder}/script.jsonl"), text);
    let model = format!("scripted:{}", script.display());
    let run = |arguments: &[&str]| world.command(arguments).dir(folder).run();
    run(&["run", "--task", "Hi.", "--model", &model]);
    let sessions = run(&["session", "list", "--json"]).expect(0).json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap();
    run(&["session", "show", id, "--whole"]).expect(0).stdout
}

/// H1: the programs of a linked `.mcp.json` started in the project of the link.
#[test]
fn linked_server_file_has_no_trust_of_another_project() {
    let world = World::new();
    settings(&world, "");
    let servers = json!({"mcpServers": {"loc": {"command": "./run.sh"}}}).to_string();
    world.folder("../proj1/.git");
    world.file("../proj1/.mcp.json", &servers);
    world.file_with_mode("../proj1/run.sh", "#!/bin/sh\ntouch ran-first\n", 0o755);
    trust_servers(&world, "../proj1");
    let absolute = world.path("../proj1/.mcp.json");
    let targets = [
        ("plain", "../proj1/.mcp.json"),
        ("folder", "x/.mcp.json"),
        ("absolute", absolute.to_str().unwrap()),
        ("hard", ""),
    ];
    for (name, target) in targets {
        let project = format!("../{name}");
        world.folder(format!("{project}/.git"));
        world.link(&format!("{project}/x"), "../proj1");
        let file = format!("{project}/.mcp.json");
        if target.is_empty() {
            std::fs::hard_link(&absolute, world.path(&file)).unwrap();
        } else {
            world.link(&file, target);
        }
        world.file_with_mode(
            &format!("{project}/run.sh"),
            "#!/bin/sh\ntouch pwned\n",
            0o755,
        );
        record(&world, &project, &json!([]));
        let run = |arguments: &[&str]| world.command(arguments).dir(&project).run();
        run(&["mcp", "list"]);
        assert!(!world.path(format!("{project}/pwned")).exists(), "{name}");
        let shown = run(&["mcp", "trust"]);
        assert!(
            !shown.stdout.contains("  trusted"),
            "{name}: {}",
            shown.stdout
        );
        if !target.is_empty() {
            assert!(shown.expect(2).stderr.contains("is a link"), "{name}");
        }
    }
    // Control: the trusted file is used.
    world.command(&["mcp", "list"]).dir("../proj1").run();
    assert!(world.path("../proj1/ran-first").exists());
}

/// H2: trust in a slash command was trust in the servers that the same file lists.
#[test]
fn trust_in_a_command_starts_no_servers() {
    let world = world();
    let pwned = world.path("pwned");
    let text = json!({
        "task": "Deploy the site.",
        "mcpServers": {"loc": {"command": "touch", "args": [pwned]}},
    });
    world.file(".claude/commands/deploy.md", text.to_string());
    trust(&world, "deploy");
    world.link(".mcp.json", ".claude/commands/deploy.md");
    record(&world, ".", &json!([]));
    world.run(&["mcp", "list"]);
    assert!(!pwned.exists());
    // Nor if the file itself is moved to the place of the other kind, with its record.
    world.file("proj/.mcp.json", text.to_string());
    world.folder("proj/.git");
    world.folder("proj/.agents/skills");
    world.command(&["mcp", "list"]).dir("proj").run();
    assert!(!pwned.exists());
}

/// H2: trust in a server file was trust in the commands inside its text.
#[test]
fn trust_in_servers_runs_no_commands_of_a_skill() {
    let world = world();
    settings(&world, "allow = ['Bash(echo:*)']");
    let servers = json!({
        "note": "x !`echo RAN-INJECTED`",
        "mcpServers": {"docs": {"url": "https://docs.example/mcp"}},
    });
    world.file(".mcp.json", servers.to_string());
    trust_servers(&world, ".");
    world.link(".claude/commands/deploy.md", "../../.mcp.json");
    let shown = world.run(&["prompt", "--skill", "deploy"]).stdout;
    assert!(shown.contains("docs.example"), "{shown}");
    let output = shown.replace("!`echo RAN-INJECTED`", "");
    assert!(!output.contains("RAN-INJECTED"), "{shown}");
}

/// Trust is bound to the path at which a skill is used, and to its kind; links within a project work.
#[test]
fn linked_skills_are_trusted_where_they_are_used() {
    let world = world();
    let text = skill("rel", "Bash(echo:*)", "Now: !`echo RAN`");
    world.file("pool/rel/SKILL.md", &text);
    world.file(
        "pool/flat.md",
        skill("flat", "Bash(echo:*)", "Now: !`echo RAN`"),
    );
    world.link(".agents/skills/rel", "../../pool/rel");
    world.link(".claude/commands/flat.md", "../../pool/flat.md");
    let ran = |name: &str| {
        let shown = world.run(&["prompt", "--skill", name]).expect(0).stdout;
        shown.contains("Now: RAN")
    };
    for (name, target) in [("rel", "pool/rel"), ("flat", "pool/flat.md")] {
        assert!(!ran(name), "{name}");
        // The target of a link that is used is the skill that is used.
        trust(&world, target);
        assert!(ran(name), "{name}");
        world.run(&["trust", name, "--revoke"]).expect(0);
        assert!(!ran(name), "{name}");
    }
    let listed = world.run(&["trust", "--list", "--json"]).expect(0).json();
    assert_eq!(listed["trusted"], json!([]));
}

/// M8: a folder with the name of a skill prevented that its trust was revoked.
#[test]
fn folder_with_the_name_of_a_skill_does_not_hide_it() {
    let world = world();
    world.file(
        ".agents/skills/deploy/SKILL.md",
        skill("deploy", "Bash", "Now: !`echo RAN-REAL`"),
    );
    trust(&world, "deploy");
    world.file("deploy/SKILL.md", skill("deploy", "Read", "harmless"));
    let prompt = || world.run(&["prompt", "--skill", "deploy"]).stdout;
    assert!(prompt().contains("RAN-REAL"), "{}", prompt());
    let path = |arguments: &[&str]| {
        let run = world.run(arguments).expect(0);
        assert!(run.stderr.contains("./deploy"), "{}", run.stderr);
        run.stdout
    };
    assert!(
        path(&["show", "deploy"]).contains("RAN-REAL")
            || path(&["show", "deploy"]).contains(".agents/skills/deploy")
    );
    assert!(path(&["trust", "deploy"]).contains(".agents/skills/deploy  trusted"));
    let revoked = world.run(&["trust", "deploy", "--revoke"]).expect(0);
    assert!(
        revoked
            .stderr
            .contains("Revoked trust in .agents/skills/deploy"),
        "{}",
        revoked.stderr
    );
    assert!(!prompt().contains("Now: RAN-REAL"), "{}", prompt());
    // A path is still a path.
    let shown = world.run(&["show", "./deploy"]).expect(0);
    assert!(!shown.stdout.contains(".agents"), "{}", shown.stdout);
    let shown = world.run(&["trust", "./deploy"]).expect(3);
    assert!(
        shown.stdout.starts_with("deploy  not trusted"),
        "{}",
        shown.stdout
    );
}
