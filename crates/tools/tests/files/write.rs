//! `write`.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;

use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_traits::{ApprovalRequest, Approver};
use serde_json::json;

use crate::support::{Says, World, call, told};

#[test]
fn files_are_created_and_replaced() {
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
    assert_eq!(replaced.text, "Replaced `a/b/c.txt`: 8 B (was 4 B).");
    assert_eq!(world.read("a/b/c.txt"), "one two\n");
    assert_eq!(world.names("a/b"), ["c.txt"]);
}

#[test]
fn permissions_and_links_are_kept() {
    let world = World::new().with("run.sh", "old").with_link("l", "run.sh");
    let path = world.path("run.sh");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    told(
        &world.yolo(),
        "write",
        &json!({ "path": "l", "content": "new" }),
    );
    assert_eq!(world.read("run.sh"), "new");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
    assert!(
        std::fs::symlink_metadata(world.path("l"))
            .unwrap()
            .is_symlink()
    );
}

/// A hard link to the file outside the project keeps the old content.
#[test]
fn hard_link_outside_keeps_its_content() {
    let world = World::new();
    std::fs::hard_link(world.path("../outside/x"), world.path("hard")).unwrap();
    told(
        &world.yolo(),
        "write",
        &json!({ "path": "hard", "content": "new" }),
    );
    assert_eq!(
        (world.read("hard"), world.read("../outside/x")),
        ("new".into(), "SECRET".into())
    );
}

#[test]
fn modes_decide_about_writes() {
    let world = World::new().with("f", "old");
    let input = json!({ "path": "f", "content": "new" });
    let outside = json!({ "path": world.text("../outside/x"), "content": "new" });
    let cases = [
        (PermissionMode::Ask, false, false),
        (PermissionMode::Allow, false, false),
        (PermissionMode::Plan, false, false),
        (PermissionMode::AcceptEdits, true, false),
        (PermissionMode::Yolo, true, true),
    ];
    for (mode, inside, out) in cases {
        world.file("f", "old");
        world.file("../outside/x", "SECRET");
        let context = world.context(mode, &[]);
        assert_eq!(call(&context, "write", &input).is_ok(), inside, "{mode:?}");
        assert_eq!(call(&context, "write", &outside).is_ok(), out, "{mode:?}");
        assert_eq!(world.read("f"), if inside { "new" } else { "old" });
    }
    let ruled = world.context(PermissionMode::Allow, &[(Effect::Allow, "Edit(f)")]);
    assert!(call(&ruled, "write", &input).is_ok());
    let denied = world.context(PermissionMode::Yolo, &[(Effect::Deny, "Read(f)")]);
    assert!(told(&denied, "write", &input).contains("deny rule `Read(f)`"));
}

#[test]
fn prompt_shows_the_diff() {
    let world = World::new().with("f", "one\ntwo\n");
    let mut context = world.context(PermissionMode::Ask, &[]);
    let says = Says::new(ApprovalAnswer::No);
    context.services.approver = says.clone();
    let no = told(
        &context,
        "write",
        &json!({ "path": "f", "content": "one\n2\u{1b}[31m\n" }),
    );
    assert_eq!(no, "Writing `f` was refused: the user denied it.");
    told(
        &context,
        "write",
        &json!({ "path": "new/g", "content": "x\n".repeat(1_000) }),
    );
    let questions = says.questions();
    assert_eq!(
        questions[0],
        "Replace `f` (8 B with 11 B):\n--- f\n+++ f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\\u{1b}[31m\n"
    );
    assert!(
        questions[1].starts_with("Create `new/g` (2.0 kB):\n"),
        "{}",
        questions[1]
    );
    assert!(questions[1].ends_with(" more lines]") && questions[1].len() < 9_000);
    assert_eq!(world.read("f"), "one\ntwo\n");
    assert_eq!(
        world.names(""),
        ["f"],
        "nothing is created before the answer"
    );
}

/// Changes the file while the prompt is open.
#[derive(Debug)]
struct Meddles(std::path::PathBuf);

impl Approver for Meddles {
    fn ask(&self, _question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        std::fs::write(&self.0, "theirs").unwrap();
        ApprovalAnswer::Once
    }
}

#[test]
fn content_changed_during_the_prompt_is_not_replaced() {
    let world = World::new().with("f", "old");
    let mut context = world.context(PermissionMode::Ask, &[]);
    for (tool, input) in [
        ("write", json!({ "path": "f", "content": "new" })),
        ("edit", json!({ "path": "f", "old": "old", "new": "new" })),
        ("write", json!({ "path": "g", "content": "new" })),
    ] {
        world.file("f", "old");
        let path = input["path"].as_str().unwrap();
        context.services.approver = Arc::new(Meddles(world.path(path)));
        let text = told(&context, tool, &input);
        assert!(
            text.contains("changed during this call"),
            "{tool} {path}: {text}"
        );
        assert_eq!(world.read(path), "theirs");
    }
    assert_eq!(world.names(""), ["f", "g"]);
}

#[test]
fn unwritable_paths_are_errors() {
    let world = World::new().with("f", "x").with("d/x", "x");
    let context = world.yolo();
    let write = |path: &str| told(&context, "write", &json!({ "path": path, "content": "y" }));
    assert_eq!(write("d"), "`d` is a folder, not a file.");
    assert_eq!(write("f/x"), "Cannot write `f/x`: no such folder.");
    let outside = world.text("../outside/a/b");
    assert!(write(&outside).contains("Folders are only created in the project"));
    let huge = json!({ "path": "huge", "content": "x".repeat(11 * 1024 * 1024) });
    assert!(told(&context, "write", &huge).contains("limit: 10.4 MB"));
    assert_eq!(world.names(""), ["d", "f"]);
}
