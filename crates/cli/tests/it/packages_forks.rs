//! Forks of packages and of bundled skills, and the new versions that are merged into them.

use std::fs;

use prowess_registry::bundled::{bundled_history, bundled_skills};
use serde_json::{Value, json};

use crate::packages_journey::git;
use crate::world::World;

/// The earlier and the present text of the bundled skill.
fn texts() -> (&'static str, &'static str) {
    let now = bundled_skills().find(|one| one.name == "prowess").unwrap();
    let before = bundled_history("prowess").last().unwrap();
    assert_ne!(now.text, before.text);
    (before.text, now.text)
}

const FORK: &str = ".agents/skills/prowess/SKILL.md";

/// Creates a fork of the earlier text of the bundled skill: the store has that text, and the lockfile
/// names it, as a program with that text would have left it.
fn old_fork(world: &World) {
    let (before, _) = texts();
    world.file("../old/prowess/SKILL.md", before);
    world
        .run(&["pack", "../old/prowess", "--out", "../old"])
        .expect(0);
    world.run(&["add", "../old/prowess.skill"]).expect(0);
    world.run(&["fork", "prowess"]).expect(0);
    let lock = world.path(".agents/prowess.lock");
    let text = fs::read_to_string(&lock).unwrap();
    let lines = text.lines().map(|line| {
        if line.starts_with("source") {
            "source = \"bundled\"\nversion = \"1.0.0\""
        } else {
            line
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    fs::write(lock, text + "\n").unwrap();
    assert_eq!(world.read(FORK), before);
}

fn edit(world: &World, change: impl Fn(&str) -> String) -> String {
    let text = change(&world.read(FORK));
    world.file(FORK, &text);
    text
}

/// Replaces the frontmatter line `license` by itself and another line.
fn with_key(text: &str, key: &str) -> String {
    text.replacen("license:", &format!("{key}\nlicense:"), 1)
}

fn update(world: &World, flags: &[&str]) -> Value {
    let arguments = [&["update", "prowess", "--json"], flags].concat();
    world.run(&arguments).expect(0).json()["forks"][0].clone()
}

/// Row 1: the body was not edited, keys perhaps were.
#[test]
fn unedited_body_of_a_bundled_skill_is_replaced_and_settings_stay() {
    let (_, now) = texts();
    for key in [None, Some("always_present: true")] {
        let world = World::new();
        old_fork(&world);
        if let Some(key) = key {
            edit(&world, |text| with_key(text, key));
        }
        let before = world.read(FORK);
        let done = update(&world, &[]);
        assert_eq!(done["state"], "replaced", "{done}");
        assert_eq!(
            (&done["old"], &done["new"]),
            (&json!("1.0.0"), &json!("1.1.0"))
        );
        let text = world.read(FORK);
        match key {
            None => assert_eq!(text, now),
            Some(key) => {
                assert!(text.contains(key), "{text}");
                assert_eq!(body(&text), body(now));
                assert!(text.contains("version: 1.1.0"), "{text}");
            }
        }
        // The text of before is in the store, also after pruning.
        world.run(&["store", "prune"]).expect(0);
        assert!(stored(&world).contains(&before));
        // Once is enough.
        assert_eq!(update(&world, &[])["state"], "current");
        assert_eq!(world.read(FORK), text);
        if key.is_some() {
            world.run(&["store", "prune", "--edits"]).expect(0);
            assert!(!stored(&world).contains(&before));
        }
    }
}

fn body(text: &str) -> &str {
    text.splitn(3, "---\n").nth(2).unwrap()
}

/// Returns the texts of all SKILL.md files in the store.
fn stored(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![world.path("~")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == "SKILL.md" {
                found.push(fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    found
}

/// Row 2: the body was edited, and the program has no other text.
#[test]
fn edited_fork_stays_without_a_new_version() {
    let world = World::new();
    world.run(&["fork", "prowess"]).expect(0);
    let (_, now) = texts();
    assert_eq!(world.read(FORK), now);
    let text = edit(&world, |text| format!("{text}\nMy own line.\n"));
    assert_eq!(update(&world, &[])["state"], "current");
    assert_eq!(world.read(FORK), text);
    // The fork is in use, and the origin is known.
    let shown = world.run(&["show", "prowess", "--json"]).expect(0).json();
    assert_eq!(shown["package"]["state"], "forked", "{shown}");
    assert_eq!(shown["package"]["source"], "bundled");
    // A name that is taken is never replaced.
    world.run(&["fork", "prowess"]).expect(2);
    assert_eq!(world.read(FORK), text);
}

/// Row 3, without a conflict: offered as a difference, and merged on request.
#[test]
fn edited_body_is_merged_if_nothing_conflicts() {
    let world = World::new();
    old_fork(&world);
    let mine = edit(&world, |text| {
        format!("{}\nMy own line.\n", with_key(text, "always_present: true"))
    });
    let shown = world.run(&["update", "prowess"]).expect(0);
    let text = format!("{}{}", shown.stdout, shown.stderr);
    for part in [
        "-## Writing and mending a skill",
        "+## Writing and editing a skill",
        "prowess update prowess --merge",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(world.read(FORK), mine);
    assert_eq!(update(&world, &["--merge"])["state"], "merged");
    let merged = world.read(FORK);
    for part in [
        "always_present: true",
        "## Writing and editing a skill",
        "My own line.",
        "version: 1.1.0",
    ] {
        assert!(merged.contains(part), "{part}: {merged}");
    }
    assert!(stored(&world).contains(&mine));
    assert_eq!(update(&world, &[])["state"], "current");
}

/// Row 3, with a conflict: the file of the person stays, the new one is beside it, and that is said
/// once.
#[test]
fn conflict_keeps_the_person_s_text_and_is_said_once() {
    let (_, now) = texts();
    let world = World::new();
    old_fork(&world);
    let mine = edit(&world, |text| {
        text.replace("## Writing and mending a skill", "## My heading")
    });
    let told = world.run(&["update"]).expect(0);
    assert!(told.stderr.contains("the body"), "{}", told.stderr);
    assert_eq!(world.read(FORK), mine);
    assert_eq!(world.read(format!("{FORK}.new")), now);
    let again = world.run(&["update"]).expect(0);
    assert!(!again.stderr.contains("the body"), "{}", again.stderr);
    assert_eq!(update(&world, &[])["state"], "told");
    // The person merges by hand: from then on the new text is the base.
    let merged = edit(&world, |_| {
        now.replace("## Writing and editing", "## My heading, editing")
    });
    fs::remove_file(world.path(format!("{FORK}.new"))).unwrap();
    assert_eq!(update(&world, &[])["state"], "current");
    assert_eq!(update(&world, &[])["state"], "current");
    assert_eq!(world.read(FORK), merged);
}

/// Row 4: a fork that was removed stays removed, until it is restored.
#[test]
fn removed_fork_stays_removed() {
    let (_, now) = texts();
    let world = World::new();
    old_fork(&world);
    fs::remove_dir_all(world.path(".agents/skills/prowess")).unwrap();
    assert_eq!(update(&world, &[])["state"], "removed");
    assert!(!world.exists(FORK));
    world.run(&["fork", "prowess", "--restore"]).expect(0);
    assert_eq!(world.read(FORK), now);
    world.run(&["fork", "prowess", "--restore"]).expect(2);
    world.run(&["fork", "none", "--restore"]).expect(2);
}

/// Row 5: a copy without a record, with a `planck_version`.
#[test]
fn copy_with_a_planck_version_is_upgraded_if_its_body_was_shipped() {
    let (before, now) = texts();
    let copy = with_key(before, "planck_version: 1.0.0\nalways_present: true");
    for (text, state) in [
        (copy.clone(), "replaced"),
        (format!("{copy}\nMy own line.\n"), "conflict"),
        (copy.replace("1.0.0", "0.9.0"), "conflict"),
    ] {
        let world = World::new();
        world.file(FORK, &text);
        let done = update(&world, &[]);
        assert_eq!(done["state"], state, "{done}");
        if state == "replaced" {
            let text = world.read(FORK);
            assert!(text.contains("always_present: true"), "{text}");
            assert_eq!(body(&text), body(now));
        } else {
            assert_eq!(world.read(FORK), text);
            assert_eq!(world.read(format!("{FORK}.new")), now);
        }
    }
    // A skill of the person's own with the same name has nothing to do with it.
    let world = World::new();
    world.file(FORK, before);
    world.run(&["update"]).expect(0);
    assert_eq!(world.read(FORK), before);
}

/// Line 41: a fork keeps edits and origin; the same table serves new versions of its package.
#[test]
fn fork_of_a_package_keeps_edits_and_gets_new_versions() {
    let world = World::new();
    let skill = |version: &str, tools: &str, lines: &str| {
        format!(
            "---\nname: pdf\ndescription: Fill in forms. Use for forms.\nversion: {version}\nallowed-tools: {tools}\n---\n{lines}"
        )
    };
    let mirror = world.path("mirror");
    let publish = |version: &str, tools: &str, lines: &str| {
        world.file("mirror/pdf/SKILL.md", skill(version, tools, lines));
        git(&mirror, &["add", "-A"]);
        git(&mirror, &["commit", "-qm", version]);
        git(&mirror, &["tag", &format!("v{version}")]);
    };
    world.folder("mirror");
    git(&mirror, &["init", "-q", "."]);
    publish("1.0.0", "Read", "One.\nTwo.\nThree.\nFour.\nFive.\n");
    let source = format!("git+file://{}@^1", mirror.display());
    world.run(&["add", &source, "pdf"]).expect(0);
    let file = ".agents/skills/pdf/SKILL.md";
    world.run(&["fork", "pdf"]).expect(0);
    let text = world.read(file).replace("Five.", "Five, mine.");
    world.file(file, &text);
    let lock = world.read(".agents/prowess.lock");
    for part in ["[[fork]]", "version = \"1.0.0\"", "commit = "] {
        assert!(lock.contains(part), "{part}: {lock}");
    }
    assert!(!world.read(".agents/prowess.toml").contains("pdf"));
    world.run(&["verify"]).expect(0);
    world.run(&["sync"]).expect(0);
    assert_eq!(world.read(file), text);

    // A new version is merged; more power is asked about.
    publish("1.1.0", "Read", "One, new.\nTwo.\nThree.\nFour.\nFive.\n");
    world.run(&["update", "pdf", "--merge"]).expect(0);
    assert_eq!(
        world.read(file),
        skill(
            "1.1.0",
            "Read",
            "One, new.\nTwo.\nThree.\nFour.\nFive, mine.\n"
        )
    );
    publish(
        "1.2.0",
        "Read Bash(curl:*)",
        "One, newer.\nTwo.\nThree.\nFour.\nFive.\n",
    );
    let asked = world.run(&["update", "pdf", "--merge"]).expect(3);
    let shown = format!("{}{}", asked.stdout, asked.stderr);
    for part in ["Bash(curl:*)", "--accept-power"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(world.read(file).contains("One, new."));
    world
        .run(&["update", "pdf", "--merge", "--accept-power"])
        .expect(0);
    assert_eq!(
        world.read(file),
        skill(
            "1.2.0",
            "Read Bash(curl:*)",
            "One, newer.\nTwo.\nThree.\nFour.\nFive, mine.\n"
        )
    );
    // A source that is gone stops nothing.
    fs::rename(&mirror, world.path("gone")).unwrap();
    let warned = world.run(&["update"]).expect(0);
    assert!(warned.stderr.contains("pdf"), "{}", warned.stderr);
}
