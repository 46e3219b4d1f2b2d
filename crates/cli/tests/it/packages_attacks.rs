//! Hostile projects, sources and folders: what a package must not reach.

use std::fs;
use std::os::unix::fs::symlink;

use crate::packages_journey::git;
use crate::world::World;

/// The frontmatter of a skill that runs a command when it is loaded.
const RUNS: &str = "name: forms\ndescription: Fill in forms. Use when a form arrives.\nallowed-tools: Bash(echo:*)\n";

/// Writes the skill `forms`, packs it, and returns the path of the archive.
fn archive(world: &World) -> String {
    let text = format!("---\n{RUNS}---\n!`echo RAN-$((40+2))`\n");
    world.file("../source/forms/SKILL.md", text);
    world
        .run(&["pack", "../source/forms", "--out", "../source"])
        .expect(0);
    world.path("../source/forms.skill").display().to_string()
}

/// Returns what a model reads if the skill is loaded in another project.
fn loaded(world: &World, home: &str) -> String {
    world.folder("../elsewhere");
    let output = world
        .command(&["prompt", "--skill", "forms"])
        .dir("../elsewhere")
        .env("PROWESS_HOME", world.path(home))
        .run();
    format!("{}{}", output.stdout, output.stderr)
}

#[test]
fn sync_does_not_replace_hooks_through_a_linked_folder() {
    let world = World::new();
    git(&world.path(""), &["init", "-q", "."]);
    world.file(
        "../source/hooks/SKILL.md",
        "---\nname: hooks\ndescription: Helps. Use never.\n---\nHi.\n",
    );
    world.file_with_mode("../source/hooks/post-checkout", "#!/bin/sh\n", 0o755);
    world
        .run(&["pack", "../source/hooks", "--out", "."])
        .expect(0);
    world.run(&["add", "./hooks.skill"]).expect(0);
    let before = fs::read_dir(world.path(".git/hooks")).unwrap().count();
    for target in ["../.git", "../.git/hooks", "../node", "../.husky"] {
        world.folder(format!(".agents/{target}"));
        fs::remove_dir_all(world.path(".agents/skills"))
            .or_else(|_| fs::remove_file(world.path(".agents/skills")))
            .unwrap();
        symlink(target, world.path(".agents/skills")).unwrap();
        let refused = world.run(&["sync"]).expect(2);
        assert!(
            refused.stderr.contains(".agents/skills"),
            "{}",
            refused.stderr
        );
    }
    assert!(!world.exists(".git/hooks/post-checkout"));
    assert_eq!(
        fs::read_dir(world.path(".git/hooks")).unwrap().count(),
        before
    );
    // A folder of skills of another agent is an ordinary place.
    world.folder(".claude/skills");
    fs::remove_file(world.path(".agents/skills")).unwrap();
    symlink("../.claude/skills", world.path(".agents/skills")).unwrap();
    world.run(&["sync"]).expect(0);
    assert!(world.exists(".claude/skills/hooks/SKILL.md"));
}

#[test]
fn links_for_agents_stay_in_the_project() {
    let world = World::new();
    let archive = archive(&world);
    world.run(&["add", &archive]).expect(0);
    world.folder("~/.claude");
    // The last folder does not exist yet, so that only the folder above shows where it leads.
    for (agent, folder) in [("claude-code", ".claude"), ("kode", ".kode")] {
        symlink(world.path("~/.claude"), world.path(folder)).unwrap();
        let refused = world.run(&["link", agent]).expect(2);
        assert!(refused.stderr.contains(folder), "{}", refused.stderr);
    }
    assert!(!world.exists("~/.claude/skills"));
    world.file(
        ".agents/prowess.toml",
        "[install]\ntargets = ['claude-code']\n[packages]\n",
    );
    world.run(&["sync"]).expect(2);
    assert!(!world.exists("~/.claude/skills"));
}

#[test]
fn folder_names_of_a_source_cannot_damage_the_lockfile() {
    let world = World::new();
    world.file(
        "../repo/a\tb/forms/SKILL.md",
        format!("---\n{RUNS}---\nHi.\n"),
    );
    let folder = world.path("../repo");
    git(&folder, &["init", "-q", "."]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "first"]);
    let source = format!("git+file://{}", folder.display());
    let refused = world.run(&["add", &source, "forms"]).expect(2);
    assert!(
        refused.stderr.contains("control character"),
        "{}",
        refused.stderr
    );
    assert!(!world.exists(".agents/prowess.lock"));
    world.run(&["verify"]).expect(0);
}

#[test]
fn package_without_a_readable_lockfile_is_not_trusted() {
    let world = World::new();
    let archive = archive(&world);
    for vendor in [false, true] {
        let home = if vendor { "~/vendored" } else { "~/linked" };
        world.file(
            format!("{home}/config.toml"),
            format!("[install]\nvendor = {vendor}\n"),
        );
        let add = || {
            world
                .command(&["add", "--user", &archive])
                .env("PROWESS_HOME", world.path(home))
                .run()
                .expect(0)
        };
        add();
        let lock = format!("{home}/prowess.lock");
        let good = fs::read_to_string(world.path(&lock)).unwrap();
        let damaged = [
            "version = 2\n".to_owned(),
            good.replace("[[package]]", "<<<<<<< ours\n[[package]]"),
            good.replace("SKILL.md", "../SKILL.md"),
        ];
        for text in damaged {
            world.file(&lock, &text);
            let text = loaded(&world, home);
            assert!(!text.contains("RAN-42"), "{vendor}: {text}");
        }
        world.file(&lock, good);
        assert!(!loaded(&world, home).contains("RAN-42"));
        fs::remove_dir_all(world.path("~/.agents/skills")).unwrap();
    }
}

#[test]
fn package_that_no_lockfile_names_needs_trust() {
    let world = World::new();
    let archive = archive(&world);
    world.run(&["add", "--user", &archive]).expect(0);
    // As with another configuration folder, an older lockfile, or none.
    world.file("~/prowess.lock", "version = 1\n");
    let text = loaded(&world, "~");
    assert!(!text.contains("RAN-42"), "{text}");
    fs::remove_file(world.path("~/prowess.lock")).unwrap();
    let text = loaded(&world, "~");
    assert!(!text.contains("RAN-42"), "{text}");
    let tree = world.path("~/.agents/skills/forms").canonicalize().unwrap();
    let folder = tree.parent().unwrap().to_str().unwrap();
    let named = world.run(&["prompt", "--skill", "forms", "--skills-dir", folder]);
    assert!(!named.stdout.contains("RAN-42"), "{}", named.stdout);
}

#[test]
fn manifest_of_a_project_cannot_name_files_of_this_machine() {
    let world = World::new();
    let archive = archive(&world);
    git(&world.path(""), &["init", "-q", "."]);
    world.link("inside.skill", &archive);
    for path in ["../source/forms.skill", &archive, "./inside.skill"] {
        world.file(
            ".agents/prowess.toml",
            format!("[packages]\nforms = {{ archive = '{path}' }}\n"),
        );
        let refused = world.run(&["sync"]).expect(3);
        assert!(
            refused.stderr.contains("outside"),
            "{path}: {}",
            refused.stderr
        );
        assert!(!world.exists(".agents/skills/forms"));
    }
    // What the person typed is recorded, and can be fetched again.
    fs::remove_file(world.path(".agents/prowess.toml")).unwrap();
    world.run(&["add", &archive]).expect(0);
    fs::remove_dir_all(world.path("~/data/store")).ok();
    fs::remove_file(world.path(".agents/skills/forms")).unwrap();
    world.run(&["sync"]).expect(0);
    assert!(world.exists(".agents/skills/forms/SKILL.md"));

    // A repository in the project that is a link to one outside of it.
    git(&world.path("../source"), &["init", "-q", "."]);
    git(&world.path("../source"), &["add", "-A"]);
    git(&world.path("../source"), &["commit", "-qm", "first"]);
    symlink(world.path("../source"), world.path("mirror")).unwrap();
    let url = format!("git+file://{}/mirror", world.path("").display());
    world.file(
        ".agents/prowess.toml",
        format!("[packages]\nforms = {{ git = '{url}' }}\n"),
    );
    fs::remove_file(world.path(".agents/prowess.lock")).unwrap();
    world.run(&["sync"]).expect(3);
}

#[test]
fn typed_paths_are_relative_to_the_current_folder() {
    let world = World::new();
    git(&world.path(""), &["init", "-q", "."]);
    let archive = archive(&world);
    world.folder("sub");
    fs::copy(&archive, world.path("sub/forms.skill")).unwrap();
    world
        .command(&["add", "./forms.skill"])
        .dir("sub")
        .run()
        .expect(0);
    let manifest = fs::read_to_string(world.path(".agents/prowess.toml")).unwrap();
    assert!(manifest.contains("./sub/forms.skill"), "{manifest}");
    world.run(&["sync", "--frozen"]).expect(0);
    world
        .command(&["add", "--user", "./forms.skill"])
        .dir("sub")
        .run()
        .expect(0);
    let settings = fs::read_to_string(world.path("~/config.toml")).unwrap();
    let whole = world.path("sub/forms.skill");
    assert!(settings.contains(whole.to_str().unwrap()), "{settings}");
}

#[test]
fn pack_does_not_write_through_links() {
    let world = World::new();
    world.good("source/forms");
    world.file("~/.profile", "untouched\n");
    symlink(world.path("~/.profile"), world.path("forms.skill")).unwrap();
    world.run(&["pack", "source/forms"]).expect(0);
    assert!(!world.path("forms.skill").is_symlink());
    world.folder("~/public");
    symlink(world.path("~/public"), world.path("public")).unwrap();
    world
        .run(&["pack", "source/forms", "--site", "public"])
        .expect(2);
    world.folder("site");
    symlink(world.path("~/public"), world.path("site/.well-known")).unwrap();
    world
        .run(&["pack", "source/forms", "--site", "site"])
        .expect(2);
    assert_eq!(fs::read_dir(world.path("~/public")).unwrap().count(), 0);
    let profile = fs::read_to_string(world.path("~/.profile")).unwrap();
    assert_eq!(profile, "untouched\n");
}
