//! Packages in everyday use: names that are taken, links and copies for other agents, copies in a
//! repository, pruning, power, going back, completion.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use prowess_package::agents::{LINK_AGENTS, PersonalFolder};
use serde_json::Value;

use crate::completions::complete;
use crate::packages_journey::git;
use crate::world::World;

fn skill(keys: &str, body: &str) -> String {
    format!("---\nname: pdf\ndescription: Fill in forms. Use for forms.\n{keys}---\n{body}\n")
}

/// Packs `../source/pdf` with this text.
fn pack(world: &World, text: &str) {
    world.file("../source/pdf/SKILL.md", text);
    let pack = ["pack", "../source/pdf", "--out", ".."];
    world.run(&pack).expect(0);
}

fn add(world: &World, flags: &[&str]) {
    pack(world, &skill("version: 1.0.0\n", "Read the form."));
    let arguments = [&["add", "../pdf.skill"], flags].concat();
    world.run(&arguments).expect(0);
}

/// Adds `pdf` from a repository with one version.
fn add_from_git(world: &World, text: &str) {
    world.folder("mirror");
    git(&world.path("mirror"), &["init", "-q", "."]);
    publish(world, "1.0.0", text);
    let source = format!("git+file://{}@^1", world.path("mirror").display());
    world.run(&["add", &source, "pdf"]).expect(0);
}

/// Adds a version to the repository.
fn publish(world: &World, version: &str, text: &str) {
    world.file("mirror/pdf/SKILL.md", text);
    let mirror = world.path("mirror");
    git(&mirror, &["add", "-A"]);
    git(&mirror, &["commit", "-qm", version]);
    git(&mirror, &["tag", &format!("v{version}")]);
}

/// Line 31.
#[test]
fn own_skill_of_the_same_name_is_never_replaced() {
    let world = World::new();
    let own = world.good(".agents/skills/pdf");
    let text = fs::read_to_string(&own).unwrap();
    pack(&world, &skill("", "Read the form."));
    let refused = world.run(&["add", "../pdf.skill"]).expect(2);
    assert!(refused.stderr.contains("--as"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&own).unwrap(), text);
    assert!(!world.exists(".agents/prowess.lock"));
    world
        .run(&["add", "../pdf.skill", "--as", "forms"])
        .expect(0);
    assert!(world.exists(".agents/skills/forms/SKILL.md"));
    assert_eq!(fs::read_to_string(&own).unwrap(), text);
}

/// Line 32.
#[test]
fn remove_takes_its_links_everywhere_and_nothing_else() {
    let world = World::new();
    add(&world, &[]);
    world.good(".agents/skills/own");
    world.good(".roo/skills/pdf");
    world.run(&["link", "claude-code", "goose"]).expect(0);
    world.run(&["link", "trae", "--copy"]).expect(0);
    world.link(
        ".claude/skills/mine",
        "../../.agents/skills/../../elsewhere",
    );
    for made in [
        ".claude/skills/pdf",
        ".goose/skills/pdf",
        ".trae/skills/pdf",
    ] {
        assert!(world.exists(format!("{made}/SKILL.md")), "{made}");
    }
    let removed = world.run(&["remove", "pdf"]).expect(0);
    assert!(!removed.stderr.contains("error"), "{}", removed.stderr);
    for gone in [
        ".agents/skills/pdf",
        ".claude/skills/pdf",
        ".goose/skills/pdf",
        ".trae/skills/pdf",
    ] {
        assert!(fs::symlink_metadata(world.path(gone)).is_err(), "{gone}");
    }
    for stays in [".agents/skills/own/SKILL.md", ".roo/skills/pdf/SKILL.md"] {
        assert!(world.exists(stays), "{stays}");
    }
    assert!(fs::symlink_metadata(world.path(".claude/skills/mine")).is_ok());
    assert!(!world.read(".agents/prowess.toml").contains("pdf"));
}

/// Line 33.
#[test]
fn vendored_copies_commit_clone_and_verify_on_a_second_machine() {
    let world = World::new();
    world.file("one/.agents/prowess.toml", "[install]\nvendor = true\n");
    pack(&world, &skill("", "Read the form."));
    world.file_with_mode("../source/pdf/scripts/fill.sh", "echo filled\n", 0o755);
    world
        .run(&["pack", "../source/pdf", "--out", ".."])
        .expect(0);
    let one = world.path("one");
    git(&one, &["init", "-q", "."]);
    let add = world.command(&["add", "../../pdf.skill"]).dir("one").run();
    add.expect(0);
    git(&one, &["add", "-A"]);
    git(&one, &["commit", "-qm", "packages"]);
    git(&world.path(""), &["clone", "-q", "one", "two"]);
    // Another home, another store, no archive.
    fs::remove_file(world.path("../pdf.skill")).unwrap();
    let second = |arguments: &[&str]| {
        let home = world.folder("../second");
        let command = world.command(arguments).dir("two");
        command.env("HOME", &home).env("PROWESS_HOME", &home).run()
    };
    second(&["verify"]).expect(0);
    second(&["sync", "--frozen"]).expect(0);
    let shown = second(&["show", "pdf", "--json"]).expect(0).json();
    assert_eq!(shown["package"]["state"], "locked", "{shown}");
    fs::write(world.path("two/.agents/skills/pdf/scripts/fill.sh"), "x").unwrap();
    second(&["verify"]).expect(1);
    second(&["prompt", "--skill", "pdf"]).expect(3);
}

/// Line 34.
#[test]
fn prune_keeps_what_locks_and_histories_need() {
    let world = World::new();
    add_from_git(&world, &skill("", "Read the form."));
    let digest = |world: &World| {
        let shown = world.run(&["show", "pdf", "--json"]).expect(0).json();
        shown["digest"].as_str().unwrap().to_owned()
    };
    let first = digest(&world);
    publish(&world, "1.1.0", &skill("", "Read the whole form."));
    world.run(&["update"]).expect(0);
    let second = digest(&world);
    assert_ne!(first, second);
    world.run(&["store", "prune"]).expect(0);
    fs::rename(world.path("mirror"), world.path("gone")).unwrap();
    // Both are still there, without the source.
    world.run(&["rollback", "--offline"]).expect(0);
    assert_eq!(digest(&world), first);
    world.run(&["rollback", "--offline"]).expect(0);
    assert_eq!(digest(&world), second);
    // Twenty changes later, the first is not needed.
    for number in 0..20 {
        let text = skill("", "Other.").replace("pdf", "other");
        world.file("../source/other/SKILL.md", text);
        let pack = ["pack", "../source/other", "--out", ".."];
        world.run(&pack).expect(0);
        let change: &[&str] = match number % 2 {
            0 => &["add", "../other.skill"],
            _ => &["remove", "other"],
        };
        world.run(change).expect(0);
    }
    world.run(&["store", "prune"]).expect(0);
    let refused = world.run(&["rollback", "pdf", "--to", "1.0.0"]);
    assert_ne!(refused.code, 0, "{}", refused.stderr);
    assert_eq!(digest(&world), second);
    world.run(&["verify"]).expect(0);
}

/// Lines 38 and 39.
#[test]
fn each_kind_of_power_is_shown_when_it_grows() {
    let hook = "hooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: ./check.sh\n";
    let plain = "Read the form.";
    let cases: [(&str, &str, String); 14] = [
        (
            "unrestricted-grant",
            "",
            skill("allowed-tools: Bash\n", plain),
        ),
        ("grant", "", skill("allowed-tools: Bash(git:*)\n", plain)),
        ("command", "", skill("", "Now: !`date`")),
        ("hook", "", skill(hook, plain)),
        ("script", "", skill("", plain)),
        ("host", "", skill("", plain)),
        ("network-program", "", skill("", plain)),
        ("model", "", skill("model: opus\n", plain)),
        ("effort", "effort: low\n", skill("effort: high\n", plain)),
        ("fork", "", skill("context: fork\n", plain)),
        ("agent", "", skill("context: fork\nagent: Explore\n", plain)),
        (
            "model-invocation",
            "disable-model-invocation: true\n",
            skill("", plain),
        ),
        ("always-present", "", skill("always_present: true\n", plain)),
        (
            "requirement",
            "",
            skill("requirements:\n  mcp: [tickets]\n", plain),
        ),
    ];
    for (kind, keys, text) in cases {
        let world = World::new();
        add_from_git(&world, &skill(keys, plain));
        let script = match kind {
            "script" => Some("echo new\n"),
            "host" => Some("echo https://api.example.net/v\n"),
            "network-program" => Some("curl -s localhost\n"),
            _ => None,
        };
        if let Some(script) = script {
            world.file_with_mode("mirror/pdf/scripts/new.sh", script, 0o755);
        }
        publish(&world, "1.1.0", &text);
        let lock = world.read(".agents/prowess.lock");
        let asked = world.run(&["update", "--json"]).expect(3);
        assert_eq!(world.read(".agents/prowess.lock"), lock, "{kind}");
        assert!(asked.stderr.contains("--accept-power"), "{kind}");
        let shown = world.run(&["update", "--dry-run", "--json"]).expect(0);
        let power = shown.json()["changes"][0]["power"].clone();
        let gained = power["gained"].as_array().unwrap().iter();
        let kinds: Vec<&str> = gained.map(|line| line["kind"].as_str().unwrap()).collect();
        assert!(kinds.contains(&kind), "{kind}: {power}");
        // On the screen as well.
        let shown = world.run(&["update", "--dry-run"]).expect(0).stdout;
        assert!(
            shown.contains("MORE") && shown.contains("\n    + "),
            "{kind}: {shown}"
        );
        if kind != "grant" {
            continue;
        }
        world.run(&["update", "--accept-power"]).expect(0);
        // Less power is not asked about.
        fs::remove_dir_all(world.path("mirror/pdf")).unwrap();
        publish(&world, "1.2.0", &skill(keys, plain));
        world.run(&["update"]).expect(0);
    }
    let world = World::new();
    add_from_git(&world, &skill("", plain));
    publish(
        &world,
        "1.1.0",
        &skill("", "Read the whole form, carefully."),
    );
    let shown = world.run(&["update", "--json"]).expect(0).json();
    let change = &shown["changes"][0];
    assert_eq!(change["power"]["more"], false, "{change}");
    assert_eq!(change["power"]["gained"].as_array().map(Vec::len), Some(0));
    assert_ne!(change["changed_lines"], 0);
}

/// Line 40, and the way back to no packages at all.
#[test]
fn rollback_after_the_first_add_goes_back_to_nothing() {
    for by_name in [false, true] {
        let world = World::new();
        if by_name {
            world.file(".agents/prowess.toml", "# Mine.\n[skills]\nbudget = 900\n");
        }
        add(&world, &[]);
        fs::remove_file(world.path("../pdf.skill")).unwrap();
        let listed = world.run(&["rollback", "--list"]).expect(0).stdout;
        assert!(listed.contains("0 packages"), "{listed}");
        let arguments: &[&str] = if by_name {
            &["rollback", "pdf", "--offline"]
        } else {
            &["rollback", "--offline"]
        };
        let done = world.run(arguments).expect(0);
        assert!(done.stderr.contains("pdf  1.0.0 → none"), "{}", done.stderr);
        assert!(!world.exists(".agents/skills/pdf"));
        if by_name {
            let text = world.read(".agents/prowess.toml");
            assert!(
                text.starts_with("# Mine.\n[skills]\nbudget = 900\n"),
                "{text}"
            );
            assert!(!text.contains("pdf"), "{text}");
        } else {
            assert!(!world.exists(".agents/prowess.lock"));
            assert!(!world.exists(".agents/prowess.toml"));
        }
        world.run(&["verify"]).expect(0);
        // And forward again, from the store.
        world.run(&["rollback", "--offline"]).expect(0);
        world.run(&["verify"]).expect(0);
        assert!(world.exists(".agents/skills/pdf/SKILL.md"));
    }
}

/// Line 48.
#[test]
fn links_and_copies_of_every_agent_are_only_its_own() {
    for form in [&[][..], &["--copy"]] {
        for user in [false, true] {
            let world = World::new();
            let flags: &[&str] = if user { &["--user"] } else { &[] };
            add(&world, flags);
            let mut seen = BTreeSet::new();
            for agent in LINK_AGENTS {
                let folder = match (user, agent.personal) {
                    (false, _) if agent.reads_agents => continue,
                    (false, _) => agent.project.to_owned(),
                    (true, PersonalFolder::Home(path)) => format!("~/{path}"),
                    (true, PersonalFolder::Config(path)) => format!("~/.config/{path}"),
                };
                if folder == "~/.agents/skills" || !seen.insert(folder.clone()) {
                    continue;
                }
                let own = world.good(&format!("{folder}/own"));
                let link = [&["link", agent.name], form, flags].concat();
                world.run(&link).expect(0);
                let made = world.path(format!("{folder}/pdf"));
                let facts = fs::symlink_metadata(&made);
                let facts = facts.unwrap_or_else(|error| panic!("{}: {error}", agent.name));
                assert_eq!(facts.is_symlink(), form.is_empty(), "{}", agent.name);
                assert!(made.join("SKILL.md").is_file(), "{}", agent.name);
                // Nothing in another folder.
                world.run(&link).expect(0);
                let remove = [&["link", agent.name, "--remove"], flags].concat();
                world.run(&remove).expect(0);
                assert!(fs::symlink_metadata(&made).is_err(), "{}", agent.name);
                assert!(own.is_file(), "{}", agent.name);
                // What is there already stays.
                let own = world.good(&format!("{folder}/pdf"));
                let warned = world.run(&link).expect(0).stderr;
                assert!(warned.contains("alone"), "{}: {warned}", agent.name);
                world.run(&remove).expect(0);
                assert!(own.is_file(), "{}", agent.name);
            }
        }
    }
}

#[test]
fn copies_for_agents_are_verified_updated_and_not_lost() {
    let world = World::new();
    add_from_git(&world, &skill("", "Read the form."));
    world
        .run(&["link", "claude-code", "trae", "--copy"])
        .expect(0);
    let copy = ".claude/skills/pdf/SKILL.md";
    world.run(&["verify"]).expect(0);
    publish(&world, "1.1.0", &skill("", "Read the whole form."));
    world.run(&["update"]).expect(0);
    assert!(world.read(copy).contains("the whole form"));
    world.run(&["verify"]).expect(0);
    // An edited copy is reported, and neither replaced nor removed.
    let edited = world.read(copy) + "Mine.\n";
    world.file(copy, &edited);
    let found = world.run(&["verify"]).expect(1).stdout;
    assert!(found.contains(".claude/skills/pdf/SKILL.md"), "{found}");
    publish(&world, "1.2.0", &skill("", "Read all of it."));
    world.run(&["update"]).expect(0);
    assert_eq!(world.read(copy), edited);
    assert!(
        world
            .read(".trae/skills/pdf/SKILL.md")
            .contains("all of it")
    );
    world
        .run(&["link", "claude-code", "trae", "--remove"])
        .expect(0);
    assert_eq!(world.read(copy), edited);
    assert!(!world.exists(".trae/skills/pdf"));
}

#[test]
fn names_of_packages_are_completed() {
    let world = World::new();
    add(&world, &[]);
    pack(&world, &skill("", "Read."));
    world
        .run(&["add", "../pdf.skill", "--as", "forms", "--user"])
        .expect(0);
    world.good(".agents/skills/plain");
    for command in ["remove", "update", "verify", "diff", "rollback"] {
        assert_eq!(complete(&world, &[command, "p"]), ["pdf"], "{command}");
        let own = complete(&world, &[command, "--user", "f"]);
        assert_eq!(own, ["forms"], "{command}");
    }
    assert_eq!(complete(&world, &["fork", "p"]), ["pdf", "prowess"]);
    assert_eq!(complete(&world, &["link", "claude"]), ["claude-code"]);
    // Without a state on disk there is nothing to complete.
    let empty = World::new();
    assert_eq!(complete(&empty, &["remove", "p"]), Vec::<String>::new());
}

/// Values of JSON that commands of packages print keep their schema.
#[test]
fn forks_and_links_have_json() {
    let world = World::new();
    add(&world, &[]);
    for arguments in [
        &["link", "trae", "--copy", "--json"][..],
        &["fork", "pdf", "--json"],
        &["update", "--json"],
    ] {
        let document = world.run(arguments).expect(0).json();
        assert_eq!(document["schema"], "prowess.packages/1", "{arguments:?}");
        assert_ne!(document, Value::Null);
    }
    assert!(Path::new(&world.path(".agents/skills/pdf/SKILL.md")).is_file());
}
