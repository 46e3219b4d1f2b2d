//! A registry while the disk changes between scans.

use prowess_catalog::ChangeKind;
use prowess_registry::{FileOptions, FileSource, Known, Place, SkillSource, SourceFaultKind};

use crate::support::{World, heads, only, registry, text};

#[test]
fn reordered_root_keeps_its_skills_readable() {
    // A worktree without skills uses those of its main checkout until it has its own.
    let world = World::new();
    world.folder("../main/.git/worktrees/tree");
    world.skill("../main/.claude/skills/borrowed");
    let gitdir = format!(
        "gitdir: {}\n",
        world.path("../main/.git/worktrees/tree").display()
    );
    world.file("../tree/.git", gitdir);
    let back = format!("{}\n", world.path("../tree/.git").display());
    world.file("../main/.git/worktrees/tree/gitdir", back);
    world.skill("~/.agents/skills/mine");
    let place = Place {
        extra: vec![world.path("../extra")],
        ..world.standing_in("../tree")
    };
    world.skill("../extra/more");
    let registry = registry(vec![FileSource::new(place, FileOptions::default())]);
    let listed = || -> Vec<String> {
        let skills = registry.list();
        for skill in &skills {
            assert!(registry.text(&skill.id).is_ok(), "{}", skill.location);
        }
        skills.iter().map(|skill| skill.name.to_string()).collect()
    };
    assert_eq!(listed(), ["borrowed", "mine", "more"]);
    world.skill("../tree/.agents/skills/own");
    registry.refresh();
    assert_eq!(listed(), ["mine", "more", "own"]);
}

#[test]
fn incomplete_skill_of_reordered_root_is_kept() {
    let world = World::new();
    world.skill("../one/a");
    let place = |first: &[&str]| Place {
        extra: first
            .iter()
            .chain(&["../one"])
            .map(|path| world.path(path))
            .collect(),
        ..world.standing_in("")
    };
    let before = FileSource::new(place(&[]), FileOptions::default()).scan(Known::default());
    world.file("../one/a/SKILL.md", "---\nname: a\ndescr");
    let source = FileSource::new(place(&["../two"]), FileOptions::default());
    world.skill("../two/b");
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
fn second_scan_reuses_unchanged_skills() {
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
        "unchanged skills are reused"
    );
}

#[test]
fn skill_file_replaced_by_another_type_is_reported() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.skill(&format!("skills/{name}"));
    }
    let registry = registry(vec![only(&world.path("skills"))]);
    for name in ["a", "b"] {
        std::fs::remove_file(world.path(format!("skills/{name}/SKILL.md"))).unwrap();
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
                world.relative(fault.location.text()),
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
    // A fresh start has no previous versions to keep.
    let fresh = world.scan_only("skills");
    assert_eq!(world.locations(&fresh), ["skills/c/SKILL.md"]);
    assert_eq!(fresh.faults.len(), 2);
}

#[test]
fn rename_is_a_removal_and_an_addition() {
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
    // The old id is an error; no other skill is returned for it.
    assert!(registry.text(&id).is_err());
}

#[test]
fn removed_root_removes_only_its_skills() {
    let world = World::new();
    world.skill(".agents/skills/a");
    world.skill("~/.agents/skills/b");
    let registry = registry(vec![world.source()]);
    std::fs::remove_dir_all(world.path(".agents")).unwrap();
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
fn command_without_frontmatter_is_accepted() {
    let world = World::new();
    world.file(".claude/commands/old.md", "First words.\n");
    let registry = registry(vec![world.source()]);
    world.file(".claude/commands/old.md", "Other words.\n");
    world.file(".claude/commands/new.md", "New words.\n");
    registry.refresh();
    assert_eq!(&*registry.get("old").unwrap().description, "Other words.");
    assert_eq!(&*registry.get("new").unwrap().description, "New words.");
    assert!(registry.report().faults.is_empty());
    // Incomplete or empty files do not replace the last good version.
    for begun in ["", "-", "---\n", "---\ndescription: x\n"] {
        world.file(".claude/commands/old.md", begun);
        registry.refresh();
        assert_eq!(
            &*registry.get("old").unwrap().description,
            "Other words.",
            "{begun:?}"
        );
        assert_eq!(
            registry.report().faults[0].why,
            SourceFaultKind::Broken,
            "{begun:?}"
        );
    }
}

#[test]
fn repaired_file_is_accepted() {
    let world = World::new();
    let registry = registry(vec![only(&world.path("skills"))]);
    world.file("skills/a/SKILL.md", "---\nname: a\n");
    registry.refresh();
    assert!(registry.get("a").is_err());
    assert_eq!(registry.report().faults[0].why, SourceFaultKind::Moving);
    world.file("skills/a/SKILL.md", text("a", "whole"));
    registry.refresh();
    assert_eq!(&*registry.get("a").unwrap().description, "whole");
    assert!(registry.report().faults.is_empty());
}
