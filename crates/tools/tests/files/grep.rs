//! `grep`.

use prowess_policy::{Effect, PermissionMode};
use serde_json::json;

use crate::support::{World, call, told};

fn world() -> World {
    World::new()
        .with("a.rs", "fn one() {}\nfn two() {}\n\nfn Three() {}\n")
        .with("sub/b.txt", "one\r\ntwo\r\n")
        .with("ignored.txt", "one\n")
        .with(".gitignore", "ignored.txt\n")
        .with("binary", b"one\0one\n")
        .with_link_to("link", "../outside/x")
}

#[test]
fn matching_lines_are_returned() {
    let world = world();
    let context = world.context(PermissionMode::Ask, &[]);
    let grep = |input| told(&context, "grep", &input);
    assert_eq!(
        grep(json!({ "pattern": "one" })),
        "a.rs\n1:fn one() {}\n\nsub/b.txt\n1:one\n"
    );
    assert_eq!(grep(json!({ "pattern": "^t\\w+$" })), "sub/b.txt\n2:two\n");
    assert_eq!(
        grep(json!({ "pattern": "three", "ignore_case": true })),
        "a.rs\n4:fn Three() {}\n"
    );
    assert_eq!(
        grep(json!({ "pattern": "two", "glob": "*.rs" })),
        "a.rs\n2:fn two() {}\n"
    );
    assert_eq!(
        grep(json!({ "pattern": "two", "path": "sub" })),
        "sub/b.txt\n2:two\n"
    );
    assert_eq!(
        grep(json!({ "pattern": "two", "path": "sub/b.txt" })),
        "sub/b.txt\n2:two\n"
    );
    assert_eq!(
        grep(json!({ "pattern": "SECRET" })),
        "No lines in `.` match `SECRET`.\n"
    );
    assert_eq!(
        grep(json!({ "pattern": "one|Three", "context": 1, "path": "a.rs" })),
        "a.rs\n1:fn one() {}\n2-fn two() {}\n3-\n4:fn Three() {}\n"
    );
    assert_eq!(
        grep(json!({ "pattern": "one|two", "limit": 1 })),
        "a.rs\n1:fn one() {}\n[incomplete: there are more results; use a narrower pattern, `glob` or `path`]\n"
    );
    let answer = call(&context, "grep", &json!({ "pattern": "^$" })).unwrap();
    assert_eq!(
        answer.value["matches"],
        json!([{ "path": "a.rs", "line": 3, "text": "" }])
    );
}

#[test]
fn context_groups_are_separated() {
    let lines: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let world = World::new().with("f", lines);
    let text = told(
        &world.yolo(),
        "grep",
        &json!({ "pattern": "^(3|5|15)$", "context": 1 }),
    );
    assert_eq!(
        text,
        "f\n2-2\n3:3\n4-4\n5:5\n6-6\n--\n14-14\n15:15\n16-16\n"
    );
}

#[test]
fn denied_files_are_hidden() {
    let world = world().with(".env", "one\n");
    let context = world.context(PermissionMode::Ask, &[(Effect::Deny, "Read(.env)")]);
    let answer = call(&context, "grep", &json!({ "pattern": "one" })).unwrap();
    assert!(
        answer
            .text
            .ends_with("[1 file hidden by permission rules]\n"),
        "{}",
        answer.text
    );
    assert!(!answer.text.contains(".env") && answer.value["leftOut"] == 1);
    let denied = told(
        &context,
        "grep",
        &json!({ "pattern": "one", "path": ".env" }),
    );
    assert!(denied.contains("deny rule `Read(.env)`"), "{denied}");
}

#[test]
fn long_lines_and_many_matches_are_truncated() {
    let wide = format!("{}needle{}", "é".repeat(5_000), "x".repeat(5_000));
    let many = "needle\n".repeat(5_000);
    let world = World::new().with("a", wide).with("b", many);
    let context = world.yolo();
    let text = told(
        &context,
        "grep",
        &json!({ "pattern": "needle", "glob": "a" }),
    );
    assert!(
        text.starts_with("a\n1:…é") && text.ends_with("x…\n") && text.len() < 600,
        "{text}"
    );
    let answer = call(
        &context,
        "grep",
        &json!({ "pattern": "needle", "limit": 100_000 }),
    )
    .unwrap();
    assert_eq!(answer.value["matches"].as_array().unwrap().len(), 1_000);
    world.file("c", vec![b'x'; 17 * 1024 * 1024]);
    let text = told(&context, "grep", &json!({ "pattern": "x", "glob": "c" }));
    assert!(
        text.ends_with("[not searched: 1 file larger than 16.7 MB]\n"),
        "{text}"
    );
}

#[test]
fn expensive_expressions_are_rejected() {
    let world = World::new().with("a", format!("{}\n", "a".repeat(100_000)));
    let context = world.yolo();
    let grep = |pattern: &str| told(&context, "grep", &json!({ "pattern": pattern }));
    assert!(grep("(a+)+$x").starts_with("No lines in"));
    for pattern in [
        "(",
        "(?=a)",
        r"(a)\1",
        "a{1000}{1000}{1000}",
        &"(".repeat(900),
    ] {
        let text = grep(pattern);
        assert!(
            text.contains("is not a valid regular expression"),
            "{pattern}: {text}"
        );
    }
}
