//! Skills, settings and trust that change while a session runs.

use prowess_test::server::{ServerStep, TestServer, sse};
use serde_json::{Value, json};

use crate::terminal::on_terminal_with;
use crate::world::{Running, World};

fn script(world: &World, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("scripted:{}", world.file("script.jsonl", text).display())
}

fn skill(name: &str, description: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n{more}---\nThe body of {name}.\n")
}

fn call(name: &str, input: &Value) -> Value {
    json!({"calls": [{"name": name, "input": input}]})
}

fn load(name: &str) -> Value {
    call("load_skill", &json!({"name": name}))
}

/// Adds the texts that the request must contain.
fn expecting(mut line: Value, texts: &[&str]) -> Value {
    line["expect"] = json!(texts);
    line
}

fn says(text: &str, expect: &[&str]) -> Value {
    expecting(json!({"text": text}), expect)
}

fn chat(world: &World, model: &str) -> Running {
    world
        .command(&["chat", "--plain", "--no-wait", "--model", model])
        .talk()
}

/// Says a line, and waits for the answer.
#[track_caller]
fn turn(chat: &mut Running, text: &str, answer: &str) {
    let line = chat.say(text, |line| {
        line == answer || line.contains("of the script expects") || line.starts_with("error")
    });
    assert_eq!(line, answer);
}

/// Returns the events of the only session.
fn events(world: &World) -> Vec<Value> {
    let listed = world.run(&["session", "list", "--json"]).expect(0).json();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    let replayed = world.run(&["session", "replay", &id]).expect(0).stdout;
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap()["event"].clone();
    replayed.lines().map(parse).collect()
}

/// Returns the events of a kind.
fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    let is_it = |event: &&Value| event["event"] == kind;
    events.iter().filter(is_it).collect()
}

/// S-B2, row K24.
#[test]
fn chat_sees_skills_that_come_change_and_go() {
    let world = World::new();
    let early = world.file(
        "~/.agents/skills/early/SKILL.md",
        skill("early", "Was there first.", ""),
    );
    world.good("~/.agents/skills/stays");
    let model = script(
        &world,
        &[
            says("one", &["Was there first."]),
            // Added.
            expecting(load("late"), &["New:", "Arrives late."]),
            says("two", &["The body of late."]),
            // Changed.
            says("three", &["Changed:", "Arrives even later."]),
            // Temporary files of an editor.
            says("four", &[]),
            // Flagged.
            expecting(load("late"), &["No longer available:"]),
            says(
                "five",
                &["cannot be used by a model due to disable-model-invocation"],
            ),
            // Removed.
            expecting(load("early"), &[]),
            says("six", &["Unknown skill: early"]),
            says("seven", &[]),
            says("eight", &["The body of typed."]),
        ],
    );
    let mut chat = chat(&world, &model);
    turn(&mut chat, "hello", "one");
    let folder = "~/.agents/skills/late";
    let file = format!("{folder}/SKILL.md");
    world.file(&file, skill("late", "Arrives late.", ""));
    turn(&mut chat, "added", "two");
    world.file(&file, skill("late", "Arrives even later.", ""));
    turn(&mut chat, "changed", "three");
    for name in [".SKILL.md.swp", "4913", "SKILL.md~", "#SKILL.md#"] {
        let file = world.file(format!("{folder}/{name}"), "half of a te");
        std::fs::rename(&file, file.with_extension("moved")).unwrap();
    }
    turn(&mut chat, "edited", "four");
    world.file(
        &file,
        skill(
            "late",
            "Arrives even later.",
            "disable-model-invocation: true\n",
        ),
    );
    turn(&mut chat, "flagged", "five");
    std::fs::remove_dir_all(early.parent().unwrap()).unwrap();
    turn(&mut chat, "removed", "six");
    turn(&mut chat, "nothing new", "seven");
    world.file(
        "~/.agents/skills/typed/SKILL.md",
        skill("typed", "Is typed.", "disable-model-invocation: true\n"),
    );
    turn(&mut chat, "/typed at once", "eight");
    chat.close();
    let events = events(&world);
    let notes = of(&events, "noted");
    assert_eq!(notes.len(), 4, "each change is told once: {notes:#?}");
    let started = of(&events, "started");
    assert_eq!(started.len(), 1, "the index is not written again");
}

#[test]
fn chat_screen_sees_a_new_skill() {
    let world = World::new();
    let model = script(
        &world,
        &[
            says("①", &[]),
            expecting(load("late"), &["New:", "Arrives late."]),
            says("②", &["The body of late."]),
        ],
    );
    let typed = [
        ("Type a message", "hello\r"),
        ("①", "now\r"),
        ("②", "\u{3}"),
    ];
    let shown = on_terminal_with(
        &world,
        90,
        &["chat", "--model", &model],
        &typed,
        |expected| {
            if expected == "①" {
                let text = skill("late", "Arrives late.", "");
                world.file("~/.agents/skills/late/SKILL.md", text);
            }
        },
    );
    assert!(shown.contains("②"), "{shown}");
}

fn streamed(block: &str, delta: &str, stop: &str) -> Vec<u8> {
    sse(&format!(
        r#"
        {{"type":"message_start","message":{{"id":"m","type":"message","role":"assistant","model":"test-model","content":[],"stop_reason":null,"usage":{{"input_tokens":10,"output_tokens":1}}}}}}
        {{"type":"content_block_start","index":0,"content_block":{block}}}
        {{"type":"content_block_delta","index":0,"delta":{delta}}}
        {{"type":"content_block_stop","index":0}}
        {{"type":"message_delta","delta":{{"stop_reason":"{stop}"}},"usage":{{"output_tokens":20}}}}
        {{"type":"message_stop"}}"#
    ))
}

/// The skill is written while the model answers, and is known in the request after that.
#[test]
fn run_and_resume_see_a_new_skill() {
    let world = World::with_a_greeting();
    let late = |name: &str| {
        let path = world.path(format!("~/.agents/skills/{name}/SKILL.md"));
        let text = skill(name, &format!("Arrives as {name}."), "");
        ServerStep::Write(path, text)
    };
    let loads = |name: &str| {
        let input = format!(r#"{{\"name\":\"{name}\"}}"#);
        streamed(
            r#"{"type":"tool_use","id":"toolu_1","name":"load_skill","input":{}}"#,
            &format!(r#"{{"type":"input_json_delta","partial_json":"{input}"}}"#),
            "tool_use",
        )
    };
    let done = || {
        streamed(
            r#"{"type":"text","text":""}"#,
            r#"{"type":"text_delta","text":"Done."}"#,
            "end_turn",
        )
    };
    let server = TestServer::new([
        vec![late("late"), ServerStep::Send(loads("late"))],
        vec![ServerStep::Send(done())],
        vec![late("later"), ServerStep::Send(loads("later"))],
        vec![ServerStep::Send(done())],
    ]);
    let with_server = |arguments: &[&str]| {
        world
            .command(arguments)
            .env("ANTHROPIC_API_KEY", "secret-key")
            .env(
                "ANTHROPIC_BASE_URL",
                format!("http://127.0.0.1:{}", server.port),
            )
            .run()
            .expect(0)
    };
    let model = ["--model", "anthropic/test-model"];
    let output = with_server(&[&["run", "--task", "Hello."], &model[..]].concat());
    assert_eq!(output.stdout, "Done.\n");
    let listed = world.run(&["session", "list", "--json"]).expect(0).json();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    with_server(&[&["session", "resume", &id, "More."], &model[..]].concat());
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    for (before, after, name) in [(0, 1, "late"), (2, 3, "later")] {
        let told = format!("Arrives as {name}.");
        assert!(!asked[before].body.contains(&told), "{name}");
        let body = &asked[after].body;
        assert!(body.contains(&format!("The body of {name}.")), "{body}");
        assert_eq!(body.matches(&told).count(), 1, "told once: {body}");
    }
    for request in &asked[1..] {
        assert_eq!(request.json()["system"], asked[0].json()["system"]);
    }
}

/// A skill that is hidden in the settings is gone at the next request. What is shown again was
/// visible at the start; what was hidden at the start stays hidden until the next one.
#[test]
fn chat_follows_visibility_settings() {
    let world = World::new();
    for name in ["early", "secret", "stays"] {
        world.file(
            format!("~/.agents/skills/{name}/SKILL.md"),
            skill(name, &format!("Does {name} things."), ""),
        );
    }
    let hide = |names: &[&str]| {
        let lines: String = names
            .iter()
            .map(|name| format!("{name} = 'off'\n"))
            .collect();
        world.file("~/config.toml", format!("[skills.visibility]\n{lines}"));
    };
    hide(&["secret"]);
    let model = script(
        &world,
        &[
            says("one", &[]),
            expecting(load("early"), &["No longer available:\n- **early**"]),
            says("two", &["Unknown skill: early"]),
            expecting(load("early"), &["New:\n- **early**"]),
            expecting(load("secret"), &["The body of early."]),
            says("three", &["Unknown skill: secret"]),
        ],
    );
    let mut chat = chat(&world, &model);
    turn(&mut chat, "hello", "one");
    hide(&["secret", "early"]);
    turn(&mut chat, "hidden", "two");
    hide(&[]);
    turn(&mut chat, "shown", "three");
    chat.close();
    let seen = world.run(&["prompt", "-q"]).expect(0).stdout;
    assert!(seen.contains("**secret**"), "from the next start: {seen}");
}

/// The project's file hides skills in the same way, and can be created during the session.
#[test]
fn chat_follows_the_project_file() {
    let world = World::with_a_greeting();
    world.file("notes.txt", "A note.\n");
    let read = || call("read", &json!({"path": "notes.txt"}));
    let model = script(
        &world,
        &[
            read(),
            says("one", &["A note."]),
            expecting(read(), &["No longer available:"]),
            says("two", &["Read(notes.txt)"]),
        ],
    );
    let mut chat = chat(&world, &model);
    turn(&mut chat, "hello", "one");
    world.file(
        ".agents/prowess.toml",
        "[permissions]\ndeny = ['Read(notes.txt)']\n[skills.visibility]\ngreet = 'user-only'\n",
    );
    turn(&mut chat, "denied", "two");
    chat.close();
}

/// Withdrawn permissions count at the next call, new ones from the next start.
#[test]
fn chat_follows_permission_rules() {
    let world = World::new();
    let allow = |rules: &str| {
        let text =
            format!("[sandbox]\nstrength = 'best-effort'\n[permissions]\nallow = [{rules}]\n");
        world.file("~/config.toml", text);
    };
    allow("'Bash(echo:*)'");
    let bash = |command: &str| call("bash", &json!({"command": command}));
    let model = script(
        &world,
        &[
            bash("echo first"),
            says("one", &[]),
            bash("echo second"),
            bash("printf third"),
            says("two", &[]),
            bash("echo fourth"),
            says("three", &[]),
        ],
    );
    let mut chat = chat(&world, &model);
    turn(&mut chat, "hello", "one");
    allow("'Bash(printf:*)'");
    turn(&mut chat, "withdrawn", "two");
    allow("'Bash(echo:*)'");
    turn(&mut chat, "given back", "three");
    chat.close();
    let events = events(&world);
    let decided: Vec<(&str, &str)> = events
        .iter()
        .filter_map(|event| Some((event["what"].as_str()?, event["verdict"].as_str()?)))
        .collect();
    let expected = [
        ("echo first", "allow"),
        ("echo second", "ask"),
        ("printf third", "ask"),
        ("echo fourth", "allow"),
    ];
    assert_eq!(decided, expected);
}

/// A configuration with an error changes nothing, and is reported.
#[test]
fn invalid_settings_do_not_end_a_chat() {
    let world = World::with_a_greeting();
    world.file("~/config.toml", "[skills.visibility]\ngreet = 'off'\n");
    let model = script(
        &world,
        &[says("one", &[]), load("greet"), says("two", &["Unknown"])],
    );
    let mut chat = chat(&world, &model);
    turn(&mut chat, "hello", "one");
    world.file("~/config.toml", "[skills.visibility]\ngreet = 'maybe'\n");
    let told = chat.say("changed", |line| line.contains("config.toml"));
    assert!(
        told.contains("the previous settings stay in effect"),
        "{told}"
    );
    chat.line(|line| line == "two");
    chat.close();
}

/// Revoked trust counts at the next call. Trust that is given again does too.
#[test]
fn chat_follows_trust() {
    let world = World::new();
    world.file("~/config.toml", "[sandbox]\nstrength = 'best-effort'\n");
    world.file(
        ".agents/skills/maker/SKILL.md",
        skill("maker", "Makes things.", "allowed-tools: Bash(echo:*)\n"),
    );
    let trust = || {
        let shown = world.run(&["trust", "maker", "--json"]);
        let digest = shown.json()["skills"][0]["digest"].as_str().unwrap()[..23].to_owned();
        world
            .run(&["trust", "maker", "--digest", &digest])
            .expect(0);
    };
    trust();
    let bash = |command: &str| call("bash", &json!({"command": command}));
    let model = script(
        &world,
        &[
            load("maker"),
            bash("echo first"),
            says("one", &[]),
            bash("echo second"),
            says("two", &["no user was available"]),
            bash("echo third"),
            says("three", &[]),
        ],
    );
    let mut chat = chat(&world, &model);
    turn(&mut chat, "hello", "one");
    world.run(&["trust", "maker", "--revoke"]).expect(0);
    turn(&mut chat, "revoked", "two");
    trust();
    turn(&mut chat, "trusted again", "three");
    chat.close();
    let shown = world.run(&["session", "list", "--json"]).expect(0).json();
    let id = shown["sessions"][0]["id"].as_str().unwrap().to_owned();
    let shown = world.run(&["session", "show", &id]).expect(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for (command, allowed) in [("first", true), ("second", false), ("third", true)] {
        let is_allowed = shown.contains(&format!("allowed `echo {command}`"));
        assert_eq!(is_allowed, allowed, "{command}: {shown}");
    }
}

/// Row K13: with only the bundled skill, models get no tools about skills and no index.
#[test]
fn bundled_skill_alone_registers_no_tools() {
    let world = World::new();
    let asked = |model: &str| -> (Vec<String>, Vec<String>) {
        let flags = ["run", "--task", "hi", "--model", model, "--json"];
        let output = world.run(&flags).expect(0);
        let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let events: Vec<Value> = output.stdout.lines().map(parse).collect();
        let event = |kind: &str| {
            let is_it = |line: &&Value| line["event"]["event"] == kind;
            events.iter().find(is_it).unwrap()["event"].clone()
        };
        let texts = |value: &Value| -> Vec<String> {
            let items = value.as_array().unwrap().iter();
            items
                .map(|item| item.as_str().unwrap().to_owned())
                .collect()
        };
        (
            texts(&event("asked")["tools"]),
            texts(&event("started")["system"]),
        )
    };
    let is_about_skills = |tool: &String| tool.contains("skill") || tool == "run_command_line";
    let (tools, system) = asked("echo");
    assert!(!tools.iter().any(is_about_skills), "{tools:?}");
    assert!(tools.contains(&"read".to_owned()), "{tools:?}");
    assert!(!system.join("\n").contains("**prowess**"), "{system:?}");
    // People still have it.
    let listed = world.run(&["list"]).expect(0).stdout;
    assert!(listed.contains("prowess  bundled  people only"), "{listed}");
    let typed = world
        .command(&["chat", "--model", "echo"])
        .stdin("/prowess\n")
        .run()
        .expect(0);
    assert!(
        typed.stdout.contains("skill `prowess`"),
        "{}",
        typed.snapshot()
    );
    let why = world.run(&["why", "prowess"]).expect(1).stdout;
    assert!(
        why.contains("not shown: no other skill is visible"),
        "{why}"
    );
    // With another skill, both are listed.
    world.good("~/.agents/skills/pdf");
    let (tools, system) = asked("echo");
    assert_eq!(
        tools.iter().filter(|tool| is_about_skills(tool)).count(),
        6,
        "{tools:?}"
    );
    let index = system.last().unwrap();
    assert!(
        index.contains("**prowess**") && index.contains("**pdf**"),
        "{index}"
    );
}

/// Row A18.
#[test]
fn skills_only_for_models_are_marked() {
    let world = World::new();
    for (name, flags) in [
        ("both", ""),
        (
            "neither",
            "user-invocable: false\ndisable-model-invocation: true\n",
        ),
        ("nomodel", "disable-model-invocation: true\n"),
        ("nouser", "user-invocable: false\n"),
    ] {
        world.file(
            format!("~/.agents/skills/{name}/SKILL.md"),
            skill(name, "Does things.", flags),
        );
    }
    let listed = world.run(&["list"]).expect(0).stdout;
    let status = |name: &str| {
        let line = listed
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        let line = line.unwrap().split("user/agents").nth(1).unwrap();
        line.split("Does").next().unwrap().trim().to_owned()
    };
    assert_eq!(status("both"), "described", "{listed}");
    assert_eq!(status("nouser"), "models only", "{listed}");
    assert_eq!(status("nomodel"), "people only", "{listed}");
    assert_eq!(status("neither"), "hidden", "{listed}");
    let shown = world
        .command(&["chat", "--model", "echo"])
        .stdin("/skills\n")
        .run()
        .expect(0)
        .stdout;
    let line = |name: &str| {
        let line = shown
            .lines()
            .find(|line| line.trim().starts_with(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name}: {shown}")).to_owned()
    };
    assert!(
        line("nouser").contains("listed, for models only"),
        "{shown}"
    );
    assert!(!line("both").contains("only"), "{shown}");
}
