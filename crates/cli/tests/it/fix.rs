//! `prowess validate --fix`

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::world::World;

/// Comments, unusual order and spacing, no final line break: all of it must be kept.
const ODD: &str = "---\n# who wrote this\ndescription:   Fills in forms. Use when asked.   # short\n\nlicense: 'MIT'\nname:  \"pdf-tools\"   # ours\nlicense:  'MIT'\nmetadata:\n    owner:   'docs'\n---\n\n\n# Forms  \n\n* Fill\tit in.\n\n---\nname: PDF_tools\n---\nend without line break";

fn fixed(text: &str) -> String {
    text.replacen("license:  'MIT'\r\n", "", 1)
        .replacen("license:  'MIT'\n", "", 1)
}

fn fix(world: &World) -> crate::world::Output {
    world.run(&["validate", "skills", "--fix"])
}

#[test]
fn fix_changes_only_the_error() {
    let world = World::new();
    world.file("skills/pdf-tools/SKILL.md", ODD);
    let output = fix(&world).expect(0);
    assert_eq!(world.read("skills/pdf-tools/SKILL.md"), fixed(ODD));
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn crlf_line_endings_are_kept() {
    let world = World::new();
    let text = ODD.replace('\n', "\r\n");
    world.file("skills/pdf-tools/SKILL.md", &text);
    fix(&world).expect(0);
    assert_eq!(world.read("skills/pdf-tools/SKILL.md"), fixed(&text));
}

#[test]
fn inserted_lines_use_the_same_line_endings() {
    let world = World::new();
    let text = "---\r\ndescription: Fills in forms. Use when asked.\r\n---\r\n\r\nFill it in.\r\n";
    world.file("skills/pdf-tools/SKILL.md", text);
    fix(&world).expect(0);
    assert_eq!(
        world.read("skills/pdf-tools/SKILL.md"),
        text.replacen("---\r\n", "---\r\nname: pdf-tools\r\n", 1)
    );
}

#[test]
fn many_fixes_at_once() {
    let world = World::new();
    world.file(
        "skills/pdf-tools/SKILL.md",
        "---\nName: pdf_tools\ndescription: Fills in: forms. Use when asked.\nuser_invocable: \"yes\"\nalowed-tools: Read Grep\n---   \n\nFill it in.\n",
    );
    let before = world.run(&["validate", "skills", "--format", "concise"]);
    let output = fix(&world);
    insta::assert_snapshot!(format!(
        "----- before -----\n{}{}----- after -----\n{}",
        before.stdout,
        output.snapshot(),
        world.read("skills/pdf-tools/SKILL.md")
    ));
}

#[test]
fn report_names_and_counts_the_rules() {
    let world = World::new();
    let lines = "description: Fills: forms. Use when asked.\nlicense: MIT: really";
    let text = format!("---\nname: pdf-tools\n{lines}\n---  \n\nRead.\n");
    world.file("skills/pdf-tools/SKILL.md", text);
    let report = "Fixed 3 findings in 1 skill\n  skills/pdf-tools/SKILL.md: 2 x yaml-syntax, fence-trailing-space\nValidated 1 skill in [TIME], no findings left\n";
    assert_eq!(fix(&world).expect(0).errors(), report);
}

#[test]
fn second_run_changes_nothing() {
    let world = World::new();
    let file = world.file("skills/pdf-tools/SKILL.md", ODD);
    fix(&world).expect(0);
    let (before, inode) = (
        std::fs::read(&file).unwrap(),
        std::fs::metadata(&file).unwrap().ino(),
    );
    let output = fix(&world).expect(0);
    assert_eq!(
        output.errors(),
        "Validated 1 skill in [TIME], no findings\n"
    );
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(std::fs::metadata(&file).unwrap().ino(), inode);
}

#[test]
fn file_mode_is_kept() {
    for mode in [0o600, 0o644, 0o664, 0o755] {
        let world = World::new();
        let file = world.file_with_mode("skills/pdf-tools/SKILL.md", ODD, mode);
        fix(&world).expect(0);
        let after = std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777;
        assert_eq!(format!("{after:o}"), format!("{mode:o}"));
        assert_eq!(world.read("skills/pdf-tools/SKILL.md"), fixed(ODD));
    }
}

#[test]
fn symlink_is_kept() {
    let world = World::new();
    world.file("skills/pdf-tools/text/original.md", ODD);
    let link = world.link("skills/pdf-tools/SKILL.md", "text/original.md");
    fix(&world).expect(0);
    assert_eq!(
        std::fs::read_link(&link).unwrap().to_str(),
        Some("text/original.md")
    );
    assert_eq!(world.read("skills/pdf-tools/text/original.md"), fixed(ODD));
}

#[test]
fn symlink_out_of_the_skill_is_not_followed() {
    let world = World::new();
    world.file("shared/original.md", ODD);
    world.link("skills/pdf-tools/SKILL.md", "../../shared/original.md");
    let output = fix(&world).expect(2);
    assert!(
        output
            .stderr
            .contains("a link to a file outside its folder"),
        "{}",
        output.snapshot()
    );
    assert_eq!(world.read("shared/original.md"), ODD);
}

#[test]
fn no_temporary_file_is_left() {
    let world = World::new();
    world.file("skills/pdf-tools/SKILL.md", ODD);
    fix(&world).expect(0);
    let names: Vec<_> = std::fs::read_dir(world.path("skills/pdf-tools"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["SKILL.md"]);
}

#[test]
fn nothing_is_written_without_fixable_findings() {
    let world = World::new();
    let good = world.good("skills/release-notes");
    let suggested = world.named("skills/pdf-tools", "pdf");
    let hopeless = world.file("skills/hopeless/SKILL.md", "no frontmatter");
    let not_text = world.file("skills/bytes/SKILL.md", b"---\nname: BY_TES\n\xff---\n");
    let facts = || {
        [&good, &suggested, &hopeless, &not_text].map(|file| {
            let data = std::fs::metadata(file).unwrap();
            (
                data.ino(),
                data.mtime(),
                data.mtime_nsec(),
                data.ctime_nsec(),
                std::fs::read(file).unwrap(),
            )
        })
    };
    let before = facts();
    let output = fix(&world).expect(1);
    assert!(!output.stderr.contains("Fixed"), "{}", output.stderr);
    assert_eq!(facts(), before);
}

#[test]
fn without_the_flag_nothing_is_written() {
    let world = World::new();
    world.file("skills/pdf-tools/SKILL.md", ODD);
    let output = world.run(&["validate", "skills"]).expect(1);
    assert!(
        output.stderr.ends_with("fixable with `--fix`)\n"),
        "{}",
        output.stderr
    );
    assert_eq!(world.read("skills/pdf-tools/SKILL.md"), ODD);
}

#[test]
fn unfixable_findings_remain() {
    let world = World::new();
    world.skill(
        "skills/pdf-tools",
        "name: pdf-tools\nlicense: MIT\nlicense: MIT\n",
    );
    let output = fix(&world).expect(1);
    assert!(
        world
            .read("skills/pdf-tools/SKILL.md")
            .starts_with("---\nname: pdf-tools\nlicense: MIT\n---\n")
    );
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn remaining_warnings_do_not_fail() {
    let world = World::new();
    world.skill(
        "skills/pdf-tools",
        "name: pdf-tools\nname: pdf-tools\ndescription: Fills in forms.\n",
    );
    fix(&world).expect(0);
    world.skill(
        "skills/pdf-tools",
        "name: pdf-tools\nname: pdf-tools\ndescription: Fills in forms.\n",
    );
    world
        .run(&["validate", "skills", "--fix", "--fail-on", "warning"])
        .expect(1);
}

#[test]
fn ignored_rules_are_not_fixed() {
    let world = World::new();
    world.file("skills/pdf-tools/SKILL.md", ODD);
    let output = world
        .run(&["validate", "skills", "--fix", "--select", "body-empty"])
        .expect(0);
    assert_eq!(
        output.errors(),
        "Validated 1 skill in [TIME], no findings\n"
    );
    assert_eq!(world.read("skills/pdf-tools/SKILL.md"), ODD);
}

#[test]
fn json_counts_fixes() {
    let world = World::new();
    world.file("skills/pdf-tools/SKILL.md", ODD);
    let document = world
        .run(&["validate", "skills", "--fix", "--json"])
        .expect(0)
        .json();
    assert_eq!(document["findings"], serde_json::json!([]));
    assert!(
        document["summary"]["fixed"].as_u64().unwrap() >= 1,
        "{document}"
    );
    assert_eq!(document["summary"]["fixable"], 0);
}

/// The number of fixable findings before must equal the number of fixes after.
#[test]
fn fixed_count_equals_fixable_count() {
    let world = World::new();
    world.file("skills/pdf-tools/SKILL.md", ODD);
    let promised =
        world.run(&["validate", "skills", "--json"]).json()["summary"]["fixable"].clone();
    let fixed =
        world.run(&["validate", "skills", "--fix", "--json"]).json()["summary"]["fixed"].clone();
    assert_eq!((&fixed, &promised), (&1.into(), &1.into()));
}

#[test]
fn several_skills_at_once() {
    let world = World::new();
    for number in 0..40 {
        let name = format!("name: tool-{number}\n");
        let text = format!("{name}{name}description: Fills in forms. Use when asked.\n");
        world.skill(format!("skills/tool-{number}"), &text);
    }
    let output = fix(&world).expect(0);
    assert!(
        output.stderr.contains(" in 40 skills\n"),
        "{}",
        output.stderr
    );
    for number in 0..40 {
        let text = world.read(format!("skills/tool-{number}/SKILL.md"));
        assert!(
            text.starts_with(&format!("---\nname: tool-{number}\ndescription")),
            "{text}"
        );
    }
}

fn stdin(bytes: impl Into<Vec<u8>>, flags: &[&str]) -> crate::world::Output {
    let world = World::new();
    world
        .command(&[&["validate", "-", "--fix"], flags].concat())
        .stdin(bytes)
        .run()
}

#[test]
fn fixed_standard_input_is_written_to_standard_output() {
    let text = "---\r\nname: a # b\r\ndescription: Fills in: forms. Use when asked.\r\n---  \r\n\r\nFill it in.";
    let output = stdin(text, &[]).expect(0);
    insta::assert_snapshot!(output.snapshot().replace('\r', "␍"));
}

#[test]
fn clean_standard_input_passes_through() {
    let text =
        "---\nname: a\ndescription: Fills in forms. Use when asked.\n---\n\nFill it in.  \n\n";
    assert_eq!(stdin(text, &[]).expect(0).stdout, text);
}

/// Fixed text is written to a pipe unchanged.
#[test]
fn standard_input_keeps_escape_sequences() {
    let text = "---\nname: a\ndescription: Fills in forms. Use when asked.\n---\n\nPrints \x1b[31mred\x1b[0m.\n";
    assert_eq!(stdin(text, &[]).stdout, text);
}

/// Standard output contains the text, so remaining findings are printed to standard error.
#[test]
fn findings_in_fixed_standard_input_are_reported() {
    let output = stdin("---\nname: a\n---\n\nFill it in.\n", &[]).expect(1);
    assert_eq!(output.stdout, "---\nname: a\n---\n\nFill it in.\n");
    assert!(
        output.stderr.contains("description-missing"),
        "{}",
        output.snapshot()
    );
}

/// `prowess validate - --fix < a > b` must not lose input that it cannot fix.
#[test]
fn binary_standard_input_is_reported() {
    let text = b"---\nname: \xff\n---\n".to_vec();
    let output = stdin(text, &[]).expect(1);
    assert_eq!(
        output.stdout, "---\nname: \u{fffd}\n---\n",
        "passed through"
    );
    assert!(output.stderr.contains("not-utf8"), "{}", output.snapshot());
}
