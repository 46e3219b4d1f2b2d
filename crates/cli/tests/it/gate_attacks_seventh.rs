//! Seventh round of attacks on the gate: folders of grants, the source of answers, lists of tools.
//! `docs/dev/audits.md` lists the finding of each test.

use serde_json::{Value, json};

use crate::gate_attacks::{converse, loads, skill, world};
use crate::mission_runs::script;
use crate::terminal::on_terminal_with;
use crate::world::World;

const HOME_SKILLS: &str = "~/.agents/skills";

fn bash(command: &str) -> Value {
    json!({ "name": "bash", "input": { "command": command } })
}

fn as_skill(command: &str) -> Value {
    json!({ "name": "run_command_line", "input": { "reason": "r", "commandLine": command } })
}

/// Returns the events of one kind of the newest session.
fn recorded(world: &World, kind: &str) -> Vec<Value> {
    let sessions = world.run(&["session", "list", "--json"]).expect(0).json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    let shown = world
        .run(&["session", "show", &id, "--json"])
        .expect(0)
        .json();
    let events = shown["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["event"] == kind)
        .cloned()
        .collect()
}

/// A skill and a project that both have a `check.sh` and a `run.py`.
fn twins(world: &World, keys: &str, body: &str) {
    skill(world, HOME_SKILLS, "x", keys, body);
    for (folder, text) in [("~/.agents/skills/x/", "OF-SKILL"), ("", "OF-PROJECT")] {
        let shell = format!("#!/bin/sh\necho {text}\n");
        world.file_with_mode(&format!("{folder}check.sh"), shell, 0o755);
        world.file(format!("{folder}run.py"), format!("print('{text}')\n"));
    }
}

/// S1: the rule of a skill about its own script ran the project's file of the same name.
#[test]
fn relative_rule_of_a_skill_runs_no_file_of_the_project() {
    let world = world("");
    let keys = "allowed-tools: Bash(./check.sh) Bash(python3 run.py:*)\n";
    twins(&world, keys, "Out: !`./check.sh`");
    let output = world.run(&["prompt", "--skill", "x"]);
    let shown = format!("{}{}", output.stdout, output.stderr);
    assert!(!shown.contains("OF-PROJECT"), "{shown}");
    assert!(shown.contains("no rule allows `./check.sh`"), "{shown}");
    twins(&world, keys, "Go.");
    let calls = [
        loads("x"),
        bash("./check.sh"),
        bash("python3 run.py"),
        as_skill("./check.sh"),
    ];
    let shown = converse(&world, &calls, &[]);
    assert!(shown.contains("OF-SKILL"), "{shown}");
    assert!(!shown.contains("OF-PROJECT"), "{shown}");
}

/// S2: an answer about a script of a skill covered the same words in the project.
#[test]
fn answer_about_a_script_of_a_skill_is_for_its_folder() {
    let world = world("");
    twins(&world, "", "Go.");
    let turns = [
        loads("x"),
        as_skill("python3 run.py"),
        as_skill("python3 run.py"),
        bash("python3 run.py"),
    ];
    let mut turns: Vec<Value> = turns
        .iter()
        .map(|call| json!({ "calls": [call] }))
        .collect();
    turns.push(json!({ "text": "end" }));
    let model = script(&world, "~/m.jsonl", &turns);
    let run = ["run", "--task", "go", "--model", &model];
    let typed = [("N] ", "s\n"), ("s\r\n", "n\n")];
    let shown = on_terminal_with(&world, 200, &run, &typed, |_| {});
    // The question names the folder.
    let folder = world.path("~/.agents/skills/x");
    let folder = format!("in {:?}", folder.to_string_lossy());
    assert!(shown.contains(&folder), "{shown}");
    let ended = recorded(&world, "call_ended");
    let ended: Vec<String> = ended
        .iter()
        .map(|it| it["result"]["text"].to_string())
        .collect();
    assert!(
        ended[1].contains("OF-SKILL") && ended[2].contains("OF-SKILL"),
        "{ended:?}"
    );
    assert!(!ended.concat().contains("OF-PROJECT"), "{ended:?}");
    // S4: the second time, the earlier answer decided.
    let decided = recorded(&world, "decided");
    let granted = decided.iter().filter(|it| it["verdict"] == "allow");
    let granted: Vec<&Value> = granted
        .filter(|it| it["what"] == "python3 run.py")
        .collect();
    assert_eq!(granted.len(), 1, "{decided:?}");
    assert_eq!(
        (&granted[0]["by"], &granted[0]["who"]),
        (&json!("person"), &json!("terminal"))
    );
}

/// S2: `--approve` for a file of the project ran that of a skill.
#[test]
fn approval_in_advance_is_about_the_project() {
    let world = world("");
    twins(&world, "", "Go.");
    let calls = [loads("x"), as_skill("./check.sh"), bash("./check.sh")];
    let shown = converse(&world, &calls, &["--approve", "Bash(./check.sh)"]);
    assert!(shown.contains("OF-PROJECT"), "{shown}");
    assert!(!shown.contains("OF-SKILL"), "{shown}");
}

/// S5: a skill that may run every command ran what the user denied.
#[test]
fn skill_with_every_command_runs_no_denied_program() {
    let world = world("[permissions]\ndeny = ['Bash(date:*)']\n");
    for text in [
        "x=te; da$x +RAN",
        "$'\\x{64}ate' +RAN",
        "$'date\\0z' +RAN",
        "# don't\necho ${#x}; date +RAN\n: }",
        "cat <<\"$E\"\nit's\n$E\ndate +RAN",
    ] {
        let body = format!("```!\n{text}\n```");
        skill(&world, HOME_SKILLS, "x", "allowed-tools: Bash\n", &body);
        let output = world.run(&["prompt", "--skill", "x"]);
        assert!(!output.stdout.contains("RAN"), "{text}: {}", output.stdout);
        assert_ne!(output.code, 0, "{text}: {}", output.stdout);
    }
}

/// S7: a rule about an argument did not look into lists and objects.
#[test]
fn rules_about_arguments_apply_to_lists() {
    let world = world("[permissions]\ndeny = ['load_skill(arguments:prod*)']\n");
    skill(&world, HOME_SKILLS, "x", "", "DEPLOYS $ARGUMENTS");
    for given in [
        json!("prod"),
        json!(" prod"),
        json!(["prod"]),
        json!({ "target": "prod" }),
    ] {
        let call = json!({ "name": "load_skill", "input": { "name": "x", "arguments": given } });
        let shown = converse(&world, &[call], &[]);
        assert!(!shown.contains("DEPLOYS"), "{given}: {shown}");
    }
}

/// S9: the pattern in a list of tools was dropped.
#[test]
fn pattern_in_a_list_of_tools_gives_no_whole_tool() {
    let world =
        world("[permissions]\nallow = ['Bash(echo:*)']\n[agents.a]\ntools = ['Read(docs/**)']\n");
    world.file("secret/f", "THE-SECRET");
    world.file(
        "~/.claude/agents/b.md",
        "---\nname: b\ndescription: d\ntools: Read(docs/**), Bash(git status:*)\n---\nYou.\n",
    );
    let read = json!({ "name": "read", "input": { "path": "secret/f" } });
    for agent in ["a", "b"] {
        let shown = converse(
            &world,
            &[read.clone(), bash("echo R-A-N | tr -d -")],
            &["--agent", agent],
        );
        assert!(!shown.contains("THE-SECRET"), "{agent}: {shown}");
        assert!(!shown.contains("\"RAN"), "{agent}: {shown}");
        assert!(shown.contains("call_ended"), "{agent}: {shown}");
    }
    let output = world.run(&["run", "--agent", "b", "--task", "go", "--model", "echo"]);
    let told = "does not get tools that its list limits with a pattern: `Read(docs/**)`";
    assert!(output.stderr.contains(told), "{}", output.stderr);
}

const TEAM: &str = r#"{"name":"dev","description":"d","members":[
{"type":"orchestrator","provider":"anthropic","model_id":"x","system_prompt":"L"},
{"type":"builder","name":"Builder","description":"b","provider":"anthropic","model_id":"x","system_prompt":"B","tools":["read","bash"]}]}"#;

/// S10: the tools that the settings give to a member bound neither the member by its own name nor an
/// agent that the team defines.
#[test]
fn settings_of_a_member_apply_to_all_its_names_and_to_defined_agents() {
    let call = json!({ "name": "call_agent", "input": { "name": "Builder", "task": "t" } });
    let spawn = |name: &str| json!({ "name": "spawn_agent", "input": { "name": name, "task": "t", "tools": ["bash"], "skills": [] } });
    for (key, started, runs) in [
        ("other", &call, true),
        ("dev/Builder", &call, false),
        ("Builder", &call, false),
        ("builder", &call, false),
        ("other", &spawn("Builder"), true),
        ("dev/Builder", &spawn("Builder"), false),
        ("Builder", &spawn("Builder"), false),
        ("Builder", &spawn("worker"), false),
    ] {
        let world = world(&format!(
            "[permissions]\nallow = ['Bash(echo:*)']\n[agents.'{key}']\ntools = ['read']\n"
        ));
        world.file("~/.planck/teams/dev/TEAM.json", TEAM);
        let turns = [
            json!({ "calls": [started] }),
            json!({ "calls": [bash("echo A''B")] }),
            json!({ "text": "b" }),
            json!({ "text": "end" }),
        ];
        let model = script(&world, "~/m.jsonl", &turns);
        let run = [
            "agent",
            "run",
            "dev",
            "go",
            "--no-wait",
            "--model",
            &model,
            "--json",
        ];
        let shown = world.run(&run).stdout;
        assert_eq!(shown.contains("AB"), runs, "{key} {started}: {shown}");
    }
}

/// S12: a model unloaded the skill that the user invoked to restrict it.
#[test]
fn model_does_not_lift_the_restrictions_of_the_user() {
    let world = world("[permissions]\nallow = ['Bash(echo:*)']\n");
    skill(
        &world,
        HOME_SKILLS,
        "g",
        "disallowed-tools: Bash(echo no:*)\n",
        "Guard.",
    );
    let unload = json!({ "name": "unload_skill", "input": { "name": "g" } });
    let turns = [
        json!({ "calls": [unload] }),
        json!({ "calls": [bash("echo no A''B")] }),
        json!({ "text": "end" }),
    ];
    let model = script(&world, "~/m.jsonl", &turns);
    let chat = ["chat", "--plain", "--no-wait", "--model", &model];
    world.command(&chat).stdin("/g\n").run();
    let ended = recorded(&world, "call_ended");
    let ended: Vec<String> = ended
        .iter()
        .map(|it| it["result"]["text"].to_string())
        .collect();
    assert_eq!(ended.len(), 2, "{ended:?}");
    let is_refused = |text: &String| text.contains("was refused");
    assert!(ended.iter().all(is_refused), "{ended:?}");
}
