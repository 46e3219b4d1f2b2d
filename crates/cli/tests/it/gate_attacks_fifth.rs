//! Fifth round of attacks on the gate: agents, questions that wait, and settings of a project.

use serde_json::{Value, json};

use crate::gate_attacks::{loads, skill, world, writes};
use crate::skill_rules::mcp;
use crate::world::{Output, World};

const HOME: &str = "~/.agents/skills";

fn agent(world: &World, name: &str, keys: &str) {
    let text =
        format!("---\nname: {name}\ndescription: The agent {name}.\n{keys}---\nYou are {name}.\n");
    world.file(format!("~/.claude/agents/{name}.md"), text);
}

fn bash(command: &str) -> Value {
    json!({"name": "bash", "input": {"command": command}})
}

fn starts(name: &str) -> Value {
    json!({"name": "call_agent", "input": {"name": name, "task": "x"}})
}

fn calls(call: &Value) -> Value {
    json!({ "calls": [call] })
}

/// A reply of the model, which fails unless the request contains the text.
fn after(expected: &str, text: &str) -> Value {
    json!({"text": text, "expect": [expected]})
}

/// Runs a command with a scripted model.
fn play(world: &World, arguments: &[&str], turns: &[Value]) -> Output {
    let text: String = turns.iter().map(|turn| format!("{turn}\n")).collect();
    let model = format!("scripted:{}", world.file("~/script.jsonl", text).display());
    let mut all = arguments.to_vec();
    all.extend(["--model", &model]);
    world.run(&all)
}

fn converse(world: &World, turns: &[Value]) -> Output {
    play(world, &["run", "--task", "go", "--no-wait"], turns)
}

/// Returns the id in the hint of a run that waits.
fn question(output: Output) -> String {
    let output = output.expect(6);
    let (_, rest) = output.stderr.split_once("`prowess answer ").unwrap();
    rest.split_once(" yes`").unwrap().0.to_owned()
}

/// Returns the verdict about a command line.
fn verdict(world: &World, folder: &str, command: &str) -> String {
    let arguments = ["policy", "check", "--", command];
    let output = world.command(&arguments).dir(folder).run();
    output.stdout.split(' ').next().unwrap_or_default().into()
}

/// G1: however an agent is named and started, `[agents.NAME]` restricts its skills.
#[test]
fn settings_of_an_agent_apply_however_it_is_started() {
    let world = world("[agents.coder]\nskills = ['rust']\n");
    agent(&world, "coder", "");
    for name in ["rust", "danger"] {
        skill(&world, HOME, name, "", &format!("BODY-{name}"));
    }
    let fork = "context: fork\nagent: user:coder\n";
    skill(&world, HOME, "via-fork", fork, "Do.");
    let tries = |name: &str, expected: &str| [calls(&loads(name)), after(expected, "tried")];
    let refused = tries("danger", "Unknown skill: danger");
    for name in ["coder", "user:coder", "claude:coder", "user:claude:coder"] {
        let run = ["agent", "run", name, "go", "--no-wait"];
        assert_eq!(play(&world, &run, &refused).expect(0).stdout, "tried\n");
    }
    for start in [starts("coder"), loads("via-fork")] {
        let mut turns = vec![calls(&start)];
        turns.extend(refused.clone());
        turns.push(after("tried", "done"));
        converse(&world, &turns).expect(0);
        // What the settings give stays.
        turns.splice(1..3, tries("rust", "BODY-rust"));
        converse(&world, &turns).expect(0);
    }
}

/// G1: the lead of a team is restricted by the name of the team as well.
#[test]
fn settings_of_a_team_apply_to_its_lead() {
    let world = world("[agents.dev]\nskills = ['rust']\n");
    skill(&world, HOME, "rust", "", "R");
    skill(&world, HOME, "danger", "", "D");
    let team = r#"{"members": [{"type": "orchestrator", "provider": "p", "model_id": "m",
        "system_prompt": "lead.md"}]}"#;
    world.file("~/.planck/teams/dev/TEAM.json", team);
    world.file("~/.planck/teams/dev/lead.md", "Lead.");
    let turns = [
        calls(&loads("danger")),
        after("Unknown skill: danger", "tried"),
    ];
    for name in ["dev", "dev/orchestrator"] {
        play(&world, &["agent", "run", name, "go"], &turns).expect(0);
    }
}

/// G9: `tools` of `[agents.NAME]` restricts agents of files, what they start, and skills that run as
/// them.
#[test]
fn tools_of_an_agent_in_the_settings_are_a_limit() {
    let settings = "[permissions]\nallow = ['Bash']\n[agents.deployer]\ntools = ['read']\n\
                    [agents.own]\ntools = ['read']\n";
    let world = world(settings);
    agent(&world, "deployer", "tools: Bash, Read, Agent(helper)\n");
    agent(&world, "helper", "");
    for name in ["own", "deployer"] {
        let keys = format!("context: fork\nagent: {name}\n");
        skill(&world, HOME, &format!("as-{name}"), &keys, "Do.");
    }
    let refused = [
        calls(&bash("echo RAN")),
        after("Unknown tool: bash", "tried"),
    ];
    for name in ["own", "deployer", "user:deployer"] {
        let run = ["agent", "run", name, "go"];
        assert_eq!(play(&world, &run, &refused).expect(0).stdout, "tried\n");
    }
    let below = |start: &Value| {
        let mut turns = vec![calls(start)];
        turns.extend(refused.clone());
        turns.push(after("tried", "done"));
        turns
    };
    for start in [starts("deployer"), loads("as-own"), loads("as-deployer")] {
        converse(&world, &below(&start)).expect(0);
    }
    let run = ["agent", "run", "deployer", "go"];
    play(&world, &run, &below(&starts("helper"))).expect(0);
    // Control: others have the tool.
    let run = ["agent", "run", "helper", "go"];
    let turns = [calls(&bash("echo RAN")), after("RAN", "done")];
    play(&world, &run, &turns).expect(0);
}

/// G2, G4: a rule about an agent holds for every spelling of its name.
#[test]
fn rules_about_agents_know_all_their_names() {
    for rule in [
        "Agent(deployer)",
        "Agent(user:deployer)",
        "Agent(claude:deployer)",
        "Task(user:claude:deployer)",
        "Agent(user:*)",
        "Agent(name: deployer)",
        "Task(subagent_type:deployer)",
        "Agent(\"deployer\")",
        "Agent(deployer, coder)",
        "call_agent(name:deployer)",
    ] {
        let world = world(&format!("[permissions]\ndeny = ['{rule}']\n"));
        agent(&world, "deployer", "");
        for name in ["deployer", "deployer ", " deployer"] {
            let turns = [calls(&starts(name)), json!({"text": "done"})];
            let output = converse(&world, &turns).expect(0);
            assert!(output.stderr.contains("  failed "), "{rule}: {name}");
        }
        let other = world.run(&["agent", "run", "Explore", "x", "--model", "echo"]);
        other.expect(0);
    }
    // Another agent is not affected.
    let world = world("[permissions]\ndeny = ['Agent(user:deployer)', 'Task(model:opus)']\n");
    agent(&world, "coder", "");
    let turns = [
        calls(&starts("coder")),
        json!({"text": "child"}),
        after("child", "done"),
    ];
    converse(&world, &turns).expect(0);
}

/// G3: an invalid rule makes the start of an agent need approval, like every request.
#[test]
fn invalid_rule_makes_agents_need_approval() {
    let world = world("[permissions]\nallow = ['Bash']\ndeny = ['agent:deployer']\n");
    agent(&world, "deployer", "");
    let turns = [
        calls(&starts("deployer")),
        after("every request needs approval", "done"),
    ];
    converse(&world, &turns).expect(0);
    let turns = [calls(&starts("deployer"))];
    let id = question(play(&world, &["run", "--task", "go"], &turns));
    let turns = [json!({"text": "child"}), after("child", "done")];
    play(&world, &["answer", &id, "yes"], &turns).expect(0);
}

/// G5: a skill that names an agent does not lead around the rules about it.
#[test]
fn rules_about_agents_apply_to_skills_that_run_as_them() {
    let keys = "context: fork\nagent: deployer\n";
    let settings = "[permissions]\ndeny = ['Agent(deployer)']\n";
    let world = world(settings);
    agent(&world, "deployer", "");
    skill(&world, HOME, "ship", keys, "Do.");
    skill(&world, HOME, "other", "context: fork\n", "Do.");
    let turns = [calls(&loads("ship")), after("Agent(deployer)", "done")];
    converse(&world, &turns).expect(0);
    let text = [json!({"text": "done"})];
    for typed in [
        &["run", "ship"][..],
        &["agent", "run", "deployer", "x"],
        &["agent", "run", "user:deployer", "x"],
    ] {
        let output = play(&world, typed, &text).expect(3);
        assert!(
            output.stderr.contains("Agent(deployer)"),
            "{}",
            output.stderr
        );
    }
    // A message in a chat, and a client.
    let chat = world.command(&["chat", "--model", "echo"]);
    let chat = chat.stdin("/ship hi\n").run();
    assert!(chat.stderr.contains("Agent(deployer)"), "{}", chat.stderr);
    let answer = mcp(&world, "run_skill", "ship");
    assert!(answer.contains("Agent(deployer)"), "{answer}");
    assert!(mcp(&world, "run_skill", "other").contains("done"));
    // Controls: a fork without that agent, and an ask rule if the user types the name.
    let turns = [
        calls(&loads("other")),
        json!({"text": "child"}),
        after("child", "done"),
    ];
    converse(&world, &turns).expect(0);
    world.file("~/config.toml", settings.replace("deny", "ask"));
    play(&world, &["run", "ship"], &text).expect(0);
    play(&world, &["agent", "run", "deployer", "x"], &text).expect(0);
    let id = question(play(
        &world,
        &["run", "--task", "go"],
        &[calls(&loads("ship"))],
    ));
    let turns = [json!({"text": "child"}), after("child", "done")];
    play(&world, &["answer", &id, "yes"], &turns).expect(0);
}

/// G6: an answer is for one command, even if a skill has the same one twice.
#[test]
fn one_answer_runs_one_command() {
    let world = world("");
    world.file_with_mode("t.sh", "#!/bin/sh\necho RAN\n", 0o755);
    skill(&world, HOME, "twice", "", "!`./t.sh`\n\n!`./t.sh`");
    let text = [json!({"text": "done"})];
    let first = question(play(&world, &["run", "twice"], &text));
    let second = question(play(&world, &["answer", &first, "yes"], &text));
    assert_ne!(first, second);
    let session = first.split('-').next().unwrap();
    let exported = || world.run(&["session", "export", session]).expect(0).stdout;
    assert!(
        !exported().contains("RAN"),
        "none ran before all were approved"
    );
    play(&world, &["answer", &second, "yes"], &text).expect(0);
    assert!(exported().contains("RAN"));
}

/// Control for G6: a rule about a tool of a server, and the tool itself, ask one question.
#[test]
fn rule_about_a_tool_asks_once() {
    let world = World::new();
    world.file(
        "~/shop/.agents/skills/refunds/SKILL.md",
        "---\nname: refunds\ndescription: Gives money back.\n---\nPay.\n",
    );
    let settings = format!(
        "[permissions]\nask = ['mcp__shop__list_skills']\n[mcp.servers.shop]\ncommand = {:?}\n\
         args = ['mcp']\ncwd = '{}'\nenv = {{ PROWESS_HOME = '${{HOME}}/none' }}\n",
        env!("CARGO_BIN_EXE_prowess"),
        world.path("~/shop").display(),
    );
    world.file("~/config.toml", settings);
    let lists = json!({"name": "mcp__shop__list_skills", "input": {}});
    let run = ["run", "--task", "go"];
    let id = question(play(&world, &run, &[calls(&lists)]));
    let turns = [after("refunds", "done")];
    play(&world, &["answer", &id, "yes"], &turns).expect(0);
}

/// G13: an answer is for the files of the skill as they were when it was asked.
#[test]
fn answer_does_not_cover_files_that_changed_after_the_question() {
    let command = json!({"reason": "r", "commandLine": "./scripts/go.sh"});
    let runs = calls(&json!({"name": "run_command_line", "input": command}));
    let script = |text: &str| format!("#!/bin/sh\necho {text}\n");
    for (keys, start) in [
        ("", &["run", "dep"][..]),
        ("context: fork\n", &["run", "--task", "go"]),
    ] {
        for is_changed in [false, true] {
            let world = world("");
            skill(&world, HOME, "dep", keys, "Do.");
            let file = format!("{HOME}/dep/scripts/go.sh");
            world.file_with_mode(&file, script("VERSION-ONE"), 0o755);
            let mut turns = vec![runs.clone()];
            if !keys.is_empty() {
                turns.insert(0, calls(&loads("dep")));
            }
            let id = question(play(&world, start, &turns));
            if is_changed {
                world.file_with_mode(&file, script("VERSION-TWO"), 0o755);
            }
            let text = [json!({"text": "child"}), json!({"text": "done"})];
            let output = play(&world, &["answer", &id, "yes"], &text);
            if is_changed {
                assert_ne!(question(output), id, "{keys}");
            } else {
                output.expect(0);
            }
            let session = id.split('-').next().unwrap();
            let record = world.run(&["session", "export", session]).expect(0).stdout;
            assert_eq!(
                record.contains("VERSION-ONE"),
                !is_changed,
                "{keys} {record}"
            );
            assert!(!record.contains("VERSION-TWO"), "{keys} {record}");
        }
    }
}

/// G14: an answer about loading a skill or starting an agent is for its files as they were.
#[test]
fn answer_does_not_cover_a_skill_or_agent_that_changed_after_the_question() {
    let settings = "[permissions]\nask = ['Skill(dep)', 'Agent(coder)']\n";
    for call in [loads("dep"), starts("coder")] {
        for is_changed in [false, true] {
            let world = world(settings);
            skill(&world, HOME, "dep", "", "Do.");
            agent(&world, "coder", "");
            let turns = [calls(&call)];
            let id = question(play(&world, &["run", "--task", "go"], &turns));
            if is_changed {
                skill(&world, HOME, "dep", "allowed-tools: Bash\n", "Do.");
                agent(&world, "coder", "tools: Bash\n");
            }
            let text = [json!({"text": "child"}), json!({"text": "done"})];
            let output = play(&world, &["answer", &id, "yes"], &text);
            if is_changed {
                assert_ne!(question(output), id, "{call}");
            } else {
                output.expect(0);
            }
        }
    }
}

/// Settings that restrict an agent since its session started apply when it is resumed.
#[test]
fn settings_of_an_agent_apply_to_a_resumed_session() {
    let world = world("");
    agent(&world, "coder", "");
    for name in ["rust", "danger"] {
        skill(&world, HOME, name, "", "Do.");
    }
    let read = json!({"name": "read", "input": {"path": "/etc/passwd"}});
    let run = ["agent", "run", "coder", "go"];
    let id = question(play(&world, &run, &[calls(&read)]));
    let settings = "[agents.coder]\nskills = ['rust']\ntools = ['read']\n";
    world.file("~/config.toml", settings);
    let turns = [
        calls(&loads("danger")),
        json!({"calls": [bash("ls")], "expect": ["Unknown skill: danger"]}),
        after("Unknown tool: bash", "done"),
    ];
    play(&world, &["answer", &id, "no"], &turns).expect(0);
}

/// G12: an answer reaches an agent with its own skills, although its caller has loaded another one.
#[test]
fn answer_reaches_an_agent_with_its_own_skills() {
    for is_edited in [false, true] {
        let world = world("");
        let keys = "disallowed-tools: Bash(touch:*)\n";
        skill(&world, HOME, "guard", keys, "Guard.");
        skill(&world, "~/.agents/sub/skills", "inner", "", "Inner.");
        world.file("~/.agents/sub/AGENTS.md", "You are sub.");
        let settings = json!({"subagents": [{"name": "sub", "description": "d", "root": "sub"}]});
        world.file("~/.agents/config.json", settings.to_string());
        let turns = [
            calls(&loads("guard")),
            calls(&starts("sub")),
            calls(&bash("mkdir made")),
        ];
        let id = question(play(&world, &["run", "--task", "go"], &turns));
        if is_edited {
            skill(&world, HOME, "guard", "", "Guard.");
        }
        let turns = [
            calls(&bash("touch evil")),
            json!({"text": "child"}),
            json!({"text": "done"}),
        ];
        let answer = ["answer", &id, "yes", "--edits", "--no-wait"];
        let output = play(&world, &answer, &turns);
        assert_eq!(world.exists("made"), !is_edited, "{}", output.stderr);
        assert!(!world.exists("evil"), "{}", output.stderr);
    }
}

/// G10: a file in a subfolder does not lift the restrictions of the project, even if a model wrote it.
#[test]
fn settings_in_a_subfolder_do_not_lift_those_of_the_project() {
    let world = world("[permissions]\nallow = ['Bash', 'Edit(./**)']\n");
    world.folder(".git");
    world.folder("sub/deep");
    let outer = "[permissions]\ndeny = ['Bash(rm:*)']\nask = ['Bash(mv:*)']\n[validate]\nprofile = 'spec'\n";
    world.file(".agents/prowess.toml", outer);
    let rules = json!({"permissions": {"deny": ["bash:mkfs *"]}, "path_scope": {"deny": ["keep"]}});
    world.file(".agents/config.json", rules.to_string());
    let check = || {
        for folder in ["", "sub", "sub/deep"] {
            for (command, expected) in [
                ("rm x", "deny"),
                ("mkfs x", "deny"),
                ("mv a b", "ask"),
                ("ls", "allow"),
            ] {
                let found = verdict(&world, folder, command);
                assert_eq!(found, expected, "{folder}: {command}");
            }
        }
    };
    check();
    let turns = [
        calls(&writes("sub/.agents/prowess.toml", "")),
        calls(&writes("sub/.agents/config.json", "{}")),
        calls(&writes("sub/deep/.agents/prowess.toml", "")),
        json!({"text": "done"}),
    ];
    play(&world, &["run", "--task", "go", "--edits"], &turns).expect(0);
    check();
    // The nearer file adds its own.
    let inner = "[permissions]\ndeny = ['Bash(ls:*)']\n";
    world.file("sub/.agents/prowess.toml", inner);
    assert_eq!(verdict(&world, "sub", "ls"), "deny");
    assert_eq!(verdict(&world, "sub", "rm x"), "deny");
    assert_eq!(verdict(&world, "", "ls"), "allow");
    // A damaged file above does not pass unnoticed.
    world.file(".agents/config.json", "{");
    assert_eq!(verdict(&world, "sub", "cat a"), "ask");
}

/// G7: restrictions of core-agent that cannot be read make every request a prompt.
#[test]
fn unread_restrictions_of_core_agent_need_approval() {
    for (settings, expected) in [
        (json!({"tools": ["bash"]}), "ask"),
        (json!({"tools": "bash"}), "ask"),
        (json!({"path_scope": ["keep"]}), "ask"),
        (json!({"url_scope": "example.com"}), "ask"),
        (json!({"tools": null, "path_scope": {}}), "allow"),
        (json!({"tools": {"disable": []}}), "allow"),
    ] {
        let world = world("[permissions]\nallow = ['Bash']\n");
        world.file(".agents/config.json", settings.to_string());
        assert_eq!(verdict(&world, "", "ls"), expected, "{settings}");
    }
}

/// G8: patterns of files and hosts without a tool are no rules about tools, which would match nothing.
#[test]
fn restrictions_without_a_tool_are_reported() {
    for (rule, expected) in [
        ("*.env", "ask"),
        ("secrets/*", "ask"),
        ("config/.env", "ask"),
        ("example.com", "ask"),
        ("Read(*.env)", "allow"),
        ("jira_*", "allow"),
        ("mcp__jira__a.b", "allow"),
    ] {
        let core_agent = world("[permissions]\nallow = ['Bash']\n");
        let settings = json!({"permissions": {"deny": [rule]}});
        core_agent.file(".agents/config.json", settings.to_string());
        let own = world(&format!(
            "[permissions]\nallow = ['Bash']\ndeny = ['{rule}']\n"
        ));
        for world in [core_agent, own] {
            assert_eq!(verdict(&world, "", "ls"), expected, "{rule}");
        }
    }
}

/// G11: hooks see the start of an agent under the names of Claude Code.
#[test]
fn hooks_about_agents_see_their_start() {
    for (matcher, is_refused) in [
        ("Task", true),
        ("Agent", true),
        ("call_agent", true),
        ("Bash", false),
    ] {
        let world = world("[permissions]\nallow = ['Bash']\n");
        agent(&world, "deployer", "");
        let keys = format!(
            "allowed-tools: Bash\nhooks:\n  PreToolUse:\n    - matcher: \"{matcher}\"\n      \
             hooks:\n        - type: command\n          command: \"echo no >&2; exit 2\"\n"
        );
        skill(&world, HOME, "guard", &keys, "Guard.");
        let turns = [
            calls(&loads("guard")),
            calls(&starts("deployer")),
            json!({"text": "child"}),
            json!({"text": "done"}),
        ];
        let output = converse(&world, &turns).expect(0);
        let refused = output.stderr.contains("refused this call");
        assert_eq!(refused, is_refused, "{matcher}: {}", output.stderr);
    }
}

/// G16: frontmatter of an agent that cannot be read does not lift the limits of the agent.
#[test]
fn unread_frontmatter_of_an_agent_restricts_it() {
    let deep = format!("tools: [Read]\nx: {}{}", "[".repeat(30), "]".repeat(30));
    let large = format!("tools: [Read]\nx: {}", "y".repeat(20_000));
    let refused = [
        "tools: &a Read",
        "tools: [Read]\nx: &a b",
        "tools: [Read]\nx: !!str b",
        "tools: [Read]\n<<: *a",
        "tools: [Read]\nx: {{ y }}",
        &deep,
        &large,
        "disallowedTools: Bash\nx: &a b",
        "disallowedTools: {Bash: true}",
        "disallowedTools: [[Bash]]",
        "permissionMode: Plan",
        "permissionMode: [plan]",
        "permissionMode: plan\nx: &a b",
        "\"too\\x6cs\": [Read]\nx: &a b",
    ];
    // Controls: without such a key, and with a key that was repaired or is elsewhere.
    let allowed = [
        "color: red",
        "tools: Bash",
        "tools: Bash\ncolor: a: b",
        "color: &a red",
    ];
    let cases = refused.iter().map(|keys| (*keys, true));
    for (keys, is_refused) in cases.chain(allowed.map(|keys| (keys, false))) {
        let world = world("[permissions]\nallow = ['Bash']\n");
        agent(&world, "a", &format!("{keys}\n"));
        let expected = if is_refused {
            "Unknown tool: bash"
        } else {
            "RAN"
        };
        let turns = [calls(&bash("echo RAN")), after(expected, "done")];
        let output = play(&world, &["agent", "run", "a", "go"], &turns);
        assert_eq!(output.code, 0, "{keys}: {}", output.stderr);
    }
    let world = world("[permissions]\nallow = ['Bash']\n");
    let turns = [
        calls(&bash("echo RAN")),
        after("Unknown tool: bash", "done"),
    ];
    for text in [
        &b"---\nname: a\ndescription: d\ntools: [Read]\n\nYou are a.\n"[..],
        b"---\nname: a\ndescription: \xff\ntools: [Read]\n---\nYou are a.\n",
        b"---\nname: a\ndescription: d\n tools: Read\n---\nYou are a.\n",
    ] {
        world.file("~/.claude/agents/a.md", text);
        play(&world, &["agent", "run", "a", "go"], &turns).expect(0);
    }
}

/// G17: a skill that an agent's file loads from the start is subject to the rules about skills.
#[test]
fn rules_about_skills_apply_to_those_that_an_agent_has_from_the_start() {
    for (rules, is_loaded) in [
        ("deny = ['Skill(danger)']", false),
        ("deny = ['skill:danger/load']", false),
        ("ask = ['Skill(danger)']", false),
        ("allow = ['Skill(rust *)']", false),
        ("deny = ['Skill(rust)']", true),
        ("", true),
    ] {
        let world = world(&format!("[permissions]\n{rules}\n"));
        agent(&world, "pre", "skills: danger\n");
        skill(&world, HOME, "rust", "", "R");
        skill(&world, HOME, "danger", "", "BODY-danger");
        let run = ["agent", "run", "pre", "go", "--no-wait", "--json"];
        let output = play(&world, &run, &[json!({"text": "done"})]).expect(0);
        let found = output.stdout.contains("BODY-danger");
        assert_eq!(found, is_loaded, "{rules}: {}", output.stdout);
    }
}
