//! Configuration files.

use crate::world::{DESCRIPTION, World};

/// Returns a world with one error, `name-folder-mismatch`, that `--fix` does not fix.
fn mismatch() -> World {
    let world = World::new();
    world.named("skills/pdf-forms", "pdf");
    world
}

fn validate(world: &World, flags: &[&str]) -> crate::world::Output {
    world.run(&[&["validate", "skills", "--format", "concise"], flags].concat())
}

const FOUND: &str = "skills/pdf-forms/SKILL.md:2:7: error[name-folder-mismatch] skill name differs from its folder [suggestion]\n";

#[test]
fn project_file_applies() {
    let world = mismatch();
    assert_eq!(validate(&world, &[]).expect(1).stdout, FOUND);
    world.file(
        ".agents/prowess.toml",
        "[validate]\nignore = [\"name-folder-mismatch\"]\n",
    );
    let output = validate(&world, &[]).expect(0);
    assert_eq!(output.stdout, "");
    assert_eq!(
        output.errors(),
        "Validated 1 skill in [TIME], no findings\n"
    );
}

#[test]
fn project_file_applies_in_subfolders() {
    let world = mismatch();
    world.file(
        ".agents/prowess.toml",
        "[validate]\nignore = [\"name-folder-mismatch\"]\n",
    );
    let output = world
        .command(&["validate", "."])
        .dir("skills/pdf-forms")
        .run();
    output.expect(0);
}

#[test]
fn project_file_above_the_repository_is_ignored() {
    let world = mismatch();
    world.file(
        "../.agents/prowess.toml",
        "[validate]\nignore = [\"name-folder-mismatch\"]\n",
    );
    validate(&world, &[]).expect(1);
}

/// Skills in parent folders are only used inside a repository. The same must apply to configuration,
/// because other users can write to shared folders such as `/tmp`.
#[test]
fn project_file_of_a_parent_applies_only_inside_a_repository() {
    let world = mismatch();
    std::fs::remove_dir(world.path(".git")).unwrap();
    world.file(
        "../.agents/prowess.toml",
        "[validate]\nignore = [\"name-folder-mismatch\"]\n",
    );
    validate(&world, &[]).expect(1);
}

#[test]
fn project_file_overrides_user_file() {
    let world = mismatch();
    world.file("~/config.toml", "[validate]\nprofile = \"lenient\"\n");
    let output = validate(&world, &[]).expect(0);
    assert!(
        output.stdout.contains(": warning[name-folder-mismatch] "),
        "{}",
        output.snapshot()
    );
    world.file(".agents/prowess.toml", "[validate]\nprofile = \"spec\"\n");
    assert_eq!(validate(&world, &[]).expect(1).stdout, FOUND);
}

#[test]
fn user_file_named_by_the_environment() {
    let world = mismatch();
    let file = world.file("elsewhere.toml", "[validate]\nprofile = \"lenient\"\n");
    let named = |file: &std::path::Path| {
        world
            .command(&["validate", "skills"])
            .env("PROWESS_CONFIG_FILE", file)
            .run()
    };
    named(&file).expect(0);
    insta::assert_snapshot!(named(&world.path("nope.toml")).expect(2).snapshot());
}

#[test]
fn flags_override_the_file() {
    let world = mismatch();
    world.file(
        ".agents/prowess.toml",
        "[validate]\nprofile = \"lenient\"\nfail-on = \"warning\"\n\n[validate.severity]\nname-folder-mismatch = \"note\"\n",
    );
    // The file makes it a note, which does not fail.
    let output = validate(&world, &[]).expect(0);
    assert!(
        output.stdout.contains(": note[name-folder-mismatch] "),
        "{}",
        output.snapshot()
    );
    validate(&world, &["--fail-on", "note"]).expect(1);
    let output = validate(&world, &["--severity", "name-folder-mismatch=warning"]).expect(1);
    assert!(
        output.stdout.contains(": warning[name-folder-mismatch] "),
        "{}",
        output.snapshot()
    );
    let flags = [
        "--severity",
        "name-folder-mismatch=warning",
        "--fail-on",
        "error",
    ];
    validate(&world, &flags).expect(0);
    assert_eq!(
        validate(&world, &["--ignore", "name-folder-mismatch"])
            .expect(0)
            .stdout,
        ""
    );
}

#[test]
fn profile_flag_overrides_the_file() {
    let world = mismatch();
    world.file(
        ".agents/prowess.toml",
        "[validate]\nprofile = \"lenient\"\n",
    );
    validate(&world, &[]).expect(0);
    assert_eq!(
        validate(&world, &["--profile", "spec"]).expect(1).stdout,
        FOUND
    );
}

/// A rule that the file ignores must have its default severity if it is selected with `--select`, so
/// that a CI run fails.
#[test]
fn select_flag_overrides_ignore_in_the_file() {
    let world = mismatch();
    world.file(
        ".agents/prowess.toml",
        "[validate]\nignore = [\"name-folder-mismatch\"]\n",
    );
    assert_eq!(
        validate(&world, &["--select", "name-folder-mismatch"])
            .expect(1)
            .stdout,
        FOUND
    );
}

/// As with the flags, ignored rules stay ignored even if they are selected.
#[test]
fn ignore_overrides_select_in_the_file() {
    let world = mismatch();
    world.skill("skills/blank", "name: blank\n");
    world.file(
        ".agents/prowess.toml",
        "[validate]\nselect = [\"name-folder-mismatch\", \"description-missing\"]\nignore = [\"name-folder-mismatch\"]\n",
    );
    let output = validate(&world, &[]).expect(1);
    assert!(
        output.stdout.contains("[description-missing]"),
        "{}",
        output.snapshot()
    );
    assert!(
        !output.stdout.contains("[name-folder-mismatch]"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn select_in_the_file() {
    let world = mismatch();
    world.file(
        ".agents/prowess.toml",
        "[validate]\nselect = [\"body-empty\"]\n",
    );
    assert_eq!(validate(&world, &[]).expect(0).stdout, "");
}

#[test]
fn unknown_key_warns_and_the_rest_applies() {
    let world = mismatch();
    world.file(
        ".agents/prowess.toml",
        "# settings\n[validate]\nprofil = \"spec\"\nignore = [\"name-folder-mismatch\"]\n\n[serve]\nport = 1\n",
    );
    insta::assert_snapshot!(validate(&world, &[]).expect(0).snapshot());
}

#[test]
fn bad_values_are_errors_with_a_position() {
    let world = mismatch();
    let cases = [
        ("profile", "[validate]\nprofile = \"strict\"\n"),
        ("near", "[validate]\nfail-on = \"warnings\"\n"),
        ("type", "[validate]\nignore = \"body-length\"\n"),
        ("item", "[validate]\nignore = [\"body-length\", 3]\n"),
        ("rule", "[validate]\nselect = [\"body-lenght\"]\n"),
        ("level", "[validate.severity]\nbody-length = \"fatal\"\n"),
        ("syntax", "[validate\nprofile = 1\n"),
        (
            "twice",
            "[validate]\nprofile = \"spec\"\nprofile = \"spec\"\n",
        ),
    ];
    for (name, text) in cases {
        world.file(".agents/prowess.toml", text);
        let output = validate(&world, &[]).expect(2);
        assert_eq!(output.stdout, "", "{name}");
        insta::assert_snapshot!(format!("bad_{name}"), output.snapshot());
    }
}

#[test]
fn other_commands_ignore_a_bad_file() {
    let world = World::with_a_good_skill();
    world.file(".agents/prowess.toml", "broken");
    world.run(&["explain", "body-length"]).expect(0);
    world.run(&["schema", "config"]).expect(0);
    world.run(&["show", "skills/release-notes"]).expect(0);
}

#[test]
fn example_in_the_help_is_accepted() {
    let world = World::new();
    world.skill(
        "skills/a",
        &format!("name: a\ndescription: {DESCRIPTION}\n"),
    );
    let help = world.run(&["help", "profiles"]).expect(0).stdout;
    let (_, example) = help
        .split_once("# .agents/prowess.toml\n")
        .expect("an example");
    let example: String = example
        .lines()
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    world.file(".agents/prowess.toml", &example);
    let output = validate(&world, &[]).expect(0);
    assert_eq!(
        output.errors(),
        "Validated 1 skill in [TIME], no findings\n",
        "{example}"
    );
}

#[test]
fn home_that_is_a_file_has_no_configuration() {
    let world = World::with_a_good_skill();
    let file = world.file("../file", "");
    world
        .command(&["list"])
        .env("PROWESS_HOME", file)
        .run()
        .expect(0);
}

#[test]
fn numbers_have_a_radix() {
    let world = World::with_a_good_skill();
    world.file("~/config.toml", "[prompt]\nbudget = 0x1_0\n");
    assert_eq!(
        world.run(&["prompt", "--json"]).expect(0).json()["budget"],
        16
    );
}
