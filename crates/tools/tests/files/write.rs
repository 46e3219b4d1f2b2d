//! `write`.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;

use prowess_policy::{Answer, Effect, Mode};
use prowess_traits::{Approver, Question};
use serde_json::json;

use crate::support::{Says, World, call, told};

#[test]
fn files_are_made_and_replaced() {
    let world = World::new();
    let context = world.yolo();
    let write = |content: &str| {
        call(
            &context,
            "write",
            &json!({ "path": "a/b/c.txt", "content": content }),
        )
    };
    let made = write("one\n").unwrap();
    assert_eq!(made.text, "Created `a/b/c.txt`: 4 B.");
    assert_eq!(
        made.value,
        json!({ "path": "a/b/c.txt", "created": true, "size": 4, "before": null })
    );
    let replaced = write("one two\n").unwrap();
    assert_eq!(replaced.text, "Replaced `a/b/c.txt`: 8 B, before 4 B.");
    assert_eq!(world.get("repo/a/b/c.txt"), "one two\n");
    assert_eq!(world.names("repo/a/b"), ["c.txt"]);
}

#[test]
fn permissions_and_links_stay() {
    let world = World::new()
        .file("repo/run.sh", "old")
        .link("repo/l", "run.sh");
    let path = world.path("repo/run.sh");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    told(
        &world.yolo(),
        "write",
        &json!({ "path": "l", "content": "new" }),
    );
    assert_eq!(world.get("repo/run.sh"), "new");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
    assert!(
        std::fs::symlink_metadata(world.path("repo/l"))
            .unwrap()
            .is_symlink()
    );
}

/// Another name of the same file, outside, keeps what it had.
#[test]
fn another_name_of_the_file_keeps_its_content() {
    let world = World::new();
    std::fs::hard_link(world.path("outside/x"), world.path("repo/hard")).unwrap();
    told(
        &world.yolo(),
        "write",
        &json!({ "path": "hard", "content": "new" }),
    );
    assert_eq!(
        (world.get("repo/hard"), world.get("outside/x")),
        ("new".into(), "SECRET".into())
    );
}

#[test]
fn modes_decide() {
    let world = World::new().file("repo/f", "old");
    let input = json!({ "path": "f", "content": "new" });
    let outside = json!({ "path": world.text("outside/x"), "content": "new" });
    let cases = [
        (Mode::Ask, false, false),
        (Mode::Allow, false, false),
        (Mode::Plan, false, false),
        (Mode::AcceptEdits, true, false),
        (Mode::Yolo, true, true),
    ];
    for (mode, inside, out) in cases {
        world.put("repo/f", "old");
        world.put("outside/x", "SECRET");
        let context = world.context(mode, &[]);
        assert_eq!(call(&context, "write", &input).is_ok(), inside, "{mode:?}");
        assert_eq!(call(&context, "write", &outside).is_ok(), out, "{mode:?}");
        assert_eq!(world.get("repo/f"), if inside { "new" } else { "old" });
    }
    let ruled = world.context(Mode::Allow, &[(Effect::Allow, "Edit(f)")]);
    assert!(call(&ruled, "write", &input).is_ok());
    let denied = world.context(Mode::Yolo, &[(Effect::Deny, "Read(f)")]);
    assert!(told(&denied, "write", &input).contains("deny rule `Read(f)`"));
}

#[test]
fn the_person_sees_the_change() {
    let world = World::new().file("repo/f", "one\ntwo\n");
    let mut context = world.context(Mode::Ask, &[]);
    let says = Says::new(Answer::No);
    context.services.approver = says.clone();
    let no = told(
        &context,
        "write",
        &json!({ "path": "f", "content": "one\n2\u{1b}[31m\n" }),
    );
    assert!(
        no.starts_with("Writing `f` was refused: no rule allows writing"),
        "{no}"
    );
    told(
        &context,
        "write",
        &json!({ "path": "new/g", "content": "x\n".repeat(1_000) }),
    );
    let questions = says.questions();
    assert_eq!(
        questions[0],
        "Replace `f` (8 B by 11 B):\n--- f\n+++ f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\\u{1b}[31m\n"
    );
    assert!(
        questions[1].starts_with("Create `new/g` (2.0 kB):\n"),
        "{}",
        questions[1]
    );
    assert!(questions[1].ends_with(" more lines]") && questions[1].len() < 9_000);
    assert_eq!(world.get("repo/f"), "one\ntwo\n");
    assert_eq!(
        world.names("repo"),
        ["f"],
        "nothing is made before the answer"
    );
}

/// Changes the file while the person thinks.
#[derive(Debug)]
struct Meddles(std::path::PathBuf);

impl Approver for Meddles {
    fn ask(&self, _question: &Question<'_>) -> Answer {
        std::fs::write(&self.0, "theirs").unwrap();
        Answer::Once
    }
}

#[test]
fn what_the_person_did_not_see_is_not_replaced() {
    let world = World::new().file("repo/f", "old");
    let mut context = world.context(Mode::Ask, &[]);
    for (tool, input) in [
        ("write", json!({ "path": "f", "content": "new" })),
        ("edit", json!({ "path": "f", "old": "old", "new": "new" })),
        ("write", json!({ "path": "g", "content": "new" })),
    ] {
        world.put("repo/f", "old");
        let path = format!("repo/{}", input["path"].as_str().unwrap());
        context.services.approver = Arc::new(Meddles(world.path(&path)));
        let text = told(&context, tool, &input);
        assert!(text.contains("changed meanwhile"), "{tool} {path}: {text}");
        assert_eq!(world.get(&path), "theirs");
    }
    assert_eq!(world.names("repo"), ["f", "g"]);
}

#[test]
fn what_cannot_be_written_is_said() {
    let world = World::new().file("repo/f", "x").file("repo/d/x", "x");
    let context = world.yolo();
    let write = |path: &str| told(&context, "write", &json!({ "path": path, "content": "y" }));
    assert_eq!(write("d"), "`d` is a folder, not a file.");
    assert_eq!(write("f/x"), "`f/x` has no folder to be written to.");
    let outside = world.text("outside/a/b");
    assert!(write(&outside).contains("Folders are made only in the project"));
    let huge = json!({ "path": "huge", "content": "x".repeat(11 * 1024 * 1024) });
    assert!(told(&context, "write", &huge).contains("more than the 10.4 MB"));
    assert_eq!(world.names("repo"), ["d", "f"]);
}
