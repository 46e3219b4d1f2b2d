//! Reading a skill once.

use std::fs;
use std::os::unix::fs::symlink;

use prowess_catalog::Precedence;
use prowess_registry::{Registry, digest_of};

use crate::support::{World, registry};

#[test]
fn text_files_and_digest_come_from_one_read() {
    let world = tempfile::tempdir().unwrap();
    let [root, elsewhere] = ["skills", "elsewhere"].map(|name| world.path().join(name));
    let text = |name: &str| format!("---\nname: {name}\ndescription: Does it.\n---\nDo it.\n");
    for folder in [
        root.join("plain/notes"),
        root.join("inner"),
        elsewhere.clone(),
    ] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(root.join("plain/SKILL.md"), text("plain")).unwrap();
    fs::write(root.join("plain/notes/a.md"), "a").unwrap();
    fs::write(root.join("inner/text.md"), text("inner")).unwrap();
    symlink("text.md", root.join("inner/SKILL.md")).unwrap();
    fs::write(elsewhere.join("SKILL.md"), text("linked")).unwrap();
    symlink(&elsewhere, root.join("linked")).unwrap();
    let registry = Registry::new(Precedence::default());
    registry.load_dir(&root).unwrap();
    for (name, files) in [
        ("plain", &["SKILL.md", "notes/a.md"][..]),
        ("inner", &["SKILL.md", "text.md"]),
        ("linked", &["SKILL.md"]),
    ] {
        let skill = registry.get(name).unwrap();
        let read = registry.read(&skill).unwrap();
        assert_eq!(read.text, text(name).as_bytes(), "{name}");
        let found: Vec<&str> = read
            .files
            .iter()
            .map(|file| file.path.to_str().unwrap())
            .collect();
        assert_eq!(found, files, "{name}");
        assert_eq!(read.digest, digest_of(&root.join(name)).unwrap(), "{name}");
        assert_eq!(registry.digest(&skill).unwrap(), read.digest, "{name}");
        assert_eq!(registry.read_if_small(&skill), Some(read), "{name}");
    }
    let skill = registry.get("plain").unwrap();
    fs::remove_file(root.join("plain/SKILL.md")).unwrap();
    assert_eq!(registry.read_if_small(&skill), None);
    let gone = registry.read(&skill).unwrap_err();
    assert_eq!(gone.to_string(), "there is no such file");
}

#[test]
fn skill_with_a_link_to_a_large_file_is_not_small() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().join("skills");
    fs::create_dir_all(root.join("plain")).unwrap();
    let text = "---\nname: plain\ndescription: Does it.\n---\nDo it.\n";
    fs::write(root.join("plain/SKILL.md"), text).unwrap();
    fs::write(world.path().join("large"), vec![0; 300 * 1024]).unwrap();
    let registry = Registry::new(Precedence::default());
    registry.load_dir(&root).unwrap();
    let skill = registry.get("plain").unwrap();
    assert!(registry.read_if_small(&skill).is_some());
    symlink("../../large", root.join("plain/large")).unwrap();
    assert_eq!(registry.read_if_small(&skill), None);
    assert!(registry.read(&skill).is_ok());
}

/// A skill's folder is the one that the scan found: a link in its place, in the place of a folder
/// around it, or another target of a link that was there before, is an error.
#[test]
fn replaced_folder_is_never_read() {
    let world = World::new();
    for path in [".agents/skills/direct", "kept/linked", "../outside/skill"] {
        world.skill(path);
        world.file(format!("{path}/a.md"), path);
    }
    world.link_to(".agents/skills/linked", "kept/linked");
    let registry = registry(vec![world.source()]);
    let outside = world.path("../outside/skill");
    let check = |name: &str, replace: &dyn Fn(), restore: &dyn Fn()| {
        let skill = registry.get(name).unwrap();
        let read = || {
            registry
                .file(&skill.id, "a.md", 0, 100)
                .map(|read| format!("{read:?}"))
        };
        assert!(read().unwrap().contains(name), "{name}");
        replace();
        // Two reads before a scan: small skills are read first without an error.
        assert_eq!(registry.read_if_small(&skill), None, "{name}");
        assert!(registry.open_folder(&skill).unwrap().is_err(), "{name}");
        for result in [
            read(),
            registry
                .bytes(&skill.id, "a.md", 100)
                .map(|_| String::new()),
            registry.text(&skill.id).map(|_| String::new()),
        ] {
            // After the error the skill was found again, perhaps as a link.
            let shown = format!("{result:?}");
            assert!(
                result.is_err() || !shown.contains("outside"),
                "{name}: {shown}"
            );
        }
        restore();
        registry.refresh();
        assert!(read().unwrap().contains(name), "{name}");
    };
    let [direct, linked, root] = [
        ".agents/skills/direct",
        ".agents/skills/linked",
        ".agents/skills",
    ]
    .map(|path| world.path(path));
    let away = world.path("../away");
    check(
        "direct",
        &|| {
            fs::rename(&direct, &away).unwrap();
            // It has no SKILL.md, so that it is no skill.
            fs::rename(outside.join("SKILL.md"), outside.join("S")).unwrap();
            symlink(&outside, &direct).unwrap();
        },
        &|| {
            fs::remove_file(&direct).unwrap();
            fs::rename(outside.join("S"), outside.join("SKILL.md")).unwrap();
            fs::rename(&away, &direct).unwrap();
        },
    );
    let other = world.path("../other");
    fs::create_dir_all(other.join("direct")).unwrap();
    fs::write(other.join("direct/a.md"), "outside").unwrap();
    check(
        "direct",
        &|| {
            fs::rename(&root, &away).unwrap();
            symlink(&other, &root).unwrap();
        },
        &|| {
            fs::remove_file(&root).unwrap();
            fs::rename(&away, &root).unwrap();
        },
    );
    check(
        "linked",
        &|| {
            fs::remove_file(&linked).unwrap();
            symlink(&other, &linked).unwrap();
        },
        &|| {
            fs::remove_file(&linked).unwrap();
            symlink(world.path("kept/linked"), &linked).unwrap();
        },
    );
}
