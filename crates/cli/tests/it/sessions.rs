//! `prowess run`, `session`, `chat` and `demo`, with real skills and commands and a scripted model.

use std::process::Command;

use prowess_test::wait_until;
use serde_json::{Value, json};

use crate::world::{Output, Running, World};

const SCHEMA: &str = r#"{"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"], "additionalProperties": false}"#;

/// Returns a world with a skill in the home folder, which needs no trust.
fn world() -> World {
    let world = World::new();
    world.file(
        "~/.agents/skills/add-up/SKILL.md",
        "---\nname: add-up\ndescription: Adds up numbers. Use for sums.\narguments: file\nallowed-tools: Bash(cat:*)\n---\nThe numbers:\n\n!`cat \"$file\"`\n\nAdd them up.\n",
    );
    world.file("numbers.txt", "1\n2\n");
    world
}

fn script(world: &World, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("scripted:{}", world.file("script.jsonl", text).display())
}

fn events(output: &Output) -> Vec<Value> {
    output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Reading the certificates of the system took four fifths of the instructions of a short run.
#[test]
fn run_without_https_does_not_read_certificates() {
    let world = world();
    // Opening it for reading blocks for ever.
    let certificates = world.path("certificates.pem");
    let made = Command::new("mkfifo").arg(&certificates).status().unwrap();
    assert!(made.success());
    let model = script(&world, &[json!({"text": "done"})]);
    let output = world
        .command(&["run", "--task", "hello", "--model", &model])
        .env("SSL_CERT_FILE", certificates)
        .patience(30)
        .run()
        .expect(0);
    assert_eq!(output.stdout, "done\n");
}

#[test]
fn demo_is_a_complete_run() {
    let world = World::new();
    let output = world.run(&["demo"]).expect(0);
    let has = |part: &str| assert!(output.stdout.contains(part), "{part}\n{}", output.stdout);
    has("The model is scripted; everything else is real.");
    has("you have no skills yet");
    has("called load_skill release-notes");
    has("`head -n 30 \"$file\"`");
    has("rejected: `highlights` must be an array, not a string.");
    has("the value matches the schema");
    has("The option `--legacy-index` was removed.");
    // The session was recorded.
    let id = output.stdout.split("prowess session show ").nth(1).unwrap();
    let id = id.split_whitespace().next().unwrap();
    let shown = world.run(&["session", "show", id]).expect(0);
    assert!(
        shown.stdout.contains("allowed `head -n 30 \"$file\"`"),
        "{}",
        shown.stdout
    );
    let why = world
        .run(&["why", "--session", id, "--turn", "2"])
        .expect(0);
    assert!(why.stdout.contains("Bash(head:*)"), "{}", why.stdout);
}

#[test]
fn demo_json_lists_commands_and_sandbox() {
    let world = World::new();
    world.good(".agents/skills/mine");
    let found = world.run(&["demo", "--json"]).expect(0).json();
    assert_eq!(found["model"], "scripted");
    assert_eq!(
        found["result"]["breaking"],
        json!(["The option `--legacy-index` was removed."])
    );
    assert_eq!(found["commands"][0]["code"], 0);
    let layers = found["commands"][0]["sandbox"].as_array().unwrap();
    assert!(
        layers.iter().any(|layer| layer["state"] == "on"),
        "{layers:?}"
    );
    let text = world.run(&["demo"]).expect(0).stdout;
    assert!(text.contains("1 demo skill, 1 in this project  "), "{text}");
}

#[test]
fn demo_of_a_mission_is_a_complete_run() {
    let world = World::new();
    let output = world.run(&["demo", "--mission"]).expect(0);
    let id = output.stdout.split("prowess mission show ").nth(1).unwrap();
    let id = id.split_whitespace().next().unwrap();
    insta::assert_snapshot!("demo_mission", output.stdout.replace(id, "RUN-ID"));
    // The run was recorded, and its sessions can be read.
    let shown = world
        .run(&["mission", "show", id, "--json"])
        .expect(0)
        .json();
    assert_eq!(shown["tasks"][3]["state"], "not started");
    let session = shown["tasks"][2]["units"][0]["session"].as_str().unwrap();
    let read = world.run(&["session", "show", session]).expect(0);
    assert!(read.stdout.contains("writer"), "{}", read.stdout);
    let json = world.run(&["demo", "--mission", "--json"]).expect(0).json();
    assert_eq!(json["schema"], "prowess.demo/1");
    assert_eq!(
        json["mission"]["outputs"]["classify"][1],
        json!({ "kind": "problem", "severity": 3 })
    );
}

#[test]
fn skill_returns_a_value_that_matches_the_schema() {
    let world = world();
    let model = script(
        &world,
        &[
            json!({"calls": [{"name": "submit", "input": {"total": "3"}}], "expect": ["Run skill: add-up", "1\n2"]}),
            json!({"calls": [{"name": "submit", "input": {"total": 3}}], "expect": "`total` must be a number"}),
        ],
    );
    let arguments = [
        "run",
        "add-up",
        "--arg",
        "file=numbers.txt",
        "--output-schema",
        SCHEMA,
        "--model",
        &model,
    ];
    let output = world.run(&arguments).expect(0);
    assert_eq!(
        serde_json::from_str::<Value>(&output.stdout).unwrap(),
        json!({"total": 3})
    );
    assert!(
        output.stderr.contains("submitted in 2 turns"),
        "{}",
        output.stderr
    );

    // The same as an event stream that ends with the result.
    let model = script(
        &world,
        &[json!({"calls": [{"name": "submit", "input": {"total": 3}}]})],
    );
    let arguments = [
        "run",
        "add-up",
        "numbers.txt",
        "--output-schema",
        SCHEMA,
        "--model",
        &model,
        "--json",
    ];
    let lines = events(&world.run(&arguments).expect(0));
    assert_eq!(lines[0]["event"]["event"], "started");
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["type"], &last["outcome"]),
        (&json!("result"), &json!("submitted"))
    );
    assert_eq!(last["result"], json!({"total": 3}));
    let started: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "event")
        .collect();
    assert!(
        started
            .iter()
            .any(|line| line["event"]["event"] == "decided")
    );
}

#[test]
fn outcome_determines_the_exit_code() {
    let world = world();
    let with = |lines: &[Value], more: &[&str]| {
        let model = script(&world, lines);
        let mut arguments = vec!["run", "add-up", "numbers.txt", "--model", &model];
        arguments.extend(more);
        world.run(&arguments)
    };
    let words = json!({"text": "Three."});
    let output = with(std::slice::from_ref(&words), &[]).expect(0);
    assert_eq!(output.stdout, "Three.\n");

    let output = with(
        &[words.clone(), words.clone()],
        &["--output-schema", SCHEMA],
    )
    .expect(1);
    assert!(
        output.stderr.contains("error: the model gave no result"),
        "{}",
        output.stderr
    );

    let call = json!({"calls": [{"name": "load_skill_resource", "input": {"skill_name": "add-up", "resource_path": "SKILL.md"}}]});
    let output = with(&[call], &["--max-turns", "1"]).expect(5);
    assert!(
        output.stderr.contains("the turn limit was reached"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("prowess session resume"),
        "{}",
        output.stderr
    );

    let output = with(
        &[json!({"error": {"kind": "auth", "message": "no such key"}})],
        &[],
    )
    .expect(4);
    assert!(output.stderr.contains("no such key"), "{}", output.stderr);

    let output = world
        .run(&["run", "add-up", "--model", "anthropic/claude-sonnet-4-6"])
        .expect(4);
    assert!(
        output.stderr.contains("ANTHROPIC_API_KEY"),
        "{}",
        output.stderr
    );

    let output = world.run(&["run", "ad-up", "--model", "echo"]).expect(2);
    assert!(output.stderr.contains("add-up"), "{}", output.stderr);
}

#[test]
fn without_a_terminal_only_approved_calls_run() {
    let world = world();
    let line =
        json!({"calls": [{"name": "write", "input": {"path": "out.txt", "content": "3\n"}}]});
    let done = json!({"text": "Done."});
    let model = script(&world, &[line.clone(), done.clone()]);
    let arguments = [
        "run",
        "--task",
        "Write it down.",
        "--no-wait",
        "--model",
        &model,
    ];
    let output = world.run(&arguments).expect(0);
    assert!(output.stderr.contains("refused"), "{}", output.stderr);
    assert!(!world.path("out.txt").exists());

    let model = script(&world, &[line, done]);
    let arguments = [
        "run",
        "--task",
        "Write it down.",
        "--model",
        &model,
        "--approve",
        "Write(out.txt)",
    ];
    world.run(&arguments).expect(0);
    assert_eq!(world.read("out.txt"), "3\n");

    let output = world.run(&[
        "run",
        "--task",
        "x",
        "--model",
        "echo",
        "--approve",
        "Bash (x",
    ]);
    assert!(output.expect(2).stderr.contains("invalid rule `Bash (x`"));
}

#[test]
fn sessions_are_listed_shown_exported_and_removed() {
    let world = world();
    let none = world.run(&["session", "list"]).expect(0);
    assert_eq!(
        none.stderr,
        "No sessions in this project; use `--all` for all projects\n"
    );
    world
        .run(&["run", "--task", "hello there", "--model", "echo"])
        .expect(0);
    let list = world.run(&["session", "list", "--json"]).expect(0).json();
    let session = &list["sessions"][0];
    let id = session["id"].as_str().unwrap();
    assert_eq!(session["title"], "hello there");
    assert_eq!(session["ending"], "answered");
    assert_eq!(session["live"], false);

    let shown = world.run(&["session", "show", &id[..4]]).expect(0).stdout;
    assert!(shown.contains("hello there"), "{shown}");
    let replayed = events(&world.run(&["session", "replay", id]).expect(0));
    assert_eq!(replayed.len() as u64, session["events"].as_u64().unwrap());
    let exported = world.run(&["session", "export", id]).expect(0).json();
    assert_eq!(exported["events"].as_array().unwrap().len(), replayed.len());

    let missing = world.run(&["session", "show", "zzzz"]).expect(2).stderr;
    assert!(missing.contains("session `zzzz` not found"), "{missing}");
    world.run(&["session", "remove", id]).expect(0);
    let gone = world
        .run(&["session", "list", "--all", "--json"])
        .expect(0)
        .json();
    assert_eq!(gone["sessions"], json!([]));
}

#[test]
fn exhausted_session_can_be_resumed() {
    let world = world();
    let call = json!({"calls": [{"name": "read", "input": {"path": "numbers.txt"}}]});
    let model = script(&world, &[call]);
    let arguments = [
        "run",
        "--task",
        "Add up.",
        "--model",
        &model,
        "--max-turns",
        "1",
    ];
    world.run(&arguments).expect(5);
    let id = world.run(&["session", "list", "--json"]).json()["sessions"][0]["id"].clone();
    let id = id.as_str().unwrap().to_owned();

    let model = script(
        &world,
        &[json!({"text": "Three.", "expect": ["Add up.", "1\t1"]})],
    );
    let arguments = [
        "session",
        "resume",
        &id,
        "--max-turns",
        "5",
        "--model",
        &model,
    ];
    let output = world.run(&arguments).expect(0);
    assert_eq!(output.stdout, "Three.\n");
    // Resume with a new message.
    let model = script(
        &world,
        &[json!({"text": "Six.", "expect": ["Three.", "Twice that?"]})],
    );
    let arguments = ["session", "resume", &id, "Twice that?", "--model", &model];
    assert_eq!(world.run(&arguments).expect(0).stdout, "Six.\n");
}

#[test]
fn chat_without_a_terminal_reads_lines() {
    let world = world();
    let output = world
        .command(&["chat", "--model", "echo"])
        .stdin("hello\n/add-up numbers.txt\n/ad-up\n")
        .run()
        .expect(2);
    assert!(output.stdout.starts_with("hello\n"), "{}", output.stdout);
    assert!(output.stdout.contains("Add them up."), "{}", output.stdout);
    assert!(
        output.stderr.contains("no command or skill named `/ad-up`"),
        "{}",
        output.stderr
    );
    assert!(!output.stdout.contains('\u{1b}'), "no escape sequences");
}

#[test]
fn empty_chat_prints_a_hint() {
    let world = world();
    let output = world
        .command(&["chat", "--model", "echo"])
        .stdin("")
        .run()
        .expect(0);
    assert!(
        output.stderr.contains("start again with `prowess chat`"),
        "{}",
        output.stderr
    );
    let output = world
        .run(&["chat", "--resume", "nope", "--model", "echo"])
        .expect(2);
    let told =
        "error: session `nope` not found\nhint: list the sessions with `prowess session list`\n";
    assert!(output.stderr.ends_with(told), "{}", output.stderr);
}

#[test]
fn reply_is_printed_once() {
    let world = world();
    let model = script(&world, &[json!({"text": "Three."})]);
    let output = world
        .run(&["run", "--task", "Add up.", "--model", &model])
        .expect(0);
    assert_eq!(output.stdout, "Three.\n");
    assert!(!output.stderr.contains("Three."), "{}", output.stderr);
}

#[test]
fn model_output_cannot_control_the_terminal() {
    let world = world();
    let evil = "ok \u{1b}]0;owned\u{7}\u{202e}gnp.exe";
    let model = script(&world, &[json!({"text": evil})]);
    let output = world
        .run(&["run", "--task", "x", "--model", &model])
        .expect(0);
    assert!(!output.stderr.contains('\u{1b}'), "{:?}", output.stderr);
    assert!(!output.stderr.contains('\u{202e}'), "{:?}", output.stderr);
    let id = world.run(&["session", "list", "--json"]).json()["sessions"][0]["id"].clone();
    let shown = world
        .run(&["session", "show", id.as_str().unwrap()])
        .expect(0)
        .stdout;
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
}

/// A replayed recording gives the same replies without calling a model.
#[test]
fn recorded_run_can_be_replayed() {
    let world = world();
    let model = script(&world, &[json!({"text": "Three."})]);
    let file = world.path("cassette.jsonl");
    let file = file.to_str().unwrap();
    let first = [
        "run", "--task", "Add up.", "--model", &model, "--record", file,
    ];
    assert_eq!(world.run(&first).expect(0).stdout, "Three.\n");
    let replay = format!("replay:{file}");
    let again = ["run", "--task", "Add up.", "--model", &replay];
    assert_eq!(world.run(&again).expect(0).stdout, "Three.\n");
    let other = ["run", "--task", "Something else.", "--model", &replay];
    world.run(&other).expect(2);
}

#[test]
fn case_125_skills_can_only_name_configured_agents() {
    let world = World::new();
    let draft = |agent: &str| {
        let text = format!(
            "---\nname: draft\ndescription: Drafts.\ncontext: fork\nagent: {agent}\n---\nWrite.\n"
        );
        world.file("~/.agents/skills/draft/SKILL.md", text);
    };
    world.file(".agents/prowess.toml", "[agents.writer]\nskills = []\n");
    draft("writr");
    let model = script(
        &world,
        &[json!({"text": "Written.", "expect": "Run skill: draft"})],
    );
    let output = world.run(&["run", "draft", "--model", &model]).expect(2);
    let (_, told) = output.stderr.split_once('\n').unwrap();
    assert_eq!(
        told,
        "error: no agent named `writr`, required by skill `draft`; did you mean `writer`? Available \
         agents: `general-purpose`, `Explore`, `Plan` and `writer`\n\
         hint: define it in the configuration: `[agents.writr]`\n"
    );
    draft("writer");
    let lines = events(
        &world
            .run(&["run", "draft", "--model", &model, "--json"])
            .expect(0),
    );
    assert_eq!(lines[0]["event"]["agents"], json!(["writer"]));
}

/// The record names the flag that approved an action, or says that no user was available.
#[test]
fn record_names_the_flag_and_the_missing_user() {
    for (approve, expected) in [
        (
            Some("Bash(mkdir:*)"),
            "allowed `mkdir made` by `--approve Bash(mkdir:*)`",
        ),
        (None, "no user was available to approve it"),
    ] {
        let world = World::new();
        world.file("~/config.toml", "[sandbox]\nstrength = 'best-effort'\n");
        world.file(
            "script.jsonl",
            "{\"calls\":[{\"name\":\"bash\",\"input\":{\"command\":\"mkdir made\"}}]}\n{\"text\":\"done\"}\n",
        );
        let mut args = vec!["run", "--task", "go", "--model", "scripted:script.jsonl"];
        args.push("--no-wait");
        args.extend(approve.iter().flat_map(|rule| ["--approve", *rule]));
        world.run(&args);
        let listed = world.run(&["session", "list", "--json"]).expect(0).json();
        let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
        let shown = world.run(&["session", "show", &id]).expect(0).stdout;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(expected), "{shown}");
        assert!(
            !shown.contains("the user allowed") && !shown.contains("the user denied"),
            "{shown}"
        );
    }
}

/// Returns a world with a skill in the home folder whose text runs two commands.
fn with_commands(first: &str, second: &str) -> World {
    let world = World::new();
    world.file("~/config.toml", "[sandbox]\nstrength = 'best-effort'\n");
    world.file(
        "~/.agents/skills/steps/SKILL.md",
        format!("---\nname: steps\ndescription: Takes steps. Use for steps.\nallowed-tools: Bash(touch:*) Bash(cat:*) Bash(sleep:*)\n---\n!`{first}`\n\n!`{second}`\n"),
    );
    world
}

/// Returns the id of the latest session.
fn latest(world: &World) -> String {
    let list = world.run(&["session", "list", "--json"]).expect(0).json();
    list["sessions"][0]["id"].as_str().unwrap().to_owned()
}

/// The first command of the skill runs and the second one fails.
#[test]
fn decisions_of_a_failed_skill_are_in_the_record() {
    let ways: [(&[&str], &str); 3] = [
        (&["run", "steps", "--model", "echo"], ""),
        (&["run", "--task", "/steps now", "--model", "echo"], ""),
        (&["chat", "--plain", "--model", "echo"], "/steps now\n"),
    ];
    for (arguments, typed) in ways {
        let world = with_commands("touch made", "cat missing.txt");
        let arguments = [arguments, &["--edits"]].concat();
        let output = world.command(&arguments).stdin(typed).run();
        assert_eq!(output.code, 2, "{}", output.snapshot());
        assert!(world.path("made").exists(), "{}", output.snapshot());
        assert!(
            output.stderr.contains("cat missing.txt"),
            "{}",
            output.stderr
        );
        let shown = world
            .run(&["session", "show", &latest(&world)])
            .expect(0)
            .stdout;
        let at = |part: &str| {
            let at = shown.find(part);
            at.unwrap_or_else(|| panic!("{part}\n{shown}"))
        };
        let order = [
            at("loading skill `steps`"),
            at("allowed `touch made`"),
            at("allowed `cat missing.txt`"),
        ];
        assert!(order.is_sorted(), "{shown}");
    }
}

/// Starts `prowess run` and waits until the second command of the skill runs.
fn start_second_command(world: &World) -> Running {
    let arguments = ["run", "steps", "--model", "echo", "--edits"];
    let running = world.command(&arguments).start();
    wait_until("the first command runs", || world.path("made").exists());
    running
}

#[test]
fn first_interrupt_stops_commands_of_a_skill() {
    let world = with_commands("touch made", "sleep 619");
    let running = start_second_command(&world);
    assert_eq!(running.interrupt(), Some(130));
    let list = world.run(&["session", "list", "--json"]).expect(0).json();
    assert_eq!(list["sessions"][0]["ending"], "cancelled");
    let shown = world
        .run(&["session", "show", &latest(&world)])
        .expect(0)
        .stdout;
    assert!(shown.contains("allowed `touch made`"), "{shown}");
}

/// The process is killed while the skill is loaded. Resuming does not report an empty result.
#[test]
fn run_killed_while_its_skill_was_loaded_cannot_be_resumed() {
    let world = with_commands("touch made", "sleep 619");
    drop(start_second_command(&world));
    let id = latest(&world);
    for more in [&[][..], &["More."]] {
        let arguments = [&["session", "resume", &id, "--model", "echo"], more].concat();
        let output = world.run(&arguments).expect(2);
        assert_eq!(output.stdout, "");
        let expected = format!(
            "error: session `{id}` stopped while skill `steps` was being loaded; its commands may have run\n\
             hint: see what was decided with `prowess session show {id}`\n\
             hint: run it again with `prowess run steps`\n"
        );
        assert_eq!(output.stderr, expected);
    }
    let shown = world.run(&["session", "show", &id]).expect(0).stdout;
    assert!(shown.contains("allowed `touch made`"), "{shown}");
}

#[test]
fn hint_at_a_limit_raises_that_limit() {
    let world = World::new();
    let call = json!({"calls": [{"name": "glob", "input": {"pattern": "*"}}], "usage": {"input": 100, "output": 10}});
    let script = format!("{call}\n{call}\n{call}\n");
    let model = format!("scripted:{}", world.file("s.jsonl", script).display());
    for (limit, hint) in [
        (["--budget", "tokens=50"], "--budget tokens="),
        (["--max-turns", "1"], "--max-turns "),
    ] {
        let run = ["run", "--task", "Look.", "--model", &model];
        let stopped = world.run(&[&run[..], &limit].concat()).expect(5);
        assert!(stopped.stderr.contains(hint), "{}", stopped.stderr);
    }
}
