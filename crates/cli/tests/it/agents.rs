//! Agents, teams and crews of other systems: `agent list`, `agent show`, `validate`.

use serde_json::Value;

use crate::world::World;

const TEAM: &str = r#"{
  "name": "dev",
  "description": "Builds things",
  "members": [
    {"type": "orchestrator", "provider": "anthropic", "model_id": "m", "system_prompt": "prompts/lead.md"},
    {"type": "builder", "description": "Builds.", "provider": "openai", "model_id": "n", "tools": ["read"], "skills": ["rust"]}
  ]
}"#;

/// A project with the files of several systems.
fn project() -> World {
    let world = World::new();
    world.file(".planck/teams/dev/TEAM.json", TEAM);
    world.file(".planck/teams/dev/prompts/lead.md", "Lead the team.\n");
    world.skill(
        ".planck/skills/rust",
        "name: rust\ndescription: About Rust. Use when writing Rust.\n",
    );
    world.file(
        "bluesky.skilled_crew.yaml",
        "id: bluesky\nagents:\n  poster:\n    instructionsPath: ./AGENTS.md\n",
    );
    world.file(
        "AGENTS.md",
        "---\nname: poster\ndescription: Posts.\n---\nPost it.\n",
    );
    world.file(
        ".agents/config.json",
        "{\n  // a comment\n  \"subagents\": [{\"name\": \"cluster\", \"description\": \"Looks.\", \"skills\": []}]\n}\n",
    );
    for (name, model) in [
        ("reviewer", "sonnet"),
        ("writer", "opus"),
        ("tester", "inherit"),
    ] {
        let text = format!(
            "---\nname: {name}\ndescription: A {name}.\nmodel: {model}\n---\nYou are a {name}.\n"
        );
        world.file(format!(".claude/agents/{name}.md"), text);
    }
    world.file(
        "~/.claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Mine.\n---\nMine.\n",
    );
    world.file(
        ".codex/agents/explorer.toml",
        "sandbox_mode = \"read-only\"\ndeveloper_instructions = \"Look.\"\n",
    );
    world
}

#[test]
fn agents_of_all_systems_are_in_one_list() {
    let world = project();
    let listed = world.run(&["agent", "list", "--json"]).expect(0).json();
    assert_eq!(listed["schema"], "prowess.agents/1");
    let agents = listed["agents"].as_array().unwrap();
    let rows: Vec<String> = agents
        .iter()
        .map(|agent| {
            let word = |key: &str| agent[key].as_str().unwrap_or_default().to_owned();
            let shadowed = if agent["shadowed"] == true {
                " shadowed"
            } else {
                ""
            };
            format!(
                "{} {} {}{shadowed}",
                word("scope"),
                word("dialect"),
                word("name")
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "project claude reviewer",
            "project claude tester",
            "project claude writer",
            "project core-agent cluster",
            "project planck dev",
            "project planck dev/orchestrator",
            "project planck dev/builder",
            "project skilled-crew bluesky",
            "project skilled-crew bluesky/poster",
            "project codex explorer",
            "user claude reviewer shadowed",
        ]
    );
    assert_eq!(listed["findings"], Value::Array(Vec::new()));
    let team = agents.iter().find(|agent| agent["name"] == "dev").unwrap();
    assert_eq!(
        team["members"],
        serde_json::json!(["orchestrator", "builder"])
    );

    let table = world.run(&["agent", "list"]).expect(0);
    assert!(
        table
            .stdout
            .contains("Builds things [orchestrator, builder]"),
        "{}",
        table.stdout
    );
    assert!(!table.stdout.contains("dev/builder"), "{}", table.stdout);
    assert!(
        table
            .stderr
            .contains("4 more agents; list them with `--all`"),
        "{}",
        table.stderr
    );
    let all = world.run(&["agent", "list", "--all"]).expect(0).stdout;
    assert!(
        all.contains("dev/builder") && all.contains("(shadowed)"),
        "{all}"
    );
}

#[test]
fn agent_is_shown_with_what_it_may_use() {
    let world = project();
    let shown = world
        .run(&["agent", "show", "dev/builder"])
        .expect(0)
        .stdout;
    for part in ["openai/n", "Builds.", "rust"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json = world
        .run(&["agent", "show", "dev", "--json"])
        .expect(0)
        .json();
    assert_eq!(json["prompt"], "Lead the team.");
    assert_eq!(json["prompt_file"], ".planck/teams/dev/prompts/lead.md");
    assert_eq!(json["calls"], serde_json::json!(["builder"]));
    let mine = world
        .run(&["agent", "show", "user:reviewer", "--json"])
        .expect(0)
        .json();
    assert_eq!(mine["description"], "Mine.");
    let explorer = world
        .run(&["agent", "show", "explorer", "--json"])
        .expect(0)
        .json();
    assert_eq!(explorer["read_only"], true);
    let missing = world.run(&["agent", "show", "reviewr"]).expect(2).stderr;
    assert!(missing.contains("no agent named `reviewr`"), "{missing}");
    assert!(missing.contains("did you mean `reviewer`?"), "{missing}");
}

#[test]
fn empty_project_says_where_to_create_an_agent() {
    let world = World::new();
    let listed = world.run(&["agent", "list"]).expect(0);
    assert_eq!(listed.stdout, "");
    assert!(listed.stderr.contains("no agents"), "{}", listed.stderr);
    assert!(
        listed.stderr.contains("`.claude/agents/NAME.md`"),
        "{}",
        listed.stderr
    );
}

#[test]
fn agent_files_are_validated_and_fixed() {
    let world = project();
    let team = TEAM.replace("\"tools\": [\"read\"]", "\"tols\": [\"bsh\"]");
    world.file(".planck/teams/dev/TEAM.json", team);
    let result = world
        .run(&["validate", ".planck/teams/dev/TEAM.json", "--json"])
        .json();
    let findings = result["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{result}");
    assert_eq!(findings[0]["rule"], "agent-key");
    assert_eq!(findings[0]["start"]["line"], 6, "{result}");
    let fixed = world.run(&[
        "validate",
        "--fix",
        "--unsafe-fixes",
        ".planck/teams/dev/TEAM.json",
    ]);
    assert!(
        world
            .read(".planck/teams/dev/TEAM.json")
            .contains("\"tools\": [\"bsh\"]")
    );
    assert!(fixed.stderr.contains("agent-key"), "{}", fixed.stderr);
    assert!(
        fixed.stdout.contains("unknown tool `bsh`"),
        "{}",
        fixed.stdout
    );

    // The frontmatter of an agent is repaired like that of a skill.
    let broken = "---\nname: a\ndescription: Use it when: asked. Context: none\n---\nx\n";
    world.file(".claude/agents/a.md", broken);
    world.run(&["validate", ".claude/agents/a.md"]).expect(1);
    world
        .run(&["validate", "--fix", "--unsafe-fixes", ".claude/agents/a.md"])
        .expect(0);
    let text = world.read(".claude/agents/a.md");
    assert!(
        text.contains("description: \"Use it when: asked. Context: none\"")
            || text.contains("description: 'Use it when: asked. Context: none'"),
        "{text}"
    );
    // Each hint to a command works.
    world.file(".planck/teams/dev/TEAM.json", "{");
    let broken = world.run(&["validate", ".planck/teams/dev/TEAM.json"]);
    let hint = "prowess explain agent-syntax";
    assert!(broken.expect(1).stdout.contains(hint));
    world.run(&["explain", "agent-syntax"]).expect(0);
    let sarif = world.run(&["validate", "--format", "sarif", "bluesky.skilled_crew.yaml"]);
    sarif.expect(0);
}

/// A team whose prompt is outside, an agent whose name has terminal escapes, an alias bomb.
#[test]
fn hostile_agent_files_are_shown_safely() {
    let world = World::new();
    world.file("~/secret.md", "CANARY\n");
    let team = TEAM.replace("prompts/lead.md", "../../../../secret.md");
    world.file(".planck/teams/dev/TEAM.json", team);
    world.file(
        ".claude/agents/x.md",
        "---\nname: \"a\\e[2Jb\"\ndescription: \"d\\e[31m\"\n---\n\u{1b}]0;x\u{7}\n",
    );
    world.file(
        "bomb.skilled_crew.yaml",
        "a: &a [x, x]\nb: &b [*a, *a]\nagents: {x: *b}\n",
    );
    let listed = world.run(&["agent", "list", "--all"]).expect(0);
    let shown = world.run(&["agent", "show", "dev"]).expect(0);
    for text in [&listed.stdout, &listed.stderr, &shown.stdout, &shown.stderr] {
        assert!(
            !text.contains('\u{1b}') && !text.contains("CANARY"),
            "{text:?}"
        );
    }
    assert!(
        listed.stderr.contains("3 agent files with findings"),
        "{}",
        listed.stderr
    );
    let result = world.run(&["validate", ".claude/agents/x.md"]).expect(1);
    assert!(!result.stdout.contains('\u{1b}'), "{:?}", result.stdout);
}

/// Every file of another system in the project is named: read, in part, or not.
#[test]
fn doctor_names_files_of_other_systems() {
    let world = project();
    world.file(
        ".planck/config.json",
        "{\"skills_dirs\": [], \"top_skills\": 5, \"locale\": \"en\"}",
    );
    world.file(".agents/mcp.json", "{}");
    world.file("mission.hcl", "agent \"a\" {}\n");
    // Terraform uses HCL too.
    world.file(".terraform.lock.hcl", "provider \"x\" {}\n");
    let doctor = world
        .command(&["doctor", "--json"])
        .env("PLANCK_SKILLS_DIRS", "x")
        .run()
        .json();
    let checks = doctor["checks"].as_array().unwrap();
    let of = |area: &str| -> Vec<&str> {
        let found = checks.iter().filter(|check| check["area"] == area);
        found.map(|check| check["text"].as_str().unwrap()).collect()
    };
    assert_eq!(of("agents"), ["9 agents and 3 teams in 8 files"]);
    let other = of("other");
    let expected = [
        ".agents/config.json: has no settings",
        ".planck/config.json: `skills_dirs` and `top_skills` count",
        ".planck/config.json: without effect: `locale` (there is one language)",
        "environment: `PLANCK_SKILLS_DIRS` counts",
        ".agents/mcp.json: 0 servers, used after `prowess mcp trust`; it has no `servers` object",
        "mission.hcl: read by `prowess mission`",
    ];
    assert_eq!(other, expected);
}

/// A project cannot take over a qualified name, or make `doctor` read a device.
#[test]
fn project_cannot_take_over_names_or_devices() {
    let world = project();
    world.file(
        ".claude/agents/x.md",
        "---\nname: user:reviewer\ndescription: Theirs.\n---\nTheirs.\n",
    );
    let shown = world.run(&["agent", "show", "user:reviewer", "--json"]);
    assert_eq!(shown.expect(0).json()["description"], "Mine.");
    std::os::unix::fs::symlink("/dev/zero", world.path(".planck/config.json")).unwrap();
    let doctor = world.run(&["doctor", "--json"]).json();
    assert!(doctor["checks"].is_array());
}

/// Paths in agent files may use the whole repository, in `agent list` and in `validate`.
#[test]
fn repository_is_the_project_of_agent_files() {
    let world = World::new();
    world.file(
        "shared/AGENTS.md",
        "---\nname: a\ndescription: d\n---\nShared.\n",
    );
    world.file(
        "crew/b.skilled_crew.yaml",
        "agents:\n  a:\n    instructionsPath: ../shared/AGENTS.md\n",
    );
    let shown = world
        .command(&["agent", "show", "b", "--json"])
        .dir("crew")
        .run();
    assert_eq!(shown.expect(0).json()["prompt"], "Shared.");
    world
        .run(&["validate", "crew/b.skilled_crew.yaml"])
        .expect(0);
    // Findings that remain are shown by `--diff` too.
    world.file(
        ".claude/agents/y.md",
        "---\nname: y\ndescription: d\ntols: Read\nmaxTurns: x\n---\nY.\n",
    );
    let diff = world.run(&[
        "validate",
        "--diff",
        "--unsafe-fixes",
        ".claude/agents/y.md",
    ]);
    assert!(diff.stdout.contains("+tools: Read"), "{}", diff.stdout);
    assert!(
        diff.stderr.contains("1 finding has no fix"),
        "{}",
        diff.stderr
    );
}

/// Rules about agent files have pages and options like all others.
#[test]
fn agent_rules_are_explained_selected_ignored_and_changed() {
    const FILE: &str = ".claude/agents/a.md";
    let world = World::new();
    world.file(
        FILE,
        "---\nname: a\ndescription: d\ntols: Read\nmaxTurns: x\n---\nA.\n",
    );
    let rules = |options: &[&str]| -> Vec<(String, String)> {
        let arguments = [&["validate", FILE, "--format", "json"], options].concat();
        let report = world.run(&arguments).json();
        let findings = report["findings"].as_array().unwrap().iter();
        let word = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
        findings
            .map(|one| (word(one, "rule"), word(one, "severity")))
            .collect()
    };
    let pair = |rule: &str, severity: &str| (rule.to_owned(), severity.to_owned());
    let (key, value) = (pair("agent-key", "warning"), pair("agent-value", "error"));
    assert_eq!(rules(&[]), [key, value]);
    assert_eq!(
        rules(&["--select", "agent-key"]),
        [pair("agent-key", "warning")]
    );
    assert_eq!(
        rules(&["--ignore", "agent-key"]),
        [pair("agent-value", "error")]
    );
    world.file(
        "~/config.toml",
        "[validate]\nignore = ['agent-value']\n[validate.severity]\nagent-key = 'error'\n",
    );
    assert_eq!(rules(&[]), [pair("agent-key", "error")]);
    world.run(&["validate", FILE]).expect(1);
    let page = world.run(&["explain", "agent-key"]).expect(0).stdout;
    assert!(page.contains("tols: Read, Grep"), "{page}");
    let shown = world.run(&["validate", FILE]).expect(1).stdout;
    assert!(shown.contains("prowess explain agent-key"), "{shown}");
}

#[test]
fn truncation_of_large_folders_is_reported() {
    let world = World::new();
    for number in 0..1_001 {
        let text = format!("---\nname: a{number:04}\ndescription: d\n---\nx\n");
        world.file(format!(".claude/agents/a{number:04}.md"), text);
    }
    let listed = world.run(&["agent", "list"]).expect(0);
    // The limit cuts off the last ones by name.
    assert!(listed.stdout.contains("a0999"), "{}", listed.stdout);
    assert!(!listed.stdout.contains("a1000"), "{}", listed.stdout);
    assert!(
        listed
            .stderr
            .contains(".claude/agents: too large: only the first 1,000 agent files"),
        "{}",
        listed.stderr
    );
}

/// The paths of a folder with the agent files of all systems, and a mission.
const ALL_SYSTEMS: [(&str, &str); 10] = [
    (".claude/agents/a.md", "claude"),
    (".github/agents/a.agent.md", "copilot"),
    (".opencode/agent/a.md", "opencode"),
    (".gemini/agents/a.md", "gemini"),
    (".codex/agents/a.toml", "codex"),
    (".planck/teams/t/TEAM.json", "planck"),
    ("a.skilled_crew.yaml", "skilled-crew"),
    (".agents/config.json", "core-agent"),
    ("deep/er/b.skilled_crew.yml", "skilled-crew"),
    ("missions/m.hcl", "mission"),
];

/// Lines 77 and 81 of missions §5: a folder with all kinds of files gives each exactly once.
#[test]
fn folder_is_validated_with_its_agent_and_mission_files() {
    let world = World::new();
    world.skill(
        ".agents/skills/pdf",
        "name: pdf\ndescription: Fills in forms. Use for forms.\n",
    );
    for (path, _) in ALL_SYSTEMS {
        let text = match path.rsplit('.').next().unwrap() {
            "md" => "---\nname: a\ndescription: An agent.\nnmae: x\n---\nDo it.\n",
            "toml" => "developer_instructions = \"Look.\"\nnmae = \"x\"\n",
            "json" => "{\"nmae\": 1, \"subagents\": []}",
            "yaml" | "yml" => "id: a\nnmae: x\nagents: {}\n",
            _ => "mission \"m\" {\n  nmae = 1\n}\n",
        };
        world.file(path, text);
    }
    // Not of ours: files of other programs, files of a skill, and a second way to the same file.
    world.file("infra/terragrunt.hcl", "terraform {\n  source = \"x\"\n}\n");
    world.file(".agents/skills/pdf/a.skilled_crew.yaml", "nmae: x\n");
    world.file("node_modules/x/TEAM.json", "{");
    world.link("again.skilled_crew.yaml", "a.skilled_crew.yaml");
    let result = world.run(&["validate", ".", "--json"]).expect(1).json();
    let findings = result["findings"].as_array().unwrap();
    let mut files: Vec<&str> = findings
        .iter()
        .map(|finding| finding["path"].as_str().unwrap())
        .collect();
    files.sort_unstable();
    files.dedup();
    let mut expected = ALL_SYSTEMS.map(|(path, _)| path);
    expected.sort_unstable();
    assert_eq!(files, expected, "{result}");
    let shown = world.run(&["validate", "."]).expect(1);
    assert!(
        shown.stderr.contains("in 11 files") || shown.stderr.contains("11 files"),
        "{}",
        shown.stderr
    );
    // One file at a time gives the same findings.
    for path in expected {
        let of_path = |finding: &&Value| finding["path"] == path;
        let alone = world.run(&["validate", path, "--json"]).json();
        let below: Vec<&Value> = findings.iter().filter(of_path).collect();
        let alone: Vec<&Value> = alone["findings"].as_array().unwrap().iter().collect();
        assert_eq!(below, alone, "{path}");
    }
    // A file that two crews name is reported and counted once.
    for name in ["one", "two"] {
        let text = format!("id: {name}\nagents:\n  {name}:\n    instructionsPath: ./A.md\n");
        world.file(format!("crews/{name}.skilled_crew.yaml"), text);
    }
    world.file(
        "crews/A.md",
        "---\nname: a\ndescription: Use when: asked.\n---\nx\n",
    );
    let crews = world.run(&["validate", "crews"]).expect(1);
    assert_eq!(
        crews.stdout.matches("crews/A.md:").count(),
        1,
        "{}",
        crews.stdout
    );
    assert!(
        crews.stderr.contains("1 error in 1 of 3 files"),
        "{}",
        crews.stderr
    );
    // A folder that has only agent files is no empty folder.
    let only = world.run(&["validate", ".codex"]);
    assert!(!only.stdout.contains("missing-file"), "{}", only.stdout);
    // Fixes are applied in a folder too.
    world.file(
        ".codex/agents/a.toml",
        "developer_instrutions = \"Look.\"\n",
    );
    world
        .run(&["validate", ".codex", "--fix", "--unsafe-fixes"])
        .expect(0);
    assert_eq!(
        world.read(".codex/agents/a.toml"),
        "developer_instructions = \"Look.\"\n"
    );
}

/// Line 77 of missions §5: `--dialect` forces.
#[test]
fn dialect_decides_how_a_file_is_read() {
    let world = World::new();
    let text = "---\nname: a\ndescription: An agent.\npermissionMode: plan\n---\nDo it.\n";
    world.file("agents/a.md", text);
    world
        .run(&["validate", "agents/a.md", "--dialect", "claude"])
        .expect(0);
    let other = world.run(&["validate", "agents/a.md", "--dialect", "gemini"]);
    assert!(
        other.stdout.contains("`permissionMode`"),
        "{}",
        other.stdout
    );
    let unknown = world
        .run(&["validate", "agents/a.md", "--dialect", "claud"])
        .expect(2);
    assert!(
        unknown.stderr.contains("did you mean `--dialect claude`?"),
        "{}",
        unknown.stderr
    );
}

/// Line 76 of missions §5: a hostile file of each system.
#[test]
fn hostile_file_of_each_system_is_shown_safely() {
    let world = World::new();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let maps = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let escape = "a\\u001b[2Jb";
    let front = |keys: &str| format!("---\n{keys}---\n\u{1b}]0;x\u{7}\u{202e}text\n");
    let bomb = {
        let mut text = "a0: &a0 [x, x]\n".to_owned();
        for at in 1..40 {
            text.push_str(&format!("a{at}: &a{at} [*a{}, *a{}]\n", at - 1, at - 1));
        }
        text
    };
    let texts: [(&str, Vec<String>); 4] = [
        (
            "md",
            vec![
                front(&format!("name: \"{escape}\"\ndescription: \"d{escape}\"\n")),
                front(&format!("{bomb}name: a\ndescription: x\ntools: *a39\n")),
                front(&format!("name: a\ndescription: x\ntools: {deep}\n")),
                front("name: a\ndescription: x\nskills: [\"../../etc/passwd\", \"\\e[2J\"]\n"),
            ],
        ),
        (
            "toml",
            vec![
                format!("name = \"{escape}\"\ndeveloper_instructions = \"x\"\n"),
                format!("tools = {deep}\n"),
            ],
        ),
        (
            "json",
            vec![
                format!("{{\"name\": {deep}, \"members\": {deep}, \"subagents\": {deep}}}"),
                maps,
                format!(
                    "{{\"name\": \"{escape}\", \"members\": [{{\"type\": \"solo\", \"name\": \"{escape}\", \"provider\": \"p\", \"model_id\": \"m\", \"system_prompt\": \"../../../../../etc/passwd.md\", \"skills\": [\"{escape}\"]}}], \"subagents\": [{{\"name\": \"{escape}\", \"root\": \"../../../etc\", \"instructions\": \"@../../../../etc/passwd\"}}]}}"
                ),
            ],
        ),
        (
            "yaml",
            vec![
                format!("{bomb}agents: *a39\n"),
                format!("id: \"a\\e[2Jb\"\nagents: {deep}\n"),
                "id: x\nagents:\n  \"a\\e[2Jb\":\n    instructionsPath: ../../../../etc/passwd\n    skills: [{name: x, folderPath: ../../../../etc}]\n    mcp_servers: [{filePath: /etc/passwd}]\n".to_owned(),
            ],
        ),
    ];
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let secret = passwd.lines().next().unwrap_or("root:x:0").to_owned();
    for (path, system) in ALL_SYSTEMS.iter().take(8) {
        let ending = path.rsplit('.').next().unwrap();
        let (_, hostile) = texts.iter().find(|(known, _)| *known == ending).unwrap();
        for (at, text) in hostile.iter().enumerate() {
            world.file(path, text.clone());
            for arguments in [
                &["validate", path][..],
                &["validate", ".", "--format", "concise"],
                &["agent", "list", "--all"],
                &["agent", "list", "--json"],
                &["doctor"],
            ] {
                let output = world.command(arguments).patience(60).run();
                assert!(
                    matches!(output.code, 0 | 1),
                    "{system} {at} {arguments:?}: {}",
                    output.stderr
                );
                for text in [&output.stdout, &output.stderr] {
                    let odd = ['\u{1b}', '\u{7}', '\u{202e}'];
                    assert!(!text.contains(odd), "{system} {at} {arguments:?}: {text:?}");
                    assert!(
                        !text.contains(&secret),
                        "{system} {at} {arguments:?}: {text}"
                    );
                }
            }
        }
        std::fs::remove_file(world.path(path)).unwrap();
    }
}

/// Lines 17 of audit-seeds §8 and 71 of missions §5: skills that do not exist are findings.
#[test]
fn unknown_skills_of_agents_are_findings() {
    let world = project();
    world.file(
        ".planck/teams/dev/TEAM.json",
        TEAM.replace("[\"rust\"]", "[\"rsut\"]"),
    );
    world.file(
        ".claude/agents/coder.md",
        "---\nname: coder\ndescription: Codes.\nskills: rust, rusty-nails\n---\nCode.\n",
    );
    world.file(
        ".agents/config.json",
        r#"{"subagents": [
  {"name": "cluster", "description": "Looks.", "root": "kube", "skills": ["pods", "pod"]},
  {"name": "plain", "description": "Looks.", "skills": ["zzzz"]}
]}"#,
    );
    world.skill(
        ".agents/kube/skills/pods",
        "name: pods\ndescription: About pods. Use for pods.\n",
    );
    let found = world
        .run(&["validate", ".", "--json", "--select", "agent-skill"])
        .expect(0)
        .json();
    let rows: Vec<String> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            let line = &finding["start"]["line"];
            let (path, message, help) = (word("path"), word("message"), word("help"));
            assert_eq!(finding["severity"], "warning");
            format!("{path}:{line} {message}; {help}")
        })
        .collect();
    let nothing = "no skill of this name exists; list skills with `prowess list`";
    assert_eq!(
        rows,
        [
            ".agents/config.json:2 unknown skill `pod`; did you mean `pods`?".to_owned(),
            format!(".agents/config.json:3 unknown skill `zzzz`; {nothing}"),
            format!(".claude/agents/coder.md:4 unknown skill `rusty-nails`; {nothing}"),
            ".planck/teams/dev/TEAM.json:6 unknown skill `rsut`; did you mean `rust`?".to_owned(),
        ]
    );
    let shown = world.run(&["agent", "show", "dev/builder"]).expect(0);
    assert!(
        shown
            .stderr
            .contains("unknown skill `rsut`; did you mean `rust`?"),
        "{}",
        shown.stderr
    );
    let other = world.run(&["agent", "show", "dev/orchestrator"]).expect(0);
    assert!(!other.stderr.contains("rsut"), "{}", other.stderr);
    let json = world
        .run(&["agent", "show", "plain", "--json"])
        .expect(0)
        .json();
    assert_eq!(json["findings"][1]["rule"], "agent-skill", "{json}");
    let doctor = world.run(&["doctor"]).stdout;
    assert!(doctor.contains("unknown skill `rsut`"), "{doctor}");
    // A file of another project: its skills are not known here.
    world.file(
        "../other/.claude/agents/x.md",
        "---\nname: x\ndescription: X.\nskills: theirs\n---\nX.\n",
    );
    let other = world.run(&["validate", "../other"]).expect(0);
    assert!(!other.stdout.contains("theirs"), "{}", other.stdout);
}

/// `tool list --agent` shows what a session of the agent begins with.
#[test]
fn tools_of_an_agent_are_listed() {
    let world = project();
    let text = "---\nname: mine\ndescription: Mine.\ntools: Read, Grep\n---\nMine.\n";
    world.file("~/.claude/agents/mine.md", text);
    let names = |arguments: &[&str]| -> Vec<String> {
        let listed = world.run(arguments).expect(0).json();
        let tools = listed["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let mine = names(&["tool", "list", "--agent", "mine", "--json"]);
    assert_eq!(
        mine,
        [
            "search_skills",
            "load_skill",
            "unload_skill",
            "load_skill_resource",
            "read",
            "grep"
        ]
    );
    let explore = names(&["tool", "list", "--agent", "Explore", "--json"]);
    assert!(
        explore.contains(&"read".to_owned()) && !explore.contains(&"write".to_owned()),
        "{explore:?}"
    );
    let refused = world.run(&["tool", "list", "--agent", "dev"]).expect(3);
    assert!(
        refused.stderr.contains("prowess trust"),
        "{}",
        refused.stderr
    );
    let unknown = world.run(&["tool", "list", "--agent", "mien"]).expect(2);
    assert!(
        unknown.stderr.contains("did you mean `mine`?"),
        "{}",
        unknown.stderr
    );
}

/// Without a repository, the project of a crew is its folder. The finding says how to change that.
#[test]
fn path_out_of_a_project_without_a_repository_names_a_way() {
    let world = World::new();
    world.file("../plain/shared/AGENTS.md", "---\nname: a\n---\nShared.\n");
    world.file(
        "../plain/crew/b.skilled_crew.yaml",
        "agents:\n  a:\n    instructionsPath: ../shared/AGENTS.md\n",
    );
    let validate = || {
        let run = world.command(&["validate", "b.skilled_crew.yaml"]);
        run.dir("../plain/crew").run()
    };
    let found = validate().expect(1);
    let text = format!("{}{}", found.stdout, found.stderr);
    assert!(text.contains("is outside the project"), "{text}");
    assert!(text.contains("`git init`"), "{text}");
    let git = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(world.path("../plain"))
        .status();
    assert!(git.unwrap().success());
    validate().expect(0);
}
