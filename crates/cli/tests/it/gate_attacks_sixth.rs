//! Sixth round of attacks on the gate: missions, answers and other folders. `docs/dev/audits.md` lists
//! the finding of each test.

use serde_json::{Value, json};

use crate::gate_attacks;
use crate::mission_runs::{MODELS, calls, done, lines, requests, says, script, trust};
use crate::mission_server::{MissionServer, ServerAnswer};
use crate::terminal::on_terminal_with;
use crate::world::World;

/// Returns the open questions.
fn open_questions(world: &World) -> Vec<Value> {
    let shown = world.run(&["questions", "--json"]).expect(0).json();
    shown["questions"].as_array().unwrap().clone()
}

/// A1: agents side by side asked at once, and a `y` answered another question than the last one shown.
#[test]
fn typed_answer_is_about_the_question_shown_last() {
    let server = MissionServer::new(|_| ServerAnswer::Page("text/plain", "page".to_owned()));
    let world = World::new();
    let agent = |name: &str| {
        format!(
            "agent \"{name}\" {{\n  model = models.m.small\n  personality = \"x\"\n  tools = [builtins.http.get]\n}}\n"
        )
    };
    world.file(
        "m.hcl",
        format!(
            "{MODELS}{}{}mission \"x\" {{\n  commander {{ model = models.m.small }}\n  agents = [agents.one, agents.two]\n  task \"a\" {{ objective = \"o\" }}\n}}\n",
            agent("one"),
            agent("two")
        ),
    );
    trust(&world);
    let fetch = |name: &str| json!({ "url": server.url(name) });
    let start = |name: &str| ("call_agent", json!({ "name": name, "task": "t" }));
    let model = script(
        &world,
        "s.jsonl",
        &[
            says(&["You are agent `one`", "/first"], &[], "ONE"),
            says(&["You are agent `two`", "/second"], &[], "TWO"),
            calls(
                &["You are agent `one`"],
                &[],
                &[("http_get", fetch("first"))],
            ),
            calls(
                &["You are agent `two`"],
                &[],
                &[("http_get", fetch("second"))],
            ),
            calls(
                &["You direct task `a`"],
                &["ONE"],
                &[start("one"), start("two")],
            ),
            done("a"),
        ],
    );
    let run = ["mission", "run", "x", "--model", &model];
    let typed = [("N] ", "y\n"), ("y\r\n", "n\n")];
    let shown = on_terminal_with(&world, 100, &run, &typed, |expected| {
        let open = if expected == "N] " { 2 } else { 1 };
        prowess_test::wait_until("open questions", || open_questions(&world).len() == open);
    });
    let prompts: Vec<&str> = shown.split("this session, N] ").collect();
    let [before, first, second] = prompts[..] else {
        panic!("{shown}");
    };
    // Nothing is written between a question and its answer.
    assert!(first.starts_with("y\r\n"), "{shown}");
    assert!(second.starts_with("n\r\n"), "{shown}");
    let asked = |text: &str| {
        let at = text.rfind("│ Fetch ").unwrap();
        if text[at..].contains("/first") {
            "/first"
        } else {
            "/second"
        }
    };
    assert_ne!(asked(before), asked(first), "{shown}");
    let received: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.head.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(received, [asked(before)], "{shown}");
}

/// Writes a mission whose agent is given.
fn write(world: &World, agent: &str) {
    world.file(
        "m.hcl",
        format!(
            "{MODELS}agent \"worker\" {{\n  model = models.m.small\n  personality = \"Calm.\"\n{agent}\n}}\nmission \"x\" {{\n  commander {{ model = models.m.small }}\n  agents = [agents.worker]\n  task \"a\" {{ objective = \"o\" }}\n}}\n"
        ),
    );
    trust(world);
}

/// Returns a script in which the agent makes calls one after another.
fn worker(made: &[(&str, Value)]) -> Vec<Value> {
    let agent = "You are agent `worker`";
    let mut script: Vec<Value> = Vec::new();
    for call in made {
        let mut line = calls(&[agent], &[], std::slice::from_ref(call));
        line["repeat"] = false.into();
        script.push(line);
    }
    script.push(says(&[agent], &[], "WORKER-DONE"));
    let start = ("call_agent", json!({ "name": "worker", "task": "t" }));
    script.push(calls(&["You direct task `a`"], &["WORKER-DONE"], &[start]));
    script.push(done("a"));
    script
}

/// Returns the id of the only open question.
fn only_question(world: &World) -> String {
    let open = open_questions(world);
    assert_eq!(open.len(), 1, "{open:?}");
    open[0]["id"].as_str().unwrap().to_owned()
}

/// Returns the results of all calls of a run.
fn results(output: &str) -> String {
    let ended = lines(output);
    let ended = ended
        .iter()
        .filter(|line| line["event"]["event"] == "call_ended");
    ended
        .map(|line| format!("{}\n", line["event"]["result"]))
        .collect()
}

fn other_project(world: &World) {
    world.folder("../other/.git");
    world.folder(".git");
}

/// A10: an answer about a file of one project was used for that of another.
#[test]
fn answers_are_for_one_project() {
    let world = gate_attacks::world("");
    other_project(&world);
    world.file("notes.txt", "x");
    world.file("../other/notes.txt", "keep");
    let call = json!({ "calls": [{ "name": "bash", "input": { "command": "rm notes.txt" } }] });
    let model = script(&world, "~/s.jsonl", &[call, json!({ "text": "end" })]);
    let run = [
        "run", "--task", "go", "--edits", "--model", &model, "--json",
    ];
    let session = lines(&world.run(&run).expect(6).stdout)[0]["session"].clone();
    let question = only_question(&world);
    world
        .run(&["answer", &question, "yes", "--no-continue"])
        .expect(0);
    let model = script(&world, "~/t.jsonl", &[json!({ "text": "end" })]);
    let id = session.as_str().unwrap();
    let resume = ["session", "resume", id, "--edits", "--model", &model];
    world.command(&resume).dir("../other").run().expect(0);
    assert!(world.path("../other/notes.txt").exists());
    assert!(!world.path("notes.txt").exists());
    // Without its project, it does not continue elsewhere.
    let root = world.path("");
    std::fs::rename(&root, root.with_file_name("moved")).unwrap();
    let resume = ["session", "resume", id, "go on", "--model", &model];
    let refused = world.command(&resume).dir("../other").run();
    std::fs::rename(root.with_file_name("moved"), &root).unwrap();
    let refused = refused.expect(2).stderr;
    assert!(refused.contains("does not exist"), "{refused}");
}

/// A11: a session that was resumed in another folder lost the restrictions of its project.
#[test]
fn restrictions_of_a_project_apply_to_sessions_resumed_elsewhere() {
    let world = gate_attacks::world("[permissions]\nallow = ['Bash(echo:*)']\n");
    other_project(&world);
    world.file(
        ".agents/prowess.toml",
        "[permissions]\ndeny = ['Bash(echo secret:*)']\n",
    );
    let bash =
        |command: &str| json!({ "calls": [{ "name": "bash", "input": { "command": command } }] });
    let model = script(&world, "~/s.jsonl", &[bash("mkdir q")]);
    let run = ["run", "--task", "go", "--model", &model, "--json"];
    let session = lines(&world.run(&run).expect(6).stdout)[0]["session"].clone();
    let question = only_question(&world);
    world
        .run(&["answer", &question, "no", "--no-continue"])
        .expect(0);
    let model = script(
        &world,
        "~/t.jsonl",
        &[bash("echo secret"), json!({ "text": "end" })],
    );
    let id = session.as_str().unwrap();
    let resume = ["session", "resume", id, "--model", &model];
    let resumed = world.command(&resume).dir("../other").run().expect(0);
    assert!(
        resumed.stderr.contains("a rule forbids `echo secret`"),
        "{}",
        resumed.snapshot()
    );
}

/// A11: the same for `mission run NAME PATH` and `mission resume`.
#[test]
fn restrictions_of_a_project_apply_to_missions_run_elsewhere() {
    let world = World::new();
    other_project(&world);
    world.file(
        ".agents/prowess.toml",
        "[permissions]\ndeny = ['Skill(helper)']\n",
    );
    let helper = "  skill \"helper\" {\n    description = \"d\"\n    instructions = \"HELPER-TEXT\"\n  }\n  tools = [builtins.human.ask]\n";
    write(&world, helper);
    let load = ("load_skill", json!({ "name": "helper" }));
    let model = script(&world, "~/s.jsonl", &worker(std::slice::from_ref(&load)));
    let root = world.path("");
    let root = root.to_str().unwrap();
    let run = ["mission", "run", "x", root, "--model", &model, "--json"];
    let output = world.command(&run).dir("../other").run().expect(0);
    assert!(!results(&output.stdout).contains("HELPER-TEXT"));
    let ask = ("ask_human", json!({ "question": "ready?" }));
    let model = script(&world, "~/s.jsonl", &worker(&[ask]));
    let run = ["mission", "run", "x", "--model", &model, "--json"];
    let output = lines(&world.run(&run).expect(6).stdout);
    let id = output.last().unwrap()["run"].as_str().unwrap().to_owned();
    world
        .run(&["answer", &only_question(&world), "yes", "--no-continue"])
        .expect(0);
    let model = script(&world, "~/s.jsonl", &worker(&[load]));
    let resume = ["mission", "resume", &id, "--model", &model, "--json"];
    let output = world.command(&resume).dir("../other").run().expect(0);
    let results = results(&output.stdout);
    assert!(
        results.contains("load_skill") && !results.contains("HELPER-TEXT"),
        "{results}"
    );
}

/// A12: an answer about an agent of a mission covered another definition of it.
#[test]
fn answer_does_not_cover_an_agent_of_a_mission_that_changed() {
    let world = gate_attacks::world("[permissions]\nask = ['Agent(worker)']\n");
    let agent = |text: &str, tools: &str| {
        format!(
            "  skill \"helper\" {{\n    description = \"d\"\n    instructions = \"{text}\"\n  }}\n  tools = [{tools}]\n"
        )
    };
    write(&world, &agent("one", ""));
    let model = script(&world, "~/s.jsonl", &worker(&[]));
    let start = || {
        let run = ["mission", "run", "x", "--model", &model, "--json"];
        let output = lines(&world.run(&run).expect(6).stdout);
        let question = only_question(&world);
        world
            .run(&["answer", &question, "yes", "--no-continue"])
            .expect(0);
        output.last().unwrap()["run"].as_str().unwrap().to_owned()
    };
    let resume = |id: &str| {
        let resume = ["mission", "resume", id, "--replan", "--model", &model];
        world.run(&resume)
    };
    // The same definition.
    let id = start();
    resume(&id).expect(0);
    let id = start();
    write(&world, &agent("CHANGED", "builtins.http.get"));
    resume(&id).expect(6);
}

/// The same for a skill of a block.
#[test]
fn answer_does_not_cover_a_skill_of_a_mission_that_changed() {
    let world = gate_attacks::world("[permissions]\nask = ['Skill(helper)']\n");
    let agent = |text: &str| {
        format!(
            "  skill \"helper\" {{\n    description = \"d\"\n    instructions = \"{text}\"\n  }}\n"
        )
    };
    write(&world, &agent("one"));
    let load = ("load_skill", json!({ "name": "helper" }));
    let model = script(&world, "~/s.jsonl", &worker(&[load]));
    let run = ["mission", "run", "x", "--model", &model, "--json"];
    let output = lines(&world.run(&run).expect(6).stdout);
    let id = output.last().unwrap()["run"].as_str().unwrap().to_owned();
    let question = only_question(&world);
    world
        .run(&["answer", &question, "yes", "--no-continue"])
        .expect(0);
    write(&world, &agent("CHANGED"));
    let model = script(&world, "~/s.jsonl", &worker(&[]));
    let resume = [
        "mission", "resume", &id, "--replan", "--model", &model, "--json",
    ];
    let output = world.run(&resume);
    assert!(
        !results(&output.stdout).contains("CHANGED"),
        "{}",
        output.snapshot()
    );
}

/// A13: the settings of an agent did not remove `ask_human`.
#[test]
fn settings_of_an_agent_remove_the_tool_that_asks() {
    for (settings, expected) in [
        ("[agents.worker]\ntools = ['read']\n", false),
        ("[agents.worker]\ntools = ['ask_human']\n", true),
        ("", true),
    ] {
        let world = gate_attacks::world(settings);
        // `http_post` reaches agents that list it, unless the settings remove it.
        write(
            &world,
            "  tools = [builtins.human.ask, builtins.http.post]\n",
        );
        let model = script(&world, "~/s.jsonl", &worker(&[]));
        let output = crate::mission_runs::run(&world, &model, 0);
        let tools = requests(&output, "worker").concat();
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        assert_eq!(has("ask_human"), expected, "{settings}: {tools:?}");
        assert_eq!(
            has("http_post"),
            settings.is_empty(),
            "{settings}: {tools:?}"
        );
    }
}

/// A14: programs of clouds, and values that are attached to short options, hid denied programs.
#[test]
fn clouds_and_attached_options_hide_no_programs() {
    let world = World::new();
    world.file(
        "~/config.toml",
        "[permissions]\nallow = ['Bash']\ndeny = ['Bash(rm:*)']\n",
    );
    let verdict = |command: &str| {
        let output = world.run(&["policy", "check", "--", command]);
        output
            .stdout
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    for command in [
        "gcloud compute ssh h -- rm x",
        "gcloud compute ssh h --command 'rm x'",
        "gcloud compute ssh h --command='rm x'",
        "heroku run rm x",
        "somewrapper -c'rm x'",
        "somewrapper -lc'rm x'",
    ] {
        assert_ne!(verdict(command), "allow", "{command}");
    }
    for command in ["gcloud projects list", "aws s3 ls", "somewrapper -c'ls x'"] {
        assert_eq!(verdict(command), "allow", "{command}");
    }
}
