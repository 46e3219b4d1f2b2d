//! Disks that are full or read-only, through the command: a clear error, and the old state.

use std::fs;
use std::process::Command;

use crate::package_locks::{listing, read, repository};
use crate::packages_journey::git;
use crate::world::World;

/// Mounts something in a mount namespace of its own, and runs a shell script there. `None` if this
/// machine does not allow it.
fn isolated(world: &World, script: &str) -> Option<String> {
    let is_root = rustix::process::geteuid().is_root();
    let options: &[&str] = if is_root {
        &["--mount", "--propagation", "private"]
    } else {
        &["--mount", "--map-root-user", "--propagation", "private"]
    };
    let run = |script: &str| {
        Command::new("unshare")
            .args(options)
            .args(["sh", "-c", script])
            .env("PROWESS", env!("CARGO_BIN_EXE_prowess"))
            .env("HOME", world.path("~"))
            .env("PROWESS_HOME", world.path("~"))
            .env("PROJECT", world.path(""))
            .env("TEMPLATE", world.path("../template"))
            .current_dir(world.path(""))
            .output()
    };
    let works = run("mount -t tmpfs -o size=64k none \"$HOME\"");
    if !works.is_ok_and(|output| output.status.success()) {
        prowess_test::harness::not_run("disks: cannot mount", "PROWESS_TEST_REQUIRE_SANDBOX");
        return None;
    }
    let output = run(script).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(text(&output.stdout) + &text(&output.stderr))
}

/// Adds files to the skill that is added next, so that a disk is full at many of its files.
fn grow(world: &World) {
    for number in 0..20_u8 {
        // Text that cannot be compressed much.
        let digest = |part| prowess_package::tree::digest_of_bytes(&[number, part]);
        let text: String = (0..200_u8).map(digest).collect();
        world.file(format!("../repo/skills/pdf/data/{number}.txt"), text);
    }
    let folder = world.path("../repo");
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "large"]);
}

/// Copies a folder beside the project, to be put on another disk at the same place.
fn copy(world: &World, folder: &str) {
    let copied = Command::new("cp")
        .arg("-a")
        .arg(world.path(folder))
        .arg(world.path("../template"))
        .status();
    assert!(copied.unwrap().success());
}

/// Returns the text of a script between two marks.
fn part<'t>(text: &'t str, mark: &str) -> &'t str {
    let start = format!("[{mark} ");
    let (_, rest) = text
        .split_once(&start)
        .unwrap_or_else(|| panic!("{mark}: {text}"));
    rest.split_once(']').unwrap().0
}

/// Tries an operation on disks with more and more room: at `folder`, and the rest elsewhere.
fn full_disks(folder: &str, source: &str, world: &World) {
    copy(world, folder);
    let before = (
        read(world, ".agents/prowess.lock"),
        read(world, ".agents/prowess.toml"),
    );
    let place = if folder == "~" { "$HOME" } else { "$PROJECT" };
    let mut failed = 0;
    for room in (0..100).map(|step| step * 24) {
        let script = format!(
            "used=$(du -sk \"$TEMPLATE\" | cut -f1); \
             mount -t tmpfs -o size=$((used + {room} + 16))k none \"{place}\" || exit; \
             cp -a \"$TEMPLATE/.\" \"{place}/\"; cd \"$PROJECT\"; \
             \"$PROWESS\" add {source} pdf; echo \"[add $?]\"; \
             echo \"[lock $(cat .agents/prowess.lock | grep -c 'name = \"pdf\"')]\"; \
             echo \"[manifest $(grep -c '^pdf = ' .agents/prowess.toml)]\"; \
             \"$PROWESS\" verify; echo \"[verify $?]\"; \
             echo \"[others $(ls -A .agents | tr '\\n' ' ')]\""
        );
        let Some(text) = isolated(world, &script) else {
            return;
        };
        assert_eq!(
            part(&text, "lock"),
            part(&text, "manifest"),
            "{room}: {text}"
        );
        match part(&text, "add") {
            "0" => {
                assert_eq!(part(&text, "lock"), "1", "{text}");
                assert_eq!(part(&text, "verify"), "0", "{text}");
                assert!(failed >= 3, "only {failed} sizes were too small");
                return;
            }
            "2" => {
                failed += 1;
                let is_clear = text.contains("error: cannot ") || text.contains("error: `git ");
                assert!(is_clear, "{room}: {text}");
                // Without any room, not even the recovery of nothing can be written.
                assert_eq!(part(&text, "lock"), "0", "{room}: {text}");
                assert_eq!(part(&text, "verify"), "0", "{room}: {text}");
                assert_eq!(
                    part(&text, "others"),
                    "prowess.lock prowess.toml skills ",
                    "{room}: {text}"
                );
            }
            other => panic!("exit code {other}: {text}"),
        }
        if folder == "~" {
            let now = (
                read(world, ".agents/prowess.lock"),
                read(world, ".agents/prowess.toml"),
            );
            assert_eq!(now, before);
        }
    }
    panic!("no size was enough");
}

/// `27`: the disk of the store, the cache and the state is full.
#[test]
fn full_disk_of_the_store_leaves_the_old_state() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    world.run(&["add", &source, "csv"]).expect(0);
    grow(&world);
    full_disks("~", &source, &world);
}

/// `27`: the disk of the project is full.
#[test]
fn full_disk_of_the_project_leaves_the_old_state() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    // Copies of files in the project need room there.
    world.file(".agents/prowess.toml", "[install]\nvendor = true\n");
    world.run(&["add", &source, "csv"]).expect(0);
    grow(&world);
    full_disks("", &source, &world);
}

/// `27`: a store or a project that cannot be written.
#[test]
fn read_only_disks_leave_the_old_state() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    world.run(&["add", &source, "csv"]).expect(0);
    let before = (listing(&world.path(".agents")), listing(&world.path("~")));
    for place in ["$HOME", "$PROJECT"] {
        let mut script = format!(
            "mount --bind \"{place}\" \"{place}\" && mount -o remount,bind,ro \"{place}\" || exit; cd \"$PROJECT\"; "
        );
        let commands = [
            format!("add {source} pdf"),
            "remove csv".to_owned(),
            "fork csv".to_owned(),
            "sync".to_owned(),
            "verify".to_owned(),
            "list".to_owned(),
        ];
        for command in &commands {
            let word = command.split(' ').next().unwrap();
            script.push_str(&format!(
                "echo \"[{word}-text $(\"$PROWESS\" {command} 2>&1 | tr '[]' '()')]\"; \
                 \"$PROWESS\" {command} >/dev/null 2>&1; echo \"[{word} $?]\"; "
            ));
        }
        let Some(text) = isolated(&world, &script) else {
            return;
        };
        for word in ["add", "remove", "fork"] {
            assert_eq!(part(&text, word), "2", "{place} {word}: {text}");
            let shown = part(&text, &format!("{word}-text"));
            for part in ["error: cannot ", "read-only"] {
                assert!(
                    shown.to_lowercase().contains(part),
                    "{place} {word}: {shown}"
                );
            }
        }
        // What is installed is there, and can be checked.
        for word in ["sync", "verify", "list"] {
            assert_eq!(part(&text, word), "0", "{place} {word}: {text}");
        }
        assert!(part(&text, "list-text").contains("csv"), "{text}");
        let now = (listing(&world.path(".agents")), listing(&world.path("~")));
        assert_eq!(now.0, before.0, "{place}");
        if place == "$HOME" {
            assert_eq!(now.1, before.1);
        }
    }
    assert!(fs::symlink_metadata(world.path(".agents/skills/csv")).is_ok());
}
