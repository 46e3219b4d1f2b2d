//! A compromised model: its output and tool calls, run through the real program.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::world::World;

fn script(world: &World, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("scripted:{}", world.file("script.jsonl", text).display())
}

/// SQLite trusts the files next to its database.
#[test]
fn files_next_to_the_store_are_protected() {
    let world = World::new();
    world.file("~/config.toml", "[permissions]\nmode = \"yolo\"\n");
    let ends = ["", "-wal", "-shm", "-journal"];
    let call = |end: &str| {
        let path = world.path(format!("~/data/prowess.db{end}"));
        json!({"name": "write", "input": {"path": path, "content": "x"}})
    };
    let calls: Vec<Value> = ends.iter().map(|end| call(end)).collect();
    let model = script(
        &world,
        &[json!({ "calls": calls }), json!({"text": "done"})],
    );
    let output = world
        .run(&[
            "run", "--task", "go", "--json", "--edits", "--model", &model,
        ])
        .expect(0);
    let refused = output
        .stdout
        .matches("was refused: private keys and Prowess' own folders are not accessible")
        .count();
    assert_eq!(refused, ends.len(), "{}", output.stdout);
}

/// On a terminal of any size, control characters in a reply are escaped.
#[test]
fn replies_cannot_control_the_terminal() {
    let world = World::new();
    let model = script(
        &world,
        &[json!({"text": "\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}told"})],
    );
    for quiet in [&[][..], &["-q"]] {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = || File::options().read(true).write(true).open(&name).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_prowess"))
            .env_clear()
            .env("HOME", world.path("~"))
            .env("PROWESS_HOME", world.path("~"))
            .current_dir(world.path(""))
            .args(quiet)
            .args(["run", "--task", "go", "--model", &model])
            .stdin(Stdio::null())
            .stdout(terminal())
            .stderr(terminal())
            .spawn()
            .unwrap();
        assert!(prowess_test::wait_for_exit(&mut child).success());
        let mut shown = vec![0; 64 * 1024];
        let read = File::from(master).read(&mut shown).unwrap();
        let shown = String::from_utf8_lossy(&shown[..read]);
        assert!(shown.contains("told"), "{shown:?}");
        assert!(
            !shown.contains("\u{1b}]") && !shown.contains("\u{1b}[2J"),
            "{shown:?}"
        );
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
    }
}
