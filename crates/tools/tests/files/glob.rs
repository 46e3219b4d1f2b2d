//! `glob`.

use std::os::unix::ffi::OsStrExt;

use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use serde_json::{Value, json};

use crate::support::{Says, World, call, told};

fn world() -> World {
    World::new()
        .with("src/b.rs", "")
        .with("src/a.rs", "")
        .with("src/deep/er/c.rs", "")
        .with("x.toml", "")
        .with(".hidden/h.rs", "")
        .with(".git/x.rs", "")
        .with("target/t.rs", "")
        .with(".gitignore", "target/\n*.log\n")
        .with("a.log", "")
        .with_link_to("out", "../outside")
        .with_link("l.rs", "src/a.rs")
}

fn files(context: &prowess_tools::ToolContext, input: &Value) -> Vec<String> {
    let value = call(context, "glob", input).unwrap().value;
    value["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn matches_are_sorted() {
    let world = world();
    let context = world.context(PermissionMode::Ask, &[]);
    let cases: &[(Value, &[&str])] = &[
        (
            json!({ "pattern": "*.rs" }),
            &[
                ".hidden/h.rs",
                "l.rs",
                "src/a.rs",
                "src/b.rs",
                "src/deep/er/c.rs",
            ],
        ),
        (json!({ "pattern": "src/*.rs" }), &["src/a.rs", "src/b.rs"]),
        (json!({ "pattern": "./src/**/c.rs" }), &["src/deep/er/c.rs"]),
        (json!({ "pattern": "{x,y}.toml" }), &["x.toml"]),
        (
            json!({ "pattern": "*.rs", "path": "src/deep" }),
            &["src/deep/er/c.rs"],
        ),
        (json!({ "pattern": "*.log" }), &[]),
        (json!({ "pattern": "t.rs" }), &[]),
        (json!({ "pattern": "x" }), &[]),
    ];
    for (input, expected) in cases {
        assert_eq!(files(&context, input), *expected, "{input}");
    }
    let none = told(&context, "glob", &json!({ "pattern": "*.c" }));
    assert_eq!(none, "No files in `.` match `*.c`.\n");
}

#[test]
fn denied_files_are_hidden() {
    let world = world();
    let rules = [
        (Effect::Deny, "Read(src/deep/**)"),
        (Effect::Ask, "Read(b.rs)"),
    ];
    let context = world.context(PermissionMode::Ask, &rules);
    let text = told(&context, "glob", &json!({ "pattern": "src/**" }));
    assert_eq!(text, "src/a.rs\n[2 files hidden by permission rules]\n");
    let all = world.context(PermissionMode::Yolo, &[(Effect::Deny, "Read")]);
    assert!(told(&all, "glob", &json!({ "pattern": "*" })).contains("deny rule `Read`"));
}

#[test]
fn folder_outside_the_project_prompts_once() {
    let world = world().with("../outside/deep/y", "");
    let mut context = world.context(PermissionMode::Ask, &[]);
    let input = json!({ "pattern": "*", "path": "out" });
    assert!(told(&context, "glob", &input).contains("was refused"));
    let says = Says::new(ApprovalAnswer::Once);
    context.services.approver = says.clone();
    assert_eq!(
        files(&context, &input),
        [world.text("../outside/deep/y"), world.text("../outside/x")]
    );
    assert_eq!(says.questions().len(), 1);
    assert!(says.questions()[0].starts_with("Search all files in `"));
}

#[test]
fn invalid_patterns_and_folders_are_errors() {
    let world_of_files = world();
    let context = world_of_files.context(PermissionMode::Ask, &[]);
    for pattern in ["/etc/*", "../*", "a/../../b", "[", "{a"] {
        let text = told(&context, "glob", &json!({ "pattern": pattern }));
        assert!(
            text.contains("is not a valid glob pattern"),
            "{pattern}: {text}"
        );
    }
    let text = told(&context, "glob", &json!({ "pattern": "*", "path": "none" }));
    assert_eq!(text, "Folder not found: `none`.");
}

#[test]
fn results_are_limited_and_names_are_escaped() {
    let world = World::new();
    for n in 0..600 {
        world.file(format!("{n:03}"), "");
    }
    let name = std::ffi::OsStr::from_bytes(b"\xff\n");
    std::fs::create_dir(world.path("odd")).unwrap();
    std::fs::write(world.path("odd").join(name), "").unwrap();
    let context = world.yolo();
    let answer = call(&context, "glob", &json!({ "pattern": "*" })).unwrap();
    assert_eq!(answer.value["files"].as_array().unwrap().len(), 500);
    assert!(answer.text.ends_with(
        "499\n[incomplete: there are more results; use a narrower pattern or `path`]\n"
    ));
    assert_eq!(
        files(&context, &json!({ "pattern": "odd/*" })),
        ["odd/\u{fffd}\\n"]
    );
}

/// The walk opens these files itself and would block forever.
#[test]
fn fifo_as_ignore_file_does_not_block_the_search() {
    let world = World::new().with("sub/a", "").with("b", "");
    for path in ["sub/.gitignore", ".ignore"] {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            world.path(path),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o666),
            0,
        )
        .unwrap();
    }
    assert_eq!(files(&world.yolo(), &json!({ "pattern": "*" })), ["b"]);
}

/// A home folder that ignores everything does not affect the project; an enclosing repository does.
#[test]
fn parent_ignore_files_count_up_to_the_repository() {
    let world = World::new()
        .with("../.gitignore", "*\n")
        .with("sub/a", "")
        .with("b", "");
    let context = world.yolo();
    assert_eq!(files(&context, &json!({ "pattern": "*" })), ["b", "sub/a"]);
    world.file(".gitignore", "a\n.*\n");
    std::fs::create_dir(world.path(".git")).unwrap();
    assert_eq!(files(&context, &json!({ "pattern": "*" })), ["b"]);
    assert!(files(&context, &json!({ "pattern": "*", "path": "sub" })).is_empty());
}
