//! `prowess validate --unsafe-fixes` and `--diff`

use std::os::unix::fs::MetadataExt;

use crate::world::{DESCRIPTION, Output, World};

const FILE: &str = "skills/pdf-tools/SKILL.md";

/// One safe fix (blanks behind `---`), one suggestion (the name).
fn world() -> World {
    let world = World::new();
    let text = format!("---\nname: csv-report\ndescription: {DESCRIPTION}\n---  \n\nFill it in.\n");
    world.file(FILE, text);
    world
}

fn validate(world: &World, flags: &[&str]) -> Output {
    world.run(&[&["validate", "skills"], flags].concat())
}

#[test]
fn suggestions_are_applied_when_asked_for() {
    let world = world();
    let before = world.read(FILE);
    let output = validate(&world, &["--fix", "--unsafe-fixes"]).expect(0);
    let after = before
        .replace("csv-report", "pdf-tools")
        .replace("---  ", "---");
    assert_eq!(world.read(FILE), after);
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn fix_alone_leaves_suggestions() {
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
fn without_fix_or_diff_they_are_refused_with_what_to_add() {
    let world = world();
    let before = world.read(FILE);
    assert_eq!(
        validate(&world, &["--unsafe-fixes"]).expect(2).errors(),
        "error: `--unsafe-fixes` alone changes nothing\nhint: add `--fix` to apply the suggested fixes, or `--diff` to see what they change\n"
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

/// Renamed, the key would stand twice, which is an error.
#[test]
fn suggestion_that_would_make_an_error_is_left_out() {
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
        // It was tried, so that it is not offered again.
        assert!(!output.stderr.contains("fixable"), "{}", output.stderr);
        assert!(output.stdout.contains("misspelt-key"), "{}", output.stdout);
    }
}

/// Renamed, `name` would be there and wrong: nobody is told that `--unsafe-fixes` would do it.
#[test]
fn what_would_do_harm_is_not_counted_and_says_why() {
    let world = World::new();
    world.skill(
        "skills/pdf_tools",
        &format!("Name: pdf_tools\ndescription: {DESCRIPTION}\n"),
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

/// Only both together can be renamed, so nothing is offered and nothing is counted.
#[test]
fn name_and_folder_that_are_both_wrong_have_no_fix() {
    let world = World::new();
    world.named("skills/Wrong_Name", "Other Name");
    let before = world.read("skills/Wrong_Name/SKILL.md");
    for flags in [&[][..], &["--fix", "--unsafe-fixes"]] {
        let output = validate(&world, flags).expect(1);
        assert_eq!(output.errors(), "3 errors in 1 skill\n");
        let help = "help: rename both the skill and its folder to `other-name`\n";
        assert_eq!(output.stdout.matches(help).count(), 3, "{}", output.stdout);
    }
    assert_eq!(world.read("skills/Wrong_Name/SKILL.md"), before);
}

/// What is hidden behind a suggestion is mended in the same run.
#[test]
fn suggestions_uncover_safe_fixes() {
    let world = World::new();
    world.skill(
        "skills/pdf-tools",
        &format!("nmae: PDF_tools\ndescription: {DESCRIPTION}\n"),
    );
    validate(&world, &["--fix", "--unsafe-fixes"]).expect(0);
    assert!(
        world.read(FILE).starts_with("---\nname: pdf-tools\n"),
        "{}",
        world.read(FILE)
    );
}

#[test]
fn code_fence_round_the_file_goes_whole() {
    let inside = format!(
        "---\nname: pdf-tools\ndescription: {DESCRIPTION}\n---\n\n```sh\nmake\n```\n\nDone.\n"
    );
    let world = World::new();
    world.file(FILE, format!("```markdown\n{inside}```\n"));
    validate(&world, &["--fix", "--unsafe-fixes"]).expect(0);
    assert_eq!(world.read(FILE), inside);
}

#[test]
fn link_that_leads_out_is_not_followed() {
    let world = World::new();
    let text = format!("---\nname: csv-report\ndescription: {DESCRIPTION}\n---\n\nFill it in.\n");
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
fn standard_input_is_mended() {
    let text = "---\nname: a\ndescription: Fills in forms. Use when asked.\nalowed-tools: Read\n---\n\nFill it in.\n";
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
        text.replace("alowed", "allowed")
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
fn diff_of_nothing() {
    let world = World::with_a_good_skill();
    // Not to be mended: nobody knows what it does.
    world.skill("skills/blank", "name: blank\n");
    let output = validate(&world, &["--diff", "--unsafe-fixes"]).expect(0);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        (
            "",
            "No fixes in 2 skills; 1 finding has no fix: see it without `--diff`\n"
        )
    );
}

/// What is printed is what `--fix` does.
#[test]
fn diff_can_be_applied() {
    for flags in [&[][..], &["--unsafe-fixes"]] {
        let world = World::new();
        let odd = "name: csv-report\r\ndescription: Fills in: forms \x1b[31m. Use when asked.";
        world.file(FILE, format!("---\r\n{odd}\r\n---  \r\n\r\nend"));
        world.named("skills/tool-1", "Tool_1");
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
            "No safe fixes in 2 skills; 1 suggested one: add `--unsafe-fixes`"
        } else {
            "No fixes in 2 skills"
        };
        let left = "1 finding has no fix: see it without `--diff`";
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
fn diff_has_a_format_of_its_own() {
    for flags in [
        &["--diff", "--json"][..],
        &["--diff", "--format", "full"],
        &["--diff", "--statistics"],
    ] {
        validate(&world(), flags).expect(2);
    }
}
