//! Findings and fixes for common mistakes in frontmatter.

use crate::world::World;

/// Invalid frontmatter with the result of its fixes, on one or several lines.
const BROKEN: &[(&str, &str, &str)] = &[
    (
        "lost",
        "description: Fix issue #12 when asked",
        "description: 'Fix issue #12 when asked'",
    ),
    (
        "colon-and-mark",
        "description: Fixes: issue #12 when asked",
        "description: 'Fixes: issue #12 when asked'",
    ),
    (
        "inner-marks",
        r#"description: "Says \"hi\" and "bye" when asked""#,
        r#"description: 'Says "hi" and "bye" when asked'"#,
    ),
    (
        "wrapped",
        "description: Fills forms.\n  Use when: asked.",
        "description: 'Fills forms.\n  Use when: asked.'",
    ),
    (
        "open",
        "description: \"Fills forms.\n  Use when: asked.",
        "description: \"Fills forms.\n  Use when: asked.\"",
    ),
    (
        "a-key-of-its-own",
        "description: Fills forms.\nUse when: asked.",
        "description: 'Fills forms.\n  Use when: asked.'",
    ),
    (
        "indented",
        "  description: Use when asked.",
        "description: Use when asked.",
    ),
    (
        "block",
        "description: > Use when asked.",
        "description: >\n  Use when asked.",
    ),
    (
        "curly",
        "description: “Use when asked.”",
        "description: 'Use when asked.'",
    ),
    (
        "no-colon",
        "description Use when asked.",
        "description: Use when asked.",
    ),
];

fn world() -> World {
    let world = World::new();
    for (name, line, _) in BROKEN {
        let text = format!("---\nname: {name}\n{line}\n---\n\nDo it.\n");
        world.file(format!("skills/{name}/SKILL.md"), text);
    }
    world
}

#[test]
fn findings() {
    insta::assert_snapshot!(world().run(&["validate", "skills"]).expect(1).snapshot());
}

/// No findings remain, and the text has the intended meaning.
#[test]
fn all_fixes() {
    let world = world();
    world
        .run(&[
            "validate",
            "skills",
            "--fix",
            "--unsafe-fixes",
            "--fail-on",
            "note",
        ])
        .expect(0);
    for (name, _, fixed) in BROKEN {
        assert_eq!(
            world.read(format!("skills/{name}/SKILL.md")),
            format!("---\nname: {name}\n{fixed}\n---\n\nDo it.\n"),
        );
    }
}

/// If the text is ambiguous, `--fix` alone does not change it.
#[test]
fn safe_fixes() {
    let world = world();
    world.run(&["validate", "skills", "--fix"]).expect(1);
    for (name, line, fixed) in BROKEN {
        let is_safe = matches!(*name, "inner-marks" | "wrapped" | "open" | "block");
        let wanted = if is_safe { fixed } else { line };
        let text = world.read(format!("skills/{name}/SKILL.md"));
        assert!(text.contains(&format!("\n{wanted}\n---\n")), "{text}");
    }
}

#[test]
fn other_notations() {
    let world = World::new();
    let keys = "name: x\ndescription: Use when asked.\n";
    let toml = keys.replace(": ", " = ");
    for text in [
        format!("---\n{toml}---\nDo it.\n"),
        format!("+++\n{toml}+++\nDo it.\n"),
        format!("---\n{}---\nDo it.\n", keys.replace(": ", ":")),
        format!(
            "---\n{}---\nDo it.\n",
            keys.replace("name", "- name").replace("desc", "- desc")
        ),
        format!("{keys}\nDo it.\n"),
        format!("---\n{keys}--\nDo it.\n"),
    ] {
        world.file("skills/x/SKILL.md", &text);
        world
            .run(&["validate", "skills", "--fix", "--unsafe-fixes"])
            .expect(0);
        let fixed = world.read("skills/x/SKILL.md");
        assert!(
            fixed.starts_with(&format!("---\n{keys}---\n")),
            "{text} became {fixed}"
        );
    }
}

#[test]
fn real_comments_are_kept() {
    let world = World::new();
    let keys = "name: x # short\ndescription: Use when asked.  # to be extended\nlicense: MIT # see LICENSE\n";
    world.file(
        "skills/x/SKILL.md",
        format!("---\n# Our skill\n{keys}---\nDo it.\n"),
    );
    world
        .run(&["validate", "skills", "--fail-on", "note"])
        .expect(0);
}
