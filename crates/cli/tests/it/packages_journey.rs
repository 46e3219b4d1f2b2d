//! From an empty folder to a pinned, trusted skill that an agent uses; then a changed byte, an update
//! with more power, and back.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::World;

/// Runs git in a folder, without the settings of this machine.
pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=author",
            "-c",
            "user.email=author@example.com",
        ])
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {error}");
}

fn skill(version: &str, tools: &str, body: &str) -> String {
    format!(
        "---\nname: pdf\ndescription: Fill in PDF forms. Use when a form arrives.\nversion: {version}\nallowed-tools: {tools}\n---\n{body}\n"
    )
}

/// Creates a repository with two skills and the tag `v1.0.0`.
fn repository(world: &World) -> String {
    world.file(
        "../repo/skills/pdf/SKILL.md",
        skill("1.0.0", "Read", "PDF-SKILL-ONE: read the form."),
    );
    world.file("../repo/skills/pdf/scripts/fill.sh", "echo filled\n");
    world.file(
        "../repo/skills/other/SKILL.md",
        "---\nname: other\ndescription: Something else. Use never.\n---\nOther.\n",
    );
    let folder = world.path("../repo");
    git(&folder, &["init", "-q", "."]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "first"]);
    git(&folder, &["tag", "v1.0.0"]);
    format!("git+file://{}", folder.display())
}

fn script(world: &World, name: &str, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("scripted:{}", world.file(name, text).display())
}

/// Trusts a skill as it is.
fn trust(world: &World, name: &str) {
    let shown = world.run(&["trust", name, "--json"]).expect(0).json()["skills"][0].clone();
    assert_ne!(shown["state"], "trusted", "{shown}");
    let digest = shown["digest"].as_str().unwrap();
    world.run(&["trust", name, "--digest", digest]).expect(0);
}

#[test]
fn package_is_added_pinned_used_checked_updated_and_rolled_back() {
    let world = World::new();
    let source = repository(&world);

    // It shows what the skill may do, and installs it without trust.
    let added = world
        .run(&["add", &format!("{source}@^1"), "pdf"])
        .expect(0);
    for part in [
        "pdf 1.0.0",
        "May use without approval",
        "Read",
        "scripts/fill.sh",
        "prowess trust pdf",
    ] {
        let text = format!("{}{}", added.stdout, added.stderr);
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(world.exists(".agents/prowess.toml"));
    let lock = std::fs::read_to_string(world.path(".agents/prowess.lock")).unwrap();
    assert!(
        lock.contains("name = \"pdf\"") && !lock.contains("other"),
        "{lock}"
    );
    assert!(world.exists(".agents/skills/pdf/SKILL.md"));
    trust(&world, "pdf");

    // An agent uses it.
    let load = json!({"calls": [{"name": "load_skill", "input": {"name": "pdf"}}]});
    let loads = |name: &str, expected: &str| {
        let answer = json!({"text": "Done.", "expect": [expected]});
        script(&world, name, &[load.clone(), answer])
    };
    let model = loads("first.jsonl", "PDF-SKILL-ONE");
    world
        .run(&["run", "--task", "Fill in the form.", "--model", &model])
        .expect(0);

    // One byte changes: the link leads to the store, which is read-only for everybody but root.
    let file = world
        .path(".agents/skills/pdf/scripts/fill.sh")
        .canonicalize()
        .unwrap();
    let mut permissions = file.metadata().unwrap().permissions();
    #[expect(
        clippy::permissions_set_readonly_false,
        reason = "the file is about to be changed"
    )]
    permissions.set_readonly(false);
    std::fs::set_permissions(&file, permissions).unwrap();
    std::fs::write(&file, "echo filleD\n").unwrap();
    let model = loads("second.jsonl", "scripts/fill.sh` changed");
    world
        .run(&["run", "--task", "Fill in the form.", "--model", &model])
        .expect(0);
    let refused = world.run(&["run", "pdf", "--model", "echo"]);
    assert_ne!(refused.code, 0);
    for part in [
        "`scripts/fill.sh` changed",
        "prowess diff pdf",
        "prowess sync",
        "prowess fork pdf",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    let verified = world.run(&["verify"]).expect(1);
    assert!(
        verified.stdout.contains("scripts/fill.sh"),
        "{}",
        verified.stdout
    );
    world.run(&["sync"]).expect(0);
    world.run(&["verify"]).expect(0);
    let model = loads("third.jsonl", "PDF-SKILL-ONE");
    world
        .run(&["run", "--task", "Fill in the form.", "--model", &model])
        .expect(0);

    // A new version wants more power: nothing changes without an answer.
    let folder = world.path("../repo");
    world.file(
        "../repo/skills/pdf/SKILL.md",
        skill(
            "1.1.0",
            "Read Bash(curl:*)",
            "PDF-SKILL-TWO: read the form.",
        ),
    );
    git(&folder, &["commit", "-qam", "second"]);
    git(&folder, &["tag", "v1.1.0"]);
    world.run(&["outdated"]).expect(1);
    let asked = world.run(&["update"]).expect(3);
    let text = format!("{}{}", asked.stdout, asked.stderr);
    for part in ["1.0.0", "1.1.0", "Bash(curl:*)", "--accept-power"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        std::fs::read_to_string(world.path(".agents/prowess.lock")).unwrap(),
        lock
    );
    world.run(&["update", "--accept-power"]).expect(0);
    // Another digest: trust is given again.
    trust(&world, "pdf");
    let model = loads("fourth.jsonl", "PDF-SKILL-TWO");
    world
        .run(&["run", "--task", "Fill in the form.", "--model", &model])
        .expect(0);

    // Back to the files of before, without the source.
    std::fs::rename(&folder, world.path("../moved")).unwrap();
    world.run(&["rollback"]).expect(0);
    assert_eq!(
        std::fs::read_to_string(world.path(".agents/prowess.lock")).unwrap(),
        lock
    );
    let model = loads("fifth.jsonl", "PDF-SKILL-ONE");
    world
        .run(&["run", "--task", "Fill in the form.", "--model", &model])
        .expect(0);
}

/// Installs a package `pdf` with the versions 1.4.2 and 1.5.0 from a repository in the project.
pub(crate) fn install(world: &World) {
    world.file(
        "mirror/pdf/SKILL.md",
        skill("1.4.2", "Read", "Read the form."),
    );
    let folder = world.path("mirror");
    git(&folder, &["init", "-q", "."]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "first"]);
    git(&folder, &["tag", "v1.4.2"]);
    let source = format!("git+file://{}@^1", folder.display());
    world.run(&["add", &source, "pdf"]).expect(0);
    world.file(
        "mirror/pdf/SKILL.md",
        skill("1.5.0", "Read", "Read the whole form."),
    );
    git(&folder, &["commit", "-qam", "second"]);
    git(&folder, &["tag", "v1.5.0"]);
    world.run(&["update"]).expect(0);
}
