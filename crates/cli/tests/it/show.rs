//! `prowess show`

use serde_json::json;

use crate::world::{DESCRIPTION, World};

const RICH: &str = "\
---
name: release-notes
description: Writes release notes from commits. Use when the user asks for a changelog.
license: Apache-2.0
argument-hint: \"[from] [to]\"
arguments: from to
allowed-tools: Read Bash(git log:*)
metadata:
  owner: docs
  tier: \"2\"
---

# Release notes

Compare $from with $to; see [the style](references/style.md).

```sh
# not a heading
```

## Steps

1. Run `./scripts/list.sh`.
";

fn rich() -> World {
    let world = World::new();
    world.file("skills/release-notes/SKILL.md", RICH);
    world.file("skills/release-notes/references/style.md", "# Style\n");
    world.file_with_mode("skills/release-notes/scripts/list.sh", "#!/bin/sh\n", 0o755);
    world
}

#[test]
fn text() {
    let output = rich().run(&["show", "skills/release-notes"]).expect(0);
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn json_has_the_same_data() {
    let output = rich()
        .run(&["show", "skills/release-notes", "--json"])
        .expect(0);
    assert_eq!(output.json()["schema"], "prowess.show/1");
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn folder_file_and_dot_resolve_to_the_same_skill() {
    let world = rich();
    let digest = |output: crate::world::Output| output.expect(0).json()["digest"].clone();
    let by_folder = digest(world.run(&["show", "skills/release-notes", "--json"]));
    assert!(by_folder.as_str().unwrap().starts_with("sha256:"));
    let by_file = digest(world.run(&["show", "skills/release-notes/SKILL.md", "--json"]));
    let dot = world
        .command(&["show", ".", "--json"])
        .dir("skills/release-notes");
    assert_eq!([by_file, digest(dot.run())], [by_folder.clone(), by_folder]);
}

#[test]
fn digest_changes_with_any_file() {
    let world = rich();
    let digest = || {
        world
            .run(&["show", "skills/release-notes", "--json"])
            .expect(0)
            .json()["digest"]
            .clone()
    };
    let before = digest();
    world.file("skills/release-notes/references/style.md", "# Style!\n");
    let after = digest();
    assert_ne!(before, after);
    world.file("skills/release-notes/references/style.md", "# Style\n");
    assert_eq!(digest(), before);
}

#[test]
fn installed_name() {
    let world = World::new();
    world.good("~/.agents/skills/pdf-forms");
    let output = world.run(&["show", "pdf-forms"]).expect(0);
    assert!(
        output
            .stdout
            .starts_with("pdf-forms  ~/.agents/skills/pdf-forms/SKILL.md\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn invalid_skill_shows_recovered_data() {
    let world = World::new();
    world.file(
        "skills/broken/SKILL.md",
        "---\nname: broken\nlicense: [MIT\ndescription: Mends: things\n---\n\n# Broken\n\nUse it.\n",
    );
    insta::assert_snapshot!(world.run(&["show", "skills/broken"]).expect(0).snapshot());
}

#[test]
fn description_from_the_body() {
    let world = World::new();
    world.skill("skills/quiet", "name: quiet\n");
    insta::assert_snapshot!(world.run(&["show", "skills/quiet"]).expect(0).snapshot());
}

#[test]
fn single_file() {
    let world = World::new();
    world.file(
        "notes.md",
        format!("---\nname: notes\ndescription: {DESCRIPTION}\n---\n\nDo it.\n"),
    );
    insta::assert_snapshot!(world.run(&["show", "notes.md"]).expect(0).snapshot());
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let world = World::new();
    world.file(
        "skills/evil/SKILL.md",
        "---\nname: evil\ndescription: \"Red \\e[31m text. Use when \\u202e asked.\"\n\"k\\e[2Jey\": \"v\\e[1m\"\n---\n\n# Head\x1b[2Jing\n",
    );
    world.file("skills/evil/a\x1b[2Jb.txt", "x");
    for format in [&[][..], &["--json"]] {
        let arguments = [&["show", "skills/evil", "--color", "never"], format].concat();
        let output = world.run(&arguments).expect(0);
        for c in ['\x1b', '\u{202e}'] {
            let found = output.stdout.contains(c) || output.stderr.contains(c);
            // JSON only needs to escape control characters.
            assert!(!found || (c != '\x1b' && !format.is_empty()), "{output:?}");
        }
    }
    // The only escape sequences are our own colours.
    let output = world
        .run(&["show", "skills/evil", "--color", "always"])
        .expect(0);
    assert!(!output.stdout.contains("\x1b[2J"), "{output:?}");
    assert!(!output.stdout.contains("\x1b[31m"), "{output:?}");
    insta::assert_snapshot!(world.run(&["show", "skills/evil"]).expect(0).snapshot());
}

#[test]
fn missing_path() {
    insta::assert_snapshot!(
        World::new()
            .run(&["show", "skills/nope"])
            .expect(2)
            .snapshot()
    );
}

#[test]
fn folder_without_skill() {
    let world = World::with_a_good_skill();
    insta::assert_snapshot!(world.run(&["show", "skills"]).expect(2).snapshot());
}

#[test]
fn unreadable_file() {
    let world = World::new();
    world.link("skills/gone/SKILL.md", "nowhere");
    world.folder("skills/folder/SKILL.md");
    world.link("skills/zero/SKILL.md", "/dev/zero");
    world.file("skills/large/SKILL.md", vec![b'a'; 2 << 20]);
    for name in ["gone", "folder", "zero", "large"] {
        let output = world.run(&["show", &format!("skills/{name}")]).expect(2);
        assert_eq!(output.stdout, "");
        insta::assert_snapshot!(format!("cannot_be_read_{name}"), output.snapshot());
    }
}

#[test]
fn unknown_profile() {
    let output = rich().run(&["show", "skills/release-notes", "--profile", "spek"]);
    insta::assert_snapshot!(output.expect(2).snapshot());
}

fn properties(world: &World, folder: &str) -> crate::world::Output {
    world.run(&["show", folder, "--profile", "spec", "--json"])
}

#[test]
fn properties_match_the_reference_tool() {
    let world = World::new();
    world.skill(
        "skills/a",
        "name: a\ndescription: >\n  Two\n  lines.\nlicense: MIT\ncompatibility: all\nallowed-tools: Read Grep\nmetadata:\n  version: 1.10\n  flag: yes\n",
    );
    let output = properties(&world, "skills/a").expect(0);
    assert_eq!(output.stderr, "");
    assert_eq!(
        output.json(),
        json!({
            "name": "a",
            "description": "Two lines.",
            "license": "MIT",
            "compatibility": "all",
            "allowed-tools": "Read Grep",
            "metadata": { "version": "1.10", "flag": "yes" },
        })
    );
}

#[test]
fn properties_omit_missing_fields() {
    let world = World::with_a_good_skill();
    let output = properties(&world, "skills/release-notes").expect(0);
    assert_eq!(
        output.json(),
        json!({ "name": "release-notes", "description": DESCRIPTION })
    );
}

#[test]
fn properties_with_an_invalid_name() {
    let world = World::new();
    world.named("skills/a", "Not_Valid");
    let output = properties(&world, "skills/a").expect(0);
    assert_eq!(output.json()["name"], "Not_Valid");
}

#[test]
fn properties_of_an_unparsable_file() {
    let world = World::new();
    let cases = [
        ("yaml", "---\nname: yaml\ndescription: a: b\n---\n"),
        (
            "flow",
            "---\nname: flow\ndescription: d\nmetadata: {a: b}\n---\n",
        ),
        ("none", "# No frontmatter\n"),
        ("open", "---\nname: open\ndescription: d\n"),
        ("nameless", "---\ndescription: d\n---\n"),
        ("mute", "---\nname: mute\n---\n"),
        (
            "twice",
            "---\nname: twice\nname: twice\ndescription: d\n---\n",
        ),
    ];
    for (name, text) in cases {
        world.file(format!("skills/{name}/SKILL.md"), text);
        let output = properties(&world, &format!("skills/{name}"));
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (1, ""),
            "{name}\n{}",
            output.snapshot()
        );
        insta::assert_snapshot!(format!("properties_{name}"), output.snapshot());
    }
}

/// A list cannot have missing keys.
#[test]
fn properties_of_a_list() {
    let world = World::new();
    world.file("skills/list/SKILL.md", "---\n- a\n---\n");
    let output = properties(&world, "skills/list").expect(1);
    assert_eq!(
        output.errors(),
        "error: the frontmatter must be a YAML mapping\nhint: run `prowess explain frontmatter-not-a-map`\n"
    );
}

#[test]
fn file_of_the_skill() {
    let world = World::with_a_good_skill();
    world.file(
        "skills/release-notes/references/style.md",
        "Say what changed.\n",
    );
    let read =
        |arguments: &[&str]| world.run(&[&["show", "skills/release-notes"], arguments].concat());
    assert_eq!(
        read(&["--file", "references/style.md"]).expect(0).stdout,
        "Say what changed.\n"
    );
    let part = read(&[
        "--file",
        "references/style.md",
        "--offset",
        "4",
        "--limit",
        "4",
    ])
    .expect(0);
    assert_eq!(
        (part.stdout.as_str(), part.stderr.as_str()),
        ("what", "4 B of 18 B; continue with `--offset 8`\n")
    );
    let json = read(&["--file", "references/style.md", "--limit", "3", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        json,
        serde_json::json!({ "schema": "prowess.file/1", "path": "references/style.md", "kind": "text", "text": "Say", "offset": 0, "size": 18, "next": 3 })
    );
}

#[test]
fn files_outside_the_skill_are_refused() {
    let world = World::with_a_good_skill();
    world.file("secret", "SECRET");
    world.link("skills/release-notes/up", "../../secret");
    for (file, message) in [
        ("up", "error: `up` links to a file outside the skill\n"),
        (
            "../../secret",
            "error: `../../secret` is not a path inside the skill\nhint: pass a path relative to the skill's folder, e.g. `references/a.md`\n",
        ),
        (
            "SKIL.md",
            "error: the skill has no file `SKIL.md`\nhint: did you mean `SKILL.md`?\n",
        ),
        (
            "nope/x.py",
            "error: the skill has no file `nope/x.py`\nhint: list its files with `prowess show skills/release-notes`\n",
        ),
    ] {
        let output = world
            .run(&["show", "skills/release-notes", "--file", file])
            .expect(2);
        assert_eq!(
            (output.stdout.as_str(), output.stderr.as_str()),
            ("", message),
            "{file}"
        );
    }
}

#[test]
fn binary_file() {
    let world = World::with_a_good_skill();
    world.file("skills/release-notes/logo.png", b"\x89PNG\r\n\x1a\n0123");
    let output = world
        .run(&["show", "skills/release-notes", "--file", "logo.png"])
        .expect(1);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("", "warning: `logo.png` is not text: image/png, 12 B\n")
    );
}

#[test]
fn bundled_skill() {
    let world = World::new();
    insta::assert_snapshot!(world.run(&["show", "prowess"]).expect(0).snapshot());
    let text = world
        .run(&["show", "prowess", "--file", "SKILL.md"])
        .expect(0)
        .stdout;
    assert_eq!(text, include_str!("../../../../skills/prowess/SKILL.md"));
    assert_eq!(
        world
            .run(&["show", "prowess", "--file", "other.md"])
            .expect(2)
            .errors(),
        "error: a bundled skill consists of SKILL.md only\n"
    );
    let document = world
        .run(&["show", "bundled:prowess", "--json"])
        .expect(0)
        .json();
    assert_eq!(document["name"], "prowess");
}

#[test]
fn skill_by_name() {
    let world = World::new();
    world.good(".agents/skills/pdf");
    let own = world.good("~/.claude/skills/pdf");
    let file = |name: &str| world.run(&["show", name, "--json"]).expect(0).json()["file"].clone();
    assert_eq!(file("pdf"), ".agents/skills/pdf/SKILL.md");
    assert_eq!(file("project:pdf"), ".agents/skills/pdf/SKILL.md");
    assert_eq!(file("user:pdf"), "~/.claude/skills/pdf/SKILL.md");
    let text = world
        .run(&["show", "user:pdf", "--file", "SKILL.md"])
        .expect(0)
        .stdout;
    assert_eq!(text, std::fs::read_to_string(own).unwrap());
    insta::assert_snapshot!(world.run(&["show", "pdff"]).expect(2).snapshot());
}
