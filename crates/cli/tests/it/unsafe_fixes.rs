//! `prowess validate --unsafe-fixes` and `--diff`

use std::os::unix::fs::MetadataExt;

use crate::world::{DESCRIPTION, Output, World};

const FILE: &str = "skills/pdf-tools/SKILL.md";

/// One safe fix (spaces after `---`) and one suggested fix (the name).
fn world() -> World {
    let world = World::new();
    let text = format!("---\nname: pdf\ndescription: {DESCRIPTION}\n---  \n\nFill it in.\n");
    world.file(FILE, text);
    world
}

fn validate(world: &World, flags: &[&str]) -> Output {
    world.run(&[&["validate", "skills"], flags].concat())
}

#[test]
fn suggested_fixes_are_applied_on_request() {
    let world = world();
    let before = world.read(FILE);
    let output = validate(&world, &["--fix", "--unsafe-fixes"]).expect(0);
    let after = before
        .replace("name: pdf\n", "name: pdf-tools\n")
        .replace("---  ", "---");
    assert_eq!(world.read(FILE), after);
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn fix_does_not_apply_suggestions() {
    let world = world();
    let before = world.read(FILE);
    let output = validate(&world, &["--fix"]).expect(1);
    assert_eq!(world.read(FILE), before.replace("---  ", "---"));
    assert!(
        output
            .stderr
            .ends_with(" (1 fixable with `--fix --unsafe-fixes`)\n"),
        "{}",
        output.stderr
    );
}

#[test]
fn unsafe_fixes_requires_fix_or_diff() {
    let world = world();
    let before = world.read(FILE);
    assert_eq!(
        validate(&world, &["--unsafe-fixes"]).expect(2).errors(),
        "error: `--unsafe-fixes` requires `--fix` or `--diff`\nhint: add `--fix` to apply the suggested fixes, or `--diff` to preview them\n"
    );
    assert_eq!(world.read(FILE), before);
    assert_eq!(
        validate(&world, &[]).expect(1).errors(),
        "1 error and 1 warning in 1 skill (1 fixable with `--fix`, 1 more with `--fix --unsafe-fixes`)\n"
    );
}

#[test]
fn second_run_changes_nothing() {
    let world = world();
    validate(&world, &["--fix", "--unsafe-fixes"]).expect(0);
    let file = world.path(FILE);
    let facts = || {
        (
            std::fs::read(&file).unwrap(),
            std::fs::metadata(&file).unwrap().ino(),
        )
    };
    let before = facts();
    let output = validate(&world, &["--fix", "--unsafe-fixes"]).expect(0);
    assert_eq!(
        output.errors(),
        "Validated 1 skill in [TIME], no findings\n"
    );
    assert_eq!(facts(), before);
}

/// Renaming the key would duplicate it, which is an error.
#[test]
fn suggestion_that_would_cause_an_error_is_skipped() {
    let world = World::new();
    let text = format!(
        "name: pdf-tools\ndescription: {DESCRIPTION}\nallowed-tools: Read\nalowed-tools: Grep\n"
    );
    world.skill("skills/pdf-tools", &text);
    let before = world.read(FILE);
    let flags = ["--fix", "--unsafe-fixes"];
    for rules in [&[][..], &["--select", "misspelt-key"]] {
        let output = validate(&world, &[&flags, rules].concat()).expect(0);
        assert_eq!(world.read(FILE), before);
        // It was tried and is not offered again.
        assert!(!output.stderr.contains("fixable"), "{}", output.stderr);
        assert!(output.stdout.contains("misspelt-key"), "{}", output.stdout);
    }
}

/// Renaming would create an invalid `name`, so `--unsafe-fixes` is not suggested.
#[test]
fn harmful_suggestion_is_not_counted_and_explained() {
    let world = World::new();
    world.skill(
        "skills/pdf.tools",
        &format!("Name: pdf.tools\ndescription: {DESCRIPTION}\n"),
    );
    for flags in [&[][..], &["--fix"], &["--fix", "--unsafe-fixes"]] {
        let output = validate(&world, flags).expect(0);
        assert_eq!(output.errors(), "1 warning in 1 skill\n", "{flags:?}");
        let help = "help: rename it to `name` (not applied: it would cause a new error, name-characters)\n";
        assert!(output.stdout.contains(help), "{flags:?}: {}", output.stdout);
        assert!(
            !output.stdout.contains("`--fix` alone"),
            "{flags:?}: {}",
            output.stdout
        );
    }
    let document = validate(&world, &["--json"]).expect(0).json();
    assert_eq!(document["summary"]["suggested"], 0);
    assert!(document["findings"][0].get("fix").is_none(), "{document}");
    let concise = validate(&world, &["--format", "concise"]).expect(0).stdout;
    assert!(!concise.contains("[suggestion]"), "{concise}");
}

#[test]
fn concise_marks_both_kinds_of_fixes() {
    let lines = validate(&world(), &["--format", "concise"])
        .expect(1)
        .stdout;
    let marked = |mark: &str| lines.lines().filter(|line| line.ends_with(mark)).count();
    assert_eq!(
        (marked(" [fixable]"), marked(" [suggestion]")),
        (1, 1),
        "{lines}"
    );
}

/// They can only be renamed together, so no fix is offered or counted.
#[test]
fn invalid_name_and_invalid_folder_have_no_fix() {
    let world = World::new();
    world.named("skills/Wrong_Name", "Other Name");
    let before = world.read("skills/Wrong_Name/SKILL.md");
    for flags in [&[][..], &["--fix", "--unsafe-fixes"]] {
        let output = validate(&world, flags).expect(1);
        assert_eq!(output.errors(), "1 error in 1 skill\n");
        let help = "help: rename both the skill and its folder to `other-name`\n";
        assert!(output.stdout.contains(help), "{}", output.stdout);
    }
    assert_eq!(world.read("skills/Wrong_Name/SKILL.md"), before);
}

/// Findings revealed by a suggested fix are fixed in the same run.
#[test]
fn safe_fixes_revealed_by_suggestions_are_applied() {
    let world = World::new();
    world.skill(
        "skills/pdf-tools",
        &format!("name: pdf-tools\ndescription: {DESCRIPTION}\nmetdata:\n  number: 10\n"),
    );
    validate(&world, &["--fix", "--unsafe-fixes"]).expect(0);
    assert!(
        world.read(FILE).contains("\nmetadata:\n  number: \"10\"\n"),
        "{}",
        world.read(FILE)
    );
}

#[test]
fn code_fence_around_the_file_is_removed() {
    let inside = format!(
        "---\nname: pdf-tools\ndescription: {DESCRIPTION}\n---\n\n```sh\nmake\n```\n\nDone.\n"
    );
    let world = World::new();
    world.file(FILE, format!("```markdown\n{inside}```\n"));
    validate(&world, &["--fix", "--unsafe-fixes"]).expect(0);
    assert_eq!(world.read(FILE), inside);
}

#[test]
fn symlink_out_of_the_skill_is_not_followed() {
    let world = World::new();
    let text = format!("---\nname: pdf\ndescription: {DESCRIPTION}\n---\n\nFill it in.\n");
    world.file("shared/original.md", &text);
    world.link(FILE, "../../shared/original.md");
    validate(&world, &["--fix", "--unsafe-fixes"]).expect(2);
    assert_eq!(world.read("shared/original.md"), text);
}

#[test]
fn json_counts_suggestions() {
    let world = world();
    let summary = |flags: &[&str]| validate(&world, flags).json()["summary"].clone();
    let before = summary(&["--json"]);
    assert_eq!(
        (&before["fixable"], &before["suggested"]),
        (&1.into(), &1.into())
    );
    let after = summary(&["--json", "--fix", "--unsafe-fixes"]);
    assert_eq!(
        (&after["fixed"], &after["suggested"]),
        (&2.into(), &0.into())
    );
}

#[test]
fn standard_input_is_fixed() {
    let text = "---\nname: a\ndescription: Fills in forms. Use when asked.\nlisence: MIT\n---\n\nFill it in.\n";
    let world = World::new();
    let run = |flags: &[&str]| {
        world
            .command(&[&["validate", "-"], flags].concat())
            .stdin(text)
            .run()
            .expect(0)
            .stdout
    };
    assert_eq!(run(&["--fix"]), text);
    assert_eq!(
        run(&["--fix", "--unsafe-fixes"]),
        text.replace("lisence", "license")
    );
}

#[test]
fn diff_shows_what_would_change_and_writes_nothing() {
    let world = world();
    let before = world.read(FILE);
    for flags in [&["--diff"][..], &["--diff", "--fix"]] {
        let output = validate(&world, flags).expect(1);
        assert_eq!(world.read(FILE), before);
        assert!(output.stdout.contains("\n----  \n+---\n"));
        assert!(
            !output.stdout.contains("pdf-tools\n+name"),
            "{}",
            output.stdout
        );
        assert_eq!(
            output.stderr,
            "Would fix 1 finding in 1 skill (1 more with `--unsafe-fixes`)\n"
        );
    }
    let output = validate(&world, &["--diff", "--unsafe-fixes"]).expect(1);
    assert_eq!(world.read(FILE), before);
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn empty_diff() {
    let world = World::with_a_good_skill();
    // Cannot be fixed: the description is unknown.
    world.skill("skills/blank", "name: blank\n");
    let output = validate(&world, &["--diff", "--unsafe-fixes"]).expect(0);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        (
            "",
            "No fixes in 2 skills; 1 finding has no fix; run without `--diff` to see it\n"
        )
    );
}

/// The diff equals the changes made by `--fix`.
#[test]
fn diff_can_be_applied() {
    for flags in [&[][..], &["--unsafe-fixes"]] {
        let world = World::new();
        let odd = "name: pdf\r\ndescription: Fills in: forms \x1b[31m. Use when asked.";
        world.file(FILE, format!("---\r\n{odd}\r\n---  \r\n\r\nend"));
        world.skill(
            "skills/tool-1",
            "name: tool-1\nname: tool-1\ndescription: Fills in forms. Use when asked.\n",
        );
        let diff = validate(&world, &[&["--diff"], flags].concat())
            .expect(1)
            .stdout;
        world.file("a.diff", &diff);
        let applied = std::process::Command::new("git")
            .args(["apply", "-p0", "a.diff"])
            .current_dir(world.path("."))
            .env("GIT_DIR", world.path("none"))
            .output()
            .unwrap();
        assert!(
            applied.status.success(),
            "{}{diff}",
            String::from_utf8_lossy(&applied.stderr)
        );
        let output = validate(&world, &[&["--diff"], flags].concat()).expect(0);
        let done = if flags.is_empty() {
            "No safe fixes in 2 skills (1 with `--unsafe-fixes`)"
        } else {
            "No fixes in 2 skills"
        };
        let left = "1 finding has no fix; run without `--diff` to see it";
        assert_eq!(output.stderr, format!("{done}; {left}\n"));
    }
}

#[test]
fn diff_of_standard_input() {
    let text = "---\nname: a\ndescription: Fills in: forms. Use when asked.\n---\n\nFill it in.\n";
    let world = World::new();
    let output = world
        .command(&["validate", "-", "--diff"])
        .stdin(text)
        .run()
        .expect(1);
    assert!(
        output.stdout.starts_with("--- <stdin>\n+++ <stdin>\n@@ "),
        "{}",
        output.snapshot()
    );
}

#[test]
fn diff_is_quiet_and_coloured_on_demand() {
    let world = world();
    let output = validate(&world, &["--diff", "-qq"]).expect(1);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    let output = validate(&world, &["--diff", "--color", "always"]).expect(1);
    assert!(
        output.stdout.contains("\x1b[31m----  \x1b[0m\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn diff_excludes_other_formats() {
    for flags in [
        &["--diff", "--json"][..],
        &["--diff", "--format", "full"],
        &["--diff", "--statistics"],
    ] {
        validate(&world(), flags).expect(2);
    }
}
