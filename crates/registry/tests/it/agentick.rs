//! Behaviour of Agentick's registry and in-code skills, with our differences.

use prowess_registry::{NewSkill, RegisterError, Registry};

use crate::support::{World, registry};

fn new(name: &str, body: &str) -> NewSkill {
    NewSkill::builder(name, "what it does")
        .instructions(body)
        .build()
        .unwrap()
}

fn names(registry: &Registry) -> Vec<String> {
    registry
        .list()
        .iter()
        .map(|skill| skill.name.to_string())
        .collect()
}

#[test]
fn registered_skills_are_sorted_by_name() {
    // Agentick keeps the order of registration; we sort by name.
    let registry = Registry::default();
    assert!(registry.list().is_empty() && registry.get("b").is_err());
    registry.register(new("b", "x")).unwrap();
    registry.register(new("a", "x")).unwrap();
    assert_eq!(names(&registry), ["a", "b"]);
    assert_eq!(&*registry.get("b").unwrap().description, "what it does");
    assert_eq!(registry.get("c").unwrap_err().known, 2);
}

#[test]
fn duplicate_name_is_rejected() {
    let registry = Registry::default();
    registry.register(new("a", "first")).unwrap();
    let error = registry.register(new("a", "second")).unwrap_err();
    assert_eq!(error, RegisterError::Taken { name: "a".into() });
    assert_eq!(error.to_string(), "a skill named `a` is already registered");
    let text = registry.text(&registry.get("a").unwrap().id).unwrap();
    assert!(String::from_utf8(text).unwrap().contains("first"));
}

#[test]
fn names_are_compared_normalized() {
    let registry = Registry::default();
    registry.register(new("ⅷ", "x")).unwrap();
    assert_eq!(names(&registry), ["viii"]);
    assert!(registry.register(new("viii", "x")).is_err());
    assert!(registry.replace(new("viii", "y")));
    assert!(registry.remove(" ⅷ "));
    assert!(registry.list().is_empty());
}

#[test]
fn replace_reports_an_existing_skill() {
    let registry = Registry::default();
    assert!(!registry.replace(new("a", "first")));
    assert!(registry.replace(new("a", "second")));
    let text = registry.text(&registry.get("a").unwrap().id).unwrap();
    assert!(String::from_utf8(text).unwrap().contains("second"));
}

#[test]
fn second_remove_returns_false() {
    let registry = Registry::default();
    registry.register(new("a", "x")).unwrap();
    let skill = registry.get("a").unwrap();
    assert!(registry.remove("a"));
    assert!(!registry.remove("a"));
    assert!(registry.get("a").is_err() && registry.text(&skill.id).is_err());
}

#[test]
fn clear_removes_registered_skills_only() {
    let world = World::new();
    world.skill("skills/on-disk");
    let registry = registry(vec![crate::support::only(&world.path("skills"))]);
    registry.register(new("a", "x")).unwrap();
    registry.register(new("b", "x")).unwrap();
    assert!(registry.clear());
    assert!(!registry.clear());
    assert_eq!(names(&registry), ["on-disk"]);
}

#[test]
fn only_real_changes_are_announced() {
    let registry = Registry::default();
    let news = registry.subscribe();
    let told = || {
        let set = news.try_next()?;
        let told = set.changes.iter();
        Some(
            told.map(|change| format!("{} {}", change.kind.as_str(), change.name))
                .collect(),
        )
    };
    let expect = |lines: &[&str]| Some(lines.iter().map(|&line| line.to_owned()).collect());
    assert_eq!(told(), None::<Vec<String>>, "subscribing announces nothing");
    registry.clear();
    assert_eq!(told(), None, "there was nothing to clear");
    registry.refresh();
    assert_eq!(told(), None, "there was nothing to find");
    registry.register(new("a", "one")).unwrap();
    assert_eq!(told(), expect(&["added a"]));
    registry.register(new("b", "one")).unwrap();
    assert_eq!(told(), expect(&["added b"]));
    // Same length, different text.
    registry.replace(new("a", "two"));
    assert_eq!(told(), expect(&["changed a"]));
    // Agentick announces this too; for us it is not a change.
    registry.replace(new("a", "two"));
    assert_eq!(told(), None);
    registry.register(new("a", "three")).unwrap_err();
    assert_eq!(told(), None);
    registry.remove("b");
    assert_eq!(told(), expect(&["removed b"]));
    registry.remove("b");
    assert_eq!(told(), None);
    registry.clear();
    assert_eq!(told(), expect(&["removed a"]));
    registry.clear();
    assert_eq!(told(), None);
}

#[test]
fn file_change_changes_an_in_code_skill() {
    let registry = Registry::default();
    let with = |content: &str| {
        let skill = NewSkill::builder("a", "what it does").instructions("See `data.txt`.");
        skill.file("data.txt", content).build().unwrap()
    };
    registry.register(with("one")).unwrap();
    let news = registry.subscribe();
    registry.replace(with("two"));
    assert_eq!(news.try_next().unwrap().changes.len(), 1);
}

#[test]
fn dropped_subscription_is_removed() {
    let registry = Registry::default();
    let (gone, stays) = (registry.subscribe(), registry.subscribe());
    drop(gone);
    registry.register(new("a", "x")).unwrap();
    assert_eq!(stays.try_next().unwrap().changes.len(), 1);
    assert!(stays.try_next().is_none());
}

#[test]
fn slow_subscriber_is_marked_as_lagged() {
    let registry = Registry::default();
    let slow = registry.subscribe();
    for number in 0..300 {
        registry.replace(new("a", &format!("body {number}")));
    }
    let mut sets = Vec::new();
    while let Some(set) = slow.try_next() {
        sets.push(set);
    }
    assert!(sets[0].lagged && sets.len() < 300);
    assert_eq!(
        sets.last().unwrap().generation,
        registry.snapshot().generation()
    );
}

#[test]
fn load_dir_loads_all_skills() {
    // Agentick reads immediate subfolders and stops at the first invalid one; we search deeper and
    // report it.
    let world = World::new();
    world.skill("skills/b");
    world.skill("skills/a");
    world.folder("skills/empty");
    world.file(
        "skills/loose.md",
        "---\nname: loose\ndescription: d\n---\nx\n",
    );
    world.folder("skills/broken/SKILL.md");
    let registry = Registry::default();
    let news = registry.subscribe();
    let report = registry.load_dir(&world.path("skills")).unwrap();
    let loaded: Vec<&str> = report.loaded.iter().map(|skill| &*skill.name).collect();
    assert_eq!(loaded, ["a", "b"]);
    assert_eq!(report.faults.len(), 1);
    assert_eq!(names(&registry), ["a", "b"]);
    assert_eq!(news.try_next().unwrap().changes.len(), 2);
    // Loading again without changes announces nothing.
    registry.load_dir(&world.path("skills")).unwrap();
    assert!(news.try_next().is_none());
    world.described("skills/a", "something else");
    registry.load_dir(&world.path("skills")).unwrap();
    assert_eq!(&*registry.get("a").unwrap().description, "something else");
    assert_eq!(news.try_next().unwrap().changes.len(), 1);
}

#[test]
fn load_dir_of_a_non_folder_is_an_error() {
    let world = World::new();
    world.file("../file", "");
    let registry = Registry::default();
    for path in ["nowhere", "../file"] {
        let error = registry.load_dir(&world.path(path)).unwrap_err();
        assert!(
            error.to_string().starts_with("cannot load skills from `/"),
            "{error}"
        );
    }
    assert!(registry.list().is_empty());
}

#[test]
fn define_skill_names() {
    let build = |name: &str| NewSkill::builder(name, "d").instructions("x").build();
    let long = "a".repeat(65);
    for bad in [
        "",
        "my skill",
        "Upper",
        "under_score",
        "-lead",
        "trail-",
        "dou--ble",
        &long,
    ] {
        assert!(build(bad).is_err(), "{bad}");
        let text = format!("---\nname: '{bad}'\ndescription: d\n---\n\nx\n");
        assert!(NewSkill::from_text(text).is_err(), "{bad}");
    }
    for good in ["a", "skill-1", "1skill", "pdf-processing", &long[1..]] {
        assert_eq!(build(good).unwrap().name(), good);
        let text = format!("---\nname: {good}\ndescription: d\n---\n\nx\n");
        assert_eq!(NewSkill::from_text(text).unwrap().name(), good);
    }
}

#[test]
fn define_skill_lengths() {
    let text = |length: usize| "x".repeat(length);
    let described = |length| {
        NewSkill::builder("a", text(length))
            .instructions("x")
            .build()
    };
    let needs = |length| {
        NewSkill::builder("a", "d")
            .instructions("x")
            .compatibility(text(length))
            .build()
    };
    assert!(described(0).is_err() && described(1025).is_err());
    assert!(described(1).is_ok() && described(1024).is_ok());
    assert!(needs(501).is_err());
    assert!(needs(500).is_ok());
}

#[test]
fn define_skill_needs_instructions() {
    for blank in ["", " \n\t\n "] {
        assert!(
            NewSkill::builder("a", "d")
                .instructions(blank)
                .build()
                .is_err(),
            "{blank:?}"
        );
        let text = format!("---\nname: a\ndescription: d\n---\n{blank}");
        assert!(NewSkill::from_text(text).is_err(), "{blank:?}");
    }
}

#[test]
fn define_skill_reports_errors() {
    let error = NewSkill::builder("My Skill", "d")
        .instructions("x")
        .build()
        .unwrap_err();
    assert!(error.to_string().starts_with("invalid skill: "), "{error}");
    assert!(!error.findings.is_empty());
    let outside = NewSkill::builder("a", "d")
        .instructions("x")
        .file("../x", "x")
        .build();
    assert!(outside.is_err());
}

#[test]
fn define_skill_keeps_all_fields() {
    let skill = NewSkill::builder("a", "says: \"yes\" # no comment\nsecond line")
        .instructions("Do it.\n\n---\n\nnot frontmatter")
        .when_to_use("when: asked")
        .metadata("key: odd", "- value")
        .metadata("number", "1")
        .build()
        .unwrap();
    let registry = Registry::default();
    registry.register(skill).unwrap();
    let head = registry.get("a").unwrap();
    assert_eq!(
        &*head.description,
        "says: \"yes\" # no comment\nsecond line"
    );
    assert_eq!(head.when_to_use.as_deref(), Some("when: asked"));
    let pair = |key: &str, value: &str| (key.into(), value.into());
    assert_eq!(
        head.metadata,
        [pair("key: odd", "- value"), pair("number", "1")]
    );
    assert_eq!(head.problems, 0);
}
