//! `prowess new`

use std::os::unix::fs::PermissionsExt;

use crate::world::World;

const TEMPLATES: [&str; 3] = ["minimal", "script", "arguments"];

/// A new skill is valid, and notes point to placeholder text.
#[test]
fn templates_are_valid_except_for_notes_on_placeholder_text() {
    for template in TEMPLATES {
        let world = World::new();
        world
            .run(&["new", "release-notes", "--template", template])
            .expect(0);
        for profile in ["spec", "claude-code", "lenient"] {
            // The standard does not define the keys of the other templates.
            if profile == "spec" && template == "arguments" {
                continue;
            }
            let flags = ["validate", "release-notes", "--profile", profile];
            let document = world
                .run(&[&flags[..], &["--fail-on", "warning", "--json"]].concat())
                .expect(0)
                .json();
            let found: Vec<_> = document["findings"].as_array().unwrap().iter().collect();
            // The description, and the first line of the minimal template.
            assert_eq!(
                found.len(),
                1 + usize::from(template == "minimal"),
                "{template} {profile}"
            );
            for finding in found {
                assert_eq!(
                    (&finding["rule"], &finding["severity"]),
                    (&"template-text".into(), &"note".into())
                );
            }
            let flags = [
                &flags[..],
                &["--ignore", "template-text", "--fail-on", "note"],
            ]
            .concat();
            let output = world.run(&flags).expect(0);
            assert_eq!(
                output.errors(),
                "Validated 1 skill in [TIME], no findings\n",
                "{template} {profile}"
            );
        }
    }
}

#[test]
fn every_template() {
    for template in TEMPLATES {
        let world = World::new();
        let output = world.run(&["new", "release-notes", "--template", template]);
        insta::assert_snapshot!(
            format!("template_{template}"),
            format!(
                "{}----- SKILL.md -----\n{}",
                output.expect(0).snapshot(),
                world.read("release-notes/SKILL.md")
            )
        );
    }
}

#[test]
fn script_runs() {
    let world = World::new();
    world
        .run(&["new", "lint", "--template", "script"])
        .expect(0);
    let script = world.path("lint/scripts/run.sh");
    let mode = std::fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    let output = std::process::Command::new(&script)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success());
}

#[test]
fn no_other_files_are_written() {
    let world = World::new();
    world.run(&["new", "release-notes"]).expect(0);
    let mut names: Vec<_> = std::fs::read_dir(world.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".git", "release-notes"]);
    assert_eq!(
        std::fs::read_dir(world.path("release-notes"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn path_selects_the_folder() {
    let world = World::new();
    let output = world.run(&["new", ".agents/skills/lint"]).expect(0);
    insta::assert_snapshot!(output.snapshot());
    assert!(
        world
            .read(".agents/skills/lint/SKILL.md")
            .contains("\nname: lint\n")
    );
    // The new skill can be addressed by name.
    world.run(&["validate", "lint"]).expect(0);
}

#[test]
fn description_is_quoted_where_needed() {
    for description in [
        "Deploys the site. Use when asked to ship.",
        "Deploys: the site # now. Use when asked to 'ship' \"it\".",
        "yes",
        "Use when\nlines break.",
        "- Use when it begins with a dash",
        "Use when it says {{name}}",
    ] {
        let world = World::new();
        world
            .run(&["new", "deploy", &format!("--description={description}")])
            .expect(0);
        let shown = world.run(&["show", "deploy", "--json"]).expect(0).json();
        assert_eq!(shown["description"], *description);
        world
            .run(&[
                "validate",
                "deploy",
                "--ignore",
                "description-trigger,template-text",
                "--fail-on",
                "note",
            ])
            .expect(0);
    }
}

#[test]
fn json() {
    let world = World::new();
    let output = world.run(&["new", "skills/lint", "--template", "script", "--json"]);
    let output = output.expect(0);
    assert_eq!(output.stderr, "");
    assert_eq!(
        output.json(),
        serde_json::json!({
            "schema": "prowess.new/1",
            "name": "lint",
            "folder": "skills/lint",
            "files": ["skills/lint/SKILL.md", "skills/lint/scripts/run.sh"],
        })
    );
}

#[test]
fn existing_folder_is_refused() {
    let world = World::new();
    let file = world.good("skills/lint");
    let before = std::fs::read(&file).unwrap();
    insta::assert_snapshot!(world.run(&["new", "skills/lint"]).expect(2).snapshot());
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn existing_files_are_not_overwritten() {
    let world = World::new();
    world.file("plain", "mine");
    world.folder("empty");
    world.link("dangling", "nowhere");
    for name in ["plain", "empty", "dangling"] {
        let output = world.run(&["new", name]).expect(2);
        assert!(
            output
                .stderr
                .starts_with(&format!("error: `{name}` already exists\n"))
        );
    }
    assert_eq!(world.read("plain"), "mine");
    assert_eq!(std::fs::read_dir(world.path("empty")).unwrap().count(), 0);
    assert!(!world.path("nowhere").exists());
}

#[test]
fn bad_name_suggests_a_good_one() {
    let world = World::new();
    for (typed, meant) in [
        ("Release_Notes", "release-notes"),
        ("release notes", "release-notes"),
        ("skills/PDF--Tools-", "skills/pdf-tools"),
    ] {
        let output = world.run(&["new", typed]).expect(2);
        assert_eq!(
            output.errors().lines().last(),
            Some(format!("hint: try `prowess new {meant}`").as_str()),
            "{typed}"
        );
        // The suggested command works.
        world.run(&["new", meant]).expect(0);
        std::fs::remove_dir_all(world.path(meant)).unwrap();
    }
    insta::assert_snapshot!(world.run(&["new", "Release_Notes"]).expect(2).snapshot());
    assert!(!world.path("Release_Notes").exists());
}

#[test]
fn name_without_a_repair_is_refused() {
    let world = World::new();
    insta::assert_snapshot!(world.run(&["new", "!!!"]).expect(2).snapshot());
}

#[test]
fn path_without_a_name_is_refused() {
    let world = World::new();
    for typed in ["/", "..", "."] {
        let output = world.run(&["new", typed]).expect(2);
        assert!(
            output
                .stderr
                .starts_with(&format!("error: invalid skill name `{typed}`: ")),
            "{}",
            output.stderr
        );
    }
}

/// Unquoted, `rm -r my skills/lint` would remove other files.
#[test]
fn suggested_commands_are_quoted() {
    let world = World::new();
    world.folder("my skills");
    let output = world.run(&["new", "my skills/lint"]).expect(0);
    assert!(
        !output.stderr.contains("rm -r my skills/lint"),
        "{}",
        output.stderr
    );
    assert!(
        !output.stderr.contains("validate my skills/lint"),
        "{}",
        output.stderr
    );
}

#[test]
fn long_name_is_refused() {
    let world = World::new();
    world.run(&["new", &"a".repeat(65)]).expect(2);
    world.run(&["new", &"a".repeat(64)]).expect(0);
}

#[test]
fn parent_is_a_file() {
    let world = World::new();
    world.file("plain", "mine");
    insta::assert_snapshot!(world.run(&["new", "plain/lint"]).expect(2).snapshot());
}

#[test]
fn unknown_template_lists_possible_values() {
    let output = World::new().run(&["new", "a", "--template", "scrip"]);
    insta::assert_snapshot!(output.expect(2).snapshot());
}
