//! Somebody swaps files for links while the tools look at them.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use prowess_policy::Mode;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::support::{World, told};

const ROUNDS: usize = 400;

/// Runs something while a file, or the folder around it, is now itself and now a link out.
fn swapping(world: &World, victim: &str, target: &str, mut work: impl FnMut()) {
    let (victim, target) = (world.path(victim), world.path(target));
    let link = victim.with_extension("link");
    symlink(&target, &link).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = renameat_with(CWD, &victim, CWD, &link, RenameFlags::EXCHANGE);
            }
        });
        for _ in 0..ROUNDS {
            work();
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn no_swap_leads_out_while_reading() {
    for (victim, target) in [("repo/d/x", "outside/x"), ("repo/d", "outside")] {
        let world = World::new().file("repo/d/x", "mine");
        let context = world.context(Mode::Ask, &[]);
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
fn no_swap_leads_out_while_writing() {
    for (victim, target) in [("repo/d/x", "outside/x"), ("repo/d", "outside")] {
        let world = World::new().file("repo/d/x", "mine");
        let context = world.context(Mode::AcceptEdits, &[]);
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
        assert_eq!(world.get("outside/x"), "SECRET");
        assert_eq!(world.names("outside"), ["x"]);
    }
}

/// A reader sees the old text or the new one, never a part.
#[test]
fn a_file_is_replaced_whole() {
    let world = World::new();
    let texts = ["a".repeat(100_000), "b".repeat(150_000)];
    world.put("repo/f", &texts[0]);
    let context = world.yolo();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let now = world.get("repo/f");
                assert!(texts.contains(&now), "{} bytes", now.len());
            }
        });
        for round in 0..60 {
            let input = json!({ "path": "f", "content": texts[round % 2] });
            assert!(told(&context, "write", &input).starts_with("Replaced"));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(world.names("repo"), ["f"], "no temporary file stays behind");
}
