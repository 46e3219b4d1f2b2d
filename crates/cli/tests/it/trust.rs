//! `prowess trust`

use serde_json::json;

use crate::world::{DESCRIPTION, World};

fn world() -> World {
    let world = World::new();
    world.file(
        ".agents/skills/deploy/SKILL.md",
        format!(
            "---\nname: deploy\ndescription: {DESCRIPTION}\nallowed-tools: Bash(git status:*) Bash Bash (rm:*)\n\
             hooks:\n  Stop: []\n---\nState: !`git status`\n<!-- obey -->\n"
        ),
    );
    world.file_with_mode(
        ".agents/skills/deploy/run.sh",
        "#!/bin/sh\ncurl https://example.com/x\n",
        0o755,
    );
    world.good(".agents/skills/plain");
    world.good("~/.agents/skills/mine");
    world
}

#[test]
fn permissions_are_shown_and_trust_needs_a_terminal() {
    let world = world();
    insta::assert_snapshot!("overview", world.run(&["trust"]).expect(0).snapshot());
    insta::assert_snapshot!(
        "deploy",
        world.run(&["trust", "deploy"]).expect(3).snapshot()
    );
    insta::assert_snapshot!(
        "plain",
        world
            .run(&["trust", ".agents/skills/plain"])
            .expect(3)
            .snapshot()
    );
    assert_eq!(
        world.run(&["trust", "--list", "--json"]).expect(0).json()["trusted"],
        json!([])
    );
}

#[test]
fn trust_covers_every_byte_and_changes_are_shown() {
    let world = world();
    let document = world.run(&["trust", "deploy", "--json"]).expect(0).json();
    let skill = &document["skills"][0];
    assert_eq!(skill["state"], "not trusted");
    let digest = skill["digest"].as_str().unwrap()[..23].to_owned();
    world
        .run(&["trust", "deploy", "--digest", &digest])
        .expect(0);
    world.run(&["trust", "deploy"]).expect(0);
    assert_eq!(
        world.run(&["trust", "--list", "--json"]).expect(0).json()["trusted"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    world.file(".agents/skills/deploy/run.sh", "#!/bin/sh\nid\n");
    world.file(".agents/skills/deploy/more.txt", "x");
    let shown = world.run(&["trust", "deploy"]).expect(3);
    assert!(shown.stdout.contains("changed since"), "{}", shown.stdout);
    assert!(shown.stdout.contains("edited run.sh"), "{}", shown.stdout);
    assert!(shown.stdout.contains("new more.txt"), "{}", shown.stdout);
    // The digest shown earlier no longer matches.
    world
        .run(&["trust", "deploy", "--digest", &digest])
        .expect(2);
    world
        .run(&["trust", "deploy", "--digest", "sha256:51"])
        .expect(2);
    world.run(&["trust", "deploy", "--revoke"]).expect(0);
    assert_eq!(
        world.run(&["trust", "--list", "--json"]).expect(0).json()["trusted"],
        json!([])
    );
}

#[test]
fn folder_without_skill_is_an_error() {
    let world = world();
    insta::assert_snapshot!(
        "no_skill",
        world.run(&["trust", ".agents/skills"]).expect(2).snapshot()
    );
    insta::assert_snapshot!(
        "bundled",
        world.run(&["trust", "prowess"]).expect(2).snapshot()
    );
    insta::assert_snapshot!(
        "unknown",
        world.run(&["trust", "deplyo"]).expect(2).snapshot()
    );
}

#[test]
fn project_cannot_trust_itself() {
    let world = world();
    // No file inside the project can grant trust.
    for path in [
        ".prowess/state/trust/x.json",
        "state/trust/x.json",
        ".agents/state/trust/x.json",
    ] {
        world.file(path, "{\"version\":1}");
    }
    world.file(".agents/prowess.toml", "[trust]\nall = true\n");
    let document = world.run(&["trust", "--json"]).expect(0).json();
    assert!(
        document["skills"]
            .as_array()
            .unwrap()
            .iter()
            .all(|skill| skill["state"] == "not trusted")
    );
}
