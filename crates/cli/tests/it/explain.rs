//! `prowess explain`

use crate::world::World;

fn rules(world: &World) -> Vec<serde_json::Value> {
    let output = world.run(&["explain", "--json"]).expect(0);
    let document = output.json();
    assert_eq!(document["schema"], "prowess.explain/1");
    let rules = document["rules"].as_array().unwrap().clone();
    assert!(rules.len() > 50, "{}", rules.len());
    rules
}

#[test]
fn list() {
    insta::assert_snapshot!(World::new().run(&["explain"]).expect(0).snapshot());
}

/// Uses the colours of findings, and the same text.
#[test]
fn list_in_colours() {
    let world = World::new();
    let plain = world.run(&["explain"]).expect(0).stdout;
    let list = |flags: &[&str]| world.command(&[&["explain"], flags].concat());
    let coloured = list(&["--color", "always"]).run().expect(0).stdout;
    for (rule, word) in [
        ("missing-file", "\x1b[1m\x1b[91merror\x1b[0m    "),
        ("body-empty", "\x1b[1m\x1b[33mwarning\x1b[0m  "),
        ("claude-ai-name", "  target     "),
    ] {
        let line = coloured.lines().find(|line| line.contains(rule)).unwrap();
        assert!(line.contains(word), "{line:?}");
    }
    let mut bare = coloured;
    for code in [
        "\x1b[0m", "\x1b[1m", "\x1b[36m", "\x1b[91m", "\x1b[33m", "\x1b[92m",
    ] {
        bare = bare.replace(code, "");
    }
    assert_eq!(bare, plain);
    let refused = list(&[])
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "1")
        .run();
    assert_eq!(refused.stdout, plain);
}

#[test]
fn one_rule() {
    let output = World::new().run(&["explain", "name-folder-mismatch"]);
    insta::assert_snapshot!(output.expect(0).snapshot());
}

#[test]
fn rule_of_a_target() {
    let output = World::new().run(&["explain", "claude-ai-name"]);
    insta::assert_snapshot!(output.expect(0).snapshot());
}

/// The bad and the good example differ only in the file name.
#[test]
fn example_shows_its_file_name() {
    let page = World::new().run(&["explain", "file-name"]).expect(0).stdout;
    for (title, file) in [("Bad", "skill.md"), ("Good", "SKILL.md")] {
        let caption = format!("{title}\n\nin the folder `translate`, in the file `{file}`:\n");
        assert!(page.contains(&caption), "{page}");
    }
}

#[test]
fn one_rule_as_json() {
    let output = World::new().run(&["explain", "name-folder-mismatch", "--json"]);
    let document = output.expect(0).json();
    assert_eq!(document["schema"], "prowess.explain/1");
    assert_eq!(document["rules"].as_array().unwrap().len(), 1);
    let rule = &document["rules"][0];
    assert_eq!(rule["id"], "name-folder-mismatch");
    assert_eq!(
        rule["severity"],
        serde_json::json!({ "spec": "error", "claude-code": "error", "lenient": "warning", "crew": "error", "claude-ai": null })
    );
}

#[test]
fn every_rule_has_a_page_with_examples() {
    let world = World::new();
    for rule in rules(&world) {
        let id = rule["id"].as_str().unwrap();
        let output = world.run(&["explain", id]).expect(0);
        assert_eq!(output.stdout.lines().next(), Some(id));
        assert_eq!(output.stderr, "", "{id}");
        for part in ["\nBad\n", "\nGood\n", "\n  ---\n"] {
            // An unreadable file has no text.
            let is_shown =
                part.trim() != "---" || rule["page"].as_str().unwrap().contains("\n---\n");
            assert!(
                !is_shown || output.stdout.contains(part),
                "{part:?} in\n{}",
                output.stdout
            );
        }
        // Markdown fences are removed, except inside of examples.
        let fences = output.stdout.lines().filter(|line| line.starts_with("```"));
        assert_eq!(fences.count(), 0, "{}", output.stdout);
    }
}

#[test]
fn old_rule_names_are_accepted() {
    let world = World::new();
    let [old, new] =
        ["yaml-repaired", "yaml-syntax"].map(|id| world.run(&["explain", id]).expect(0));
    assert_eq!(old.stdout, new.stdout);
    world.file(
        "skills/x/SKILL.md",
        "---\nname: x\ndescription: Use when: asked\n---\nBody.\n",
    );
    let found = world.run(&[
        "validate",
        "skills",
        "--select",
        "yaml-repaired",
        "--format",
        "concise",
    ]);
    assert!(found.expect(1).stdout.contains("yaml-syntax"));
}

/// A caption shared by all examples is printed once; consecutive examples are numbered.
#[test]
fn captions_are_not_repeated() {
    let page = World::new()
        .run(&["explain", "frontmatter-not-a-map"])
        .expect(0)
        .stdout;
    assert_eq!(
        page.matches("in the folder `release-notes`:").count(),
        1,
        "{page}"
    );
    assert!(page.contains("\nor:\n  ---\n"), "{page}");
}

#[test]
fn list_has_every_rule_once() {
    let world = World::new();
    let list = world.run(&["explain"]).expect(0).stdout;
    let listed: Vec<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let known: Vec<String> = rules(&world)
        .iter()
        .map(|rule| rule["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn unknown_rule_suggests() {
    let output = World::new().run(&["explain", "name-folder-missmatch"]);
    assert_eq!(
        output.expect(2).snapshot(),
        "exit: 2\n----- stdout -----\n\n----- stderr -----\nerror: no rule named `name-folder-missmatch`\nhint: did you mean `name-folder-mismatch`?\n"
    );
}

#[test]
fn unknown_rule_without_a_similar_name() {
    insta::assert_snapshot!(World::new().run(&["explain", "zebra"]).expect(2).snapshot());
}

#[test]
fn prefix_of_a_name_suggests_the_rule() {
    let errors = World::new()
        .run(&["explain", "name-fol"])
        .expect(2)
        .errors();
    assert!(
        errors.ends_with("hint: did you mean `name-folder-mismatch`?\n"),
        "{errors}"
    );
}
