//! Seventh round of attacks on the sandbox, as a user meets them. `docs/dev/audits.md` lists the
//! finding of each test.

use std::path::Path;

use prowess_package::agents::LINK_AGENTS;
use prowess_policy::profile::{LINKED_SKILL_FOLDERS, PROTECTED_IN_PROJECT};
use prowess_registry::fs::skill_folders::{COMMAND_FOLDERS, SKILL_FOLDERS};
use serde_json::{Value, json};

use crate::packages_journey::git;
use crate::world::{Output, World};

/// A project with a repository and a trusted skill `x` of the user.
fn project() -> World {
    let world = World::new();
    std::fs::remove_dir_all(world.path(".git")).unwrap();
    git(&world.path(""), &["init", "-q"]);
    world.skill(
        "~/.agents/skills/x",
        "name: x\ndescription: Does something. Use when testing.",
    );
    world
}

/// Runs a script with write access to the project, and this folder first in `PATH`.
fn write(world: &World, path: &str, script: &str) -> Output {
    let script = format!("cd '{}'; {script}", world.path("").display());
    let line = [
        "exec",
        "x",
        "--write",
        "--approve",
        "Bash",
        "--",
        "sh",
        "-c",
        &script,
    ];
    world
        .command(&line)
        .env("PATH", search_path(world, path))
        .run()
}

fn search_path(world: &World, first: &str) -> String {
    let usual = std::env::var("PATH").unwrap();
    format!("{}:{usual}", world.path(first).display())
}

fn play(world: &World, name: &str, turns: &[Value]) -> String {
    let text: String = turns.iter().map(|turn| format!("{turn}\n")).collect();
    format!("scripted:{}", world.file(name, text).display())
}

/// H1: a virtual environment that the user activated comes first in `PATH`.
#[test]
fn programs_are_not_planted_in_the_search_path() {
    let world = project();
    world.file(".venv/bin/activate", "");
    let canary = world.path("../canary");
    let evil = format!("#!/bin/sh\ntouch {}\n", canary.display());
    let plant = "printf '#!/bin/sh\\ntouch ../canary\\n' > .venv/bin/git; chmod +x .venv/bin/git";
    let output = write(&world, ".venv/bin", plant);
    assert!(!world.exists(".venv/bin/git"), "{}", output.stderr);
    let output = write(&world, ".venv/bin", "echo fine > new; git status --short");
    assert!(world.exists("new"), "{}", output.stderr);
    assert!(output.stdout.contains("?? new"), "{}", output.stdout);
    // The file tools refuse it too, whatever is approved.
    let call = |path: &str| json!({"calls": [{"name": "write", "input": {"path": path, "content": "evil"}}]});
    let turns = [
        call(".venv/bin/git"),
        call("free.txt"),
        json!({"text": "done"}),
    ];
    let model = play(&world, "~/s.jsonl", &turns);
    let run = [
        "run",
        "--task",
        "go",
        "--edits",
        "--approve",
        "Edit",
        "--approve",
        "Write",
        "--model",
        &model,
    ];
    let run = world
        .command(&run)
        .env("PATH", search_path(&world, ".venv/bin"));
    run.run().expect(0);
    assert!(!world.exists(".venv/bin/git") && world.exists("free.txt"));
    // Prowess starts no program of the project by its name.
    for name in ["git", "npx", "pass"] {
        world.file_with_mode(&format!(".venv/bin/{name}"), &evil, 0o755);
    }
    world.file(
        "../repo/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fill in forms. Use when a form arrives.\n---\nRead.\n",
    );
    let repository = world.path("../repo");
    git(&repository, &["init", "-q", "."]);
    git(&repository, &["add", "-A"]);
    git(&repository, &["commit", "-qm", "first"]);
    let add = [
        "add",
        "--dry-run",
        &format!("git+file://{}", repository.display()),
    ];
    let add = world
        .command(&add)
        .env("PATH", search_path(&world, ".venv/bin"));
    add.run().expect(0);
    assert!(!canary.exists(), "git of the project ran");
    world.file(
        "~/config.toml",
        "[mcp.servers.x]\ncommand = 'npx'\nargs = ['-y']\n",
    );
    let model = play(&world, "~/t.jsonl", &[json!({"text": "done"})]);
    let run = ["run", "--task", "go", "--no-wait", "--model", &model];
    let run = world
        .command(&run)
        .env("PATH", search_path(&world, ".venv/bin"));
    run.run();
    assert!(!canary.exists(), "a server of the project started");
}

/// H1: the way to allow it.
#[test]
fn virtual_environment_can_be_granted() {
    let world = project();
    world.file(".venv/bin/activate", "");
    let hint = write(&world, ".venv/bin", "echo x > .venv/bin/tool");
    assert!(!world.exists(".venv/bin/tool"), "{}", hint.stderr);
    let folder = world.path(".venv");
    let settings = format!("[sandbox]\nwrite = ['{}']\n", folder.display());
    world.file("~/config.toml", settings);
    let output = write(&world, ".venv/bin", "echo x > .venv/bin/tool");
    assert!(world.exists(".venv/bin/tool"), "{}", output.stderr);
}

/// M1: files of shells and git that variables name.
#[test]
fn files_of_variables_are_not_written() {
    let world = project();
    world.file("conf/git/config", "");
    world.file("env.sh", "");
    let script = format!(
        "cd '{}'; echo evil >> conf/git/config; echo evil >> env.sh; echo x > free",
        world.path("").display()
    );
    let line = [
        "exec",
        "x",
        "--write",
        "--approve",
        "Bash",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let run = world
        .command(&line)
        .env("XDG_CONFIG_HOME", world.path("conf"));
    run.env("BASH_ENV", world.path("env.sh")).run();
    for file in ["conf/git/config", "env.sh"] {
        assert_eq!(world.read(file), "", "{file}");
    }
    assert!(world.exists("free"));
}

/// M3: long output of other sessions and projects was readable.
#[test]
fn long_output_belongs_to_one_session() {
    let world = project();
    let skill = "~/.agents/skills/long/SKILL.md";
    world.file(skill, "---\nname: long\ndescription: Shows data. Use when testing.\nallowed-tools: Bash(seq:*)\n---\n!`seq 9000`\n");
    let load = json!({"calls": [{"name": "load_skill", "input": {"name": "long"}}]});
    let end = json!({"text": "done"});
    let model = play(&world, "~/s.jsonl", &[load.clone(), end.clone()]);
    let run = |model: &str| {
        let run = [
            "run",
            "--task",
            "go",
            "--no-wait",
            "--json",
            "--model",
            model,
        ];
        world.run(&run).expect(0).stdout
    };
    let session = |text: &str| -> String {
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        first["session"].as_str().unwrap().to_owned()
    };
    let outputs = world.path("~/state/outputs");
    let first = run(&model);
    let folder = outputs.join(session(&first));
    let file = std::fs::read_dir(&folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("1\n2\n"), "{text}");
    let read =
        |path: &Path| json!({"calls": [{"name": "read", "input": {"path": path, "limit": 3}}]});
    // The session that has it continues to read it.
    let model = play(&world, "~/r.jsonl", &[read(&file), end.clone()]);
    let id = session(&first);
    let resumed = ["session", "resume", &id, "go on", "--model", &model];
    world.run(&resumed).expect(0);
    let events = world.run(&["session", "replay", &id]).expect(0).stdout;
    let mut results = events.lines().filter(|it| it.contains("call_ended"));
    let result = results.next_back().unwrap();
    assert!(result.contains("1\\t1\\n2\\t2\\n"), "{result}");
    assert!(!result.contains("was refused"), "{result}");
    // Another one does not, and cannot list the files.
    let turns = [read(&outputs), read(&folder), read(&file), end.clone()];
    let other = run(&play(&world, "~/t.jsonl", &turns));
    let results: Vec<&str> = other
        .lines()
        .filter(|it| it.contains("call_ended"))
        .collect();
    assert_eq!(results.len(), 3, "{other}");
    assert!(
        results.iter().all(|it| it.contains("was refused")),
        "{results:?}"
    );
    // It goes with its session.
    world.run(&["session", "rm", &id]).expect(0);
    assert!(!folder.exists());
}

fn verdict(world: &World, folder: &str, command: &str) -> String {
    let check = ["policy", "check", "--", command];
    let output = world.command(&check).dir(folder).run();
    output.stdout.split(' ').next().unwrap_or_default().into()
}

/// M7: a folder `.git` that git ignores, or a repository in a subfolder, lifted the rules around it.
#[test]
fn repository_in_a_subfolder_does_not_lift_the_rules_around_it() {
    let world = project();
    world.folder("sub/deep");
    world.file(
        ".agents/prowess.toml",
        "[permissions]\ndeny = ['Bash(curl:*)']\n",
    );
    assert_eq!(verdict(&world, "sub", "curl x"), "deny");
    write(&world, "nowhere", "mkdir sub/.git");
    assert_eq!(verdict(&world, "sub", "curl x"), "deny");
    write(
        &world,
        "nowhere",
        "rm -rf sub/.git; echo 'gitdir: x' > sub/.git",
    );
    assert_eq!(verdict(&world, "sub/deep", "curl x"), "deny");
    let init =
        "git init -q other; mkdir other/deep other/.agents; touch other/.agents/prowess.toml";
    write(&world, "nowhere", init);
    assert!(world.exists("other/.git/HEAD"));
    for folder in ["other", "other/deep", "sub", ""] {
        assert_eq!(verdict(&world, folder, "curl x"), "deny", "{folder}");
    }
}

/// M6: every folder from which an agent reads skills in a project.
#[test]
fn folders_of_skills_are_protected() {
    let agents = LINK_AGENTS.iter().map(|agent| agent.project);
    let folders = agents.chain(SKILL_FOLDERS.iter().copied());
    for folder in folders.chain(COMMAND_FOLDERS.iter().copied()) {
        let is_protected = |name: &&str| Path::new(folder).starts_with(name.trim_end_matches('/'));
        assert!(
            PROTECTED_IN_PROJECT.iter().any(is_protected) || LINKED_SKILL_FOLDERS.contains(&folder),
            "{folder}"
        );
    }
}

/// M6: links to packages were replaced, and `verify` did not say so.
#[test]
fn links_to_packages_are_not_replaced() {
    let world = project();
    world.file(
        "../repo/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fill in forms. Use when a form arrives.\n---\nRead.\n",
    );
    let repository = world.path("../repo");
    git(&repository, &["init", "-q", "."]);
    git(&repository, &["add", "-A"]);
    git(&repository, &["commit", "-qm", "first"]);
    world
        .run(&["add", &format!("git+file://{}", repository.display())])
        .expect(0);
    world.run(&["link", "kode", "letta", "openclaw"]).expect(0);
    world.folder(".github");
    let links = [".kode/skills/pdf", ".skills/pdf", "skills/pdf"];
    let evil = "for d in .kode/skills .skills skills; do rm $d/pdf; mkdir -p $d/pdf; echo evil > $d/pdf/SKILL.md; done; \
        mv skills s; mkdir -p skills/pdf; echo evil > skills/pdf/SKILL.md; \
        mkdir -p .github/skills/evil; echo evil > .github/skills/evil/SKILL.md; true";
    write(&world, "nowhere", evil);
    for link in links {
        assert!(world.path(link).is_symlink(), "{link}");
        assert!(
            world.read(format!("{link}/SKILL.md")).contains("name: pdf"),
            "{link}"
        );
    }
    assert!(!world.exists(".github/skills/evil"));
    // An author works in `skills`.
    let own = "mkdir skills/own; echo text > skills/own/SKILL.md";
    write(&world, "nowhere", own);
    assert!(world.exists("skills/own/SKILL.md"));
    world.run(&["verify"]).expect(0);
    std::fs::remove_file(world.path(".kode/skills/pdf")).unwrap();
    world.file(".kode/skills/pdf/SKILL.md", "evil");
    let found = world.run(&["verify"]);
    assert_ne!(found.code, 0);
    let text = found.stdout + &found.stderr;
    assert!(
        text.contains("package-replaced") && text.contains(".kode/skills/pdf"),
        "{text}"
    );
}
