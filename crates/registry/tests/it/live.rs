//! A registry while the disk changes under it, one look after the other.

use prowess_catalog::ChangeKind;
use prowess_registry::{FaultKind, FileOptions, FileSource, Known, Place, SkillSource};

use crate::support::{World, heads, only, registry, text};

#[test]
fn a_root_that_moves_in_the_order_keeps_its_skills_readable() {
    // A worktree without skills borrows those of its checkout, until it has some of its own.
    let world = World::new();
    world.folder("main/.git/worktrees/tree");
    world.skill("main/.claude/skills/borrowed");
    let gitdir = format!(
        "gitdir: {}\n",
        world.path("main/.git/worktrees/tree").display()
    );
    world.file("tree/.git", gitdir);
    world.skill("home/.agents/skills/mine");
    let place = Place {
        extra: vec![world.path("extra")],
        ..world.standing_in("tree")
    };
    world.skill("extra/more");
    let registry = registry(vec![FileSource::new(place, FileOptions::default())]);
    let listed = || -> Vec<String> {
        let skills = registry.list();
        for skill in &skills {
            assert!(registry.text(&skill.id).is_ok(), "{}", skill.location);
        }
        skills.iter().map(|skill| skill.name.to_string()).collect()
    };
    assert_eq!(listed(), ["borrowed", "mine", "more"]);
    world.skill("tree/.agents/skills/own");
    registry.refresh();
    assert_eq!(listed(), ["mine", "more", "own"]);
}

#[test]
fn a_half_written_skill_of_a_moved_root_is_kept_and_readable() {
    let world = World::new();
    world.skill("one/a");
    let place = |first: &[&str]| Place {
        extra: first
            .iter()
            .chain(&["one"])
            .map(|path| world.path(path))
            .collect(),
        ..world.standing_in("repo")
    };
    let before = FileSource::new(place(&[]), FileOptions::default()).scan(Known::default());
    world.file("one/a/SKILL.md", "---\nname: a\ndescr");
    let source = FileSource::new(place(&["two"]), FileOptions::default());
    world.skill("two/b");
    let scan = source.scan(Known {
        skills: &before.skills,
        keep_last_good: true,
    });
    assert_eq!(scan.skills.len(), 2);
    assert!(scan.faults[0].kept);
    for skill in &scan.skills {
        assert!(
            source.owns(&skill.id) && source.text(&skill.id).is_ok(),
            "{}",
            skill.location
        );
    }
}

#[test]
fn the_second_scan_gives_back_what_the_first_one_read() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.skill(&format!("skills/{name}"));
    }
    let source = only(&world.path("skills"));
    let first = source.scan(Known::default());
    world.described("skills/b", "something else");
    world.skill("skills/d");
    std::fs::remove_dir_all(world.path("skills/c")).unwrap();
    let second = source.scan(Known {
        skills: &first.skills,
        keep_last_good: true,
    });
    assert_eq!(
        heads(&second),
        heads(&only(&world.path("skills")).scan(Known::default()))
    );
    let (old, new) = (heads(&first), heads(&second));
    assert!(
        std::sync::Arc::ptr_eq(&old[0], &new[0]),
        "what did not change is the same"
    );
}

#[test]
fn a_skill_file_that_becomes_something_else_is_reported_and_the_rest_works() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.skill(&format!("skills/{name}"));
    }
    let registry = registry(vec![only(&world.path("skills"))]);
    for name in ["a", "b"] {
        std::fs::remove_file(world.path(&format!("skills/{name}/SKILL.md"))).unwrap();
    }
    world.folder("skills/a/SKILL.md");
    crate::support::fifo(&world.path("skills/b/SKILL.md"));
    world.described("skills/c", "new text");
    registry.refresh();
    assert_eq!(&*registry.get("c").unwrap().description, "new text");
    let report = registry.report();
    let told: Vec<(String, String, bool)> = report
        .faults
        .iter()
        .map(|fault| {
            (
                world.inner(&fault.location),
                fault.why.to_string(),
                fault.kept,
            )
        })
        .collect();
    let fault = |path: &str, why: &str| (path.to_owned(), why.to_owned(), true);
    assert_eq!(
        told,
        [
            fault("skills/a/SKILL.md", "it is a folder, not a regular file"),
            fault("skills/b/SKILL.md", "it is a FIFO, not a regular file"),
        ]
    );
    // A start has nothing to keep.
    let fresh = world.scan_only("skills");
    assert_eq!(world.locations(&fresh), ["skills/c/SKILL.md"]);
    assert_eq!(fresh.faults.len(), 2);
}

#[test]
fn a_renamed_skill_is_one_removal_and_one_addition() {
    let world = World::new();
    world.skill("skills/old");
    let registry = registry(vec![only(&world.path("skills"))]);
    let news = registry.subscribe();
    let id = registry.get("old").unwrap().id.clone();
    std::fs::rename(world.path("skills/old"), world.path("skills/new")).unwrap();
    registry.refresh();
    let told: Vec<(String, ChangeKind)> = news
        .try_next()
        .unwrap()
        .changes
        .iter()
        .map(|change| (change.id.path.to_string(), change.kind.clone()))
        .collect();
    let pair = |path: &str, kind| (path.to_owned(), kind);
    assert_eq!(told.len(), 2);
    assert!(told.contains(&pair("old", ChangeKind::Removed)));
    assert!(told.contains(&pair("new", ChangeKind::Added)));
    // Whoever holds the old one is told that it is gone; nothing else is served in its place.
    assert!(registry.text(&id).is_err());
}

#[test]
fn a_root_that_is_gone_takes_its_skills_along_and_no_others() {
    let world = World::new();
    world.skill("repo/.agents/skills/a");
    world.skill("home/.agents/skills/b");
    let registry = registry(vec![world.source()]);
    std::fs::remove_dir_all(world.path("repo/.agents")).unwrap();
    registry.refresh();
    let names: Vec<String> = registry
        .list()
        .iter()
        .map(|skill| skill.name.to_string())
        .collect();
    assert_eq!(names, ["b"]);
    assert!(registry.report().faults.is_empty());
}

#[test]
fn a_command_needs_no_frontmatter_to_come_in_or_change() {
    let world = World::new();
    world.file("repo/.claude/commands/old.md", "First words.\n");
    let registry = registry(vec![world.source()]);
    world.file("repo/.claude/commands/old.md", "Other words.\n");
    world.file("repo/.claude/commands/new.md", "New words.\n");
    registry.refresh();
    assert_eq!(&*registry.get("old").unwrap().description, "Other words.");
    assert_eq!(&*registry.get("new").unwrap().description, "New words.");
    assert!(registry.report().faults.is_empty());
    // One that is begun waits for the rest; so does an empty one.
    for begun in ["", "-", "---\n", "---\ndescription: x\n"] {
        world.file("repo/.claude/commands/old.md", begun);
        registry.refresh();
        assert_eq!(
            &*registry.get("old").unwrap().description,
            "Other words.",
            "{begun:?}"
        );
        assert_eq!(
            registry.report().faults[0].why,
            FaultKind::Broken,
            "{begun:?}"
        );
    }
}

#[test]
fn a_broken_file_comes_in_once_it_is_whole() {
    let world = World::new();
    let registry = registry(vec![only(&world.path("skills"))]);
    world.file("skills/a/SKILL.md", "---\nname: a\n");
    registry.refresh();
    assert!(registry.get("a").is_err());
    assert_eq!(registry.report().faults[0].why, FaultKind::Moving);
    world.file("skills/a/SKILL.md", text("a", "whole"));
    registry.refresh();
    assert_eq!(&*registry.get("a").unwrap().description, "whole");
    assert!(registry.report().faults.is_empty());
}
