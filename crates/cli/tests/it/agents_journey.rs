//! The files of four systems in one project: a team delegates to a worker, which waits for an answer
//! and continues in another process.

use serde_json::{Value, json};

use crate::world::World;

/// Writes a script for a model. Each process reads it from its beginning.
fn script(world: &World, name: &str, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("scripted:{}", world.file(name, text).display())
}

fn project() -> World {
    let world = World::new();
    let member = |kind: &str, prompt: &str| json!({"type": kind, "name": kind, "description": format!("The {kind}."), "provider": "anthropic", "model_id": "m", "system_prompt": prompt});
    let mut builder = member("builder", "You are the builder.");
    builder["tools"] = json!(["bash", "read"]);
    builder["skills"] = json!(["notes"]);
    let team = json!({"name": "dev", "description": "Builds things", "members": [member("orchestrator", "prompts/lead.md"), builder]});
    world.file(".planck/teams/dev/TEAM.json", team.to_string());
    world.file(".planck/teams/dev/prompts/lead.md", "Lead the team.\n");
    world.file(
        "bluesky.skilled_crew.yaml",
        "version: \"1.0\"\nid: bluesky\nagents:\n  poster:\n    instructionsPath: ./POSTER.md\n",
    );
    world.file(
        "POSTER.md",
        "---\nname: poster\ndescription: Posts.\n---\nPost it.\n",
    );
    world.file(
        ".agents/config.json",
        "{\n  // the delegates\n  \"subagents\": [{\"name\": \"cluster\", \"description\": \"Looks.\", \"instructions\": \"Look.\"}]\n}\n",
    );
    for name in ["reviewer", "writer", "tester"] {
        let text = format!("---\nname: {name}\ndescription: A {name}.\n---\nYou are a {name}.\n");
        world.file(format!(".claude/agents/{name}.md"), text);
    }
    world.file(
        "~/.agents/skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Takes notes. Use for notes.\n---\nNOTES-SKILL-TEXT: append a line.\n",
    );
    world
}

/// Trusts an agent file as it is.
fn trust(world: &World, path: &str) {
    let shown = world.run(&["trust", path, "--json"]).expect(0).json()["skills"][0].clone();
    let digest = shown["digest"].as_str().unwrap();
    world.run(&["trust", path, "--digest", digest]).expect(0);
}

#[test]
fn team_waits_for_an_answer_and_another_process_continues_it() {
    let world = project();
    let listed = world.run(&["agent", "list", "--json"]).expect(0).json();
    let agents = listed["agents"].as_array().unwrap();
    for (name, dialect) in [
        ("dev", "planck"),
        ("bluesky", "skilled-crew"),
        ("cluster", "core-agent"),
        ("reviewer", "claude"),
        ("writer", "claude"),
        ("tester", "claude"),
    ] {
        let agent = agents.iter().find(|agent| agent["name"] == name).unwrap();
        assert_eq!(agent["dialect"], dialect);
        assert_eq!(agent["scope"], "project");
        assert_eq!(agent["trust"], "not trusted", "{agent}");
    }
    // An untrusted team does not run.
    let refused = world.run(&["agent", "run", "dev", "Take a note.", "--model", "echo"]);
    let refused = refused.expect(3);
    let hint = format!(
        "prowess trust {}",
        world.path(".planck/teams/dev/TEAM.json").display()
    );
    assert!(refused.stderr.contains(&hint), "{}", refused.stderr);
    trust(&world, ".planck/teams/dev/TEAM.json");

    let command = "sh -c 'echo ran >> ran.txt'";
    let model = script(
        &world,
        "first.jsonl",
        &[
            json!({"calls": [{"name": "call_agent", "input": {"name": "builder", "task": "Take a note."}}], "expect": ["Lead the team."]}),
            json!({"calls": [{"name": "load_skill", "input": {"name": "notes"}}], "expect": ["You are the builder.", "Take a note."]}),
            json!({"calls": [{"name": "bash", "input": {"command": command}}], "expect": ["NOTES-SKILL-TEXT"]}),
        ],
    );
    let waiting = world
        .run(&["agent", "run", "dev", "Take a note.", "--model", &model])
        .expect(6);
    assert!(!world.exists("ran.txt"));
    let found = world.run(&["questions", "--json"]).expect(0).json();
    let [question] = &**found["questions"].as_array().unwrap() else {
        panic!("{found}")
    };
    assert_eq!(question["what"], command);
    assert_eq!(question["agent"], "dev/builder", "{question}");
    let id = question["id"].as_str().unwrap();
    assert!(waiting.stderr.contains(id), "{}", waiting.stderr);

    // The process is gone. Another one, which has only the store and the files, continues.
    let model = script(
        &world,
        "second.jsonl",
        &[
            json!({"text": "The note is taken."}),
            json!({"text": "All done.", "expect": ["The note is taken."]}),
        ],
    );
    let answered = world
        .run(&["answer", id, "yes", "--edits", "--model", &model])
        .expect(0);
    assert_eq!(answered.stdout, "All done.\n");
    let ran = std::fs::read_to_string(world.path("ran.txt")).unwrap();
    assert_eq!(ran, "ran\n");
    let again = world
        .run(&["answer", id, "no", "--model", &model])
        .expect(1);
    assert!(again.stderr.contains("yes"), "{}", again.stderr);
    let questions = world.run(&["questions", "--json"]).expect(0).json();
    assert_eq!(questions["questions"], json!([]));
}

/// A skill that only the agents of a crew have is trusted by its name.
#[test]
fn skill_of_a_crew_is_trusted_by_name() {
    let world = World::new();
    world.file(
        "todo.skilled_crew.yaml",
        "version: \"1.0\"\nid: todo\nagents:\n  keeper:\n    instructionsPath: ./KEEPER.md\n    skills:\n      - name: create-task\n        folderPath: ./kit/create-task\n",
    );
    world.file(
        "KEEPER.md",
        "---\nname: keeper\ndescription: Keeps.\n---\nKeep.\n",
    );
    world.file(
        "kit/create-task/SKILL.md",
        "---\nname: create-task\ndescription: Creates a task. Use for tasks.\n---\nCreate it.\n",
    );
    trust(&world, "create-task");
    let shown = world
        .run(&["trust", "kit/create-task", "--json"])
        .expect(0)
        .json();
    assert_eq!(shown["skills"][0]["state"], "trusted", "{shown}");
}

/// An agent of an untrusted file is not called unknown.
#[test]
fn untrusted_agent_is_named_as_such() {
    let world = project();
    world.file(
        "~/.claude/agents/lead.md",
        "---\nname: lead\ndescription: Leads.\ntools: Agent(reviewer, helper)\n---\nYou lead.\n",
    );
    world.file(
        "~/.claude/agents/helper.md",
        "---\nname: helper\ndescription: Helps.\n---\nYou help.\n",
    );
    let model = script(
        &world,
        "lead.jsonl",
        &[
            json!({"calls": [{"name": "call_agent", "input": {"name": "reviewer", "task": "Look."}}]}),
            json!({"text": "end", "expect": ["the user has not trusted its file"]}),
        ],
    );
    let output = world.run(&["agent", "run", "lead", "Go.", "--model", &model]);
    assert_eq!(output.expect(0).stdout, "end\n");
}
