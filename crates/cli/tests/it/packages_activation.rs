//! What happens when a package is used: it is compared with the lockfile on every path, and its version
//! and state are shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::World;

/// The files of the package `pdf`, besides its SKILL.md.
const FILES: [(&str, &str, u32); 2] = [
    ("scripts/fill.sh", "echo filled\n", 0o755),
    ("references/terms.md", "PDF-TERMS\n", 0o644),
];

const HEAD: &str = "name: pdf\ndescription: Fill in PDF forms. Use when a form arrives.\n";

/// Adds the package `pdf` from an archive, and trusts it.
fn install(world: &World, keys: &str, body: &str) {
    add(world, keys, body, &[]);
    trust(world, "pdf");
}

fn add(world: &World, keys: &str, body: &str, flags: &[&str]) {
    let text = format!("---\n{HEAD}{keys}---\n{body}\n");
    world.file("../source/pdf/SKILL.md", text);
    for (path, text, mode) in FILES {
        world.file_with_mode(&format!("../source/pdf/{path}"), text, mode);
    }
    let pack = ["pack", "../source/pdf", "--out", ".."];
    world.run(&pack).expect(0);
    world
        .run(&[&["add", "../pdf.skill"], flags].concat())
        .expect(0);
}

/// Trusts a skill as it is.
fn trust(world: &World, name: &str) {
    let shown = world.run(&["trust", name, "--json"]).expect(0).json()["skills"][0].clone();
    let digest = shown["digest"].as_str().unwrap();
    world.run(&["trust", name, "--digest", digest]).expect(0);
}

/// Lets the test change a file or folder of the store.
fn writable(path: &Path) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    permissions.set_mode(permissions.mode() | 0o200);
    fs::set_permissions(path, permissions).unwrap();
}

/// A change of the package `pdf`.
#[derive(Clone, Copy, Debug)]
enum Change {
    Byte,
    Mode,
    Added,
    Removed,
}

impl Change {
    const ALL: [Self; 4] = [Self::Byte, Self::Mode, Self::Added, Self::Removed];

    /// Makes the change in the folder that the entry leads to.
    fn make(self, folder: &Path) {
        let folder = folder.canonicalize().unwrap();
        let script = folder.join("scripts/fill.sh");
        match self {
            Self::Byte => {
                writable(&script);
                fs::write(&script, "echo filleD\n").unwrap();
            }
            Self::Mode => fs::set_permissions(&script, PermissionsExt::from_mode(0o444)).unwrap(),
            Self::Added => {
                writable(&folder);
                fs::write(folder.join("more.md"), "More.\n").unwrap();
            }
            Self::Removed => {
                writable(&folder.join("references"));
                fs::remove_file(folder.join("references/terms.md")).unwrap();
            }
        }
    }

    /// The words that name the change.
    fn named(self) -> &'static str {
        match self {
            Self::Byte => "`scripts/fill.sh` changed",
            Self::Mode => "the mode of `scripts/fill.sh` changed",
            Self::Added => "`more.md` is new",
            Self::Removed => "`references/terms.md` is missing",
        }
    }
}

const NEXT: [&str; 3] = ["prowess diff pdf", "prowess sync", "prowess fork pdf"];

/// Sends requests to `prowess mcp`, and returns the answers in their order.
fn mcp(world: &World, requests: &[(&str, Value)]) -> Vec<Value> {
    let about = json!({ "name": "t", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about });
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    for (id, (method, params)) in requests.iter().enumerate() {
        lines.push(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = world.command(&["mcp"]).stdin(input).run().expect(0);
    let answers = output.stdout.lines();
    let answers: Vec<Value> = answers
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answer = |id: usize| answers.iter().find(|one| one["id"] == id).unwrap().clone();
    (0..requests.len()).map(answer).collect()
}

fn tool(name: &str, arguments: &Value) -> (&'static str, Value) {
    (
        "tools/call",
        json!({ "name": name, "arguments": arguments }),
    )
}

/// Returns what each way to use `pdf` answers.
fn uses(world: &World, expected: &str) -> Vec<(&'static str, String)> {
    let mut answers = Vec::new();
    let calls = [
        ("load_skill", json!({ "name": "pdf" })),
        (
            "load_skill_resource",
            json!({ "skill_name": "pdf", "resource_path": "SKILL.md" }),
        ),
        (
            "load_skill_resource",
            json!({ "skill_name": "pdf", "resource_path": "scripts/fill.sh" }),
        ),
        (
            "load_skill_resources",
            json!({ "skill_name": "pdf", "resources": [{ "path": "SKILL.md" }] }),
        ),
    ];
    // The model of a run receives it.
    for (name, input) in &calls {
        let lines = [
            json!({ "calls": [{ "name": name, "input": input }] }),
            json!({ "text": "Done.", "expect": [expected, NEXT[0], NEXT[1], NEXT[2]] }),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let model = format!("scripted:{}", world.file("../model.jsonl", text).display());
        world
            .run(&["run", "--task", "Fill it in.", "--model", &model])
            .expect(0);
    }
    let commands: [(&str, &[&str]); 4] = [
        ("run", &["run", "pdf", "--model", "echo"]),
        ("prompt", &["prompt", "--skill", "pdf"]),
        ("exec", &["exec", "pdf", "--", "echo", "hi"]),
        (
            "policy",
            &["policy", "check", "--skill", "pdf", "--", "echo"],
        ),
    ];
    for (name, arguments) in commands {
        let output = world.run(arguments).expect(3);
        answers.push((name, output.stderr));
    }
    let chat = world
        .command(&["chat", "--plain", "--no-wait", "--model", "echo"])
        .stdin("/pdf fill it in\n")
        .run();
    answers.push(("/name", format!("{}{}", chat.stdout, chat.stderr)));
    let uri = |path: &str| json!({ "uri": format!("skill://pdf/{path}") });
    let requests = [
        tool("load_skill", &json!({ "name": "pdf" })),
        tool(
            "load_skill_resource",
            &json!({ "skill_name": "pdf", "resource_path": "SKILL.md" }),
        ),
        ("prompts/get", json!({ "name": "pdf" })),
        ("resources/read", uri("SKILL.md")),
        ("resources/read", uri("scripts/fill.sh")),
        ("skills/get", uri("SKILL.md")),
        ("skills/list", json!({})),
        ("resources/directory/read", uri("scripts")),
    ];
    for ((method, _), answer) in requests.iter().zip(mcp(world, &requests)) {
        answers.push((method, answer.to_string()));
    }
    answers
}

/// Line 36 of the design.
#[test]
fn changed_package_is_refused_alike_on_every_path() {
    for change in Change::ALL {
        let world = World::new();
        install(&world, "allowed-tools: Read\n", "PDF-SKILL-TEXT");
        let folder = world.path(".agents/skills/pdf");
        change.make(&folder);
        for (way, text) in uses(&world, change.named()) {
            for part in [change.named()].into_iter().chain(NEXT) {
                assert!(text.contains(part), "{change:?}, {way}: {part}: {text}");
            }
            for part in ["PDF-SKILL-TEXT", "echo fille"] {
                assert!(!text.contains(part), "{change:?}, {way}: {part}: {text}");
            }
        }
        // The catalogue says why.
        let why = world.run(&["why", "pdf"]).stdout;
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        let listed = world.run(&["list"]).expect(0).stdout;
        assert!(listed.contains("changed"), "{listed}");
        for part in [change.named()].into_iter().chain(NEXT) {
            assert!(why.contains(part), "{change:?}: {part}: {why}");
        }
        let shown = world.run(&["show", "pdf", "--json"]).expect(0).json();
        assert_eq!(shown["package"]["state"], "changed", "{shown}");
        // Nothing was repaired on the way, and one command does it.
        world.run(&["verify"]).expect(1);
        world.run(&["sync"]).expect(0);
        world.run(&["verify"]).expect(0);
        let loaded = world.run(&["prompt", "--skill", "pdf"]).expect(0);
        assert!(loaded.stdout.contains("PDF-SKILL-TEXT"));
    }
}

/// Real copies instead of links into the store, and packages of the person.
#[test]
fn copies_and_own_packages_are_compared_too() {
    for (flags, entry, commands) in [
        (&[][..], ".agents/skills/pdf", NEXT),
        (
            &["--user"],
            "~/.agents/skills/pdf",
            [
                "prowess diff pdf --user",
                "prowess sync --user",
                "prowess fork pdf --user",
            ],
        ),
    ] {
        let world = World::new();
        if flags.is_empty() {
            world.file(".agents/prowess.toml", "[install]\nvendor = true\n");
        }
        add(&world, "", "PDF-SKILL-TEXT", flags);
        trust(&world, "pdf");
        world.run(&["prompt", "--skill", "pdf"]).expect(0);
        Change::Byte.make(&world.path(entry));
        let refused = world.run(&["run", "pdf", "--model", "echo"]).expect(3);
        for part in [Change::Byte.named()].into_iter().chain(commands) {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
        // The commands that it names work.
        let flag = flags.to_vec();
        world.run(&[&["diff", "pdf"], &*flag].concat()).expect(1);
        world.run(&[&["sync"], &*flag].concat()).expect(0);
        world.run(&["prompt", "--skill", "pdf"]).expect(0);
    }
}

/// A skill that refers to a package, a package that runs in a conversation of its own, and a package
/// that an agent has from the start.
#[test]
fn changed_package_is_refused_behind_other_skills_forks_and_agents() {
    let world = World::new();
    install(&world, "context: fork\n", "PDF-SKILL-TEXT");
    world.file(
        "~/.agents/skills/office/SKILL.md",
        "---\nname: office\ndescription: Office work. Use for letters.\n---\nFor forms, load the skill pdf.\n",
    );
    world.file(
        "~/.claude/agents/clerk.md",
        "---\nname: clerk\ndescription: Works with forms.\nskills: [pdf]\n---\nWork.\n",
    );
    Change::Byte.make(&world.path(".agents/skills/pdf"));
    let lines = [
        json!({ "calls": [{ "name": "load_skill", "input": { "name": "office" } }] }),
        json!({ "calls": [{ "name": "load_skill", "input": { "name": "pdf" } }], "expect": ["load the skill pdf"] }),
        json!({ "text": "Done.", "expect": [Change::Byte.named(), NEXT[2]] }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let model = format!("scripted:{}", world.file("../model.jsonl", text).display());
    world
        .run(&["run", "--task", "A form arrived.", "--model", &model])
        .expect(0);
    let output = world.run(&["agent", "run", "clerk", "Work.", "--model", "echo"]);
    let text = format!("{}{}", output.stdout, output.stderr);
    assert!(!text.contains("PDF-SKILL-TEXT"), "{text}");
    assert!(text.contains(Change::Byte.named()), "{text}");
}

/// A package that changes after it was loaded: its text is not given again, its files are not read, and
/// its grants end.
#[test]
fn package_that_changes_during_a_session_is_refused_from_then_on() {
    let world = World::new();
    install(
        &world,
        "version: 1.4.2\nallowed-tools: Bash(echo:*) Read\n",
        "PDF-SKILL-TEXT",
    );
    let script = world.path(".agents/skills/pdf/scripts/fill.sh");
    let call = |name: &str, input: &Value| json!({ "name": name, "input": input });
    let resource = json!({ "skill_name": "pdf", "resource_path": "references/terms.md" });
    let command = json!({ "reason": "x", "commandLine": "echo GRANTED" });
    let lines = [
        json!({ "calls": [call("load_skill", &json!({ "name": "pdf" }))] }),
        json!({ "calls": [call("load_skill_resource", &resource)], "expect": ["PDF-SKILL-TEXT"] }),
        json!({ "text": "First.", "expect": ["PDF-TERMS"] }),
        json!({ "calls": [call("load_skill_resource", &resource)] }),
        json!({ "calls": [call("run_command_line", &command)], "expect": [Change::Byte.named(), NEXT[1]] }),
        json!({ "calls": [call("load_skill", &json!({ "name": "pdf" }))] }),
        json!({ "calls": [call("read", &json!({ "path": script }))] }),
        json!({ "calls": [call("bash", &json!({ "command": "echo GRANTED" }))] }),
        json!({ "text": "Second." }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let model = format!("scripted:{}", world.file("../model.jsonl", text).display());
    let mut chat = world
        .command(&["chat", "--plain", "--no-wait", "--model", &model])
        .talk();
    let ends = |line: &str| line == "First." || line == "Second." || line.contains("expects");
    assert_eq!(chat.say("Fill it in.", ends), "First.");
    Change::Byte.make(&world.path(".agents/skills/pdf"));
    assert_eq!(chat.say("Go on.", ends), "Second.");
    chat.close();
    let listed = world.run(&["session", "list", "--json"]).expect(0).json();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    let replayed = world.run(&["session", "replay", &id]).expect(0).stdout;
    let results: Vec<Value> = replayed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone())
        .filter(|event| event["event"] == "call_ended")
        .collect();
    let results: Vec<String> = results.iter().map(ToString::to_string).collect();
    // The record has name, version and digest.
    for part in ["\"version\":\"1.4.2\"", "\"name\":\"pdf\"", "sha256:"] {
        assert!(results[0].contains(part), "{part}: {}", results[0]);
    }
    let after = results.get(2..).unwrap_or_default();
    assert_eq!(after.len(), 5, "{replayed}");
    for result in after {
        for part in ["PDF-SKILL-TEXT", "PDF-TERMS", "filleD", "GRANTED\\n"] {
            assert!(!result.contains(part), "{part}: {result}");
        }
    }
}

/// Runs a session that loads `pdf` and then runs a command. Returns its events.
fn session(world: &World, expected: &str) -> String {
    let lines = [
        json!({ "calls": [{ "name": "load_skill", "input": { "name": "pdf" } }] }),
        json!({ "calls": [{ "name": "bash", "input": { "command": "touch made" } }], "expect": ["PDF-SKILL-TEXT", expected] }),
        json!({ "text": "Done." }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let model = format!("scripted:{}", world.file("../model.jsonl", text).display());
    let run = world.run(&["run", "--task", "Fill it in.", "--model", &model]);
    let listed = world.run(&["session", "list", "--json"]).expect(0).json();
    let sessions = listed["sessions"].as_array().unwrap();
    let newest = sessions.first().unwrap();
    let id = newest["id"].as_str().unwrap().to_owned();
    let replayed = world.run(&["session", "replay", &id]).expect(0).stdout;
    assert!(replayed.contains("touch made"), "{} {replayed}", run.stderr);
    replayed
}

/// Line 37 of the design.
#[test]
fn changed_package_as_text_runs_grants_and_hooks_nothing() {
    let world = World::new();
    world.file("~/config.toml", "[install]\nchanged = \"text\"\n");
    let keys = "allowed-tools: Bash(echo:*)\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: echo HOOKED >&2; exit 2\n";
    install(&world, keys, "PDF-SKILL-TEXT !`echo SLOT-RAN`");
    // As locked, it runs, grants and hooks.
    let shown = world.run(&["prompt", "--skill", "pdf"]).expect(0).stdout;
    assert!(
        shown.contains("PDF-SKILL-TEXT SLOT-RAN"),
        "the sandbox runs commands here: {shown}"
    );
    let granted = world.run(&["exec", "pdf", "--", "echo", "hi"]).expect(0);
    assert_eq!(granted.stdout, "hi\n");
    let hooked = session(&world, "TEXT SLOT-RAN");
    assert!(hooked.contains("HOOKED"), "{hooked}");
    Change::Byte.make(&world.path(".agents/skills/pdf"));
    let shown = world.run(&["prompt", "--skill", "pdf"]).expect(0).stdout;
    assert!(shown.contains("PDF-SKILL-TEXT"), "{shown}");
    assert!(
        shown.contains("its files are not those of the lockfile"),
        "{shown}"
    );
    assert!(!shown.contains("TEXT SLOT-RAN"), "{shown}");
    world.run(&["exec", "pdf", "--", "echo", "hi"]).expect(3);
    let replayed = session(&world, "not trusted");
    assert!(!replayed.contains("HOOKED"), "{replayed}");
    assert!(!world.exists("made"));
    // A project cannot ask for it.
    let world = World::new();
    world.file(".agents/prowess.toml", "[install]\nchanged = \"text\"\n");
    install(&world, "", "PDF-SKILL-TEXT");
    Change::Byte.make(&world.path(".agents/skills/pdf"));
    world.run(&["prompt", "--skill", "pdf"]).expect(3);
}

/// Line 35 of the design.
#[test]
fn package_is_inert_in_every_scope_until_it_is_trusted() {
    for flags in [&[][..], &["--user"]] {
        let world = World::new();
        add(
            &world,
            "allowed-tools: Bash(echo:*)\n",
            "PDF-SKILL-TEXT !`echo SLOT-RAN`",
            flags,
        );
        let shown = world.run(&["prompt", "--skill", "pdf"]).expect(0).stdout;
        assert!(shown.contains("the user has not trusted it yet"), "{shown}");
        assert!(!shown.contains("TEXT SLOT-RAN"), "{shown}");
        world.run(&["exec", "pdf", "--", "echo", "hi"]).expect(3);
        trust(&world, "pdf");
        let shown = world.run(&["prompt", "--skill", "pdf"]).expect(0).stdout;
        assert!(shown.contains("PDF-SKILL-TEXT SLOT-RAN"), "{shown}");
        world.run(&["exec", "pdf", "--", "echo", "hi"]).expect(0);
    }
    // The same skill without a lockfile is the person's own in their home folder.
    let world = World::new();
    world.file(
        "~/.agents/skills/pdf/SKILL.md",
        format!("---\n{HEAD}allowed-tools: Bash(echo:*)\n---\nPDF-SKILL-TEXT !`echo SLOT-RAN`\n"),
    );
    let shown = world.run(&["prompt", "--skill", "pdf"]).expect(0).stdout;
    assert!(shown.contains("PDF-SKILL-TEXT SLOT-RAN"), "{shown}");
}

/// Line 10 of the design.
#[test]
fn skill_can_be_asked_for_in_a_range_of_versions() {
    let world = World::new();
    install(&world, "version: 1.4.2\n", "PDF-SKILL-TEXT");
    world.good("~/.agents/skills/plain");
    for (name, expected) in [
        ("pdf@^1.4", "PDF-SKILL-TEXT"),
        ("pdf@1.4.2", "PDF-SKILL-TEXT"),
        ("pdf@^2", "Skill pdf has version 1.4.2, not `^2`."),
        ("plain@^1", "Skill plain has no version"),
        ("pdf@main", "Unknown skill: pdf@main"),
        ("none@^1", "Unknown skill: none"),
    ] {
        let lines = [
            json!({ "calls": [{ "name": "load_skill", "input": { "name": name } }] }),
            json!({ "text": "Done.", "expect": [expected] }),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let model = format!("scripted:{}", world.file("../model.jsonl", text).display());
        world
            .run(&["run", "--task", "Fill it in.", "--model", &model])
            .expect(0);
        let answers = mcp(&world, &[tool("load_skill", &json!({ "name": name }))]);
        let text = answers[0].to_string();
        assert!(text.contains(expected), "{name}: {text}");
    }
    world.run(&["run", "pdf@~1.4", "--model", "echo"]).expect(0);
    world
        .run(&["exec", "pdf@~1.4", "--approve", "Bash", "--", "true"])
        .expect(0);
    for arguments in [
        &["run", "pdf@2", "--model", "echo"][..],
        &["exec", "pdf@2", "--", "true"],
        &["prompt", "--skill", "pdf@2"],
    ] {
        let refused = world.run(arguments);
        assert_ne!(refused.code, 0, "{arguments:?}");
        for part in ["`pdf` has version 1.4.2, not `2.*`", "prowess update pdf"] {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
    }
    let chat = world
        .command(&["chat", "--plain", "--no-wait", "--model", "echo"])
        .stdin("/pdf@^2 fill it in\n")
        .run();
    let text = format!("{}{}", chat.stdout, chat.stderr);
    assert!(text.contains("`pdf` has version 1.4.2, not `^2`"), "{text}");
}

/// The version is that of the tag or the SKILL.md, and every listing has it.
#[test]
fn version_source_and_state_are_listed() {
    let world = World::new();
    install(&world, "version: 1.4.2\n", "PDF-SKILL-TEXT");
    world.file("own/notes/SKILL.md", "---\nname: notes\ndescription: Take notes. Use in meetings.\nversion: 0.3.0\n---\nWrite.\n");
    world.run(&["add", "./own/notes"]).expect(0);
    world.good("~/.agents/skills/plain");
    let listed = world.run(&["list", "--json"]).expect(0).json();
    let package = |name: &str| {
        let skills = listed["skills"].as_array().unwrap();
        let skill = skills.iter().find(|skill| skill["name"] == name).unwrap();
        skill["package"].clone()
    };
    let state = |package: &Value| {
        let text = |key: &str| package[key].as_str().unwrap_or("-").to_owned();
        let source = text("source").split([':', '+']).next().unwrap().to_owned();
        (text("name"), text("version"), source, text("state"))
    };
    let of = |name: &str, version: &str, source: &str, state: &str| {
        let words = [name, version, source, state].map(str::to_owned);
        let [name, version, source, state] = words;
        (name, version, source, state)
    };
    assert_eq!(
        state(&package("pdf")),
        of("pdf", "1.4.2", "archive", "locked")
    );
    assert_eq!(state(&package("notes")), of("notes", "-", "path", "linked"));
    assert_eq!(package("plain"), Value::Null);
    let table = world.run(&["list", "--wide"]).expect(0).stdout;
    for part in ["PACKAGE", "1.4.2", "linked"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    for command in ["show", "why"] {
        let shown = world.run(&[command, "pdf"]).expect(0).stdout;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["pdf 1.4.2 from archive+", "as locked"] {
            assert!(shown.contains(part), "{command}, {part}: {shown}");
        }
        let shown = world.run(&[command, "pdf", "--json"]).expect(0).json();
        assert_eq!(shown["package"]["state"], "locked", "{shown}");
        assert_eq!(shown["package"]["version"], "1.4.2", "{shown}");
    }
    // Models and MCP clients read the version.
    let shown = world.run(&["prompt", "--skill", "pdf"]).expect(0).stdout;
    assert!(shown.contains("Version: 1.4.2"), "{shown}");
    let answers = mcp(
        &world,
        &[
            tool("load_skill", &json!({ "name": "pdf" })),
            ("skills/get", json!({ "uri": "skill://pdf/SKILL.md" })),
        ],
    );
    assert_eq!(
        answers[0]["result"]["structuredContent"]["version"],
        "1.4.2"
    );
    let frontmatter = &answers[1]["result"]["skill"]["frontmatter"];
    assert_eq!(frontmatter["version"], "1.4.2", "{}", answers[1]);
    // `validate` knows the key.
    let checked = world
        .run(&["validate", "../source/pdf", "--profile", "claude-code"])
        .expect(0);
    assert!(!checked.stdout.contains("version"), "{}", checked.stdout);

    // A fork keeps its origin.
    world.run(&["fork", "pdf"]).expect(0);
    let shown = world.run(&["show", "pdf", "--json"]).expect(0).json();
    assert_eq!(shown["package"]["state"], "forked", "{shown}");
    assert_eq!(shown["package"]["version"], "1.4.2", "{shown}");
}

/// A package that is locked and not on disk, as after a clone.
#[test]
fn absent_package_is_named_with_the_command_that_installs_it() {
    let world = World::new();
    install(&world, "version: 1.4.2\n", "PDF-SKILL-TEXT");
    fs::remove_file(world.path(".agents/skills/pdf")).unwrap();
    let why = world.run(&["why", "pdf"]).expect(1).stdout;
    for part in ["pdf 1.4.2 from archive+", "not on disk", "prowess sync"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    let why = world.run(&["why", "pdf", "--json"]).expect(1).json();
    assert_eq!(why["package"]["state"], "absent");
    let listed = world.run(&["list"]).expect(0).stderr;
    assert!(listed.contains("prowess sync"), "{listed}");
    let listed = world.run(&["list", "--json"]).expect(0).json();
    assert_eq!(listed["absent_packages"][0]["name"], "pdf");
    let shown = world.run(&["show", "pdf"]);
    assert_ne!(shown.code, 0);
    assert!(shown.stderr.contains("prowess sync"), "{}", shown.stderr);
    world.run(&["sync"]).expect(0);
    world.run(&["why", "pdf"]).expect(0);
}

/// `only-locked` of a person or a project hides skills of the project that no lockfile names.
#[test]
fn only_locked_hides_what_no_lockfile_names() {
    for own in [true, false] {
        let world = World::new();
        install(&world, "", "PDF-SKILL-TEXT");
        world.good(".agents/skills/stray");
        world.good(".claude/skills/other");
        world.good("~/.agents/skills/mine");
        world.run(&["show", "stray"]).expect(0);
        world.run(&["prompt", "--skill", "stray"]).expect(0);
        if own {
            world.file("~/config.toml", "[install]\nonly-locked = true\n");
        } else {
            let file = world.path(".agents/prowess.toml");
            let text = fs::read_to_string(&file).unwrap();
            fs::write(file, format!("{text}\n[install]\nonly-locked = true\n")).unwrap();
        }
        let listed = world.run(&["list", "--json"]).expect(0).json();
        let skills = listed["skills"].as_array().unwrap().iter();
        let names: Vec<&str> = skills.map(|one| one["name"].as_str().unwrap()).collect();
        for (name, is_there) in [
            ("pdf", true),
            ("mine", true),
            ("stray", false),
            ("other", false),
        ] {
            assert_eq!(names.contains(&name), is_there, "{name}: {names:?}");
        }
        let why = world.run(&["why", "stray"]).expect(1).stdout;
        assert!(why.contains("`only-locked` is set"), "{why}");
        for arguments in [
            &["run", "stray", "--model", "echo"][..],
            &["exec", "stray", "--", "true"],
            &["prompt", "--skill", "stray"],
        ] {
            assert_ne!(world.run(arguments).code, 0, "{arguments:?}");
        }
        let answers = mcp(
            &world,
            &[
                tool("load_skill", &json!({ "name": "stray" })),
                ("resources/read", json!({ "uri": "skill://stray/SKILL.md" })),
            ],
        );
        assert_eq!(answers[0]["result"]["isError"], true, "{}", answers[0]);
        assert!(answers[1]["error"].is_object(), "{}", answers[1]);
        world.run(&["prompt", "--skill", "pdf"]).expect(0);
        // A fork and a folder of one's own are named by the lockfile.
        world.run(&["fork", "pdf"]).expect(0);
        world.run(&["prompt", "--skill", "pdf"]).expect(0);
    }
}

/// The packages of a lockfile that cannot be read are refused, and everything else works.
#[test]
fn unreadable_lockfile_refuses_its_packages_only() {
    let world = World::new();
    install(&world, "", "PDF-SKILL-TEXT");
    world.good(".agents/skills/stray");
    world.good("~/.agents/skills/mine");
    world.file(".agents/prowess.lock", "version = 1\n[[package\n");
    let refused = world.run(&["prompt", "--skill", "pdf"]);
    assert_ne!(refused.code, 0);
    let why = world.run(&["why", "pdf"]).expect(1).stdout;
    for part in ["its lockfile cannot be read", "prowess verify"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    let listed = world.run(&["list"]).expect(0).stderr;
    assert!(listed.contains("prowess.lock"), "{listed}");
    for name in ["stray", "mine"] {
        world.run(&["prompt", "--skill", name]).expect(0);
    }
}
