//! Conformance tests for all skill sources.

use std::sync::Arc;

use prowess_catalog::{Scope, SkillId, SkillOrigin};
use prowess_registry::resource::{Resource, ResourceError};
use prowess_registry::{Known, MemorySource, NewSkill, SkillSource, bundled};
use prowess_spec::{ReadFault, identify, parse};

use crate::support::{World, heads, only, text};

/// Asserts what every source must guarantee.
fn conforms(source: &dyn SkillSource) {
    let first = source.scan(Known::default());
    assert!(
        !first.skills.is_empty() && first.faults.is_empty(),
        "{source:?}"
    );
    // Two scans give the same result, and unchanged skills are reused.
    let second = source.scan(Known {
        skills: &first.skills,
        keep_last_good: true,
    });
    assert_eq!(heads(&first), heads(&second));
    for skill in &first.skills {
        let id = &skill.id;
        assert!(source.owns(id));
        let bytes = source.text(id).unwrap();
        let parsed = parse(&bytes);
        let folder = id.path.rsplit('/').next();
        let found = identify(&parsed.manifest, folder, parsed.body_text());
        assert_eq!(found.name, *skill.name);
        assert_eq!(bytes.len() as u64, skill.stamp.size);
        let Ok(Resource::Text {
            text, size, next, ..
        }) = source.file(id, "SKILL.md", 0, bytes.len())
        else {
            panic!("{}", skill.location);
        };
        assert_eq!(
            (text.as_bytes(), size, next),
            (&*bytes, skill.stamp.size, None)
        );
        let Ok(Resource::Text { text, next, .. }) = source.file(id, "./SKILL.md", 1, 2) else {
            panic!("{}", skill.location);
        };
        assert_eq!((text.as_bytes(), next), (&bytes[1..3], Some(3)));
        for outside in ["../x", "/etc/passwd", "a/../../x", "", "a\0b"] {
            let error = source.file(id, outside, 0, 10).unwrap_err();
            assert!(
                matches!(error, ResourceError::Path { .. }),
                "{outside:?}: {error:?}"
            );
        }
        for missing in ["nothing.txt", "SKILL.md/x", "deep/er/file"] {
            let error = source.file(id, missing, 0, 10).unwrap_err();
            assert!(
                matches!(error, ResourceError::Missing { .. }),
                "{missing}: {error:?}"
            );
        }
        // A skill with the same path in another root, and one that does not exist.
        let other = SkillOrigin::new(Scope::Extra, 77, "/other/root");
        let foreign = SkillId {
            origin: Arc::new(other),
            path: id.path.clone(),
        };
        assert!(!source.owns(&foreign));
        let gone = SkillId {
            origin: Arc::clone(&id.origin),
            path: "no-such-skill".into(),
        };
        for absent in [foreign, gone] {
            assert_eq!(source.text(&absent), Err(ReadFault::Missing), "{absent:?}");
            let error = source.file(&absent, "SKILL.md", 0, 10).unwrap_err();
            assert!(matches!(error, ResourceError::Missing { .. }), "{error:?}");
        }
    }
}

#[test]
fn files_conform() {
    let world = World::new();
    world.skill("skills/a");
    world.skill("skills/group/b");
    world.file("skills/other-folder/SKILL.md", text("c", "d"));
    world.skill("../elsewhere/linked");
    world.link_to("skills/linked", "../elsewhere/linked");
    world.file("skills/back\\x41slash\\xE9/SKILL.md", text("odd", "d"));
    let source = only(&world.path("skills"));
    conforms(&source);
    assert_eq!(source.scan(Known::default()).skills.len(), 5);
    conforms(&only(&world.path("skills/a")));
}

#[test]
fn memory_conforms() {
    let source = MemorySource::new(SkillOrigin::new(Scope::Program, 0, "program"));
    for name in ["a", "b"] {
        let skill = NewSkill::builder(name, "what it does").instructions("Do it.");
        source.add(skill.file("data.txt", "x").build().unwrap());
    }
    source.add(NewSkill::from_text(text("ⅷ", "d")).unwrap());
    source.add(NewSkill::from_file_text("Do it.", Some("untitled")).unwrap());
    conforms(&source);
}

/// A skill that was loaded from a folder has the files of the folder.
#[test]
fn loaded_skills_conform() {
    let world = World::new();
    world.skill("skills/a");
    world.file("skills/a/data/table.csv", "1,2\n");
    world.skill("skills/b");
    let source = MemorySource::new(SkillOrigin::new(Scope::Program, 0, "program"));
    for name in ["skills/a", "skills/b/SKILL.md"] {
        let skill = NewSkill::from_path(&world.path(name)).unwrap();
        assert!(source.add(skill.unwrap()));
    }
    conforms(&source);
    let scan = source.scan(Known::default());
    let skill = scan
        .skills
        .iter()
        .find(|skill| &*skill.name == "a")
        .unwrap();
    let files = source.files(&skill.id).unwrap();
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["SKILL.md", "data/table.csv"]);
    let folder = source.open_folder(&skill.id).unwrap().unwrap();
    assert_eq!(folder.bytes("data/table.csv", 100).unwrap(), b"1,2\n");
}

#[test]
fn bundled_conforms() {
    conforms(&bundled::bundled());
}

#[test]
fn sources_read_files_alike() {
    let world = World::new();
    world.skill("skills/a");
    world.file("skills/a/data/table.csv", "1,2\n");
    world.file("skills/a/image.png", b"\x89PNG\r\n\x1a\n");
    let files = only(&world.path("skills"));
    let memory = MemorySource::new(SkillOrigin::new(Scope::Program, 0, "program"));
    let skill = NewSkill::builder("a", "what it does").instructions("Do it.");
    let skill = skill
        .file("data/table.csv", "1,2\n")
        .file("image.png", b"\x89PNG\r\n\x1a\n");
    memory.add(skill.build().unwrap());
    for path in ["data/table.csv", "image.png"] {
        let read = |source: &dyn SkillSource| {
            let id = source.scan(Known::default()).skills[0].id.clone();
            source.file(&id, path, 0, 100).unwrap()
        };
        assert_eq!(read(&files), read(&memory), "{path}");
    }
}
