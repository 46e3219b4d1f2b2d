//! Attacks on runs of missions, sixth round: links, rules about files, budgets, commands and trust.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mission_runs::{MODELS, calls, done, lines, says, script, trust};
use crate::mission_server::{MissionServer, reply};
use crate::world::World;

const WORKER: &str = "You are agent `worker`";
const COMMANDER: &str = "You direct task `a`";

/// A trusted project: blocks, lines of agent `worker`, and lines of mission `x`, which has a task `a`.
fn project(blocks: &str, agent: &str, items: &str) -> World {
    let world = World::new();
    world.file("models.hcl", MODELS);
    write_mission(&world, blocks, agent, items);
    trust(&world);
    world
}

fn write_mission(world: &World, blocks: &str, agent: &str, items: &str) {
    world.file(
        "mission.hcl",
        format!(
            "{blocks}\nagent \"worker\" {{\n  model       = models.m.small\n  personality = \"Calm.\"\n{agent}\n}}\n\
             mission \"x\" {{\n  commander {{ model = models.m.small }}\n  agents = [agents.worker]\n{items}\n  task \"a\" {{ objective = \"a\" }}\n}}\n"
        ),
    );
}

/// A script in which agent `worker` makes these calls in one reply.
fn worker_calls(world: &World, made: &[(&str, Value)]) -> String {
    let mut first = calls(&[WORKER], &[], made);
    first["repeat"] = false.into();
    let script_lines = [
        first,
        says(&[WORKER], &[], "WORKER-DONE"),
        call_worker(),
        done("a"),
    ];
    script(world, "worker.jsonl", &script_lines)
}

/// A script in which agent `worker` is done.
fn worker_ends(world: &World) -> String {
    let ends = [says(&[WORKER], &[], "WORKER-DONE"), done("a")];
    script(world, "ends.jsonl", &ends)
}

fn call_worker() -> Value {
    let call = (
        "call_agent",
        json!({ "name": "worker", "task": "Do the work." }),
    );
    calls(&[COMMANDER], &["WORKER-DONE"], &[call])
}

/// A script in which agent `worker` asks a person first, and then makes these calls.
fn asks_then_calls(world: &World, made: &[(&str, Value)]) -> String {
    let asks = ("ask_human", json!({ "question": "Ready?" }));
    let mut then = calls(&[WORKER, "The user answered"], &[], made);
    then["repeat"] = false.into();
    let script_lines = [
        calls(&[WORKER], &["The user answered"], &[asks]),
        then,
        says(&[WORKER, "The user answered"], &[], "WORKER-DONE"),
        call_worker(),
        done("a"),
    ];
    script(world, "asks.jsonl", &script_lines)
}

fn run_with(world: &World, model: &str, more: &[&str], code: i32) -> Vec<Value> {
    let mut line = vec!["mission", "run", "x", "--model", model, "--json"];
    line.extend(more);
    lines(&world.run(&line).expect(code).stdout)
}

/// Returns the results of calls of a tool: `true` for an error, and the text.
fn results(lines: &[Value], tool: &str) -> Vec<(bool, String)> {
    let ended = lines
        .iter()
        .map(|line| &line["event"])
        .filter(|event| event["event"] == "call_ended" && event["result"]["name"] == tool);
    ended
        .map(|event| {
            let result = &event["result"];
            let text = result["text"].as_str().unwrap_or_default().to_owned();
            (result["is_error"] == true, text)
        })
        .collect()
}

/// Returns the decisions, as `verdict what`.
fn decisions(lines: &[Value]) -> Vec<String> {
    let decided = lines
        .iter()
        .map(|line| &line["event"])
        .filter(|event| event["event"] == "decided");
    decided
        .map(|event| {
            let word = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", word("verdict"), word("what"))
        })
        .collect()
}

fn file(slot: &str, path: &str) -> Value {
    json!({ "slot": slot, "path": path })
}

fn write(slot: &str, path: &str) -> (&'static str, Value) {
    let input = json!({ "slot": slot, "path": path, "content": "TEXT" });
    ("file_write", input)
}

/// Continues a run that waits for the answer to its only question, in one of two ways.
fn go_on(world: &World, waiting: &[Value], way: &str, model: &str, code: i32) -> Vec<Value> {
    let result = waiting.last().unwrap();
    let question = result["questions"][0]["id"].as_str().unwrap();
    let run = result["run"].as_str().unwrap();
    let output = if way == "answer" {
        world.run(&["answer", question, "yes", "--model", model, "--json"])
    } else {
        let stored = world.run(&["answer", question, "yes", "--no-continue"]);
        stored.expect(0);
        world.run(&["mission", "resume", run, "--model", model, "--json"])
    };
    lines(&output.expect(code).stdout)
}

/// A2 and H2.
#[test]
fn packet_that_became_a_link_is_not_followed() {
    for way in ["answer", "resume"] {
        let world = World::new();
        world.file("models.hcl", MODELS);
        world.file("docs/a.txt", "fine\n");
        world.file("~/.ssh/id_rsa", "TOPSECRET-KEY\n");
        world.file("../outside/id_rsa", "OUTSIDE-KEY\n");
        write_mission(
            &world,
            "packet \"docs\" { path = \"./docs\" }\npacket \"inner\" { path = \"./docs/inner\" }",
            "  tools = [builtins.human.ask]",
            "  packets = [packets.docs, packets.inner]",
        );
        world.file("docs/inner/b.txt", "inner\n");
        trust(&world);
        let model = asks_then_calls(
            &world,
            &[
                ("file_list", json!({ "slot": "docs" })),
                ("file_read", file("docs", "id_rsa")),
                ("file_list", json!({ "slot": "inner" })),
                ("file_read", file("inner", "id_rsa")),
            ],
        );
        let waiting = run_with(&world, &model, &[], 6);
        std::fs::remove_dir_all(world.path("docs")).unwrap();
        if way == "answer" {
            world.link("docs", world.path("~/.ssh").to_str().unwrap());
        } else {
            world.folder("docs");
            world.link("docs/inner", world.path("../outside").to_str().unwrap());
        }
        let after = go_on(&world, &waiting, way, &model, 0);
        let text = serde_json::to_string(&after).unwrap();
        for secret in ["TOPSECRET-KEY", "OUTSIDE-KEY"] {
            assert!(!text.contains(secret), "{way}: {secret}");
        }
        let reads = results(&after, "file_read");
        assert_eq!(reads.len(), 2, "{reads:?}");
        assert!(reads.iter().all(|(is_error, _)| *is_error), "{reads:?}");
        let lists = results(&after, "file_list");
        assert!(
            lists.iter().all(|(_, text)| !text.contains("id_rsa")),
            "{lists:?}"
        );
        let refused = lists.iter().chain(&reads);
        let refused = refused.filter(|(_, text)| text.contains("leads out of the project"));
        assert!(refused.count() >= 2, "{lists:?} {reads:?}");
    }
}

/// A link inside the project is still followed, as when the files were checked.
#[test]
fn packet_that_is_a_link_inside_the_project_is_read() {
    let world = World::new();
    world.file("models.hcl", MODELS);
    world.file("real/a.txt", "LINKED-TEXT\n");
    world.file("real/sub/b.txt", "DEEP-TEXT\n");
    world.link("docs", "real");
    world.link("real/same.txt", "a.txt");
    world.link("real/other.txt", "../mission.hcl");
    write_mission(
        &world,
        "packet \"docs\" { path = \"./docs\" }",
        "",
        "  packets = [packets.docs]",
    );
    trust(&world);
    let model = worker_calls(
        &world,
        &[
            ("file_list", json!({ "slot": "docs" })),
            ("file_read", file("docs", "a.txt")),
            ("file_read", file("docs", "sub/b.txt")),
            ("file_read", file("docs", "same.txt")),
            ("file_read", file("docs", "other.txt")),
        ],
    );
    let lines = run_with(&world, &model, &[], 0);
    let listed = results(&lines, "file_list");
    assert_eq!(listed, [(false, "a.txt\nsub/b.txt".to_owned())]);
    let reads = results(&lines, "file_read");
    let texts: Vec<&str> = reads.iter().map(|(_, text)| text.trim_end()).collect();
    assert_eq!(texts[..3], ["LINKED-TEXT", "DEEP-TEXT", "LINKED-TEXT"]);
    assert!(reads[3].0, "a link out of the packet was followed");
}

/// The same as A2, for folders of ours.
#[test]
fn link_in_the_place_of_a_memory_is_not_followed() {
    let world = project(
        "memory \"lessons\" { description = \"What we learned\" }",
        "",
        "  memories   = [memories.lessons]\n  scratchpad = true",
    );
    let first = worker_calls(&world, &[write("lessons", "notes/a.md")]);
    run_with(&world, &first, &[], 0);
    let found = find(&world.path("~"), "a.md").expect("the memory has the file");
    let folder = found.parent().unwrap().parent().unwrap().to_owned();
    let outside = world.folder("../outside");
    world.file("../outside/notes/key.md", "OUTSIDE-KEY\n");
    std::fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&outside, &folder).unwrap();
    let second = worker_calls(
        &world,
        &[
            ("file_list", json!({ "slot": "lessons" })),
            ("file_read", file("lessons", "notes/key.md")),
            write("lessons", "new.md"),
            write("lessons", "notes/key.md"),
            ("file_delete", file("lessons", "notes/key.md")),
        ],
    );
    let lines = run_with(&world, &second, &[], 0);
    for tool in ["file_list", "file_read", "file_write", "file_delete"] {
        let made = results(&lines, tool);
        assert!(!made.is_empty(), "{tool}");
        assert!(made.iter().all(|(is_error, _)| *is_error), "{made:?}");
    }
    let key = std::fs::read_to_string(world.path("../outside/notes/key.md")).unwrap();
    assert_eq!(key, "OUTSIDE-KEY\n");
    assert!(!world.path("../outside/new.md").exists());
}

/// Returns the first file with this name below a folder.
fn find(folder: &std::path::Path, name: &str) -> Option<PathBuf> {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if let Some(found) = find(&path, name) {
                return Some(found);
            }
        } else if entry.file_name() == name {
            return Some(path);
        }
    }
    None
}

/// A5 and M1.
#[test]
fn rules_about_files_apply_to_packets() {
    let world = World::new();
    world.file("models.hcl", MODELS);
    world.file("private/notes.txt", "PRIVATE-TEXT\n");
    world.file("docs/prod.env", "DOTENV-TEXT\n");
    world.file("docs/asked.txt", "ASKED-TEXT\n");
    world.file("docs/open.txt", "OPEN-TEXT\n");
    world.file(
        "~/config.toml",
        "[permissions]\ndeny = [\"Read(private/**)\", \"Read(*.env)\"]\nask = [\"Read(docs/asked.txt)\"]\n",
    );
    write_mission(
        &world,
        "packet \"docs\" { path = \"./docs\" }\npacket \"private\" { path = \"./private\" }",
        "",
        "  packets = [packets.docs, packets.private]",
    );
    trust(&world);
    let model = worker_calls(
        &world,
        &[
            ("file_list", json!({ "slot": "docs" })),
            ("file_list", json!({ "slot": "private" })),
            ("file_read", file("docs", "prod.env")),
            ("file_read", file("private", "notes.txt")),
            ("file_read", file("docs", "asked.txt")),
            ("file_read", file("docs", "open.txt")),
        ],
    );
    let lines = run_with(&world, &model, &["--no-wait"], 0);
    let text = serde_json::to_string(&lines).unwrap();
    for secret in ["PRIVATE-TEXT", "DOTENV-TEXT", "ASKED-TEXT"] {
        assert!(!text.contains(secret), "{secret}");
    }
    let reads = results(&lines, "file_read");
    assert!(reads[0].1.contains("a rule forbids it"), "{reads:?}");
    assert!(reads[1].1.contains("a rule forbids it"), "{reads:?}");
    assert!(reads[2].0, "{reads:?}");
    assert_eq!(reads[3], (false, "OPEN-TEXT\n".to_owned()));
    let lists = results(&lines, "file_list");
    assert!(lists[0].1.starts_with("open.txt\n"), "{lists:?}");
    for hidden in ["prod.env", "asked.txt", "notes.txt"] {
        assert!(
            !lists.iter().any(|(_, text)| text.contains(hidden)),
            "{lists:?}"
        );
    }
    let decided = decisions(&lines);
    assert!(
        decided.contains(&"deny Reading `docs/prod.env`".to_owned()),
        "{decided:?}"
    );
    // With a person, the ask rule is a question.
    let one = worker_calls(&world, &[("file_read", file("docs", "asked.txt"))]);
    let waiting = run_with(&world, &one, &[], 6);
    let after = go_on(&world, &waiting, "answer", &worker_ends(&world), 0);
    let reads = results(&after, "file_read");
    assert_eq!(reads, [(false, "ASKED-TEXT\n".to_owned())]);
}

/// A6.
#[test]
fn slots_are_written_only_if_the_gate_allows_it() {
    let made = [
        write("scratchpad", "a.txt"),
        ("file_delete", file("scratchpad", "a.txt")),
        ("file_list", json!({ "slot": "scratchpad" })),
    ];
    let refused = [
        ("mode = \"plan\"", "plan mode changes nothing"),
        ("deny = [\"Write\", \"Edit\"]", "a rule forbids it"),
        ("mode = \"yolo\"\ndeny = [\"Edit\"]", "a rule forbids it"),
        ("mode = \"allow\"\nask = [\"Write\"]", "does not prompt"),
    ];
    for (setting, why) in refused {
        let world = project("", "", "  scratchpad = true");
        world.file("~/config.toml", format!("[permissions]\n{setting}\n"));
        let model = worker_calls(&world, &made);
        let lines = run_with(&world, &model, &["--no-wait"], 0);
        for tool in ["file_write", "file_delete"] {
            let results = results(&lines, tool);
            assert!(results[0].0, "{setting}: {results:?}");
        }
        let written = results(&lines, "file_write");
        assert!(written[0].1.contains(why), "{setting}: {written:?}");
        assert_eq!(results(&lines, "file_list")[0].1, "No files.", "{setting}");
        let decided = decisions(&lines);
        let denial = "deny Writing `scratchpad/a.txt`".to_owned();
        assert!(decided.contains(&denial), "{setting}: {decided:?}");
    }
    // Without a rule, the trust in the files allows it; the decision is recorded.
    for setting in ["", "mode = \"allow\"", "mode = \"accept-edits\""] {
        let world = project("", "", "  scratchpad = true");
        world.file("~/config.toml", format!("[permissions]\n{setting}\n"));
        let model = worker_calls(&world, &made);
        let lines = run_with(&world, &model, &["--no-wait"], 0);
        for tool in ["file_write", "file_delete"] {
            let results = results(&lines, tool);
            assert!(!results[0].0, "{setting}: {results:?}");
        }
        let decided = decisions(&lines);
        for one in ["Writing", "Deleting"] {
            let allowed = format!("allow {one} `scratchpad/a.txt`");
            assert!(decided.contains(&allowed), "{setting}: {decided:?}");
        }
    }
    // An ask rule is a question, and the answer counts.
    let world = project("", "", "  scratchpad = true");
    world.file("~/config.toml", "[permissions]\nask = [\"Edit\"]\n");
    let model = worker_calls(&world, &made[..1]);
    let waiting = run_with(&world, &model, &[], 6);
    let after = go_on(&world, &waiting, "answer", &worker_ends(&world), 0);
    let written = results(&after, "file_write");
    assert_eq!(written.len(), 1, "{written:?}");
    assert!(!written[0].0, "{written:?}");
}

/// A reply that uses 440 tokens.
fn asks_much(mut line: Value) -> Value {
    line["usage"] = json!({ "input": 400, "output": 40 });
    line
}

/// A7.
#[test]
fn route_to_another_mission_keeps_the_rest_of_the_budget() {
    let world = World::new();
    world.file("models.hcl", MODELS);
    let mission = |name: &str, next: &str, more: &str| {
        format!(
            "mission \"{name}\" {{\n  commander {{ model = models.m.small }}\n  agents = [agents.worker]\n{more}\n  task \"{name}\" {{\n    objective = \"o\"\n    router {{\n      route {{\n        target    = missions.{next}\n        condition = \"c\"\n      }}\n    }}\n  }}\n}}\n"
        )
    };
    let agent =
        "agent \"worker\" {\n  model       = models.m.small\n  personality = \"Calm.\"\n}\n";
    world.file(
        "mission.hcl",
        format!("{agent}{}{}", mission("x", "y", ""), mission("y", "x", "")),
    );
    trust(&world);
    let routes = |task: &str, to: &str| {
        let complete = json!({ "summary": "s", "route": format!("missions.{to}") });
        let when = format!("You direct task `{task}`");
        asks_much(calls(&[&when], &[], &[("task_complete", complete)]))
    };
    let model = script(&world, "a.jsonl", &[routes("x", "y"), routes("y", "x")]);
    let started = |lines: &[Value]| {
        let is_start = |line: &&Value| line["event"]["fact"]["kind"] == "started";
        lines.iter().filter(is_start).count()
    };
    let stopped = run_with(&world, &model, &["--budget", "tokens=1000"], 5);
    // Three runs use 440 tokens each, and the fourth sends nothing.
    assert_eq!(started(&stopped), 4);
    let result = stopped.last().unwrap();
    assert_eq!(result["ending"]["outcome"], "exhausted", "{result}");
    // The last run has what the first two left, also after it was resumed.
    let id = result["run"].as_str().unwrap();
    let resume = |more: &[&str]| {
        let mut line = vec!["mission", "resume", id, "--model", &model, "--json"];
        line.extend(more);
        lines(&world.run(&line).expect(5).stdout)
    };
    assert_eq!(started(&resume(&[])), 0);
    let more = resume(&["--budget", "tokens=900"]);
    assert_eq!(started(&more), 3, "three requests, as before");
    // The budget of the plan of the next mission counts as well.
    let budget = "  budget { tokens = 100 }";
    world.file(
        "mission.hcl",
        format!(
            "{agent}{}{}",
            mission("x", "y", ""),
            mission("y", "x", budget)
        ),
    );
    trust(&world);
    let asks = calls(
        &["You direct task `y`"],
        &["No subtasks."],
        &[("get_subtasks", json!({}))],
    );
    let replies = [routes("x", "y"), asks_much(asks), routes("y", "x")];
    let model = script(&world, "b.jsonl", &replies);
    let stopped = run_with(&world, &model, &["--budget", "tokens=100000"], 5);
    assert_eq!(started(&stopped), 2);
    assert_eq!(stopped.last().unwrap()["spent"]["tokens"], 440);
}

/// A8.
#[test]
fn questions_to_other_conversations_pass_rules_and_budgets() {
    let world = World::new();
    world.file("models.hcl", MODELS);
    world.file(
        "mission.hcl",
        "agent \"worker\" {\n  model       = models.m.small\n  personality = \"Calm.\"\n}\n\
         mission \"x\" {\n  commander { model = models.m.small }\n  agents = [agents.worker]\n  task \"a\" { objective = \"a\" }\n  task \"b\" {\n    objective  = \"b\"\n    depends_on = [tasks.a]\n  }\n}\n",
    );
    trust(&world);
    let b = "You direct task `b`";
    let questions: Vec<(&str, Value)> = (0..8)
        .map(|at| {
            let question = format!("q{at}");
            (
                "ask_commander",
                json!({ "task": "a", "question": question }),
            )
        })
        .collect();
    let mut answer = says(&["Question about your work"], &[], "Answer.");
    answer["usage"] = json!({ "input": 500, "output": 50 });
    let mut ask = calls(&[b], &[], &questions);
    ask["repeat"] = false.into();
    let model = script(&world, "a.jsonl", &[answer, done("a"), ask, done("b")]);
    // Two questions use up the budget; the others are not sent.
    let stopped = run_with(&world, &model, &["--budget", "tokens=1000"], 5);
    let answers = results(&stopped, "ask_commander");
    let sent = answers.iter().filter(|(is_error, _)| !is_error).count();
    assert_eq!((sent, answers.len()), (2, 8), "{answers:?}");
    assert!(answers[7].1.contains("budget"), "{answers:?}");
    assert_eq!(
        stopped.last().unwrap()["spent"]["tokens"],
        15 + 15 + 2 * 550
    );

    world.file(
        "~/config.toml",
        "[permissions]\ndeny = [\"ask_commander\"]\n",
    );
    let denied = run_with(&world, &model, &[], 0);
    let answers = results(&denied, "ask_commander");
    assert_eq!(answers.len(), 8);
    assert!(
        answers
            .iter()
            .all(|(is_error, text)| *is_error && text != "Answer."),
        "{answers:?}"
    );
    // A rule that asks parks the run, and the input is checked.
    world.file(
        "~/config.toml",
        "[permissions]\nask = [\"ask_commander\"]\n",
    );
    let mut one = calls(&[b], &[], &[questions[0].clone()]);
    one["repeat"] = false.into();
    let wrong = ("ask_commander", json!({ "task": "a", "question": 7 }));
    let mut bad = calls(&[b], &[], &[wrong]);
    bad["repeat"] = false.into();
    let answer = says(&["Question about your work"], &[], "Answer.");
    let model = script(&world, "b.jsonl", &[answer.clone(), done("a"), bad, one]);
    let waiting = run_with(&world, &model, &[], 6);
    let first = results(&waiting, "ask_commander");
    assert!(first.len() == 1 && first[0].0, "{first:?}");
    let model = script(&world, "c.jsonl", &[answer, done("b")]);
    let after = go_on(&world, &waiting, "answer", &model, 0);
    assert_eq!(
        results(&after, "ask_commander"),
        [(false, "Answer.".to_owned())]
    );
}

/// M10.
#[test]
fn prices_of_files_do_not_lift_a_budget_in_money() {
    let mut replies = vec![
        calls(
            &[COMMANDER],
            &["No subtasks."],
            &[("get_subtasks", json!({}))],
        ),
        done("a"),
    ];
    for line in &mut replies {
        line["usage"] = json!({ "input": 1_000_000, "output": 1_000 });
    }
    let server = MissionServer::new(move |request| reply(&replies, request));
    let block = |name: &str, more: &str| {
        format!(
            "variable \"k\" {{ secret = true }}\nmodel \"m\" {{\n  provider = \"openai\"\n  api_key  = vars.k\n  base_url = \"http://127.0.0.1:{}/v1\"\n  aliases  = {{ small = \"{name}\" }}\n{more}}}\n",
            server.port
        )
    };
    let free = "  pricing \"small\" {\n    input  = 0\n    output = 0\n  }\n";
    let world = project("", "", "");
    let set = world.command(&["mission", "set", "k", "--secret"]);
    set.stdin("key-of-a-test-1234").run().expect(0);
    let run = ["mission", "run", "x", "--budget", "usd=0.01", "--json"];
    // The list price counts, whatever the file says and wherever the server is.
    for more in [free, ""] {
        world.file("models.hcl", block("gpt-4o", more));
        trust(&world);
        let before = server.requests().len();
        let stopped = lines(&world.run(&run).expect(5).stdout);
        let result = stopped.last().unwrap();
        assert!(
            result["spent"]["micros"].as_u64().unwrap() > 2_000_000,
            "{result}"
        );
        let sent = server.requests().split_off(before);
        let heads: Vec<String> = sent.into_iter().map(|request| request.head).collect();
        assert_eq!(heads.len(), 1, "{heads:#?}");
    }
    // Without a known price, a budget in money is refused before a request is sent.
    for more in [free, ""] {
        world.file("models.hcl", block("unlisted-model", more));
        trust(&world);
        let before = server.requests().len();
        let refused = world.run(&run).expect(2);
        for part in ["models.m.small", "no price is known", "tokens="] {
            assert!(refused.stderr.contains(part), "{part}\n{}", refused.stderr);
        }
        assert_eq!(server.requests().len(), before);
        let fine = ["mission", "run", "x", "--budget", "tokens=9000000"];
        world.run(&fine).expect(0);
    }
    // A higher price of the file counts.
    let high = "  pricing \"small\" {\n    input  = 100\n    output = 100\n  }\n";
    world.file("models.hcl", block("gpt-4o", high));
    trust(&world);
    let stopped = lines(&world.run(&run).expect(5).stdout);
    let micros = stopped.last().unwrap()["spent"]["micros"].as_u64().unwrap();
    assert!(micros >= 100_000_000, "{micros}");
}

/// A4.
#[test]
fn commands_in_skill_blocks_do_not_run() {
    let world = World::new();
    world.file("models.hcl", MODELS);
    world.file("taken.sh", "touch taken\n");
    world.file(
        "helper.md",
        "HELPER-TEXT\n!`git --version`\n!`sh taken.sh`\n",
    );
    world.file(
        "folders/boxed/SKILL.md",
        "---\nname: boxed\ndescription: Is in a folder.\nallowed-tools: Bash\n---\nBOXED-TEXT\n!`git --version`\n!`sh taken.sh`\n\n```!\nsh taken.sh\n```\n",
    );
    write_mission(
        &world,
        "",
        "  skill \"helper\" {\n    description  = \"Load first\"\n    instructions = load(\"./helper.md\")\n  }\n  skill \"boxed\" { source = \"./folders/boxed\" }",
        "",
    );
    trust(&world);
    for setting in [
        "allow = [\"Bash(git --version)\", \"Bash(sh:*)\"]",
        "mode = \"yolo\"",
    ] {
        world.file("~/config.toml", format!("[permissions]\n{setting}\n"));
        let model = worker_calls(
            &world,
            &[
                ("load_skill", json!({ "name": "helper" })),
                ("load_skill", json!({ "name": "boxed" })),
            ],
        );
        let lines = run_with(&world, &model, &["--edits"], 0);
        let loaded = results(&lines, "load_skill");
        assert!(loaded[0].1.contains("!`sh taken.sh`"), "{loaded:?}");
        assert!(loaded[1].1.contains("BOXED-TEXT"), "{loaded:?}");
        for (_, text) in &loaded {
            assert!(!text.contains("git version"), "{setting}: {text}");
        }
        assert!(!world.path("taken").exists(), "{setting}");
    }
}

/// M5.
#[test]
fn plan_whose_trust_was_revoked_starts_nothing() {
    for way in ["answer", "resume"] {
        let world = World::new();
        world.file("models.hcl", MODELS);
        let started = world.path("../started");
        let server = format!(
            "mcp \"s\" {{\n  command = \"sh\"\n  args    = [\"-c\", \"touch {}\"]\n}}",
            started.display()
        );
        let ask = "  tools = [builtins.human.ask]";
        write_mission(
            &world,
            &server,
            "  tools = [mcp.s.all, builtins.human.ask]",
            "",
        );
        trust(&world);
        let model = asks_then_calls(&world, &[("list_skills", json!({}))]);
        let waiting = run_with(&world, &model, &[], 6);
        assert!(started.exists(), "the server was started");
        std::fs::remove_file(&started).unwrap();
        world.run(&["trust", ".", "--revoke"]).expect(0);
        write_mission(&world, "", ask, "");
        trust(&world);
        go_on(&world, &waiting, way, &model, 3);
        assert!(!started.exists(), "{way}: the server of the revoked plan");
        let run = waiting.last().unwrap()["run"].as_str().unwrap();
        let refused = world.run(&["mission", "resume", run, "--model", &model]);
        let refused = refused.expect(3);
        let hint = format!("`prowess mission resume {run} --replan`");
        assert!(refused.stderr.contains(&hint), "{}", refused.stderr);
        // The files as they are now are trusted.
        let replan = ["mission", "resume", run, "--replan", "--model", &model];
        world.run(&replan).expect(0);
        assert!(!started.exists(), "{way}");
    }
}

/// A run keeps its plan after the files changed and were trusted again, as long as the trust in the
/// plan was not revoked.
#[test]
fn plan_that_was_trusted_earlier_goes_on() {
    let ask = "  tools = [builtins.human.ask]";
    let world = project("", ask, "");
    let model = asks_then_calls(&world, &[("list_team", json!({}))]);
    let waiting = run_with(&world, &model, &[], 6);
    for text in ["# one", "# two"] {
        write_mission(&world, text, ask, "");
        trust(&world);
    }
    go_on(&world, &waiting, "answer", &model, 0);
}

/// A9 and L2.
#[test]
fn session_below_a_mission_is_resumed_with_its_run_only() {
    let world = project("", "  tools = [builtins.human.ask]", "");
    let model = asks_then_calls(&world, &[("list_team", json!({}))]);
    let waiting = run_with(&world, &model, &[], 6);
    let result = waiting.last().unwrap();
    let run = result["run"].as_str().unwrap();
    let commander = result["tasks"][0]["units"][0]["session"].as_str().unwrap();
    let question = result["questions"][0]["id"].as_str().unwrap();
    let agent = question.split('-').next().unwrap();
    assert!(agent != commander && agent != run);
    let stored = world.run(&["answer", question, "yes", "--no-continue"]);
    let stored = stored.expect(0);
    let hint = format!("`prowess mission resume {run}`");
    assert!(stored.stderr.contains(&hint), "{}", stored.stderr);
    for session in [run, commander, agent] {
        for text in [&[][..], &["go on"]] {
            let mut line = vec!["session", "resume", session, "--model", &model];
            line.extend(text);
            let refused = world.run(&line).expect(2);
            assert!(
                refused.stderr.contains(&hint),
                "{session}: {}",
                refused.stderr
            );
        }
    }
    let resume = ["mission", "resume", run, "--model", &model];
    world.run(&resume).expect(0);
}
