//! `prowess questions` and `prowess answer`: a run without a terminal waits for an answer.

use serde_json::{Value, json};

use crate::mission_server::{MissionServer, reply};
use crate::world::{Output, World};

/// Returns a world with a skill in the home folder that runs in its own session.
fn world() -> World {
    let world = World::new();
    world.file(
        "~/.agents/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Deploys. Use to deploy.\ncontext: fork\n---\nDeploy.\n",
    );
    world
}

/// Writes a script for a model. Each process reads it from its beginning, so each part of a run has
/// its own.
fn script(world: &World, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("scripted:{}", world.file("script.jsonl", text).display())
}

fn makes(folder: &str) -> Value {
    json!({"calls": [{"name": "bash", "input": {"command": format!("mkdir {folder}")}}]})
}

fn says(text: &str, expect: &[&str]) -> Value {
    json!({"text": text, "expect": expect})
}

/// Runs a task that needs approval. Returns the id of its question.
pub(crate) fn wait(world: &World) -> String {
    let model = script(world, &[makes("made")]);
    let output = world.run(&["run", "--task", "make it", "--model", &model]);
    let output = output.expect(6);
    assert_eq!(output.stdout, "");
    id(&output)
}

/// Returns the id in the hint of a run that waits.
fn id(output: &Output) -> String {
    let (_, rest) = output.stderr.split_once("`prowess answer ").unwrap();
    rest.split_once(" yes`").unwrap().0.to_owned()
}

fn questions(world: &World) -> Vec<Value> {
    let found = world.run(&["questions", "--json"]).expect(0).json();
    assert_eq!(found["schema"], "prowess.questions/1");
    found["questions"].as_array().unwrap().clone()
}

#[test]
fn run_without_terminal_waits_for_an_answer() {
    let world = world();
    let id = wait(&world);
    assert!(!world.exists("made"));
    let found = questions(&world);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["id"], &found[0]["what"]),
        (&json!(id), &json!("mkdir made"))
    );
    let listed = world.run(&["questions"]).expect(0);
    assert!(
        listed.stdout.contains("  │ mkdir made\n"),
        "{}",
        listed.stdout
    );
    let sessions = world.run(&["session", "list"]).expect(0);
    assert!(sessions.stdout.contains("waiting"), "{}", sessions.stdout);

    // Another process, which has only the store.
    let model = script(&world, &[says("made it", &["mkdir made"])]);
    let output = world
        .command(&["answer", &id, "yes", "--edits", "--model", &model])
        .env("USER", "ada")
        .run()
        .expect(0);
    assert_eq!(output.stdout, "made it\n");
    assert!(world.exists("made"));
    assert_eq!(questions(&world).len(), 0);
    let sessions = world.run(&["session", "list"]).expect(0).stdout;
    assert!(
        sessions.contains("answered") && !sessions.contains("open"),
        "{sessions}"
    );
    let session = id.split('-').next().unwrap();
    let shown = world.run(&["session", "show", session]).expect(0).stdout;
    for part in [
        &format!("question {id}: no rule allows `mkdir made`"),
        "    │ mkdir made\n",
        &format!("waiting for an answer to {id}"),
        &format!("ada answered question {id}: yes"),
        "; ada allowed it",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let why = world
        .run(&["why", "--session", session, "--turn", "1"])
        .expect(0);
    assert!(
        why.stdout.contains("answer    ada answered"),
        "{}",
        why.stdout
    );
}

/// The answer is stored although the model of the session is not available.
#[test]
fn unavailable_model_has_a_way_to_continue() {
    let world = world();
    let id = wait(&world);
    let session = id.split('-').next().unwrap();
    let answered = world.run(&["answer", &id, "yes"]).expect(2);
    // The record has the name of a script, not its path.
    let hint = format!("`prowess session resume {session} --model scripted:FILE`");
    assert!(answered.stderr.contains(&hint), "{}", answered.stderr);
    assert!(
        !answered.stderr.contains("unknown provider"),
        "{}",
        answered.stderr
    );
    let model = script(&world, &[says("made it", &["mkdir made"])]);
    let resumed = world.run(&["session", "resume", session, "--edits", "--model", &model]);
    assert_eq!(resumed.expect(0).stdout, "made it\n");
    assert!(world.exists("made"));
}

#[test]
fn second_answer_is_told_about_the_first() {
    let world = world();
    let id = wait(&world);
    let stored = world
        .command(&[
            "answer",
            &id,
            "no",
            "--because",
            "not on a Friday",
            "--no-continue",
        ])
        .env("USER", "ada")
        .run()
        .expect(0);
    assert!(
        stored.stderr.contains("prowess session resume"),
        "{}",
        stored.stderr
    );
    let late = world.run(&["answer", &id, "yes"]).expect(1);
    for part in [
        "was answered already: no, by ada, 20",
        "because not on a Friday",
    ] {
        assert!(late.stderr.contains(part), "{}", late.stderr);
    }
    // The model is told the reason.
    let model = script(
        &world,
        &[says("understood", &["the user denied it: not on a Friday"])],
    );
    let session = id.split('-').next().unwrap();
    let output = world
        .run(&["session", "resume", session, "--model", &model])
        .expect(0);
    assert_eq!(output.stdout, "understood\n");
    assert!(!world.exists("made"));
}

#[test]
fn forked_skill_waits_and_its_caller_continues() {
    let world = world();
    let call = json!({"calls": [{"name": "load_skill", "input": {"name": "deploy"}}]});
    let model = script(&world, &[call, makes("made")]);
    let output = world.run(&["run", "--task", "deploy it", "--model", &model]);
    let id = id(&output.expect(6));
    let found = questions(&world);
    assert_eq!(found[0]["skill"], "deploy");
    assert_ne!(found[0]["session"], found[0]["root"]);
    // A prefix of the id is enough.
    let model = script(
        &world,
        &[
            says("deployed", &[]),
            says("done", &["Skill `deploy` finished", "deployed"]),
        ],
    );
    let output = world
        .run(&[
            "answer",
            &id[..6],
            "yes",
            "--edits",
            "--json",
            "--model",
            &model,
        ])
        .expect(0);
    let lines: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["schema"], "prowess.answer/1");
    assert_eq!(lines[0]["answer"], "yes");
    let result = lines.last().unwrap();
    assert_eq!(
        (&result["type"], &result["result"]),
        (&json!("result"), &json!("done"))
    );
    assert!(world.exists("made"));
}

#[test]
fn waiting_run_reports_its_questions_as_json() {
    let world = world();
    let model = script(&world, &[makes("made")]);
    let output = world
        .run(&["run", "--task", "make it", "--json", "--model", &model])
        .expect(6);
    let last = output.stdout.lines().last().unwrap();
    let result: Value = serde_json::from_str(last).unwrap();
    assert_eq!(result["outcome"], "waiting");
    let id = result["why"]["questions"][0].as_str().unwrap();
    assert_eq!(questions(&world)[0]["id"], id);
}

#[test]
fn commands_of_a_skill_wait_before_any_of_them_runs() {
    let world = World::new();
    world.file(
        "~/.agents/skills/report/SKILL.md",
        "---\nname: report\ndescription: Reports. Use for reports.\narguments: name\nallowed-tools: Bash(mkdir one)\n---\nFor $name: !`mkdir one` !`touch made`\n",
    );
    let model = script(&world, &[says("never", &["never asked"])]);
    let output = world.run(&["run", "report", "Ada", "--model", &model]);
    let id = id(&output.expect(6));
    assert!(!world.exists("one") && !world.exists("made"));
    let model = script(&world, &[says("reported", &["For Ada:"])]);
    let output = world
        .run(&["answer", &id, "yes", "--edits", "--model", &model])
        .expect(0);
    assert_eq!(output.stdout, "reported\n");
    assert!(world.exists("one") && world.exists("made"));
}

#[test]
fn no_wait_denies_and_continues() {
    for (flags, setting) in [
        (&["--no-wait"][..], ""),
        (&[], "[permissions]\nunattended = 'deny'\n"),
    ] {
        let world = world();
        world.file("~/config.toml", setting);
        let model = script(
            &world,
            &[makes("made"), says("denied", &["no user was available"])],
        );
        let mut line = vec!["run", "--task", "make it", "--model", &model];
        line.extend(flags);
        let output = world.run(&line).expect(0);
        assert_eq!(output.stdout, "denied\n");
        assert!(!world.exists("made"));
        assert_eq!(questions(&world).len(), 0);
    }
}

#[test]
fn piped_chat_waits_too() {
    let world = world();
    let model = script(&world, &[makes("made")]);
    let output = world
        .command(&["chat", "--model", &model])
        .stdin("make it\nnever sent\n")
        .run()
        .expect(6);
    assert!(output.stderr.contains("waiting"), "{}", output.stderr);
    let id = questions(&world)[0]["id"].as_str().unwrap().to_owned();
    let model = script(&world, &[says("made it", &["mkdir made"])]);
    world
        .run(&["answer", &id, "yes", "--edits", "--model", &model])
        .expect(0);
    assert!(world.exists("made"));
}

/// A message would withdraw the question, so the chat asks again before it reads one.
#[test]
fn resumed_chat_asks_before_it_reads_a_message() {
    let world = world();
    let id = wait(&world);
    let session = id.split('-').next().unwrap();
    let model = script(
        &world,
        &[says("made it", &["mkdir made"]), says("bye", &[])],
    );
    let chat = || {
        let line = ["chat", "--resume", session, "--edits", "--model", &model];
        world.command(&line).stdin("thanks\n").run()
    };
    chat().expect(6);
    assert_eq!(questions(&world)[0]["id"], *id);
    world
        .run(&["answer", &id, "yes", "--no-continue"])
        .expect(0);
    assert_eq!(chat().expect(0).stdout, "made it\nbye\n");
    assert!(world.exists("made"));
}

#[test]
fn answer_from_another_folder_continues_in_the_project() {
    let world = world();
    let id = wait(&world);
    let model = script(&world, &[says("made it", &[])]);
    assert_eq!(
        world
            .command(&["questions"])
            .dir("~")
            .run()
            .expect(0)
            .stdout,
        ""
    );
    let all = world.command(&["questions", "--all"]).dir("~").run();
    assert!(all.expect(0).stdout.contains("mkdir made"));
    world
        .command(&["answer", &id, "yes", "--edits", "--model", &model])
        .dir("~")
        .run()
        .expect(0);
    assert!(world.exists("made") && !world.exists("~/made"));
}

#[test]
fn bad_answers_are_refused() {
    let world = world();
    let id = wait(&world);
    let maybe = world.run(&["answer", &id, "maybe"]).expect(2);
    assert!(
        maybe.stderr.contains("expected `yes` or `no`"),
        "{}",
        maybe.stderr
    );
    let mut wrong = id.clone();
    wrong.replace_range(2..3, if &id[2..3] == "a" { "b" } else { "a" });
    let missing = world.run(&["answer", &wrong, "yes"]).expect(2);
    assert!(
        missing
            .stderr
            .contains(&format!("question `{wrong}` not found"))
    );
    assert!(
        missing.stderr.contains(&format!("did you mean `{id}`?")),
        "{}",
        missing.stderr
    );
    let nothing = world.run(&["answer", "zzzz", "yes"]).expect(2);
    assert!(
        nothing.stderr.contains("prowess questions --all"),
        "{}",
        nothing.stderr
    );
    let long = "x".repeat(5_000);
    world
        .run(&["answer", &id, "no", "--because", &long])
        .expect(2);
    assert_eq!(questions(&world).len(), 1, "no answer was stored");
    // The session is removed, and the question with it.
    let session = id.split('-').next().unwrap();
    world.run(&["session", "remove", session]).expect(0);
    world.run(&["answer", &id, "yes"]).expect(2);
}

#[test]
fn question_that_is_gone_is_reported() {
    let world = world();
    let id = wait(&world);
    let session = id.split('-').next().unwrap();
    let model = script(&world, &[says("fine", &[])]);
    world
        .run(&[
            "session",
            "resume",
            session,
            "never mind",
            "--model",
            &model,
        ])
        .expect(0);
    let gone = world.run(&["answer", &id, "yes"]).expect(1);
    assert!(
        gone.stderr.contains("needs no answer any more"),
        "{}",
        gone.stderr
    );
    assert!(gone.stderr.contains("its call ended"), "{}", gone.stderr);
    assert!(!world.exists("made"));
}

#[test]
fn two_answers_at_once_run_the_command_once() {
    let world = world();
    let id = wait(&world);
    let model = script(&world, &[says("made it", &[])]);
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let answer = |word: &'static str| {
            let (world, id, model) = (&world, &id, &model);
            scope.spawn(move || world.run(&["answer", id, word, "--edits", "--model", model]))
        };
        let both = ["yes", "yes"].map(answer);
        both.map(|thread| thread.join().unwrap()).into()
    });
    let mut codes: Vec<i32> = outputs.iter().map(|output| output.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1], "{outputs:?}");
    assert!(world.exists("made"));
}

#[test]
fn question_ids_are_completed() {
    let world = world();
    let id = wait(&world);
    let output = world
        .command(&["--", "prowess", "answer", &id[..4]])
        .env("COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", "2")
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .run()
        .expect(0);
    assert_eq!(output.stdout.trim(), id);
}

/// A command of several lines is a block whose lines have a mark: none of them can look like output
/// of the program, and nothing in it moves the cursor.
#[test]
fn lines_of_a_question_are_a_block() {
    let world = world();
    let command = "mkdir made\necho \u{1b}[2Jx\n\nwaiting for an answer to question q-1\nhint: answer it with `prowess answer evil-1 yes`\r\u{202e}";
    let call = json!({"calls": [{"name": "bash", "input": {"command": command}}]});
    let model = script(&world, &[call]);
    let output = world
        .run(&["run", "--task", "make it", "--model", &model])
        .expect(6);
    let asked = questions(&world);
    let id = asked[0]["id"].as_str().unwrap();
    let listed = world.run(&["questions"]).expect(0).stdout;
    let session = asked[0]["root"].as_str().unwrap();
    let shown = world.run(&["session", "show", session]).expect(0).stdout;
    for text in [&output.stderr, &listed, &shown] {
        // A call is summarised in one line.
        let mut lines = text.lines().filter(|line| !line.starts_with("  calls "));
        assert!(!lines.any(|line| line.contains("made\\n")), "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{text:?}");
        let block: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.ends_with("│ mkdir made"))
            .collect();
        assert!(block[1].contains("│ echo \\u{1b}[2Jx"), "{text}");
        assert!(
            block[3].contains("│ waiting for an answer to question q-1"),
            "{text}"
        );
        for line in text.lines().filter(|line| line.contains("evil-1")) {
            let is_call = line.trim_start().starts_with("calls ");
            assert!(line.trim_start().starts_with("│ ") || is_call, "{line}");
        }
    }
    assert!(
        output.stderr.contains(&format!("question  {id}: ")),
        "{}",
        output.stderr
    );
    let answered = world
        .run(&["answer", id, "no", "--no-continue"])
        .expect(0)
        .stderr;
    assert!(
        answered.starts_with("Denied\n  │ mkdir made\n"),
        "{answered}"
    );
}

/// A person who allows a command learns before that it cannot write. The answer counts with and
/// without `--edits`.
#[test]
fn question_says_that_a_command_cannot_write() {
    let world = world();
    let id = wait(&world);
    let note = "the command cannot write files without `--edits`";
    assert!(
        questions(&world)[0]["reason"]
            .as_str()
            .unwrap()
            .ends_with(note)
    );
    let listed = world.run(&["questions"]).expect(0).stdout;
    assert!(listed.contains(note), "{listed}");
    let model = script(&world, &[says("Done.", &[])]);
    world
        .run(&["answer", &id, "yes", "--edits", "--model", &model])
        .expect(0);
    assert!(world.path("made").is_dir());
    assert!(questions(&world).is_empty());
    // With edits, there is nothing to say.
    let model = script(&world, &[makes("more")]);
    world
        .run(&["run", "--task", "x", "--edits", "--model", &model])
        .expect(6);
    assert!(
        !questions(&world)[0]["reason"]
            .as_str()
            .unwrap()
            .contains("cannot write")
    );
}

/// A server on this machine is known by its address only.
#[test]
fn session_with_a_local_model_names_its_server() {
    let world = world();
    let made = [
        json!({ "unless": ["made it"], "when": ["Exit code 0"], "text": "made it" }),
        json!({ "calls": [{ "name": "bash", "input": { "command": "mkdir made" } }] }),
    ];
    let server = MissionServer::new(move |request| reply(&made, request));
    let base = server.url("v1");
    let run = ["run", "--task", "make it", "--model", "local/tiny"];
    let waiting = world.command(&run).env("PROWESS_BASE_URL", &base).run();
    let id = id(&waiting.expect(6));
    let session = id.split('-').next().unwrap();
    let answered = world.run(&["answer", &id, "yes"]).expect(2);
    let hint = format!("`PROWESS_BASE_URL=URL prowess session resume {session}`");
    assert!(answered.stderr.contains(&hint), "{}", answered.stderr);
    let resumed = world
        .command(&["session", "resume", session, "--edits"])
        .env("PROWESS_BASE_URL", &base)
        .run();
    assert_eq!(resumed.expect(0).stdout, "made it\n");
}

/// A prompt on a terminal ends when another process answers its question.
#[test]
fn prompt_ends_when_another_process_answers() {
    let world = world();
    let model = script(&world, &[makes("made"), says("made it", &["Exit code 0"])]);
    let run = ["run", "--task", "make it", "--edits", "--model", &model];
    let answer = |_: &str| {
        let open = questions(&world);
        let id = open[0]["id"].as_str().unwrap();
        let answered = world.run(&["answer", id, "yes"]).expect(0);
        assert!(answered.stderr.contains("the answer counts there"));
    };
    let typed = [("Allow it?", "")];
    let shown = crate::terminal::on_terminal_with(&world, 100, &run, &typed, answer);
    assert!(shown.contains("answered by another process"), "{shown}");
    assert!(shown.contains("made it"), "{shown}");
    assert!(world.exists("made"));
}

/// A command that failed is told from one that succeeded.
#[test]
fn live_lines_have_the_exit_code_of_failed_commands() {
    let world = world();
    let calls = json!({"calls": [
        {"name": "bash", "input": {"command": "false"}},
        {"name": "bash", "input": {"command": "true"}},
    ]});
    let model = script(&world, &[calls, says("done", &[])]);
    let run = ["run", "--task", "x", "--model", &model];
    let approve = ["--approve", "Bash(true)", "--approve", "Bash(false)"];
    let output = world.run(&[&run[..], &approve].concat()).expect(0);
    let lines = output.stderr.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with("Model")).collect();
    let ended: Vec<&&str> = lines
        .iter()
        .filter(|line| line.starts_with("ended"))
        .collect();
    assert_eq!(ended, [&"ended     exit code 1"], "{}", output.stderr);
}
