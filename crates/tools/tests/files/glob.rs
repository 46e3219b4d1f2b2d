//! `glob`.

use std::os::unix::ffi::OsStrExt;

use prowess_policy::{Answer, Effect, Mode};
use serde_json::{Value, json};

use crate::support::{Says, World, call, told};

fn world() -> World {
    World::new()
        .file("repo/src/b.rs", "")
        .file("repo/src/a.rs", "")
        .file("repo/src/deep/er/c.rs", "")
        .file("repo/x.toml", "")
        .file("repo/.hidden/h.rs", "")
        .file("repo/.git/x.rs", "")
        .file("repo/target/t.rs", "")
        .file("repo/.gitignore", "target/\n*.log\n")
        .file("repo/a.log", "")
        .link("repo/out", "@/outside")
        .link("repo/l.rs", "src/a.rs")
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
fn patterns_find_files_in_order() {
    let world = world();
    let context = world.context(Mode::Ask, &[]);
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
    assert_eq!(none, "No file in `.` fits `*.c`.\n");
}

#[test]
fn rules_leave_files_out() {
    let world = world();
    let rules = [
        (Effect::Deny, "Read(src/deep/**)"),
        (Effect::Ask, "Read(b.rs)"),
    ];
    let context = world.context(Mode::Ask, &rules);
    let text = told(&context, "glob", &json!({ "pattern": "src/**" }));
    assert_eq!(text, "src/a.rs\n[left out by rules: 2 files]\n");
    let all = world.context(Mode::Yolo, &[(Effect::Deny, "Read")]);
    assert!(told(&all, "glob", &json!({ "pattern": "*" })).contains("deny rule `Read`"));
}

#[test]
fn a_folder_outside_is_asked_about_once() {
    let world = world().file("outside/deep/y", "");
    let mut context = world.context(Mode::Ask, &[]);
    let input = json!({ "pattern": "*", "path": "out" });
    assert!(told(&context, "glob", &input).contains("was refused"));
    let says = Says::new(Answer::Once);
    context.services.approver = says.clone();
    assert_eq!(
        files(&context, &input),
        [world.text("outside/deep/y"), world.text("outside/x")]
    );
    assert_eq!(says.questions().len(), 1);
    assert!(says.questions()[0].starts_with("Search all files in `"));
}

#[test]
fn wrong_patterns_and_folders() {
    let world_of_files = world();
    let context = world_of_files.context(Mode::Ask, &[]);
    for pattern in ["/etc/*", "../*", "a/../../b", "[", "{a"] {
        let text = told(&context, "glob", &json!({ "pattern": pattern }));
        assert!(text.contains("is no pattern"), "{pattern}: {text}");
    }
    let text = told(&context, "glob", &json!({ "pattern": "*", "path": "none" }));
    assert_eq!(text, "There is no folder `none`.");
}

#[test]
fn many_files_and_strange_names() {
    let world = World::new();
    for n in 0..600 {
        world.put(&format!("repo/{n:03}"), "");
    }
    let name = std::ffi::OsStr::from_bytes(b"\xff\n");
    std::fs::create_dir(world.path("repo/odd")).unwrap();
    std::fs::write(world.path("repo/odd").join(name), "").unwrap();
    let context = world.yolo();
    let answer = call(&context, "glob", &json!({ "pattern": "*" })).unwrap();
    assert_eq!(answer.value["files"].as_array().unwrap().len(), 500);
    assert!(
        answer
            .text
            .ends_with("499\n[not everything: there is more; use a narrower pattern or `path`]\n")
    );
    assert_eq!(
        files(&context, &json!({ "pattern": "odd/*" })),
        ["odd/\u{fffd}\\n"]
    );
}

/// The walk opens these files by itself, and would wait for ever.
#[test]
fn ignore_files_that_are_none_do_not_stop_the_search() {
    let world = World::new().file("repo/sub/a", "").file("repo/b", "");
    for path in ["repo/sub/.gitignore", "repo/.ignore"] {
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

/// A home that ignores everything is no part of a project; a repository around it is.
#[test]
fn what_is_ignored_above() {
    let world = World::new()
        .file(".gitignore", "*\n")
        .file("repo/sub/a", "")
        .file("repo/b", "");
    let context = world.yolo();
    assert_eq!(files(&context, &json!({ "pattern": "*" })), ["b", "sub/a"]);
    world.put("repo/.gitignore", "a\n.*\n");
    std::fs::create_dir(world.path("repo/.git")).unwrap();
    assert_eq!(files(&context, &json!({ "pattern": "*" })), ["b"]);
    assert!(files(&context, &json!({ "pattern": "*", "path": "sub" })).is_empty());
}
