//! Sixth round of attacks on the gate: missions, answers and other folders. `docs/dev/audits.md` lists
//! the finding of each test.

use serde_json::{Value, json};

use crate::mission_runs::{MODELS, calls, done, says, script, trust};
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
