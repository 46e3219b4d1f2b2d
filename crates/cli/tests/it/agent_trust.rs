//! Trust in agent files: `trust PATH`, `agent list`, `agent show`.

use serde_json::{Value, json};

use crate::world::World;

const TEAM: &str = r#"{
  "members": [
    {"type": "orchestrator", "provider": "anthropic", "model_id": "m", "system_prompt": "lead.md"},
    {"type": "builder", "provider": "openai", "model_id": "n", "base_url": "https://models.example.net/v1",
     "tools": ["read", "bash"], "skills": ["rust"]}
  ]
}"#;
const TEAM_FILE: &str = ".planck/teams/dev/TEAM.json";

/// A project with a team, a crew with a server and a core-agent roster.
fn project() -> World {
    let world = World::new();
    world.file(TEAM_FILE, TEAM);
    world.file(".planck/teams/dev/lead.md", "Lead the team.\n");
    world.file(
        "news.skilled_crew.yaml",
        "id: news\ncommands:\n  - name: post\n    filePath: ./post.command.md\nagents:\n  poster:\n    instructionsPath: ./PROMPT.md\n    mcp_servers:\n      - filePath: ./browser.json\n    skills:\n      - name: post-it\n        folderPath: ./skills/post-it\n",
    );
    world.file("PROMPT.md", "---\nname: poster\n---\nPost it.\n");
    world.file("post.command.md", "Post $ARGUMENTS.\n");
    world.file(
        "browser.json",
        r#"{"name": "browser", "type": "stdio", "command": "npx", "args": ["-y", "browser-mcp"], "env": {"TOKEN": "s3cret"}}"#,
    );
    world.good("skills/post-it");
    world.file(
        ".agents/config.json",
        r#"{"subagents": [{"name": "cluster", "root": "../cluster", "budgets": {"max_turns": 3}}]}"#,
    );
    world.file("cluster/AGENTS.md", "@include SOUL.md\n");
    world.file("cluster/SOUL.md", "Look.\n");
    world.file(
        "cluster/mcp.json",
        r#"{"servers": {"gke": {"transport": "http", "url": "https://gke.example.net/mcp"}}}"#,
    );
    world.file(
        "~/.claude/agents/mine.md",
        "---\nname: mine\ndescription: Mine.\n---\nMine.\n",
    );
    world
}

fn trust_of(world: &World, name: &str) -> Value {
    let shown = world.run(&["agent", "show", name, "--json"]);
    shown.expect(0).json()["trust"].clone()
}

/// Trusts a file as a script does: with the digest that was shown.
fn trust(world: &World, file: &str) {
    let shown = world.run(&["trust", file, "--json"]).expect(0).json();
    let digest = shown["skills"][0]["digest"].as_str().unwrap();
    world.run(&["trust", file, "--digest", digest]).expect(0);
}

#[test]
fn list_and_show_have_the_trust_of_agent_files() {
    let world = project();
    let listed = world.run(&["agent", "list", "--json"]).expect(0).json();
    let agents = listed["agents"].as_array().unwrap();
    let rows: Vec<(&str, &str)> = agents
        .iter()
        .map(|agent| {
            let word = |key: &str| agent[key].as_str().unwrap();
            (word("name"), word("trust"))
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("cluster", "not trusted"),
            ("dev", "not trusted"),
            ("dev/orchestrator", "not trusted"),
            ("dev/builder", "not trusted"),
            ("news", "not trusted"),
            ("news/poster", "not trusted"),
            ("mine", "needs no trust"),
        ]
    );
    let table = world.run(&["agent", "list"]).expect(0).stdout;
    assert!(
        table.contains("TRUST") && table.contains("not trusted"),
        "{table}"
    );
    let shown = world.run(&["agent", "show", "dev"]).expect(0);
    assert!(shown.stdout.contains("not trusted"), "{}", shown.stdout);
    assert!(
        shown
            .stdout
            .contains("prowess trust .planck/teams/dev/TEAM.json"),
        "{}",
        shown.stdout
    );
}

#[test]
fn trust_shows_what_an_agent_file_allows() {
    let world = project();
    let shown = world.run(&["trust", TEAM_FILE]).expect(3);
    for part in [
        "not trusted, 2 files",
        "builder: https://models.example.net/v1",
        "builder: read, bash",
        "orchestrator: anthropic/m",
        "builder: rust",
        ".planck/teams/dev/lead.md",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    assert!(
        shown.stderr.contains("--digest sha256:"),
        "{}",
        shown.stderr
    );

    let crew = world.run(&["trust", "news.skilled_crew.yaml"]).expect(3);
    for part in [
        "browser: npx -y browser-mcp",
        "/post",
        "browser.json",
        "PROMPT.md",
    ] {
        assert!(crew.stdout.contains(part), "{part}: {}", crew.stdout);
    }
    // A file that is reviewed is shown as it is written.
    assert!(
        crew.stdout.contains("browser: with TOKEN = s3cret"),
        "{}",
        crew.stdout
    );
    // A skill of a crew is trusted on its own.
    assert!(!crew.stdout.contains("SKILL.md"), "{}", crew.stdout);

    let roster = world
        .run(&["trust", ".agents/config.json", "--json"])
        .expect(0)
        .json();
    let one = &roster["skills"][0];
    assert_eq!(one["kind"], "agents");
    assert_eq!(one["agents"][0]["limits"]["turns"], 3);
    let server = &one["agents"][0]["server_files"][0];
    assert_eq!(server["url"], "https://gke.example.net/mcp");
    assert_eq!(
        one["sources"],
        json!([
            ".agents/config.json",
            "cluster/AGENTS.md",
            "cluster/SOUL.md",
            "cluster/mcp.json"
        ])
    );
}

/// [missions.md 60, 69]
#[test]
fn one_changed_byte_withdraws_the_trust_of_agents_and_names_the_file() {
    let world = project();
    let files = [
        (TEAM_FILE, "dev", TEAM_FILE),
        (TEAM_FILE, "dev/builder", ".planck/teams/dev/lead.md"),
        ("news.skilled_crew.yaml", "news", "PROMPT.md"),
        ("news.skilled_crew.yaml", "news", "post.command.md"),
        ("news.skilled_crew.yaml", "news", "browser.json"),
        (".agents/config.json", "cluster", "cluster/SOUL.md"),
        (".agents/config.json", "cluster", "cluster/mcp.json"),
    ];
    for (file, agent, changed) in files {
        trust(&world, file);
        assert_eq!(trust_of(&world, agent), "trusted", "{agent}");
        let path = world.path(changed);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&before[..], b"\n"].concat()).unwrap();
        assert_eq!(trust_of(&world, agent), "changed since", "{changed}");
        let shown = world
            .run(&["agent", "show", agent, "--json"])
            .expect(0)
            .json();
        assert_eq!(shown["changes"], json!([format!("edited {changed}")]));
        let asked = world.run(&["trust", file]).expect(3).stdout;
        assert!(asked.contains(&format!("edited {changed}")), "{asked}");
        std::fs::write(&path, before).unwrap();
        assert_eq!(trust_of(&world, agent), "trusted", "{changed}");
    }
    // A changed skill of a crew withdraws the trust in that skill only.
    world.file("skills/post-it/notes.md", "x\n");
    assert_eq!(trust_of(&world, "news"), "trusted");
}

#[test]
fn trust_of_agent_files_is_listed_and_revoked() {
    let world = project();
    trust(&world, TEAM_FILE);
    let listed = world.run(&["trust", "--list", "--json"]).expect(0).json();
    let one = &listed["trusted"][0];
    assert_eq!(one["kind"], "agents");
    assert!(one["path"].as_str().unwrap().ends_with(TEAM_FILE), "{one}");
    let table = world.run(&["trust", "--list"]).expect(0).stdout;
    assert!(table.contains("agents"), "{table}");
    let overview = world.run(&["trust"]).expect(0).stdout;
    let row = overview
        .lines()
        .find(|line| line.contains("TEAM.json"))
        .unwrap();
    assert!(
        row.contains("trusted") && !row.contains("not trusted"),
        "{overview}"
    );
    world.run(&["trust", TEAM_FILE, "--revoke"]).expect(0);
    assert_eq!(trust_of(&world, "dev"), "not trusted");
    // The file need not exist any more.
    trust(&world, TEAM_FILE);
    std::fs::remove_file(world.path(TEAM_FILE)).unwrap();
    let revoked = world
        .run(&["trust", TEAM_FILE, "--revoke", "--json"])
        .expect(0)
        .json();
    assert_eq!(revoked["skills"][0]["revoked"], true);
}

#[test]
fn agent_file_of_the_home_folder_needs_no_trust() {
    let world = project();
    let file = world.path("~/.claude/agents/mine.md");
    let shown = world.run(&["trust", file.to_str().unwrap()]).expect(0);
    assert!(
        shown
            .stderr
            .contains("Needs no trust: it is in your home folder"),
        "{}",
        shown.stderr
    );
    assert_eq!(trust_of(&world, "mine"), "needs no trust");
}

#[test]
fn trust_of_an_agent_file_is_bound_to_its_path_and_digest() {
    let world = project();
    let wrong = world.run(&["trust", TEAM_FILE, "--digest", "sha256:0000000000000000"]);
    let wrong = wrong.expect(2);
    assert!(wrong.stderr.contains("does not match"), "{}", wrong.stderr);
    trust(&world, TEAM_FILE);
    // A copy of the team is another one.
    world.file(".planck/teams/copy/TEAM.json", TEAM);
    world.file(".planck/teams/copy/lead.md", "Lead the team.\n");
    assert_eq!(trust_of(&world, "copy"), "not trusted");
    assert_eq!(trust_of(&world, "dev"), "trusted");
}
