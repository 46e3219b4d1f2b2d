//! Permission rules about skills apply to every way of using one, by users and models alike.

use serde_json::{Value, json};

use crate::world::{Output, World};

/// A way of using a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    /// A model loads it.
    Load,
    /// A model reads one of its files.
    Resource,
    /// A model loads a skill that runs in its own conversation.
    Fork,
    /// `prowess run NAME`.
    Run,
    /// `/name` in a chat.
    Slash,
    /// `/name` of a skill that runs in its own conversation.
    SlashFork,
    /// `prowess prompt --skill NAME`.
    Prompt,
    /// An MCP client loads it.
    McpLoad,
    /// An MCP client runs it.
    McpRun,
    /// The user of an MCP client selects it as a prompt.
    McpPrompt,
    /// An MCP client reads its text as a resource.
    McpText,
    /// An MCP client reads another of its files as a resource.
    McpFile,
    /// A model reads its text as one of its files.
    MainFile,
    /// `prowess exec NAME`.
    Exec,
}

use Door::{
    Exec, Fork, Load, MainFile, McpFile, McpLoad, McpPrompt, McpRun, McpText, Prompt, Resource,
    Run, Slash, SlashFork,
};

const DOORS: [Door; 14] = [
    Load, Resource, Fork, Run, Slash, SlashFork, Prompt, McpLoad, McpRun, Exec, McpPrompt, McpText,
    McpFile, MainFile,
];

impl Door {
    /// `true` if the answer to a refusal does not say why.
    fn is_silent(self) -> bool {
        matches!(self, McpText | McpFile)
    }
}

/// Creates a home with three skills. `forky` runs in its own conversation.
fn world(settings: &str) -> World {
    let world = World::new();
    let text = |name: &str, more: &str| {
        format!(
            "---\nname: {name}\ndescription: Repeats. Use for echoes.\nallowed-tools: Bash(echo:*)\n{more}---\nSECRET BODY\n"
        )
    };
    world.file("~/.agents/skills/echo/SKILL.md", text("echo", ""));
    world.file("~/.agents/skills/echo/notes.md", "SECRET NOTES\n");
    world.file(
        "~/.agents/skills/forky/SKILL.md",
        text("forky", "context: fork\n"),
    );
    world.file("~/.agents/skills/other/SKILL.md", text("other", ""));
    let sandbox = "[sandbox]\nstrength = 'best-effort'\n";
    world.file("~/config.toml", format!("{settings}{sandbox}"));
    world
}

fn script(world: &World, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("scripted:{}", world.file("script.jsonl", text).display())
}

fn chat(world: &World, line: &str) -> Output {
    let model = script(world, &[json!({"text": "a"}), json!({"text": "b"})]);
    let command = world.command(&["chat", "--model", &model]);
    command.stdin(format!("{line}\n")).run()
}

/// Calls a tool over MCP. Returns the answer.
pub(crate) fn mcp(world: &World, tool: &str, name: &str) -> String {
    let call = json!({"name": tool, "arguments": {"name": name}});
    mcp_request(world, "tools/call", &call)
}

fn mcp_request(world: &World, method: &str, params: &Value) -> String {
    let model = script(world, &[json!({"text": "done"})]);
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let arguments = ["mcp", "--allow-run", "--model", &model];
    let output = world.command(&arguments).stdin(input).run().expect(0);
    let answer = output.stdout.lines().find(|line| {
        serde_json::from_str::<Value>(line).is_ok_and(|answer| answer["id"] == json!(2))
    });
    answer.expect("an answer").to_owned()
}

/// Uses a skill in one way. Returns the text that names the rule if it was refused.
fn refusal(world: &World, door: Door) -> Option<String> {
    let called = |tool: &str, input: &str| {
        let output = world.run(&["tool", "call", tool, "--json", input]);
        let text = format!("{}{}", output.stdout, output.stderr);
        (!text.contains("SECRET")).then_some(text)
    };
    let exit = |output: Output| match output.code {
        3 => Some(output.stderr),
        0 => None,
        code => panic!("{door:?}: {code}\n{}", output.stderr),
    };
    let typed = |line: &str| {
        let output = chat(world, line);
        (output.code != 0).then_some(output.stderr)
    };
    match door {
        Load => called("load_skill", r#"{"name": "echo"}"#),
        Resource => called(
            "load_skill_resource",
            r#"{"skill_name": "echo", "resource_path": "notes.md"}"#,
        ),
        Fork => {
            let call = json!({"calls": [{"name": "load_skill", "input": {"name": "forky"}}]});
            let rest = [json!({"text": "one"}), json!({"text": "two"})];
            let model = script(world, &[&[call][..], &rest].concat());
            let arguments = ["run", "--task", "go", "--model", &model, "--json"];
            let output = world.run(&arguments).expect(0).stdout;
            (!output.contains("SECRET")).then_some(output)
        }
        Run => exit(world.run(&["run", "echo", "--model", "echo"])),
        Slash => typed("/echo hi"),
        SlashFork => typed("/forky hi"),
        Prompt => exit(world.run(&["prompt", "--skill", "echo"])),
        McpLoad => {
            let answer = mcp(world, "load_skill", "echo");
            (!answer.contains("SECRET")).then_some(answer)
        }
        McpRun => {
            let answer = mcp(world, "run_skill", "echo");
            answer.contains("\"isError\":true").then_some(answer)
        }
        Exec => exit(world.run(&["exec", "echo", "--", "echo", "hi"])),
        McpPrompt => {
            let answer = mcp_request(world, "prompts/get", &json!({"name": "echo"}));
            (!answer.contains("SECRET")).then_some(answer)
        }
        McpText | McpFile => {
            let file = if door == McpText {
                "SKILL.md"
            } else {
                "notes.md"
            };
            let uri = format!("skill://echo/{file}");
            let answer = mcp_request(world, "resources/read", &json!({"uri": uri}));
            (!answer.contains("SECRET")).then_some(answer)
        }
        MainFile => called(
            "load_skill_resource",
            r#"{"skill_name": "echo", "resource_path": "SKILL.md"}"#,
        ),
    }
}

/// Checks that rules about an action stop these doors, in the user's and in the project's settings.
fn assert_stops(action: &str, stopped: &[Door], mode: &str) {
    let rules = format!("deny = ['skill:echo{action}', 'skill:forky{action}']\n");
    for in_project in [false, true] {
        let world = if in_project {
            world(&format!("[permissions]\nmode = '{mode}'\n"))
        } else {
            world(&format!("[permissions]\nmode = '{mode}'\n{rules}"))
        };
        if in_project {
            world.file(".agents/prowess.toml", format!("[permissions]\n{rules}"));
        }
        for door in DOORS {
            let refused = refusal(&world, door);
            let is_stopped = stopped.contains(&door);
            assert_eq!(
                refused.is_some(),
                is_stopped,
                "{rules} {mode} {door:?}: {refused:?}"
            );
            let names = ["echo", "forky"].map(|name| format!("skill:{name}{action}`"));
            let names_rule = |text: &String| {
                door.is_silent() || names.iter().any(|name| text.contains(name.as_str()))
            };
            assert!(
                refused.as_ref().is_none_or(names_rule),
                "{door:?}: {refused:?}"
            );
        }
    }
}

#[test]
fn deny_rule_for_skills_stops_every_door() {
    for mode in ["ask", "yolo"] {
        assert_stops("", &DOORS, mode);
    }
}

#[test]
fn deny_rule_for_one_action_stops_that_action() {
    let loads = [
        Load, Fork, Run, Slash, SlashFork, Prompt, McpLoad, McpRun, McpPrompt, McpText, MainFile,
    ];
    assert_stops("/load", &loads, "ask");
    let reads = [Resource, McpText, McpFile, MainFile];
    assert_stops("/read", &reads, "ask");
    assert_stops("/run", &[Fork, Run, SlashFork, McpRun, Exec], "ask");
}

#[test]
fn run_is_refused_with_the_rule_before_any_model_is_asked() {
    let world = world("[permissions]\ndeny = ['skill:echo']\n");
    let model = script(&world, &[json!({"text": "no", "expect": ["never"]})]);
    let output = world.run(&["run", "echo", "--model", &model]).expect(3);
    let text = output.stderr.split_whitespace().collect::<Vec<_>>();
    let text = text.join(" ");
    assert!(text.contains("skill `echo` was not used"), "{text}");
    assert!(
        text.contains("a rule forbids it (rule `skill:echo`,"),
        "{text}"
    );
    // A skill that a rule forbids is not described to models.
    let prompt = world.run(&["prompt"]).expect(0).stdout;
    assert!(
        !prompt.contains("**echo**") && prompt.contains("**forky**"),
        "{prompt}"
    );
    let why = world.run(&["why", "echo"]).expect(1).stdout;
    assert!(why.contains("the permissions do not allow"), "{why}");
    let list = world.run(&["list"]).expect(0).stdout;
    let row = list.lines().find(|line| line.starts_with("echo "));
    assert!(row.is_some_and(|row| row.contains("denied")), "{list}");
}

/// As soon as an allow rule names skills, other skills are treated as the mode says.
#[test]
fn allowlist_restricts_other_skills() {
    let listed = |mode: &str| {
        let settings = format!("[permissions]\nmode = '{mode}'\nallow = ['skill:forky']\n");
        world(&settings)
    };
    let allow = listed("allow");
    for door in DOORS
        .into_iter()
        .filter(|door| !matches!(door, Fork | SlashFork))
    {
        let text = refusal(&allow, door).unwrap_or_else(|| panic!("{door:?}"));
        let says_why = door.is_silent() || text.contains("no rule allows");
        assert!(says_why, "{door:?}: {text}");
    }
    for door in [Fork, SlashFork] {
        assert_eq!(refusal(&allow, door), None, "{door:?}");
    }
    let prompt = allow.run(&["prompt"]).expect(0).stdout;
    assert!(
        !prompt.contains("**echo**") && prompt.contains("**forky**"),
        "{prompt}"
    );
    // In mode `ask`, a model needs approval; a user gave it with the call.
    let ask = listed("ask");
    let clients = [
        Load, Resource, McpLoad, McpPrompt, McpText, McpFile, MainFile,
    ];
    for door in clients {
        assert!(refusal(&ask, door).is_some(), "{door:?}");
    }
    for door in [Fork, SlashFork, Run, Slash, Prompt] {
        assert_eq!(refusal(&ask, door), None, "{door:?}");
    }
    assert!(ask.run(&["prompt"]).expect(0).stdout.contains("**echo**"));
    let yolo = listed("yolo");
    for door in DOORS {
        assert_eq!(refusal(&yolo, door), None, "{door:?}");
    }
}

#[test]
fn only_lists_the_skills_that_exist() {
    let world = world("[skills]\nonly = ['forky']\n[skills.visibility]\nother = 'off'\n");
    let prompt = world.run(&["prompt"]).expect(0).stdout;
    assert!(
        !prompt.contains("**echo**") && prompt.contains("**forky**"),
        "{prompt}"
    );
    let output = world.run(&["run", "echo", "--model", "echo"]).expect(2);
    assert!(
        output.stderr.contains("no skill named `echo`"),
        "{}",
        output.stderr
    );
    let why = world.run(&["why", "echo"]).expect(1).stdout;
    assert!(why.contains("`skills.only` does not list it"), "{why}");
    let output = world.run(&["list"]).expect(0);
    assert!(!output.stderr.contains("project"), "{}", output.stderr);
    // A project can restrict further, and says so.
    world.file(".agents/prowess.toml", "[skills]\nonly = ['echo']\n");
    let output = world.run(&["list"]).expect(0);
    assert!(
        output
            .stderr
            .contains("the project limits the available skills"),
        "{}",
        output.stderr
    );
    assert!(!output.stdout.contains("forky"), "{}", output.stdout);
    world.run(&["run", "echo", "--model", "echo"]).expect(2);
    world.run(&["run", "forky", "--model", "echo"]).expect(2);
    for name in ["echo", "forky"] {
        let output = world.run(&["exec", name, "--", "echo", "hi"]).expect(2);
        let text = format!("no skill named `{name}`");
        assert!(output.stderr.contains(&text), "{}", output.stderr);
    }
}

#[test]
fn pattern_in_visibility_is_an_error() {
    let world = world("[skills.visibility]\n'*' = 'off'\n");
    let output = world.run(&["list"]).expect(2);
    assert!(output.stderr.contains("use `only`"), "{}", output.stderr);
}

#[test]
fn trust_of_a_skill_in_the_home_folder_is_not_needed() {
    let world = World::new();
    world.file(
        "~/.claude/skills/any/SKILL.md",
        "---\nname: any\ndescription: Does it. Use it.\nallowed-tools: [Bash]\n---\nGo.\n",
    );
    let output = world.run(&["trust", "any"]).expect(0);
    assert!(
        output
            .stderr
            .contains("Needs no trust: it is in your home folder"),
        "{}",
        output.stderr
    );
    assert!(
        output.stdout.contains("May do anything without approval"),
        "{}",
        output.stdout
    );
    let found = world.run(&["trust", "any", "--json"]).expect(0).json();
    assert_eq!(found["skills"][0]["state"], "needs no trust");
}

#[test]
fn denied_run_action_keeps_the_commands_of_a_loaded_skill_from_running() {
    let world = World::new();
    let hooks = "hooks:\n  SessionStart:\n    - hooks:\n        - type: command\n          command: echo HOOKED\n";
    world.file(
        "~/.agents/skills/lively/SKILL.md",
        format!(
            "---\nname: lively\ndescription: Repeats. Use for echoes.\nallowed-tools: Bash(echo:*)\n{hooks}---\nBODY !`echo R\"\"AN`\n"
        ),
    );
    let settings =
        |rules: &str| format!("[permissions]\n{rules}\n[sandbox]\nstrength = 'best-effort'\n");
    world.file("~/config.toml", settings(""));
    let load = |world: &World| {
        let output = world.run(&[
            "tool",
            "call",
            "load_skill",
            "--json",
            r#"{"name": "lively"}"#,
        ]);
        format!("{}{}", output.stdout, output.stderr)
    };
    assert!(load(&world).contains("BODY RAN"), "{}", load(&world));
    world.file("~/config.toml", settings("deny = ['skill:lively/run']"));
    let text = load(&world);
    let note =
        "BODY [command not run: the permissions do not allow running commands as this skill]";
    assert!(text.contains(note), "{text}");
}

#[test]
fn rules_about_a_skill_apply_to_its_files_by_path() {
    let world = world("");
    world.file(
        ".agents/skills/inner/SKILL.md",
        "---\nname: inner\ndescription: Repeats. Use for echoes.\n---\nSECRET BODY\n",
    );
    world.file(".agents/skills/inner/notes.md", "SECRET NOTES\n");
    let reads = |world: &World, tool: &str, input: Value| {
        let call = json!({"calls": [{"name": tool, "input": input}]});
        let model = script(world, &[call, json!({"text": "done"})]);
        let arguments = [
            "run",
            "--task",
            "go",
            "--no-wait",
            "--model",
            &model,
            "--json",
        ];
        let output = world.run(&arguments).expect(0).stdout;
        output.contains("SECRET BODY") || output.contains("SECRET NOTES")
    };
    let text = ".agents/skills/inner/SKILL.md";
    let notes = ".agents/skills/inner/notes.md";
    for (rules, of_text, of_notes) in [
        ("", true, true),
        ("deny = ['skill:inner']", false, false),
        ("ask = ['skill:inner']", false, false),
        ("deny = ['skill:inner/load']", false, true),
        ("deny = ['skill:inner/read']", false, false),
        ("deny = ['skill:inner/run', 'skill:other']", true, true),
    ] {
        world.file("~/config.toml", format!("[permissions]\n{rules}\n"));
        for (file, expected) in [(text, of_text), (notes, of_notes)] {
            assert_eq!(
                reads(&world, "read", json!({"path": file})),
                expected,
                "{rules} {file}"
            );
            let search = json!({"pattern": "SECRET", "path": file});
            assert_eq!(
                reads(&world, "grep", search),
                expected,
                "{rules} {file} grep"
            );
        }
    }
}

#[test]
fn policy_check_applies_rules_about_the_skill() {
    let check = |world: &World| {
        let line = ["policy", "check", "--skill", "echo", "--", "echo", "hi"];
        world.run(&line).stdout
    };
    let open = world("");
    assert!(check(&open).starts_with("allow"), "{}", check(&open));
    for (rules, verdict) in [
        ("deny = ['skill:echo/run']", "deny"),
        ("deny = ['Skill(echo)']", "deny"),
        ("ask = ['skill:echo/run']", "ask"),
        ("deny = ['skill:echo/load']", "allow"),
    ] {
        let world = world(&format!("[permissions]\n{rules}\n"));
        let text = check(&world);
        assert!(text.starts_with(verdict), "{rules}: {text}");
    }
}
