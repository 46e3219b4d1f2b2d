//! `prowess exec`, with real processes.

use serde_json::json;

use crate::world::{DESCRIPTION, World};

/// Returns a world with a skill in the home folder, which needs no trust. The available sandbox layers
/// depend on the machine; each layer is tested in the sandbox crate.
fn world() -> World {
    let world = World::new();
    world.file("~/config.toml", "[sandbox]\nstrength = 'best-effort'\n");
    world.skill(
        "~/.agents/skills/x",
        &format!(
            "name: x\ndescription: {DESCRIPTION}\nallowed-tools: Bash(./run.sh:*) Bash(sleep:*)\n"
        ),
    );
    world.file_with_mode(
        "~/.agents/skills/x/run.sh",
        "#!/bin/sh\ncase $1 in\n  fail) echo bad >&2; exit 7;;\n  env) env;;\n  where) pwd;;\n  write) echo x > made;;\n  *) echo \"got $*\";;\nesac\n",
        0o755,
    );
    world
}

#[test]
fn output_and_exit_code_are_passed_through() {
    let world = world();
    let output = world
        .run(&["exec", "x", "--", "./run.sh", "a b", "c"])
        .expect(0);
    assert_eq!(output.stdout, "got a b c\n");
    assert!(output.stderr.contains("exit code 0"), "{}", output.stderr);
    let output = world.run(&["exec", "x", "--", "./run.sh fail"]).expect(7);
    assert!(output.stderr.starts_with("bad\n"), "{}", output.stderr);
}

#[test]
fn command_starts_in_the_skill_folder_and_cannot_write_there() {
    let world = world();
    let output = world
        .run(&["exec", "x", "--", "./run.sh", "where"])
        .expect(0);
    assert_eq!(
        output.stdout.trim(),
        world.path("~/.agents/skills/x").to_str().unwrap()
    );
    world.run(&["exec", "x", "--", "./run.sh", "write"]);
    assert!(!world.path("~/.agents/skills/x/made").exists());
}

#[test]
fn api_keys_are_not_passed_to_commands() {
    let world = world();
    let run = world.command(&["exec", "x", "--", "./run.sh", "env"]);
    let output = run
        .env("OPENAI_API_KEY", "sk-0123456789")
        .env("LD_PRELOAD", "")
        .env("LANG", "C.UTF-8")
        .run()
        .expect(0);
    assert!(output.stdout.contains("PATH="), "{}", output.stdout);
    assert!(
        !output.stdout.contains("sk-0123456789"),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains("PROWESS_"), "{}", output.stdout);
}

#[test]
fn denied_commands_do_not_run() {
    let world = world();
    let output = world.run(&["exec", "x", "--", "touch made"]).expect(3);
    insta::assert_snapshot!("not_allowed", output.snapshot());
    world
        .run(&[
            "exec",
            "x",
            "--approve",
            "Bash(touch:*)",
            "--",
            "touch",
            "--help",
        ])
        .expect(0);
    world.file(
        ".agents/prowess.toml",
        "[permissions]\ndeny = ['Skill(x *)']\n",
    );
    let document = world
        .run(&["exec", "x", "--json", "--", "./run.sh"])
        .expect(3)
        .json();
    assert_eq!(
        (&document["verdict"], &document["rule"]),
        (&json!("deny"), &json!("Skill(x *)"))
    );
}

#[test]
fn project_skill_cannot_run_commands_until_trusted() {
    let world = world();
    world.skill(
        ".agents/skills/p",
        &format!("name: p\ndescription: {DESCRIPTION}\nallowed-tools: Bash(./run.sh:*)\n"),
    );
    world.file_with_mode(".agents/skills/p/run.sh", "#!/bin/sh\necho ran\n", 0o755);
    let output = world.run(&["exec", "p", "--", "./run.sh"]).expect(3);
    assert_eq!(output.stdout, "");
    let trust = world.run(&["trust", "p", "--json"]).expect(0).json();
    let digest = trust["skills"][0]["digest"].as_str().unwrap().to_owned();
    world.run(&["trust", "p", "--digest", &digest]).expect(0);
    assert_eq!(
        world.run(&["exec", "p", "--", "./run.sh"]).expect(0).stdout,
        "ran\n"
    );
    world.file_with_mode(".agents/skills/p/run.sh", "#!/bin/sh\necho other\n", 0o755);
    world.run(&["exec", "p", "--", "./run.sh"]).expect(3);
}

/// The rule refers to a file of the project, but the command starts in the skill's folder.
#[test]
fn relative_paths_are_resolved_from_the_working_folder() {
    let world = world();
    world.file(".env", "KEY=1");
    world.skill(
        ".agents/skills/p",
        &format!("name: p\ndescription: {DESCRIPTION}\nallowed-tools: Bash(cat:*)\n"),
    );
    let trust = world.run(&["trust", "p", "--json"]).expect(0).json();
    let digest = trust["skills"][0]["digest"].as_str().unwrap().to_owned();
    world.run(&["trust", "p", "--digest", &digest]).expect(0);
    let line = ["exec", "p", "--", "cat ../../../.env"];
    assert_eq!(world.run(&line).expect(0).stdout, "KEY=1");
    world.file(
        ".agents/prowess.toml",
        "[permissions]\ndeny = ['Read(/.env)']\n",
    );
    world.run(&line).expect(3);
}

#[test]
fn timeout_stops_the_command() {
    let world = world();
    let output = world
        .run(&["exec", "x", "--timeout", "1", "--", "sleep", "600"])
        .expect(124);
    assert!(output.stderr.contains("timed out"), "{}", output.stderr);
}

#[test]
fn json_report_is_complete() {
    let world = world();
    let document = world
        .run(&["exec", "x", "--json", "--", "./run.sh", "a"])
        .expect(0)
        .json();
    assert_eq!(document["schema"], "prowess.exec/1");
    assert_eq!(
        document["stdout"],
        json!({ "text": "got a\n", "bytes": 6, "omitted": 0 })
    );
    assert_eq!(
        (&document["code"], &document["signal"]),
        (&json!(0), &json!(null))
    );
    assert_eq!(document["approved_by"], "Bash(./run.sh:*)");
    let layers = document["layers"].as_array().unwrap();
    assert!(
        layers
            .iter()
            .any(|layer| layer["layer"] == "supervision" && layer["state"] == "on")
    );
}

#[test]
fn invalid_input_is_explained() {
    let world = world();
    insta::assert_snapshot!(
        "no_such_skill",
        world.run(&["exec", "y", "--", "ls"]).expect(2).snapshot()
    );
    insta::assert_snapshot!("no_command", world.run(&["exec", "x"]).expect(2).snapshot());
    let sandbox = world
        .run(&["exec", "x", "--sandbox", "none", "--", "./run.sh"])
        .expect(2);
    assert!(
        sandbox
            .stderr
            .contains("`required`, `best-effort` or `off`"),
        "{}",
        sandbox.stderr
    );
}

/// The user configuration may be inside the project: a command that can write to the project must not
/// be able to change it.
#[test]
fn own_configuration_cannot_be_changed() {
    let world = world();
    world.file("mine.toml", "[sandbox]\nstrength = 'required'\n");
    // If the sandbox runs as another user, it cannot create files next to protected ones.
    world.folder("sub");
    world.mode("sub", 0o777);
    let run = |line: &str| {
        let args = ["exec", "x", "--write", "--approve", "Bash", "--", line];
        world
            .command(&args)
            .env("PROWESS_CONFIG_FILE", world.path("mine.toml"))
            .run()
    };
    let project = world.text("");
    let write = format!("touch {project}/sub/fine");
    if run("./run.sh").code == 2 {
        let what = "writing in a required sandbox: this machine has none";
        prowess_test::harness::not_run(what, "PROWESS_TEST_REQUIRE_SANDBOX");
        // Without it, the command must not run at all.
        assert_eq!(run(&write).code, 2);
        assert!(!world.exists("sub/fine"));
        return;
    }
    assert_eq!(run(&write).code, 0, "the project itself can be written");
    assert_ne!(run(&format!("touch {project}/mine.toml")).code, 0);
    assert_ne!(run(&format!("cat {project}/mine.toml")).code, 0);
    assert_eq!(
        world.read("mine.toml"),
        "[sandbox]\nstrength = 'required'\n"
    );
}

/// A rule about the skill applies to `exec` as it does to a model's `run_command_line`.
#[test]
fn rules_about_the_skill_apply() {
    let world = world();
    world.file(
        ".agents/prowess.toml",
        "[permissions]\nask = ['Skill(x *)']\n",
    );
    let line = ["exec", "x", "--", "./run.sh", "a"];
    let output = world.run(&line).expect(3);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("Skill(x *)"), "{}", output.stderr);
    let approved = [
        "exec",
        "x",
        "--approve",
        "Skill(x *)",
        "--",
        "./run.sh",
        "a",
    ];
    assert_eq!(world.run(&approved).expect(0).stdout, "got a\n");
}

/// `--approve` answers the prompt that an `ask` rule requires, but overrides no `deny` rule.
#[test]
fn approval_answers_ask_rules_and_not_deny_rules() {
    let world = world();
    let approved = [
        "exec",
        "x",
        "--approve",
        "Bash(touch:*)",
        "--",
        "touch --help",
    ];
    for (rule, code) in [("ask", 0), ("deny", 3)] {
        world.file(
            ".agents/prowess.toml",
            format!("[permissions]\n{rule} = ['Bash(touch:*)']\n"),
        );
        world.run(&approved).expect(code);
    }
}
