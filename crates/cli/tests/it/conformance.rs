//! The conformance cases of the Agent Skills reference that concern folders and paths: 8, 11 to
//! 14, 32, 35 to 37 and 58. Cases about one text are in the tests of `prowess-lint`.

use crate::world::World;

const TEXT: &str = "---\nname: my-skill\ndescription: A test skill\n---\nbody\n";

/// Returns the exit code and the rules reported for a path with the `spec` profile.
fn verdict(world: &World, path: &str) -> (i32, Vec<String>) {
    let output = world.run(&[
        "validate",
        "--profile",
        "spec",
        "--fail-on",
        "error",
        "--json",
        path,
    ]);
    let found: serde_json::Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    let errors = found["findings"].as_array().into_iter().flatten();
    let errors = errors.filter(|finding| finding["severity"] == "error");
    (
        output.code,
        errors
            .filter_map(|finding| Some(finding["rule"].as_str()?.to_owned()))
            .collect(),
    )
}

fn name_of(world: &World, path: &str) -> Option<String> {
    let output = world.run(&["show", "--profile", "spec", "--json", path]);
    let found: serde_json::Value = serde_json::from_str(&output.stdout).ok()?;
    Some(found["name"].as_str()?.to_owned())
}

#[test]
fn case_08_and_13_folder_without_skill_md() {
    let world = World::new();
    world.file("my-skill/README.md", "x");
    let output = world
        .run(&["show", "--profile", "spec", "--json", "my-skill"])
        .expect(2);
    assert!(
        output.stderr.contains("SKILL.md not found"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn case_11_upper_case_takes_precedence() {
    let world = World::new();
    world.file("my-skill/SKILL.md", TEXT);
    world.file("my-skill/skill.md", TEXT.replace("my-skill", "other"));
    assert_eq!(name_of(&world, "my-skill").as_deref(), Some("my-skill"));
}

#[test]
fn case_12_and_14_lower_case_is_accepted_and_noted() {
    let world = World::new();
    world.file("my-skill/skill.md", TEXT);
    assert_eq!(verdict(&world, "my-skill"), (0, vec![]));
    assert_eq!(name_of(&world, "my-skill").as_deref(), Some("my-skill"));
    let output = world.run(&[
        "validate",
        "--profile",
        "lenient",
        "--format",
        "concise",
        "my-skill",
    ]);
    assert!(
        output
            .stdout
            .contains("warning[file-name] non-canonical file name"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn case_32_directory_named_skill_md() {
    let world = World::new();
    world.file("my-skill/SKILL.md/x", "");
    assert_eq!(verdict(&world, "my-skill"), (1, vec!["not-a-file".into()]));
}

#[test]
fn case_35_path_does_not_exist() {
    let output = World::new()
        .run(&["validate", "--profile", "spec", "no/such/path"])
        .expect(2);
    assert!(
        output.stderr.starts_with("error: path does not exist"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn case_36_file_that_is_not_a_skill() {
    let world = World::new();
    world.file("file.txt", "text");
    let output = world
        .run(&["validate", "--profile", "spec", "file.txt"])
        .expect(2);
    assert!(
        output
            .stderr
            .contains("neither a folder nor a Markdown file"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn case_37_empty_folder() {
    let world = World::new();
    world.file("empty/.keep", "");
    assert_eq!(verdict(&world, "empty"), (1, vec!["missing-file".into()]));
}

#[test]
fn case_58_current_folder() {
    let world = World::new();
    world.file("my-skill/SKILL.md", TEXT);
    world
        .command(&["validate", "--profile", "spec", "."])
        .dir("my-skill")
        .run()
        .expect(0);
}
