//! Files are swapped for links while the tools access them.

use std::os::unix::fs::symlink;

use prowess_policy::PermissionMode;
use prowess_test::StopFlag;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::support::{World, told};

const ROUNDS: usize = 400;

/// Runs `work` while another thread keeps swapping a file or its folder with a link to the outside.
fn swapping(world: &World, victim: &str, target: &str, mut work: impl FnMut()) {
    let (victim, target) = (world.path(victim), world.path(target));
    let link = victim.with_extension("link");
    symlink(&target, &link).unwrap();
    let done = StopFlag::default();
    std::thread::scope(|scope| {
        let _done = done.set_on_drop();
        scope.spawn(|| {
            while !done.is_set() {
                let _ = renameat_with(CWD, &victim, CWD, &link, RenameFlags::EXCHANGE);
            }
        });
        for _ in 0..ROUNDS {
            work();
        }
    });
}

#[test]
fn swapped_links_are_not_followed_when_reading() {
    for (victim, target) in [("d/x", "../outside/x"), ("d", "../outside")] {
        let world = World::new().with("d/x", "mine");
        let context = world.context(PermissionMode::Ask, &[]);
        swapping(&world, victim, target, || {
            for (tool, input) in [
                ("read", json!({ "path": "d/x" })),
                ("grep", json!({ "pattern": "SECRET" })),
            ] {
                let text = told(&context, tool, &input);
                assert!(
                    !text.contains("1\tSECRET") && !text.contains(":SECRET"),
                    "{text}"
                );
            }
        });
    }
}

#[test]
fn swapped_links_are_not_followed_when_writing() {
    for (victim, target) in [("d/x", "../outside/x"), ("d", "../outside")] {
        let world = World::new().with("d/x", "mine");
        let context = world.context(PermissionMode::AcceptEdits, &[]);
        swapping(&world, victim, target, || {
            told(
                &context,
                "write",
                &json!({ "path": "d/x", "content": "mine" }),
            );
            told(
                &context,
                "write",
                &json!({ "path": "d/new/file", "content": "mine" }),
            );
            told(
                &context,
                "edit",
                &json!({ "path": "d/x", "old": "SECRET", "new": "PWNED" }),
            );
        });
        assert_eq!(world.read("../outside/x"), "SECRET");
        assert_eq!(world.names("../outside"), ["x"]);
    }
}

/// A reader sees either the old or the new content, never a mix.
#[test]
fn files_are_replaced_atomically() {
    let world = World::new();
    let texts = ["a".repeat(100_000), "b".repeat(150_000)];
    world.file("f", &texts[0]);
    let context = world.yolo();
    let done = StopFlag::default();
    std::thread::scope(|scope| {
        let _done = done.set_on_drop();
        scope.spawn(|| {
            while !done.is_set() {
                let now = world.read("f");
                assert!(texts.contains(&now), "{} bytes", now.len());
            }
        });
        for round in 0..60 {
            let input = json!({ "path": "f", "content": texts[round % 2] });
            assert!(told(&context, "write", &input).starts_with("Replaced"));
        }
    });
    assert_eq!(world.names(""), ["f"], "no temporary file is left");
}
