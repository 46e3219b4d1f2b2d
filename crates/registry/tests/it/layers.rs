//! Precedence of folders: core-agent's loading order, and the ADK's sources.

use prowess_registry::{FileOptions, FileSource, Known, Place, SkillSource};

use crate::support::{World, catalog, names, only, registry};

/// Returns the names found, each with its description.
fn found(place: Place) -> Vec<(String, String)> {
    let scan = FileSource::new(place, FileOptions::default()).scan(Known::default());
    assert!(
        scan.faults.is_empty() && scan.notices.is_empty(),
        "{:?}",
        scan.notices
    );
    let catalog = catalog(&scan);
    let pair = |entry: &prowess_catalog::CatalogEntry| {
        (entry.name().to_owned(), entry.skill.description.to_string())
    };
    catalog.listed().map(pair).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn no_folders_is_not_an_error() {
    let world = World::new();
    assert_eq!(found(world.standing_in("")), []);
    world.folder(".agents/skills");
    assert_eq!(found(world.standing_in("")), []);
    world.folder("~/.agents");
    assert_eq!(
        found(world.standing_in("")),
        [],
        "a place without `skills` is skipped"
    );
    let without_home = Place {
        current: world.path(""),
        ..Place::default()
    };
    assert_eq!(found(without_home), []);
}

#[test]
fn keys_of_other_agents_are_accepted() {
    let world = World::new();
    let more = "user-invocable: true\ncompatibility:\n  os: linux\nreferences:\n  - a.md\n";
    let text = format!("---\nname: a\ndescription: what it does\n{more}---\n\nDo it.\n");
    world.file(".agents/skills/a/SKILL.md", text);
    assert_eq!(
        found(world.standing_in("")),
        pairs(&[("a", "what it does")])
    );
}

#[test]
fn each_layer_shadows_the_next() {
    let world = World::new();
    let layers = [
        ("project", ".agents/skills"),
        ("extra-one", "../one"),
        ("extra-two", "../two"),
        ("home-agents", "~/.agents/skills"),
        ("home-claude", "~/.claude/skills"),
        ("config", "~/.config/agents/skills"),
    ];
    let place = Place {
        extra: vec![world.path("../one"), world.path("../two")],
        config_home: Some(world.path("~/.config")),
        ..world.standing_in("")
    };
    for (layer, folder) in layers {
        world.described(&format!("{folder}/shared"), layer);
        world.described(&format!("{folder}/only-{layer}"), layer);
    }
    // Remove one layer after another: the next one takes over.
    for (index, (layer, folder)) in layers.iter().enumerate() {
        let mut expected: Vec<(String, String)> = layers[index..]
            .iter()
            .map(|(layer, _)| (format!("only-{layer}"), (*layer).to_owned()))
            .collect();
        expected.push(("shared".to_owned(), (*layer).to_owned()));
        expected.sort();
        assert_eq!(found(place.clone()), expected);
        std::fs::remove_dir_all(world.path(folder)).unwrap();
    }
    assert_eq!(found(place), []);
}

#[test]
fn single_layer_works() {
    for folder in [".agents/skills", "~/.agents/skills", "../extra"] {
        let world = World::new();
        let place = Place {
            extra: vec![world.path("../extra")],
            ..world.standing_in("")
        };
        world.described(&format!("{folder}/a"), folder);
        assert_eq!(found(place), pairs(&[("a", folder)]));
    }
}

#[test]
fn home_is_never_a_project() {
    let world = World::new();
    world.skill("~/.agents/skills/a");
    world.folder("~/.git");
    world.skill("~/work/.agents/skills/nested");
    let scan =
        FileSource::new(world.standing_in("~"), FileOptions::default()).scan(Known::default());
    let scopes: Vec<&str> = scan
        .skills
        .iter()
        .map(|skill| skill.id.origin.scope.as_str())
        .collect();
    assert_eq!(scopes, ["user"]);
}

#[test]
fn adk_loose_files_and_nested_skills_are_ignored() {
    let world = World::new();
    world.skill("skills/a");
    world.skill("skills/a/inner");
    world.file(
        "skills/loose.md",
        "---\nname: loose\ndescription: d\n---\nx\n",
    );
    assert_eq!(names(&catalog(&world.scan_only("skills"))), ["a"]);
    // Unlike in the ADK, folders that group skills are entered, and a root may itself be a skill.
    world.skill("skills/group/b");
    assert_eq!(names(&catalog(&world.scan_only("skills"))), ["a", "b"]);
    let itself = world.scan_only("skills/a");
    assert_eq!(names(&catalog(&itself)), ["a"]);
    assert_eq!(&*itself.skills[0].id.path, ".");
}

#[test]
fn adk_folder_name_is_an_alias() {
    // In the ADK this aborts the listing; here both names resolve to the skill.
    let world = World::new();
    world.file(
        "skills/folder-name/SKILL.md",
        crate::support::text("written-name", "d"),
    );
    world.file("skills/cut/SKILL.md", "---\nname: cut\ndescription: no end");
    let catalog = catalog(&world.scan_only("skills"));
    assert_eq!(names(&catalog), ["cut", "written-name"]);
    assert_eq!(
        catalog.resolve("folder-name").unwrap().name(),
        "written-name"
    );
}

#[test]
fn adk_first_source_wins() {
    // In the ADK a duplicate name is an error; here the second one is shadowed.
    let world = World::new();
    world.described("../one/a", "first");
    world.described("../two/a", "second");
    world.described("../two/b", "second");
    let registry = registry(Vec::new());
    registry.load_dir(&world.path("../one")).unwrap();
    registry.load_dir(&world.path("../two")).unwrap();
    assert_eq!(&*registry.get("a").unwrap().description, "first");
    assert_eq!(&*registry.get("b").unwrap().description, "second");
    let catalog = registry.snapshot();
    let shadowed = catalog
        .entries()
        .iter()
        .find(|entry| entry.is_shadowed())
        .unwrap();
    assert_eq!(&*shadowed.skill.description, "second");
    let text = registry.text(&shadowed.skill.id).unwrap();
    assert!(
        String::from_utf8(text).unwrap().contains("second"),
        "read through its own source"
    );
}

#[test]
fn crew_k8_k9_k10_name_clashes() {
    // K8, K10: folder name and frontmatter differ: a warning of `validate`, here an alias.
    // K9: two skills with the same name: an error there, here the second one is shadowed.
    let world = World::new();
    world.described("skills/a", "by the folder");
    world.file(
        "skills/b/SKILL.md",
        crate::support::text("a", "by the frontmatter"),
    );
    let catalog = catalog(&world.scan_only("skills"));
    assert_eq!(
        &*catalog.resolve("a").unwrap().skill.description,
        "by the folder"
    );
    let [winner, shadowed] = catalog.group("a") else {
        panic!("both are there")
    };
    assert_eq!(catalog.winner_over(shadowed), Some(winner));
    assert_eq!(shadowed.skill.alias.as_deref(), Some("b"));
    // Each one keeps its own folder, even if the names are swapped.
    let source = only(&world.path("skills"));
    for skill in source.scan(Known::default()).skills {
        let text = String::from_utf8(source.text(&skill.id).unwrap()).unwrap();
        assert!(text.contains(&*skill.description), "{}", skill.location);
    }
}
