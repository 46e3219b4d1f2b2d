//! Settings of Planck and core-agent: which of them count, and who says so.

use serde_json::{Value, json};

use crate::world::{DESCRIPTION, Output, World};

/// The permissions that core-agent's page about skills shows.
const SEED: &str = r#"{
  // Skills that load without a question.
  "permissions": {"allow": ["skill:jira-triage", "skill:data-export"]}
}"#;
const FILE: &str = "~/.agents/config.json";

fn skills(world: &World) {
    for name in ["jira-triage", "data-export", "other"] {
        world.skill(
            format!("~/.claude/skills/{name}"),
            &format!("name: {name}\ndescription: {DESCRIPTION}\n"),
        );
    }
}

fn world(path: &str, settings: &str) -> World {
    let world = World::new();
    skills(&world);
    world.file(path, settings);
    world
}

/// Loads a skill as a model does, without a user who could be asked.
fn load(world: &World, name: &str) -> Output {
    let input = json!({ "name": name }).to_string();
    world.run(&["tool", "call", "load_skill", "--json", &input])
}

fn is_loaded(world: &World, name: &str) -> bool {
    load(world, name).stdout.contains("Read the form.")
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// [audit-seeds.md §8, line 29]
#[test]
fn allow_list_of_core_agent_loads_its_skills_and_asks_about_others() {
    let world = world(FILE, SEED);
    assert!(is_loaded(&world, "jira-triage"));
    assert!(is_loaded(&world, "data-export"));
    let refused = load(&world, "other");
    assert!(
        !refused.stdout.contains("Read the form."),
        "{}",
        refused.stdout
    );
    let refused = words(&format!("{}{}", refused.stdout, refused.stderr));
    assert!(
        refused.contains("no user was available to approve it"),
        "{refused}"
    );
    // `list`, the index and `why` show what would happen.
    let list = world.run(&["list"]).expect(0).stdout;
    let index = world.run(&["prompt"]).expect(0).stdout;
    for name in ["jira-triage", "data-export", "other"] {
        assert!(list.contains(name) && index.contains(name), "{list}{index}");
    }
    let why = words(&world.run(&["why", "jira-triage"]).expect(0).stdout);
    assert!(
        why.contains("models load it without a prompt: allow rule `skill:jira-triage` (~/.agents/config.json)"),
        "{why}"
    );
    let why = words(&world.run(&["why", "other"]).expect(0).stdout);
    assert!(
        why.contains("models need approval to load it: not among the skills that ~/.agents/config.json allows"),
        "{why}"
    );
    let why = world
        .run(&["why", "jira-triage", "--json"])
        .expect(0)
        .json();
    assert_eq!(why["permission"]["source"], FILE);
    let policy = world.run(&["policy", "show", "--json"]).expect(0).json();
    let rules = policy["rules"].as_array().unwrap();
    let rows: Vec<(&str, &str)> = rules
        .iter()
        .map(|rule| {
            (
                rule["rule"].as_str().unwrap(),
                rule["source"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [("skill:jira-triage", FILE), ("skill:data-export", FILE)]
    );
    // With `mode: allow`, other skills are in no listing.
    let strict = SEED.replace("{\"allow\"", "{\"mode\": \"allow\", \"allow\"");
    world.file(FILE, strict);
    assert!(is_loaded(&world, "data-export") && !is_loaded(&world, "other"));
    let index = world.run(&["prompt"]).expect(0).stdout;
    assert!(
        index.contains("jira-triage") && !index.contains("other"),
        "{index}"
    );
    let list = world.run(&["list"]).expect(0).stdout;
    let row = list
        .lines()
        .find(|line| line.starts_with("other "))
        .unwrap();
    assert!(row.contains("denied"), "{list}");
}

/// [audit-seeds.md §8, line 30]
#[test]
fn project_file_of_core_agent_denies_and_asks_but_never_allows() {
    let settings = r#"{"permissions": {"mode": "yolo", "allow": ["skill:jira-triage", "bash:*"],
        "deny": ["skill:data-export", "write_file"], "ask": ["skill:other"]},
        "tools": {"disable": ["fetch_url"]}}"#;
    let world = world(".agents/config.json", settings);
    assert!(is_loaded(&world, "jira-triage"));
    assert!(!is_loaded(&world, "data-export") && !is_loaded(&world, "other"));
    let policy = world.run(&["policy", "show", "--json"]).expect(0).json();
    assert_eq!(policy["mode"], "ask");
    let effect = |list: &Value| -> Vec<String> {
        let rules = list.as_array().unwrap().iter();
        let text = |rule: &Value, key: &str| rule[key].as_str().unwrap().to_owned();
        rules
            .map(|rule| {
                format!(
                    "{} {} {}",
                    text(rule, "effect"),
                    text(rule, "rule"),
                    text(rule, "source")
                )
            })
            .collect()
    };
    assert_eq!(
        effect(&policy["rules"]),
        [
            "deny skill:data-export .agents/config.json",
            "deny write_file .agents/config.json",
            "ask skill:other .agents/config.json",
            "deny fetch_url .agents/config.json",
        ]
    );
    assert_eq!(
        effect(&policy["unread"]),
        [
            "allow skill:jira-triage .agents/config.json",
            "allow bash:* .agents/config.json",
        ]
    );
    let told = world.run(&["policy", "show"]).expect(0).stderr;
    assert!(
        told.contains("project settings can only restrict"),
        "{told}"
    );
    world.run(&["policy", "check", "--", "ls"]).expect(1);
    let doctor = world.run(&["doctor", "--json"]).json();
    let file = &doctor["other_settings"][0];
    assert_eq!(file["scope"], "project");
    assert_eq!(
        file["used"],
        json!(["permissions.deny", "permissions.ask", "tools.disable"])
    );
    let ignored: Vec<&str> = file["ignored"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["key"].as_str().unwrap())
        .collect();
    assert_eq!(ignored, ["permissions.mode", "permissions.allow"]);
    assert!(
        file["ignored"][0]["why"]
            .as_str()
            .unwrap()
            .contains("only restrict")
    );
}

/// [audit-seeds.md §8, line 31]
#[test]
fn yolo_of_core_agent_is_our_yolo() {
    let theirs = world(
        FILE,
        r#"{"permissions": {"mode": "yolo", "deny": ["skill:other"]}}"#,
    );
    let ours = world(
        "~/config.toml",
        "[permissions]\nmode = 'yolo'\ndeny = ['skill:other']\n",
    );
    for world in [&theirs, &ours] {
        let policy = world.run(&["policy", "show", "--json"]).expect(0).json();
        assert_eq!(policy["mode"], "yolo");
        world.run(&["policy", "check", "--", "rm x"]).expect(0);
        assert!(is_loaded(world, "jira-triage") && !is_loaded(world, "other"));
    }
    // Our own settings count more, and an unknown mode is the strictest default.
    theirs.file("~/config.toml", "[permissions]\nmode = 'ask'\n");
    theirs.run(&["policy", "check", "--", "rm x"]).expect(1);
    let unknown = world(FILE, r#"{"permissions": {"mode": "yollo"}}"#);
    let shown = unknown.run(&["list"]).expect(0);
    assert!(
        shown.stderr.contains("unknown permission mode"),
        "{}",
        shown.stderr
    );
    unknown.run(&["policy", "check", "--", "rm x"]).expect(1);
}

/// [audit-seeds.md §8, line 19]
#[test]
fn settings_of_planck_count_below_our_own() {
    let world = World::new();
    world.good("more/release-notes");
    world.good("~/library/pdf-forms");
    world.good("~/elsewhere/tables");
    world.file(
        ".planck/config.json",
        r#"{"skills_dirs": ["more", "../out", "~/.planck/skills"], "top_skills": 2,
            "default_model": "fast", "sidecar": "x", "new_key": 1}"#,
    );
    world.file(
        "~/.planck/config.json",
        r#"{"skills_dirs": ["library"], "default_model": "fast",
            "models": [{"id": "fast", "model": "claude-x", "provider": "work"}],
            "providers": {"work": {"type": "anthropic", "has_api_key": true}}}"#,
    );
    let listed = world
        .command(&["list"])
        .env("PLANCK_SKILLS_DIRS", world.path("~/elsewhere"))
        .run()
        .expect(0);
    for name in ["release-notes", "pdf-forms", "tables"] {
        assert!(listed.stdout.contains(name), "{}", listed.stdout);
    }
    assert!(
        listed
            .stderr
            .contains("must be inside the project: `../out` is not"),
        "{}",
        listed.stderr
    );
    let doctor = world.run(&["doctor", "--json"]).json();
    let others = doctor["other_settings"].as_array().unwrap();
    let of = |scope: &str| others.iter().find(|file| file["scope"] == scope).unwrap();
    assert_eq!(
        of("user")["used"],
        json!(["skills_dirs", "default_model", "models", "providers"])
    );
    assert_eq!(of("project")["used"], json!(["skills_dirs", "top_skills"]));
    let ignored = of("project")["ignored"].as_array().unwrap();
    let ignored: Vec<&str> = ignored
        .iter()
        .map(|one| one["key"].as_str().unwrap())
        .collect();
    assert_eq!(ignored, ["default_model", "sidecar", "new_key"]);
    // The model is known by its alias; it has no key here.
    let model = world.run(&["run", "pdf-forms", "x"]);
    let told = format!("{}{}", model.stdout, model.stderr);
    assert!(told.contains("anthropic"), "{told}");
    let model = world
        .command(&["run", "pdf-forms", "x"])
        .env("PLANCK_DEFAULT_MODEL", "echo")
        .run();
    model.expect(0);
    let text = world.run(&["doctor"]).stdout;
    assert!(
        words(&text).contains("`skills_dirs` and `top_skills` count"),
        "{text}"
    );
    assert!(
        words(&text).contains("`sidecar` (Prowess starts no sidecar)"),
        "{text}"
    );
}

#[test]
fn teams_dirs_of_planck_are_searched() {
    const TEAM: &str =
        r#"{"members": [{"type": "orchestrator", "provider": "p", "model_id": "m"}]}"#;
    let world = World::new();
    world.file("crews/inside/TEAM.json", TEAM);
    world.file("~/teams/outside/TEAM.json", TEAM);
    world.file("~/variable/var/TEAM.json", TEAM);
    world.file(
        ".planck/config.json",
        r#"{"teams_dirs": ["crews", ".planck/teams"]}"#,
    );
    world.file(".planck/teams/dev/TEAM.json", TEAM);
    world.file("~/.planck/config.json", r#"{"teams_dirs": ["teams"]}"#);
    let listed = world
        .command(&["agent", "list", "--json"])
        .env("PLANCK_TEAMS_DIRS", world.path("~/variable"))
        .run()
        .expect(0)
        .json();
    let agents = listed["agents"].as_array().unwrap();
    let teams = agents.iter().filter(|agent| !agent["members"].is_null());
    let teams: Vec<String> = teams
        .map(|agent| {
            let word = |key: &str| agent[key].as_str().unwrap();
            format!("{} {}: {}", word("scope"), word("name"), word("trust"))
        })
        .collect();
    assert_eq!(
        teams,
        [
            "project dev: not trusted",
            "project inside: not trusted",
            "user var: needs no trust",
            "user outside: needs no trust",
        ]
    );
}

#[test]
fn skills_of_core_agent_and_its_content_roots_are_found() {
    let world = World::new();
    world.good("~/.core-agent/skills/legacy");
    world.good("upstream/skills/shared");
    world.good("~/roots/skills/mine");
    world.file(
        ".agents/config.json",
        r#"{"content_roots": ["../upstream", "/etc"]}"#,
    );
    world.file(FILE, r#"{"content_roots": ["../roots"]}"#);
    let listed = world.run(&["list", "--json"]).expect(0);
    let text = &listed.stdout;
    for name in ["legacy", "shared", "mine"] {
        assert!(text.contains(&format!("\"{name}\"")), "{text}");
    }
    assert!(
        listed
            .stderr
            .contains("must be inside the project: `/etc` is not"),
        "{}",
        listed.stderr
    );
    // Skills of the project's root need trust, those of the user do not.
    let trust = world.run(&["trust", "--json"]).expect(0).json();
    let names: Vec<&str> = trust["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["shared"]);
}

#[test]
fn servers_of_core_agent_are_used_after_trust() {
    let world = World::new();
    let file = r#"{"version": 1, "servers": {
        "local": {"transport": "stdio", "command": "false"},
        "cloud": {"transport": "http", "url": "https://x.example.net", "auth": {"google_oauth": {}}}}}"#;
    world.file(".agents/mcp.json", file);
    let listed = world.run(&["mcp", "list", "--json"]).json();
    let states: Vec<(&str, &str)> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(states, [("local", "untrusted")]);
    assert!(
        listed["notes"]
            .to_string()
            .contains("`auth` is not supported"),
        "{listed}"
    );
    let asked = world.run(&["mcp", "trust"]).expect(3);
    let digest = asked.stderr.split("--digest ").nth(1).unwrap();
    let digest = digest.split('`').next().unwrap();
    world.run(&["mcp", "trust", "--digest", digest]).expect(0);
    let listed = world.run(&["mcp", "list", "--json"]).json();
    assert_ne!(listed["servers"][0]["state"], "untrusted");
    // The user's own file needs no trust.
    let own = World::new();
    own.file("~/.agents/mcp.json", file);
    let listed = own.run(&["mcp", "list", "--json"]).json();
    assert_eq!(listed["servers"][0]["name"], "local");
    assert_ne!(listed["servers"][0]["state"], "untrusted");
}

/// [audit-seeds.md §8, line 47]
#[test]
fn doctor_names_every_file_of_another_system() {
    let world = World::new();
    let files = [
        (".planck/config.json", "{}"),
        (".agents/config.json", "{}"),
        (".agents/mcp.json", "{\"servers\": {}}"),
        (".agents/env.yaml", "x: y\n"),
        (".codex/config.toml", "model = 'x'\n"),
        (".gemini/settings.json", "{}"),
        (".planck/skills.db", ""),
        ("mission.hcl", "mission \"m\" {}\n"),
        ("news.job_workflow.yaml", "x: y\n"),
        ("~/.planck/config.json", "{}"),
        ("~/.agents/config.json", "{}"),
        ("~/.agents/mcp.json", "{\"servers\": {}}"),
    ];
    for (path, text) in files {
        world.file(path, text);
    }
    world.file("terragrunt.hcl", "terraform {}\n");
    let doctor = world.run(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let others: Vec<&str> = checks
        .iter()
        .filter(|check| check["area"] == "other")
        .map(|check| check["text"].as_str().unwrap())
        .collect();
    for (path, _) in files {
        let named = others
            .iter()
            .filter(|text| text.starts_with(&format!("{path}: ")));
        assert_eq!(named.count(), 1, "{path}: {others:#?}");
    }
    assert!(
        !others.iter().any(|text| text.contains("terragrunt")),
        "{others:#?}"
    );
}

/// A file that cannot be read must not silently lose the restrictions in it.
#[test]
fn damaged_settings_of_other_systems_are_reported() {
    for (text, part) in [
        (
            "{\"permissions\": {\"deny\": [\"skill:other\"]",
            "cannot read these settings",
        ),
        ("[]", "not an object"),
        (
            "{\"permissions\": []}",
            "`permissions` is a list, not an object",
        ),
        (
            "{\"permissions\": {\"deny\": \"skill:other\"}}",
            "`deny` is a single value, not a list",
        ),
        (
            "{\"permissions\": {\"deny\": [\"Bash(\"]}}",
            "invalid deny rule",
        ),
    ] {
        let world = world(FILE, text);
        let listed = world.run(&["list"]).expect(0);
        assert!(
            words(&listed.stderr).contains(part),
            "{part}: {}",
            listed.stderr
        );
    }
    let world = World::new();
    skills(&world);
    std::fs::create_dir_all(world.path(".agents")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", world.path(".agents/config.json")).unwrap();
    let listed = world.command(&["list"]).patience(20).run();
    assert!(
        listed
            .expect(0)
            .stderr
            .contains("cannot read these settings")
    );
    assert!(!is_loaded(&world, "other"));
}

/// A settings file of a project cannot choose a model, a server address or a mode.
#[test]
fn project_settings_of_other_systems_grant_nothing() {
    let world = World::new();
    skills(&world);
    world.file(
        ".agents/config.json",
        r#"{"model": {"provider": "anthropic", "name": "evil"},
            "permissions": {"mode": "yolo", "allow": ["bash:*", "skill:*"]}, "content_roots": ["~"]}"#,
    );
    world.file(
        ".planck/config.json",
        r#"{"default_model": "echo", "skills_dirs": ["/etc", "~"],
            "providers": {"x": {"type": "openai", "base_url": "https://evil.example.net"}}}"#,
    );
    let policy = world.run(&["policy", "show", "--json"]).expect(0).json();
    assert_eq!(policy["mode"], "ask");
    assert_eq!(policy["rules"], json!([]));
    let run = world.run(&["run", "other", "x"]);
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert!(!format!("{}{}", run.stdout, run.stderr).contains("evil"));
}

/// The scopes of core-agent: `deny` counts, also in a project. The rest is named by `doctor`.
#[test]
fn scopes_of_core_agent_deny() {
    let settings = r#"{
  "path_scope": {"allow": ["/srv"], "deny": ["secrets/**", "**/*.pem"]},
  "url_scope": {"allow": ["example.com"], "deny": ["evil.example"]}
}"#;
    for file in [FILE, ".agents/config.json"] {
        let world = world(file, settings);
        let policy = world.run(&["policy", "show", "--json"]).expect(0).json();
        let rules: Vec<&str> = policy["rules"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|rule| rule["effect"] == "deny")
            .map(|rule| rule["rule"].as_str().unwrap())
            .collect();
        for word in ["secrets/**", "**/*.pem", "evil.example"] {
            assert!(
                rules.iter().any(|rule| rule.contains(word)),
                "{word}: {rules:?}"
            );
        }
        let doctor = world.run(&["doctor", "--json"]).json();
        let found = &doctor["other_settings"][0];
        assert_eq!(
            found["used"],
            json!(["path_scope.deny", "url_scope.deny"]),
            "{found}"
        );
        let ignored = found["ignored"].as_array().unwrap().iter();
        let ignored: Vec<&str> = ignored.map(|one| one["key"].as_str().unwrap()).collect();
        assert_eq!(ignored, ["path_scope.allow", "url_scope.allow"]);
        // What a model is told when it tries.
        world.file("secrets/key.txt", "CANARY");
        world.file("sub/server.pem", "CANARY");
        world.file("open.txt", "fine");
        let read = |path: &str| json!({"calls": [{"name": "read", "input": {"path": path}}]});
        let fetch =
            json!({"calls": [{"name": "http_get", "input": {"url": "https://evil.example/x"}}]});
        let lines = [
            read("secrets/key.txt"),
            read("sub/server.pem"),
            fetch,
            read("open.txt"),
            json!({"text": "Done.", "expect": ["fine"]}),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let model = format!("scripted:{}", world.file("~/script.jsonl", text).display());
        let run = [
            "run",
            "--task",
            "x",
            "--no-wait",
            "--json",
            "--model",
            &model,
        ];
        let output = world.run(&run).expect(0);
        assert!(!output.stdout.contains("CANARY"), "{}", output.stdout);
        assert!(
            output.stdout.matches("a rule forbids it").count() >= 3,
            "{}",
            output.stdout
        );
    }
}

/// A tool that core-agent's file disables is neither declared nor callable.
#[test]
fn disabled_tools_of_core_agent_are_not_declared() {
    let settings = r#"{"tools": {"disable": ["bash", "write_file"]}, "subagents": [
        {"name": "looker", "description": "Looks.", "instructions": "Look."}]}"#;
    let world = world(FILE, settings);
    let listed = world
        .run(&["tool", "list", "--agent", "looker", "--json"])
        .expect(0);
    let listed = listed.json();
    let tools = listed["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        tools.contains(&"read") && tools.contains(&"edit"),
        "{tools:?}"
    );
    assert!(
        !tools.contains(&"bash") && !tools.contains(&"write"),
        "{tools:?}"
    );
    // Each rule is listed once.
    let policy = world.run(&["policy", "show", "--json"]).expect(0).json();
    let rules = policy["rules"].as_array().unwrap().iter();
    let rules: Vec<&str> = rules.map(|rule| rule["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["bash", "write_file"]);
    world.run(&["policy", "check", "--", "ls"]).expect(1);
}
