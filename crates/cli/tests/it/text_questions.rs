//! Questions that need a text or a choice: `ask_human`, at a terminal and later.

use serde_json::{Value, json};

use crate::terminal::on_terminal_with;
use crate::world::{Output, World};

/// Returns a world with an agent that may ask people, and one that may not.
fn world() -> World {
    let world = World::new();
    add_agents(&world);
    world
}

/// Runs an agent that asks for a text. Returns the id of its question.
pub(crate) fn wait_for_text(world: &World) -> String {
    add_agents(world);
    wait(world, &colour(&json!({})))
}

fn add_agents(world: &World) {
    for (name, tools) in [
        ("asker", "tools: Read, human.ask\n"),
        ("reader", "tools: Read\n"),
        ("all", ""),
    ] {
        world.file(
            format!("~/.claude/agents/{name}.md"),
            format!("---\nname: {name}\ndescription: The {name}.\n{tools}---\nYou work.\n"),
        );
    }
}

/// Writes a script for a model. Each process reads it from its beginning.
fn script(world: &World, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("scripted:{}", world.file("script.jsonl", text).display())
}

fn asks(input: &Value) -> Value {
    json!({"calls": [{"name": "ask_human", "input": input}]})
}

fn says(text: &str, expect: &[&str]) -> Value {
    json!({"text": text, "expect": expect})
}

fn questions(world: &World) -> Vec<Value> {
    let found = world.run(&["questions", "--json"]).expect(0).json();
    found["questions"].as_array().unwrap().clone()
}

/// Runs the agent without a terminal. Returns the id of its question.
fn wait(world: &World, input: &Value) -> String {
    let model = script(world, &[asks(input)]);
    let output = world.run(&["agent", "run", "asker", "paint it", "--model", &model]);
    let output = output.expect(6);
    assert_eq!(output.stdout, "");
    let id = questions(world)[0]["id"].as_str().unwrap().to_owned();
    let part = format!("waiting for an answer to question {id}");
    assert!(output.stderr.contains(&part), "{}", output.stderr);
    id
}

fn session(id: &str) -> &str {
    id.split('-').next().unwrap()
}

/// Answers as `ada`, and continues with a model that expects these texts in the conversation.
fn answer(world: &World, id: &str, words: &[&str], expect: &[&str]) -> Output {
    let model = script(world, &[says("painted", expect)]);
    let mut line = vec!["answer", id];
    line.extend(words);
    line.extend(["--model", &model]);
    world.command(&line).env("USER", "ada").run()
}

fn colour(more: &Value) -> Value {
    let mut input = json!({ "question": "Which colour?", "context": "It is for the page." });
    let fields = more.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(fields);
    input
}

/// Line 55 of missions §5.
#[test]
fn text_is_asked_stored_and_answered_by_another_process() {
    let world = world();
    let id = wait(&world, &colour(&json!({ "summary": "the colour" })));
    let found = &questions(&world)[0];
    for (key, value) in [
        ("kind", json!("text")),
        ("what", json!("Which colour?")),
        ("summary", json!("the colour")),
        ("context", json!("It is for the page.")),
        ("choices", json!([])),
        ("several", json!(false)),
        ("deadline_seconds", json!(null)),
        ("agent", json!("asker")),
    ] {
        assert_eq!(found[key], value, "{key}");
    }
    let listed = world.run(&["questions"]).expect(0).stdout;
    for part in [
        "  │ Which colour?\n  │ It is for the page.\n",
        &format!("`prowess answer {id} TEXT`"),
    ] {
        assert!(listed.contains(part), "{part}\n{listed}");
    }
    // `yes` is a text like any other.
    let text = "yes, deep blue";
    let output = answer(
        &world,
        &id,
        &[text],
        &["The user answered:\nyes, deep blue"],
    );
    let output = output.expect(0);
    assert_eq!(output.stdout, "painted\n");
    assert!(
        output.stderr.contains("yes, deep blue"),
        "{}",
        output.stderr
    );
    assert_eq!(questions(&world).len(), 0);
    let shown = world
        .run(&["session", "show", session(&id)])
        .expect(0)
        .stdout;
    for part in [
        &format!("question {id}: the agent needs an answer\n    │ Which colour?"),
        &format!("ada answered question {id}: yes, deep blue"),
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let why = world.run(&["why", "--session", session(&id), "--turn", "1"]);
    let why = why.expect(0).stdout;
    assert!(why.contains("answer    ada answered"), "{why}");
    // The record has the question and the answer before the start of the call.
    let events = events(&world, &id);
    assert_eq!(
        kinds(&events),
        [
            "questioned",
            "ended",
            "resumed",
            "answered",
            "call_started",
            "call_ended",
            "ended"
        ]
    );
    let answered = events.iter().find(|it| it["event"] == "answered").unwrap();
    assert_eq!(answered["answer"], json!({ "text": [text] }));
    assert_eq!(answered["who"], "ada");
    let ended = events
        .iter()
        .find(|it| it["event"] == "call_ended")
        .unwrap();
    assert_ne!(ended["result"]["is_error"], true);
}

/// Returns the events of the session of a question.
fn events(world: &World, id: &str) -> Vec<Value> {
    let shown = world.run(&["session", "show", session(id), "--json"]);
    let shown = shown.expect(0).json();
    shown["events"].as_array().unwrap().clone()
}

/// Returns the kinds of events about the question and its call, in order.
fn kinds(events: &[Value]) -> Vec<&str> {
    const WANTED: [&str; 6] = [
        "questioned",
        "answered",
        "call_started",
        "call_ended",
        "resumed",
        "ended",
    ];
    let kinds = events.iter().map(|event| event["event"].as_str().unwrap());
    kinds.filter(|kind| WANTED.contains(kind)).collect()
}

#[test]
fn choices_are_answered_by_number_or_text() {
    let choices = json!({ "choices": ["red", "deep blue", "a, b"] });
    let several = json!({ "choices": ["red", "deep blue", "a, b"], "several": true });
    for (more, words, expect) in [
        (&choices, &["2"][..], "The user chose: deep blue"),
        (&choices, &["deep blue"], "The user chose: deep blue"),
        (&choices, &["a, b"], "The user chose: a, b"),
        (&several, &["3"], "The user chose: a, b"),
        (&several, &["1,2"], "The user chose:\n- red\n- deep blue"),
        (
            &several,
            &["deep blue", "1"],
            "The user chose:\n- deep blue\n- red",
        ),
    ] {
        let world = world();
        let id = wait(&world, &colour(more));
        let output = answer(&world, &id, words, &[expect]).expect(0);
        assert_eq!(output.stdout, "painted\n", "{words:?}");
    }
}

#[test]
fn answers_that_do_not_fit_are_refused_before_they_are_stored() {
    let world = world();
    let evil = "green\u{1b}[2J";
    let id = wait(&world, &colour(&json!({ "choices": ["red", evil] })));
    let listed = world.run(&["questions"]).expect(0).stdout;
    assert!(
        listed.contains("  1  red\n  2  green\\u{1b}[2J\n"),
        "{listed}"
    );
    assert!(
        listed.contains(&format!("`prowess answer {id} 1`")),
        "{listed}"
    );
    for (words, part) in [
        (&["green"][..], "`green` is not one of the choices"),
        (&["3"], "`3` is not one of the choices"),
        (&[""], "the answer is empty"),
        (&["1,2"], "the question takes one choice, not 2"),
        (&["1", "2"], "the question takes one choice, not 2"),
    ] {
        let output = answer(&world, &id, words, &[]).expect(2);
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
        let hint = format!("`prowess answer {id} 1`");
        assert!(output.stderr.contains(&hint), "{}", output.stderr);
        assert!(output.stderr.contains("1 (red)"), "{}", output.stderr);
        assert!(!output.stderr.contains('\u{1b}'), "{}", output.stderr);
    }
    assert_eq!(questions(&world).len(), 1);
    world.run(&["answer", &id]).expect(2);
    world.run(&["answer", &id, "1", "--decline"]).expect(2);
    let free = self::world();
    let id = wait(&free, &colour(&json!({})));
    let long = "x".repeat(16 * 1024 + 1);
    for (text, part) in [(&*long, "too long: 16385 bytes"), (" ", "is empty")] {
        let output = answer(&free, &id, &[text], &[]).expect(2);
        assert!(output.stderr.contains(part), "{}", output.stderr);
        let hint = format!("`prowess answer {id} TEXT`");
        assert!(output.stderr.contains(&hint), "{}", output.stderr);
    }
    assert_eq!(questions(&free).len(), 1);
    answer(&free, &id, &[&long[1..]], &[&long[1..]]).expect(0);
}

#[test]
fn second_answer_is_told_about_the_first_text() {
    let world = world();
    let id = wait(&world, &colour(&json!({})));
    let stored = answer(&world, &id, &["deep", "blue", "--no-continue"], &[]);
    assert!(stored.expect(0).stderr.contains("prowess session resume"));
    let late = world.run(&["answer", &id, "red"]).expect(1);
    let part = "was answered already: deep blue, by ada, 20";
    assert!(late.stderr.contains(part), "{}", late.stderr);
    let model = script(&world, &[says("painted", &["answered:\ndeep blue"])]);
    let line = ["session", "resume", session(&id), "--model", &model];
    assert_eq!(world.run(&line).expect(0).stdout, "painted\n");
    world.run(&["answer", &id, "red"]).expect(1);
}

#[test]
fn declined_question_is_an_error_for_the_model() {
    let world = world();
    let id = wait(&world, &colour(&json!({})));
    let words = ["--decline", "--because", "ask Bob"];
    let output = answer(
        &world,
        &id,
        &words,
        &["did not answer the question: ask Bob"],
    );
    output.expect(0);
    let events = events(&world, &id);
    let ended = events
        .iter()
        .find(|it| it["event"] == "call_ended")
        .unwrap();
    assert_eq!(ended["result"]["is_error"], true);
}

#[test]
fn question_that_is_gone_needs_no_text() {
    let world = world();
    let id = wait(&world, &colour(&json!({})));
    let model = script(&world, &[says("fine", &[])]);
    let line = [
        "session",
        "resume",
        session(&id),
        "never mind",
        "--model",
        &model,
    ];
    world.run(&line).expect(0);
    let gone = world.run(&["answer", &id, "red"]).expect(1);
    assert!(gone.stderr.contains("its call ended"), "{}", gone.stderr);
}

#[test]
fn without_waiting_the_model_is_told_that_no_person_is_there() {
    for (flags, setting) in [
        (&["--no-wait"][..], ""),
        (&[], "[permissions]\nunattended = 'deny'\n"),
    ] {
        let world = world();
        world.file("~/config.toml", setting);
        let told = says("guessed", &["[no person is available to answer."]);
        let model = script(&world, &[asks(&colour(&json!({}))), told]);
        let mut line = vec!["agent", "run", "asker", "paint it", "--model", &model];
        line.extend(flags);
        assert_eq!(world.run(&line).expect(0).stdout, "guessed\n");
        assert_eq!(questions(&world).len(), 0);
    }
}

#[test]
fn deadline_that_passed_is_told_to_the_model() {
    let world = world();
    let id = wait(&world, &colour(&json!({ "deadline_seconds": 1 })));
    let found = &questions(&world)[0];
    assert_eq!(found["deadline_seconds"], 1);
    let (at, until) = (found["at"].as_i64(), found["expires_at"].as_i64());
    assert_eq!(until.unwrap() - at.unwrap(), 1_000_000_000);
    prowess_test::wait_until("the deadline", || {
        let listed = world.run(&["questions"]).expect(0).stdout;
        listed.contains("no answer came within 1 s; continue with `prowess session resume")
    });
    let late = world.run(&["answer", &id, "red"]).expect(1);
    for part in [
        "its deadline passed",
        &format!("prowess session resume {}", session(&id)),
    ] {
        assert!(late.stderr.contains(part), "{}", late.stderr);
    }
    let model = script(&world, &[says("guessed", &["[no answer within 1 s]"])]);
    let line = ["session", "resume", session(&id), "--model", &model];
    assert_eq!(world.run(&line).expect(0).stdout, "guessed\n");
    assert_eq!(questions(&world).len(), 0);
    let late = world.run(&["answer", &id, "red"]).expect(1);
    assert!(
        late.stderr.contains("its deadline passed"),
        "{}",
        late.stderr
    );
    let shown = world.run(&["session", "show", session(&id)]).expect(0);
    let part = format!("question {id} was not answered in time");
    assert!(shown.stdout.contains(&part), "{}", shown.stdout);
    assert_eq!(
        kinds(&events(&world, &id)),
        [
            "questioned",
            "ended",
            "resumed",
            "answered",
            "call_started",
            "call_ended",
            "ended"
        ]
    );
}

/// An answer in time counts, even if the session continues after the deadline.
#[test]
fn answer_before_the_deadline_counts_later() {
    let world = world();
    let id = wait(&world, &colour(&json!({ "deadline_seconds": 600 })));
    let listed = world.run(&["questions"]).expect(0).stdout;
    assert!(listed.contains(", until 20"), "{listed}");
    answer(&world, &id, &["red"], &["answered:\nred"]).expect(0);
}

/// Only agents that name the tool have it.
#[test]
fn agents_have_the_tool_only_by_name() {
    let world = world();
    for (name, has) in [("asker", true), ("reader", false), ("all", false)] {
        let lines = [asks(&colour(&json!({}))), says("end", &[])];
        let model = script(&world, &lines);
        let output = world.run(&["agent", "run", name, "x", "--json", "--model", &model]);
        let output = output.expect(if has { 6 } else { 0 });
        let last: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
        let events = events(&world, last["session"].as_str().unwrap());
        let asked = events.iter().find(|it| it["event"] == "asked").unwrap();
        let tools = asked["tools"].as_array().unwrap();
        assert_eq!(
            tools.contains(&json!("ask_human")),
            has,
            "{name}: {tools:?}"
        );
        assert!(
            !output.stderr.contains("not available"),
            "{}",
            output.stderr
        );
    }
    let model = script(&world, &[asks(&colour(&json!({}))), says("end", &[])]);
    let output = world.run(&["run", "--task", "x", "--model", &model]);
    output.expect(0);
}

/// A worker that waits makes its caller wait; the answer continues both.
#[test]
fn agent_that_another_one_started_asks() {
    let world = world();
    let call =
        json!({"calls": [{"name": "call_agent", "input": {"name": "asker", "task": "paint"}}]});
    let model = script(&world, &[call, asks(&colour(&json!({})))]);
    world
        .run(&["run", "--task", "x", "--model", &model])
        .expect(6);
    let found = &questions(&world)[0];
    assert_ne!(found["session"], found["root"]);
    assert_eq!(found["agent"], "asker");
    let id = found["id"].as_str().unwrap();
    let lines = [
        says("blue it is", &["answered:\nblue"]),
        says("done", &["blue it is"]),
    ];
    let model = script(&world, &lines);
    let output = world.run(&["answer", id, "blue", "--model", &model]);
    assert_eq!(output.expect(0).stdout, "done\n");
}

#[test]
fn invalid_questions_are_returned_to_the_model() {
    let many: Vec<String> = (0..21).map(|number| number.to_string()).collect();
    for (input, part) in [
        (json!({}), "question"),
        (json!({ "question": "" }), "question"),
        (json!({ "question": "  " }), "need a text"),
        (json!({ "question": "x", "choices": many }), "choices"),
        (json!({ "question": "x", "choices": ["a", "a"] }), "choices"),
        (
            json!({ "question": "x", "choices": ["a", " "] }),
            "need a text",
        ),
        (json!({ "question": "x".repeat(5_000) }), "question"),
        (
            json!({ "question": "x", "deadline_seconds": 0 }),
            "deadline_seconds",
        ),
    ] {
        let world = world();
        let model = script(
            &world,
            &[asks(&input), says("end", &["Invalid input", part])],
        );
        let output = world.run(&["agent", "run", "asker", "x", "--model", &model]);
        output.expect(0);
        assert_eq!(questions(&world).len(), 0, "{input}");
    }
}

/// A rule decides about the tool like about any other.
#[test]
fn denied_tool_is_not_offered() {
    for rule in ["ask_human", "AskUserQuestion"] {
        let world = world();
        world.file(
            "~/config.toml",
            format!("[permissions]\ndeny = ['{rule}']\n"),
        );
        let model = script(
            &world,
            &[asks(&colour(&json!({}))), says("end", &["was refused"])],
        );
        let output = world.run(&["agent", "run", "asker", "x", "--model", &model]);
        output.expect(0);
        assert_eq!(questions(&world).len(), 0, "{rule}");
    }
}

fn at_terminal(world: &World, typed: &[(&str, &str)], lines: &[Value]) -> String {
    let model = script(world, lines);
    let line = ["agent", "run", "asker", "paint it", "--model", &model];
    on_terminal_with(world, 100, &line, typed, |_| {})
}

#[test]
fn terminal_asks_in_place() {
    let world = world();
    let evil = json!({ "choices": ["red", "blue\u{1b}]52;c;aGk=\u{7}"] });
    let lines = [
        asks(&colour(&evil)),
        says("painted", &["The user chose: red"]),
    ];
    let typed = [("its text):", "green\n"), ("is not one of", "1\n")];
    let shown = at_terminal(&world, &typed, &lines);
    for part in [
        "Agent `asker` asks:",
        "│ Which colour?",
        "│ It is for the page.",
        "  1  red",
        "  2  blue\\u{1b}]52",
        "painted",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(!shown.contains("\u{1b}]52"), "{shown}");
    // The end of the input leaves the question open.
    let lines = [asks(&colour(&json!({})))];
    let shown = at_terminal(&world, &[("Your answer:", "\u{4}")], &lines);
    assert!(shown.contains("waiting for an answer"), "{shown}");
    assert_eq!(questions(&world).len(), 1);
}

#[test]
fn deadline_passes_at_the_terminal() {
    let world = world();
    let input = colour(&json!({ "deadline_seconds": 1 }));
    let lines = [asks(&input), says("guessed", &["[no answer within 1 s]"])];
    let shown = at_terminal(&world, &[("Your answer:", "")], &lines);
    assert!(shown.contains("guessed"), "{shown}");
    assert_eq!(questions(&world).len(), 0);
}

#[test]
fn answer_is_json() {
    let world = world();
    let id = wait(
        &world,
        &colour(&json!({ "choices": ["a", "b"], "several": true })),
    );
    let output = answer(&world, &id, &["2,1", "--json"], &[]).expect(0);
    let first: Value = serde_json::from_str(output.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["schema"], "prowess.answer/1");
    assert_eq!(first["answer"], "text");
    assert_eq!(first["texts"], json!(["b", "a"]));
    assert_eq!(first["who"], "ada");
}

/// A deadline of the plain chat, and its answer.
#[test]
fn chat_without_a_screen_asks() {
    let world = world();
    let lines = [
        asks(&colour(&json!({}))),
        says("painted", &["answered:\nblue"]),
    ];
    let model = script(&world, &lines);
    let line = ["agent", "chat", "asker", "--plain", "--model", &model];
    let typed = [
        ("> ", "paint it\n"),
        ("Your answer:", "blue\n"),
        ("painted", "\u{4}"),
    ];
    let shown = on_terminal_with(&world, 100, &line, &typed, |_| {});
    assert!(shown.contains("Agent `asker` asks:"), "{shown}");
    assert!(shown.contains("answered: blue (by you)"), "{shown}");
}

/// A skill that runs as an agent asks through the client of the MCP server.
#[test]
fn mcp_client_is_asked() {
    // The client answers `no` to everything.
    for (more, told) in [
        (json!({}), "The user answered:\nno"),
        (json!({ "choices": ["yes", "no"] }), "The user chose: no"),
        (
            json!({ "choices": ["yes", "no"], "several": true }),
            "The user chose: no",
        ),
        (
            json!({ "choices": ["red", "blue"] }),
            "[no person is available",
        ),
    ] {
        let world = world();
        world.file(
            "~/.agents/skills/paint/SKILL.md",
            "---\nname: paint\ndescription: Paints. Use to paint.\ncontext: fork\nagent: asker\n---\nPaint.\n",
        );
        let model = script(&world, &[asks(&colour(&more)), says("painted", &[told])]);
        let capabilities = json!({ "elicitation": {} });
        let mut client =
            crate::audit::Client::with(&world, &["--allow-run", "--model", &model], &capabilities);
        let answer = client.call("run_skill", &json!({ "name": "paint" }));
        let text = &answer["result"]["content"][0]["text"];
        assert_eq!(text, "painted", "{answer}");
        let [question] = &client.questions[..] else {
            panic!("{:?}", client.questions)
        };
        let part = "Agent asker asks.\nIt is for the page.\nWhich colour?";
        assert!(question.starts_with(part), "{question}");
    }
}
