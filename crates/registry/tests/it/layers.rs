//! Which place counts more: core-agent's loading and precedence, and the ADK's sources.

use prowess_registry::{FileOptions, FileSource, Known, Place, SkillSource};

use crate::support::{World, catalog, names, only, registry};

/// What is found: names, each with its description.
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
fn nothing_anywhere_is_empty_and_no_error() {
    let world = World::new();
    assert_eq!(found(world.standing_in("repo")), []);
    world.folder("repo/.agents/skills");
    assert_eq!(found(world.standing_in("repo")), []);
    world.folder("home/.agents");
    assert_eq!(
        found(world.standing_in("repo")),
        [],
        "a place without `skills` is passed over"
    );
    let without_home = Place {
        current: world.path("repo"),
        ..Place::default()
    };
    assert_eq!(found(without_home), []);
}

#[test]
fn keys_of_other_agents_do_not_keep_a_skill_away() {
    let world = World::new();
    let more = "user-invocable: true\ncompatibility:\n  os: linux\nreferences:\n  - a.md\n";
    let text = format!("---\nname: a\ndescription: what it does\n{more}---\n\nDo it.\n");
    world.file("repo/.agents/skills/a/SKILL.md", text);
    assert_eq!(
        found(world.standing_in("repo")),
        pairs(&[("a", "what it does")])
    );
}

#[test]
fn each_layer_shadows_the_next_and_all_that_is_unique_shows() {
    let world = World::new();
    let layers = [
        ("project", "repo/.agents/skills"),
        ("extra-one", "one"),
        ("extra-two", "two"),
        ("home-agents", "home/.agents/skills"),
        ("home-claude", "home/.claude/skills"),
        ("config", "home/.config/agents/skills"),
    ];
    let place = Place {
        extra: vec![world.path("one"), world.path("two")],
        config_home: Some(world.path("home/.config")),
        ..world.standing_in("repo")
    };
    for (layer, folder) in layers {
        world.described(&format!("{folder}/shared"), layer);
        world.described(&format!("{folder}/only-{layer}"), layer);
    }
    // Take one layer after the other away: the next one steps in.
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
fn one_layer_alone_is_enough() {
    for folder in ["repo/.agents/skills", "home/.agents/skills", "extra"] {
        let world = World::new();
        let place = Place {
            extra: vec![world.path("extra")],
            ..world.standing_in("repo")
        };
        world.described(&format!("{folder}/a"), folder);
        assert_eq!(found(place), pairs(&[("a", folder)]));
    }
}

#[test]
fn the_home_is_never_a_project() {
    let world = World::new();
    world.skill("home/.agents/skills/a");
    world.folder("home/.git");
    world.skill("home/work/.agents/skills/nested");
    let scan =
        FileSource::new(world.standing_in("home"), FileOptions::default()).scan(Known::default());
    let scopes: Vec<&str> = scan
        .skills
        .iter()
        .map(|skill| skill.id.origin.scope.as_str())
        .collect();
    assert_eq!(scopes, ["user"]);
}

#[test]
fn adk_loose_files_and_skills_inside_skills_do_not_count() {
    let world = World::new();
    world.skill("skills/a");
    world.skill("skills/a/inner");
    world.file(
        "skills/loose.md",
        "---\nname: loose\ndescription: d\n---\nx\n",
    );
    assert_eq!(names(&catalog(&world.scan_only("skills"))), ["a"]);
    // Unlike there, a folder that groups skills is entered, and a root may be a skill itself.
    world.skill("skills/group/b");
    assert_eq!(names(&catalog(&world.scan_only("skills"))), ["a", "b"]);
    let itself = world.scan_only("skills/a");
    assert_eq!(names(&catalog(&itself)), ["a"]);
    assert_eq!(&*itself.skills[0].id.path, ".");
}

#[test]
fn adk_a_name_unlike_its_folder_is_an_alias_and_no_error() {
    // There it ends the whole listing; here both names lead to the skill.
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
fn adk_of_merged_sources_the_first_has_the_name() {
    // There two sources with one name are an error; here the second copy is shadowed and known.
    let world = World::new();
    world.described("one/a", "first");
    world.described("two/a", "second");
    world.described("two/b", "second");
    let registry = registry(Vec::new());
    registry.load_dir(&world.path("one")).unwrap();
    registry.load_dir(&world.path("two")).unwrap();
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
fn crew_k8_k9_k10_clashes_are_known_and_nothing_is_lost() {
    // K8, K10: folder and frontmatter differ: a warning of `validate`, here a second name.
    // K9: two skills of one name: there an error, here one winner and one known shadow.
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
    // Each keeps its own folder, however the names are swapped.
    let source = only(&world.path("skills"));
    for skill in source.scan(Known::default()).skills {
        let text = String::from_utf8(source.text(&skill.id).unwrap()).unwrap();
        assert!(text.contains(&*skill.description), "{}", skill.location);
    }
}
