//! `grep`.

use prowess_policy::{Effect, Mode};
use serde_json::json;

use crate::support::{World, call, told};

fn world() -> World {
    World::new()
        .file("repo/a.rs", "fn one() {}\nfn two() {}\n\nfn Three() {}\n")
        .file("repo/sub/b.txt", "one\r\ntwo\r\n")
        .file("repo/ignored.txt", "one\n")
        .file("repo/.gitignore", "ignored.txt\n")
        .file("repo/binary", b"one\0one\n")
        .link("repo/link", "@/outside/x")
}

#[test]
fn lines_are_found() {
    let world = world();
    let context = world.context(Mode::Ask, &[]);
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
        "No line in `.` fits `SECRET`.\n"
    );
    assert_eq!(
        grep(json!({ "pattern": "one|Three", "context": 1, "path": "a.rs" })),
        "a.rs\n1:fn one() {}\n2-fn two() {}\n3-\n4:fn Three() {}\n"
    );
    assert_eq!(
        grep(json!({ "pattern": "one|two", "limit": 1 })),
        "a.rs\n1:fn one() {}\n[not everything: there is more; use a narrower pattern, `glob` or `path`]\n"
    );
    let answer = call(&context, "grep", &json!({ "pattern": "^$" })).unwrap();
    assert_eq!(
        answer.value["matches"],
        json!([{ "path": "a.rs", "line": 3, "text": "" }])
    );
}

#[test]
fn context_has_gaps() {
    let lines: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let world = World::new().file("repo/f", lines);
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
fn rules_leave_files_out() {
    let world = world().file("repo/.env", "one\n");
    let context = world.context(Mode::Ask, &[(Effect::Deny, "Read(.env)")]);
    let answer = call(&context, "grep", &json!({ "pattern": "one" })).unwrap();
    assert!(
        answer.text.ends_with("[left out by rules: 1 file]\n"),
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
fn long_lines_and_many_lines() {
    let wide = format!("{}needle{}", "é".repeat(5_000), "x".repeat(5_000));
    let many = "needle\n".repeat(5_000);
    let world = World::new().file("repo/a", wide).file("repo/b", many);
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
    world.put("repo/c", vec![b'x'; 17 * 1024 * 1024]);
    let text = told(&context, "grep", &json!({ "pattern": "x", "glob": "c" }));
    assert!(
        text.ends_with("[not searched: 1 file larger than 16.7 MB]\n"),
        "{text}"
    );
}

#[test]
fn expressions_cannot_be_bombs() {
    let world = World::new().file("repo/a", format!("{}\n", "a".repeat(100_000)));
    let context = world.yolo();
    let grep = |pattern: &str| told(&context, "grep", &json!({ "pattern": pattern }));
    assert!(grep("(a+)+$x").starts_with("No line in"));
    for pattern in [
        "(",
        "(?=a)",
        r"(a)\1",
        "a{1000}{1000}{1000}",
        &"(".repeat(900),
    ] {
        let text = grep(pattern);
        assert!(
            text.contains("is no regular expression"),
            "{pattern}: {text}"
        );
    }
}
