//! `prowess why`

use serde_json::json;

use crate::world::{Output, World};

fn library() -> World {
    let world = World::new();
    world.good(".agents/skills/pdf");
    world.good("~/.claude/skills/pdf");
    world.good("~/.claude/skills/release-notes");
    world.skill(
        ".agents/skills/deploy",
        "name: deploy\ndescription: Deploys. Use when it is time.\ndisable-model-invocation: true\n",
    );
    world.skill(
        ".agents/skills/style",
        "name: style\ndescription: House style. Use when text is written.\nuser-invocable: false\n",
    );
    world
}

/// Returns the output without the usage rank, which depends on file times and on the rotation by hour.
fn snapshot(output: &Output) -> String {
    let text = output.snapshot();
    let (before, rest) = text.split_once("\n  use       ").unwrap_or((&text, ""));
    let goes_on = |line: &&str| line.starts_with("     ");
    let mut after = rest.lines();
    match after
        .next()
        .filter(|told| told.trim_start().starts_with("never used"))
    {
        Some(_) => {
            let after: Vec<&str> = after.skip_while(goes_on).collect();
            format!("{before}\n  use         [ORDER]\n{}\n", after.join("\n"))
        }
        None => format!("{}\n", text.trim_end_matches('\n')),
    }
}

#[test]
fn listed() {
    insta::assert_snapshot!(snapshot(
        &library().run(&["why", "release-notes"]).expect(0)
    ));
}

#[test]
fn winner_and_shadow() {
    let world = library();
    insta::assert_snapshot!("winner", snapshot(&world.run(&["why", "pdf"]).expect(0)));
    insta::assert_snapshot!(
        "shadow",
        snapshot(&world.run(&["why", "user:pdf"]).expect(1))
    );
}

#[test]
fn hidden_by_frontmatter() {
    let world = library();
    insta::assert_snapshot!(snapshot(&world.run(&["why", "deploy"]).expect(1)));
    // Hidden from users is not hidden from models.
    let output = world.run(&["why", "style"]).expect(0);
    assert!(
        output.stdout.contains("`user-invocable:"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn hidden_by_the_configuration() {
    let world = library();
    world.file(
        ".agents/prowess.toml",
        "[skills.visibility]\npdf = 'off'\nrelease-notes = 'user-only'\nstyle = 'name-only'\n[agents.writer]\nskills = ['style']\n",
    );
    insta::assert_snapshot!("off", snapshot(&world.run(&["why", "pdf"]).expect(1)));
    insta::assert_snapshot!(
        "user_only",
        snapshot(&world.run(&["why", "release-notes"]).expect(1))
    );
    insta::assert_snapshot!(
        "name_only",
        snapshot(&world.run(&["why", "style"]).expect(0))
    );
    let flags = ["why", "deploy", "--agent", "writer"];
    insta::assert_snapshot!("not_granted", snapshot(&world.run(&flags).expect(1)));
}

#[test]
fn omitted_by_the_budget() {
    let world = library();
    world.file(".agents/prowess.toml", "[prompt]\nbudget = 1\n");
    let output = world.run(&["why", "release-notes"]).expect(1);
    assert!(
        output.stdout.contains("prompt      not shown: "),
        "{}",
        output.snapshot()
    );
    assert!(
        output.stdout.contains("`prompt.budget`"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn unreadable() {
    let world = library();
    world.folder(".agents/skills/broken/SKILL.md");
    insta::assert_snapshot!(snapshot(&world.run(&["why", "broken"]).expect(1)));
    let document = world.run(&["why", "broken", "--json"]).expect(1).json();
    assert_eq!(document["schema"], "prowess.why/1");
    assert_eq!(document["name"], "broken");
    assert_eq!(document["fault"]["kind"], "unreadable");
}

#[test]
fn problems_point_to_validate() {
    let world = library();
    world.skill(
        ".agents/skills/odd",
        "name: odd\ndescription: Uses: a colon\n",
    );
    let output = world.run(&["why", "odd"]).expect(0);
    assert!(
        output
            .stdout
            .contains("see `prowess validate .agents/skills/odd`"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn unknown() {
    let world = library();
    assert_eq!(
        world.run(&["why", "release-note"]).expect(2).errors(),
        "error: no skill named `release-note`\nhint: did you mean `release-notes`?\n"
    );
    insta::assert_snapshot!("unknown", world.run(&["why", "zebra"]).expect(2).snapshot());
}

#[test]
fn skill_outside_the_searched_folders() {
    let world = library();
    world.good("skills/lint");
    world.good("other/tidy");
    insta::assert_snapshot!(
        "outside",
        world.run(&["why", "other/tidy"]).expect(2).snapshot()
    );
    for typed in ["lint", "skills/lint", "skills/lint/SKILL.md"] {
        let errors = world.run(&["why", typed]).expect(2).errors();
        assert!(
            errors.starts_with("error: `skills/lint` is a skill, but its folder is not searched")
        );
    }
    // The suggested command works.
    world
        .run(&["why", "lint", "--skills-dir", "skills"])
        .expect(0);
}

#[test]
fn path_resolves_to_its_skill() {
    let world = library();
    for typed in [".agents/skills/pdf", "./.agents/skills/pdf/SKILL.md"] {
        let output = world.run(&["why", typed]).expect(0);
        assert!(output.stdout.starts_with("pdf\n"), "{}", output.snapshot());
    }
}

#[test]
fn query() {
    let world = library();
    let output = world
        .run(&["why", "release-notes", "--query", "release"])
        .expect(0);
    assert!(
        output.stdout.contains("query       number 1 of "),
        "{}",
        output.snapshot()
    );
    let output = world
        .run(&["why", "release-notes", "--query", "zzyzx"])
        .expect(0);
    assert!(
        output.stdout.contains("no match for `zzyzx`"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn json_has_the_same_data() {
    let world = library();
    let document = world
        .run(&["why", "pdf", "--json", "--query", "form"])
        .expect(0)
        .json();
    assert_eq!(document["schema"], "prowess.why/1");
    assert_eq!(
        (&document["model"], &document["people"]),
        (&json!("full"), &json!("full"))
    );
    assert_eq!(
        document["shadows"],
        json!([world.path("~/.claude/skills/pdf/SKILL.md")])
    );
    assert_eq!(document["prompt"], "shown");
    assert_eq!(document["query"]["words"], "form");
    let document = world.run(&["why", "user:pdf", "--json"]).expect(1).json();
    assert_eq!(document["model"], "shadowed");
    assert_eq!(document["qualified_name"], "user:pdf");
    assert_eq!(
        document["shadowed_by"],
        json!(world.path(".agents/skills/pdf/SKILL.md"))
    );
}
