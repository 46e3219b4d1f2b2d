//! `load_skill` reads a folder, a `SKILL.md` or a Markdown file, and never blocks.

use prowess::{LoadSkillError, load_skill};

const TEXT: &str = "---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n";

#[test]
fn folder_and_files_are_loaded() {
    let world = tempfile::tempdir().unwrap();
    let folder = world.path().join("greet");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), TEXT).unwrap();
    std::fs::write(world.path().join("greet.md"), TEXT).unwrap();
    for path in ["greet", "greet/SKILL.md", "greet.md"] {
        let skill = load_skill(world.path().join(path)).unwrap();
        assert_eq!(skill.name(), "greet", "{path}");
    }
}

#[test]
fn other_paths_are_errors() {
    let world = tempfile::tempdir().unwrap();
    std::fs::create_dir(world.path().join("empty")).unwrap();
    std::fs::write(world.path().join("greet.txt"), TEXT).unwrap();
    for path in ["empty", "greet.txt"] {
        let error = load_skill(world.path().join(path)).unwrap_err();
        assert!(
            matches!(error, LoadSkillError::NotASkill { .. }),
            "{path}: {error}"
        );
    }
    let error = load_skill(world.path().join("absent")).unwrap_err();
    assert!(matches!(error, LoadSkillError::Read { .. }), "{error}");
}

/// Opening a FIFO without a writer blocks, unless the file is opened without blocking.
#[test]
fn fifo_is_refused() {
    let world = tempfile::tempdir().unwrap();
    let fifo = world.path().join("SKILL.md");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let error = load_skill(world.path()).unwrap_err();
    assert!(matches!(error, LoadSkillError::Read { .. }), "{error}");
}
