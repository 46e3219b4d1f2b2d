//! Reading a skill once.

use std::fs;
use std::os::unix::fs::symlink;

use prowess_catalog::Precedence;
use prowess_registry::{Registry, digest_of};

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
